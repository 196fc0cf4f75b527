//! One process at a time works on a directory.

use std::error::Error;
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The name of the lock's file within its directory.
pub const LOCK_FILE: &str = "lock";

/// Holds a directory for this process until it is dropped.
///
/// The lock is the operating system's advisory one on the file `lock`, so that it ends with the
/// process, however that ends. The file stays behind and says nothing by itself: to remove it would
/// let two processes lock two files of one name. Network file systems without advisory locks are not
/// supported.
#[derive(Debug)]
pub struct DirLock {
    // Held for the lock, which ends when the file is closed.
    _file: File,
    path: PathBuf,
}

impl DirLock {
    /// Takes the lock of `dir`, which is created where it is missing.
    ///
    /// Where another process has it, the error is [`LockErrorKind::Held`] and names that process.
    pub fn acquire(dir: &Path) -> Result<Self, LockError> {
        let path = dir.join(LOCK_FILE);
        let unwritable = |source| LockError::unwritable(dir, source);
        fs::create_dir_all(dir).map_err(unwritable)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(unwritable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LockError::held(dir, read_pid(&mut file))),
            Err(TryLockError::Error(source)) => return Err(unwritable(source)),
        }
        write_pid(&mut file).map_err(unwritable)?;
        Ok(Self { _file: file, path })
    }

    /// The lock's file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

/// A directory could not be locked.
#[derive(Debug)]
pub struct LockError {
    kind: LockErrorKind,
    dir: PathBuf,
    source: Option<io::Error>,
}

/// Why a directory could not be locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LockErrorKind {
    /// A process has it: this one, where it has written its number yet.
    Held(Option<u32>),
    /// The directory or the file in it cannot be written.
    Unwritable,
}

impl LockError {
    fn held(dir: &Path, pid: Option<u32>) -> Self {
        Self {
            kind: LockErrorKind::Held(pid),
            dir: dir.to_owned(),
            source: None,
        }
    }

    fn unwritable(dir: &Path, source: io::Error) -> Self {
        Self {
            kind: LockErrorKind::Unwritable,
            dir: dir.to_owned(),
            source: Some(source),
        }
    }

    /// Why.
    pub fn kind(&self) -> LockErrorKind {
        self.kind
    }
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dir = self.dir.display();
        match self.kind {
            LockErrorKind::Held(Some(pid)) => write!(f, "{dir} is in use by process {pid}"),
            LockErrorKind::Held(None) => write!(f, "{dir} is in use by another process"),
            LockErrorKind::Unwritable => write!(f, "{dir} cannot be locked"),
        }
    }
}

impl Error for LockError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source
            .as_ref()
            .map(|source| source as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_is_told_who_has_it_and_gets_it_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let nested = dir.path().join("out/.curtsy");
        let first = DirLock::acquire(&nested).unwrap();
        let error = DirLock::acquire(&nested).unwrap_err();
        let pid = std::process::id();
        assert_eq!(error.kind(), LockErrorKind::Held(Some(pid)));
        assert_eq!(
            error.to_string(),
            format!("{} is in use by process {pid}", nested.display())
        );
        drop(first);
        DirLock::acquire(&nested).unwrap();
    }

    #[test]
    fn a_longer_number_left_behind_does_not_show_through() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(LOCK_FILE), "4294967295\n").unwrap();
        let lock = DirLock::acquire(dir.path()).unwrap();
        let text = fs::read_to_string(lock.path()).unwrap();
        assert_eq!(text, format!("{}\n", std::process::id()));
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_an_error_with_its_cause() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let error = DirLock::acquire(&file.join("out")).unwrap_err();
        assert_eq!(error.kind(), LockErrorKind::Unwritable);
        assert!(error.source().is_some());
    }
}
