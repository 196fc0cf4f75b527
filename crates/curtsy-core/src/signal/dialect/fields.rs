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

/// The fields, in no order that matters. Columns: name, family, role; then, where there is one, the
/// quota's name, its unit, and the window that is documented and not sent.
#[rustfmt::skip]
pub(super) const FIELDS: &[Row] = &[
    // RFC 9110, and what vendors put beside or in place of it.
    row("retry-after", "", Wait(Told)),
    row("retry-after-ms", "", Wait(Millis)),
    row("x-ms-retry-after-ms", "", Wait(Millis)),
    row("x-retry-after", "", Wait(Told)),
    row("x-retry-after-ms", "", Wait(Millis)),
    row("retryafter", "", Wait(Told)),
    row("x-retry-in", "", Wait(Told)),
    // IETF drafts; Atlassian spells them with a prefix.
    row("ratelimit", "ratelimit", Structured),
    row("ratelimit-policy", "ratelimit", Policy),
    row("beta-ratelimit", "ratelimit", Structured),
    row("beta-ratelimit-policy", "ratelimit", Policy),
    row("ratelimit-limit", "ratelimit", Limit),
    row("ratelimit-remaining", "ratelimit", Remaining),
    row("ratelimit-reset", "ratelimit", Reset(Told)),
    // The trios that most servers send.
    row("x-ratelimit-limit", "x-ratelimit", Limit),
    row("x-ratelimit-remaining", "x-ratelimit", Remaining),
    row("x-ratelimit-reset", "x-ratelimit", Reset(Told)),
    row("x-rate-limit-limit", "x-rate-limit", Limit),
    row("x-rate-limit-remaining", "x-rate-limit", Remaining),
    row("x-rate-limit-reset", "x-rate-limit", Reset(Told)),
    // Discord, GitHub.
    row("x-ratelimit-reset-after", "x-ratelimit", Reset(Seconds)),
    row("x-ratelimit-bucket", "x-ratelimit", Tag),
    row("x-ratelimit-resource", "x-ratelimit", Tag),
    // Yelp.
    row("ratelimit-dailylimit", "ratelimit", Limit).window(DAY),
    row("ratelimit-resourcedailylimit", "ratelimit", Limit).quota("resource").window(DAY),
    row("ratelimit-resourceremaining", "ratelimit", Remaining).quota("resource").window(DAY),
    // X: the day beside the quarter hour.
    row("x-app-limit-24hour-limit", "x-rate-limit", Limit).quota("app-24hour").window(DAY),
    row("x-app-limit-24hour-remaining", "x-rate-limit", Remaining).quota("app-24hour").window(DAY),
    row("x-app-limit-24hour-reset", "x-rate-limit", Reset(Told)).quota("app-24hour").window(DAY),
    row("x-user-limit-24hour-limit", "x-rate-limit", Limit).quota("user-24hour").window(DAY),
    row("x-user-limit-24hour-remaining", "x-rate-limit", Remaining).quota("user-24hour").window(DAY),
    row("x-user-limit-24hour-reset", "x-rate-limit", Reset(Told)).quota("user-24hour").window(DAY),
    // HubSpot: three quotas, a window in milliseconds, no reset.
    row("x-hubspot-ratelimit-max", "x-hubspot-ratelimit", Limit).quota("interval"),
    row("x-hubspot-ratelimit-remaining", "x-hubspot-ratelimit", Remaining).quota("interval"),
    row("x-hubspot-ratelimit-interval-milliseconds", "x-hubspot-ratelimit", Window(Millis)).quota("interval"),
    row("x-hubspot-ratelimit-daily", "x-hubspot-ratelimit", Limit).quota("daily").window(DAY),
    row("x-hubspot-ratelimit-secondly", "x-hubspot-ratelimit", Limit).quota("secondly").window(1),
    // BigCommerce: its own words, the unit in the name.
    row("x-rate-limit-requests-left", "bigcommerce", Remaining),
    row("x-rate-limit-requests-quota", "bigcommerce", Limit),
    row("x-rate-limit-time-reset-ms", "bigcommerce", Reset(Millis)),
    row("x-rate-limit-time-window-ms", "bigcommerce", Window(Millis)),
    // Crossref prints `1s`, PDND `1000` for the same; Crossref also says how many at once.
    row("x-rate-limit-interval", "x-rate-limit", Window(Told)),
    row("x-concurrency-limit", "x-concurrency", Limit).quota("concurrency").unit(Unit::ConcurrentRequests),
    // Gravitee: a long quota beside the rate.
    row("x-quota-limit", "x-quota", Limit).quota("quota"),
    row("x-quota-remaining", "x-quota", Remaining).quota("quota"),
    row("x-quota-reset", "x-quota", Reset(Told)).quota("quota"),
    // Sentry.
    row("x-sentry-rate-limit-concurrentlimit", "x-sentry-rate-limit", Limit)
        .quota("concurrent").unit(Unit::ConcurrentRequests),
    row("x-sentry-rate-limit-concurrentremaining", "x-sentry-rate-limit", Remaining)
        .quota("concurrent").unit(Unit::ConcurrentRequests),
    row("x-sentry-rate-limits", "", CategoryWaits),
    // Xero and Etsy: the window is in the name.
    row("x-minlimit-remaining", "xero", Remaining).quota("minute").window(MINUTE),
    row("x-daylimit-remaining", "xero", Remaining).quota("day").window(DAY),
    row("x-appminlimit-remaining", "xero", Remaining).quota("app-minute").window(MINUTE),
    row("x-limit-per-second", "etsy", Limit).quota("second").window(1),
    row("x-remaining-this-second", "etsy", Remaining).quota("second").window(1),
    row("x-limit-per-day", "etsy", Limit).quota("day").window(DAY),
    row("x-remaining-today", "etsy", Remaining).quota("day").window(DAY),
    // Imgur.
    row("x-ratelimit-userlimit", "x-ratelimit", Limit).quota("user"),
    row("x-ratelimit-userremaining", "x-ratelimit", Remaining).quota("user"),
    row("x-ratelimit-userreset", "x-ratelimit", Reset(Told)).quota("user"),
    row("x-ratelimit-clientlimit", "x-ratelimit", Limit).quota("client"),
    row("x-ratelimit-clientremaining", "x-ratelimit", Remaining).quota("client"),
    row("x-post-rate-limit-limit", "x-post-rate-limit", Limit).quota("post"),
    row("x-post-rate-limit-remaining", "x-post-rate-limit", Remaining).quota("post"),
    row("x-post-rate-limit-reset", "x-post-rate-limit", Reset(Told)).quota("post"),
    // Used of limit: Shopify; Salesforce, in a rolling day.
    row("x-shopify-shop-api-call-limit", "x-shopify-shop-api-call-limit", UsedOfLimit),
    row("sforce-limit-info", "sforce-limit-info", UsedOfLimit).window(DAY),
    // Riot and Strava: several windows in one field, limits and use in two.
    row("x-app-rate-limit", "app", LimitPerSeconds),
    row("x-app-rate-limit-count", "app", UsedPerSeconds),
    row("x-method-rate-limit", "method", LimitPerSeconds),
    row("x-method-rate-limit-count", "method", UsedPerSeconds),
    row("x-ratelimit-usage", "x-ratelimit", UsedPair),
    row("x-readratelimit-limit", "x-readratelimit", Limit),
    row("x-readratelimit-usage", "x-readratelimit", UsedPair),
    // Rates: Amazon's SP-API; Spring Cloud Gateway, what flows in and not the size of the bucket.
    row("x-amzn-ratelimit-limit", "x-amzn-ratelimit", FillRate),
    row("x-ratelimit-replenish-rate", "x-ratelimit", FillRate),
    // Bybit: the timestamp is "now" while nothing is exhausted.
    row("x-bapi-limit", "x-bapi-limit", Limit),
    row("x-bapi-limit-status", "x-bapi-limit", Remaining),
    row("x-bapi-limit-reset-timestamp", "x-bapi-limit", Reset(Told)),
    // KuCoin: milliseconds, known by the prefix alone.
    row("gw-ratelimit-reset", "gw-ratelimit", Reset(Millis)),
    // CORE.
    row("x-ratelimitlimit", "x-ratelimit", Limit),
    row("x-ratelimitremaining", "x-ratelimit", Remaining),
    row("x-ratelimitretryafter", "", Wait(Told)),
    // Meta.
    row("x-app-usage", "x-app-usage", PercentJson),
    row("x-page-usage", "x-page-usage", PercentJson),
    row("x-ad-account-usage", "x-ad-account-usage", PercentJson),
    row("x-business-use-case-usage", "x-business-use-case-usage", PercentJson),
    row("x-fb-ads-insights-throttle", "x-fb-ads-insights-throttle", PercentJson),
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

/// Where each name of [`FIELDS`] stands, worked out at compile time.
pub(super) static INDEX: Index = Index::new();

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

/// A hash table over the names of [`FIELDS`], with open addressing.
pub(super) struct Index([u8; Self::SLOTS]);

impl Index {
    const SLOTS: usize = 256;
    /// No row. The table holds far fewer than that.
    const EMPTY: u8 = u8::MAX;

    const fn new() -> Self {
        assert!(FIELDS.len() < Self::SLOTS / 2, "the index wants more slots");
        let mut slots = [Self::EMPTY; Self::SLOTS];
        let mut row = 0;
        while row < FIELDS.len() {
            let mut slot = Self::slot(FIELDS[row].name.as_bytes());
            while slots[slot] != Self::EMPTY {
                slot = (slot + 1) % Self::SLOTS;
            }
            slots[slot] = row as u8;
            row += 1;
        }
        Self(slots)
    }

    /// The row of a name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let mut slot = Self::slot(name.as_bytes());
        loop {
            let row = usize::from(self.0[slot]);
            if FIELDS.get(row)?.name == name {
                return Some(row);
            }
            slot = (slot + 1) % Self::SLOTS;
        }
    }

    const fn slot(name: &[u8]) -> usize {
        let length = name.len();
        if length == 0 {
            return 0;
        }
        let (last, middle) = (name[length - 1] as usize, name[length / 2] as usize);
        (length * 37 + last * 11 + middle * 5) % Self::SLOTS
    }
}

#[cfg(test)]
mod tests {
    use super::super::may_speak;
    use super::*;

    #[test]
    fn every_row_is_found_by_its_name_and_passes_the_cheap_test() {
        for (at, row) in FIELDS.iter().enumerate() {
            assert_eq!(INDEX.find(row.name), Some(at), "{} stands twice", row.name);
            assert!(may_speak(row.name), "{}", row.name);
        }
        assert_eq!(INDEX.find("content-type"), None);
        assert_eq!(INDEX.find(""), None);
    }
}
