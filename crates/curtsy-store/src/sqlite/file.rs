//! Opening a file of ours, making a new one, and leaving all others as they are.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::failure::{of_io, of_sqlite, told};
use crate::error::{StoreError, StoreErrorKind};

/// How long a call waits for another process to let go of the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Files up to this size are checked page by page when they are opened, which takes some
/// milliseconds; damage in larger ones shows when the page is read.
const CHECKED_BYTES: u64 = 4 * 1024 * 1024;
/// The log is written back into the file when it has grown to so many pages (16 MiB).
const CHECKPOINT_PAGES: u32 = 4096;

/// One kind of file that a driver keeps.
#[derive(Debug)]
pub(super) struct Format {
    /// Marks the file as of this kind.
    pub(super) application_id: i32,
    /// The schema's version, 1 or more.
    pub(super) version: i32,
    /// Makes version `version` in an empty file.
    pub(super) schema: &'static str,
    /// SQLite's `synchronous` for it.
    pub(super) synchronous: &'static str,
    /// The page cache, in KiB.
    pub(super) cache_kib: u32,
}

/// Opens the file at `path`, or makes it with its parent directories, readable to its owner only.
///
/// A file that is newer, foreign, damaged or cannot be written is an error and stays as it is, byte by
/// byte.
pub(super) fn open(path: &Path, format: &Format) -> Result<Connection, StoreError> {
    let failed = |error| of_sqlite(path, error);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| of_io(path, error))?;
    }
    let existed = path.exists();
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).map_err(|error| why_not_opened(path, error))?;
    if !existed {
        restrict(path)?;
    }
    // Until the file has proved to be ours, closing it must not write its log back into it. Without a
    // log there is nothing to write, and closing takes away what opening has laid beside the file.
    let log = fs::metadata(with_suffix(path, "-wal"));
    let has_log = log.is_ok_and(|log| log.len() > 0);
    let keep_log = |keep: bool| {
        connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep)
            .map_err(failed)
    };
    keep_log(has_log)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    if connection.is_readonly("main").map_err(failed)? {
        return Err(told(path, StoreErrorKind::ReadOnly));
    }
    if Identity::read_at_once(&connection)
        .map_err(failed)?
        .is_new(path, format)?
    {
        create(&connection, path, format)?;
    }
    log_ahead(&connection, path)?;
    check_pages(&connection, path)?;
    keep_log(false)?;
    tune(&connection, format).map_err(failed)?;
    Ok(connection)
}

/// What a file says that it is.
struct Identity {
    application_id: i32,
    version: i32,
    empty: bool,
}

impl Identity {
    /// Reads what was true at one moment: another process may be making the file just now.
    fn read_at_once(connection: &Connection) -> rusqlite::Result<Self> {
        let moment = connection.unchecked_transaction()?;
        Self::read(&moment)
    }

    fn read(connection: &Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            application_id: connection.pragma_query_value(None, "application_id", |r| r.get(0))?,
            version: connection.pragma_query_value(None, "user_version", |r| r.get(0))?,
            empty: connection
                .query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |r| r.get(0))?,
        })
    }

    /// True for an empty file, false for one of this format, an error for any other.
    fn is_new(&self, path: &Path, format: &Format) -> Result<bool, StoreError> {
        let kind = match (self.application_id, self.version) {
            (0, 0) if self.empty => return Ok(true),
            (id, version) if id == format.application_id && version == format.version => {
                return Ok(false);
            }
            (id, version) if id == format.application_id && version > format.version => {
                StoreErrorKind::Newer
            }
            (id, _) if id == format.application_id => StoreErrorKind::Damaged,
            _ => StoreErrorKind::Foreign,
        };
        Err(told(path, kind))
    }
}

/// Makes the schema, unless another process was faster.
fn create(connection: &Connection, path: &Path, format: &Format) -> Result<(), StoreError> {
    let failed = |error| of_sqlite(path, error);
    connection
        .execute_batch("BEGIN EXCLUSIVE")
        .map_err(failed)?;
    let made = Identity::read(connection)
        .map_err(failed)
        .and_then(|identity| identity.is_new(path, format))
        .and_then(|new| {
            if new {
                connection
                    .execute_batch(format.schema)
                    .and_then(|()| {
                        connection.pragma_update(None, "application_id", format.application_id)
                    })
                    .and_then(|()| connection.pragma_update(None, "user_version", format.version))
                    .map_err(failed)?;
            }
            connection.execute_batch("COMMIT").map_err(failed)
        });
    if made.is_err() && !connection.is_autocommit() {
        // The first error is the one to tell.
        let _ = connection.execute_batch("ROLLBACK");
    }
    made
}

/// Switches to WAL mode. SQLite does not wait for the exclusive lock that the first switch takes.
fn log_ahead(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let pause = Duration::from_millis(5);
    let mut waited = Duration::ZERO;
    loop {
        let mode = connection
            .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0));
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                return Err(StoreError::new(
                    StoreErrorKind::Unavailable,
                    format!(
                        "{} lies on a file system without shared memory (journal mode {mode})",
                        path.display()
                    ),
                ));
            }
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && waited < BUSY_TIMEOUT =>
            {
                thread::sleep(pause);
                waited += pause;
            }
            Err(error) => return Err(of_sqlite(path, error)),
        }
    }
}

fn check_pages(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    if fs::metadata(path).is_ok_and(|file| file.len() > CHECKED_BYTES) {
        return Ok(());
    }
    let verdict: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| of_sqlite(path, error))?;
    if verdict == "ok" {
        Ok(())
    } else {
        Err(told(path, StoreErrorKind::Damaged))
    }
}

fn tune(connection: &Connection, format: &Format) -> rusqlite::Result<()> {
    connection.pragma_update(None, "synchronous", format.synchronous)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "cache_size", -i64::from(format.cache_kib))?;
    connection.set_prepared_statement_cache_capacity(64);
    // No plan hangs on what is bound, so that a statement is not compiled anew for each value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// SQLite says no more than "unable to open"; the operating system knows why.
fn why_not_opened(path: &Path, error: rusqlite::Error) -> StoreError {
    let attempt = OpenOptions::new().read(true).write(true).open(path);
    match attempt {
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
            match OpenOptions::new().write(true).create_new(true).open(path) {
                Ok(_) => of_sqlite(path, error),
                Err(cause) => of_io(path, cause),
            }
        }
        Err(cause) => of_io(path, cause),
        Ok(_) => of_sqlite(path, error),
    }
}

/// The log and its index are made with the same mode as the file. By its path and not by an open
/// file: to close that would drop every lock that this process has on it.
fn restrict(path: &Path) -> Result<(), StoreError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))
            .map_err(|error| of_io(path, error))?;
    }
    Ok(())
}

/// `path` with more at its end, as SQLite names the files beside its own.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
