//! The writer's thread.

use std::collections::HashMap;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use curtsy_store::UrlId;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use super::dirs::Dirs;
use super::group::{self, Body};
use super::spool::Spool;
use super::warc::{Archived, Warc};
use super::{Command, Destination, Durable, Ended, Piece, Place};
use crate::error::Error;

/// The most endings of one group.
const GROUP: usize = 256;
/// The least time from one commit to the next: where much ends, groups become large, and syncs few.
const BETWEEN: Duration = Duration::from_millis(50);
/// How long a group that has to wait for that leaves alone what else there is to write.
const NAP: Duration = Duration::from_millis(5);

pub(super) struct Writer {
    dirs: Dirs,
    open: HashMap<u64, Open>,
    /// Whose file each path is that the user chose, by the path's hash. The other paths are all different.
    chosen: HashMap<u64, UrlId>,
    hashing: RandomState,
    archive: Option<Warc>,
}

/// A body that is not whole yet.
struct Open {
    kept: Kept,
    bytes: u64,
    hash: Sha256,
}

enum Kept {
    /// The body, for a file of its own.
    File { file: File, name: String },
    /// What came over the wire, for the archive.
    Spool(Spool),
}

/// What has ended, on its way to a commit.
struct Ending {
    ended: Box<Ended>,
    body: Option<Body>,
}

impl Writer {
    pub(super) fn new(dir: &Path, temporary: &Path, archive: Option<Warc>) -> Result<Self, Error> {
        let failed = |error| {
            Error::output(
                format!("the output directory {} cannot be written", dir.display()),
                error,
            )
        };
        // What lies there is of a run that ended early.
        match fs::remove_dir_all(temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        fs::create_dir_all(temporary).map_err(failed)?;
        Ok(Self {
            dirs: Dirs::open(dir, temporary).map_err(failed)?,
            open: HashMap::new(),
            chosen: HashMap::new(),
            hashing: RandomState::new(),
            archive,
        })
    }

    pub(super) fn run(
        mut self,
        mut commands: mpsc::Receiver<Command>,
        groups: &mpsc::Sender<Result<Vec<Durable>, Error>>,
    ) {
        let (mut closed, mut committed) = (false, None::<Instant>);
        while !closed && let Some(first) = commands.blocking_recv() {
            let mut endings = Vec::new();
            let mut next = Some(first);
            let done = loop {
                match next {
                    None => break Ok(()),
                    Some(Command::Close) => {
                        closed = true;
                        break Ok(());
                    }
                    Some(command) => {
                        if let Err(error) = self.take(command, &mut endings) {
                            break Err(self.failed(error));
                        }
                    }
                }
                if endings.len() == GROUP {
                    break Ok(());
                }
                next = commands.try_recv().ok();
                let is_early = || committed.is_some_and(|last| last.elapsed() < BETWEEN);
                while next.is_none() && !endings.is_empty() && is_early() {
                    std::thread::sleep(NAP);
                    next = commands.try_recv().ok();
                }
            };
            if !endings.is_empty() {
                committed = Some(Instant::now());
            }
            // What had ended before a failure is whole, and may still become durable.
            let group = self.commit(endings);
            closed |= group.is_err() || done.is_err();
            let empty = group.as_ref().is_ok_and(Vec::is_empty);
            if !empty && groups.blocking_send(group).is_err() {
                return;
            }
            if let Err(error) = done {
                let _ = groups.blocking_send(Err(error));
            }
        }
    }

    fn take(&mut self, command: Command, endings: &mut Vec<Ending>) -> io::Result<()> {
        match command {
            Command::Write { id, piece } => self.write(id, &piece)?,
            Command::Abort { id } => {
                if let Some(Kept::File { name, .. }) = self.open.remove(&id).map(|open| open.kept) {
                    let _ = self.dirs.remove(&name);
                }
            }
            Command::End { body, mut ended } => {
                let body = match body {
                    None => None,
                    Some((id, last, to)) => {
                        last.map_or(Ok(()), |piece| self.write(id, &piece))?;
                        self.finish(id, to, &mut ended)?
                    }
                };
                endings.push(Ending { ended, body });
            }
            Command::Close => {}
        }
        Ok(())
    }

    fn write(&mut self, id: u64, piece: &Piece) -> io::Result<()> {
        let open = self.open(id)?;
        open.hash.update(&piece.body);
        open.bytes += piece.body.len() as u64;
        match &mut open.kept {
            Kept::File { file, .. } => file.write_all(&piece.body),
            Kept::Spool(spool) => piece.wire.iter().try_for_each(|piece| spool.write(piece)),
        }
    }

    /// What is still to be put in place of a whole body.
    fn finish(&mut self, id: u64, to: Destination, ended: &mut Ended) -> io::Result<Option<Body>> {
        match to {
            Destination::File(place) => self.whole(id, place, ended),
            Destination::Archive(archived) => {
                self.archive(id, *archived, ended)?;
                Ok(None)
            }
        }
    }

    /// The whole body `id`, and what its line says of it. None where another URL has its place.
    fn whole(&mut self, id: u64, place: Place, ended: &mut Ended) -> io::Result<Option<Body>> {
        // An empty body has a file too.
        self.open(id)?;
        let Some(Open {
            kept: Kept::File { name: from, .. },
            bytes,
            hash,
        }) = self.open.remove(&id)
        else {
            return Ok(None);
        };
        let name = self.hashing.hash_one(&place.path);
        let owner = self.chosen.get(&name);
        if owner.is_some_and(|owner| *owner != ended.id) {
            self.dirs.remove(&from)?;
            ended.line.refuse_file(&io::ErrorKind::AlreadyExists.into());
            return Ok(None);
        }
        let line = &mut ended.line;
        line.bytes = Some(bytes);
        line.sha256 = Some(format!("{:x}", hash.finalize()));
        line.file = Some(place.path.to_string_lossy().into_owned());
        if place.chosen {
            self.chosen.insert(name, ended.id);
        }
        let to = place.path;
        Ok(Some(Body { from, to }))
    }

    /// Appends the records of a URL. A body that was stored before stays in its line.
    fn archive(&mut self, id: u64, archived: Archived, ended: &mut Ended) -> io::Result<()> {
        self.open(id)?;
        let open = self.open.remove(&id);
        let (
            Some(archive),
            Some(Open {
                kept: Kept::Spool(mut spool),
                hash,
                ..
            }),
        ) = (&mut self.archive, open)
        else {
            return Ok(());
        };
        let stored = archive.append(archived, &mut spool, &self.dirs.temporary("hop"))?;
        let line = &mut ended.line;
        if line.file.is_none() {
            line.file = Some(archive.name().to_owned());
            line.warc_offset = Some(stored.offset);
            line.warc_record_id = Some(stored.record);
            line.sha256 = line.bytes.map(|_| format!("{:x}", hash.finalize()));
        }
        Ok(())
    }

    fn open(&mut self, id: u64) -> io::Result<&mut Open> {
        match self.open.entry(id) {
            std::collections::hash_map::Entry::Occupied(open) => Ok(open.into_mut()),
            std::collections::hash_map::Entry::Vacant(place) => {
                let name = id.to_string();
                let kept = match &self.archive {
                    Some(_) => Kept::Spool(Spool::new(self.dirs.temporary(&name))),
                    None => Kept::File {
                        file: self.dirs.create(&name)?,
                        name,
                    },
                };
                Ok(place.insert(Open {
                    kept,
                    bytes: 0,
                    hash: Sha256::new(),
                }))
            }
        }
    }

    /// Bodies durable and in place; then they may be recorded as done.
    fn commit(&mut self, mut endings: Vec<Ending>) -> Result<Vec<Durable>, Error> {
        let bodies: Vec<&Body> = endings
            .iter()
            .filter_map(|ending| ending.body.as_ref())
            .collect();
        let placed = group::place(&self.dirs, &bodies).map_err(|error| self.failed(error))?;
        let synced = self.archive.as_mut().map_or(Ok(()), Warc::sync);
        synced.map_err(|error| self.failed(error))?;
        let mut refused = placed.into_iter();
        for ending in endings.iter_mut().filter(|ending| ending.body.is_some()) {
            if let Some(Some(error)) = refused.next() {
                ending.ended.line.refuse_file(&error);
            }
        }
        let durable = |ending: Ending| {
            let ended = *ending.ended;
            Durable {
                json: ended.line.to_json(),
                line: ended.line,
                scope: ended.scope,
                id: ended.id,
                not_before: ended.not_before,
                _receipt: ended.receipt,
            }
        };
        Ok(endings.into_iter().map(durable).collect())
    }

    fn failed(&self, error: io::Error) -> Error {
        let what = match &self.archive {
            Some(archive) => archive.cannot_write(),
            None => format!(
                "the output directory {} cannot be written",
                self.dirs.dir().display()
            ),
        };
        Error::output(what, error)
    }
}
