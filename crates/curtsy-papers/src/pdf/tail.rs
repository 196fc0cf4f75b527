//! The end mark of a PDF: `startxref`, a number, `%%EOF`.

/// So far from the end, trailing white space not counted, the mark is looked for.
pub(super) const WITHIN: usize = 2_048;

/// Whether a byte is white space in a PDF (ISO 32000-2 table 1).
pub(super) fn is_white(byte: u8) -> bool {
    matches!(byte, 0 | b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

/// Where the last cross-reference section begins, by the end of a file; `None` where there is no mark.
pub(super) fn startxref(end: &[u8]) -> Option<u64> {
    let kept = end.iter().rposition(|byte| !is_white(*byte))? + 1;
    let end = &end[kept.saturating_sub(WITHIN)..kept];
    let eof = rfind(end, b"%%EOF")?;
    let word = rfind(&end[..eof], b"startxref")?;
    let digits = end[word + b"startxref".len()..eof].trim_ascii();
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn rfind(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len())
        .rposition(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_whole_and_near_the_end() {
        let near = [&b"startxref\n7\n%%EOF"[..], &[b'x'; WITHIN - 17]].concat();
        let far = [&b"startxref\n7\n%%EOF"[..], &[b'x'; WITHIN - 16]].concat();
        for (end, at) in [
            (&b"startxref\r\n12\r\n%%EOF\r\n"[..], Some(12)),
            (b"startxref\n7\n%%EOF\0\0  ", Some(7)),
            (b"startxref 1 %%EOF startxref 2 %%EOF", Some(2)),
            (b"startxref\n%%EOF", None),
            (b"startxref\n-1\n%%EOF", None),
            (b"startxref\n7\n%%EO", None),
            (b"xref\n7\n%%EOF", None),
            (b"", None),
            (b"   ", None),
            (&near, Some(7)),
            (&far, None),
        ] {
            assert_eq!(startxref(end), at);
        }
    }
}
