//! Values that only papers have.

use std::path::PathBuf;

use clap::ValueEnum;
use curtsy_papers::plan::Prefer;
use curtsy_papers::retrieve::Layout;
use curtsy_papers::source::SourceId;
use curtsy_papers::source::resolver::{Place, Resolver};
use serde_json::{Value as Json, json};

use super::Value;
use crate::args::{LayoutArg, PreferArg};

/// A resolver of the user's own, as it is written: `https://my.library/{doi} -> a.pdf`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ResolverText {
    text: String,
    pub(crate) resolver: Resolver,
}

/// What stands between the address and where in its answer the PDF is named.
const ARROW: &str = " -> ";
const PLACE: &str = "{doi}";

impl Value for ResolverText {
    const SEPARATORS: &'static [char] = &['\n'];

    fn read(text: &str) -> Result<Self, String> {
        let (template, place) = match text.split_once(ARROW) {
            None => (text, Place::Itself),
            Some((template, pointer)) if pointer.trim().starts_with('/') => {
                (template, Place::Pointer(pointer.trim().to_owned()))
            }
            Some((template, css)) => (template, Place::Selector(css.trim().to_owned())),
        };
        // The address may hold a key, so it is not repeated.
        let resolver = Resolver::new(template.trim(), place).map_err(|why| why.to_string())?;
        Ok(Self {
            text: text.to_owned(),
            resolver,
        })
    }

    /// Without what may be a key: a value of the query that is not the DOI.
    fn show(&self) -> Json {
        let (template, place) = match self.text.split_once(ARROW) {
            Some((template, _)) => (template, &self.text[template.len()..]),
            None => (&*self.text, ""),
        };
        let Some((address, query)) = template.split_once('?') else {
            return json!(self.text);
        };
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, value)) if value != PLACE => format!("{name}=***"),
            _ => pair.to_owned(),
        });
        let pairs = pairs.collect::<Vec<_>>().join("&");
        json!(format!("{address}?{pairs}{place}"))
    }
}

impl std::fmt::Debug for ResolverText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ResolverText({})", self.show())
    }
}

impl Value for SourceId {
    fn read(text: &str) -> Result<Self, String> {
        Self::named(text).ok_or_else(|| {
            let all: Vec<&str> = Self::ALL.iter().map(|source| source.label()).collect();
            format!("{text:?} is none of {}", all.join(", "))
        })
    }

    fn show(&self) -> Json {
        json!(self.label())
    }
}

macro_rules! one_of {
    ($($kind:ty => $meant:ty { $($name:ident),+ });+ $(;)?) => {$(
        impl Value for $kind {
            fn read(text: &str) -> Result<Self, String> {
                Self::from_str(text, true).map_err(|_| {
                    let all: Vec<String> = Self::value_variants().iter().map(name_of).collect();
                    format!("{text:?} is none of {}", all.join(", "))
                })
            }

            fn show(&self) -> Json {
                json!(name_of(self))
            }
        }

        impl From<$kind> for $meant {
            fn from(given: $kind) -> Self {
                match given {
                    $(<$kind>::$name => Self::$name),+
                }
            }
        }
    )+};
}

one_of! {
    LayoutArg => Layout { Seed, Flat, Tree };
    PreferArg => Prefer { Soonest, Published, Licensed };
}

fn name_of<T: ValueEnum>(value: &T) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The folder where nothing else is said.
pub(crate) fn usual_folder() -> PathBuf {
    PathBuf::from("PDFs")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::read;

    #[test]
    fn a_resolver_is_an_address_and_where_in_its_answer_the_pdf_is_named() {
        for (text, shown) in [
            ("https://l.example/{doi}", "https://l.example/{doi}"),
            (
                "https://l.example/{doi} -> /a/0",
                "https://l.example/{doi} -> /a/0",
            ),
            (
                "https://l.example/f?key=s3cret&id={doi} -> a[href$=pdf]",
                "https://l.example/f?key=***&id={doi} -> a[href$=pdf]",
            ),
        ] {
            let resolver: ResolverText = read(text).unwrap();
            assert_eq!(resolver.show(), shown);
            assert!(!format!("{resolver:?}").contains("s3cret"));
        }
        for text in ["", "https://l.example/", "https://l.example/{doi} -> a["] {
            assert!(read::<ResolverText>(text).is_err(), "{text}");
        }
        assert!(read::<PreferArg>("soonest").is_ok());
        let error = read::<LayoutArg>("heap").unwrap_err();
        assert_eq!(error, "\"heap\" is none of seed, flat, tree");
    }
}
