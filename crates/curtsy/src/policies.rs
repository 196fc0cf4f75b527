//! Which scope a URL belongs to, and by which policy that scope is treated.

use std::collections::HashMap;
use std::sync::Arc;

use curtsy_core::signal::Profile;
use curtsy_core::{Policy, Scope};
use url::Url;

/// What is paced together by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scoping {
    /// Each host, with a port that is not the scheme's own.
    #[default]
    Host,
    /// All hosts of a registrable domain, by the Public Suffix List.
    RegistrableDomain,
}

/// The policies of a client: one for all, and those of single scopes.
#[derive(Clone, Debug, Default)]
pub struct Policies {
    base: Arc<Policy>,
    scoping: Scoping,
    scopes: HashMap<Scope, Arc<Policy>>,
    groups: HashMap<Scope, Scope>,
    profiles: HashMap<Scope, Profile>,
    areas: Vec<Area>,
}

/// A part of a host that is paced by itself.
#[derive(Clone, Debug)]
struct Area {
    host: Scope,
    /// Ends in a slash.
    path: String,
    scope: Scope,
}

impl Policies {
    /// The same policy for every scope.
    #[must_use]
    pub fn new(base: Policy) -> Self {
        Self {
            base: Arc::new(base),
            ..Self::default()
        }
    }

    /// What is paced together where nothing else is said.
    #[must_use]
    pub fn scoping(mut self, scoping: Scoping) -> Self {
        self.scoping = scoping;
        self
    }

    /// A policy of its own for one scope.
    #[must_use]
    pub fn with_scope(mut self, scope: Scope, policy: Policy) -> Self {
        self.scopes.insert(scope, Arc::new(policy));
        self
    }

    /// Paces a scope as part of a named group that shares one quota.
    #[must_use]
    pub fn with_group(mut self, scope: Scope, group: Scope) -> Self {
        self.groups.insert(scope, group);
        self
    }

    /// Paces what lies under `base` apart from the rest of its host, as a scope of its own: an interface whose
    /// rate is published, say. Where several lie over a URL, the longest holds. Nothing changes where `base` is
    /// not http(s).
    #[must_use]
    pub fn with_area(mut self, base: &Url, scope: Scope) -> Self {
        if let Some(host) = Scope::of(base) {
            let path = format!("{}/", base.path().trim_end_matches('/'));
            let area = Area { host, path, scope };
            let place = |other: &Area| other.path.len() > area.path.len();
            let place = self.areas.partition_point(place);
            self.areas.insert(place, area);
        }
        self
    }

    /// Reads a scope's headers in a dialect that only its name can tell.
    #[must_use]
    pub fn with_profile(mut self, scope: Scope, profile: Profile) -> Self {
        self.profiles.insert(scope, profile);
        self
    }

    /// The policy of scopes that have none of their own.
    #[must_use]
    pub fn base(&self) -> &Policy {
        &self.base
    }

    /// The scope of a URL; `None` where it is not http(s).
    #[must_use]
    pub fn scope_of(&self, url: &Url) -> Option<Scope> {
        let host = Scope::of(url)?;
        if let Some(area) = self.areas.iter().find(|area| area.holds(&host, url.path())) {
            return Some(area.scope.clone());
        }
        if let Some(group) = self.groups.get(&host) {
            return Some(group.clone());
        }
        match self.scoping {
            Scoping::Host => Some(host),
            Scoping::RegistrableDomain => Scope::registrable_domain_of(url),
        }
    }

    /// The policy of a scope.
    #[must_use]
    pub fn policy_of(&self, scope: &Scope) -> Arc<Policy> {
        Arc::clone(self.scopes.get(scope).unwrap_or(&self.base))
    }

    /// The dialect profile of a URL's host.
    #[must_use]
    pub fn profile_of(&self, url: &Url) -> Option<Profile> {
        if self.profiles.is_empty() {
            return None;
        }
        self.profiles.get(&Scope::of(url)?).copied()
    }
}

impl Area {
    fn holds(&self, host: &Scope, path: &str) -> bool {
        let is_under = path.starts_with(&self.path) || path == self.path.trim_end_matches('/');
        *host == self.host && is_under
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_gathers_hosts_and_has_its_own_policy() {
        let mut values = Policy::default().values();
        values.rate = Some(1.0);
        let group = Scope::named("mirrors");
        let policies = Policies::default()
            .with_group(Scope::named("a.example"), group.clone())
            .with_group(Scope::named("b.example:8080"), group.clone())
            .with_scope(group.clone(), values.build().unwrap());
        for (url, scope) in [
            ("https://a.example/x", "mirrors"),
            ("http://b.example:8080/", "mirrors"),
            ("http://b.example/", "b.example"),
        ] {
            let scope_of = policies.scope_of(&Url::parse(url).unwrap()).unwrap();
            assert_eq!(scope_of.as_str(), scope, "{url}");
        }
        assert_eq!(policies.policy_of(&group).rate, Some(1.0));
        assert_eq!(policies.policy_of(&Scope::named("b.example")).rate, None);
    }

    #[test]
    fn the_longest_area_over_a_url_is_its_scope() {
        let url = |text| Url::parse(text).unwrap();
        let policies = Policies::default()
            .with_area(&url("https://a.example/api"), Scope::named("api"))
            .with_area(
                &url("https://a.example/api/search/"),
                Scope::named("search"),
            );
        for (text, scope) in [
            ("https://a.example/api", "api"),
            ("http://a.example/api/x?y", "api"),
            ("https://a.example/api/search/z", "search"),
            ("https://a.example/apiary", "a.example"),
            ("https://a.example/", "a.example"),
            ("https://a.example:8080/api", "a.example:8080"),
            ("https://b.example/api", "b.example"),
        ] {
            let scope_of = policies.scope_of(&url(text)).unwrap();
            assert_eq!(scope_of.as_str(), scope, "{text}");
        }
    }
}
