//! What a run serves to those who watch it, each on a thread of its own: neither a slow scrape nor a browser
//! keeps a request waiting that is to depart.

pub(crate) mod guard;
mod metrics;
mod patient;

use std::net::{SocketAddr, TcpListener};

use axum::Router;
use tokio::sync::oneshot;

use crate::failure::Failure;
use crate::value::ListenAddr;
use patient::Listener;

pub(crate) use metrics::router as metrics_router;

/// Serves until it is dropped.
pub(crate) struct Server {
    /// Where it listens, the port chosen where none was given.
    pub(crate) address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

/// Listens at an address and serves what `router` makes, on a thread of its own.
///
/// # Errors
/// Nobody can listen there.
pub(crate) fn start(
    flag: &str,
    at: ListenAddr,
    router: impl FnOnce(SocketAddr) -> Router + Send + 'static,
) -> Result<Server, Failure> {
    let failed = |error| Failure::usage(format_args!("{flag}: {}", at.0), error);
    let listener = TcpListener::bind(at.0).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    let (stop, stopped) = oneshot::channel::<()>();
    let serve = move || {
        runtime.block_on(async {
            let Ok(listener) = Listener::of(listener) else {
                return;
            };
            let serving = axum::serve(listener, router(address)).into_future();
            tokio::select! {
                _ = serving => {}
                _ = stopped => {}
            }
        });
    };
    let name = format!("curtsy{flag}");
    std::thread::Builder::new()
        .name(name)
        .spawn(serve)
        .map_err(failed)?;
    Ok(Server {
        address,
        _stop: stop,
    })
}
