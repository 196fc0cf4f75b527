//! The table of field names whose words alone do not tell what they mean, or that are met most.

use std::time::Duration;

use super::super::name::{Profile, Unit};
use super::super::value::Scale::{Millis, Seconds, Told};
use super::Field;
use super::Role::{self, *};

/// One row: a field name in lower case and what it says.
pub(super) struct Row {
    pub(super) name: &'static str,
    family: &'static str,
    quota: &'static str,
    role: Role,
    unit: Unit,
    window_s: u64,
}

const MINUTE: u64 = 60;
const DAY: u64 = 86_400;

/// Field names in byte order; a test watches over it.
///
/// Columns: name, family, role; then, where there is one, the quota's name, its unit, its window.
pub(super) const FIELDS: &[Row] = &[
    // Atlassian spells the drafts' fields with a prefix.
    row("beta-ratelimit", "ratelimit", Structured),
    row("beta-ratelimit-policy", "ratelimit", Policy),
    // KuCoin: milliseconds, known by the prefix alone.
    row("gw-ratelimit-reset", "gw-ratelimit", Reset(Millis)),
    row("ratelimit", "ratelimit", Structured),
    // Yelp.
    row("ratelimit-dailylimit", "ratelimit", Limit).window(DAY),
    row("ratelimit-limit", "ratelimit", Limit),
    row("ratelimit-policy", "ratelimit", Policy),
    row("ratelimit-remaining", "ratelimit", Remaining),
    row("ratelimit-reset", "ratelimit", Reset(Told)),
    row("ratelimit-resourcedailylimit", "ratelimit", Limit)
        .quota("resource")
        .window(DAY),
    row("ratelimit-resourceremaining", "ratelimit", Remaining)
        .quota("resource")
        .window(DAY),
    row("retry-after", "", Wait(Told)),
    row("retry-after-ms", "", Wait(Millis)),
    // Perforce.
    row("retryafter", "", Wait(Told)),
    // Salesforce: a rolling day, documented and not sent.
    row("sforce-limit-info", "sforce-limit-info", UsedOfLimit).window(DAY),
    // Meta.
    row("x-ad-account-usage", "x-ad-account-usage", PercentJson),
    // Amazon's SP-API.
    row("x-amzn-ratelimit-limit", "x-amzn-ratelimit", PerSecond),
    // X: the day beside the quarter hour.
    row("x-app-limit-24hour-limit", "x-rate-limit", Limit)
        .quota("app-24hour")
        .window(DAY),
    row("x-app-limit-24hour-remaining", "x-rate-limit", Remaining)
        .quota("app-24hour")
        .window(DAY),
    row("x-app-limit-24hour-reset", "x-rate-limit", Reset(Told))
        .quota("app-24hour")
        .window(DAY),
    // Riot.
    row("x-app-rate-limit", "app", LimitPerSeconds),
    row("x-app-rate-limit-count", "app", UsedPerSeconds),
    row("x-app-usage", "x-app-usage", PercentJson),
    // Xero.
    row("x-appminlimit-remaining", "xero", Remaining)
        .quota("app-minute")
        .window(MINUTE),
    // Bybit; the timestamp is "now" while nothing is exhausted.
    row("x-bapi-limit", "x-bapi-limit", Limit),
    row("x-bapi-limit-reset-timestamp", "x-bapi-limit", Reset(Told)),
    row("x-bapi-limit-status", "x-bapi-limit", Remaining),
    row(
        "x-business-use-case-usage",
        "x-business-use-case-usage",
        PercentJson,
    ),
    // Crossref: how many at once, beside the rate.
    row("x-concurrency-limit", "x-concurrency", Limit)
        .quota("concurrency")
        .unit(Unit::ConcurrentRequests),
    row("x-daylimit-remaining", "xero", Remaining)
        .quota("day")
        .window(DAY),
    row(
        "x-fb-ads-insights-throttle",
        "x-fb-ads-insights-throttle",
        PercentJson,
    ),
    // HubSpot: three quotas, a window in milliseconds, no reset.
    row("x-hubspot-ratelimit-daily", "x-hubspot-ratelimit", Limit)
        .quota("daily")
        .window(DAY),
    row(
        "x-hubspot-ratelimit-interval-milliseconds",
        "x-hubspot-ratelimit",
        Window(Millis),
    )
    .quota("interval"),
    row("x-hubspot-ratelimit-max", "x-hubspot-ratelimit", Limit).quota("interval"),
    row(
        "x-hubspot-ratelimit-remaining",
        "x-hubspot-ratelimit",
        Remaining,
    )
    .quota("interval"),
    row("x-hubspot-ratelimit-secondly", "x-hubspot-ratelimit", Limit)
        .quota("secondly")
        .window(1),
    // Etsy.
    row("x-limit-per-day", "etsy", Limit)
        .quota("day")
        .window(DAY),
    row("x-limit-per-second", "etsy", Limit)
        .quota("second")
        .window(1),
    row("x-method-rate-limit", "method", LimitPerSeconds),
    row("x-method-rate-limit-count", "method", UsedPerSeconds),
    row("x-minlimit-remaining", "xero", Remaining)
        .quota("minute")
        .window(MINUTE),
    // Azure, Cosmos.
    row("x-ms-retry-after-ms", "", Wait(Millis)),
    row("x-page-usage", "x-page-usage", PercentJson),
    // Gravitee: a long quota beside the rate.
    row("x-quota-limit", "x-quota", Limit).quota("quota"),
    row("x-quota-remaining", "x-quota", Remaining).quota("quota"),
    row("x-quota-reset", "x-quota", Reset(Told)).quota("quota"),
    row("x-rate-limit-limit", "x-rate-limit", Limit),
    row("x-rate-limit-remaining", "x-rate-limit", Remaining),
    // BigCommerce: its own words, the unit in the name.
    row("x-rate-limit-requests-left", "bigcommerce", Remaining),
    row("x-rate-limit-requests-quota", "bigcommerce", Limit),
    row("x-rate-limit-reset", "x-rate-limit", Reset(Told)),
    row("x-rate-limit-time-reset-ms", "bigcommerce", Reset(Millis)),
    row("x-rate-limit-time-window-ms", "bigcommerce", Window(Millis)),
    row("x-ratelimit-bucket", "x-ratelimit", Tag),
    // Imgur.
    row("x-ratelimit-clientlimit", "x-ratelimit", Limit).quota("client"),
    row("x-ratelimit-clientremaining", "x-ratelimit", Remaining).quota("client"),
    row("x-ratelimit-limit", "x-ratelimit", Limit),
    row("x-ratelimit-remaining", "x-ratelimit", Remaining),
    // Spring Cloud Gateway: what flows in, not the size of the bucket.
    row("x-ratelimit-replenish-rate", "x-ratelimit", PerSecond),
    row("x-ratelimit-reset", "x-ratelimit", Reset(Told)),
    row("x-ratelimit-reset-after", "x-ratelimit", Reset(Seconds)),
    row("x-ratelimit-resource", "x-ratelimit", Tag),
    row("x-ratelimit-usage", "x-ratelimit", UsedPair),
    row("x-ratelimit-userlimit", "x-ratelimit", Limit).quota("user"),
    row("x-ratelimit-userremaining", "x-ratelimit", Remaining).quota("user"),
    row("x-ratelimit-userreset", "x-ratelimit", Reset(Told)).quota("user"),
    // CORE.
    row("x-ratelimitlimit", "x-ratelimit", Limit),
    row("x-ratelimitremaining", "x-ratelimit", Remaining),
    row("x-ratelimitretryafter", "", Wait(Told)),
    // Strava's second pair, of reading alone.
    row("x-readratelimit-limit", "x-readratelimit", Limit),
    row("x-readratelimit-usage", "x-readratelimit", UsedPair),
    row("x-remaining-this-second", "etsy", Remaining)
        .quota("second")
        .window(1),
    row("x-remaining-today", "etsy", Remaining)
        .quota("day")
        .window(DAY),
    row("x-retry-after", "", Wait(Told)),
    row("x-retry-after-ms", "", Wait(Millis)),
    // Traefik.
    row("x-retry-in", "", Wait(Told)),
    row(
        "x-sentry-rate-limit-concurrentlimit",
        "x-sentry-rate-limit",
        Limit,
    )
    .quota("concurrent")
    .unit(Unit::ConcurrentRequests),
    row(
        "x-sentry-rate-limit-concurrentremaining",
        "x-sentry-rate-limit",
        Remaining,
    )
    .quota("concurrent")
    .unit(Unit::ConcurrentRequests),
    row("x-sentry-rate-limits", "", CategoryWaits),
    row(
        "x-shopify-shop-api-call-limit",
        "x-shopify-shop-api-call-limit",
        UsedOfLimit,
    ),
    row("x-user-limit-24hour-limit", "x-rate-limit", Limit)
        .quota("user-24hour")
        .window(DAY),
    row("x-user-limit-24hour-remaining", "x-rate-limit", Remaining)
        .quota("user-24hour")
        .window(DAY),
    row("x-user-limit-24hour-reset", "x-rate-limit", Reset(Told))
        .quota("user-24hour")
        .window(DAY),
];

/// What only the name of the host tells.
pub(super) const PROFILE_FIELDS: &[(Profile, Row)] = &[
    (Profile::DiscordV6, row("retry-after", "", Wait(Millis))),
    (
        Profile::OpenAlex,
        row("x-ratelimit-credits-used", "x-ratelimit", Cost),
    ),
    (
        Profile::Prisjakt,
        row("x-rate-limit-reset", "x-rate-limit", Reset(Millis)),
    ),
];

/// What a trio without a name is called beside the named quotas of a family.
pub(super) const MAIN_NAMES: &[(&str, &str)] = &[("zendesk-ratelimit", "account")];

const fn row(name: &'static str, family: &'static str, role: Role) -> Row {
    Row {
        name,
        family,
        quota: "",
        role,
        unit: Unit::Requests,
        window_s: 0,
    }
}

impl Row {
    const fn quota(mut self, name: &'static str) -> Self {
        self.quota = name;
        self
    }

    const fn unit(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }

    const fn window(mut self, seconds: u64) -> Self {
        self.window_s = seconds;
        self
    }

    pub(super) fn field(&self) -> Field<'static> {
        Field {
            family: self.family,
            quota: self.quota,
            role: self.role,
            unit: self.unit,
            window: (self.window_s > 0).then(|| Duration::from_secs(self.window_s)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::may_speak;
    use super::*;

    #[test]
    fn the_rows_stand_in_byte_order_and_pass_the_cheap_test() {
        for pair in FIELDS.windows(2) {
            assert!(
                pair[0].name < pair[1].name,
                "{} and {}",
                pair[0].name,
                pair[1].name
            );
        }
        for row in FIELDS
            .iter()
            .chain(PROFILE_FIELDS.iter().map(|(_, row)| row))
        {
            assert!(may_speak(row.name) || row.role == Cost, "{}", row.name);
        }
    }
}
