//! [`RedisUrl`]: where a Redis is, and as whom it is spoken to.

use std::fmt;
use std::str::FromStr;

use url::Url;

/// `redis://[user][:password@]host[:port][/database]`, `rediss://…` for TLS, or
/// `redis+unix:///path[?db=…&user=…&pass=…]`. Port 6379 and database 0 where none is given.
///
/// Shown and printed it is without the password.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisUrl(Url);

impl RedisUrl {
    /// The URL with its password.
    #[cfg_attr(not(feature = "redis"), expect(dead_code, reason = "of the driver"))]
    pub(crate) fn with_password(&self) -> &Url {
        &self.0
    }

    /// Whether the connection is encrypted.
    #[cfg_attr(not(feature = "redis"), expect(dead_code, reason = "of the driver"))]
    pub(crate) fn is_tls(&self) -> bool {
        self.0.scheme() == "rediss"
    }
}

impl FromStr for RedisUrl {
    type Err = String;

    /// # Errors
    /// It is no such URL; what is said of it does not repeat it, since it may hold a password.
    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str =
            "write redis://[[user]:password@]host[:port][/database], or rediss:// for TLS";
        let url = Url::parse(text).map_err(|error| format!("{error}; {FORM}"))?;
        match url.scheme() {
            "redis" | "rediss" => {}
            "redis+unix" if url.path().len() > 1 => return Ok(Self(url)),
            _ => return Err(format!("this is no URL of a Redis; {FORM}")),
        }
        let database = url.path().trim_matches('/');
        if url.host_str().is_none_or(str::is_empty) {
            Err(format!("the host is missing; {FORM}"))
        } else if !database.is_empty() && database.parse::<u16>().is_err() {
            Err(format!("the database is a number; {FORM}"))
        } else if url.query().is_some() || url.fragment().is_some() {
            Err(format!("nothing may follow the database; {FORM}"))
        } else {
            Ok(Self(url))
        }
    }
}

impl fmt::Display for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut url = self.0.clone();
        // Where it has no host, it has no password there either.
        let _ = url.set_password(None);
        url.set_query(None);
        f.write_str(url.as_str())
    }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_neither_shown_nor_printed() {
        for (text, shown) in [
            ("redis://h", "redis://h"),
            ("redis://ann:secret@h:7000/3", "redis://ann@h:7000/3"),
            ("rediss://:secret@[::1]/", "rediss://[::1]/"),
            (
                "redis+unix:///run/redis.sock?db=1&pass=secret",
                "redis+unix:///run/redis.sock",
            ),
        ] {
            let url: RedisUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), shown);
            assert!(!format!("{url:?}").contains("secret"));
        }
    }

    #[test]
    fn what_is_no_url_of_a_redis_is_refused_without_being_repeated() {
        for text in [
            "",
            "redis:",
            "redis://",
            "redis://:secret@",
            "http://secret",
            "redis://:secret@h/x",
            "redis://:secret@h/70000",
            "redis://h:secret",
            "redis://h/0?secret",
            "redis+unix:///",
        ] {
            let error = text.parse::<RedisUrl>().unwrap_err();
            assert!(error.contains("write redis://"), "{text}: {error}");
            assert!(!error.contains("secret"), "{text}: {error}");
        }
    }
}
