//! RIS, as reference managers read it: a tag a line.

use super::item::{Item, ItemType, Name};

pub(super) fn render(item: &Item) -> String {
    let mut entry = String::new();
    let mut add = |tag: &str, value: &str| {
        // A line end would begin another tag.
        let value: String = value
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        entry.push_str(&format!("{tag}  - {}\n", value.trim()));
    };
    add("TY", kind(item.kind));
    add("TI", &item.title);
    for name in &item.authors {
        match name {
            Name::Literal(literal) => add("AU", literal),
            Name::Person { family, given } if given.is_empty() => add("AU", family),
            Name::Person { family, given } => add("AU", &format!("{family}, {given}")),
        }
    }
    if let Some(date) = item.issued {
        add("PY", &format!("{:04}", date.year));
        let part = |part: Option<u8>| part.map(|part| format!("{part:02}")).unwrap_or_default();
        add(
            "DA",
            &format!("{:04}/{}/{}", date.year, part(date.month), part(date.day)),
        );
    }
    for (tag, value) in [
        ("T2", &item.container_title),
        ("VL", &item.volume),
        ("IS", &item.issue),
        ("PB", &item.publisher),
    ] {
        if let Some(value) = value {
            add(tag, value);
        }
    }
    if let Some(page) = &item.page {
        let mut ends = page
            .split(['-', '\u{2013}'])
            .map(str::trim)
            .filter(|end| !end.is_empty());
        if let Some(first) = ends.next() {
            add("SP", first);
        }
        if let Some(last) = ends.next() {
            add("EP", last);
        }
    }
    for number in item.issn.iter().chain(&item.isbn).take(1) {
        add("SN", number);
    }
    if let Some(doi) = &item.doi {
        add("DO", doi.as_str());
    }
    if let Some(link) = item.link() {
        add("UR", &link);
    }
    if let Some(pmid) = item.pmid {
        add("AN", &pmid.to_string());
    }
    entry.push_str("ER  - \n");
    entry
}

fn kind(kind: ItemType) -> &'static str {
    match kind {
        ItemType::ArticleJournal => "JOUR",
        ItemType::Article => "UNPB",
        ItemType::Book => "BOOK",
        ItemType::Chapter => "CHAP",
        ItemType::PaperConference => "CONF",
        ItemType::Thesis => "THES",
        ItemType::Report => "RPRT",
        ItemType::Dataset => "DATA",
        ItemType::Software => "COMP",
        ItemType::Document => "GEN",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cite::read;

    #[test]
    fn the_fixture_is_rendered_and_pages_have_two_ends() {
        let item = read::csl_json(include_bytes!("../../testdata/doi_csl.json")).unwrap();
        assert_eq!(
            render(&item),
            "TY  - JOUR\nTI  - Waiting politely: queue discipline in marsh herons\nAU  - Roe, Rae\n\
             AU  - Marsh Heron Group\nPY  - 2024\nDA  - 2024/02/03\nT2  - Journal of Invented Ornithology\nVL  - 12\n\
             IS  - 2\nPB  - Example Learned Society\nSP  - 101\nEP  - 110\nSN  - 0000-0019\n\
             DO  - 10.5555/curtsy.2024.0042\nUR  - https://doi.org/10.5555/curtsy.2024.0042\nER  - \n"
        );
    }

    #[test]
    fn a_line_end_in_a_record_begins_no_tag() {
        let item = Item {
            title: "a\r\nER  - \nTY  - EVIL".to_owned(),
            ..Item::default()
        };
        assert_eq!(render(&item).matches("\nER  - ").count(), 1);
    }
}
