//! BibTeX, also as biblatex reads it.
//!
//! Text is UTF-8. What TeX would take for a command is escaped; braces become commands of their own, since BibTeX counts
//! them even where they are escaped, and one too many would end the entry.

use super::item::{Item, ItemType, Name};

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

pub(super) fn render(item: &Item, key: &str) -> String {
    let mut entry = format!("@{}{{{key}", kind(item.kind));
    let mut add = |name: &str, value: String| entry.push_str(&format!(",\n  {name} = {{{value}}}"));
    add("title", escape(&item.title));
    if !item.authors.is_empty() {
        let names: Vec<String> = item.authors.iter().map(name).collect();
        add("author", names.join(" and "));
    }
    let container = match item.kind {
        ItemType::Chapter | ItemType::PaperConference => "booktitle",
        _ => "journal",
    };
    let publisher = match item.kind {
        ItemType::Thesis => "school",
        ItemType::Report => "institution",
        _ => "publisher",
    };
    for (name, value) in [
        (container, &item.container_title),
        ("volume", &item.volume),
        ("number", &item.issue),
        (publisher, &item.publisher),
    ] {
        if let Some(value) = value {
            add(name, escape(value));
        }
    }
    if let Some(page) = &item.page {
        add(
            "pages",
            escape(page)
                .replace(['\u{2013}', '-'], "--")
                .replace("----", "--"),
        );
    }
    if let Some(date) = item.issued {
        add("year", format!("{:04}", date.year));
    }
    for (name, numbers) in [("issn", &item.issn), ("isbn", &item.isbn)] {
        if let Some(number) = numbers.first() {
            add(name, escape(number));
        }
    }
    if let Some(doi) = &item.doi {
        add("doi", verbatim(doi.as_str()));
    }
    if let Some(link) = item.link() {
        add("url", verbatim(&link));
    }
    if let Some(pmid) = item.pmid {
        add("pmid", pmid.to_string());
    }
    if let Some(month) = item.issued.and_then(|date| date.month) {
        // A word of BibTeX's own, so without braces.
        entry.push_str(&format!(",\n  month = {}", MONTHS[usize::from(month) - 1]));
    }
    entry.push_str("\n}\n");
    entry
}

fn kind(kind: ItemType) -> &'static str {
    match kind {
        ItemType::ArticleJournal => "article",
        ItemType::Book => "book",
        ItemType::Chapter => "incollection",
        ItemType::PaperConference => "inproceedings",
        ItemType::Thesis => "phdthesis",
        ItemType::Report => "techreport",
        ItemType::Article | ItemType::Dataset | ItemType::Software | ItemType::Document => "misc",
    }
}

/// A group stays whole in braces, and so does a name with a word that would end it.
fn name(name: &Name) -> String {
    let whole = |text: &str| {
        let escaped = escape(text);
        let breaks = text.contains(',')
            || text
                .split_whitespace()
                .any(|word| word.eq_ignore_ascii_case("and"));
        if breaks {
            format!("{{{escaped}}}")
        } else {
            escaped
        }
    };
    match name {
        Name::Literal(literal) => format!("{{{}}}", escape(literal)),
        Name::Person { family, given } if given.is_empty() => whole(family),
        Name::Person { family, given } => format!("{}, {}", whole(family), whole(given)),
    }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '{' => escaped.push_str("\\textbraceleft{}"),
            '}' => escaped.push_str("\\textbraceright{}"),
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '&' | '%' | '$' | '#' | '_' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Addresses are taken as they stand, but for what would end the field.
fn verbatim(text: &str) -> String {
    text.replace('{', "%7B")
        .replace('}', "%7D")
        .replace('\\', "%5C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cite::read;

    #[test]
    fn the_fixture_is_rendered() {
        let item = read::csl_json(include_bytes!("../../testdata/doi_csl.json")).unwrap();
        assert_eq!(
            render(&item, "roe2024waiting"),
            "@article{roe2024waiting,\n  title = {Waiting politely: queue discipline in marsh herons},\n  \
             author = {Roe, Rae and {Marsh Heron Group}},\n  journal = {Journal of Invented Ornithology},\n  \
             volume = {12},\n  number = {2},\n  publisher = {Example Learned Society},\n  pages = {101--110},\n  \
             year = {2024},\n  issn = {0000-0019},\n  doi = {10.5555/curtsy.2024.0042},\n  \
             url = {https://doi.org/10.5555/curtsy.2024.0042},\n  month = feb\n}\n"
        );
    }

    #[test]
    fn nothing_in_a_record_ends_its_entry() {
        let item = Item {
            title: "100 % of {herons} & egrets_\\end{x} ~ $1 #2 ^3 } @article{evil,".to_owned(),
            authors: vec![
                Name::Person {
                    family: "Roe and Doe".to_owned(),
                    given: "R, Jr.".to_owned(),
                },
                Name::Literal("Sand and Sea\nGroup".to_owned()),
            ],
            doi: "10.5555/a_b#c%d{e}".parse().ok(),
            ..Item::default()
        };
        let entry = render(&item, "k");
        let mut depth = 0_i32;
        for (at, c) in entry.char_indices() {
            depth += i32::from(c == '{') - i32::from(c == '}');
            assert!(
                depth > 0 || at < entry.find('{').unwrap() || at >= entry.trim_end().len() - 1,
                "{at} in {entry}"
            );
        }
        assert_eq!(depth, 0);
        assert!(
            entry.contains(
                "title = {100 \\% of \\textbraceleft{}herons\\textbraceright{} \\& egrets\\_"
            ),
            "{entry}"
        );
        assert!(
            entry.contains("author = {{Roe and Doe}, {R, Jr.} and {Sand and Sea Group}}"),
            "{entry}"
        );
        assert!(entry.contains("doi = {10.5555/a_b#c%d%7Be%7D}"), "{entry}");
    }
}
