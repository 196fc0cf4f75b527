//! The chain of a pipeline's lines.

use super::violation::{Findings, Place, Rule};
use crate::audit::Head;

/// SHA-256 of nothing: what the first line of a pipeline holds.
const OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Where the chain of a pipeline has come.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub(super) seq: u64,
    pub(super) hash: String,
    /// A line that is known to have been written, and its hash.
    pub(super) expected: Option<(u64, String)>,
    /// Where the last line stands.
    last: Place,
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            seq: 0,
            hash: OF_NOTHING.to_owned(),
            expected: None,
            last: Place { file: 0, line: 0 },
        }
    }
}

impl Chain {
    /// Takes the next line, whose hash is `hash`.
    pub(super) fn take(&mut self, head: &Head, hash: String, at: Place, findings: &mut Findings) {
        let expected = self.seq + 1;
        if head.seq > expected {
            let last = head.seq - 1;
            let what = match (self.seq, expected == last) {
                (0, _) => format!(
                    "it begins with line {} of {:?}: what came before is missing, perhaps in an earlier file",
                    head.seq, head.pipeline_id
                ),
                (_, true) => format!("line {expected} of {:?} is missing", head.pipeline_id),
                (_, false) => {
                    format!(
                        "lines {expected} to {last} of {:?} are missing",
                        head.pipeline_id
                    )
                }
            };
            findings.add(at, Rule::Chain, what);
        } else if head.seq < expected {
            let what = format!(
                "line {} of {:?} comes again or late",
                head.seq, head.pipeline_id
            );
            findings.add(at, Rule::Chain, what);
        } else if head.prev != self.hash {
            let what = match self.seq {
                0 => "it is the first line, and holds the hash of another".to_owned(),
                before => {
                    format!("line {before}, the one before, is not the one whose hash it holds")
                }
            };
            findings.add(at, Rule::Chain, what);
        }
        if let Some((seq, known)) = &self.expected
            && *seq == head.seq
        {
            if *known != hash {
                let what = "it is not the line that the job's database knows of by this number";
                findings.add(at, Rule::Chain, what);
            }
            self.expected = None;
        }
        (self.seq, self.hash, self.last) = (head.seq, hash, at);
    }

    /// No line follows.
    pub(super) fn finish(&self, pipeline: &str, findings: &mut Findings) {
        if let Some((known, _)) = &self.expected {
            let what = format!(
                "line {known} of {pipeline:?}, which the job's database knows of, is not here: it ends with line {}",
                self.seq
            );
            findings.add(self.last, Rule::Chain, what);
        }
    }
}
