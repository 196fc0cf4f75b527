//! Lines of the log as bytes: their hash, and reading them back.

use curtsy_core::audit::Record;
use sha2::{Digest, Sha256};

/// The longest line that is read: the rules of a robots.txt are the longest thing that is on record.
pub(super) const MAX_LINE: usize = 8 << 20;

/// SHA-256 of a line without its end, in hex.
pub(super) fn hash_of(line: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest = Sha256::digest(line);
    let mut text = String::with_capacity(64);
    for byte in digest {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// The record that a line holds.
pub(super) fn parse(line: &[u8]) -> Result<Record, serde_json::Error> {
    serde_json::from_slice(line)
}
