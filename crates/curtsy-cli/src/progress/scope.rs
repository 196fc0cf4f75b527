//! One scope of a running job, in a line.

use curtsy::core::{HostState, Timestamp};
use curtsy::{ScopeOutlook, ScopeView};

use crate::notices::short;
use crate::standing::Standing;

/// What it does, how long it waits and why; what is left of it and how long that takes.
pub(super) fn describe(view: &ScopeView, outlook: Option<&ScopeOutlook>, now: Timestamp) -> String {
    let mut parts = vec![Standing::of(view, now).line(now)];
    if let Some(outlook) = outlook {
        let end = outlook
            .end
            .map(|end| format!(", ETA {}", short(end.since(now))));
        parts.push(format!("{} left{}", outlook.left, end.unwrap_or_default()));
    }
    if let Some(quota) = view
        .state
        .as_ref()
        .and_then(|state| state.quotas().first())
        .and_then(|quota| Some((quota.remaining?, quota.limit)))
    {
        parts.push(match quota {
            (left, Some(limit)) => format!("quota {left} of {limit}"),
            (left, None) => format!("quota {left}"),
        });
    }
    let in_flight = view.state.as_ref().map_or(0, HostState::in_flight);
    if in_flight > 0 {
        parts.push(format!("{in_flight} in flight"));
    }
    parts.join(" · ")
}
