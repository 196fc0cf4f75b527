//! The Redis drivers pass the suites, and stand what networks and servers do to them.
//!
//! Each test starts a redis-server of its own on loopback. They are ignored unless asked for, because that
//! has to be installed: `./test` does both.

#![allow(clippy::unwrap_used)]
#![cfg(unix)]

mod cluster;
mod lost;
mod processes;
mod proxy;
mod queue;
mod refused;
mod server;
mod state;
mod tls;
#[cfg(target_os = "linux")]
mod wrong_clocks;

mod store {
    use std::sync::Arc;

    use curtsy_store::HostStore;

    use crate::server::Server;
    use crate::state::open;

    async fn open_new() -> (Arc<dyn HostStore>, Server) {
        let server = Server::start(&[]);
        (Arc::new(open(&server).await), server)
    }

    curtsy_store::host_store_conformance!(
        #[ignore = "needs redis-server: ./test installs it and runs this"]
        open_new
    );
}

mod queue_conformance {
    use std::sync::Arc;

    use curtsy_store::{Queue, RedisQueue};

    use crate::server::Server;

    async fn open_new() -> (Arc<dyn Queue>, Server) {
        let server = Server::start(&[]);
        let queue = RedisQueue::open(&server.url().parse().unwrap(), "default", "w").await;
        (Arc::new(queue.unwrap()), server)
    }

    curtsy_store::queue_conformance!(
        #[ignore = "needs redis-server: ./test installs it and runs this"]
        open_new
    );
}
