//! Many files made durable together.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// From so many files on, one sync of the file system is cheaper than one of each file.
#[cfg(target_os = "linux")]
const MANY: usize = 8;

/// A whole body under its temporary name.
pub(super) struct Body {
    pub(super) file: File,
    pub(super) from: PathBuf,
    pub(super) to: PathBuf,
}

/// Syncs the bodies, puts them in place and syncs that too. What the name of a single one does not
/// permit is that one's own error; everything else fails the group.
pub(super) fn place(dir: &Path, bodies: &[&Body]) -> io::Result<Vec<Option<io::Error>>> {
    if bodies.is_empty() {
        return Ok(Vec::new());
    }
    let synced_at_once = sync_all_at_once(dir, bodies.len())?;
    if !synced_at_once {
        bodies.iter().try_for_each(|body| body.file.sync_data())?;
    }
    let mut refused = Vec::with_capacity(bodies.len());
    for body in bodies {
        match put(body, dir) {
            Err(error) if is_own_fault(&error) => {
                fs::remove_file(&body.from)?;
                refused.push(Some(error));
            }
            other => {
                other?;
                refused.push(None);
            }
        }
    }
    if synced_at_once {
        sync_all_at_once(dir, bodies.len())?;
        return Ok(refused);
    }
    let placed = bodies
        .iter()
        .zip(&refused)
        .filter(|(_, refused)| refused.is_none());
    let directories: BTreeSet<&Path> = placed
        .flat_map(|(body, _)| body.to.ancestors().skip(1))
        .filter(|above| above.starts_with(dir))
        .collect();
    directories.into_iter().try_for_each(sync_directory)?;
    Ok(refused)
}

fn put(body: &Body, dir: &Path) -> io::Result<()> {
    // Its directory is mostly there, since another body has been put in there.
    match fs::rename(&body.from, &body.to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        done => return done,
    }
    // The directory of the job itself is not made anew: who deleted it wants no files in it.
    if !dir.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "the directory is gone",
        ));
    }
    if let Some(parent) = body.to.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::rename(&body.from, &body.to)
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

#[cfg(target_os = "linux")]
fn sync_all_at_once(dir: &Path, files: usize) -> io::Result<bool> {
    if files < MANY {
        return Ok(false);
    }
    rustix::fs::syncfs(File::open(dir)?)?;
    Ok(true)
}

#[cfg(not(target_os = "linux"))]
fn sync_all_at_once(_dir: &Path, _files: usize) -> io::Result<bool> {
    Ok(false)
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}
