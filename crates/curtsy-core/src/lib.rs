//! The pure core of curtsy: what a server said, and when the next request may depart.

pub mod draw;
pub mod signal;
pub mod time;

pub use draw::Draw;
pub use time::Timestamp;
