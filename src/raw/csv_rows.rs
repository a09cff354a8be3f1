//! CSV files as rows of named fields.

use csv::{ErrorKind, Position, ReaderBuilder, StringRecord, Trim};

use super::error::{Place, RawError};
use super::fields::{Fields, Names};

/// A CSV file that was read whole.
#[derive(Debug)]
pub(super) struct Table {
    file: String,
    columns: Vec<String>,
    rows: Vec<(Place, StringRecord)>,
}

impl Table {
    /// Reads a CSV file that has a header.
    pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Self, RawError> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(bytes);
        let mut lines = LineCount::new(file, bytes);
        let header = reader.headers().map_err(|error| lines.error(&error))?;
        let columns: Vec<String> = header.iter().map(str::to_owned).collect();
        check_distinct(file, &columns)?;
        let rows = reader
            .into_records()
            .map(|row| {
                let row = row.map_err(|error| lines.error(&error))?;
                Ok((lines.place(row.position()), row))
            })
            .collect::<Result<_, RawError>>()?;
        Ok(Self { file: file.to_owned(), columns, rows })
    }

    /// Refuses a header that lacks a column; each may have several spellings.
    pub(super) fn require(&self, columns: &[Names<'_>]) -> Result<(), RawError> {
        let missing: Vec<String> = columns
            .iter()
            .filter(|names| !self.columns.iter().any(|column| names.contains(&column.as_str())))
            .map(|names| names.join(" or "))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(RawError::MissingColumns { place: Place::line(&self.file, 1), columns: missing })
    }

    /// The names in the header.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(String::as_str)
    }

    /// The rows in file order.
    pub(super) fn rows(&self) -> impl Iterator<Item = Fields> {
        self.rows
            .iter()
            .map(|(place, row)| Fields::of_row(place.clone(), self.columns().zip(row.iter())))
    }
}

fn check_distinct(file: &str, columns: &[String]) -> Result<(), RawError> {
    let twice = columns.iter().enumerate().find(|(i, column)| columns[..*i].contains(column));
    match twice {
        Some((_, column)) => {
            Err(RawError::DuplicateColumn { place: Place::line(file, 1), column: column.clone() })
        }
        None => Ok(()),
    }
}

/// Counts lines up to a row. The parser's own count stands before the blank
/// lines, and before the second half of a `\r\n`, that it has yet to skip.
struct LineCount<'a> {
    file: &'a str,
    bytes: &'a [u8],
    /// Bytes counted so far, and the line, from 1, that they end on.
    counted: (usize, u64),
}

impl<'a> LineCount<'a> {
    fn new(file: &'a str, bytes: &'a [u8]) -> Self {
        Self { file, bytes, counted: (0, 1) }
    }

    /// The place of a row; rows are to be asked for in file order.
    fn place(&mut self, position: Option<&Position>) -> Place {
        let Some(position) = position else { return Place::file(self.file) };
        let (counted, line) = self.counted;
        let start = usize::try_from(position.byte()).unwrap_or(usize::MAX).max(counted);
        let rest = self.bytes.get(start..).unwrap_or_default();
        let blank = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let start = (start + blank).min(self.bytes.len());
        let passed = self.bytes[counted..start].iter().filter(|byte| **byte == b'\n').count();
        self.counted = (start, line + passed as u64);
        Place::line(self.file, self.counted.1)
    }

    fn error(&mut self, error: &csv::Error) -> RawError {
        let message = match error.kind() {
            ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("expected {expected_len} fields as in the header, found {len}")
            }
            ErrorKind::Utf8 { err, .. } => format!("expected UTF-8 text, found {err}"),
            _ => error.to_string(),
        };
        RawError::Csv { place: self.place(error.position()), message }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fields::TEXT;
    use super::*;

    #[test]
    fn rows_know_their_lines() {
        let table = Table::parse("t", b"\xef\xbb\xbfa, b\r\n1,\"x\ny\"\r\n\r\n2,z\n").unwrap();
        let rows: Vec<(String, String)> = table
            .rows()
            .map(|mut row| (row.place().to_string(), row.need(&["b"], TEXT).unwrap()))
            .collect();
        assert_eq!(rows, [("t:2".into(), "x\ny".into()), ("t:5".into(), "z".into())]);
    }

    #[test]
    fn headers_are_checked() {
        let table = Table::parse("t", b"a,b\n").unwrap();
        table.require(&[&["a"], &["c", "b"]]).unwrap();
        let message = table.require(&[&["a"], &["c", "d"], &["e"]]).unwrap_err().to_string();
        assert_eq!(message, "t:1: columns are missing: expected c or d, e");
        let message = Table::parse("t", b"a,b,a\n").unwrap_err().to_string();
        assert_eq!(message, "t:1: column `a` stands twice: expected each column once");
    }

    #[test]
    fn rows_that_are_cut_are_refused() {
        let message = Table::parse("t", b"a,b\n1,2\n3\n").unwrap_err().to_string();
        assert_eq!(message, "t:3: not valid CSV: expected 2 fields as in the header, found 1");
        let message = Table::parse("t", b"a,b\n1,\xff\n").unwrap_err().to_string();
        assert!(message.starts_with("t:2: not valid CSV: expected UTF-8 text"), "{message}");
    }
}
