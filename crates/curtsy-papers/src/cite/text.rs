//! A citation to read, much as the APA writes it.

use super::item::{Item, Name};

/// Of more authors than this the first ones are named, and the last.
const MOST_NAMED: usize = 20;

pub(super) fn render(item: &Item) -> String {
    let year = item
        .issued
        .map_or_else(|| "n.d.".to_owned(), |date| date.year.to_string());
    let title = item.title.trim_end_matches('.');
    let mut text = match names(&item.authors) {
        Some(names) => format!("{} ({year}). {title}.", stopped(&names)),
        None => format!("{title}. ({year})."),
    };
    if let Some(container) = &item.container_title {
        text.push_str(&format!(" {container}"));
        if let Some(volume) = &item.volume {
            text.push_str(&format!(", {volume}"));
        }
        if let Some(issue) = &item.issue {
            text.push_str(&format!("({issue})"));
        }
        if let Some(page) = &item.page {
            text.push_str(&format!(", {}", page.replace('-', "\u{2013}")));
        }
        text.push('.');
    } else if let Some(publisher) = &item.publisher {
        text.push_str(&format!(" {}", stopped(publisher)));
    }
    if let Some(link) = item.link() {
        text.push_str(&format!(" {link}"));
    }
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect::<String>()
        + "\n"
}

fn names(authors: &[Name]) -> Option<String> {
    let all: Vec<String> = authors.iter().map(name).collect();
    Some(match &all[..] {
        [] => return None,
        [one] => one.clone(),
        [first @ .., last] if all.len() <= MOST_NAMED => format!("{}, & {last}", first.join(", ")),
        [first @ .., last] => format!("{}, \u{2026} {last}", first[..MOST_NAMED - 1].join(", ")),
    })
}

/// `Roe, R.`
fn name(name: &Name) -> String {
    match name {
        Name::Literal(literal) => literal.clone(),
        Name::Person { family, given } => {
            let initials = given
                .split([' ', '-'])
                .filter_map(|word| word.chars().next());
            let initials: Vec<String> = initials.map(|letter| format!("{letter}.")).collect();
            if initials.is_empty() {
                family.clone()
            } else {
                format!("{family}, {}", initials.join(" "))
            }
        }
    }
}

fn stopped(text: &str) -> String {
    format!("{}.", text.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cite::read;

    #[test]
    fn the_fixture_is_rendered() {
        let item = read::csl_json(include_bytes!("../../testdata/doi_csl.json")).unwrap();
        assert_eq!(
            render(&item),
            "Roe, R., & Marsh Heron Group. (2024). Waiting politely: queue discipline in marsh herons. Journal of \
             Invented Ornithology, 12(2), 101\u{2013}110. https://doi.org/10.5555/curtsy.2024.0042\n"
        );
        assert_eq!(
            render(&Item {
                title: "Herons".to_owned(),
                ..Item::default()
            }),
            "Herons. (n.d.).\n"
        );
    }

    #[test]
    fn of_very_many_authors_the_last_is_named_too() {
        let person = |n| Name::Person {
            family: format!("A{n}"),
            given: "Bea C".to_owned(),
        };
        let authors: Vec<_> = (0..30).map(person).collect();
        let names = names(&authors).unwrap();
        assert!(
            names.ends_with("A18, B. C., \u{2026} A29, B. C."),
            "{names}"
        );
    }
}
