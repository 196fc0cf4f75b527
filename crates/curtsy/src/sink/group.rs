//! Many files made durable together.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::dirs::Dirs;

/// From so many files on, one sync of the file system is cheaper than one of each file.
const MANY: usize = 8;

/// A whole body under its temporary name. Its file is closed: a group may hold more than a process may have open.
pub(super) struct Body {
    pub(super) from: String,
    /// Where in the directory it goes to.
    pub(super) to: PathBuf,
}

/// Syncs the bodies, puts them in place and syncs that too. What the name of a single one does not
/// permit is that one's own error; everything else fails the group.
pub(super) fn place(dirs: &Dirs, bodies: &[&Body]) -> io::Result<Vec<Option<io::Error>>> {
    if bodies.is_empty() {
        return Ok(Vec::new());
    }
    let synced_at_once = bodies.len() >= MANY && dirs.sync_file_system()?;
    if !synced_at_once {
        bodies.iter().try_for_each(|body| dirs.sync(&body.from))?;
    }
    let mut refused = Vec::with_capacity(bodies.len());
    for body in bodies {
        match put(body, dirs) {
            Err(error) if is_own_fault(&error) => {
                dirs.remove(&body.from)?;
                refused.push(Some(error));
            }
            other => {
                other?;
                refused.push(None);
            }
        }
    }
    if synced_at_once {
        dirs.sync_file_system()?;
        return Ok(refused);
    }
    let placed = bodies
        .iter()
        .zip(&refused)
        .filter(|(_, refused)| refused.is_none());
    // The path of what lies in the directory itself is empty in the end.
    let directories: BTreeSet<&Path> = placed
        .flat_map(|(body, _)| body.to.ancestors().skip(1))
        .collect();
    directories
        .into_iter()
        .try_for_each(|directory| sync_directory(&dirs.dir().join(directory)))?;
    Ok(refused)
}

fn put(body: &Body, dirs: &Dirs) -> io::Result<()> {
    // Its directory is mostly there, since another body has been put in there.
    match dirs.place(&body.from, &body.to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        done => return done,
    }
    // The directory of the job itself is not made anew: who deleted it wants no files in it.
    if !dirs.dir().is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "the directory is gone",
        ));
    }
    if let Some(parent) = body.to.parent() {
        fs::create_dir_all(dirs.dir().join(parent))?;
    }
    dirs.place(&body.from, &body.to)
}

/// Whether the name alone is to blame, and other files can still be written.
fn is_own_fault(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotADirectory
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::DirectoryNotEmpty
            | io::ErrorKind::InvalidFilename
    )
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}
