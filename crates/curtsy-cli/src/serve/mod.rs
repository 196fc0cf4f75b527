//! What a run serves to those who watch it, each on a thread of its own: neither a slow scrape nor a browser
//! keeps a request waiting that is to depart.

pub(crate) mod guard;
mod metrics;
mod patient;

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use axum::Router;
use tokio::sync::{oneshot, watch};

use crate::failure::Failure;
use crate::value::ListenAddr;
use patient::Listener;

pub(crate) use metrics::router as metrics_router;

/// So long those who watch may take to hear the end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Serves until it is finished or dropped.
pub(crate) struct Server {
    /// Where it listens, the port chosen where none was given.
    pub(crate) address: SocketAddr,
    end: watch::Sender<bool>,
    /// Resolves when nothing is served any more.
    served: oneshot::Receiver<()>,
}

/// Tells that the run has ended. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Ending(watch::Receiver<bool>);

impl Server {
    /// Tells those who watch that the run has ended, and ends.
    pub(crate) async fn finish(self) {
        self.end.send_replace(true);
        let _ = tokio::time::timeout(LAST_WORDS, self.served).await;
    }
}

impl Ending {
    /// Waits until the run has ended, or the server is gone.
    pub(crate) async fn comes(mut self) {
        let _ = self.0.wait_for(|has_ended| *has_ended).await;
    }

    /// Waits until the server is gone.
    async fn gone(mut self) {
        while self.0.changed().await.is_ok() {}
    }
}

/// Listens at an address and serves what `router` makes, on a thread of its own.
///
/// # Errors
/// Nobody can listen there.
pub(crate) fn start(
    flag: &str,
    at: ListenAddr,
    router: impl FnOnce(SocketAddr, Ending) -> Router + Send + 'static,
) -> Result<Server, Failure> {
    let failed = |error| Failure::usage(format_args!("{flag}: {}", at.0), error);
    let listener = TcpListener::bind(at.0).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    let (end, ending) = watch::channel(false);
    let ending = Ending(ending);
    let (is_served, served) = oneshot::channel::<()>();
    let serve = move || {
        runtime.block_on(async {
            let Ok(listener) = Listener::of(listener) else {
                return;
            };
            let serving = axum::serve(listener, router(address, ending.clone()))
                .with_graceful_shutdown(ending.clone().comes())
                .into_future();
            tokio::select! {
                _ = serving => {}
                () = ending.gone() => {}
            }
        });
        drop(is_served);
    };
    let name = format!("curtsy{flag}");
    std::thread::Builder::new()
        .name(name)
        .spawn(serve)
        .map_err(failed)?;
    Ok(Server {
        address,
        end,
        served,
    })
}
