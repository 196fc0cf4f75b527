//! `curtsy paper sources`: what is asked, how often, and who says so.

use curtsy::core::HostState;
use curtsy::{Client, Notices};
use curtsy_papers::Pace;
use curtsy_papers::Provider;
use serde_json::json;

use crate::args::{GlobalArgs, SourcesArgs};
use crate::failure::{Exit, Failure};
use crate::notices::clock;
use crate::output::{self, Results};
use crate::session;
use crate::settings::{PaperSettings, Settings};
use crate::table::{Align, Table};
use crate::value::Value as _;

pub(crate) fn run(args: &SourcesArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    let settings = super::settings(&args.options.options(), global)?;
    session::run(show(args, &settings))
}

/// One interface as it stands.
struct Row<'a> {
    provider: Provider,
    papers: &'a PaperSettings,
    pace: Pace,
    /// Nothing departs before then.
    held_until: Option<String>,
    asks_robots: bool,
}

async fn show(args: &SourcesArgs, settings: &Settings) -> Result<Exit, Failure> {
    let client = session::client(settings, Notices::default()).await?;
    let mut rows = Vec::new();
    for provider in Provider::ALL {
        let respect = args.options.respect_robots_txt;
        rows.push(Row::of(provider, settings, respect, &client).await?);
    }
    let mut out = Results::start();
    if args.json {
        for row in &rows {
            out.line(&row.json().to_string())?;
        }
        for resolver in &settings.papers.resolver {
            let row = json!({"name": "resolver", "title": "a resolver of your own", "base": resolver.show(), "asked": true});
            out.line(&row.to_string())?;
        }
    } else {
        for line in table(&rows).lines(output::width().unwrap_or(usize::MAX)) {
            out.line(&line)?;
        }
        out.line("")?;
        out.line("Where the rates come from:")?;
        for row in &rows {
            let endpoint = row.provider.endpoint();
            let (name, source, checked) = (endpoint.name, endpoint.source, endpoint.checked);
            out.line(&format!("  {name:<14} {source} (looked at on {checked})"))?;
        }
        if !settings.papers.resolver.is_empty() {
            out.line("")?;
            out.line("Your own resolvers, at the pace and by the robots.txt of their hosts:")?;
        }
        for resolver in &settings.papers.resolver {
            let shown = resolver.show();
            out.line(&format!("  {}", shown.as_str().unwrap_or_default()))?;
        }
    }
    out.finish()?;
    Ok(Exit::Done)
}

impl<'a> Row<'a> {
    async fn of(
        provider: Provider,
        settings: &'a Settings,
        respect_robots: bool,
        client: &Client,
    ) -> Result<Self, Failure> {
        let papers = &settings.papers;
        let endpoint = provider.endpoint();
        let key = papers.keys.of(provider).and(endpoint.pace_with_key);
        let scope = papers.endpoints.scope(provider);
        let state: HostState = client
            .state(&scope)
            .await
            .map_err(|error| session::failure("state", &error))?;
        Ok(Self {
            provider,
            papers,
            pace: key.unwrap_or(endpoint.pace),
            held_until: state.hold(client.now()).map(|hold| clock(hold.until)),
            asks_robots: respect_robots || !endpoint.documented,
        })
    }

    /// Whether there is a key, where the provider gives any.
    fn key(&self) -> &'static str {
        let endpoint = self.provider.endpoint();
        match (endpoint.key, self.papers.keys.of(self.provider)) {
            (None, _) => "",
            (Some(_), Some(_)) => "at hand",
            (Some(_), None) if endpoint.needs_key => "none: not asked",
            (Some(_), None) => "none",
        }
    }

    fn json(&self) -> serde_json::Value {
        let endpoint = self.provider.endpoint();
        let has_key = self.papers.keys.of(self.provider).is_some();
        json!({
            "name": endpoint.name,
            "title": endpoint.title,
            "base": self.papers.endpoints.base(self.provider).as_str(),
            "requests": self.pace.requests,
            "seconds": self.pace.seconds,
            "a_day": endpoint.day_cap,
            "in_flight": endpoint.in_flight,
            "robots_txt": self.asks_robots,
            "key": endpoint.key,
            "key_at_hand": endpoint.key.map(|_| has_key),
            "asked": has_key || !endpoint.needs_key,
            "held_until": self.held_until,
            "source": endpoint.source,
            "checked": endpoint.checked,
        })
    }
}

fn table(rows: &[Row<'_>]) -> Table {
    let mut table = Table::new(&[
        ("base", Align::Left),
        ("name", Align::Left),
        ("rate", Align::Right),
        ("robots.txt", Align::Left),
        ("key", Align::Left),
        ("held until", Align::Left),
    ]);
    for row in rows {
        table.row(vec![
            row.papers.endpoints.base(row.provider).to_string(),
            row.provider.name().to_owned(),
            rate(row.pace, row.provider.endpoint().day_cap),
            if row.asks_robots { "obeyed" } else { "" }.to_owned(),
            row.key().to_owned(),
            row.held_until.clone().unwrap_or_default(),
        ]);
    }
    table
}

fn rate(pace: Pace, day_cap: Option<u32>) -> String {
    let rate = match pace.seconds {
        1 => format!("{}/s", pace.requests),
        seconds => format!("{} in {seconds} s", pace.requests),
    };
    match day_cap {
        Some(cap) => format!("{rate}, {cap} a day"),
        None => rate,
    }
}
