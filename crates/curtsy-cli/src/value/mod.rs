//! Values as people write them: one reading for options, environment and configuration file.

mod contact;
mod delay;
mod duration;
mod header;
mod job_name;
mod papers;
mod plain;
mod resolve;
mod size;
mod store_url;
mod watching;

use serde_json::Value as Json;

pub(crate) use contact::Contact;
pub(crate) use header::{Header, UserAgent, parse_header};
pub(crate) use job_name::JobName;
pub(crate) use papers::{ResolverText, usual_folder};
pub(crate) use plain::{Off, Proxy, Scoping};
pub(crate) use resolve::Resolve;
pub(crate) use size::Size;
pub(crate) use store_url::{QueueUrl, StateUrl};
pub(crate) use watching::{CommandLine, HostName, ListenAddr, Token, WebhookUrl};

/// A value that is read from text and shown again, so that what is shown can be read.
pub(crate) trait Value: Sized {
    /// What separates the members of a list in one text, as in an environment variable.
    const SEPARATORS: &'static [char] = &[',', '\n'];

    /// Reads a text.
    ///
    /// # Errors
    /// Why the text is no such value, to stand behind the name of what was set.
    fn read(text: &str) -> Result<Self, String>;

    /// Reads a list.
    ///
    /// # Errors
    /// Why it cannot be; a value that is no list takes none.
    fn read_list(_items: &[String]) -> Result<Self, String> {
        Err("takes one value, not a list".to_owned())
    }

    /// The value as JSON and TOML show it; null where it is not set. Secrets are left out.
    fn show(&self) -> Json;
}

/// Reads a value: what the command line's options are parsed with.
pub(crate) fn read<T: Value>(text: &str) -> Result<T, String> {
    T::read(text)
}

/// `none` or `off` in place of a value that need not be set.
impl<T: Value> Value for Option<T> {
    const SEPARATORS: &'static [char] = T::SEPARATORS;

    fn read(text: &str) -> Result<Self, String> {
        if matches!(text, "none" | "off") {
            Ok(None)
        } else {
            T::read(text).map(Some)
        }
    }

    fn read_list(items: &[String]) -> Result<Self, String> {
        T::read_list(items).map(Some)
    }

    fn show(&self) -> Json {
        self.as_ref().map_or(Json::Null, T::show)
    }
}

impl<T: Value> Value for Vec<T> {
    fn read(text: &str) -> Result<Self, String> {
        text.split(T::SEPARATORS)
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(T::read)
            .collect()
    }

    fn read_list(items: &[String]) -> Result<Self, String> {
        items.iter().map(|item| T::read(item)).collect()
    }

    fn show(&self) -> Json {
        self.iter().map(T::show).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_from_one_text_or_from_members() {
        assert_eq!(read::<Vec<u16>>("429, 503,"), Ok(vec![429, 503]));
        assert_eq!(
            Vec::<u16>::read_list(&["429".to_owned(), "503".to_owned()]),
            Ok(vec![429, 503])
        );
        assert!(u16::read_list(&["429".to_owned()]).is_err());
    }

    #[test]
    fn none_and_off_unset_a_value() {
        for (text, expected) in [("none", None), ("off", None), ("3", Some(3))] {
            assert_eq!(read::<Option<u32>>(text), Ok(expected), "{text}");
        }
    }
}
