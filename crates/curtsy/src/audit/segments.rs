//! The files of one log: those that were filled, compressed or about to be, and the one that is written.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

const COMPRESSED: &str = "gz";
const UNFINISHED: &str = "tmp";

/// The files of the log at `path` that there are, oldest first.
///
/// # Errors
/// The directory cannot be read.
pub(super) fn segments(path: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(of(path)?.into_iter().map(|(.., file)| file).collect())
}

/// The files that a path stands for: the log itself with all that it filled before, or one of those alone.
/// Each with the log that it is of, and its place in there.
///
/// # Errors
/// The directory cannot be read.
pub(super) fn of(path: &Path) -> io::Result<Vec<(PathBuf, u32, PathBuf)>> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    if let Some((log, number)) = log_of(name) {
        let log = path.with_file_name(log);
        return Ok(vec![(log, number, path.to_owned())]);
    }
    let filled = filled(path)?.into_iter();
    let mut files: Vec<_> = filled
        .map(|(number, file)| (path.to_owned(), number, file))
        .collect();
    if path.exists() {
        files.push((path.to_owned(), u32::MAX, path.to_owned()));
    }
    Ok(files)
}

/// Of the name of a filled file the name of its log, and its number.
fn log_of(name: &str) -> Option<(String, u32)> {
    let plain = name.strip_suffix(".gz").unwrap_or(name);
    let (stem, extension) = match plain.rsplit_once('.') {
        Some((stem, extension)) => (stem, format!(".{extension}")),
        None => (plain, String::new()),
    };
    let (stem, number) = stem.rsplit_once('-')?;
    let is_number = number.len() >= 4 && number.bytes().all(|byte| byte.is_ascii_digit());
    let number = number.parse().ok().filter(|_| is_number)?;
    Some((format!("{stem}{extension}"), number))
}

/// The bytes of a file of a log, decompressed where it is.
///
/// # Errors
/// It cannot be opened.
pub(super) fn open(file: &Path) -> io::Result<Box<dyn Read + Send>> {
    let is_compressed = |file: &Path| file.extension() == Some(OsStr::new(COMPRESSED));
    let opened = match File::open(file) {
        // It may have been compressed since it was found.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_compressed(file) => {
            return match with_suffix(file, COMPRESSED) {
                compressed if compressed.exists() => open(&compressed),
                _ => Err(error),
            };
        }
        opened => opened?,
    };
    Ok(if is_compressed(file) {
        Box::new(MultiGzDecoder::new(BufReader::with_capacity(
            1 << 18,
            opened,
        )))
    } else {
        Box::new(opened)
    })
}

/// Gives the filled file at `path` a number; the one that is written next takes its name.
///
/// # Errors
/// It cannot be renamed.
pub(super) fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let last = filled(path)?.last().map_or(0, |(number, _)| *number);
    let aside = numbered(path, last + 1);
    fs::rename(path, &aside)?;
    Ok(aside)
}

/// Compresses what is set aside and is not compressed yet. A file is removed when all of it is durable in its
/// compressed form, so that at every moment all lines are in one of the two.
///
/// # Errors
/// A file cannot be read or written; then it stays as it is.
pub(super) fn compress(path: &Path) -> io::Result<()> {
    /// Two at a time would write the same file.
    static TURN: Mutex<()> = Mutex::new(());

    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for (number, file) in filled(path)? {
        if file.extension() != Some(OsStr::new(COMPRESSED)) {
            compress_one(&file, &with_suffix(&numbered(path, number), COMPRESSED))?;
        }
    }
    Ok(())
}

fn compress_one(file: &Path, compressed: &Path) -> io::Result<()> {
    let unfinished = with_suffix(compressed, UNFINISHED);
    let mut encoder = GzEncoder::new(
        BufWriter::with_capacity(1 << 18, File::create(&unfinished)?),
        Compression::new(4),
    );
    io::copy(&mut File::open(file)?, &mut encoder)?;
    let mut written = encoder.finish()?;
    written.flush()?;
    written.get_ref().sync_all()?;
    fs::rename(&unfinished, compressed)?;
    fs::remove_file(file)
}

/// The files that are set aside, by their numbers; of one that is there in both forms, the plain one.
fn filled(path: &Path) -> io::Result<Vec<(u32, PathBuf)>> {
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(parent)? {
        let name = entry?.file_name();
        if let Some((log, number)) = name.to_str().and_then(log_of)
            && path.file_name() == Some(OsStr::new(&log))
        {
            found.push((number, parent.join(name)));
        }
    }
    // The plain name is the shorter one, and so the first.
    found.sort();
    found.dedup_by_key(|(number, _)| *number);
    Ok(found)
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(path.file_stem().unwrap_or_default());
    name.push(format!("-{number:04}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_in_the_order_in_which_they_were_filled() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        for text in ["one\n", "two\n", "three\n"] {
            fs::write(&path, text).unwrap();
            set_aside(&path).unwrap();
        }
        compress(&path).unwrap();
        fs::write(&path, "four\n").unwrap();
        // What is not the log's.
        for other in [
            "audit-x.jsonl",
            "audit-0001.json",
            "other-0001.jsonl",
            "audit-0009.jsonl.gz.tmp",
        ] {
            fs::write(dir.path().join(other), "no\n").unwrap();
        }
        let files = segments(&path).unwrap();
        let mut text = String::new();
        for file in &files {
            open(file).unwrap().read_to_string(&mut text).unwrap();
        }
        assert_eq!(text, "one\ntwo\nthree\nfour\n");
        assert!(files[0].ends_with("audit-0001.jsonl.gz"));
    }

    #[test]
    fn a_file_that_is_there_in_both_forms_counts_once_and_is_compressed_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        fs::write(&path, "one\n").unwrap();
        let aside = set_aside(&path).unwrap();
        assert!(aside.ends_with("log-0001"));
        // A crash right before the plain form was removed.
        fs::copy(&aside, dir.path().join("copy")).unwrap();
        compress(&path).unwrap();
        fs::rename(dir.path().join("copy"), &aside).unwrap();
        assert_eq!(segments(&path).unwrap(), std::slice::from_ref(&aside));
        compress(&path).unwrap();
        assert_eq!(segments(&path).unwrap(), [dir.path().join("log-0001.gz")]);
    }
}
