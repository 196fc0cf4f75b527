//! Where a run is watched from, and who is told of it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde_json::{Value as Json, json};
use url::Url;

use super::Value;

/// An address to listen at: a port alone is one of this machine, and nobody else can reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListenAddr(pub(crate) SocketAddr);

impl Value for ListenAddr {
    fn read(text: &str) -> Result<Self, String> {
        let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let ip = match host {
            "" | "localhost" => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            host => host.parse().ok(),
        };
        match (ip, port.parse()) {
            (Some(ip), Ok(port)) => Ok(Self(SocketAddr::new(ip, port))),
            _ => Err(format!(
                "{text:?} is no address to listen at; write a port, or as 0.0.0.0:9464"
            )),
        }
    }

    fn show(&self) -> Json {
        json!(self.0.to_string())
    }
}

/// The URL of a webhook, whose path and query may be as secret as a password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct WebhookUrl(Url);

impl WebhookUrl {
    /// All of it.
    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl Value for WebhookUrl {
    fn read(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        // It may hold a secret, so it is not repeated.
        url.map(Self)
            .ok_or("is no URL of a webhook; write http://… or https://…".to_owned())
    }

    fn show(&self) -> Json {
        json!(format!("{}/***", self.0.origin().ascii_serialization()))
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WebhookUrl({})", self.show())
    }
}

/// A program and its arguments, which no shell reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandLine(pub(crate) Vec<String>);

impl Value for CommandLine {
    fn read(text: &str) -> Result<Self, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Self::read_list(&words)
    }

    fn read_list(items: &[String]) -> Result<Self, String> {
        if items.first().is_none_or(String::is_empty) {
            return Err("names no program".to_owned());
        }
        Ok(Self(items.to_vec()))
    }

    fn show(&self) -> Json {
        json!(self.0)
    }
}

/// What a visitor of the dashboard must know.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token(String);

/// Shorter ones can be guessed.
const SHORTEST_TOKEN: usize = 16;

impl Token {
    /// A fresh one, of 160 random bits.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub(crate) fn generate() -> Result<Self, String> {
        let mut bytes = [0; 20];
        getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
        Ok(Self(
            bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        ))
    }

    /// The text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for Token {
    fn read(text: &str) -> Result<Self, String> {
        if text.len() < SHORTEST_TOKEN {
            Err(format!("must have at least {SHORTEST_TOKEN} characters"))
        } else if text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text.to_owned()))
        } else {
            Err("holds a character outside visible ASCII".to_owned())
        }
    }

    fn show(&self) -> Json {
        json!("***")
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

/// A name of this machine by which browsers ask for the dashboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostName(String);

impl HostName {
    /// The name, in lower case.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for HostName {
    fn read(text: &str) -> Result<Self, String> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
        if !text.is_empty() && text.bytes().all(is_name) {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(format!(
                "{text:?} is no name of a host; write crawler.example.org"
            ))
        }
    }

    fn show(&self) -> Json {
        json!(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::read;

    #[test]
    fn a_port_alone_is_of_this_machine() {
        for (text, expected) in [
            ("9464", "127.0.0.1:9464"),
            (":9464", "127.0.0.1:9464"),
            ("localhost:1", "127.0.0.1:1"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(read::<ListenAddr>(text).unwrap().show(), expected, "{text}");
        }
        for text in ["", "x", "example.org:80", "70000", "127.0.0.1"] {
            assert!(read::<ListenAddr>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_secret_is_not_shown() {
        let webhook: WebhookUrl = read("https://ann:secret@hooks.example/secret?k=secret").unwrap();
        assert_eq!(webhook.show(), "https://hooks.example/***");
        let token: Token = read("secret-secret-secret").unwrap();
        assert!(!format!("{webhook:?} {token:?} {}", token.show()).contains("secret"));
        assert!(
            !read::<WebhookUrl>("ftp://secret/")
                .unwrap_err()
                .contains("secret")
        );
        assert!(!read::<Token>("secret").unwrap_err().contains("\"secret\""));
    }

    #[test]
    fn a_command_is_words_or_a_list_of_them() {
        let words = |words: &[&str]| CommandLine(words.iter().map(|w| (*w).to_owned()).collect());
        assert_eq!(read("mail -s curtsy"), Ok(words(&["mail", "-s", "curtsy"])));
        let listed = CommandLine::read_list(&["mail".to_owned(), "a b".to_owned()]);
        assert_eq!(listed, Ok(words(&["mail", "a b"])));
        assert!(read::<CommandLine>(" ").is_err());
    }
}
