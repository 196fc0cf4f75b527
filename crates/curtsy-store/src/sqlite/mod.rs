//! The embedded drivers: one SQLite file each, which several processes may share.
//!
//! Each store has a thread of its own that holds the connection. Calls reach it over a bounded
//! channel; what has queued up while it was busy goes into one transaction (group commit), and every
//! call is answered after the commit. So many calls at once cost little more than one.
//!
//! # What survives what
//!
//! The files are in WAL mode. Whatever was acknowledged survives the end of the process, `kill -9`
//! included: at the commit it has reached the operating system.
//!
//! The loss of power is another matter. The *queue* syncs before each commit is acknowledged
//! (`synchronous=FULL`), because a URL that was recorded as done is never fetched again. The *state*
//! commits with `synchronous=NORMAL`, and a second thread syncs the log right after a commit, every
//! 100 ms at most: a power cut loses at most what was learned in the last tenth of a second and the
//! sync then under way, and never damages the file. With `FULL` it would lose nothing, but every
//! departure would wait for the disk. Measured with `examples/store_cost.rs` on two shared cores and
//! ext4, where a sync took 0.2 to 4 ms (three runs, so read ratios):
//!
//! | swaps of 500 bytes | per second | CPU each |
//! | --- | --- | --- |
//! | one at a time, `NORMAL` | 23,000–55,000 | 13–18 µs |
//! | one at a time, `NORMAL` and the second thread | 23,000–57,000 | 16–19 µs |
//! | one at a time, `FULL` | 700–5,300 | 70–128 µs |
//! | 64 at once, `NORMAL` | 119,000–335,000 | 3 µs |
//! | 64 at once, `NORMAL` and the second thread | 167,000–279,000 | 3–4 µs |
//! | 64 at once, `FULL` | 11,000–160,000 | 5–8 µs |
//!
//! # Not supported
//!
//! Network file systems: WAL needs shared memory, and locks that work.

mod call;
mod failure;
mod file;
mod queue;
mod state;
mod sync;
mod thread;

pub use queue::SqliteQueue;
pub use state::SqliteStore;
