//! Who watches a run: metrics, alerts, the dashboard.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use curtsy::clock::Clock;
use curtsy::{AlertOptions, Alerts, Audit, Client, Metrics, Notices, ProgressView};

use crate::dashboard::{self, EventLog, Shown, Visitors};
use crate::failure::{Exit, Failure, chain};
use crate::notices::tell;
use crate::progress::{Screen, speaker};
use crate::serve::{self, Server};
use crate::session::Ears;
use crate::settings::{AlertSettings, FetchSettings, Settings};
use crate::value::Token;

/// Who watches a run.
pub(super) struct Watching {
    metrics: Metrics,
    pub(super) alerts: Alerts,
    events: Option<EventLog>,
}

impl Watching {
    /// As the settings want it.
    ///
    /// # Errors
    /// An option makes no sense.
    pub(super) fn new(settings: &Settings) -> Result<Self, Failure> {
        let alerts = Alerts::new(alert_options(&settings.alerts))
            .map_err(|error| Failure::usage("--alert-webhook", chain(&error)))?;
        Ok(Self {
            metrics: match settings.fetch.metrics {
                Some(_) => Metrics::on(),
                None => Metrics::off(),
            },
            alerts,
            events: settings.fetch.dashboard.map(|_| EventLog::default()),
        })
    }

    /// Who hears of what the client does.
    pub(super) fn ears(&self, audit: Audit, screen: &Screen, clock: Clock, verbosity: u8) -> Ears {
        let (say, events) = (speaker(screen), self.events.clone());
        let notices = Notices::to(move |notice| {
            tell(notice, verbosity, &say);
            if let Some(events) = &events {
                events.hear(notice, clock.now());
            }
        });
        Ears {
            audit,
            notices,
            metrics: self.metrics.clone(),
            alerts: self.alerts.clone(),
        }
    }

    /// Serves what is to be served, until the servers are finished or dropped.
    ///
    /// # Errors
    /// Nobody can listen at an address.
    pub(super) fn serve(
        &self,
        fetch: &FetchSettings,
        client: &Client,
        progress: &ProgressView,
        screen: &Screen,
    ) -> Result<Vec<Server>, Failure> {
        let mut servers = Vec::new();
        let say = |line: &str| {
            if fetch.verbosity > 0 {
                screen.say(line);
            }
        };
        if let Some(at) = fetch.metrics {
            let (metrics, client) = (self.metrics.clone(), client.clone());
            let router = |address, _| serve::metrics_router(address, metrics, client);
            let server = serve::start("--metrics", at, router)?;
            say(&format!(
                "metrics at http://{}/metrics",
                shown(server.address)
            ));
            servers.push(server);
        }
        if let (Some(at), Some(events)) = (fetch.dashboard, &self.events) {
            let token = match &fetch.dashboard_token {
                None if !at.0.ip().is_loopback() => {
                    Some(Token::generate().map_err(|error| {
                        Failure::new(Exit::Usage, "--dashboard: a token", error)
                    })?)
                }
                given => given.clone(),
            };
            // One that nobody has been told of is told, or nobody could look.
            let fresh = token.as_ref().filter(|_| fetch.dashboard_token.is_none());
            let fragment = fresh.map(|token| format!("#token={}", token.as_str()));
            let visitors = Visitors {
                token: token.clone(),
                hosts: fetch.dashboard_hosts.clone(),
            };
            let shown_job = Shown {
                name: fetch.job.as_str().to_owned(),
                client: client.clone(),
                progress: progress.clone(),
                events: events.clone(),
            };
            let router = |address, ending| dashboard::router(address, visitors, shown_job, ending);
            let server = serve::start("--dashboard", at, router)?;
            let fragment = fragment.unwrap_or_default();
            let line = format!("dashboard at http://{}/{fragment}", shown(server.address));
            if fragment.is_empty() {
                say(&line);
            } else {
                screen.say(&line);
            }
            servers.push(server);
        }
        Ok(servers)
    }
}

fn alert_options(settings: &AlertSettings) -> AlertOptions {
    AlertOptions {
        rules: settings.rules,
        webhook: settings.webhook.as_ref().map(|url| url.as_str().to_owned()),
        command: settings
            .command
            .as_ref()
            .map_or_else(Vec::new, |command| command.0.clone()),
    }
}

/// An address that a browser on this machine can ask.
fn shown(address: SocketAddr) -> SocketAddr {
    let ip = if address.ip().is_unspecified() {
        IpAddr::V4(Ipv4Addr::LOCALHOST)
    } else {
        address.ip()
    };
    SocketAddr::new(ip, address.port())
}
