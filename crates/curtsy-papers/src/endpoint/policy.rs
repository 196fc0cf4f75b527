//! Rates as policies: each interface is a scope of its own, and its rate a cap.

use std::collections::BTreeMap;

use curtsy::Policies;
use curtsy::core::policy::{OverCap, Recovery};
use curtsy::core::signal::Profile;
use curtsy::core::{Policy, PolicyError, PolicyValues, Preset, Scope};

use super::{Endpoint, Endpoints, Pace, Provider};
use crate::keys::Keys;

/// How sites are treated that have no row here: publishers, repositories. The values of `http_client`, which this is
/// the heir of, but that robots.txt and quotas are obeyed, a wait beyond patience is put off and never cut short,
/// what fails for the moment is tried again, a suppression ends after a day, and one request at a time is in flight.
#[must_use]
pub fn site_policy() -> PolicyValues {
    let ours = PolicyValues::compliant();
    PolicyValues {
        preset: Preset::Compliant,
        respect_robots: true,
        steer: true,
        retry_after_over_cap: OverCap::Defer,
        recovery: Recovery::Adaptive,
        retried_statuses: ours.retried_statuses,
        retry_failures: true,
        suppression_lifetime: ours.suppression_lifetime,
        per_host: 1,
        ..PolicyValues::http_client()
    }
}

impl Endpoints {
    /// Adds every interface to `policies` as a scope of its own, whose cap is the published rate. What `policies` say of
    /// its host goes on to hold where it is stricter. Interfaces of one base are paced as the slowest of them.
    ///
    /// With `respect_robots` robots.txt is consulted for them all.
    ///
    /// # Errors
    /// A policy cannot be built; the names of none of its values are wrong, so that only `policies` can be.
    pub fn policies(
        &self,
        policies: Policies,
        keys: &Keys,
        respect_robots: bool,
    ) -> Result<Policies, PolicyError> {
        let mut scopes: BTreeMap<Scope, PolicyValues> = BTreeMap::new();
        for provider in Provider::ALL {
            let endpoint = provider.endpoint();
            let base = self.base(provider);
            let host = Scope::of(base).unwrap_or_else(|| Scope::named(endpoint.name));
            let values = scopes
                .entry(self.scope(provider))
                .or_insert_with(|| unlimited(&policies.policy_of(&host)));
            let pace = match keys.of(provider) {
                Some(_) => endpoint.pace_with_key.unwrap_or(endpoint.pace),
                None => endpoint.pace,
            };
            limit(values, endpoint, pace);
            values.respect_robots |= respect_robots;
        }
        let mut all = policies;
        for provider in Provider::ALL {
            all = all.with_area(self.base(provider), self.scope(provider));
        }
        if let Some(host) = Scope::of(self.base(Provider::OpenAlex)) {
            all = all.with_profile(host, Profile::OpenAlex);
        }
        for (scope, values) in scopes {
            all = all.with_scope(scope, values.build()?);
        }
        Ok(all)
    }
}

/// The policy of a host, as the first of its interfaces finds it.
fn unlimited(host: &Policy) -> PolicyValues {
    PolicyValues {
        // Whoever wants no manners of their own is let in by the provider's all the same.
        polite: true,
        respect_robots: false,
        suppress_after: host.suppress_after.map(|_| u32::MAX),
        per_host: u32::MAX,
        ..host.values()
    }
}

/// Holds a policy to what one interface allows.
fn limit(values: &mut PolicyValues, endpoint: &Endpoint, pace: Pace) {
    let least = |set: Option<f64>| Some(set.map_or(pace.rate(), |set| set.min(pace.rate())));
    values.tos_cap = least(values.tos_cap);
    values.rate = least(values.rate);
    values.day_cap = values.day_cap.into_iter().chain(endpoint.day_cap).min();
    // Two requests at once are faster than any rate.
    (values.bucket, values.burst) = (true, 1);
    values.min_rate = values.min_rate.min(pace.rate());
    values.per_host = values.per_host.min(endpoint.in_flight);
    values.suppress_after = values
        .suppress_after
        .map(|after| after.min(endpoint.suppress_after));
    values.respect_robots |= !endpoint.documented;
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;
    use crate::keys::Key;

    fn policy(policies: &Policies, url: &str) -> std::sync::Arc<Policy> {
        policies.policy_of(&policies.scope_of(&Url::parse(url).unwrap()).unwrap())
    }

    fn site() -> Policies {
        Policies::new(site_policy().build().unwrap())
    }

    #[test]
    fn each_interface_is_capped_at_its_rate_and_passes_robots_over() {
        let policies = Endpoints::default()
            .policies(site(), &Keys::default(), false)
            .unwrap();
        for (url, rate, robots) in [
            (
                "https://eutils.ncbi.nlm.nih.gov/entrez/eutils/esearch.fcgi",
                Some(3.0),
                false,
            ),
            ("https://eutils.ncbi.nlm.nih.gov/", None, true),
            (
                "https://api.crossref.org/works/10.5555/x",
                Some(10.0),
                false,
            ),
            ("https://export.arxiv.org/api/query", Some(1.0 / 3.0), false),
            ("https://arxiv.org/pdf/2401.99999", Some(1.0 / 3.0), true),
            (
                "https://europepmc.org/articles/PMC1?pdf=render",
                Some(2.0),
                true,
            ),
            ("https://pmc.ncbi.nlm.nih.gov/articles/PMC1/", None, true),
            ("https://journal.example.org/x.pdf", None, true),
        ] {
            let policy = policy(&policies, url);
            assert_eq!(
                (policy.tos_cap, policy.respect_robots),
                (rate, robots),
                "{url}"
            );
        }
    }

    #[test]
    fn unpaywalls_limit_of_a_day_is_a_cap_of_its_own_that_a_lower_one_of_the_users_replaces() {
        let mut own = site_policy();
        own.day_cap = Some(500);
        let host = Scope::named("api.unpaywall.org");
        let lower = site().with_scope(host, own.build().unwrap());
        for (policies, cap) in [(site(), 100_000), (lower, 500)] {
            let endpoints = Endpoints::default();
            let policies = endpoints
                .policies(policies, &Keys::default(), false)
                .unwrap();
            let cap_of = |url| policy(&policies, url).day_cap;
            assert_eq!(cap_of("https://api.unpaywall.org/v2/10.5555/x"), Some(cap));
            assert_eq!(cap_of("https://api.crossref.org/works/10.5555/x"), None);
        }
    }

    #[test]
    fn interfaces_keep_their_rates_where_nothing_else_keeps_any() {
        let mut own = site_policy();
        own.polite = false;
        let policies = Policies::new(own.build().unwrap());
        let policies = Endpoints::default()
            .policies(policies, &Keys::default(), false)
            .unwrap();
        for (url, polite) in [
            ("https://api.crossref.org/works/10.5555/x", true),
            ("https://arxiv.org/pdf/2401.99999", true),
            ("https://journal.example.org/x.pdf", false),
        ] {
            assert_eq!(policy(&policies, url).polite, polite, "{url}");
        }
    }

    #[test]
    fn a_key_raises_the_rate_and_robots_can_be_asked_for() {
        let keys = Keys {
            ncbi: Some(Key::new("k").unwrap()),
            ..Keys::default()
        };
        let policies = Endpoints::default().policies(site(), &keys, true).unwrap();
        let policy = policy(&policies, "https://eutils.ncbi.nlm.nih.gov/entrez/eutils/x");
        assert_eq!((policy.tos_cap, policy.respect_robots), (Some(10.0), true));
    }

    #[test]
    fn an_overridden_base_keeps_its_rate_and_a_shared_one_the_slowest() {
        let endpoints = Endpoints::default()
            .with_base(Provider::Ncbi, "http://127.0.0.1:9/eutils")
            .and_then(|all| all.with_base(Provider::Doi, "http://127.0.0.1:9/"))
            .and_then(|all| all.with_base(Provider::SemanticScholar, "http://127.0.0.1:9"))
            .unwrap();
        let policies = endpoints.policies(site(), &Keys::default(), false).unwrap();
        for (url, rate) in [
            ("http://127.0.0.1:9/eutils/esearch.fcgi", Some(3.0)),
            ("http://127.0.0.1:9/10.5555/x", Some(1.0)),
            ("https://doi.org/10.5555/x", None),
        ] {
            assert_eq!(policy(&policies, url).tos_cap, rate, "{url}");
        }
    }

    #[test]
    fn what_the_user_set_for_the_host_holds_where_it_is_stricter() {
        let mut own = site_policy();
        own.tos_cap = Some(0.5);
        let host = Scope::named("api.crossref.org");
        let policies = site().with_scope(host, own.build().unwrap());
        let policies = Endpoints::default()
            .policies(policies, &Keys::default(), false)
            .unwrap();
        let policy = policy(&policies, "https://api.crossref.org/works/x");
        assert_eq!((policy.tos_cap, policy.silent_rate()), (Some(0.5), 0.5));
    }
}
