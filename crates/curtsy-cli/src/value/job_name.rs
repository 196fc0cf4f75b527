//! The name of a job in a queue that workers share.

use std::fmt;

use serde_json::{Value as Json, json};

use super::Value;

/// A job's name: 1 to 100 letters, digits, dots, dashes and underscores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobName(String);

impl JobName {
    /// The one where none is given.
    pub(crate) fn default_job() -> Self {
        Self("default".to_owned())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for JobName {
    fn read(text: &str) -> Result<Self, String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        if (1..=100).contains(&text.len()) && text.chars().all(fits) {
            Ok(Self(text.to_owned()))
        } else {
            Err(
                "a job's name has 1 to 100 letters, digits, dots, dashes and underscores"
                    .to_owned(),
            )
        }
    }

    fn show(&self) -> Json {
        json!(self.0)
    }
}

impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::read;

    #[test]
    fn a_name_holds_nothing_that_a_key_or_a_shell_would_read() {
        for name in ["default", "a", "crawl-2026.11_b"] {
            assert_eq!(read(name), Ok(JobName(name.to_owned())));
        }
        for name in ["", "a b", "{a}", "a:b", "*", "\u{e4}", &"a".repeat(101)] {
            assert!(read::<JobName>(name).is_err(), "{name}");
        }
    }
}
