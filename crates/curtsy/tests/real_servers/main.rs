//! Jobs against what others wrote, on loopback: nginx `limit_req`, HAProxy,
//! httpbin, express-rate-limit, Flask-Limiter; and warcio.
//!
//! Judged by a [`Tap`](tap::Tap) between the client and the server, which knows nothing of curtsy. They
//! are ignored unless asked for, because the servers have to be installed: `./test` does both.

#![allow(clippy::unwrap_used)]

mod express;
mod flask;
mod haproxy;
mod httpbin;
mod nginx;
mod reading;
mod scene;
mod server;
mod tap;
mod warcio;
