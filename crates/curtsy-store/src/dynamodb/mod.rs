//! The driver for state in a table of DynamoDB, which workers on many machines share.
//!
//! # What is stored how
//!
//! The table has the keys `key` (string) and `part` (string). A value is one item, with the part `value`:
//! `version` (8 bytes), `value` (bytes), and `expires`, the second after which DynamoDB may delete it,
//! [`KEPT`] after its last change, which is longer than any hold. An item has at most 400 KB; what a larger
//! value consists of stands in items beside it, whose parts begin with its version, and the item itself has
//! their number, `pieces`, in place of the value. [`DynamoDbStore::create_table`] makes such a table.
//!
//! # Safe to repeat
//!
//! A swap is one conditional write on the version, a random number that the writer draws before it asks. So
//! a swap whose answer was lost is made again, for four seconds: where its own version is found then, it has
//! run. Where what others have written since is found, it cannot be told whether it ran, and the answer is
//! `Unavailable`. All reads are consistent ones.
//!
//! # The clock
//!
//! DynamoDB has no clock to ask; each of its answers carries a date, in whole seconds. A
//! [`SharedClock`](crate::SharedClock) makes bounds of these: the time is never taken for later than it is,
//! and what departs is recorded as departed at the latest time that it may have been. Opening a
//! store asks until a second has begun, which takes up to a second itself; from then on the bounds are about
//! as far apart as the way to DynamoDB and back, and by so much each departure comes late. Its servers may disagree about the second by
//! 20 ms before that is taken for another clock; by so much two workers may then come too close.
//!
//! # What survives what
//!
//! DynamoDB answers a write when it is stored in several places.
//!
//! # Not supported
//!
//! Being told of changes ([`HostStore::watch`](crate::HostStore::watch)): a hold that another worker is told
//! is seen before the next departure, whose swap fails. Global tables, whose regions decide without each
//! other. Profiles with single sign-on, `login` or `credential_process`: `aws configure export-credentials` makes
//! variables of these.

mod failure;
mod hearing;
mod item;
mod link;
mod state;
mod table;

pub use state::{DynamoDbStore, KEPT};
pub use table::Expiry;
