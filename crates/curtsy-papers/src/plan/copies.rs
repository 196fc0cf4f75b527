//! The copies of a paper that are known, and which is next.

use url::Url;

use super::{Miss, Prefer, Wishes};
use crate::reason::Reason;
use crate::source::{HostType, Location, LocationKind, Version};

/// The copies that are known, in the order in which they became known.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies(Vec<(Location, CopyState)>);

/// Where a copy stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CopyState {
    /// It was not tried.
    Waiting,
    /// It was tried in vain, or its host will have nothing of it.
    Missed(Miss),
}

impl Copies {
    /// Adds a copy, unless it is known already. One at a host that is closed to this paper is as good as tried.
    pub(super) fn add(&mut self, location: Location) {
        if self
            .0
            .iter()
            .any(|(known, _)| is_same(&known.url, &location.url))
        {
            return;
        }
        let closed = self.0.iter().find_map(|(known, state)| match state {
            CopyState::Missed(miss) if closes(miss) && host(known) == host(&location) => {
                Some(miss.clone())
            }
            _ => None,
        });
        let state = closed.map_or(CopyState::Waiting, CopyState::Missed);
        self.0.push((location, state));
    }

    pub(super) fn missed(&mut self, location: &Location, miss: Miss) {
        let closes = closes(&miss);
        for (known, state) in &mut self.0 {
            let is_it = known.url == location.url;
            let is_closed =
                closes && *state == CopyState::Waiting && host(known) == Some(&miss.host);
            if is_it || is_closed {
                *state = CopyState::Missed(miss.clone());
            }
        }
    }

    pub(super) fn state(&self, location: &Location) -> Option<&CopyState> {
        let found = self.0.iter().find(|(known, _)| known.url == location.url);
        found.map(|(_, state)| state)
    }

    /// Why copies were missed.
    pub(super) fn misses(&self) -> impl Iterator<Item = &Miss> {
        self.0.iter().filter_map(|(_, state)| match state {
            CopyState::Missed(miss) => Some(miss),
            CopyState::Waiting => None,
        })
    }

    /// The PDF to try next.
    pub(super) fn next(&self, wishes: &Wishes) -> Option<&Location> {
        let waiting = self.0.iter().filter(|(location, state)| {
            *state == CopyState::Waiting
                && location.kind == LocationKind::Pdf
                && is_licensed(location, wishes)
        });
        waiting
            .map(|(location, _)| location)
            .min_by_key(|location| rank(location, wishes.prefer))
    }

    /// All copies, the ones to try first at the beginning.
    pub(super) fn sorted(&self, wishes: &Wishes) -> Vec<&Location> {
        let mut all: Vec<&Location> = self.0.iter().map(|(location, _)| location).collect();
        all.sort_by_key(|location| rank(location, wishes.prefer));
        all
    }

    /// Whether a PDF is known that has none of the licences that are wanted.
    pub(super) fn lacks_license(&self, wishes: &Wishes) -> bool {
        let mut pdfs = self
            .0
            .iter()
            .filter(|(location, _)| location.kind == LocationKind::Pdf);
        pdfs.any(|(location, _)| !is_licensed(location, wishes))
    }
}

/// The smaller, the sooner; copies that are equal keep the order of their sources.
fn rank(location: &Location, prefer: Prefer) -> [u8; 4] {
    let kind = u8::from(location.kind != LocationKind::Pdf);
    let host = u8::from(location.host_type != Some(HostType::Repository));
    let license = u8::from(location.license.is_none());
    let version = match location.version {
        Some(Version::Published) => 0,
        Some(Version::Accepted) => 1,
        Some(Version::Submitted) => 2,
        None => 3,
    };
    match prefer {
        Prefer::Soonest => [kind, host, license, version],
        Prefer::Published => [kind, version, host, license],
        Prefer::Licensed => [kind, license, host, version],
    }
}

fn is_licensed(location: &Location, wishes: &Wishes) -> bool {
    let plain = |text: &str| -> String {
        let text = text
            .split_once("creativecommons.org/licenses/")
            .map_or(text, |(_, rest)| rest);
        let letters = text.chars().filter(char::is_ascii_alphanumeric);
        let letters: String = letters.map(|c| c.to_ascii_lowercase()).collect();
        let letters = letters.strip_prefix("cc").unwrap_or(&letters);
        letters
            .trim_end_matches(|c: char| c.is_ascii_digit())
            .to_owned()
    };
    let license = location.license.as_deref().map(plain);
    wishes.licenses.is_empty()
        || license.is_some_and(|license| {
            wishes
                .licenses
                .iter()
                .any(|wanted| plain(wanted) == license)
        })
}

/// Whether a miss ends its host for the paper.
fn closes(miss: &Miss) -> bool {
    miss.until.is_some()
        || matches!(
            miss.reason,
            Reason::Walled | Reason::RateLimited | Reason::QuotaSpent
        )
}

fn host(location: &Location) -> Option<&str> {
    location.url.host_str()
}

/// http or https, and with a fragment or without, it is the same copy.
fn is_same(one: &Url, other: &Url) -> bool {
    let rest = |url: &Url| {
        let text = url.as_str();
        let text = text.split_once("://").map_or(text, |(_, rest)| rest);
        text.split_once('#')
            .map_or(text, |(rest, _)| rest)
            .to_owned()
    };
    one == other || rest(one) == rest(other)
}
