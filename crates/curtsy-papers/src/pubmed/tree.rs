//! XML as a tree, in bounded memory.
//!
//! Records are small, and what is wanted of them lies in many places; so one record at a time becomes a tree. Entities
//! other than XML's own are not expanded, since no document type is read.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};

use crate::source::Unreadable;

/// Deeper elements are an attack and no record.
const DEEPEST: usize = 64;
/// More elements in one record are too.
const MOST_NODES: usize = 200_000;

/// An element.
#[derive(Debug, Default)]
pub(super) struct Node {
    name: String,
    attributes: Vec<(String, String)>,
    children: Vec<Child>,
}

#[derive(Debug)]
enum Child {
    Node(Node),
    Text(String),
}

/// Hands every element with one of these names, and all that is in it, to `take`.
///
/// # Errors
/// It is no XML, or not below `root`; or there is too much of it.
pub(super) fn read(
    body: &[u8],
    root: &str,
    names: &[&str],
    mut take: impl FnMut(Node),
) -> Result<(), Unreadable> {
    let text = std::str::from_utf8(body).map_err(|_| Unreadable)?;
    let mut reader = Reader::from_str(text);
    let (mut open, mut outside, mut nodes): (Vec<Node>, usize, usize) = (Vec::new(), 0, 0);
    let mut is_rooted = false;
    loop {
        match reader.read_event().map_err(|_| Unreadable)? {
            Event::Start(start) => {
                let name = start.local_name();
                if !is_rooted {
                    is_rooted = name.as_ref() == root;
                    if !is_rooted {
                        return Err(Unreadable);
                    }
                }
                if open.is_empty() && !names.contains(&name.as_ref()) {
                    outside += 1;
                    continue;
                }
                nodes += 1;
                if open.len() == DEEPEST || nodes > MOST_NODES {
                    return Err(Unreadable);
                }
                open.push(Node::of(&start));
            }
            Event::Empty(start) => {
                if let Some(parent) = open.last_mut() {
                    parent.children.push(Child::Node(Node::of(&start)));
                }
                is_rooted |= start.local_name().as_ref() == root;
            }
            Event::End(_) => match (open.pop(), open.last_mut()) {
                (Some(node), Some(parent)) => parent.children.push(Child::Node(node)),
                (Some(node), None) => {
                    nodes = 0;
                    take(node);
                }
                (None, _) => outside = outside.checked_sub(1).ok_or(Unreadable)?,
            },
            Event::Text(text) => add(&mut open, &text),
            Event::CData(text) => add(&mut open, &text),
            Event::GeneralRef(reference) => {
                let of_number = reference.resolve_char_ref().ok().flatten();
                let text = match of_number {
                    Some(character) => Cow::Owned(character.to_string()),
                    None => {
                        Cow::Borrowed(resolve_predefined_entity(&reference).unwrap_or_default())
                    }
                };
                add(&mut open, &text);
            }
            Event::Eof if is_rooted && open.is_empty() && outside == 0 => return Ok(()),
            Event::Eof => return Err(Unreadable),
            _ => {}
        }
    }
}

fn add(open: &mut [Node], text: &str) {
    if let Some(parent) = open.last_mut() {
        match parent.children.last_mut() {
            Some(Child::Text(before)) => before.push_str(text),
            _ => parent.children.push(Child::Text(text.to_owned())),
        }
    }
}

impl Node {
    fn of(start: &BytesStart<'_>) -> Self {
        let mut all = start.attributes();
        let attributes = all.with_checks(false).flatten();
        Self {
            name: start.local_name().as_ref().to_owned(),
            attributes: attributes
                .map(|attribute| {
                    let value = quick_xml::escape::unescape(&attribute.value);
                    let value = value.map_or_else(|_| String::new(), Cow::into_owned);
                    (attribute.key.as_ref().to_owned(), value)
                })
                .collect(),
            children: Vec::new(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(other, _)| other == name)?;
        Some(&found.1)
    }

    /// The elements with this name in it.
    pub(super) fn all<'n, 's>(
        &'n self,
        name: &'s str,
    ) -> impl Iterator<Item = &'n Self> + use<'n, 's> {
        self.children.iter().filter_map(move |child| match child {
            Child::Node(node) if node.name == name => Some(node),
            _ => None,
        })
    }

    /// The first element on a way down, as `Article/Journal/Title`.
    pub(super) fn at(&self, way: &str) -> Option<&Self> {
        way.split('/')
            .try_fold(self, |node, name| node.all(name).next())
    }

    /// All the text in it, on one line; `None` where there is none.
    pub(super) fn text(&self) -> Option<String> {
        let mut whole = String::new();
        self.gather(&mut whole);
        let words: Vec<&str> = whole
            .split([' ', '\t', '\r', '\n'])
            .filter(|word| !word.is_empty())
            .collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// The text of the first element on a way down.
    pub(super) fn text_at(&self, way: &str) -> Option<String> {
        self.at(way)?.text()
    }

    fn gather(&self, whole: &mut String) {
        for child in &self.children {
            match child {
                Child::Text(text) => whole.push_str(text),
                Child::Node(node) => node.gather(whole),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(xml: &str) -> Result<Vec<Node>, Unreadable> {
        let mut all = Vec::new();
        read(xml.as_bytes(), "set", &["r"], |node| all.push(node))?;
        Ok(all)
    }

    #[test]
    fn text_is_whole_whatever_stands_in_it() {
        let all = records(
            "<?xml version='1.0'?><set><r a='x&amp;y'><t>a <i>b</i>&#xa0;&lt;c<![CDATA[&d]]>\n e</t></r></set>",
        );
        let [record] = &all.unwrap()[..] else {
            panic!("one")
        };
        assert_eq!(record.attribute("a"), Some("x&y"));
        assert_eq!(record.text_at("t").as_deref(), Some("a b\u{a0}<c&d e"));
        assert_eq!(record.text_at("t/missing"), None);
    }

    #[test]
    fn what_is_cut_off_too_deep_or_something_else_is_unreadable() {
        let deep = format!(
            "<set><r>{}{}</r></set>",
            "<x>".repeat(80),
            "</x>".repeat(80)
        );
        for xml in [
            "",
            "<html/>",
            "<html></html>",
            "<set><r><t>",
            "<set><r></set>",
            "text",
            &deep,
        ] {
            assert!(records(xml).is_err(), "{xml:.40}");
        }
        assert!(records("<set/>").unwrap().is_empty());
        // An entity that a document defines for itself is not expanded.
        let bomb =
            "<!DOCTYPE set [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><set><r><t>x&b;</t></r></set>";
        assert_eq!(records(bomb).unwrap()[0].text_at("t").as_deref(), Some("x"));
    }
}
