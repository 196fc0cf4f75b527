//! A file on its way: written beside its place, under a name that is only ever curtsy's.
//!
//! Two runs may be at the same paper. Whoever comes second begins a file of its own under that name; nobody goes on with
//! a file that another still writes, and nobody puts another's in its place.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// A file that is being written. Dropped before it is [put](Self::put) in its place, it is removed; a process that is
/// killed leaves it behind.
#[derive(Debug)]
pub(super) struct Part {
    path: PathBuf,
    trail: PathBuf,
    file: Option<File>,
}

/// What lies beside a file while it comes in: what another run has to know to ask for the rest of it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Trail {
    /// The copy that was asked for.
    pub(super) url: String,
    /// What says that the rest is of the same file.
    pub(super) validator: String,
    /// What its server called it.
    pub(super) content_type: Option<String>,
}

impl Part {
    /// Begins a file in the folder of `place`. What an earlier run left behind there goes.
    pub(super) fn create(place: &Path) -> io::Result<Self> {
        fs::create_dir_all(place.parent().unwrap_or(Path::new(".")))?;
        let (path, trail) = (path(place), trail(place));
        remove(&path)?;
        remove(&trail)?;
        // Of a link that somebody put there meanwhile, nothing is written through.
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)?;
        // It tells other runs that somebody is at it, and ends with the process. Where there are no locks, nobody is told.
        let _ = file.try_lock();
        Ok(Self {
            path,
            trail,
            file: Some(file),
        })
    }

    /// Takes up what an earlier run left behind for `place`, where it is known what that is the beginning of.
    pub(super) fn take_up(place: &Path) -> io::Result<Option<(Self, Trail)>> {
        let (path, trail) = (path(place), trail(place));
        let known = fs::read(&trail).ok();
        let known: Option<Trail> = known.and_then(|text| serde_json::from_slice(&text).ok());
        let is_file = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
        let Some(known) = known.filter(|_| is_file) else {
            return Ok(None);
        };
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        if file.try_lock().is_err() {
            return Ok(None);
        }
        let part = Self {
            path,
            trail,
            file: Some(file),
        };
        Ok(Some((part, known)))
    }

    /// Leaves word of what this is the beginning of.
    pub(super) fn leave(&self, trail: &Trail) -> io::Result<()> {
        fs::write(&self.trail, serde_json::to_vec(trail)?)
    }

    /// The file, at the place where it is written next.
    pub(super) fn file(&mut self) -> io::Result<&mut File> {
        self.file
            .as_mut()
            .ok_or_else(|| io::Error::other("the file is closed"))
    }

    pub(super) fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file()?.write_all(piece)
    }

    /// Begins it anew.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        remove(&self.trail)?;
        let file = self.file()?;
        file.set_len(0)?;
        file.rewind()
    }

    /// Makes what was written last.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.file()?.sync_all()
    }

    /// Puts it in its place, wholly and to stay; whether the place was free or, with `replaces`, is given up by what
    /// stood there.
    pub(super) fn put(&mut self, place: &Path, replaces: bool) -> io::Result<bool> {
        self.sync()?;
        if !self.has_its_name()? {
            self.begin_under_its_name()?;
        }
        if replaces {
            fs::rename(&self.path, place)?;
        } else {
            // A link to a name that exists fails, where a rename would take its place.
            match fs::hard_link(&self.path, place) {
                Ok(()) => remove(&self.path)?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
                Err(_) if !place.try_exists()? => fs::rename(&self.path, place)?,
                Err(_) => return Ok(false),
            }
        }
        remove(&self.trail)?;
        self.file = None;
        sync_folder(place)?;
        Ok(true)
    }
}

impl Part {
    /// Whether what stands under its name is this file, and not one that another run has begun meanwhile.
    fn has_its_name(&mut self) -> io::Result<bool> {
        match fs::symlink_metadata(&self.path) {
            Ok(named) => Ok(is_same(&named, &self.file()?.metadata()?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes it once more, under a name that nobody else has.
    fn begin_under_its_name(&mut self) -> io::Result<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("curtsy-part-{}-{number}", std::process::id());
        let path = self.path.with_extension(name);
        remove(&path)?;
        let mut copy = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)?;
        let file = self.file()?;
        file.rewind()?;
        io::copy(file, &mut copy)?;
        copy.sync_all()?;
        (self.path, self.file) = (path, Some(copy));
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.file.is_some() && self.has_its_name().unwrap_or(false) {
            let _ = remove(&self.path).and_then(|()| remove(&self.trail));
        }
    }
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Nobody can take a file away there that another has open.
#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

/// Where the file for `place` lies while it is written.
pub(super) fn path(place: &Path) -> PathBuf {
    beside(place, "part")
}

fn trail(place: &Path) -> PathBuf {
    beside(place, "trail")
}

fn beside(place: &Path, what: &str) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!(".{name}.curtsy-{what}"))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A name is lost with the power unless its folder is synced too.
pub(super) fn sync_folder(place: &Path) -> io::Result<()> {
    match place.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}
