//! The directory of a job: bodies, the manifest, and under `.curtsy/` the job's own files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use curtsy_store::DirLock;

use crate::error::{Error, ErrorKind};

/// How often it is looked whether the directory is still there.
const LOOK_AFTER: Duration = Duration::from_secs(1);

/// A job's directory, held by this process until it is dropped.
#[derive(Debug)]
pub struct JobDir {
    path: PathBuf,
    _lock: DirLock,
}

impl JobDir {
    /// Makes the directory where it is missing, and takes it for this process.
    ///
    /// # Errors
    /// `Locked`: another process works in it. `Output`: it cannot be made or written.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let own = path.join(".curtsy");
        std::fs::create_dir_all(&own).map_err(|error| {
            Error::output(
                format!("the output directory {} cannot be made", path.display()),
                error,
            )
        })?;
        let lock = DirLock::acquire(&own).map_err(|error| {
            let kind = match error.kind() {
                curtsy_store::LockErrorKind::Held { .. } => ErrorKind::Locked,
                _ => ErrorKind::Output,
            };
            Error::new(
                kind,
                format!("the output directory {} cannot be used", path.display()),
            )
            .caused_by(error)
        })?;
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
        })
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The queue's file.
    #[must_use]
    pub fn queue(&self) -> PathBuf {
        Self::queue_in(&self.path)
    }

    /// The queue's file of the job in this directory, whoever works in it.
    #[must_use]
    pub fn queue_in(path: &Path) -> PathBuf {
        path.join(".curtsy/queue.sqlite")
    }

    /// The audit log, where no other place is given.
    #[must_use]
    pub fn audit(&self) -> PathBuf {
        Self::audit_in(&self.path)
    }

    /// The audit log of the job in this directory, whoever works in it, where no other place was given.
    #[must_use]
    pub fn audit_in(path: &Path) -> PathBuf {
        path.join(".curtsy/audit.jsonl")
    }

    /// The manifest.
    #[must_use]
    pub fn manifest(&self) -> PathBuf {
        self.path.join("manifest.jsonl")
    }

    /// What the worker of this directory is called in a queue that others share: the machine's name and a
    /// random number, drawn once.
    ///
    /// # Errors
    /// `Output`: it cannot be stored.
    pub fn worker(&self) -> Result<String, Error> {
        let path = self.path.join(".curtsy/worker");
        if let Ok(name) = std::fs::read_to_string(&path)
            && !name.is_empty()
        {
            return Ok(name);
        }
        let machine = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
        let machine = machine.trim().split('.').next().unwrap_or_default();
        let name = format!("{machine}-{:08x}", fastrand::u32(..));
        std::fs::write(&path, &name).map_err(|error| {
            Error::output(format!("{} cannot be written", path.display()), error)
        })?;
        Ok(name)
    }

    /// Waits until somebody has deleted or moved it. Its files go on to take what nobody will find.
    pub(crate) fn gone(&self) -> impl Future<Output = Error> + use<> {
        let path = self.path.clone();
        async move {
            while path.join(".curtsy").is_dir() {
                tokio::time::sleep(LOOK_AFTER).await;
            }
            let gone = format!("the output directory {} is gone", path.display());
            Error::new(ErrorKind::Output, gone)
        }
    }

    /// How much of the archive is durable.
    pub(crate) fn archive_mark(&self) -> PathBuf {
        self.path.join(".curtsy/archive.json")
    }

    /// Bodies that are not whole yet.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.path.join(".curtsy/partial")
    }
}
