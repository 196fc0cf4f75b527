//! One record: its header, its block, and both as a gzip member (WARC 1.1, sections 4 to 6 and annex D).

use std::fmt::{self, Display, Write as _};
use std::io::{self, Write};

use curtsy_core::Timestamp;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha1::{Digest, Sha1};

use crate::sink::spool::Spool;

/// The name of a record: a random UUID (RFC 9562, version 4).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordId(u128);

impl RecordId {
    pub(super) fn random() -> Self {
        const VERSION: u128 = 0xf << 76;
        const VARIANT: u128 = 0x3 << 62;
        Self(fastrand::u128(..) & !(VERSION | VARIANT) | 0x4 << 76 | 0x2 << 62)
    }

    /// As `urn:uuid:…`, without the brackets that a header puts around it.
    pub(super) fn urn(self) -> String {
        let hex = format!("{:032x}", self.0);
        let (a, b, c, d, e) = (
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..],
        );
        format!("urn:uuid:{a}-{b}-{c}-{d}-{e}")
    }
}

impl Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>", self.urn())
    }
}

/// A record's header as far as its block does not decide it.
pub(super) struct Header(String);

impl Header {
    pub(super) fn new(kind: &str, id: RecordId, at: Timestamp) -> Self {
        let at = at.to_rfc3339();
        Self(format!(
            "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {id}\r\nWARC-Date: {at}\r\n"
        ))
    }

    #[must_use]
    pub(super) fn field(mut self, name: &str, value: impl Display) -> Self {
        // Writing to a text cannot fail.
        let _ = write!(self.0, "{name}: {value}\r\n");
        self
    }

    #[must_use]
    pub(super) fn field_if(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.field(name, value),
            None => self,
        }
    }
}

/// A record's block: an HTTP message, or what stands in the place of one.
pub(super) struct Block<'a> {
    pub(super) head: Vec<u8>,
    /// The payload; none in a record that has none.
    pub(super) body: Option<&'a mut Spool>,
}

impl Block<'_> {
    fn length(&self) -> u64 {
        let body = self.body.as_ref().map_or(0, |body| body.length());
        self.head.len() as u64 + body
    }

    /// The digests of the whole block and of the payload.
    fn digests(&mut self) -> io::Result<(String, Option<String>)> {
        let mut whole = Sha1::new_with_prefix(&self.head);
        let Some(body) = &mut self.body else {
            return Ok((label(whole), None));
        };
        let mut payload = Sha1::new();
        body.read(|piece| {
            whole.update(piece);
            payload.update(piece);
            Ok(())
        })?;
        Ok((label(whole), Some(label(payload))))
    }
}

/// Writes a record as one gzip member, with digests and length.
pub(super) fn write(out: impl Write, header: Header, block: &mut Block<'_>) -> io::Result<()> {
    let (whole, payload) = block.digests()?;
    let Header(head) = header
        .field("WARC-Block-Digest", whole)
        .field_if("WARC-Payload-Digest", payload)
        .field("Content-Length", block.length());
    let mut member = GzEncoder::new(out, Compression::default());
    member.write_all(head.as_bytes())?;
    member.write_all(b"\r\n")?;
    member.write_all(&block.head)?;
    if let Some(body) = &mut block.body {
        body.read(|piece| member.write_all(piece))?;
    }
    member.write_all(b"\r\n\r\n")?;
    member.finish()?;
    Ok(())
}

/// A digest as all tools verify it: SHA-1 in base32.
fn label(digest: Sha1) -> String {
    format!("sha1:{}", base32(&digest.finalize()))
}

/// RFC 4648 section 6, of a length that needs no padding: five bytes make eight letters.
fn base32(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let groups = bytes.chunks_exact(5);
    groups
        .flat_map(|five| {
            let bits = five
                .iter()
                .fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
            (0..8).map(move |at| char::from(LETTERS[(bits >> (35 - 5 * at)) as usize & 31]))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_as_other_tools_write_them() {
        for (text, expected) in [
            ("", "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"),
            ("abc", "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5"),
        ] {
            assert_eq!(label(Sha1::new_with_prefix(text)), expected, "{text:?}");
        }
    }

    #[test]
    fn an_id_is_a_uuid_of_version_4() {
        for _ in 0..100 {
            let urn = RecordId::random().urn();
            let uuid = urn.strip_prefix("urn:uuid:").unwrap();
            assert_eq!(uuid.len(), 36, "{uuid}");
            assert_eq!(&uuid[14..15], "4", "{uuid}");
            assert!("89ab".contains(&uuid[19..20]), "{uuid}");
        }
    }
}
