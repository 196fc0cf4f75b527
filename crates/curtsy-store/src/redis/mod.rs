//! The driver for fleets: workers on many machines share one Redis.
//!
//! # What is stored how
//!
//! Every key begins with `curtsy:` and has a hash tag, so that the keys of one call lie in one slot. A value
//! of a scope is one string, `curtsy:{scope:example.org}`: eight versions of 8 bytes, the newest first, and
//! then the value itself. It is kept for [`KEPT`] after its last change, which is longer than any hold.
//!
//! # Safe to repeat
//!
//! A call whose answer was lost may have run, or may run later. So a version is a random number that the
//! writer draws before it asks, and a swap whose version stands among the last eight of a key *has* run: it
//! is answered as it would have been the first time. A call whose answer was lost is repeated for four
//! seconds before the store is told to be lost. Where a repeated swap finds none of that, but what others
//! have written since, it cannot be told whether it ran, and the answer is `Unavailable`.
//!
//! # What survives what
//!
//! What the server is set up for. With an append-only file and `appendfsync always` an acknowledged change
//! survives everything. With `everysec` a power cut takes the last second, and the end of the server's process,
//! `kill -9` included, nothing where the disk keeps up: behind a slow `fsync` it puts off writing for up to two
//! seconds. A server that keeps nothing, or that evicts keys (`maxmemory-policy` other than `noeviction`),
//! forgets holds.
//!
//! # In a cluster
//!
//! A scope and a job each lie on one node. Every node has a clock of its own, and a fleet goes by one: that of the
//! node with the slot of `curtsy:clock`, read once a second where something is asked. A call is repeated where
//! the cluster has moved or lost its node; that a node died after it had acknowledged a change, and before
//! a replica had it, takes the change (see Redis's own "write safety").
//!
//! # Not supported
//!
//! Servers before Redis 6 (RESP3), and Sentinel.

mod connection;
mod failure;
mod link;
mod queue;
mod script;
mod state;
mod watched;

pub use queue::RedisQueue;
pub use state::{KEPT, RedisStore};
