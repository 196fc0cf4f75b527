//! The keys of a policy.

use curtsy_core::policy::{BreakerPolicy, DEFAULT_BREAKER, DEFAULT_SUPPRESS_AFTER};
use curtsy_core::{Interval, Policy, PolicyError, PolicyValues, Preset};

use super::Flags;
use super::layers::{Found, Key, Layers, key};
use super::source::Source;
use crate::failure::Failure;

/// Reads a policy from its layers and checks it.
///
/// # Errors
/// A value cannot be read, or the policy cannot be.
pub(super) fn read(layers: &mut Layers<'_>, flags: Flags<'_>) -> Result<Policy, Failure> {
    let pace = &flags.options.pace;
    let mut preset = Preset::default();
    layers.set(key("preset").flag("--preset"), pace.preset, &mut preset)?;
    layers.rest_on(preset);
    let mut p = if flags.options.for_papers && !layers.is_given("preset") {
        curtsy_papers::site_policy()
    } else {
        PolicyValues::preset(preset)
    };

    let off = |flag: bool| flag.then_some(false);
    layers.set(
        key("polite_mode").flag("--no-polite-mode"),
        off(pace.no_polite_mode),
        &mut p.polite,
    )?;
    layers.set(
        key("respect_robots_txt").flag("--no-robots"),
        off(pace.no_robots),
        &mut p.respect_robots,
    )?;
    layers.set(
        key("rate")
            .flag("--rate")
            .unset("2, which a Crawl-delay or a configured delay replaces"),
        pace.rate.map(Some),
        &mut p.rate,
    )?;
    layers.set(key("bucket"), None, &mut p.bucket)?;
    layers.set(key("burst").flag("--burst"), pace.burst, &mut p.burst)?;
    layers.set(
        key("min_rate").flag("--min-rate"),
        pace.min_rate,
        &mut p.min_rate,
    )?;
    layers.set(
        key("max_rate")
            .flag("--max-rate")
            .unset("10, or rate where that is higher"),
        pace.max_rate.map(Some),
        &mut p.max_rate,
    )?;
    if let Some(max) = p
        .max_rate
        .filter(|max| *max < p.min_rate && !layers.is_given("min_rate"))
    {
        // A low ceiling is meant as such; the floor that nobody set gives way.
        p.min_rate = max;
        layers.amend("min_rate", &max);
    }
    layers.set(key("tos_cap").unset("no cap"), None, &mut p.tos_cap)?;
    layers.set(key("day_cap").unset("no cap"), None, &mut p.day_cap)?;
    set_delay(layers, pace.delay.map(|off| off.0), &mut p.delay)?;
    set_rate_limit(layers, &mut p.rate_limit)?;
    layers.set(
        key("per_host").flag("--per-host").also_in_fetch(),
        pace.per_host,
        &mut p.per_host,
    )?;
    layers.set(
        key("timeout").flag("--timeout").also_in_fetch(),
        flags.options.connection.timeout,
        &mut p.timeout,
    )?;
    layers.set(key("steer"), None, &mut p.steer)?;
    set_refusals(layers, flags, &mut p)?;
    set_backoff(layers, &mut p)?;
    set_suppression(layers, off(pace.no_suppress_403), &mut p)?;
    set_breaker(layers, &mut p.breaker)?;
    p.build().map_err(|error| complain(layers, error))
}

/// P4: one key for the whole range, or the seed's two for its ends. A layer that gives any of them
/// decides alone, so that a file's minimum does not mix with a flag's maximum.
fn set_delay(
    layers: &mut Layers<'_>,
    flag: Option<Option<Interval>>,
    delay: &mut Option<Interval>,
) -> Result<(), Failure> {
    const WHOLE: Key = key("delay").flag("--delay").unset("off");
    const NAMES: [&str; 5] = [
        "delay",
        "delay_min",
        "delay_min_s",
        "delay_max",
        "delay_max_s",
    ];

    let given = layers.given(&NAMES, false)?;
    let highest = given.iter().find(|layer| !layer.is_empty());
    let source = match (flag, highest) {
        (Some(value), _) => {
            *delay = value;
            Source::Flag("--delay")
        }
        (None, Some(layer)) => {
            *delay = read_delay(layers, layer)?;
            layer[0].source.clone()
        }
        (None, None) => layers.bottom().clone(),
    };
    layers.note(WHOLE, delay, source);
    Ok(())
}

fn read_delay(layers: &Layers<'_>, layer: &[Found]) -> Result<Option<Interval>, Failure> {
    let (mut whole, mut min, mut max) = (None, None, None);
    for found in layer {
        let taken = match found.name {
            "delay" => whole.replace(layers.read(found)?).is_some(),
            "delay_min" | "delay_min_s" => min.replace(layers.read(found)?).is_some(),
            _ => max.replace(layers.read(found)?).is_some(),
        };
        if taken || (whole.is_some() && (min.is_some() || max.is_some())) {
            return Err(layers.complain(found.name, &found.source, "the delay is given twice"));
        }
    }
    if let Some(whole) = whole {
        return Ok(whole);
    }
    Interval::from_bounds(min, max)
        .map_err(|inverted| layers.complain(layer[0].name, &layer[0].source, &inverted.to_string()))
}

/// P6: two keys, one range; the end that nobody set gives way to the one that somebody did.
fn set_rate_limit(layers: &mut Layers<'_>, range: &mut Interval) -> Result<(), Failure> {
    let (mut min, mut max) = (range.min(), range.max());
    layers.set(key("rate_limit_min").or("rate_limit_min_s"), None, &mut min)?;
    layers.set(key("rate_limit_max").or("rate_limit_max_s"), None, &mut max)?;
    if min > max && !layers.is_given("rate_limit_min") {
        min = max;
        layers.amend("rate_limit_min", &min);
    } else if min > max && !layers.is_given("rate_limit_max") {
        max = min;
        layers.amend("rate_limit_max", &max);
    }
    *range = Interval::from_bounds(Some(min), Some(max))
        .map_err(|_| layers.complain_of("rate_limit_min", "is above rate_limit_max"))?
        .unwrap_or(*range);
    Ok(())
}

fn set_refusals(
    layers: &mut Layers<'_>,
    flags: Flags<'_>,
    p: &mut PolicyValues,
) -> Result<(), Failure> {
    let pace = &flags.options.pace;
    layers.set(key("honor_retry_after"), None, &mut p.honor_retry_after)?;
    layers.set(
        key("default_retry_after")
            .or("default_retry_after_s")
            .flag("--default-retry-after")
            .unset("the backoff alone"),
        pace.default_retry_after.map(|off| off.0),
        &mut p.default_retry_after,
    )?;
    layers.set(
        key("max_retry_after")
            .or("max_retry_after_s")
            .flag("--max-retry-after"),
        pace.max_retry_after,
        &mut p.max_retry_after,
    )?;
    layers.set(
        key("retry_after_over_cap"),
        None,
        &mut p.retry_after_over_cap,
    )?;
    let (least, most) = p.retry_after_buffer;
    let mut buffer = vec![least, most];
    layers.set(key("retry_after_buffer"), None, &mut buffer)?;
    let [least, most] = buffer[..] else {
        return Err(layers.complain_of("retry_after_buffer", "takes two shares, as [0.1, 0.15]"));
    };
    p.retry_after_buffer = (least, most);
    layers.set(
        key("max_retries").flag("--max-retries"),
        pace.max_retries,
        &mut p.max_retries,
    )?;
    layers.set(key("retried_statuses"), None, &mut p.retried_statuses)
}

fn set_backoff(layers: &mut Layers<'_>, p: &mut PolicyValues) -> Result<(), Failure> {
    layers.set(
        key("backoff_base").or("backoff_base_s"),
        None,
        &mut p.backoff_base,
    )?;
    layers.set(key("backoff_multiplier"), None, &mut p.backoff_multiplier)?;
    layers.set(
        key("backoff_max").or("backoff_max_s"),
        None,
        &mut p.backoff_max,
    )?;
    layers.set(key("recovery"), None, &mut p.recovery)?;
    layers.set(
        key("backoff_decay").or("backoff_decay_s"),
        None,
        &mut p.backoff_decay,
    )?;
    layers.set(
        key("multiply_on_directive"),
        None,
        &mut p.multiply_on_directive,
    )?;
    layers.set(key("watch_latency"), None, &mut p.watch_latency)
}

/// R4: the seed's switch, and how many 403s it takes where it is on.
fn set_suppression(
    layers: &mut Layers<'_>,
    flag: Option<bool>,
    p: &mut PolicyValues,
) -> Result<(), Failure> {
    let mut on = p.suppress_after.is_some();
    let mut after = p.suppress_after.unwrap_or(DEFAULT_SUPPRESS_AFTER);
    layers.set(
        key("suppress_on_403").flag("--no-suppress-403"),
        flag,
        &mut on,
    )?;
    layers.set(key("suppress_after"), None, &mut after)?;
    p.suppress_after = on.then_some(after);
    layers.set(
        key("suppression_lifetime").unset("as long as the client"),
        None,
        &mut p.suppression_lifetime,
    )?;
    layers.set(key("suppression_exempt"), None, &mut p.suppression_exempt)
}

/// K: a switch, and the numbers that hold where it is on.
fn set_breaker(
    layers: &mut Layers<'_>,
    breaker: &mut Option<BreakerPolicy>,
) -> Result<(), Failure> {
    let mut on = breaker.is_some();
    let mut b = breaker.unwrap_or(DEFAULT_BREAKER);
    layers.set(key("breaker"), None, &mut on)?;
    layers.set(key("breaker_trip_delay"), None, &mut b.trip_delay)?;
    layers.set(key("breaker_trip_after"), None, &mut b.trip_after)?;
    layers.set(key("breaker_failure_share"), None, &mut b.failure_share)?;
    layers.set(key("breaker_min_outcomes"), None, &mut b.min_outcomes)?;
    layers.set(key("breaker_cool_down"), None, &mut b.cool_down)?;
    layers.set(key("breaker_cool_down_max"), None, &mut b.cool_down_max)?;
    *breaker = on.then_some(b);
    Ok(())
}

/// The core names the value that cannot be; the record knows what set it.
fn complain(layers: &Layers<'_>, error: PolicyError) -> Failure {
    let text = error.to_string();
    let why = text.strip_prefix(error.key()).unwrap_or(&text).trim_start();
    let name = match error.key() {
        "rate_limit" => "rate_limit_max".to_owned(),
        key => key.replace('.', "_"),
    };
    layers.complain_of(&name, why)
}
