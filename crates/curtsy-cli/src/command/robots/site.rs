//! A site's own robots.txt: read as any client of curtsy reads it.

use std::time::Duration;

use curtsy::core::Timestamp;
use curtsy::core::robots::{Access, Fetched, Open, Unreachable};
use curtsy::{RobotsReport, RobotsSay};
use serde_json::{Value as Json, json};

use super::report::Report;
use crate::args::{GlobalArgs, RobotsArgs};
use crate::failure::{Exit, Failure};
use crate::notices::{clock, notices, short};
use crate::output::say;
use crate::session;
use crate::settings::{Flags, Settings};

/// Asks a site. Exit 1 where the URL is not allowed, for now or at all.
///
/// # Errors
/// No http(s) URL, wrong settings, or the state store failed.
pub(super) fn ask(args: &RobotsArgs, url: &str, global: &GlobalArgs) -> Result<Exit, Failure> {
    let options = args.asking.options();
    let settings = Settings::load(Flags {
        global,
        options: &options,
        json: args.json,
    })?;
    let report = session::run(async {
        let notices = notices(settings.fetch.verbosity, say);
        let client = session::client(&settings, notices).await?;
        let report = client.robots(url, args.agent.as_deref()).await;
        report.map_err(|error| session::failure("robots", &error))
    })?;
    let robots = match report.access.as_deref() {
        Some(Access::Rules { robots, .. }) => Some(robots),
        _ => None,
    };
    let (allowed, rule) = match &report.said {
        RobotsSay::Allowed(rule) => (true, rule.clone()),
        RobotsSay::Disallowed(rule) => (false, rule.clone()),
        _ => (false, None),
    };
    let report = Report {
        url: &report.url,
        token: &report.token,
        allowed,
        rule,
        robots,
        origin: Some(Origin::of(&report)),
    };
    report.print(args.json)
}

/// How a file was come by, and what that means for its site.
pub(super) struct Origin {
    url: String,
    outcome: Outcome,
    /// Of the last answer, or of the last failure where there was a response.
    status: Option<u16>,
    /// Why it cannot be reached now.
    why: Option<Unreachable>,
    /// Whether it was asked for now.
    asked: bool,
    /// How long ago the answer that is used was known to be current.
    age: Option<Duration>,
    /// When it may be asked for again.
    not_before: Option<Timestamp>,
}

enum Outcome {
    Rules,
    /// There is none for us: nothing is forbidden.
    Unavailable,
    TooManyRedirects,
    /// Unreachable, which the policy takes for a yes.
    Tolerated,
    Forbidden,
    /// Nothing is allowed for now.
    Unreachable,
    /// The pace forbids to ask for it: the reason.
    Deferred(&'static str),
    /// Not asked: the scope is suppressed.
    Suppressed,
}

impl Origin {
    fn of(report: &RobotsReport) -> Self {
        let (failing, copy) = match report.fetched.as_deref() {
            Some(Fetched::Failing { failing, copy }) => (Some(failing), copy.as_ref()),
            Some(Fetched::Answered(copy)) => (None, Some(copy)),
            None => (None, None),
        };
        let outcome = match (&report.said, report.access.as_deref()) {
            (RobotsSay::Suppressed, _) => Outcome::Suppressed,
            (RobotsSay::Unreachable(bound), _) if failing.is_none() => {
                Outcome::Deferred(bound.reason.sentence())
            }
            (_, Some(Access::Rules { .. })) => Outcome::Rules,
            (_, Some(Access::Forbidden(_))) => Outcome::Forbidden,
            (_, Some(Access::Allowed(open))) => match open {
                Open::Unavailable(_) => Outcome::Unavailable,
                Open::TooManyRedirects => Outcome::TooManyRedirects,
                Open::Tolerated(_) | Open::LongUnreachable(_) => Outcome::Tolerated,
            },
            _ => Outcome::Unreachable,
        };
        Self {
            url: report.file.to_string(),
            status: match failing {
                Some(failing) => failing.why.status(),
                None => copy.and_then(|copy| copy.status),
            },
            why: failing.map(|failing| failing.why),
            asked: report.asked,
            age: report
                .access
                .as_ref()
                .and(copy)
                .map(|copy| report.now.since(copy.validated_at)),
            not_before: match &report.said {
                RobotsSay::Unreachable(bound) => Some(bound.not_before),
                _ => None,
            },
            outcome,
        }
    }

    /// Its URL, how its fetch ended, and what follows.
    pub(super) fn in_words(&self) -> String {
        let answer = match (self.why, self.status) {
            (Some(why), Some(status)) => format!("unreachable ({}, {status})", why.as_str()),
            (Some(why), None) => format!("unreachable ({})", why.as_str()),
            (None, Some(status)) => format!("status {status}"),
            (None, None) => "no answer".to_owned(),
        };
        let known = match self.age {
            Some(age) if !self.asked || self.why.is_some() => {
                format!(", known for {}", short(age))
            }
            Some(_) => ", asked for now".to_owned(),
            None => String::new(),
        };
        let again = self
            .not_before
            .map(|at| format!("; asked for again not before {}", clock(at)))
            .unwrap_or_default();
        let said = match self.outcome {
            Outcome::Rules if self.why.is_some() => format!("{answer}, the copy is used{known}"),
            Outcome::Rules => format!("{answer}{known}"),
            Outcome::Unavailable => format!("{answer}, so nothing is forbidden{known}"),
            Outcome::TooManyRedirects => {
                format!("more than five redirects, so nothing is forbidden{known}")
            }
            Outcome::Tolerated => format!("{answer}, which this preset takes for a yes"),
            Outcome::Forbidden => format!("{answer}, so the whole site is forbidden{known}"),
            Outcome::Unreachable => format!("{answer}, so nothing is allowed for now{again}"),
            Outcome::Deferred(reason) => format!("not asked for: {reason}{again}"),
            Outcome::Suppressed => {
                "not asked for: the host answered 403 before and is left alone; \
                                    curtsy state lift ends that"
                    .to_owned()
            }
        };
        format!("{}: {said}", self.url)
    }

    pub(super) fn in_json(&self) -> Json {
        let outcome = match self.outcome {
            Outcome::Rules => "rules",
            Outcome::Unavailable => "unavailable",
            Outcome::TooManyRedirects => "too_many_redirects",
            Outcome::Tolerated => "tolerated",
            Outcome::Forbidden => "forbidden",
            Outcome::Unreachable => "unreachable",
            Outcome::Deferred(_) => "deferred",
            Outcome::Suppressed => "suppressed",
        };
        json!({
            "url": self.url,
            "outcome": outcome,
            "status": self.status,
            "unreachable": self.why.map(Unreachable::as_str),
            "asked": self.asked,
            "age_s": self.age.map(|age| age.as_secs_f64()),
            "not_before": self.not_before.map(Timestamp::to_rfc3339),
        })
    }
}
