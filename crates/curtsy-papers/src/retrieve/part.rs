//! A file on its way: written beside its place, under a name that is only ever curtsy's.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that is being written. Dropped before it is [put](Self::put) in its place, it is removed.
#[derive(Debug)]
pub(super) struct Part {
    path: PathBuf,
    file: Option<File>,
}

impl Part {
    /// Begins a file in the folder of `place`. What an earlier run left behind there goes.
    pub(super) fn create(place: &Path) -> io::Result<Self> {
        let folder = place.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        let path = folder.join(format!(".{name}.curtsy-part"));
        remove(&path)?;
        // Of a link that somebody put there meanwhile, nothing is written through.
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)?;
        Ok(Self {
            path,
            file: Some(file),
        })
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
        use std::io::Seek;
        let file = self.file()?;
        file.set_len(0)?;
        file.rewind()
    }

    /// Puts it in its place, wholly and to stay; whether the place was free or, with `replaces`, is given up by what
    /// stood there.
    pub(super) fn put(&mut self, place: &Path, replaces: bool) -> io::Result<bool> {
        self.file()?.sync_all()?;
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
        self.file = None;
        sync_folder(place)?;
        Ok(true)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A name is lost with the power unless its folder is synced too.
fn sync_folder(place: &Path) -> io::Result<()> {
    match place.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}
