//! A body on its way to an archive: in memory while it is small, else in a temporary file.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;

/// Up to so many bytes stay in memory. Most bodies are smaller.
const IN_MEMORY: usize = 64 * 1024;

/// Bytes that are written once and then read from the start, as often as wanted.
pub(super) struct Spool {
    /// The file, should one be needed; it is removed with the spool.
    path: PathBuf,
    kept: Kept,
    length: u64,
}

enum Kept {
    Memory(Vec<u8>),
    File(File),
}

impl Spool {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            kept: Kept::Memory(Vec::new()),
            length: 0,
        }
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        self.length += piece.len() as u64;
        match &mut self.kept {
            Kept::Memory(bytes) if bytes.len() + piece.len() <= IN_MEMORY => {
                bytes.extend_from_slice(piece);
                Ok(())
            }
            Kept::Memory(bytes) => {
                let mut file = File::options()
                    .read(true)
                    .write(true)
                    .create_new(true)
                    .open(&self.path)?;
                file.write_all(bytes)?;
                file.write_all(piece)?;
                self.kept = Kept::File(file);
                Ok(())
            }
            Kept::File(file) => file.write_all(piece),
        }
    }

    /// Hands out all of it, piece by piece.
    pub(super) fn read(&mut self, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let file = match &mut self.kept {
            Kept::Memory(bytes) => return take(bytes),
            Kept::File(file) => file,
        };
        file.rewind()?;
        let mut buffer = vec![0; IN_MEMORY];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(()),
                read => take(&buffer[..read])?,
            }
        }
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        if matches!(self.kept, Kept::File(_)) {
            // What cannot be removed is swept away when the job is next opened.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_as_often_as_wanted_and_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        for size in [0, 1, IN_MEMORY, IN_MEMORY + 1, 3 * IN_MEMORY] {
            let written: Vec<u8> = (0..size).map(|at| at as u8).collect();
            let mut spool = Spool::new(dir.path().join("spool"));
            for piece in written.chunks(1000) {
                spool.write(piece).unwrap();
            }
            assert_eq!(spool.length(), size as u64);
            for _ in 0..2 {
                let mut read = Vec::new();
                spool
                    .read(|piece| {
                        read.extend_from_slice(piece);
                        Ok(())
                    })
                    .unwrap();
                assert!(read == written, "of {size}");
            }
            drop(spool);
            assert_eq!(dir.path().read_dir().unwrap().count(), 0, "of {size}");
        }
    }
}
