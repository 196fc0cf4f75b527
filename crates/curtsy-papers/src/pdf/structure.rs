//! From a PDF's end to its pages.

use std::collections::HashSet;
use std::io::{self, Read, Seek, SeekFrom};

use super::Rejected;
use super::lexer::Lexer;
use super::object::{Dictionary, Object};
use super::tail;
use super::xref::{Place, Section, Stream};

/// So much trailing white space is passed over.
const MAX_BLANKS: u64 = 1024 * 1024;
/// The longest object that is read, and the longest stream, packed.
const MAX_OBJECT: usize = 4 * 1024 * 1024;
/// Sections of cross-references that are followed: a file saved so many times.
const MAX_SECTIONS: usize = 256;
/// References followed to one object.
const MAX_HOPS: u32 = 8;

/// What a PDF is made of.
pub(super) struct Found {
    pub(super) pages: Option<u32>,
    pub(super) encrypted: bool,
    pub(super) repaired: bool,
}

/// Looks at a file of `len` bytes whose header is at `header`.
pub(super) fn read(
    mut input: impl Read + Seek,
    len: u64,
    header: u64,
) -> io::Result<Result<Found, Rejected>> {
    let mut file = File {
        input: &mut input,
        len,
        shift: 0,
        sections: Vec::new(),
    };
    let Some(startxref) = file.startxref()? else {
        return Ok(Err(Rejected::Truncated));
    };
    // Offsets count from the file's beginning or, where something was put before it, from the header.
    for shift in [0, header] {
        file.shift = shift;
        if file.read_sections(startxref)? {
            let encrypted = file
                .sections
                .iter()
                .any(|s| s.trailer.value("Encrypt").is_some());
            match file.count_pages()? {
                Some(pages) if pages > 0 => {
                    return Ok(Ok(Found {
                        pages: Some(pages),
                        encrypted,
                        repaired: false,
                    }));
                }
                // The catalogue may lie in a stream that only its readers can open.
                None if encrypted => {
                    return Ok(Ok(Found {
                        pages: None,
                        encrypted,
                        repaired: false,
                    }));
                }
                _ => {}
            }
        }
        if header == 0 {
            break;
        }
    }
    let pages = file.scan()?;
    Ok(match pages {
        0 => Err(Rejected::NoPages),
        pages => Ok(Found {
            pages: Some(pages),
            encrypted: false,
            repaired: true,
        }),
    })
}

trait Input: Read + Seek {}
impl<T: Read + Seek> Input for T {}

/// A file, read at any place in bounded pieces.
pub(super) struct File<'i> {
    input: &'i mut dyn Input,
    len: u64,
    /// What is added to every offset.
    shift: u64,
    sections: Vec<Section>,
}

impl File<'_> {
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Up to `size` bytes from an offset on.
    pub(super) fn window(&mut self, at: u64, size: usize) -> io::Result<Vec<u8>> {
        let at = at.saturating_add(self.shift);
        if at >= self.len {
            return Ok(Vec::new());
        }
        self.input.seek(SeekFrom::Start(at))?;
        let mut bytes = Vec::new();
        self.input.take(size as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Where the last section begins.
    fn startxref(&mut self) -> io::Result<Option<u64>> {
        let mut size = 2 * tail::WITHIN as u64;
        loop {
            let from = self.len.saturating_sub(size);
            let end = self.window(from, usize::try_from(size).unwrap_or(usize::MAX))?;
            let kept = end
                .iter()
                .rposition(|byte| !tail::is_white(*byte))
                .map_or(0, |at| at + 1);
            // Where all of it is blank, the mark may stand before.
            if kept >= tail::WITHIN || from == 0 || size >= MAX_BLANKS {
                return Ok(tail::startxref(&end));
            }
            size *= 8;
        }
    }

    /// Whether the newest section and those before it can be read.
    fn read_sections(&mut self, startxref: u64) -> io::Result<bool> {
        self.sections.clear();
        let (mut seen, mut waiting) = (HashSet::new(), vec![startxref]);
        while let Some(at) = waiting.pop() {
            if self.sections.len() == MAX_SECTIONS || !seen.insert(at) {
                continue;
            }
            let Some(section) = Section::read(self, at)? else {
                // An older one that is damaged may not be needed.
                if self.sections.is_empty() {
                    return Ok(false);
                }
                continue;
            };
            // The one beside the section is asked before the one before it.
            waiting.extend(section.trailer.number("Prev"));
            waiting.extend(section.trailer.number("XRefStm"));
            self.sections.push(section);
        }
        Ok(true)
    }

    /// By the catalogue; `None` where that cannot be reached.
    fn count_pages(&mut self) -> io::Result<Option<u32>> {
        let root = self
            .sections
            .iter()
            .find_map(|s| s.trailer.value("Root").cloned());
        let Some(catalog) = self.dictionary(root)? else {
            return Ok(None);
        };
        let Some(tree) = self.dictionary(catalog.value("Pages").cloned())? else {
            return Ok(None);
        };
        let count = match tree.value("Count") {
            Some(Object::Reference(number)) => self.object(*number, MAX_HOPS)?,
            count => count.cloned(),
        };
        let count = count.and_then(|count| count.number());
        Ok(count.map(|count| u32::try_from(count).unwrap_or(u32::MAX)))
    }

    fn dictionary(&mut self, object: Option<Object>) -> io::Result<Option<Dictionary>> {
        let object = match object {
            Some(Object::Reference(number)) => self.object(number, MAX_HOPS)?,
            object => object,
        };
        Ok(match object {
            Some(Object::Dictionary(dictionary)) => Some(dictionary),
            _ => None,
        })
    }

    /// An object by its number.
    fn object(&mut self, number: u32, hops: u32) -> io::Result<Option<Object>> {
        let Some(hops) = hops.checked_sub(1) else {
            return Ok(None);
        };
        let object = match self.find(number)? {
            Some(Place::Offset(at)) => self.object_at(at, number)?,
            Some(Place::InStream(stream)) => self.object_in(stream, number)?,
            Some(Place::Free) | None => None,
        };
        match object {
            Some(Object::Reference(other)) => self.object(other, hops),
            object => Ok(object),
        }
    }

    fn find(&mut self, number: u32) -> io::Result<Option<Place>> {
        let sections = std::mem::take(&mut self.sections);
        let mut place = Ok(None);
        for section in &sections {
            place = section.find(self, number);
            if !matches!(place, Ok(None)) {
                break;
            }
        }
        self.sections = sections;
        place
    }

    /// `12 0 obj …`, and only that number.
    fn object_at(&mut self, at: u64, number: u32) -> io::Result<Option<Object>> {
        let head = self.window(at, 64)?;
        let mut lexer = Lexer::new(&head);
        let is_it =
            lexer.number() == Some(number.into()) && lexer.number().is_some() && lexer.word("obj");
        if !is_it {
            return Ok(None);
        }
        let behind = at + lexer.at() as u64;
        self.object_from(behind)
    }

    /// An object that begins at an offset. Most are short; one that does not end is read again in a larger piece.
    pub(super) fn object_from(&mut self, at: u64) -> io::Result<Option<Object>> {
        let mut size = 4 * 1024;
        loop {
            let bytes = self.window(at, size)?;
            let object = Lexer::new(&bytes).object();
            if object.is_some() || bytes.len() < size || size >= MAX_OBJECT {
                return Ok(object);
            }
            size *= 8;
        }
    }

    /// A stream that begins with its object's number at an offset.
    pub(super) fn stream_at(&mut self, at: u64) -> io::Result<Option<Stream>> {
        let head = self.window(at, 64 * 1024)?;
        let mut lexer = Lexer::new(&head);
        if lexer.number().is_none() || lexer.number().is_none() || !lexer.word("obj") {
            return Ok(None);
        }
        let Some(Object::Dictionary(dictionary)) = lexer.object() else {
            return Ok(None);
        };
        if !lexer.word("stream") {
            return Ok(None);
        }
        let mut from = at + lexer.at() as u64;
        from += match &head[lexer.at()..] {
            [b'\r', b'\n', ..] => 2,
            [b'\r' | b'\n', ..] => 1,
            _ => 0,
        };
        // Behind the data stands `endstream`, which unpacking passes over.
        let length = dictionary
            .number("Length")
            .and_then(|length| usize::try_from(length).ok());
        let size = length.unwrap_or(MAX_OBJECT).min(MAX_OBJECT);
        let packed = self.window(from, size)?;
        Ok(Stream::unpack(dictionary, &packed))
    }

    /// An object of a stream of objects (section 7.5.7).
    fn object_in(&mut self, stream: u32, number: u32) -> io::Result<Option<Object>> {
        let Some(Place::Offset(at)) = self.find(stream)? else {
            return Ok(None);
        };
        let Some(stream) = self.stream_at(at)? else {
            return Ok(None);
        };
        let first = stream
            .dictionary
            .number("First")
            .and_then(|first| usize::try_from(first).ok());
        let (Some(first), true) = (first, stream.dictionary.is("Type", "ObjStm")) else {
            return Ok(None);
        };
        let mut index = Lexer::new(&stream.bytes);
        while let (Some(found), Some(offset)) = (index.number(), index.number()) {
            if found == u64::from(number) {
                let at = usize::try_from(offset)
                    .ok()
                    .and_then(|offset| first.checked_add(offset));
                let object = at.and_then(|at| stream.bytes.get(at..));
                return Ok(object.and_then(|bytes| Lexer::new(bytes).object()));
            }
        }
        Ok(None)
    }

    /// Goes through the file once and counts what says that it is a page.
    fn scan(&mut self) -> io::Result<u32> {
        const PIECE: usize = 256 * 1024;
        const OVERLAP: usize = 32;
        (self.shift, self.sections) = (0, Vec::new());
        let (mut pages, mut at) = (0_u32, 0);
        while at < self.len {
            let piece = self.window(at, PIECE + OVERLAP)?;
            let starts = piece.len().min(PIECE);
            for (from, _) in piece[..starts]
                .iter()
                .enumerate()
                .filter(|(_, byte)| **byte == b'/')
            {
                if is_page(&piece[from..]) {
                    pages = pages.saturating_add(1);
                }
            }
            at += PIECE as u64;
        }
        Ok(pages)
    }
}

/// `/Type /Page`, and no longer name.
fn is_page(bytes: &[u8]) -> bool {
    let Some(rest) = bytes.strip_prefix(b"/Type") else {
        return false;
    };
    let blanks = rest
        .iter()
        .take_while(|byte| tail::is_white(**byte))
        .take(16)
        .count();
    match rest[blanks..].strip_prefix(b"/Page") {
        Some([next, ..]) => !next.is_ascii_alphanumeric(),
        _ => false,
    }
}
