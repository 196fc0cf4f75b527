use std::time::Duration;

use super::*;

/// Sun, 06 Nov 1994 08:49:37 GMT and a quarter of a second.
const NOW: Duration = Duration::from_millis(784_111_777_250);

fn window(limit: u64, remaining: u64, window_ms: u64, full_ms: u64) -> Reading {
    let full = Duration::from_millis(full_ms);
    Reading {
        limit,
        remaining,
        window: Duration::from_millis(window_ms),
        next: if remaining > 0 { Duration::ZERO } else { full },
        full,
    }
}

fn lines(dialect: Dialect, rounding: Rounding, tells: ResetTells, readings: &[Reading]) -> String {
    quota_headers(dialect, rounding, tells, readings, NOW)
        .into_iter()
        .map(|(name, value)| format!("{name}: {value}\n"))
        .collect()
}

#[test]
fn every_dialect_writes_its_own_fields() {
    let readings = [window(50, 3, 5000, 2500)];
    let x = |reset: &str| {
        format!("x-ratelimit-limit: 50\nx-ratelimit-remaining: 3\nx-ratelimit-reset: {reset}\n")
    };
    let table = [
        (Dialect::None, String::new()),
        (Dialect::Draft2, "ratelimit-limit: 50, 50;w=5\nratelimit-remaining: 3\nratelimit-reset: 3\n".into()),
        (Dialect::Draft3, "ratelimit-limit: 50\nratelimit-remaining: 3\nratelimit-reset: 3\n".into()),
        (Dialect::Draft6, "ratelimit-policy: 50;w=5\nratelimit-limit: 50\nratelimit-remaining: 3\nratelimit-reset: 3\n".into()),
        (Dialect::Draft7, "ratelimit-policy: 50;w=5\nratelimit: limit=50, remaining=3, reset=3\n".into()),
        (Dialect::Draft8, "ratelimit-policy: \"50-in-5s\";q=50;w=5\nratelimit: \"50-in-5s\";r=3;t=3\n".into()),
        (Dialect::XDelta, x("3")),
        (Dialect::XDeltaFloat, x("2.500")),
        (Dialect::XEpoch, x("784111780")),
        (Dialect::XEpochFloat, x("784111779.750")),
        (Dialect::XEpochMs, x("784111779750")),
        (Dialect::XDate, x("Sun, 06 Nov 1994 08:49:40 GMT")),
        (Dialect::XIso, x("1994-11-06T08:49:40Z")),
        (Dialect::XJsDate, x("Sun Nov 06 1994 08:49:40 GMT+0000 (Coordinated Universal Time)")),
        (Dialect::XGoDuration, x("2.5s")),
        (Dialect::XHyphenEpoch, "x-rate-limit-limit: 50\nx-rate-limit-remaining: 3\nx-rate-limit-reset: 784111780\n".into()),
        (Dialect::Github, x("784111780") + "x-ratelimit-used: 47\nx-ratelimit-resource: core\n"),
        (Dialect::Gitlab, "ratelimit-limit: 50\nratelimit-observed: 47\nratelimit-remaining: 3\nratelimit-reset: 784111780\nratelimit-resettime: Sun, 06 Nov 1994 08:49:40 GMT\n".into()),
        (Dialect::Discord, x("784111779.750") + "x-ratelimit-reset-after: 2.500\nx-ratelimit-bucket: 0123456789abcdef\n"),
        (Dialect::Openai, "x-ratelimit-limit-requests: 50\nx-ratelimit-remaining-requests: 3\nx-ratelimit-reset-requests: 2.5s\n".into()),
        (Dialect::Bigcommerce, "x-rate-limit-requests-left: 3\nx-rate-limit-requests-quota: 50\nx-rate-limit-time-reset-ms: 2500\nx-rate-limit-time-window-ms: 5000\n".into()),
        (Dialect::Docker, "ratelimit-limit: 50;w=5\nratelimit-remaining: 3;w=5\n".into()),
        (Dialect::Crossref, "x-rate-limit-limit: 50\nx-rate-limit-interval: 5s\n".into()),
        (Dialect::Shopify, "x-shopify-shop-api-call-limit: 47/50\n".into()),
        (Dialect::Akamai, "x-ratelimit-limit: 50\nx-ratelimit-remaining: 3\nx-ratelimit-next: 1994-11-06T08:49:38Z\n".into()),
        (Dialect::RemainingOnly, "x-ratelimit-remaining: 3\n".into()),
    ];
    for (dialect, expected) in table {
        let told = lines(dialect, Rounding::Up, ResetTells::Full, &readings);
        assert_eq!(told, expected, "{dialect:?}");
    }
}

#[test]
fn whole_seconds_are_rounded_as_the_script_says() {
    for (full_ms, rounding, delta, epoch) in [
        (2400, Rounding::Up, 3, 784_111_780),
        (2400, Rounding::Down, 2, 784_111_779),
        (2400, Rounding::Nearest, 2, 784_111_780),
        (2500, Rounding::Nearest, 3, 784_111_780),
        (3000, Rounding::Up, 3, 784_111_781),
        (3000, Rounding::Down, 3, 784_111_780),
        (400, Rounding::Down, 0, 784_111_777),
    ] {
        let readings = [window(50, 0, 5000, full_ms)];
        for (dialect, reset) in [(Dialect::XDelta, delta), (Dialect::XEpoch, epoch)] {
            let told = lines(dialect, rounding, ResetTells::Full, &readings);
            let expected = format!("x-ratelimit-reset: {reset}\n");
            assert!(told.ends_with(&expected), "{full_ms} {rounding:?}: {told}");
        }
    }
}

#[test]
fn the_reset_may_tell_of_the_next_request_or_of_the_window() {
    let reading = Reading {
        next: Duration::from_millis(1200),
        ..window(50, 0, 5000, 4000)
    };
    for (tells, reset) in [
        (ResetTells::Full, 4),
        (ResetTells::Next, 2),
        (ResetTells::Window, 5),
    ] {
        let told = lines(Dialect::Draft3, Rounding::Up, tells, &[reading]);
        assert!(
            told.ends_with(&format!("reset: {reset}\n")),
            "{tells:?}: {told}"
        );
    }
}

#[test]
fn of_several_quotas_the_tightest_is_told_and_the_structured_fields_tell_all() {
    let (minute, day) = (
        window(60, 30, 60_000, 20_000),
        window(1000, 1, 86_400_000, 7_000_000),
    );
    let told = lines(
        Dialect::XDelta,
        Rounding::Up,
        ResetTells::Full,
        &[minute, day],
    );
    assert!(told.starts_with("x-ratelimit-limit: 1000\n"), "{told}");
    let told = lines(
        Dialect::Draft8,
        Rounding::Up,
        ResetTells::Full,
        &[minute, day],
    );
    assert_eq!(
        told,
        "ratelimit-policy: \"60-in-60s\";q=60;w=60, \"1000-in-86400s\";q=1000;w=86400\n\
         ratelimit: \"60-in-60s\";r=30;t=20, \"1000-in-86400s\";r=1;t=7000\n"
    );
    let (short, long) = (
        window(5, 0, 1000, 500),
        window(1000, 0, 86_400_000, 7_000_000),
    );
    assert_eq!(tightest(&[short, long]), Some(&long));
    assert_eq!(tightest(&[long, short]), Some(&long));
}

#[test]
fn durations_are_written_as_go_does() {
    for (millis, expected) in [
        (0, "0ms"),
        (547, "547ms"),
        (1000, "1s"),
        (6120, "6.12s"),
        (90_000, "1m30s"),
        (3_602_005, "1h0m2.005s"),
    ] {
        let told = lines(
            Dialect::XGoDuration,
            Rounding::Up,
            ResetTells::Full,
            &[window(5, 0, 1000, millis)],
        );
        assert!(told.ends_with(&format!("reset: {expected}\n")), "{told}");
    }
}
