//! Where a job's bodies go.

use std::path::{Path, PathBuf};

use curtsy_store::Queue;
use http::header::USER_AGENT;

use super::JobDir;
use crate::client::Client;
use crate::error::Error;
use crate::sink::{About, Warc, random_urn};

/// What becomes of bodies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bodies {
    /// Each of a fetched URL is stored decoded, in a file of its own in the job's directory.
    Files,
    /// Every response that ends a URL is recorded in this WARC 1.1 file, as it came over the wire. A file that
    /// exists must be of the same job.
    Warc(PathBuf),
    /// They are read and dropped.
    Dropped,
}

/// Where bodies are.
pub(super) struct Store {
    dir: PathBuf,
    pub(super) kind: StoreKind,
}

pub(super) enum StoreKind {
    Files,
    /// The archive by its name in the manifest.
    Warc(String),
    Dropped,
}

impl Store {
    /// What these options say, with the archive that the sink is to write.
    pub(super) async fn open(
        bodies: &Bodies,
        dir: &JobDir,
        client: &Client,
        queue: &dyn Queue,
    ) -> Result<(Self, Option<Warc>), Error> {
        let (kind, archive) = match bodies {
            Bodies::Files => (StoreKind::Files, None),
            Bodies::Dropped => (StoreKind::Dropped, None),
            Bodies::Warc(path) => {
                let archive = open_archive(path, dir, client, queue).await?;
                (StoreKind::Warc(archive.name().to_owned()), Some(archive))
            }
        };
        let dir = dir.path().to_owned();
        Ok((Self { dir, kind }, archive))
    }

    /// The length of a file of the job; none where it is gone.
    pub(super) async fn length(&self, file: &str) -> Option<u64> {
        let file = tokio::fs::metadata(self.dir.join(file)).await.ok()?;
        file.is_file().then_some(file.len())
    }
}

/// The archive of the job in `dir`, told apart from others by a name that the queue keeps.
async fn open_archive(
    path: &Path,
    dir: &JobDir,
    client: &Client,
    queue: &dyn Queue,
) -> Result<Warc, Error> {
    const NAME: &str = "archive_name";
    let stored = queue.meta(NAME).await?;
    let job = match stored.and_then(|name| String::from_utf8(name).ok()) {
        Some(name) => name,
        None => {
            let name = random_urn();
            let entry = (NAME.to_owned(), name.clone().into_bytes());
            queue.set_meta(vec![entry]).await?;
            name
        }
    };
    let agent = client.shared.headers.get(USER_AGENT);
    let about = About {
        job,
        user_agent: agent
            .map(|agent| String::from_utf8_lossy(agent.as_bytes()).into_owned())
            .unwrap_or_default(),
        obeys_robots: client.shared.policies.base().respect_robots,
    };
    Warc::open(path, dir.path(), &dir.archive_mark(), about)
}
