//! The user's directories: the XDG rules, which suit macOS too, and Windows' own.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// Where the user's configuration lies: `$XDG_CONFIG_HOME`, else `~/.config`; on Windows `%APPDATA%`.
/// `None` where the user has no home.
pub(crate) fn config() -> Option<PathBuf> {
    if cfg!(windows) {
        absolute(env::var_os("APPDATA"))
    } else {
        absolute(env::var_os("XDG_CONFIG_HOME")).or_else(|| Some(home()?.join(".config")))
    }
}

/// Where programs keep what survives a restart: `$XDG_STATE_HOME`, else `~/.local/state`; on Windows
/// `%LOCALAPPDATA%`. `None` where the user has no home.
pub(crate) fn state() -> Option<PathBuf> {
    if cfg!(windows) {
        absolute(env::var_os("LOCALAPPDATA"))
    } else {
        absolute(env::var_os("XDG_STATE_HOME")).or_else(|| Some(home()?.join(".local/state")))
    }
}

fn home() -> Option<PathBuf> {
    env::home_dir().filter(|home| home.is_absolute())
}

/// The XDG rules: "all paths must be absolute"; one that is not is ignored.
fn absolute(variable: Option<OsString>) -> Option<PathBuf> {
    variable
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}
