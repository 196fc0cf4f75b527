//! What goes to standard output and to standard error.

use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};

use crate::failure::{Exit, Failure};

/// Results on standard output, written when dropped or [finished](Self::finish).
pub(crate) struct Results(BufWriter<StdoutLock<'static>>);

impl Results {
    /// Standard output, for this command alone.
    pub(crate) fn start() -> Self {
        Self(BufWriter::new(io::stdout().lock()))
    }

    /// Writes a line.
    ///
    /// # Errors
    /// Standard output cannot be written: exit 5, or 0 where its reader has left.
    pub(crate) fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.bytes(text.as_bytes())?;
        self.bytes(b"\n")
    }

    /// Writes octets as they are.
    ///
    /// # Errors
    /// As [`line`](Self::line).
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.0.write_all(bytes).map_err(unwritable)
    }

    /// Writes what is still held back.
    ///
    /// # Errors
    /// As [`line`](Self::line).
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.0.flush().map_err(unwritable)
    }
}

/// Says why a command failed.
pub(crate) fn complain(failure: &Failure) {
    if !failure.text().is_empty() {
        say(failure.text());
    }
}

/// Says a line on standard error. There is nowhere to say that this failed.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "curtsy: {text}");
}

/// Says a text on standard error as it is.
pub(crate) fn say_plainly(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Bytes as people read them.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if count < 1000 {
        return format!("{count} B");
    }
    let (mut value, mut unit) = (count as f64 / 1000.0, 0);
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// How wide the terminal is that results go to; `None` where they go elsewhere.
pub(crate) fn width() -> Option<usize> {
    let terminal = console::Term::stdout();
    terminal.is_term().then(|| usize::from(terminal.size().1))
}

fn unwritable(error: io::Error) -> Failure {
    if error.kind() == ErrorKind::BrokenPipe {
        Failure::silent(Exit::Done)
    } else {
        Failure::new(Exit::Output, "standard output", error)
    }
}
