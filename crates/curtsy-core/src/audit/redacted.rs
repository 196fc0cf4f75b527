//! URLs as logs and messages show them.

use url::{Position, Url};

/// What stands in the place of a query.
pub(super) const QUERY: &str = "?[redacted]";

/// A URL as logs and messages show it: without user, password, query and fragment.
#[must_use]
pub fn redacted(url: &Url) -> String {
    let mut text = [
        &url[..Position::BeforeUsername],
        &url[Position::BeforeHost..Position::AfterPath],
    ]
    .concat();
    if url.query().is_some() {
        text.push_str(QUERY);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t1_queries_and_credentials_are_redacted() {
        let url =
            Url::parse("https://user:secret@example.org:8443/a/b?token=secret#secret").unwrap();
        assert_eq!(redacted(&url), "https://example.org:8443/a/b?[redacted]");
    }
}
