//! Bodies into one archive: WARC 1.1 (ISO 28500:2017), a gzip member for each record.
//!
//! Every response that ends a URL is recorded with its request, HTTP errors too, and before it the redirects
//! that led to it; a 304 to a condition of curtsy's own becomes a `revisit` record. What was tried again is
//! not, nor is robots.txt. Bodies stand as they came over the wire: see [`message`]. `WARC-Target-URI` is the
//! URL as it was asked for, its query included and user and password not.
//!
//! One writer appends whole records. After a crash the file is cut back to its last whole one before it
//! grows again, so that it can be read at any time, and what was recorded as done is in it.

mod message;
mod record;
mod tail;

use std::fs::{File, TryLockError};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use curtsy_core::Timestamp;

use self::record::{Block, Header, RecordId};
use self::tail::{First, Mark};
use super::spool::Spool;
use crate::capture::Capture;
use crate::error::{Error, ErrorKind};

/// The name of the format, for readers of the `warcinfo` record.
const FORMAT: &str = "WARC File Format 1.1";
const CONFORMS_TO: &str =
    "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/";
/// WARC 1.1 section 6.7.3.
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";
/// A `warcinfo` record is smaller.
const INFO_LIMIT: u64 = 64 * 1024;

/// An archive that is written.
pub(crate) struct Warc {
    file: File,
    path: PathBuf,
    name: String,
    mark_path: PathBuf,
    /// Where the last whole record ends, and up to where all is durable.
    end: u64,
    durable: u64,
    about: About,
    /// The `warcinfo` record of this run, once there is one.
    info: Option<RecordId>,
}

/// What the `warcinfo` record tells.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// The job, as no other is called.
    pub(crate) job: String,
    pub(crate) user_agent: String,
    pub(crate) obeys_robots: bool,
}

/// What is recorded of a URL.
#[derive(Debug)]
pub(crate) struct Archived {
    /// The redirects before it, with their bodies.
    pub(crate) hops: Vec<(Capture, Vec<Bytes>)>,
    pub(crate) capture: Capture,
    /// That it is a 304, and what record it confirms.
    pub(crate) revisit: Option<Revisited>,
}

/// The record of what a 304 says is unchanged.
#[derive(Debug)]
pub(crate) struct Revisited {
    /// Its id, where it is known.
    pub(crate) record: Option<String>,
}

/// Where a response stands.
pub(super) struct Stored {
    pub(super) offset: u64,
    pub(super) record: String,
}

impl Warc {
    /// Opens the archive at `path` of the job in `dir`, or makes it. `mark` is a file of the job that tells
    /// how much of it is durable.
    ///
    /// # Errors
    /// `Configuration`: the file is another's. `Locked`: another process writes it. `Output`.
    pub(crate) fn open(path: &Path, dir: &Path, mark: &Path, about: About) -> Result<Self, Error> {
        let failed = |error| Error::output(cannot_write(path), error);
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let message = format!("another process writes the archive {}", path.display());
                return Err(Error::new(ErrorKind::Locked, message));
            }
            // Some file systems have no locks.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let path = path.canonicalize().map_err(failed)?;
        let end = whole_end(&file, &path, mark, &about)?;
        file.set_len(end).map_err(failed)?;
        file.seek(SeekFrom::Start(end)).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        sync_parent(&path).map_err(failed)?;
        let dir = dir.canonicalize().map_err(failed)?;
        let name = path.strip_prefix(dir).unwrap_or(&path);
        let warc = Self {
            file,
            name: name.to_string_lossy().into_owned(),
            path,
            mark_path: mark.to_owned(),
            end,
            durable: end,
            about,
            info: None,
        };
        warc.leave_mark().map_err(failed)?;
        Ok(warc)
    }

    /// Its name in the manifest: relative to the job's directory where it lies there, else absolute.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Appends a URL's records. Where that fails, none of them is left.
    pub(super) fn append(
        &mut self,
        archived: Archived,
        body: &mut Spool,
        scratch: &Path,
    ) -> io::Result<Stored> {
        let before = self.end;
        let appended = self.append_all(archived, body, scratch);
        if appended.is_err() {
            // Best effort: what cannot be cut off now is when the archive is next opened.
            let _ = self.file.set_len(before);
            let _ = self.file.seek(SeekFrom::Start(before));
            self.end = before;
        }
        appended
    }

    /// Makes what was appended durable.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        if self.durable == self.end {
            return Ok(());
        }
        self.file.sync_data()?;
        self.durable = self.end;
        self.leave_mark()
    }

    pub(super) fn cannot_write(&self) -> String {
        cannot_write(&self.path)
    }

    fn append_all(
        &mut self,
        archived: Archived,
        body: &mut Spool,
        scratch: &Path,
    ) -> io::Result<Stored> {
        let info = match self.info {
            Some(info) => info,
            None => self.append_info(archived.capture.departed_at)?,
        };
        for (hop, pieces) in archived.hops {
            let mut body = Spool::new(scratch.to_owned());
            pieces.iter().try_for_each(|piece| body.write(piece))?;
            self.append_exchange(&hop, None, &mut body, info)?;
        }
        let revisit = archived.revisit.as_ref();
        self.append_exchange(&archived.capture, revisit, body, info)
    }

    /// The response first: a request that refers to it is then never without it.
    fn append_exchange(
        &mut self,
        capture: &Capture,
        revisit: Option<&Revisited>,
        body: &mut Spool,
        info: RecordId,
    ) -> io::Result<Stored> {
        let mut url = capture.url.clone();
        url.set_fragment(None);
        let (offset, id) = (self.end, RecordId::random());
        let about = |kind, id| {
            Header::new(kind, id, capture.departed_at)
                .field("WARC-Target-URI", &url)
                .field_if("WARC-IP-Address", capture.trace.address)
                .field("WARC-Warcinfo-ID", info)
        };
        let head = message::response(capture.status, &capture.headers);
        let kind = revisit.map_or("response", |_| "revisit");
        let response = about(kind, id)
            .field_if("WARC-Profile", revisit.map(|_| NOT_MODIFIED))
            .field_if(
                "WARC-Refers-To",
                revisit
                    .and_then(|revisited| revisited.record.as_ref())
                    .map(|record| format!("<{record}>")),
            )
            .field_if("WARC-Truncated", capture.truncated.map(|why| why.label()))
            .field("Content-Type", "application/http;msgtype=response");
        let body = Some(body).filter(|_| revisit.is_none());
        self.write(response, Block { head, body })?;
        let request = about("request", RecordId::random())
            .field("WARC-Concurrent-To", id)
            .field("Content-Type", "application/http;msgtype=request");
        let head = message::request(&url, &capture.trace);
        self.write(request, Block { head, body: None })?;
        Ok(Stored {
            offset,
            record: id.urn(),
        })
    }

    /// The `warcinfo` record of a run, before its first other one: what was written by a later version or
    /// under other options is then told apart.
    fn append_info(&mut self, at: Timestamp) -> io::Result<RecordId> {
        let id = RecordId::random();
        let About {
            job,
            user_agent,
            obeys_robots,
        } = &self.about;
        let robots = if *obeys_robots { "obey" } else { "ignore" };
        let fields = format!(
            "software: curtsy/{}\r\nformat: {FORMAT}\r\nconformsTo: {CONFORMS_TO}\r\nrobots: {robots}\r\n\
             http-header-user-agent: {user_agent}\r\nisPartOf: {job}\r\n",
            env!("CARGO_PKG_VERSION")
        );
        let name = self.path.file_name().map(|name| name.to_string_lossy());
        let header = Header::new("warcinfo", id, at)
            .field_if("WARC-Filename", name)
            .field("Content-Type", "application/warc-fields");
        let block = Block {
            head: fields.into_bytes(),
            body: None,
        };
        self.write(header, block)?;
        self.info = Some(id);
        Ok(id)
    }

    fn write(&mut self, header: Header, mut block: Block<'_>) -> io::Result<()> {
        record::write(&self.file, header, &mut block)?;
        self.end = self.file.stream_position()?;
        Ok(())
    }

    fn leave_mark(&self) -> io::Result<()> {
        let mark = Mark {
            file: self.path.clone(),
            length: self.durable,
        };
        mark.write(&self.mark_path)
    }
}

/// A name that nothing else has: `urn:uuid:…`.
pub(crate) fn random_urn() -> String {
    RecordId::random().urn()
}

/// Where an archive's last whole record ends, if it is this job's.
fn whole_end(file: &File, path: &Path, mark: &Path, about: &About) -> Result<u64, Error> {
    let failed = |error| {
        Error::output(
            format!("the archive {} cannot be read", path.display()),
            error,
        )
    };
    let length = file.metadata().map_err(failed)?.len();
    if length == 0 {
        return Ok(0);
    }
    let marked = Mark::read(mark).filter(|mark| mark.file == path);
    let marked = marked.map(|mark| mark.length);
    let own = format!("isPartOf: {}\r\n", about.job);
    let is_own = match tail::first(file, INFO_LIMIT).map_err(failed)? {
        First::Member(first) => String::from_utf8_lossy(&first).contains(&own),
        // The process died while it wrote the very first record.
        First::Torn => marked == Some(0) && length < INFO_LIMIT,
        First::Other => false,
    };
    if !is_own {
        let message = format!(
            "the file {} was not written by this job: name another, or move it away",
            path.display()
        );
        return Err(Error::new(ErrorKind::Configuration, message));
    }
    let from = marked.filter(|marked| *marked <= length).unwrap_or(0);
    tail::end_of_whole(file, from).map_err(failed)
}

fn cannot_write(path: &Path) -> String {
    format!("the archive {} cannot be written", path.display())
}

#[cfg(unix)]
fn sync_parent(path: &Path) -> io::Result<()> {
    path.parent()
        .map_or(Ok(()), |parent| File::open(parent)?.sync_all())
}

#[cfg(not(unix))]
fn sync_parent(_path: &Path) -> io::Result<()> {
    Ok(())
}
