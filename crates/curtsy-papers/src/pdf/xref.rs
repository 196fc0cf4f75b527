//! Cross-references (ISO 32000-2 sections 7.5.4 and 7.5.8): where in the file an object is.

use std::io;

use flate2::{Decompress, FlushDecompress, Status};

use super::lexer::Lexer;
use super::object::{Dictionary, Object};
use super::structure::File;

/// The most bytes of a stream, packed and unpacked.
const MAX_STREAM: usize = 16 * 1024 * 1024;

/// A section of cross-references.
pub(super) struct Section {
    /// What the trailer of it says.
    pub(super) trailer: Dictionary,
    entries: Entries,
}

enum Entries {
    /// A table in the file, looked into where it is.
    Table(Vec<Subsection>),
    /// A stream, unpacked: entries of so many bytes a field.
    Stream {
        ranges: Vec<(u64, u64)>,
        widths: [usize; 3],
        bytes: Vec<u8>,
    },
}

struct Subsection {
    first: u64,
    count: u64,
    at: u64,
}

/// Where an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At this offset.
    Offset(u64),
    /// In this stream of objects.
    InStream(u32),
    /// Nowhere.
    Free,
}

/// The length of an entry of a table.
const ENTRY: u64 = 20;
/// The most subsections of a table.
const MAX_SUBSECTIONS: usize = 10_000;

impl Section {
    /// Reads the section at an offset; `None` where there is none.
    pub(super) fn read(file: &mut File<'_>, at: u64) -> io::Result<Option<Self>> {
        let start = file.window(at, 64)?;
        if Lexer::new(&start).word("xref") {
            return Self::table(file, at);
        }
        let Some(stream) = file.stream_at(at)? else {
            return Ok(None);
        };
        Ok(Self::stream(stream))
    }

    fn table(file: &mut File<'_>, at: u64) -> io::Result<Option<Self>> {
        let start = file.window(at, 64)?;
        let mut lexer = Lexer::new(&start);
        lexer.word("xref");
        let mut at = at + lexer.at() as u64;
        let mut subsections = Vec::new();
        loop {
            let head = file.window(at, 64)?;
            let mut lexer = Lexer::new(&head);
            if lexer.word("trailer") {
                at += lexer.at() as u64;
                break;
            }
            let (Some(first), Some(count)) = (lexer.number(), lexer.number()) else {
                return Ok(None);
            };
            // Behind the white space stands the first entry, of ten digits.
            let rest = &head[lexer.at()..];
            let blanks = rest
                .iter()
                .take_while(|byte| byte.is_ascii_whitespace())
                .count();
            let entries = at + (lexer.at() + blanks) as u64;
            let length = count.saturating_mul(ENTRY);
            if subsections.len() == MAX_SUBSECTIONS || entries.saturating_add(length) > file.len() {
                return Ok(None);
            }
            subsections.push(Subsection {
                first,
                count,
                at: entries,
            });
            at = entries + length;
        }
        let trailer = file.object_from(at)?;
        Ok(match trailer {
            Some(Object::Dictionary(trailer)) => Some(Self {
                trailer,
                entries: Entries::Table(subsections),
            }),
            _ => None,
        })
    }

    fn stream(stream: Stream) -> Option<Self> {
        let trailer = stream.dictionary;
        if !trailer.is("Type", "XRef") {
            return None;
        }
        let numbers = |key| match trailer.value(key) {
            Some(Object::Array(items)) => items
                .iter()
                .map(Object::number)
                .collect::<Option<Vec<u64>>>(),
            _ => None,
        };
        let widths: Vec<usize> = numbers("W")?
            .into_iter()
            .map(|width| usize::try_from(width).ok().filter(|w| *w <= 8))
            .collect::<Option<_>>()?;
        let widths: [usize; 3] = widths.try_into().ok()?;
        let all = || Some(vec![0, trailer.number("Size")?]);
        let ranges = numbers("Index").or_else(all)?;
        let ranges = ranges
            .chunks_exact(2)
            .map(|pair| (pair[0], pair[1]))
            .collect();
        Some(Self {
            entries: Entries::Stream {
                ranges,
                widths,
                bytes: stream.bytes,
            },
            trailer,
        })
    }

    /// Where an object is, by this section; `None` where it does not say.
    pub(super) fn find(&self, file: &mut File<'_>, number: u32) -> io::Result<Option<Place>> {
        let number = u64::from(number);
        match &self.entries {
            Entries::Table(subsections) => {
                let holds = |s: &&Subsection| number >= s.first && number - s.first < s.count;
                let Some(subsection) = subsections.iter().find(holds) else {
                    return Ok(None);
                };
                let entry = file.window(
                    subsection.at + (number - subsection.first) * ENTRY,
                    ENTRY as usize,
                )?;
                let mut lexer = Lexer::new(&entry);
                let (offset, generation) = (lexer.number(), lexer.number());
                Ok(offset.and(generation).and(offset).map(|offset| {
                    if lexer.word("n") {
                        Place::Offset(offset)
                    } else {
                        Place::Free
                    }
                }))
            }
            Entries::Stream {
                ranges,
                widths,
                bytes,
            } => {
                let mut before = 0;
                for (first, count) in ranges {
                    if number >= *first && number - first < *count {
                        return Ok(entry(bytes, *widths, before + (number - first)));
                    }
                    before += count;
                }
                Ok(None)
            }
        }
    }
}

/// An entry of a stream of cross-references.
fn entry(bytes: &[u8], widths: [usize; 3], index: u64) -> Option<Place> {
    let size: usize = widths.iter().sum();
    let from = usize::try_from(index).ok()?.checked_mul(size)?;
    let mut entry = bytes.get(from..from.checked_add(size)?)?;
    let mut field = |width: usize, default| {
        let (field, rest) = entry.split_at(width);
        entry = rest;
        match width {
            0 => default,
            _ => field
                .iter()
                .fold(0_u64, |number, byte| number << 8 | u64::from(*byte)),
        }
    };
    let (kind, second) = (field(widths[0], 1), field(widths[1], 0));
    Some(match kind {
        1 => Place::Offset(second),
        2 => Place::InStream(u32::try_from(second).ok()?),
        _ => Place::Free,
    })
}

/// A stream, unpacked.
pub(super) struct Stream {
    pub(super) dictionary: Dictionary,
    pub(super) bytes: Vec<u8>,
}

impl Stream {
    /// Unpacks what stands behind a stream's dictionary; `None` where it is packed otherwise than these streams
    /// are, or too large.
    pub(super) fn unpack(dictionary: Dictionary, packed: &[u8]) -> Option<Self> {
        let filter = match dictionary.value("Filter") {
            None => None,
            Some(Object::Name(name)) => Some(name),
            Some(Object::Array(names)) => match names.as_slice() {
                [] => None,
                [Object::Name(name)] => Some(name),
                _ => return None,
            },
            Some(_) => return None,
        };
        let bytes = match filter.map(Vec::as_slice) {
            None => packed.to_vec(),
            Some(b"FlateDecode" | b"Fl") => inflate(packed)?,
            Some(_) => return None,
        };
        let parameters = match dictionary.value("DecodeParms") {
            Some(Object::Dictionary(parameters)) => Some(parameters),
            Some(Object::Array(all)) => match all.as_slice() {
                [Object::Dictionary(parameters)] => Some(parameters),
                _ => None,
            },
            _ => None,
        };
        let predictor = parameters.and_then(|p| p.number("Predictor")).unwrap_or(1);
        let bytes = match predictor {
            1 => bytes,
            10..=15 => {
                let columns = parameters.and_then(|p| p.number("Columns")).unwrap_or(1);
                undo_prediction(&bytes, usize::try_from(columns).ok()?)?
            }
            _ => return None,
        };
        Some(Self { dictionary, bytes })
    }
}

/// Unpacks zlib data as far as it is whole.
fn inflate(packed: &[u8]) -> Option<Vec<u8>> {
    let mut inflater = Decompress::new(true);
    let mut bytes = Vec::with_capacity(packed.len().saturating_mul(3).min(MAX_STREAM));
    loop {
        if bytes.len() >= MAX_STREAM {
            return None;
        }
        bytes.reserve(32 * 1024);
        let (read, written) = (inflater.total_in(), inflater.total_out());
        let rest = &packed[usize::try_from(read).ok()?..];
        let status = inflater
            .decompress_vec(rest, &mut bytes, FlushDecompress::None)
            .ok()?;
        let stands = inflater.total_in() == read && inflater.total_out() == written;
        if status == Status::StreamEnd || stands {
            return Some(bytes);
        }
    }
}

/// Undoes the prediction of PNG (RFC 2083 section 6) for one byte a pixel.
fn undo_prediction(bytes: &[u8], columns: usize) -> Option<Vec<u8>> {
    if columns == 0 || columns > 1024 {
        return None;
    }
    let mut all = Vec::with_capacity(bytes.len());
    let mut above = vec![0_u8; columns];
    for row in bytes.chunks_exact(columns + 1) {
        let (kind, mut line) = (row[0], row[1..].to_vec());
        for at in 0..columns {
            let left = if at == 0 { 0 } else { line[at - 1] };
            let corner = if at == 0 { 0 } else { above[at - 1] };
            let predicted = match kind {
                0 => 0,
                1 => left,
                2 => above[at],
                3 => u8::midpoint(left, above[at]),
                4 => paeth(left, above[at], corner),
                _ => return None,
            };
            line[at] = line[at].wrapping_add(predicted);
        }
        all.extend_from_slice(&line);
        above = line;
    }
    Some(all)
}

fn paeth(left: u8, above: u8, corner: u8) -> u8 {
    let estimate = i16::from(left) + i16::from(above) - i16::from(corner);
    let distance = |of: u8| (estimate - i16::from(of)).abs();
    if distance(left) <= distance(above) && distance(left) <= distance(corner) {
        left
    } else if distance(above) <= distance(corner) {
        above
    } else {
        corner
    }
}
