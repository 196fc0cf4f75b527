//! Is it really a PDF, and all of it? [`Check`] says so while a body streams in, and from the file afterwards.
//!
//! By its bytes alone: servers send challenge pages, login pages and error messages as `application/pdf`, and PDFs
//! as `application/octet-stream`. In this order:
//!
//! 1. `%PDF-` within the first 1,024 bytes (ISO 32000-2 annex I.2; junk before it stays in the file). What has none
//!    is no PDF, which is known, and the download stopped, after a few kilobytes.
//! 2. An end mark: `startxref`, a number and `%%EOF` in the last 2 KiB before trailing white space.
//! 3. From there by the cross-reference table or stream to the catalogue, the page tree and a count of at least one
//!    page; where the references are damaged, as viewers tolerate, by going through the file once for its pages.
//!
//! Time and memory are bounded whatever the file says. An encrypted file is one that can be read by those who may.
//! Not checked: fonts, images, content streams.

mod identity;
mod kind;
mod lexer;
mod object;
mod structure;
mod tail;
mod xref;

use std::io::{self, Read, Seek};

use md5::Md5;
use sha2::{Digest, Sha256};

pub use identity::dois;
pub use kind::{Body, Page};

use crate::reason::Reason;

/// Where the header has to be.
const HEADER_WITHIN: usize = 1_024;
/// What is kept of the beginning, to say what it is that is no PDF.
const HEAD: usize = 16 * 1024;

/// Looks at a body while it comes in.
#[derive(Clone, Debug, Default)]
pub struct Check {
    head: Vec<u8>,
    bytes: u64,
    sha256: Sha256,
    md5: Md5,
}

/// A PDF that was found whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: [u8; 32],
    /// Its MD5, to compare with what the source says.
    pub md5: [u8; 16],
    /// How many pages it has; `None` where that is encrypted.
    pub pages: Option<u32>,
    /// Whether it is encrypted.
    pub encrypted: bool,
    /// Whether its cross-references are damaged.
    pub repaired: bool,
}

/// Why a body is no whole PDF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejected {
    /// It is something else.
    #[error("{0} came in place of a PDF")]
    Other(Body),
    /// It begins as a PDF and has no end.
    #[error("the PDF has no end")]
    Truncated,
    /// It begins and ends as a PDF and has no pages.
    #[error("the PDF has no pages")]
    NoPages,
}

impl Rejected {
    /// The reason that a report gives.
    #[must_use]
    pub const fn reason(self) -> Reason {
        match self {
            Self::Other(Body::Empty) => Reason::Empty,
            Self::Other(Body::Html(Page::Challenge | Page::Login)) => Reason::Walled,
            Self::Other(Body::Html(_)) => Reason::HtmlInstead,
            Self::Other(_) | Self::NoPages => Reason::NotPdf,
            Self::Truncated => Reason::Truncated,
        }
    }
}

impl Check {
    /// Takes the next piece, and says whether the rest is worth reading.
    pub fn write(&mut self, piece: &[u8]) -> bool {
        let room = HEAD.saturating_sub(self.head.len()).min(piece.len());
        self.head.extend_from_slice(&piece[..room]);
        self.bytes += piece.len() as u64;
        self.sha256.update(piece);
        self.md5.update(piece);
        self.header().is_some() || self.bytes < HEAD as u64
    }

    /// How many bytes it has seen.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What the beginning is of, if not of a PDF.
    #[must_use]
    pub fn stranger(&self) -> Option<Body> {
        match self.header() {
            Some(_) => None,
            None => Some(Body::of(&self.head)),
        }
    }

    /// Looks at the whole, which `file` holds from its beginning.
    ///
    /// # Errors
    /// The file cannot be read. That it is no PDF is a value.
    pub fn finish(self, file: impl Read + Seek) -> io::Result<Result<Verified, Rejected>> {
        let Some(header) = self.header() else {
            return Ok(Err(Rejected::Other(Body::of(&self.head))));
        };
        let found = structure::read(file, self.bytes, header as u64)?;
        Ok(found.map(|found| Verified {
            bytes: self.bytes,
            sha256: self.sha256.finalize().into(),
            md5: self.md5.finalize().into(),
            pages: found.pages,
            encrypted: found.encrypted,
            repaired: found.repaired,
        }))
    }

    /// Where the PDF begins.
    fn header(&self) -> Option<usize> {
        let within = &self.head[..self.head.len().min(HEADER_WITHIN)];
        within.windows(5).position(|window| window == b"%PDF-")
    }
}

/// Looks at a file that is there already.
///
/// # Errors
/// The file cannot be read. That it is no PDF is a value.
pub fn verify(mut file: impl Read + Seek) -> io::Result<Result<Verified, Rejected>> {
    let mut check = Check::default();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return check.finish(file),
            Ok(read) => {
                check.write(&buffer[..read]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
