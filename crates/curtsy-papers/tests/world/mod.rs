//! A world on loopback: one server that plays every provider and some publishers, told apart by the host that is asked
//! for. It answers from the fixtures in `testdata/`, and about any number of [invented](invented) papers, keeps a log
//! of all that arrives, and fails where a test wants it to.

mod invented;
mod providers;
mod pubmed;
mod scripted;
mod server;
mod tls;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use curtsy::clock::Clock;
use curtsy::transport::Transport;
use curtsy::{Client, ClientBuilder};
use curtsy_papers::{Access, Contact, Endpoints, Provider};

pub(crate) use invented::{Copy, Paper};
pub(crate) use pubmed::Search;
pub(crate) use scripted::{Answer, Fault};

/// The world. It ends with its last clone.
#[derive(Clone)]
pub(crate) struct World {
    shared: Arc<Shared>,
}

struct Shared {
    addr: SocketAddr,
    started: Instant,
    /// Of a world with TLS: the certificate authority in PEM.
    authority: Option<String>,
    log: Mutex<Vec<Arrival>>,
    faults: Mutex<Vec<Fault>>,
    search: Mutex<Search>,
    /// How many invented papers there are.
    papers: u32,
    /// Ends the server.
    task: Mutex<Option<tokio::task::AbortHandle>>,
}

/// One request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    /// Since the world began.
    pub(crate) at: Duration,
    pub(crate) host: String,
    pub(crate) method: String,
    pub(crate) path: String,
    /// Percent-decoded pairs, of the query or of a form.
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Arrival {
    /// The value of a pair.
    pub(crate) fn pair(&self, name: &str) -> Option<&str> {
        let pair = self.query.iter().find(|(other, _)| other == name)?;
        Some(&pair.1)
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let field = self
            .headers
            .iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name))?;
        Some(&field.1)
    }

    /// What follows this in the path, percent-decoded.
    pub(crate) fn after(&self, prefix: &str) -> Option<String> {
        let rest = self.path.strip_prefix(prefix)?;
        Some(
            percent_encoding::percent_decode_str(rest)
                .decode_utf8_lossy()
                .into_owned(),
        )
    }
}

impl World {
    /// A world of the fixtures alone.
    pub(crate) async fn start() -> Self {
        Self::with_papers(0).await
    }

    /// A world with so many invented papers too.
    pub(crate) async fn with_papers(papers: u32) -> Self {
        server::start(papers, None).await
    }

    /// A world that speaks HTTPS, with a certificate for every host of it.
    pub(crate) async fn secure() -> Self {
        server::start(0, Some(tls::certified())).await
    }

    /// Where everybody is.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.shared.addr
    }

    /// `http` or `https`.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.shared.authority.is_some() {
            "https"
        } else {
            "http"
        }
    }

    /// The certificate authority in PEM, of a world with TLS.
    pub(crate) fn authority(&self) -> Option<&str> {
        self.shared.authority.as_deref()
    }

    /// The URL of a path at a host of this world.
    pub(crate) fn url(&self, host: &str, path: &str) -> String {
        format!("{}://{host}:{}{path}", self.scheme(), self.addr().port())
    }

    /// The bases of all providers: their own hosts and paths, on the port of this world.
    pub(crate) fn endpoints(&self) -> Endpoints {
        let real = Endpoints::default();
        Provider::ALL
            .into_iter()
            .fold(Endpoints::default(), |all, provider| {
                let base = real.base(provider);
                let here = self.url(base.host_str().unwrap(), base.path());
                all.with_base(provider, &here).unwrap()
            })
    }

    /// The same as variables of the environment, for the command line.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let endpoints = self.endpoints();
        let variable = |provider: Provider| {
            let name = format!("CURTSY_BASE_{}", provider.name().to_ascii_uppercase());
            (name, endpoints.base(provider).to_string())
        };
        Provider::ALL.into_iter().map(variable).collect()
    }

    /// What `--resolve` takes, so that every host is found here.
    pub(crate) fn resolve(&self) -> String {
        format!("*:{}:127.0.0.1", self.addr().port())
    }

    /// A transport that finds every host here.
    pub(crate) fn transport(&self) -> Transport {
        let mut builder =
            Transport::builder(Clock::system()).resolve(self.resolve().parse().unwrap());
        if let Some(authority) = self.authority() {
            builder = builder.ca_certificates(authority);
        }
        builder.build().unwrap()
    }

    /// A client's parts with that transport.
    pub(crate) fn client(&self) -> ClientBuilder {
        Client::builder().transport(self.transport())
    }

    /// An access to this world, with the rates and the policy of the real one.
    pub(crate) fn access(&self) -> Access {
        Access::builder(contact())
            .endpoints(self.endpoints())
            .client(self.client())
            .build()
            .unwrap()
    }

    /// All that arrived so far.
    pub(crate) fn arrivals(&self) -> Vec<Arrival> {
        self.shared.log.lock().unwrap().clone()
    }

    /// What arrived at one host.
    pub(crate) fn arrivals_at(&self, host: &str) -> Vec<Arrival> {
        let mut arrivals = self.arrivals();
        arrivals.retain(|arrival| arrival.host == host);
        arrivals
    }

    /// Forgets what arrived.
    pub(crate) fn clear(&self) {
        self.shared.log.lock().unwrap().clear();
    }

    /// Lets something go wrong, or another answer be given, before all else.
    pub(crate) fn fault(&self, fault: Fault) {
        self.shared.faults.lock().unwrap().push(fault);
    }

    /// What PubMed knows of invented searches.
    pub(crate) fn set_search(&self, search: Search) {
        *self.shared.search.lock().unwrap() = search;
    }

    fn answer(&self, arrival: &Arrival) -> Answer {
        let mut faults = self.shared.faults.lock().unwrap();
        if let Some(answer) = faults.iter_mut().find_map(|fault| fault.answer(arrival)) {
            return self.localize(answer);
        }
        drop(faults);
        self.localize(providers::answer(self, arrival))
    }

    /// Leads the links of an answer here.
    fn localize(&self, mut answer: Answer) -> Answer {
        if let Ok(text) = std::str::from_utf8(&answer.body) {
            answer.body = self.lead_here(text).into_bytes();
        }
        for (name, value) in &mut answer.headers {
            if name == "location" {
                *value = self.lead_here(value);
            }
        }
        answer
    }

    /// Names of licences and formats are no links, and what has a port leads somewhere already.
    fn lead_here(&self, text: &str) -> String {
        const HOSTS: [&str; 4] = ["europepmc.org", "arxiv.org", "doi.org", "export.arxiv.org"];
        let mut local = String::with_capacity(text.len() + 256);
        let mut rest = text;
        while let Some(at) = rest.find("https://") {
            local.push_str(&rest[..at]);
            let after = &rest[at + "https://".len()..];
            let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || ".-".contains(c)));
            let (host, tail) = after.split_at(end.unwrap_or(after.len()));
            let is_here =
                (host.contains("example") || HOSTS.contains(&host)) && !tail.starts_with(':');
            if is_here {
                local.push_str(&self.url(host, ""));
            } else {
                local.push_str("https://");
                local.push_str(host);
            }
            rest = tail;
        }
        local.push_str(rest);
        local
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().unwrap().take() {
            task.abort();
        }
    }
}

/// Who asks.
pub(crate) fn contact() -> Contact {
    "rae@lab.example".parse().unwrap()
}

/// By how much the fastest run of arrivals is ahead of the interval. One that is noted late, since the machine is busy,
/// seems closer to the next by that; a pace that is not kept is ahead by more with every request.
pub(crate) fn lead(arrivals: &[Arrival], interval: Duration) -> Duration {
    let (mut latest, mut lead) = (f64::MIN, 0.0_f64);
    for (n, arrival) in arrivals.iter().enumerate() {
        // How late it is for a run that began with the first one.
        let late = arrival.at.as_secs_f64() - n as f64 * interval.as_secs_f64();
        latest = latest.max(late);
        lead = lead.max(latest - late);
    }
    Duration::from_secs_f64(lead)
}

/// That no run of arrivals is faster than the interval allows.
pub(crate) fn assert_paced(arrivals: &[Arrival], interval: Duration) {
    const SLACK: Duration = Duration::from_millis(150);
    let lead = lead(arrivals, interval);
    let host = arrivals.first().map(|arrival| &arrival.host);
    assert!(
        lead <= SLACK,
        "{host:?} is ahead of {interval:?} by {lead:?}"
    );
}
