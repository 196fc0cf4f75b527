//! Where a line wants its body: a relative path inside the output directory.

use std::fmt;

/// The longest name of a file or folder in bytes, on every common file system.
const LONGEST_NAME: usize = 255;
/// The longest path in bytes.
const LONGEST_PATH: usize = 1024;

/// A path with `/` between its names, none of which leads upwards or is one of the job's own files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutPath(String);

impl OutPath {
    /// Checks a path. What is absolute or leads outwards on any system is refused on all, so that a list
    /// means the same everywhere.
    ///
    /// # Errors
    /// Why it is no place for a body.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let refuse = |why: &str| Err(format!("{text:?} {why}"));
        if text.chars().any(char::is_control) {
            return refuse("holds a control character");
        }
        if text.contains('\\') {
            return refuse("holds a backslash; write / between folders");
        }
        let drive = matches!(text.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
        if text.starts_with('/') || drive {
            return refuse("is no relative path");
        }
        if matches!(text.rsplit('/').next(), Some("" | ".")) {
            return refuse("names no file");
        }
        let names: Vec<_> = text
            .split('/')
            .filter(|name| !matches!(*name, "" | "."))
            .collect();
        if names.contains(&"..") {
            return refuse("leads out of the output directory");
        }
        if names.iter().any(|name| name.len() > LONGEST_NAME) || text.len() > LONGEST_PATH {
            return refuse("is too long a path");
        }
        let first = names.first().copied().unwrap_or_default();
        let own = first.eq_ignore_ascii_case(".curtsy")
            || (names.len() == 1 && first.eq_ignore_ascii_case("manifest.jsonl"));
        if own {
            return refuse("is one of the job's own files");
        }
        Ok(Self(names.join("/")))
    }

    /// The path, with `/` between its names.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OutPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_inside_is_taken_without_its_dots() {
        for (text, path) in [
            ("a", "a"),
            ("a/b.pdf", "a/b.pdf"),
            ("./a//b/./c", "a/b/c"),
            ("..a/b..", "..a/b.."),
            ("manifest.jsonl/x", "manifest.jsonl/x"),
            ("x/.curtsy", "x/.curtsy"),
            ("größe.html", "größe.html"),
        ] {
            assert_eq!(
                OutPath::read(text).map(|out| out.to_string()).as_deref(),
                Ok(path),
                "{text}"
            );
        }
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_refused() {
        let (long_name, long_path) = ("x".repeat(256), "x/".repeat(600) + "x");
        for text in [
            "",
            ".",
            "..",
            "/",
            "/etc/passwd",
            "../x",
            "a/../../x",
            "a/..",
            "a/",
            "a/.",
            "./",
            "C:x",
            "c:/x",
            "\\x",
            "a\\..\\..\\x",
            "a\0b",
            "a\nb",
            ".curtsy/x",
            ".CURTSY",
            "./.curtsy/audit.jsonl",
            "manifest.jsonl",
            &long_name,
            &long_path,
        ] {
            assert!(OutPath::read(text).is_err(), "{text:?}");
        }
    }
}
