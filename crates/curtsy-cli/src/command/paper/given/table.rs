//! Tables: CSV and TSV with a head that says which column holds the identifiers.

use std::path::Path;

use csv::{Reader, ReaderBuilder, StringRecord};

use super::{Given, read};
use crate::failure::{Failure, one_line};
use crate::lines;

/// Columns that hold identifiers, the best first; whatever the case.
const COLUMNS: [&str; 6] = ["doi", "pmid", "pmcid", "arxiv", "id", "identifier"];

/// A table, read row by row.
pub(super) struct Table {
    reader: Reader<lines::Reader>,
    name: String,
    /// Which columns hold identifiers, and what they are called, the best first.
    columns: Vec<(usize, &'static str)>,
    row: StringRecord,
}

impl Table {
    /// Opens a table with this delimiter.
    ///
    /// # Errors
    /// It cannot be read, or no column has one of the names.
    pub(super) fn open(path: &Path, delimiter: u8) -> Result<Self, Failure> {
        let name = lines::name(path);
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .flexible(true)
            .from_reader(lines::open(path)?);
        let head = reader.headers();
        let head = head.map_err(|why| Failure::usage(&name, one_line(&why.to_string())))?;
        let place = |column: &&'static str| {
            let mut cells = head
                .iter()
                .map(|cell| cell.trim().trim_start_matches('\u{feff}'));
            Some((
                cells.position(|cell| cell.eq_ignore_ascii_case(column))?,
                *column,
            ))
        };
        let columns: Vec<_> = COLUMNS.iter().filter_map(place).collect();
        if columns.is_empty() {
            let all = COLUMNS.join(", ");
            return Err(Failure::usage(
                &name,
                format_args!("no column of it is called any of {all}: name one in its first line"),
            ));
        }
        Ok(Self {
            reader,
            name,
            columns,
            row: StringRecord::new(),
        })
    }

    /// The best identifier of the next row.
    ///
    /// # Errors
    /// The table cannot be read.
    pub(super) fn next(&mut self) -> Result<Option<Given>, Failure> {
        let is_row = self.reader.read_record(&mut self.row);
        let is_row =
            is_row.map_err(|why| Failure::usage(&self.name, one_line(&why.to_string())))?;
        if !is_row {
            return Ok(None);
        }
        let line = self.row.position().map_or(0, csv::Position::line);
        let cells = self.columns.iter().filter_map(|(at, column)| {
            let cell = self.row.get(*at)?.trim();
            (!cell.is_empty()).then(|| of_column(column, cell))
        });
        let mut all: Vec<Given> = cells.map(|text| read(Ok(text), line)).collect();
        let good = all.iter().position(|given| given.id.is_ok());
        let best = match good {
            Some(at) => Some(all.swap_remove(at)),
            None => all.into_iter().next(),
        };
        // A row without any is told by what it begins with.
        let first = self.row.iter().map(str::trim).find(|cell| !cell.is_empty());
        Ok(best.or_else(|| Some(read(Ok(first.unwrap_or_default().to_owned()), line))))
    }
}

/// A bare number is what its column says.
fn of_column(column: &str, cell: &str) -> String {
    let is_number = cell.bytes().all(|byte| byte.is_ascii_digit());
    match column {
        "pmcid" if is_number => format!("PMC{cell}"),
        _ => cell.to_owned(),
    }
}
