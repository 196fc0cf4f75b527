//! Responses in an archive.

use std::collections::BTreeMap;
use std::io::{BufReader, Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use curtsy::store::MemoryQueue;
use curtsy::{Bodies, ErrorKind, JobOptions, Line, NewEntry, Outcome, Summary};
use curtsy_origin::sized_body;
use flate2::bufread::GzDecoder;
use sha1::{Digest, Sha1};

use crate::support::*;

/// A record as its member holds it.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) offset: u64,
    fields: BTreeMap<String, String>,
    block: Vec<u8>,
}

impl Record {
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.block).into_owned()
    }

    /// What follows the HTTP head.
    fn payload(&self) -> &[u8] {
        let end = self.block.windows(4).position(|at| at == b"\r\n\r\n");
        &self.block[end.unwrap() + 4..]
    }
}

/// The whole records of an archive, each a gzip member whose lengths and digests are right, and how many
/// bytes follow them.
pub(crate) fn read(file: &Path) -> (Vec<Record>, u64) {
    let file = std::fs::File::open(file).unwrap();
    let length = file.metadata().unwrap().len();
    let (mut reader, mut records, mut offset) = (BufReader::new(file), Vec::new(), 0);
    loop {
        let (mut member, mut bytes) = (GzDecoder::new(reader), Vec::new());
        match member.read_to_end(&mut bytes) {
            Ok(1..) => records.push(record(offset, &bytes)),
            _ => return (records, length - offset),
        }
        reader = member.into_inner();
        offset = reader.stream_position().unwrap();
    }
}

fn record(offset: u64, bytes: &[u8]) -> Record {
    let end = bytes.windows(4).position(|at| at == b"\r\n\r\n").unwrap();
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let mut lines = head.split("\r\n");
    assert_eq!(lines.next(), Some("WARC/1.1"));
    let fields = lines.map(|line| line.split_once(": ").unwrap());
    let fields = fields.map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    let rest = &bytes[end + 4..];
    let record = Record {
        offset,
        fields: fields.collect(),
        block: rest[..rest.len() - 4].to_vec(),
    };
    assert!(rest.ends_with(b"\r\n\r\n"));
    assert_eq!(
        record.field("content-length"),
        record.block.len().to_string()
    );
    assert_eq!(record.field("warc-block-digest"), digest(&record.block));
    if record.field("warc-type") == "response" {
        assert_eq!(
            record.field("warc-payload-digest"),
            digest(record.payload())
        );
    }
    record
}

/// Bit by bit, unlike the writer.
fn digest(bytes: &[u8]) -> String {
    let digest = Sha1::digest(bytes);
    let bits: String = digest.iter().map(|byte| format!("{byte:08b}")).collect();
    let letters = bits.as_bytes().chunks(5).map(|five| {
        let five = u8::from_str_radix(std::str::from_utf8(five).unwrap(), 2).unwrap();
        char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[five as usize])
    });
    format!("sha1:{}", letters.collect::<String>())
}

/// The lines of a manifest, those that a crash tore left out.
pub(crate) fn lines_of(dir: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(dir.join("manifest.jsonl")).unwrap_or_default();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    lines.collect()
}

/// A job with one archive, which may be run several times.
struct Runs {
    queue: Arc<MemoryQueue>,
    dir: tempfile::TempDir,
}

impl Runs {
    fn new() -> Self {
        Self {
            queue: Arc::new(MemoryQueue::new()),
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn archive(&self) -> std::path::PathBuf {
        self.dir.path().join("a.warc.gz")
    }

    fn records(&self) -> Vec<Record> {
        let (records, rest) = read(&self.archive());
        assert_eq!(rest, 0, "bytes after the last record");
        records
    }

    async fn try_run(
        &self,
        refresh: bool,
        entries: Vec<NewEntry>,
    ) -> Result<Summary, curtsy::Error> {
        let options = JobOptions {
            bodies: Bodies::Warc(self.archive()),
            refresh,
            ..JobOptions::default()
        };
        let client = client(|policy| policy.max_retries = 0);
        let queue = Arc::clone(&self.queue);
        run_on(client, queue, self.dir.path(), entries, options).await
    }

    async fn run(&self, refresh: bool, urls: &[String]) -> Summary {
        let entries = urls.iter().map(entry).collect();
        self.try_run(refresh, entries).await.unwrap()
    }
}

fn kinds(records: &[Record]) -> Vec<&str> {
    records
        .iter()
        .map(|record| record.field("warc-type"))
        .collect()
}

#[tokio::test]
async fn every_answer_that_ends_a_url_is_recorded_as_it_came_and_so_are_redirects() {
    let origin = origin(
        r#"{"robots": 404, "pages": {
            "/coded": {"body_bytes": 100000, "coding": "gzip"},
            "/from": {"location": "/to", "body": "moved"},
            "/to": {"body": "there"},
            "/gone": {"status": 404, "body": "gone"}
        }}"#,
    )
    .await;
    let (runs, mut all) = (Runs::new(), Vec::new());
    for path in ["/coded", "/from", "/gone"] {
        let url = origin.url(path);
        runs.run(false, std::slice::from_ref(&url)).await;
        all.push(line(runs.dir.path(), &url));
    }
    assert_eq!(bodies(runs.dir.path()), ["a.warc.gz"]);
    let records = runs.records();
    let pair = ["response", "request"];
    // A run has its own warcinfo.
    let expected = [
        &["warcinfo"][..],
        &pair,
        &["warcinfo"],
        &pair,
        &pair,
        &["warcinfo"],
        &pair,
    ]
    .concat();
    assert_eq!(kinds(&records), expected);

    let coded = &records[1];
    assert!(coded.text().starts_with("HTTP/1.1 200 OK\r\n"));
    assert!(coded.text().contains("content-encoding: gzip\r\n"));
    let mut decoded = Vec::new();
    let mut decoder = GzDecoder::new(coded.payload());
    decoder.read_to_end(&mut decoded).unwrap();
    assert_eq!(decoded, sized_body(100_000));
    assert_eq!(
        all[0].sha256,
        Some(sha256(&decoded)),
        "that of the decoded body"
    );
    assert_eq!(all[0].bytes, Some(100_000));

    let request = &records[2];
    assert_eq!(
        request.field("warc-concurrent-to"),
        coded.field("warc-record-id")
    );
    assert!(
        request
            .text()
            .starts_with("GET /coded HTTP/1.1\r\nhost: 127.0.0.1:")
    );
    assert!(
        request
            .text()
            .contains("accept-encoding: gzip, deflate, br, zstd\r\n")
    );
    for record in records
        .iter()
        .filter(|record| record.field("warc-type") != "warcinfo")
    {
        assert_eq!(record.field("warc-ip-address"), "127.0.0.1");
        assert_eq!(
            record.field("warc-date").len(),
            "2024-05-20T14:32:01.000Z".len()
        );
    }

    assert_eq!(records[4].field("warc-target-uri"), origin.url("/from"));
    assert!(records[4].text().starts_with("HTTP/1.1 302 "));
    assert_eq!(records[4].payload(), b"moved");
    assert_eq!(records[6].payload(), b"there");
    assert_eq!(records[9].payload(), b"gone");
    for (line, at) in all.iter().zip([1, 6, 9]) {
        assert_eq!(line.file.as_deref(), Some("a.warc.gz"));
        assert_eq!(line.warc_offset, Some(records[at].offset), "{line:?}");
        let id = line.warc_record_id.as_ref().unwrap();
        assert_eq!(records[at].field("warc-record-id"), format!("<{id}>"));
    }
}

#[tokio::test]
async fn secrets_are_not_recorded() {
    let origin = origin(r#"{"robots": 404}"#).await;
    let runs = Runs::new();
    let entry = NewEntry {
        url: origin
            .url("/x")
            .replace("http://", "http://annabel:hushhush@"),
        headers: Some(
            r#"{"Cookie": "s=hushhush", "X-Api-Key": "hushhush", "Accept": "a/b"}"#.to_owned(),
        ),
        ..NewEntry::default()
    };
    runs.try_run(false, vec![entry]).await.unwrap();
    let sent = &pages(&origin)[0];
    assert!(sent.header("authorization").is_some() && sent.header("x-api-key") == Some("hushhush"));
    let records = runs.records();
    for record in &records {
        let whole = format!("{record:?} {}", record.text()).to_lowercase();
        for secret in ["hushhush", "authorization", "cookie", "annabel"] {
            assert!(!whole.contains(secret), "{secret}: {whole}");
        }
    }
    assert!(
        records[2].text().contains("accept: a/b\r\n"),
        "what is none is"
    );
}

#[tokio::test]
async fn a_torn_tail_is_cut_off_before_the_archive_grows_again() {
    let origin = origin(r#"{"robots": 404, "page": {"body_bytes": 5000}}"#).await;
    let runs = Runs::new();
    runs.run(false, &[origin.url("/1")]).await;
    let whole = std::fs::read(runs.archive()).unwrap();
    let response = runs.records()[1].offset as usize..runs.records()[2].offset as usize;
    let mark = runs.dir.path().join(".curtsy/archive.json");
    for (round, torn) in [10, 200, response.len() - 1].into_iter().enumerate() {
        let mut file = std::fs::File::options()
            .append(true)
            .open(runs.archive())
            .unwrap();
        file.write_all(&whole[response.clone()][..torn]).unwrap();
        if round == 1 {
            // Then the whole archive is read.
            std::fs::remove_file(&mark).unwrap();
        }
        let before = pages(&origin).len();
        runs.run(false, &[origin.url(&format!("/more/{round}"))])
            .await;
        assert_eq!(pages(&origin).len(), before + 1);
        assert_eq!(runs.records().len(), 3 + 3 * (round + 1));
    }
}

#[tokio::test]
async fn a_file_that_is_not_the_jobs_own_is_refused_and_left_alone() {
    let origin = origin(r#"{"robots": 404}"#).await;
    let other = Runs::new();
    other.run(false, &[origin.url("/x")]).await;
    let foreign = std::fs::read(other.archive()).unwrap();
    for content in [b"notes of mine\n".to_vec(), foreign[..40].to_vec(), foreign] {
        let runs = Runs::new();
        std::fs::write(runs.archive(), &content).unwrap();
        let entries = vec![entry(origin.url("/y"))];
        let error = runs.try_run(false, entries).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
        assert!(error.to_string().contains("move it away"), "{error}");
        assert_eq!(std::fs::read(runs.archive()).unwrap(), content);
    }
    assert_eq!(count(&origin, "/y"), 0, "nothing departed");
}

#[tokio::test]
async fn a_304_is_recorded_as_a_revisit_of_the_record_that_holds() {
    let origin = origin(
        r#"{"robots": 404, "pages": {"/a": [
            {"body": "x", "headers": [["ETag", "\"1\""]]}, {"status": 304, "headers": [["ETag", "\"1\""]]}
        ]}}"#,
    )
    .await;
    let (runs, url) = (Runs::new(), origin.url("/a"));
    runs.run(false, std::slice::from_ref(&url)).await;
    let first = line(runs.dir.path(), &url);
    assert_eq!(
        runs.run(true, std::slice::from_ref(&url))
            .await
            .count(Outcome::Fetched),
        1
    );
    let second = line(runs.dir.path(), &url);
    assert!(second.not_modified, "{second:?}");
    assert_eq!(second.warc_offset, first.warc_offset);
    let records = runs.records();
    let revisit = &records[4];
    assert_eq!(revisit.field("warc-type"), "revisit");
    assert_eq!(
        revisit.field("warc-refers-to"),
        records[1].field("warc-record-id")
    );
    assert!(
        revisit
            .field("warc-profile")
            .ends_with("server-not-modified")
    );
    assert!(revisit.text().starts_with("HTTP/1.1 304 Not Modified\r\n"));
    assert!(records[5].text().contains("if-none-match: \"1\"\r\n"));
}

#[tokio::test]
async fn an_archive_that_cannot_be_made_is_told_before_anything_departs() {
    let origin = origin(r#"{"robots": 404}"#).await;
    let runs = Runs::new();
    std::fs::create_dir(runs.archive()).unwrap();
    let entries = vec![entry(origin.url("/x"))];
    let error = runs.try_run(false, entries).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Output);
    assert_eq!(origin.arrived(), 0);
}
