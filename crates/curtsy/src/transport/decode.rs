//! Taking content codings off a body (RFC 9110 section 8.4).
//!
//! Supported: gzip (all members), deflate (zlib, and the raw stream that some servers send under
//! that name), br, zstd (all frames, windows of up to 8 MiB as RFC 9659 asks), and up to three of them
//! stacked. A body under a coding that is none of these (`utf-8` is seen in the field) is left as it
//! is.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_compression::tokio::bufread::{
    BrotliDecoder, DeflateDecoder, GzipDecoder, ZlibDecoder, ZstdDecoder,
};
use async_compression::zstd::DParameter;
use bytes::{Buf, Bytes};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use tokio::io::{AsyncBufRead, AsyncRead, BufReader, ReadBuf};

use super::error::{TransportError, TransportErrorKind};
use super::wire::Wire;

/// How many codings may be stacked. Each multiplies what a few bytes unfold to.
const STACK_LIMIT: usize = 3;
/// The base-two logarithm of the largest zstd window: what a decoder must support, and an encoder may
/// ask for, in HTTP.
const ZSTD_WINDOW_LOG: u32 = 23;

/// One content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// More codings are stacked than anybody means in earnest.
#[derive(Debug)]
pub(super) struct TooManyCodings;

impl Coding {
    /// The codings of a body in the order in which they were applied; empty where there are none, or
    /// where one of them is unknown.
    pub(super) fn list(headers: &HeaderMap) -> Result<Vec<Self>, TooManyCodings> {
        let mut codings = Vec::new();
        let names = headers
            .get_all(CONTENT_ENCODING)
            .iter()
            .flat_map(|value| value.as_bytes().split(|&byte| byte == b','))
            .map(|name| name.trim_ascii())
            .filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case(b"identity"));
        for name in names {
            let Some(coding) = Self::named(name) else {
                return Ok(Vec::new());
            };
            if codings.len() == STACK_LIMIT {
                return Err(TooManyCodings);
            }
            codings.push(coding);
        }
        Ok(codings)
    }

    fn named(name: &[u8]) -> Option<Self> {
        match name.to_ascii_lowercase().as_slice() {
            b"gzip" | b"x-gzip" => Some(Self::Gzip),
            b"deflate" => Some(Self::Deflate),
            b"br" => Some(Self::Brotli),
            b"zstd" => Some(Self::Zstd),
            _ => None,
        }
    }
}

impl TransportError {
    /// An error that comes out of a decoder: that of the wire below, or the decoder's own. Of data that
    /// ends early, gzip, br and zstd say that it is cut short; deflate cannot tell it from bad data.
    pub(super) fn from_decoder(error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(of_the_wire) => of_the_wire,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Self::with_source(TransportErrorKind::BodyCutShort, error)
            }
            Err(error) => Self::with_source(TransportErrorKind::BadEncoding, error),
        }
    }
}

/// A body as it came, or with one coding taken off the layer below.
pub(super) enum Layer {
    Wire(Box<Source>),
    /// Waits for the first byte: an empty body is empty under every coding, and the first byte of a
    /// `deflate` stream tells which of the two it is.
    Undecided {
        coding: Coding,
        input: Option<Box<BufReader<Layer>>>,
    },
    Gzip(Box<GzipDecoder<BufReader<Layer>>>),
    Zlib(Box<ZlibDecoder<BufReader<Layer>>>),
    Deflate(Box<DeflateDecoder<BufReader<Layer>>>),
    Brotli(Box<BrotliDecoder<BufReader<Layer>>>),
    Zstd(Box<ZstdDecoder<BufReader<Layer>>>),
}

impl Layer {
    /// Takes off `codings`, which are in the order in which they were applied.
    pub(super) fn new(wire: Wire, codings: &[Coding]) -> Self {
        let source = Self::Wire(Box::new(Source {
            wire,
            chunk: Bytes::new(),
        }));
        codings
            .iter()
            .rev()
            .fold(source, |below, &coding| Self::Undecided {
                coding,
                input: Some(Box::new(BufReader::new(below))),
            })
    }

    pub(super) fn wire(&self) -> Option<&Wire> {
        let below = match self {
            Self::Wire(source) => return Some(&source.wire),
            Self::Undecided { input, .. } => input.as_ref()?.get_ref(),
            Self::Gzip(decoder) => decoder.get_ref().get_ref(),
            Self::Zlib(decoder) => decoder.get_ref().get_ref(),
            Self::Deflate(decoder) => decoder.get_ref().get_ref(),
            Self::Brotli(decoder) => decoder.get_ref().get_ref(),
            Self::Zstd(decoder) => decoder.get_ref().get_ref(),
        };
        below.wire()
    }

    pub(super) fn wire_mut(&mut self) -> Option<&mut Wire> {
        let below = match self {
            Self::Wire(source) => return Some(&mut source.wire),
            Self::Undecided { input, .. } => input.as_mut()?.get_mut(),
            Self::Gzip(decoder) => decoder.get_mut().get_mut(),
            Self::Zlib(decoder) => decoder.get_mut().get_mut(),
            Self::Deflate(decoder) => decoder.get_mut().get_mut(),
            Self::Brotli(decoder) => decoder.get_mut().get_mut(),
            Self::Zstd(decoder) => decoder.get_mut().get_mut(),
        };
        below.wire_mut()
    }

    fn decided(coding: Coding, first: u8, input: BufReader<Self>) -> Self {
        match coding {
            Coding::Gzip => {
                let mut decoder = GzipDecoder::new(input);
                decoder.multiple_members(true);
                Self::Gzip(Box::new(decoder))
            }
            Coding::Deflate if is_zlib(first) => Self::Zlib(Box::new(ZlibDecoder::new(input))),
            Coding::Deflate => Self::Deflate(Box::new(DeflateDecoder::new(input))),
            Coding::Brotli => Self::Brotli(Box::new(BrotliDecoder::new(input))),
            Coding::Zstd => {
                let window = DParameter::window_log_max(ZSTD_WINDOW_LOG);
                let mut decoder = ZstdDecoder::with_params(input, &[window]);
                decoder.multiple_members(true);
                Self::Zstd(Box::new(decoder))
            }
        }
    }
}

/// Whether a `deflate` stream that begins with `first` is in the zlib format (RFC 1950): method 8, a
/// window of at most 32 KiB. As a raw stream (RFC 1951) this byte would begin a stored block with
/// padding that is not zero, which no encoder writes.
fn is_zlib(first: u8) -> bool {
    first & 0x0f == 8 && first >> 4 <= 7
}

impl AsyncRead for Layer {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let layer = self.get_mut();
        if let Self::Undecided { coding, input } = layer {
            let Some(mut below) = input.take() else {
                return Poll::Ready(Ok(()));
            };
            let first = match Pin::new(&mut below).poll_fill_buf(cx) {
                Poll::Ready(filled) => filled?.first().copied(),
                Poll::Pending => {
                    *input = Some(below);
                    return Poll::Pending;
                }
            };
            let Some(first) = first else {
                *input = Some(below);
                return Poll::Ready(Ok(()));
            };
            *layer = Self::decided(*coding, first, *below);
        }
        match layer {
            Self::Wire(source) => Pin::new(source).poll_read(cx, buf),
            Self::Undecided { .. } => Poll::Ready(Ok(())),
            Self::Gzip(decoder) => Pin::new(decoder).poll_read(cx, buf),
            Self::Zlib(decoder) => Pin::new(decoder).poll_read(cx, buf),
            Self::Deflate(decoder) => Pin::new(decoder).poll_read(cx, buf),
            Self::Brotli(decoder) => Pin::new(decoder).poll_read(cx, buf),
            Self::Zstd(decoder) => Pin::new(decoder).poll_read(cx, buf),
        }
    }
}

/// The wire as a reader of bytes. Its errors are [`TransportError`]s in the coat of IO errors.
pub(super) struct Source {
    wire: Wire,
    chunk: Bytes,
}

impl AsyncRead for Source {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.chunk.is_empty() {
            match ready!(self.wire.poll_chunk(cx)).map_err(io::Error::other)? {
                Some(chunk) => self.chunk = chunk,
                None => return Poll::Ready(Ok(())),
            }
        }
        let count = self.chunk.len().min(buf.remaining());
        buf.put_slice(&self.chunk[..count]);
        self.chunk.advance(count);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use http::header::HeaderValue;

    use super::*;

    #[test]
    fn codings_are_listed_as_applied_over_all_fields() {
        use Coding::{Brotli, Deflate, Gzip, Zstd};
        let cases: &[(&[&str], &[Coding])] = &[
            (&[], &[]),
            (&[""], &[]),
            (&["identity"], &[]),
            (&["gzip"], &[Gzip]),
            (&["X-GZip"], &[Gzip]),
            (&["br , zstd"], &[Brotli, Zstd]),
            (&["deflate", "identity, gzip"], &[Deflate, Gzip]),
            (&["utf-8"], &[]),
            (&["gzip, compress"], &[]),
        ];
        for (values, expected) in cases {
            let mut headers = HeaderMap::new();
            for value in *values {
                headers.append(CONTENT_ENCODING, HeaderValue::from_static(value));
            }
            assert_eq!(Coding::list(&headers).unwrap(), *expected, "{values:?}");
        }
        let mut headers = HeaderMap::new();
        headers.append(CONTENT_ENCODING, HeaderValue::from_static("br, br, br, br"));
        assert!(Coding::list(&headers).is_err());
    }
}
