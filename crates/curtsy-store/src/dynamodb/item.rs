//! How a value stands in an item.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use curtsy_core::Timestamp;

use crate::host_store::Version;

/// The attributes, in the words of the table.
pub(super) const KEY: &str = "key";
pub(super) const PART: &str = "part";
pub(super) const VERSION: &str = "version";
pub(super) const EXPIRES: &str = "expires";
const VALUE: &str = "value";
const PIECES: &str = "pieces";

/// The part of the item that is a value; the parts of pieces begin with a digit of hexadecimal, and none of
/// these is a `v`.
pub(super) const HEAD: &str = "value";

/// What stands in one item beside its keys: an item has at most 400 KB, its longest key 1 KB.
pub(super) const PIECE: usize = 350 * 1024;

pub(super) type Item = HashMap<String, AttributeValue>;

/// What an item with a value holds.
pub(super) struct Head {
    pub(super) version: Version,
    pub(super) content: Content,
}

/// Where the value of an item is.
pub(super) enum Content {
    Here(Vec<u8>),
    /// In so many pieces.
    Beside(usize),
}

impl Head {
    /// `None` where the item is no such one.
    pub(super) fn of(item: &Item) -> Option<Self> {
        let version = item.get(VERSION)?.as_b().ok()?.as_ref().try_into().ok()?;
        let content = match pieces(item) {
            0 => Content::Here(value(item)?),
            pieces => Content::Beside(pieces),
        };
        Some(Self {
            version: Version::from_number(u64::from_be_bytes(version)),
            content,
        })
    }

    pub(super) fn into_item(self, key: &str, expires: Timestamp) -> Item {
        let content = match self.content {
            Content::Here(value) => (VALUE, bytes(value)),
            Content::Beside(pieces) => (PIECES, number(pieces)),
        };
        item(
            key,
            HEAD.to_owned(),
            [
                (VERSION, version(self.version)),
                content,
                (EXPIRES, number(expires.as_secs())),
            ],
        )
    }
}

/// Which item holds the piece of this number.
pub(super) fn piece_keys(key: &str, version: Version, number: usize) -> Item {
    item(key, piece_part(version, number), [])
}

/// The item of the piece of this number.
pub(super) fn piece(
    key: &str,
    version: Version,
    number_: usize,
    value: &[u8],
    expires: Timestamp,
) -> Item {
    item(
        key,
        piece_part(version, number_),
        [
            (VALUE, bytes(value.to_vec())),
            (EXPIRES, number(expires.as_secs())),
        ],
    )
}

pub(super) fn head_keys(key: &str) -> Item {
    item(key, HEAD.to_owned(), [])
}

/// The bytes in an item.
pub(super) fn value(item: &Item) -> Option<Vec<u8>> {
    Some(item.get(VALUE)?.as_b().ok()?.as_ref().to_vec())
}

/// How a version is written.
pub(super) fn version(version: Version) -> AttributeValue {
    bytes(version.number().to_be_bytes().to_vec())
}

fn pieces(item: &Item) -> usize {
    let number = item.get(PIECES).and_then(|pieces| pieces.as_n().ok());
    number.and_then(|n| n.parse().ok()).unwrap_or(0)
}

fn piece_part(version: Version, number: usize) -> String {
    format!("{:016x}.{number}", version.number())
}

fn item<const N: usize>(key: &str, part: String, more: [(&str, AttributeValue); N]) -> Item {
    let keys = [
        (KEY, AttributeValue::S(key.to_owned())),
        (PART, AttributeValue::S(part)),
    ];
    keys.into_iter()
        .chain(more)
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn bytes(bytes: Vec<u8>) -> AttributeValue {
    AttributeValue::B(Blob::new(bytes))
}

fn number(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}
