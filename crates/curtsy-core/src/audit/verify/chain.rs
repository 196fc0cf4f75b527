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
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            seq: 0,
            hash: OF_NOTHING.to_owned(),
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
        (self.seq, self.hash) = (head.seq, hash);
    }
}
