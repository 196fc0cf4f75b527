//! The log of arrivals: a line for each, when it is finished.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::arrival::{Arrival, as_micros};
use crate::error::{Error, ErrorKind};

/// Lines that wait for the disk. When it falls so far behind, the origin waits for it.
const BACKLOG: usize = 4096;

/// How a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// A JSON object a line, with the fields of [`Arrival`].
    JsonLines,
    /// Comma-separated values (RFC 4180) under a line of the same names.
    Csv,
}

impl LogFormat {
    /// CSV for a name that ends in `.csv`, else JSON Lines.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        match path.extension() {
            Some(extension) if extension.eq_ignore_ascii_case("csv") => Self::Csv,
            _ => Self::JsonLines,
        }
    }
}

/// Writes arrivals to a file, on a thread of its own. Each line is with the system a moment after the
/// arrival is finished, so that a killed origin loses little.
#[derive(Debug)]
pub struct LogWriter {
    lines: SyncSender<String>,
    thread: JoinHandle<io::Result<()>>,
    format: LogFormat,
}

impl LogWriter {
    /// Opens `path` anew; what it held is lost.
    ///
    /// # Errors
    /// [`ErrorKind::Log`] where it cannot be created.
    pub fn create(path: &Path, format: LogFormat) -> Result<Self, Error> {
        let mut file =
            BufWriter::new(File::create(path).map_err(|error| Error::new(ErrorKind::Log, error))?);
        let (lines, queue) = sync_channel::<String>(BACKLOG);
        let thread = std::thread::spawn(move || {
            if format == LogFormat::Csv {
                writeln!(file, "{CSV_COLUMNS}")?;
            }
            write_all(&mut file, &queue)
        });
        Ok(Self {
            lines,
            thread,
            format,
        })
    }

    /// Writes one arrival. Where the disk has failed it is lost; [`close`](Self::close) tells.
    pub fn write(&mut self, arrival: &Arrival) {
        let line = match self.format {
            LogFormat::JsonLines => serde_json::to_string(arrival).unwrap_or_default(),
            LogFormat::Csv => csv_line(arrival),
        };
        let _ = self.lines.send(line);
    }

    /// Waits until all is written.
    ///
    /// # Errors
    /// [`ErrorKind::Log`] where something could not be.
    pub fn close(self) -> Result<(), Error> {
        drop(self.lines);
        match self.thread.join() {
            Ok(written) => written.map_err(|error| Error::new(ErrorKind::Log, error)),
            Err(_) => Err(Error::new(
                ErrorKind::Log,
                "the thread that writes it is gone",
            )),
        }
    }
}

/// Reads a log in JSON Lines back, in the order of arrival.
///
/// # Errors
/// [`ErrorKind::Log`] where the file cannot be read, or a line is no arrival.
pub fn read_log(path: &Path) -> Result<Vec<Arrival>, Error> {
    let log = |error: &dyn std::error::Error| Error::new(ErrorKind::Log, error.to_string());
    let file = File::open(path).map_err(|error| log(&error))?;
    let mut arrivals = BufReader::new(file)
        .lines()
        .map(|line| {
            let line = line.map_err(|error| log(&error))?;
            serde_json::from_str::<Arrival>(&line).map_err(|error| log(&error))
        })
        .collect::<Result<Vec<_>, _>>()?;
    arrivals.sort_by_key(|arrival| arrival.seq);
    Ok(arrivals)
}

/// Writes lines as they come, and flushes as soon as none waits.
fn write_all(file: &mut impl Write, queue: &Receiver<String>) -> io::Result<()> {
    loop {
        match queue.recv_timeout(Duration::ZERO) {
            Ok(line) => writeln!(file, "{line}")?,
            Err(RecvTimeoutError::Timeout) => {
                file.flush()?;
                match queue.recv() {
                    Ok(line) => writeln!(file, "{line}")?,
                    Err(_) => return file.flush(),
                }
            }
            Err(RecvTimeoutError::Disconnected) => return file.flush(),
        }
    }
}

const CSV_COLUMNS: &str = "seq,at_us,epoch_us,answered_us,done_us,whole,connection,protocol,method,\
                           host,path,user_agent,verdict,status,hold_until_us,in_flight";

fn csv_line(arrival: &Arrival) -> String {
    let micros = |at: Option<Duration>| {
        at.map(as_micros)
            .map_or_else(String::new, |us| us.to_string())
    };
    [
        arrival.seq.to_string(),
        as_micros(arrival.at).to_string(),
        arrival.epoch_us.to_string(),
        micros(arrival.answered),
        micros(arrival.done),
        arrival.whole.to_string(),
        arrival.connection.to_string(),
        arrival.protocol.label().to_owned(),
        quoted(&arrival.method),
        quoted(arrival.host.as_deref().unwrap_or_default()),
        quoted(&arrival.path),
        quoted(arrival.user_agent.as_deref().unwrap_or_default()),
        arrival.verdict.label().to_owned(),
        arrival
            .status
            .map_or_else(String::new, |status| status.to_string()),
        micros(arrival.hold_until),
        arrival.in_flight.to_string(),
    ]
    .join(",")
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::hand_made;

    #[test]
    fn a_log_in_json_lines_reads_back_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("arrivals.jsonl");
        let arrivals = [hand_made(1, 0.5, "/a"), hand_made(2, 0.75, "/b?c=d")];
        let mut log = LogWriter::create(&path, LogFormat::of(&path)).unwrap();
        // In the order of their ends.
        log.write(&arrivals[1]);
        log.write(&arrivals[0]);
        log.close().unwrap();
        assert_eq!(read_log(&path).unwrap(), arrivals);
    }

    #[test]
    fn a_csv_line_has_a_value_for_each_column_and_quotes_what_it_must() {
        let mut arrival = hand_made(7, 1.5, "/a,\"b\"");
        arrival.user_agent = Some("curtsy/1, test".to_owned());
        let line = csv_line(&arrival);
        assert_eq!(
            line,
            "7,1500000,1501500000,1501000,1501000,true,1,http11,GET,example.org,\
             \"/a,\"\"b\"\"\",\"curtsy/1, test\",ok,200,,1"
        );
        assert_eq!(CSV_COLUMNS.split(',').count(), 16);
    }

    #[test]
    fn a_line_that_is_no_arrival_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("arrivals.jsonl");
        std::fs::write(&path, "{\"seq\":1}\n").unwrap();
        assert_eq!(read_log(&path).unwrap_err().kind(), ErrorKind::Log);
    }
}
