//! The keys of those providers that give any.

use std::fmt;

use http::HeaderValue;

use crate::endpoint::Provider;
use crate::error::Error;

/// A key. It is never shown: not in messages, not in logs, not in files.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

/// The keys at hand. They come from the environment or the configuration, never from a command line, which others see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    /// `NCBI_API_KEY`: 10 requests/s instead of 3.
    pub ncbi: Option<Key>,
    /// `OPENALEX_API_KEY`: without it OpenAlex is not asked.
    pub openalex: Option<Key>,
    /// `S2_API_KEY`: without it Semantic Scholar is not asked.
    pub semantic_scholar: Option<Key>,
}

impl Key {
    /// Takes a key, without the blanks around it.
    ///
    /// # Errors
    /// `Configuration`: it is empty, or holds what can stand in no header.
    pub fn new(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::configuration(
                "is no key: visible ASCII without blanks",
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// The key itself, for a request.
    pub(crate) fn secret(&self) -> &str {
        &self.0
    }

    /// The same as the value of a header.
    pub(crate) fn header(&self) -> HeaderValue {
        let mut value = HeaderValue::from_str(&self.0).unwrap_or(HeaderValue::from_static(""));
        value.set_sensitive(true);
        value
    }
}

impl Keys {
    /// The key of a provider.
    #[must_use]
    pub fn of(&self, provider: Provider) -> Option<&Key> {
        match provider {
            Provider::Ncbi => self.ncbi.as_ref(),
            Provider::OpenAlex => self.openalex.as_ref(),
            Provider::SemanticScholar => self.semantic_scholar.as_ref(),
            _ => None,
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let keys = Keys {
            ncbi: Some(Key::new(" s3cret ").unwrap()),
            ..Keys::default()
        };
        assert!(!format!("{keys:?}").contains("s3cret"));
        assert_eq!(keys.of(Provider::Ncbi).map(Key::secret), Some("s3cret"));
        assert!(keys.of(Provider::Ncbi).unwrap().header().is_sensitive());
        for text in ["", " ", "a b", "a\r\nX: y", "é"] {
            let error = Key::new(text).unwrap_err();
            assert!(
                text.trim().is_empty() || !error.to_string().contains(text),
                "{text}"
            );
        }
    }
}
