//! Wall clocks that are wrong, for tests here and of the command line.

use std::ffi::OsString;
use std::process::Command;

use tempfile::TempDir;

/// A library to be preloaded, which puts the wall clock of a process wrong.
pub(crate) struct WrongClocks {
    dir: TempDir,
}

impl WrongClocks {
    pub(crate) fn build() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testing/clock_ahead.c");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(dir.path().join("clock_ahead.so"))
            .arg(source)
            .status();
        assert!(built.unwrap().success());
        Self { dir }
    }

    /// What has to stand in the environment of a process whose clock is ahead by so many seconds, or behind.
    pub(crate) fn ahead(&self, by_s: i64) -> [(&'static str, OsString); 2] {
        let library = self.dir.path().join("clock_ahead.so");
        [
            ("LD_PRELOAD", library.into()),
            ("CLOCK_AHEAD_S", by_s.to_string().into()),
        ]
    }
}
