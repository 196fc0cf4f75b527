//! The DynamoDB driver passes the suite against dynalite and moto, and stands what networks and servers do to it.
//!
//! Both are started once for all tests, each of which has a table of its own. The tests are ignored unless
//! asked for, because both have to be installed: `./test` does that, and runs them.

#![allow(clippy::unwrap_used)]
#![cfg(unix)]

mod answers;
mod lost;
mod processes;
#[path = "../redis/proxy.rs"]
mod proxy;
mod refused;
mod server;
mod state;
mod table;

mod on_dynalite {
    use std::sync::Arc;

    use curtsy_store::HostStore;

    use crate::server::DYNALITE;

    async fn open_new() -> (Arc<dyn HostStore>, ()) {
        (Arc::new(DYNALITE.open_new().await), ())
    }

    curtsy_store::host_store_conformance!(
        #[ignore = "needs dynalite: ./test installs it and runs this"]
        open_new
    );
}

mod on_moto {
    use std::sync::Arc;

    use curtsy_store::HostStore;

    use crate::server::MOTO;

    async fn open_new() -> (Arc<dyn HostStore>, ()) {
        (Arc::new(MOTO.open_new().await), ())
    }

    curtsy_store::host_store_conformance!(
        #[ignore = "needs moto: ./test installs it and runs this"]
        open_new
    );
}
