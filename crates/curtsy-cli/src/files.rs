//! How many files the process may have open.

/// So many are enough for the connections and the bodies of a job.
#[cfg(unix)]
const ENOUGH: u64 = 8192;

/// Lets the process have [`ENOUGH`] files open, where the system permits it: connections count as files, and the
/// usual 1,024 are a default that each process may raise for itself. Where it may not, fewer idle connections are kept.
pub(crate) fn raise_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        let enough = limit.maximum.map_or(ENOUGH, |hard| hard.min(ENOUGH));
        if limit.current.is_some_and(|soft| soft < enough) {
            limit.current = Some(enough);
            // Who is refused goes on with what there is.
            let _ = setrlimit(Resource::Nofile, limit);
        }
    }
}
