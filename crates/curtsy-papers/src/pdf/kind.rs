//! What a body is that is no PDF, by its first kilobytes.

use std::fmt;

/// Something that came in the place of a PDF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Body {
    /// Nothing, or blanks.
    Empty,
    /// A web page.
    Html(Page),
    /// JSON.
    Json,
    /// XML.
    Xml,
    /// Something compressed.
    Gzip,
    /// An archive, or an office document.
    Zip,
    /// PNG, JPEG, GIF, WebP or TIFF.
    Image,
    /// Other text.
    Text,
    /// Anything else.
    Unknown,
}

/// A kind of web page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Page {
    /// It wants proof of a person: a CAPTCHA, a script to be run.
    Challenge,
    /// It wants a password.
    Login,
    /// It shows a PDF inside itself.
    Viewer,
    /// Any other.
    Other,
}

/// Signs of a page that wants proof of a person, in lower case.
const CHALLENGES: [&str; 12] = [
    "id=\"challenge",
    "challenge-platform",
    "challenge-form",
    "cf-chl",
    "captcha",
    "just a moment",
    "checking your browser",
    "verify you are human",
    "are you a robot",
    "javascript and cookies",
    "proof-of-work",
    "unusual traffic",
];

impl Body {
    /// By the beginning of a body.
    #[must_use]
    pub(crate) fn of(head: &[u8]) -> Self {
        let head = head
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(head)
            .trim_ascii_start();
        match head {
            [] => return Self::Empty,
            [0x89, b'P', b'N', b'G', ..]
            | [0xff, 0xd8, 0xff, ..]
            | [b'G', b'I', b'F', b'8', ..]
            | [b'I', b'I', 42, 0, ..]
            | [b'M', b'M', 0, 42, ..] => return Self::Image,
            [
                b'R',
                b'I',
                b'F',
                b'F',
                _,
                _,
                _,
                _,
                b'W',
                b'E',
                b'B',
                b'P',
                ..,
            ] => return Self::Image,
            [0x1f, 0x8b, ..] => return Self::Gzip,
            [b'P', b'K', 3, 4, ..] => return Self::Zip,
            _ => {}
        }
        let text = String::from_utf8_lossy(head).to_ascii_lowercase();
        let is_html = [
            "<!doctype html",
            "<html",
            "<head",
            "<body",
            "<script",
            "<meta",
            "<title",
        ];
        if is_html.iter().any(|sign| text.contains(sign)) && text.starts_with('<') {
            return Self::Html(Page::of(&text));
        }
        match head[0] {
            b'<' => Self::Xml,
            b'{' | b'[' => Self::Json,
            _ if head
                .iter()
                .all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace())
                && !text.contains('\u{fffd}') =>
            {
                Self::Text
            }
            _ => Self::Unknown,
        }
    }
}

impl Page {
    fn of(text: &str) -> Self {
        let has = |sign: &str| text.contains(sign);
        if CHALLENGES.iter().any(|sign| has(sign)) {
            Self::Challenge
        } else if has("type=\"password\"") || has("type=password") || has("type='password'") {
            Self::Login
        } else if has(".pdf") && ["<iframe", "<embed", "<object"].iter().any(|tag| has(tag)) {
            Self::Viewer
        } else {
            Self::Other
        }
    }
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "nothing",
            Self::Html(Page::Challenge) => "a challenge page",
            Self::Html(Page::Login) => "a login page",
            Self::Html(Page::Viewer) => "the page of a viewer",
            Self::Html(Page::Other) => "a web page",
            Self::Json => "JSON",
            Self::Xml => "XML",
            Self::Gzip => "something compressed",
            Self::Zip => "an archive",
            Self::Image => "an image",
            Self::Text => "plain text",
            Self::Unknown => "something else",
        })
    }
}
