//! Where the bytes of a body come from.

use std::io::{self, Cursor};
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll};

use async_compression::tokio::bufread::{
    BrotliEncoder, DeflateEncoder, GzipEncoder, ZlibEncoder, ZstdEncoder,
};
use bytes::Bytes;
use tokio::io::{AsyncBufRead, AsyncRead, AsyncReadExt, ReadBuf};

use crate::reply::Content;
use crate::script::Coding;

/// Bodies up to this size are encoded whole, so that their length is told; longer ones while they are
/// sent, in chunks.
const WHOLE_BYTES: u64 = 1 << 20;

/// The alphabet, over and over; a whole number of times, so that copies of it join.
static PATTERN: LazyLock<Bytes> = LazyLock::new(|| (b'a'..=b'z').cycle().take(26 * 2520).collect());

/// The bytes of a sized body: byte `i` is the letter `a` + `i` mod 26.
///
/// For tests that compare what they received.
#[must_use]
pub fn sized_body(bytes: usize) -> Vec<u8> {
    (b'a'..=b'z').cycle().take(bytes).collect()
}

/// A body to be sent.
pub(super) enum Source {
    Whole(Bytes),
    Flow {
        reader: Reader,
        /// None where it is not known beforehand.
        length: Option<u64>,
    },
}

pub(super) type Reader = Pin<Box<dyn AsyncRead + Send>>;

impl Source {
    pub(super) async fn open(content: Content, coding: Option<Coding>) -> io::Result<Self> {
        let plain_bytes = match &content {
            Content::Text(text) => text.len() as u64,
            Content::Sized(bytes) => *bytes,
        };
        let Some(coding) = coding else {
            return Ok(match content {
                Content::Text(text) => Self::Whole(text),
                Content::Sized(bytes) if bytes <= PATTERN.len() as u64 => {
                    Self::Whole(PATTERN.slice(..bytes as usize))
                }
                Content::Sized(bytes) => Self::Flow {
                    reader: Box::pin(Pattern::new(bytes)),
                    length: Some(bytes),
                },
            });
        };
        let mut reader = match content {
            Content::Text(text) => encode(Cursor::new(text), coding),
            Content::Sized(bytes) => encode(Pattern::new(bytes), coding),
        };
        if plain_bytes > WHOLE_BYTES {
            return Ok(Self::Flow {
                reader,
                length: None,
            });
        }
        let mut encoded = Vec::new();
        reader.read_to_end(&mut encoded).await?;
        Ok(Self::Whole(encoded.into()))
    }

    pub(super) fn endless() -> Self {
        Self::Flow {
            reader: Box::pin(Pattern::new(u64::MAX)),
            length: None,
        }
    }

    pub(super) fn length(&self) -> Option<u64> {
        match self {
            Self::Whole(bytes) => Some(bytes.len() as u64),
            Self::Flow { length, .. } => *length,
        }
    }

    pub(super) fn into_reader(self) -> Reader {
        match self {
            Self::Whole(bytes) => Box::pin(Cursor::new(bytes)),
            Self::Flow { reader, .. } => reader,
        }
    }
}

fn encode(plain: impl AsyncBufRead + Send + 'static, coding: Coding) -> Reader {
    match coding {
        Coding::Gzip => Box::pin(GzipEncoder::new(plain)),
        Coding::Deflate => Box::pin(ZlibEncoder::new(plain)),
        Coding::DeflateRaw => Box::pin(DeflateEncoder::new(plain)),
        Coding::Br => Box::pin(BrotliEncoder::with_quality(
            plain,
            // Its default is the slowest there is.
            async_compression::Level::Fastest,
        )),
        Coding::Zstd => Box::pin(ZstdEncoder::new(plain)),
    }
}

/// So many bytes of the pattern, without holding them.
struct Pattern {
    left: u64,
    offset: usize,
}

impl Pattern {
    fn new(bytes: u64) -> Self {
        Self {
            left: bytes,
            offset: 0,
        }
    }

    fn piece(&self) -> &'static [u8] {
        let rest = &PATTERN[self.offset..];
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        &rest[..rest.len().min(most)]
    }

    fn advance(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes as u64);
        self.offset = (self.offset + bytes) % PATTERN.len();
    }
}

impl AsyncBufRead for Pattern {
    fn poll_fill_buf(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Poll::Ready(Ok(self.piece()))
    }

    fn consume(mut self: Pin<&mut Self>, bytes: usize) {
        self.advance(bytes);
    }
}

impl AsyncRead for Pattern {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let piece = self.piece();
        let piece = &piece[..piece.len().min(buf.remaining())];
        buf.put_slice(piece);
        self.advance(piece.len());
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_sized_body_is_the_alphabet_over_and_over() {
        for bytes in [0, 1, 26, 65_520, 65_521, 200_000] {
            let source = Source::open(Content::Sized(bytes), None).await.unwrap();
            assert_eq!(source.length(), Some(bytes));
            let mut read = Vec::new();
            source.into_reader().read_to_end(&mut read).await.unwrap();
            assert!(read == sized_body(bytes as usize), "{bytes}");
        }
    }

    #[tokio::test]
    async fn every_coding_can_be_undone() {
        use async_compression::tokio::bufread as undo;
        for bytes in [0, 1000, 1_200_000] {
            for coding in [
                Coding::Gzip,
                Coding::Deflate,
                Coding::DeflateRaw,
                Coding::Br,
                Coding::Zstd,
            ] {
                let source = Source::open(Content::Sized(bytes), Some(coding))
                    .await
                    .unwrap();
                assert_eq!(source.length().is_some(), bytes <= WHOLE_BYTES);
                let mut coded = Vec::new();
                source.into_reader().read_to_end(&mut coded).await.unwrap();
                let mut plain: Reader = match coding {
                    Coding::Gzip => Box::pin(undo::GzipDecoder::new(Cursor::new(coded))),
                    Coding::Deflate => Box::pin(undo::ZlibDecoder::new(Cursor::new(coded))),
                    Coding::DeflateRaw => Box::pin(undo::DeflateDecoder::new(Cursor::new(coded))),
                    Coding::Br => Box::pin(undo::BrotliDecoder::new(Cursor::new(coded))),
                    Coding::Zstd => Box::pin(undo::ZstdDecoder::new(Cursor::new(coded))),
                };
                let mut read = Vec::new();
                plain.read_to_end(&mut read).await.unwrap();
                assert!(read == sized_body(bytes as usize), "{coding:?} {bytes}");
            }
        }
    }
}
