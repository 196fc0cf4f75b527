//! The file that a URL's body is stored in.
//!
//! Names come from the URL (host and path), are safe on every common file system, and never collide,
//! whatever else the job holds and also where case does not count:
//!
//! - A directory's name holds neither `.` nor `@`, a file's always one of them, so that `/a` and `/a/b`
//!   get along: `a@page` beside `a/b@page`.
//! - What a plain name cannot show (a query, capitals, a very long or odd path) is told apart by
//!   `@` and 16 hex digits of the URL's SHA-256 before the extension.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use url::Url;

/// The longest name of a file or directory, in bytes; file systems commonly take 255.
const MAX_NAME: usize = 120;
/// Directories below the host's; the rest of a deeper path is in the hash.
const MAX_DEPTH: usize = 16;
/// The longest extension that is kept at the end of a hashed name.
const MAX_EXTENSION: usize = 10;

/// The relative path for the body of `url`.
#[must_use]
pub(crate) fn path_of(url: &Url) -> PathBuf {
    let mut path = PathBuf::from(host_directory(url));
    let segments: Vec<&str> = url
        .path_segments()
        .map(Iterator::collect)
        .unwrap_or_default();
    let (last, directories) = segments
        .split_last()
        .map_or(("", &[][..]), |(last, rest)| (*last, rest));

    let mut plain = url.query().is_none() && directories.len() <= MAX_DEPTH;
    for directory in directories.iter().take(MAX_DEPTH) {
        let (name, faithful) = escape(directory, b".@");
        plain &= faithful && !name.is_empty();
        path.push(if name.is_empty() {
            "%".to_owned()
        } else {
            name
        });
    }
    let (name, faithful) = escape(last, b"@");
    plain &= faithful;
    path.push(if plain {
        plain_file(&name)
    } else {
        hashed_file(&name, url)
    });
    path
}

/// Whether a relative path that the user gave stays inside the directory and off the job's own files.
#[must_use]
pub(crate) fn is_inside(out: &Path) -> bool {
    use std::path::Component;

    let mut components = out.components();
    let first = components.clone().next();
    let own = matches!(first, Some(Component::Normal(name)) if name.eq_ignore_ascii_case(".curtsy") || name.eq_ignore_ascii_case("manifest.jsonl"));
    !own && first.is_some() && components.all(|component| matches!(component, Component::Normal(_)))
}

/// `example.org`, and with scheme and port where they are not https on its own port.
fn host_directory(url: &Url) -> String {
    let host = url
        .host_str()
        .unwrap_or_default()
        .trim_matches(['[', ']'])
        .replace(':', "_");
    let host = host.strip_suffix('.').unwrap_or(&host);
    match (url.scheme(), url.port()) {
        ("https", None) => host.to_owned(),
        (scheme, None) => format!("{host}@{scheme}"),
        (scheme, Some(port)) => format!("{host}@{scheme}-{port}"),
    }
}

fn plain_file(name: &str) -> String {
    match name {
        "" => "@index".to_owned(),
        name if name.contains('.') => name.to_owned(),
        name => format!("{name}@page"),
    }
}

fn hashed_file(name: &str, url: &Url) -> String {
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if extension.len() <= MAX_EXTENSION && !stem.is_empty() => {
            (stem, Some(extension))
        }
        _ => (name, None),
    };
    let mut plain = url.clone();
    plain.set_fragment(None);
    let digest = Sha256::digest(plain.as_str().as_bytes());
    let hash: String = digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    match extension {
        Some(extension) => format!("{stem}@{hash}.{extension}"),
        None => format!("{stem}@{hash}"),
    }
}

/// A path segment as a name, and whether the name alone tells the segment apart from all others.
/// Besides what file systems forbid, `special` is escaped.
fn escape(segment: &str, special: &[u8]) -> (String, bool) {
    let mut name = String::with_capacity(segment.len());
    let mut faithful = true;
    for byte in segment.bytes() {
        let forbidden = !(0x20..0x7f).contains(&byte)
            || b"<>:\"/\\|?*~".contains(&byte)
            || special.contains(&byte);
        if forbidden {
            name.push_str(&format!("%{byte:02x}"));
            // `%2f` in the URL and an escaped `/` would look alike.
            faithful = false;
        } else {
            faithful &= !byte.is_ascii_uppercase();
            name.push(char::from(byte));
        }
    }
    if name.len() > MAX_NAME {
        name.truncate(MAX_NAME);
        faithful = false;
    }
    // Windows drops trailing dots and blanks, keeps device names for itself, and hides nothing else.
    let trimmed = name.trim_end_matches(['.', ' ']).len();
    let reserved = is_device(&name);
    if trimmed < name.len() || name.starts_with('.') || reserved {
        name.truncate(trimmed);
        name = format!("%{}", name.trim_start_matches('.'));
        faithful = false;
    }
    (name, faithful)
}

fn is_device(name: &str) -> bool {
    let stem = name
        .split('.')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let numbered = |prefix| {
        stem.strip_prefix(prefix)
            .is_some_and(|digit: &str| digit.len() == 1 && digit.as_bytes()[0].is_ascii_digit())
    };
    matches!(stem.as_str(), "con" | "prn" | "aux" | "nul") || numbered("com") || numbered("lpt")
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn path(url: &str) -> String {
        path_of(&Url::parse(url).unwrap())
            .to_str()
            .unwrap()
            .to_owned()
    }

    #[test]
    fn a_plain_url_keeps_its_names() {
        for (url, expected) in [
            ("https://example.org/", "example.org/@index"),
            (
                "https://example.org/data/table.csv",
                "example.org/data/table.csv",
            ),
            ("https://example.org/data", "example.org/data@page"),
            ("https://example.org/data/", "example.org/data/@index"),
            ("http://example.org/a.txt", "example.org@http/a.txt"),
            ("http://127.0.0.1:9000/1", "127.0.0.1@http-9000/1@page"),
            ("https://[::1]:8443/x.pdf", "__1@https-8443/x.pdf"),
        ] {
            assert_eq!(path(url), expected, "{url}");
        }
    }

    #[test]
    fn names_never_collide_not_even_where_case_does_not_count() {
        let urls = [
            "https://h/a",
            "https://h/A",
            "https://h/a/",
            "https://h/a/b",
            "https://h/a?x",
            "https://h/a?X",
            "https://h/a.b",
            "https://h/a.b/c",
            "https://h/a%2Eb/c",
            "https://h/a%2Fb",
            "https://h/a@page",
            "https://h/@index",
            "https://h/",
            "https://h//",
            "https://h//a",
            "https://h/con",
            "https://h/con.txt",
            "https://h/a.",
            "https://h/a%20",
            "https://h/.hidden",
            "https://h/hidden",
            "https://h/%",
            "https://h/%25",
            "http://h/a",
            "http://h:8080/a",
            "https://h:8080/a",
            "https://h/\u{e9}",
            "https://h/%C3%A9",
            "https://h/e%CC%81",
            "https://h/a;b",
            "https://h/a%3Ab",
            "https://h/a:b",
            "https://h/?",
            "https://h/a|b",
        ];
        let mut seen: HashMap<String, Url> = HashMap::new();
        for text in urls {
            let url = Url::parse(text).unwrap();
            let name = path_of(&url).to_str().unwrap().to_lowercase();
            if let Some(other) = seen.insert(name.clone(), url.clone()) {
                assert_eq!(other, url, "{text} and {other} are both {name}");
            }
        }
        for (name, url) in &seen {
            let as_directory = format!("{name}/");
            assert!(
                seen.keys().all(|other| !other.starts_with(&as_directory)),
                "{url} is a directory too"
            );
        }
    }

    #[test]
    fn no_name_leaves_the_directory_or_is_too_long_or_odd() {
        let long = format!(
            "https://h/{}/{}?{}",
            "d/".repeat(60),
            "x".repeat(3000),
            "q".repeat(3000)
        );
        for url in [
            "https://h/../../etc/passwd",
            "https://h/%2e%2e/%2e%2e/x",
            "https://h/..%2f..%2fetc",
            "https://h/a\\..\\b",
            "https://h/...",
            "https://h/nul",
            "https://h/COM1.txt",
            "https://h/a%00b",
            &long,
        ] {
            let path = path_of(&Url::parse(url).unwrap());
            assert!(is_inside(&path), "{url}: {path:?}");
            for name in path.iter().map(|name| name.to_str().unwrap()) {
                assert!(
                    name.len() <= 160 && !name.ends_with(['.', ' ']) && !is_device(name),
                    "{url}: {name}"
                );
                assert!(
                    name.bytes()
                        .all(|b| (0x20..0x7f).contains(&b) && !b"<>:\"/\\|?*".contains(&b)),
                    "{url}: {name}"
                );
            }
            assert!(path.as_os_str().len() < 3000, "{url}");
        }
    }

    #[test]
    fn what_the_user_names_stays_inside_too() {
        for (out, expected) in [
            ("a/b.pdf", true),
            ("b", true),
            ("", false),
            ("/etc/passwd", false),
            ("../x", false),
            ("a/../../x", false),
            (".curtsy/queue", false),
            ("manifest.jsonl", false),
        ] {
            assert_eq!(is_inside(Path::new(out)), expected, "{out}");
        }
    }
}
