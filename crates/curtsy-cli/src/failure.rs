//! Why a command ended, and the exit code that says so.

use std::error::Error as StdError;
use std::fmt;
use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what it was asked.
    Done,
    /// The answer is no: not allowed, a bad input line.
    No,
    /// Usage or configuration is wrong, or an input file cannot be read.
    Usage,
    /// Some URLs have to wait.
    Deferred,
    /// The state store or the queue failed.
    Store,
    /// The output cannot be written.
    Output,
    /// Stopped by a signal.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::Usage => 2,
            Exit::Deferred => 3,
            Exit::Store => 4,
            Exit::Output => 5,
            Exit::Interrupted => 130,
        })
    }
}

/// An error as the user sees it: one line `curtsy: what: why`, with a hint where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    exit: Exit,
    text: String,
}

impl Failure {
    /// What went wrong with what.
    pub(crate) fn new(exit: Exit, what: impl fmt::Display, why: impl fmt::Display) -> Self {
        Self {
            exit,
            text: one_line(&format!("{what}: {why}")),
        }
    }

    /// Wrong usage or configuration.
    pub(crate) fn usage(what: impl fmt::Display, why: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, what, why)
    }

    /// Wrong usage, told in one piece.
    pub(crate) fn usage_text(text: &str) -> Self {
        Self {
            exit: Exit::Usage,
            text: one_line(text),
        }
    }

    /// An end at which nothing is left to say.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self {
            exit,
            text: String::new(),
        }
    }

    /// How the command ends.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// The line without `curtsy: `; empty where there is nothing to say.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// An error and all its sources, from the outermost to the cause; what only repeats the one before is left
/// out.
pub(crate) fn chain(error: &dyn StdError) -> String {
    let mut last = error.to_string();
    let mut text = last.clone();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        if said != last {
            text.push_str(": ");
            text.push_str(&said);
        }
        last = said;
        source = cause.source();
    }
    text
}

/// File names, values and what servers say may hold line ends and terminal escapes; a line that is shown
/// holds none.
pub(crate) fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_whatever_it_repeats() {
        let failure = Failure::usage("a\nb\u{1b}[31m", "no\r\nsuch file");
        assert_eq!(failure.text(), "a b [31m: no  such file");
    }

    #[test]
    fn a_chain_goes_down_to_the_cause() {
        #[derive(Debug)]
        struct Outer(fmt::Error);
        impl fmt::Display for Outer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("outer")
            }
        }
        impl StdError for Outer {
            fn source(&self) -> Option<&(dyn StdError + 'static)> {
                Some(&self.0)
            }
        }
        assert_eq!(chain(&Outer(fmt::Error)), format!("outer: {}", fmt::Error));
        let again = std::io::Error::other(Outer(fmt::Error));
        assert_eq!(chain(&again), chain(&Outer(fmt::Error)));
    }
}
