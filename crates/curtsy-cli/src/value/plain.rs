//! Numbers, switches, names and paths.

use std::path::PathBuf;

use curtsy_core::Preset;
use curtsy_core::policy::{OverCap, Recovery};
use curtsy_core::signal::Profile;
use serde::de::{DeserializeOwned, IntoDeserializer, value::Error as NameError};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use url::Url;

use super::Value;

/// A value that `none` and `off` unset, as an option of the command line takes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Off<T>(pub(crate) Option<T>);

impl<T: Value> Value for Off<T> {
    fn read(text: &str) -> Result<Self, String> {
        Value::read(text).map(Self)
    }

    fn show(&self) -> Json {
        self.0.show()
    }
}

/// What is paced together where no group says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scoping {
    /// Each host, with a port that is not the scheme's own.
    Host,
    /// All hosts of a registrable domain, by the Public Suffix List.
    RegistrableDomain,
}

/// A proxy's URL as curl takes it; an empty one, or `none`, means no proxy whatever the environment says.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Proxy(String);

impl Proxy {
    /// The URL with its credentials.
    pub(crate) fn url(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Proxy({})", self.show())
    }
}

impl Value for Proxy {
    fn read(text: &str) -> Result<Self, String> {
        if matches!(text, "" | "none" | "off") {
            return Ok(Self(String::new()));
        }
        let usable = parse_proxy(text)
            .is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if usable {
            Ok(Self(text.to_owned()))
        } else {
            // The text may hold a password, so it is not repeated.
            Err("is no proxy; write http://HOST:PORT or https://HOST:PORT".to_owned())
        }
    }

    fn show(&self) -> Json {
        let Some(mut url) = parse_proxy(&self.0) else {
            return json!("none");
        };
        if !url.username().is_empty() || url.password().is_some() {
            // Neither can fail on a URL that has a host.
            let _ = url.set_username("***");
            let _ = url.set_password(None);
        }
        json!(url.as_str())
    }
}

/// curl's rule: without a scheme it is http.
fn parse_proxy(text: &str) -> Option<Url> {
    if text.contains("://") {
        Url::parse(text).ok()
    } else {
        Url::parse(&format!("http://{text}")).ok()
    }
}

impl Value for bool {
    fn read(text: &str) -> Result<Self, String> {
        match text {
            "true" | "yes" | "on" | "1" => Ok(true),
            "false" | "no" | "off" | "0" => Ok(false),
            _ => Err(format!("{text:?} is neither true nor false")),
        }
    }

    fn show(&self) -> Json {
        json!(self)
    }
}

impl Value for f64 {
    fn read(text: &str) -> Result<Self, String> {
        match text.parse::<Self>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(format!("{text:?} is no number")),
        }
    }

    fn show(&self) -> Json {
        json!(self)
    }
}

macro_rules! whole_number {
    ($($kind:ty),+) => {$(
        impl Value for $kind {
            fn read(text: &str) -> Result<Self, String> {
                text.parse().map_err(|_| {
                    format!("{text:?} is no whole number from 0 to {}", <$kind>::MAX)
                })
            }

            fn show(&self) -> Json {
                json!(self)
            }
        }
    )+};
}

whole_number!(u8, u16, u32);

impl Value for String {
    fn read(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn show(&self) -> Json {
        json!(self)
    }
}

impl Value for PathBuf {
    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            Err("names no file".to_owned())
        } else {
            Ok(Self::from(text))
        }
    }

    fn show(&self) -> Json {
        json!(self.to_string_lossy())
    }
}

/// A value of a list of names, as its type spells them for serde.
macro_rules! name {
    ($($kind:ty: $($one:literal),+;)+) => {$(
        impl Value for $kind {
            fn read(text: &str) -> Result<Self, String> {
                by_name(text).ok_or_else(|| format!("{text:?} is none of {}", [$($one),+].join(", ")))
            }

            fn show(&self) -> Json {
                spell(self)
            }
        }
    )+};
}

name! {
    Preset: "compliant", "http_client", "raw";
    OverCap: "defer", "clamp";
    Recovery: "adaptive", "linear";
    Scoping: "host", "registrable_domain";
    Profile: "discord-v6", "openalex", "prisjakt";
}

fn by_name<T: DeserializeOwned>(text: &str) -> Option<T> {
    let name = IntoDeserializer::<NameError>::into_deserializer(text);
    T::deserialize(name).ok()
}

fn spell<T: Serialize>(value: &T) -> Json {
    serde_json::to_value(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::read;

    #[test]
    fn what_is_shown_reads_back() {
        fn survives<T: Value + PartialEq + std::fmt::Debug>(value: T) {
            let shown = value.show();
            let text = shown.as_str().map_or(shown.to_string(), str::to_owned);
            assert_eq!(read(&text).as_ref(), Ok(&value), "{text}");
        }
        survives(true);
        survives(0.1_f64);
        survives(7_u32);
        survives(PathBuf::from("a/b"));
        survives(Preset::HttpClient);
        survives(OverCap::Clamp);
        survives(Profile::DiscordV6);
        survives(Scoping::RegistrableDomain);
    }

    #[test]
    fn the_names_that_an_error_lists_are_names() {
        let error = read::<Preset>("polite").unwrap_err();
        assert_eq!(error, r#""polite" is none of compliant, http_client, raw"#);
        for name in ["compliant", "http_client", "raw"] {
            assert!(read::<Preset>(name).is_ok(), "{name}");
        }
        for name in ["discord-v6", "openalex", "prisjakt"] {
            assert!(read::<Profile>(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "x", "NaN", "inf", "-inf", "1,5", "1e999"] {
            assert!(read::<f64>(text).is_err(), "{text}");
        }
        for text in ["", "-1", "1.5", "4294967296", "0x10"] {
            assert!(read::<u32>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_proxy_hides_its_credentials() {
        for (text, shown) in [
            ("http://127.0.0.1:3128", "http://127.0.0.1:3128/"),
            ("proxy:3128", "http://proxy:3128/"),
            ("https://ann:secret@proxy", "https://***@proxy/"),
            ("", "none"),
            ("none", "none"),
        ] {
            let proxy: Proxy = read(text).unwrap();
            assert_eq!(proxy.show(), shown, "{text}");
            assert_eq!(format!("{proxy:?}"), format!("Proxy({shown:?})"));
        }
        for text in ["socks5://proxy:1", "http://", "ann:secret@:1"] {
            let error = read::<Proxy>(text).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
