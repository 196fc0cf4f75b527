//! The writer's thread.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use curtsy_store::Settlement;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use super::group::{self, Body};
use super::{Command, Ended};
use crate::error::{Error, ErrorKind};
use crate::job::manifest::{Line, Outcome};

/// The most endings of one group.
const GROUP: usize = 128;

pub(super) struct Writer {
    dir: PathBuf,
    temporary: PathBuf,
    manifest: File,
    open: HashMap<u64, Open>,
}

/// A body that is not whole yet.
struct Open {
    file: File,
    path: PathBuf,
    bytes: u64,
    hash: Sha256,
}

/// What has ended, on its way to a commit.
struct Ending {
    ended: Box<Ended>,
    body: Option<Body>,
}

impl Writer {
    pub(super) fn new(dir: &Path, temporary: &Path, manifest: &Path) -> Result<Self, Error> {
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
        let mut manifest = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(manifest)
            .map_err(failed)?;
        group::close_torn_line(&mut manifest).map_err(failed)?;
        Ok(Self {
            dir: dir.to_owned(),
            temporary: temporary.to_owned(),
            manifest,
            open: HashMap::new(),
        })
    }

    pub(super) fn run(
        mut self,
        mut commands: mpsc::Receiver<Command>,
        groups: &mpsc::Sender<Result<Vec<(Settlement, Line)>, Error>>,
    ) {
        while let Some(first) = commands.blocking_recv() {
            let mut endings = Vec::new();
            let mut next = Some(first);
            let done = loop {
                let Some(command) = next else { break Ok(()) };
                if let Err(error) = self.take(command, &mut endings) {
                    break Err(error);
                }
                if endings.len() == GROUP {
                    break Ok(());
                }
                next = commands.try_recv().ok();
            };
            let group = done.and_then(|()| self.commit(endings));
            let (stop, empty) = (group.is_err(), group.as_ref().is_ok_and(Vec::is_empty));
            if (!empty && groups.blocking_send(group).is_err()) || stop {
                return;
            }
        }
    }

    fn take(&mut self, command: Command, endings: &mut Vec<Ending>) -> Result<(), Error> {
        match command {
            Command::Write { id, piece } => {
                let written = self.open(id).and_then(|open| {
                    open.hash.update(&piece);
                    open.bytes += piece.len() as u64;
                    open.file.write_all(&piece)
                });
                written.map_err(|error| self.failed(error))?;
            }
            Command::Abort { id } => {
                if let Some(open) = self.open.remove(&id) {
                    let _ = fs::remove_file(&open.path);
                }
            }
            Command::End { body, mut ended } => {
                let body = match body {
                    None => None,
                    Some((id, to)) => {
                        // An empty body has a file too.
                        let opened = self.open(id).map(drop);
                        opened.map_err(|error| self.failed(error))?;
                        self.open.remove(&id).map(|open| {
                            ended.line.bytes = Some(open.bytes);
                            ended.line.sha256 = Some(
                                open.hash
                                    .finalize()
                                    .iter()
                                    .map(|byte| format!("{byte:02x}"))
                                    .collect(),
                            );
                            ended.line.file = Some(to.to_string_lossy().into_owned());
                            Body {
                                file: open.file,
                                from: open.path,
                                to: self.dir.join(to),
                            }
                        })
                    }
                };
                endings.push(Ending { ended, body });
            }
        }
        Ok(())
    }

    fn open(&mut self, id: u64) -> io::Result<&mut Open> {
        match self.open.entry(id) {
            std::collections::hash_map::Entry::Occupied(open) => Ok(open.into_mut()),
            std::collections::hash_map::Entry::Vacant(place) => {
                let path = self.temporary.join(id.to_string());
                let file = OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .open(&path)?;
                Ok(place.insert(Open {
                    file,
                    path,
                    bytes: 0,
                    hash: Sha256::new(),
                }))
            }
        }
    }

    /// Bodies durable, in place, told in the manifest; then they may be recorded as done.
    fn commit(&mut self, mut endings: Vec<Ending>) -> Result<Vec<(Settlement, Line)>, Error> {
        let bodies: Vec<&Body> = endings
            .iter()
            .filter_map(|ending| ending.body.as_ref())
            .collect();
        let placed = group::place(&self.dir, &bodies).map_err(|error| self.failed(error))?;
        let mut refused = placed.into_iter();
        for ending in endings.iter_mut().filter(|ending| ending.body.is_some()) {
            if let Some(Some(error)) = refused.next() {
                ending.ended.line.refuse_file(&error);
            }
        }
        let mut lines = Vec::new();
        let mut settlements = Vec::with_capacity(endings.len());
        for Ending { ended, .. } in endings {
            let line = ended.line.to_json();
            lines.extend_from_slice(line.as_bytes());
            lines.push(b'\n');
            let id = ended.id;
            let settlement = match (ended.line.outcome, ended.not_before) {
                (Outcome::Deferred, Some(not_before)) => {
                    let reason = ended.line.error.clone().unwrap_or_default();
                    Settlement::Deferred {
                        id,
                        not_before,
                        reason,
                        line,
                    }
                }
                (outcome, _) => Settlement::Finished {
                    id,
                    outcome: outcome.label().to_owned(),
                    line,
                },
            };
            settlements.push((settlement, ended.line));
        }
        self.manifest
            .write_all(&lines)
            .map_err(|error| self.failed(error))?;
        Ok(settlements)
    }

    fn failed(&self, error: io::Error) -> Error {
        let kind = ErrorKind::Output;
        Error::new(
            kind,
            format!(
                "the output directory {} cannot be written",
                self.dir.display()
            ),
        )
        .caused_by(error)
    }
}
