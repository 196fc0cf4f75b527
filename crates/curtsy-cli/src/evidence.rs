//! Where a bound comes from: the header, the file, the setting.

use curtsy::core::{HostState, Policy, Quota, Reason, Timestamp};

use crate::notices::{clock, short};

/// What made this bound, in a few words; `None` where there is no more to say than its sentence.
pub(crate) fn evidence(
    policy: &Policy,
    state: &HostState,
    reason: Reason,
    now: Timestamp,
) -> Option<String> {
    match reason {
        Reason::ServerHold => {
            let hold = state.hold(now)?;
            Some(format!("{}, told until {}", hold.source, clock(hold.told)))
        }
        Reason::CrawlDelay => Some(format!("Crawl-delay {}", short(state.crawl_delay()?))),
        Reason::Rate => {
            let (rate, _) = curtsy::core::pace(policy, state)?;
            Some(format!("{} {rate}/s", rate_key(policy, state)))
        }
        Reason::DayCap => Some(format!("day_cap {}", policy.day_cap?)),
        Reason::Quota | Reason::QuotaExhausted => state.quotas().first().map(quota),
        Reason::ConfiguredDelay => {
            let delay = policy.delay?;
            Some(format!(
                "delay {}..{}",
                short(delay.min()),
                short(delay.max())
            ))
        }
        Reason::LearnedRate => state.learned_pace().map(|pace| {
            let ago = short(now.since(pace.learned_at));
            format!("it refused {:.3}/s, learned {ago} ago", pace.refused)
        }),
        Reason::Concurrency => {
            let most = state.learned_concurrency()?;
            Some(format!("{most} at once"))
        }
        Reason::DynamicDelay => Some(format!("dynamic delay {}", short(state.dynamic_delay()))),
        _ => None,
    }
}

/// The setting that the rate of a scope comes from.
pub(crate) fn rate_key(policy: &Policy, state: &HostState) -> &'static str {
    let rate = curtsy::core::pace(policy, state).map(|(rate, _)| rate);
    if rate.is_some() && policy.tos_cap == rate {
        "tos_cap"
    } else {
        "rate"
    }
}

fn quota(quota: &Quota) -> String {
    let left = quota
        .remaining
        .map_or("?".to_owned(), |left| left.to_string());
    let limit = match (quota.limit, quota.window) {
        (Some(limit), Some(window)) => format!(" of {limit} in {}", short(window)),
        (Some(limit), None) => format!(" of {limit}"),
        _ => String::new(),
    };
    format!("{}: {left} left{limit}", quota.key)
}
