//! Where a robots.txt lies, and how a URL is read where robots.txt is asked about it.

use url::Url;

/// The robots.txt that governs a URL: at the root of its scheme, host and port. Userinfo, path, query
/// and fragment play no part. `None` where the URL has no authority (`data:`, `mailto:`).
#[must_use]
pub fn robots_url(url: &Url) -> Option<Url> {
    if !url.has_host() {
        return None;
    }
    let mut place = url.clone();
    place.set_fragment(None);
    place.set_query(None);
    place.set_path("/robots.txt");
    // Both can fail only where there is no host.
    place.set_username("").ok()?;
    place.set_password(None).ok()?;
    Some(place)
}

/// Parses a URL as RFC 3986 and robots.txt read it: a raw backslash in path or query is data, `%5C`,
/// and not the slash that browsers make of it. Dot segments, encoded ones too, are resolved.
///
/// # Errors
/// What [`Url::parse`] cannot read.
pub fn read_url(text: &str) -> Result<Url, url::ParseError> {
    let authority = text.find("://").map_or(0, |at| at + 3);
    let path = text[authority..].find('/').map(|at| authority + at);
    match path {
        Some(at) if text[at..].contains('\\') => {
            Url::parse(&(text[..at].to_owned() + &text[at..].replace('\\', "%5C")))
        }
        _ => Url::parse(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robots_txt_lies_at_the_root_of_scheme_host_and_port() {
        for (url, expected) in [
            (
                "https://orchard.example",
                Some("https://orchard.example/robots.txt"),
            ),
            (
                "http://me:secret@Orchard.example:8080/a/b?c#d",
                Some("http://orchard.example:8080/robots.txt"),
            ),
            ("https://[::1]:1/x", Some("https://[::1]:1/robots.txt")),
            ("mailto:me@orchard.example", None),
        ] {
            let place = robots_url(&Url::parse(url).unwrap());
            assert_eq!(place.as_ref().map(Url::as_str), expected, "{url}");
        }
    }

    #[test]
    fn a_backslash_in_a_path_is_data() {
        for (text, expected) in [
            (
                r"https://orchard.example/x\d?a\b",
                "https://orchard.example/x%5Cd?a%5Cb",
            ),
            (
                "https://orchard.example/a/%2e%2e/b",
                "https://orchard.example/b",
            ),
            ("https://orchard.example", "https://orchard.example/"),
        ] {
            assert_eq!(read_url(text).unwrap().as_str(), expected, "{text}");
        }
    }
}
