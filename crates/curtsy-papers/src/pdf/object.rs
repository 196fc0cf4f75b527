//! The objects of a PDF, as far as its structure is made of them.

/// An object.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Object {
    /// A whole number.
    Integer(i64),
    /// A name, without its slash.
    Name(Vec<u8>),
    /// An array.
    Array(Vec<Object>),
    /// A dictionary.
    Dictionary(Dictionary),
    /// A reference to an object by its number.
    Reference(u32),
    /// What the structure does not depend on: null, a boolean, a real number, a string.
    Other,
}

/// A dictionary, its entries in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Dictionary(pub(super) Vec<(Vec<u8>, Object)>);

impl Dictionary {
    /// The value of a key.
    pub(super) fn value(&self, key: &str) -> Option<&Object> {
        let entry = self.0.iter().find(|(name, _)| name == key.as_bytes());
        entry.map(|(_, value)| value)
    }

    /// The value of a key, where it is a whole number that is not negative.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        self.value(key).and_then(Object::number)
    }

    /// Whether the value of a key is this name.
    pub(super) fn is(&self, key: &str, name: &str) -> bool {
        matches!(self.value(key), Some(Object::Name(value)) if value == name.as_bytes())
    }
}

impl Object {
    /// A whole number that is not negative.
    pub(super) fn number(&self) -> Option<u64> {
        match self {
            Self::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        }
    }
}
