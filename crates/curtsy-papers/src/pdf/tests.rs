//! Bodies of every kind; files as modern writers make them, and as nobody should.

use std::io::{Cursor, Write};
use std::time::Instant;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use proptest::prelude::*;

use super::{Body, Check, HEAD, Page, Rejected, Verified, verify};
use crate::reason::Reason;

const PAPER: &[u8] = include_bytes!("../../testdata/paper.pdf");

fn look(body: &[u8]) -> Result<Verified, Rejected> {
    verify(Cursor::new(body)).unwrap()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A file whose catalogue and pages lie in a stream of objects, with cross-references in a predicted stream.
fn modern(extra: &str) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n".to_vec();
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Count 3/Kids[3 0 R 3 0 R 3 0 R]>>",
    ];
    let index = format!("1 0 2 {} ", objects[0].len() + 1);
    let content = format!("{index}{} {}", objects[0], objects[1]);
    let packed = deflate(content.as_bytes());
    let objects_at = file.len();
    let head = format!(
        "4 0 obj <</Type/ObjStm/N 2/First {}/Filter/FlateDecode/Length {}>>stream\r\n",
        index.len(),
        packed.len()
    );
    file.extend([head.as_bytes(), &packed, b"\nendstream endobj\n"].concat());
    let xref_at = file.len();
    let place = |at: usize| u16::try_from(at).unwrap().to_be_bytes();
    let [objects_high, objects_low] = place(objects_at);
    let [xref_high, xref_low] = place(xref_at);
    let rows: [[u8; 4]; 6] = [
        [0, 0, 0, 0],
        [2, 0, 4, 0],
        [2, 0, 4, 1],
        [0, 0, 0, 0],
        [1, objects_high, objects_low, 0],
        [1, xref_high, xref_low, 0],
    ];
    let (mut predicted, mut above) = (Vec::new(), [0_u8; 4]);
    for row in rows {
        predicted.push(2);
        predicted.extend(
            row.iter()
                .zip(above)
                .map(|(byte, above)| byte.wrapping_sub(above)),
        );
        above = row;
    }
    let packed = deflate(&predicted);
    let head = format!(
        "5 0 obj <</Type/XRef/Size 6/W[1 2 1]/Root 1 0 R/Filter[/FlateDecode]/DecodeParms[<</Predictor 12/Columns 4>>]/Length {}{extra}>>stream\n",
        packed.len()
    );
    file.extend([head.as_bytes(), &packed, b"\nendstream endobj\n"].concat());
    file.extend(format!("startxref\n{xref_at}\n%%EOF\n").into_bytes());
    file
}

#[test]
fn a_whole_pdf_is_one_whatever_stands_before_and_behind_it() {
    let junk = include_bytes!("../../testdata/paper_leading_junk.pdf");
    let blanks = [PAPER, &[b' '; 700]].concat();
    let many = [PAPER, &[b'\n'; 100_000]].concat();
    let behind = [PAPER, b"\n<!-- served by cache -->"].concat();
    for body in [PAPER, junk, &blanks, &many, &behind] {
        let verified = look(body).unwrap();
        assert_eq!((verified.pages, verified.encrypted), (Some(1), false));
        assert_eq!(verified.bytes, body.len() as u64);
        assert!(!verified.repaired);
    }
    assert_eq!(look(PAPER).unwrap().md5[..4], [0xe3, 0x10, 0xa5, 0x8d]);
}

#[test]
fn a_pdf_cut_anywhere_is_truncated() {
    let end = PAPER.len() - PAPER.iter().rev().position(|b| *b == b'F').unwrap();
    for cut in 5..end {
        assert_eq!(look(&PAPER[..cut]), Err(Rejected::Truncated), "{cut}");
    }
    let fixture = include_bytes!("../../testdata/paper_truncated.pdf");
    assert_eq!(look(fixture), Err(Rejected::Truncated));
}

#[test]
fn what_is_no_pdf_says_what_it_is_and_why_it_fails() {
    for (body, kind, reason) in [
        (
            &include_bytes!("../../testdata/challenge_page.html")[..],
            Body::Html(Page::Challenge),
            Reason::Walled,
        ),
        (
            include_bytes!("../../testdata/login_page.html"),
            Body::Html(Page::Login),
            Reason::Walled,
        ),
        (
            include_bytes!("../../testdata/viewer_page.html"),
            Body::Html(Page::Viewer),
            Reason::HtmlInstead,
        ),
        (
            include_bytes!("../../testdata/landing_page.html"),
            Body::Html(Page::Other),
            Reason::HtmlInstead,
        ),
        (
            include_bytes!("../../testdata/semanticscholar_404.json"),
            Body::Json,
            Reason::NotPdf,
        ),
        (
            include_bytes!("../../testdata/pmc_cloud_nosuchkey.xml"),
            Body::Xml,
            Reason::NotPdf,
        ),
        (b"\x89PNG\r\n\x1a\nxxxx", Body::Image, Reason::NotPdf),
        (b"\xff\xd8\xff\xe0", Body::Image, Reason::NotPdf),
        (b"\x1f\x8b\x08\x00", Body::Gzip, Reason::NotPdf),
        (b"PK\x03\x04", Body::Zip, Reason::NotPdf),
        (b"Service unavailable", Body::Text, Reason::NotPdf),
        (b"\x00\x01\x02\xff", Body::Unknown, Reason::NotPdf),
        (b"", Body::Empty, Reason::Empty),
        (b" \n ", Body::Empty, Reason::Empty),
    ] {
        let rejected = look(body).unwrap_err();
        assert_eq!(rejected, Rejected::Other(kind));
        assert_eq!(rejected.reason(), reason, "{kind}");
    }
}

#[test]
fn a_header_too_far_inside_is_none_and_the_download_stops_soon() {
    let mut check = Check::default();
    let page = [&b"<html>"[..], &[b' '; 2_000], PAPER].concat();
    assert!(check.write(&page));
    assert!(!check.write(&[b'x'; HEAD]), "enough was seen");
    assert_eq!(check.stranger(), Some(Body::Html(Page::Other)));
}

#[test]
fn a_pdf_without_pages_is_none() {
    let text = String::from_utf8_lossy(PAPER);
    let empty = text
        .replace("/Count 1", "/Count 0")
        .replace("/Type /Page ", "/Type /Pags ");
    assert_eq!(look(empty.as_bytes()), Err(Rejected::NoPages));
    let marks = b"%PDF-1.4\nstartxref\n9\n%%EOF\n";
    assert_eq!(look(marks), Err(Rejected::NoPages));
}

#[test]
fn damaged_references_are_gone_around() {
    let at = PAPER.windows(3).rposition(|w| w == b"414").unwrap();
    let mut damaged = PAPER.to_vec();
    damaged[at..at + 3].copy_from_slice(b"317");
    let verified = look(&damaged).unwrap();
    assert_eq!((verified.pages, verified.repaired), (Some(1), true));
}

#[test]
fn pages_are_counted_through_streams_of_objects() {
    let verified = look(&modern("")).unwrap();
    assert_eq!(
        (verified.pages, verified.encrypted, verified.repaired),
        (Some(3), false, false)
    );
    let shifted = [b"junk\r\n", &modern("")[..]].concat();
    assert_eq!(look(&shifted).unwrap().pages, Some(3));
}

#[test]
fn an_encrypted_file_is_accepted_and_told_as_that() {
    let at = PAPER.windows(5).rposition(|w| w == b"/Root").unwrap();
    let open = [&PAPER[..at], b"/Encrypt 9 0 R ", &PAPER[at..]].concat();
    let verified = look(&open).unwrap();
    assert_eq!((verified.pages, verified.encrypted), (Some(1), true));
    // Its catalogue cannot be read.
    let mut sealed = modern("/Encrypt 9 0 R");
    let at = sealed.windows(6).position(|w| w == b"ObjStm").unwrap();
    sealed[at..at + 6].copy_from_slice(b"Sealed");
    let verified = look(&sealed).unwrap();
    assert_eq!((verified.pages, verified.encrypted), (None, true));
}

#[test]
fn files_that_mean_harm_end_soon() {
    let started = Instant::now();
    let wrap = |body: &str, at: &str| format!("%PDF-1.4\n{body}\nstartxref\n{at}\n%%EOF");
    let circle = "xref\n0 1\n0000000000 65535 f \ntrailer <</Root 1 0 R/Prev 9/XRefStm 9>>";
    let huge = "xref\n0 99999999999999\ntrailer <</Root 1 0 R>>";
    let itself =
        "xref\n1 1\n0000000058 00000 n \ntrailer <</Root 1 0 R>>     \n1 0 obj 1 0 R endobj";
    let deep = format!("xref\n0 0\ntrailer {}", "<</A".repeat(100_000));
    for body in [circle, huge, itself, &deep] {
        assert_eq!(look(wrap(body, "9").as_bytes()), Err(Rejected::NoPages));
    }
    for at in ["18446744073709551615", "99999999999999999999", "0"] {
        assert!(look(wrap("", at).as_bytes()).is_err(), "{at}");
    }
    let bomb = deflate(&vec![0; 64 << 20]);
    let head = format!(
        "%PDF-1.5\n5 0 obj <</Type/XRef/Size 6/W[1 2 1]/Root 1 0 R/Filter/FlateDecode/Length {}>>stream\n",
        bomb.len()
    );
    let bomb = [head.as_bytes(), &bomb, b"\nendstream\nstartxref\n9\n%%EOF"].concat();
    assert_eq!(look(&bomb), Err(Rejected::NoPages));
    assert!(started.elapsed().as_secs() < 20);
}

proptest! {
    #[test]
    fn whatever_is_changed_in_a_file_it_is_read_to_an_end(
        is_modern in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let mut file = if is_modern { modern("") } else { PAPER.to_vec() };
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if let Ok(verified) = look(&file) {
            prop_assert!(verified.pages.is_none_or(|pages| pages > 0));
        }
    }
}
