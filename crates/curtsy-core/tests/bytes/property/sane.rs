//! What must hold of every reading, whatever was read.

use curtsy_core::signal::{LONGEST_WAIT, QuotaKey, Signal};

/// It is bounded, and does not contradict itself.
pub(crate) fn assert_sane(signal: &Signal) {
    let lengths = signal
        .quotas
        .iter()
        .flat_map(|quota| [quota.window, quota.reset.map(|reset| reset.after)]);
    let waits = [&signal.wait, &signal.explicit].map(|wait| wait.as_ref().map(|wait| wait.after));
    for length in lengths
        .chain(waits)
        .chain([signal.min_interval()])
        .flatten()
    {
        assert!(length <= LONGEST_WAIT, "{signal:?}");
    }
    for quota in &signal.quotas {
        assert!(
            quota.window.is_none_or(|window| !window.is_zero()),
            "{signal:?}"
        );
        if let (Some(limit), Some(remaining)) = (quota.limit, quota.remaining) {
            assert!(remaining <= limit, "{signal:?}");
        }
        assert!(quota.name.as_str().len() <= QuotaKey::MAX_LEN, "{signal:?}");
    }
    let names: Vec<&str> = signal
        .quotas
        .iter()
        .map(|quota| quota.name.as_str())
        .collect();
    assert!(
        names
            .iter()
            .enumerate()
            .all(|(at, name)| !names[..at].contains(name)),
        "{signal:?}"
    );
    assert!(signal.quotas.len() <= 64, "{signal:?}");
    assert!(signal.policies.len() <= 64, "{signal:?}");
    assert!(signal.ignored.len() <= 64, "{signal:?}");
    assert!(
        signal
            .ignored
            .iter()
            .all(|ignored| ignored.value.len() <= 100),
        "{signal:?}"
    );
}
