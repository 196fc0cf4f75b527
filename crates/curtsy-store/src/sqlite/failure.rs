//! From SQLite's result codes and the operating system's errors to the kinds that callers act on.

use std::io;
use std::path::Path;

use rusqlite::ErrorCode;
use rusqlite::ffi::SQLITE_IOERR_SHMSIZE;

use crate::error::{StoreError, StoreErrorKind};

/// What a failed statement means for the file at `path`.
pub(super) fn of_sqlite(path: &Path, error: rusqlite::Error) -> StoreError {
    told(path, kind_of_sqlite(&error)).caused_by(error)
}

/// What a failed system call means for the file at `path`.
pub(super) fn of_io(path: &Path, error: io::Error) -> StoreError {
    told(path, kind_of_io(&error)).caused_by(error)
}

/// The line for a file at `path` in this condition.
pub(super) fn told(path: &Path, kind: StoreErrorKind) -> StoreError {
    let what = match kind {
        StoreErrorKind::Damaged => "is damaged, or no file of curtsy's",
        StoreErrorKind::Newer => "was written by a newer version of curtsy",
        StoreErrorKind::Foreign => "is the database of another program",
        StoreErrorKind::ReadOnly => "cannot be written",
        StoreErrorKind::Full => "cannot grow: no room is left",
        StoreErrorKind::Unavailable
        | StoreErrorKind::Denied
        | StoreErrorKind::Gone
        | StoreErrorKind::Missing
        | StoreErrorKind::Invalid => "is not available",
    };
    StoreError::new(kind, format!("{} {what}", path.display()))
}

fn kind_of_sqlite(error: &rusqlite::Error) -> StoreErrorKind {
    let Some(failure) = error.sqlite_error() else {
        // A column of a type that this driver never wrote.
        return StoreErrorKind::Damaged;
    };
    match failure.code {
        ErrorCode::DiskFull => StoreErrorKind::Full,
        // The shared memory of the WAL could not grow.
        ErrorCode::SystemIoFailure if failure.extended_code == SQLITE_IOERR_SHMSIZE => {
            StoreErrorKind::Full
        }
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => StoreErrorKind::ReadOnly,
        // "No such table" and the like: the file says that it has this driver's schema.
        ErrorCode::DatabaseCorrupt
        | ErrorCode::NotADatabase
        | ErrorCode::Unknown
        | ErrorCode::ConstraintViolation
        | ErrorCode::TypeMismatch => StoreErrorKind::Damaged,
        _ => StoreErrorKind::Unavailable,
    }
}

fn kind_of_io(error: &io::Error) -> StoreErrorKind {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            StoreErrorKind::ReadOnly
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreErrorKind::Full,
        _ => StoreErrorKind::Unavailable,
    }
}
