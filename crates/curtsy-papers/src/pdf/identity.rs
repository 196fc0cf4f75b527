//! Which work a PDF says it is, by the DOI in its metadata.
//!
//! Read is what publishers write without compressing it, as XMP (ISO 16684) wants: `prism:doi`, `pdfx:doi`,
//! `crossmark:DOI` and `dc:identifier`; and the entry `/doi` of the information dictionary. A PDF without any says
//! nothing. Not read: the text of its pages.

use std::io::{self, Read};

use crate::id::{Doi, Identifier};

/// What stands before a DOI.
const MARKS: [&[u8]; 5] = [
    b"prism:doi",
    b"pdfx:doi",
    b"crossmark:DOI",
    b"dc:identifier",
    b"/doi",
];
/// So much of a file is looked at at once.
const PIECE: usize = 64 * 1024;
/// A mark and its DOI are no longer.
const LONGEST: usize = 1_024;
/// DOIs that are taken: of the work itself there is one, of what it is a part of a few.
const MOST: usize = 8;

/// The DOIs that a PDF names as its own.
///
/// # Errors
/// The file cannot be read.
pub fn dois(mut file: impl Read) -> io::Result<Vec<Doi>> {
    let mut found: Vec<Doi> = Vec::new();
    let mut window: Vec<u8> = Vec::with_capacity(PIECE + LONGEST);
    loop {
        let kept = window.len();
        let read = file.by_ref().take(PIECE as u64).read_to_end(&mut window)?;
        let is_end = read == 0;
        // What stands in the last part may go on in the next piece.
        let end = if is_end {
            kept
        } else {
            window.len().saturating_sub(LONGEST)
        };
        for at in 0..end {
            let rest = &window[at..];
            let mark = MARKS.iter().find(|mark| rest.starts_with(mark));
            if let Some(doi) = mark.and_then(|mark| doi_after(&rest[mark.len()..]))
                && !found.contains(&doi)
            {
                found.push(doi);
            }
        }
        if is_end || found.len() >= MOST {
            return Ok(found);
        }
        window.drain(..end);
    }
}

/// `>10.5555/x<`, `="doi:10.5555/x"`, ` (10.5555/x)`.
fn doi_after(bytes: &[u8]) -> Option<Doi> {
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    let begins = bytes.iter().position(|byte| byte.is_ascii_alphanumeric())?;
    let before = &bytes[..begins];
    if !before.iter().all(|byte| b"=\"'>( \r\n\t".contains(byte)) {
        return None;
    }
    let text = &bytes[begins..];
    let ends = text.iter().position(|byte| b"<\"' \r\n\t>".contains(byte));
    let text = std::str::from_utf8(&text[..ends?]).ok()?;
    match text.trim_end_matches(')').parse().ok()? {
        Identifier::Doi(doi) => Some(doi),
        Identifier::Arxiv(arxiv) => Some(arxiv.doi()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pdf_names_its_doi_in_every_form_of_metadata_and_wherever_it_stands() {
        for text in [
            "<prism:doi>10.5555/A.1</prism:doi>",
            "<rdf:Description pdfx:doi=\"10.5555/a.1\" x=''>",
            "<crossmark:DOI>\n  10.5555/a.1 </crossmark:DOI>",
            "<dc:identifier>doi:10.5555/a.1</dc:identifier>",
            "<< /doi (10.5555/a.1) /Title (x) >>",
        ] {
            for before in [0, 10, PIECE - LONGEST - 3, PIECE - 20, PIECE - 5, 3 * PIECE] {
                let file = [&vec![b'x'; before][..], text.as_bytes(), b" rest"].concat();
                let found = dois(&file[..]).unwrap();
                let found: Vec<_> = found.iter().map(Doi::as_str).collect();
                assert_eq!(found, ["10.5555/a.1"], "{text} behind {before}");
            }
        }
        for text in [
            "",
            "<prism:doi></prism:doi>",
            "<dc:identifier>urn:isbn:1</dc:identifier>",
            "prism:doi and so 10.5555/a",
            "/doi",
        ] {
            assert_eq!(dois(text.as_bytes()).unwrap(), [], "{text}");
        }
    }
}
