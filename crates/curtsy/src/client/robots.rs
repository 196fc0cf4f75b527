//! A robots.txt as a person asks about it.

use std::sync::Arc;

use curtsy_core::Timestamp;
use curtsy_core::robots::{Access, Fetched, ProductToken, robots_url};
use url::Url;

use super::Client;
use super::inspect::{RobotsSay, parse, robots_say};
use crate::error::{Error, ErrorKind};
use crate::robots::Consulted;
use crate::transport::Guard;

/// What the robots.txt of a URL's origin says, and how it was come by.
#[derive(Clone, Debug)]
pub struct RobotsReport {
    /// The URL that is asked about.
    pub url: Url,
    /// Where the file lies.
    pub file: Url,
    /// Who is judged.
    pub token: ProductToken,
    /// What it says about the URL.
    pub said: RobotsSay,
    /// What holds at the origin: its rules, where it has any. `None` where the file cannot be read for now.
    pub access: Option<Arc<Access>>,
    /// The last answer to its fetch and the failures since; `None` where it could not be asked for.
    pub fetched: Option<Arc<Fetched>>,
    /// Whether it was asked for now; else what was stored is told.
    pub asked: bool,
    /// When this was so.
    pub now: Timestamp,
}

impl Client {
    /// What the robots.txt of `url`'s origin says to this client, or to the crawler that sends the
    /// User-Agent `agent`. The file is read where it is not known: a departure like any other. A judgement
    /// of another crawler leaves this one's pace alone.
    ///
    /// # Errors
    /// No http(s) URL; the store or the audit log failed.
    pub async fn robots(&self, url: &str, agent: Option<&str>) -> Result<RobotsReport, Error> {
        let url = parse(url)?;
        let file = robots_url(&url)
            .ok_or_else(|| Error::new(ErrorKind::InvalidUrl, "not an http(s) URL"))?;
        let begun = self.now();
        let own = &self.shared.token;
        let host = self.host_of(&url)?;
        let mut said = self.consult(&host, &url, own, Guard::Any).await?;
        let fetched = self.known_robots(&url);
        let token = agent.map_or_else(|| own.clone(), ProductToken::from_user_agent);
        if let (Consulted::Access(access, _), Some(fetched)) = (&mut said, &fetched)
            && token != *own
        {
            *access = Arc::new(self.judge(fetched, &host, &token));
        }
        let access = match &said {
            Consulted::Access(access, _) => Some(Arc::clone(access)),
            _ => None,
        };
        Ok(RobotsReport {
            said: robots_say(said, &url),
            asked: fetched
                .as_ref()
                .is_some_and(|fetched| answered_at(fetched) >= begun),
            url,
            file,
            token,
            access,
            fetched,
            now: self.now(),
        })
    }
}

/// When the last fetch ended.
fn answered_at(fetched: &Fetched) -> Timestamp {
    match fetched {
        Fetched::Answered(copy) => copy.validated_at,
        Fetched::Failing { failing, .. } => failing.last_at,
    }
}
