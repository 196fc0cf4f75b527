//! Bodies to disk: into files, under a temporary name first and in place only when whole and durable; or
//! as records of one archive.
//!
//! One thread writes, hashes and syncs. What has ended is committed in groups: all bodies of a group are
//! synced, then put in place, and only then handed on to be recorded as done. So a small file does not
//! cost a sync of its own, and nothing is recorded that is not on the disk.

mod dirs;
mod group;
mod name;
mod spool;
mod warc;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use curtsy_core::{Scope, Timestamp};
use curtsy_store::UrlId;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

pub(crate) use name::{is_inside, path_of};
pub(crate) use warc::{About, Archived, Revisited, Warc, random_urn};

use crate::error::{Error, ErrorKind};
use crate::job::manifest::Line;

/// Commands under way to the writer: a slow disk slows the bodies and not the memory.
const QUEUE: usize = 256;

/// The way to the writer's thread. Cheap to clone; the thread ends when all clones are gone.
#[derive(Clone, Debug)]
pub(crate) struct Sink {
    commands: mpsc::Sender<Command>,
    next: Arc<AtomicU64>,
}

/// A body that is being written; dropped, it is thrown away.
#[derive(Debug)]
pub(crate) struct Writing {
    id: u64,
    sink: Sink,
    /// The last piece so far. It goes with the body's end, so that a small body takes one command.
    last: Option<Piece>,
    /// Whether the writer knows of it, and nothing has ended it.
    begun: bool,
}

/// A piece of a body, and what came over the wire for it: that is what an archive keeps.
#[derive(Debug)]
struct Piece {
    body: Bytes,
    wire: Vec<Bytes>,
}

/// What has ended, to be committed.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its line; of a stored body, without what the writer knows: bytes and hash.
    pub(crate) line: Line,
    /// Where it was asked first.
    pub(crate) scope: Scope,
    pub(crate) id: UrlId,
    /// When it is due again, of a deferred one.
    pub(crate) not_before: Option<Timestamp>,
    /// Held until it is recorded.
    pub(crate) receipt: OwnedSemaphorePermit,
}

/// What has ended and is on the disk, to be recorded.
#[derive(Debug)]
pub(crate) struct Durable {
    pub(crate) line: Line,
    /// The line as it is recorded.
    pub(crate) json: String,
    pub(crate) scope: Scope,
    pub(crate) id: UrlId,
    pub(crate) not_before: Option<Timestamp>,
    _receipt: OwnedSemaphorePermit,
}

enum Command {
    Write {
        id: u64,
        piece: Piece,
    },
    Abort {
        id: u64,
    },
    End {
        body: Option<(u64, Option<Piece>, Destination)>,
        ended: Box<Ended>,
    },
    Close,
}

/// What becomes of a whole body.
#[derive(Debug)]
pub(crate) enum Destination {
    /// A file of its own.
    File(Place),
    /// Records of the archive, which the sink was started with.
    Archive(Box<Archived>),
}

/// Where a body goes to, relative to the job's directory.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    /// Whether the user chose it: such a path may be another URL's too.
    pub(crate) chosen: bool,
}

/// What the writer hands on: a group that is durable, or why there will be no more.
pub(crate) type Groups = mpsc::Receiver<Result<Vec<Durable>, Error>>;

impl Sink {
    /// Starts the writer for the job directory `dir`, with temporary files in `temporary`. Bodies go into
    /// `archive` where there is one.
    pub(crate) fn start(
        dir: &Path,
        temporary: &Path,
        archive: Option<Warc>,
    ) -> Result<(Self, Groups), Error> {
        let (commands, receiver) = mpsc::channel(QUEUE);
        // One group waits while the next is made.
        let (groups, committed) = mpsc::channel(1);
        let writer = writer::Writer::new(dir, temporary, archive)?;
        std::thread::Builder::new()
            .name("curtsy-sink".to_owned())
            .spawn(move || writer.run(receiver, &groups))
            .map_err(|error| Error::output("the writer's thread cannot start", error))?;
        let sink = Self {
            commands,
            next: Arc::default(),
        };
        Ok((sink, committed))
    }

    /// Begins a body.
    pub(crate) fn begin(&self) -> Writing {
        Writing {
            id: self.next.fetch_add(1, Ordering::Relaxed),
            sink: self.clone(),
            last: None,
            begun: false,
        }
    }

    /// Commits what has ended without a body.
    pub(crate) async fn end(&self, ended: Ended) -> Result<(), Error> {
        self.send(Command::End {
            body: None,
            ended: Box::new(ended),
        })
        .await
    }

    /// Ends the writer's thread once it has done all that it was sent.
    pub(crate) async fn close(&self) -> Result<(), Error> {
        self.send(Command::Close).await
    }

    async fn send(&self, command: Command) -> Result<(), Error> {
        self.commands
            .send(command)
            .await
            .map_err(|_| Error::new(ErrorKind::Output, "the writer has stopped"))
    }
}

impl Writing {
    /// Appends a piece, and what came over the wire for it.
    pub(crate) async fn write(&mut self, body: Bytes, wire: Vec<Bytes>) -> Result<(), Error> {
        let Some(piece) = self.last.replace(Piece { body, wire }) else {
            return Ok(());
        };
        self.begun = true;
        let id = self.id;
        self.sink.send(Command::Write { id, piece }).await
    }

    /// The body is whole: it is put in place with the next group.
    pub(crate) async fn end(mut self, to: Destination, ended: Ended) -> Result<(), Error> {
        let body = Some((self.id, self.last.take(), to));
        let ended = Box::new(ended);
        self.sink.send(Command::End { body, ended }).await?;
        self.begun = false;
        Ok(())
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if !self.begun {
            return;
        }
        // Where the writer is gone the file stays, and is swept away when the job is next opened.
        if let Err(TrySendError::Full(abort)) =
            self.sink.commands.try_send(Command::Abort { id: self.id })
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let commands = self.sink.commands.clone();
            runtime.spawn(async move { commands.send(abort).await });
        }
    }
}
