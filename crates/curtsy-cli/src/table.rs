//! A table for people: columns as wide as what stands in them, and no wider than the terminal.

/// How a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows under a head.
#[derive(Debug)]
pub(crate) struct Table {
    aligns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

/// Between two columns.
const GAP: &str = "  ";
/// The first column names something: it gives way to the others, down to this width.
const LEAST_NAME: usize = 12;

impl Table {
    /// A table with this head.
    pub(crate) fn new(head: &[(&str, Align)]) -> Self {
        Self {
            aligns: head.iter().map(|(_, align)| *align).collect(),
            rows: vec![head.iter().map(|(name, _)| (*name).to_owned()).collect()],
        }
    }

    /// Adds a row, of as many cells as the head has.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The lines, head first, none longer than `width`. A column that is empty but for its head is left out.
    pub(crate) fn lines(&self, width: usize) -> Vec<String> {
        let columns: Vec<usize> = (0..self.aligns.len())
            .filter(|&column| self.rows[1..].iter().any(|row| !row[column].is_empty()))
            .collect();
        let widest = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = columns.iter().map(|&column| widest(column)).collect();
        let total = widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1);
        if let Some(name) = widths.first_mut() {
            let spare = name.saturating_sub(LEAST_NAME);
            *name -= total.saturating_sub(width).min(spare);
        }
        let line = |row: &Vec<String>| {
            let cells = columns.iter().zip(&widths).map(|(&column, &width)| {
                let text = cut(&row[column], width);
                match self.aligns[column] {
                    Align::Left => format!("{text:<width$}"),
                    Align::Right => format!("{text:>width$}"),
                }
            });
            let line = cells.collect::<Vec<_>>().join(GAP);
            cut(line.trim_end(), width)
        };
        self.rows.iter().map(line).collect()
    }
}

/// A text of at most `width` characters; where it is longer, its end is `…`.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept = text.chars().take(width.saturating_sub(1));
    kept.chain((width > 0).then_some('…')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_what_stands_in_them_and_the_name_gives_way_to_the_width() {
        let mut table = Table::new(&[
            ("host", Align::Left),
            ("URLs", Align::Right),
            ("none", Align::Right),
            ("why", Align::Left),
        ]);
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        table.row(row(["a.example", "3", "", "rate"]));
        table.row(row(["a-rather-long-name.example", "12345", "", ""]));
        assert_eq!(
            table.lines(80),
            [
                "host                         URLs  why",
                "a.example                       3  rate",
                "a-rather-long-name.example  12345",
            ]
        );
        assert_eq!(
            table.lines(30),
            [
                "host                URLs  why",
                "a.example              3  rate",
                "a-rather-long-na…  12345",
            ]
        );
        assert!(
            table
                .lines(10)
                .iter()
                .all(|line| line.chars().count() <= 10)
        );
    }
}
