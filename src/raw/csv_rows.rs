//! CSV files as rows of named fields.

use csv::{ErrorKind, Position, ReaderBuilder, StringRecord, Trim};

use super::error::{Place, RawError, Warning};
use super::fields::{Fields, Names};
use super::input::Source;

/// A CSV file that was read whole.
#[derive(Debug)]
pub(super) struct Table {
    file: String,
    columns: Vec<String>,
    rows: Vec<(Place, StringRecord)>,
}

impl Table {
    /// Reads a CSV file of a run directory; that its end is missing, or may be,
    /// is a warning of the run's.
    pub(super) fn read(source: &mut Source<'_>, file: &str) -> Result<Self, RawError> {
        let (table, warning) = Self::parse(file, &source.bytes(file)?)?;
        source.warnings.extend(warning);
        Ok(table)
    }

    /// Reads a CSV file that has a header. A last line without newline and
    /// without all its fields was never finished, and is left out.
    pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<(Self, Option<Warning>), RawError> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(bytes);
        let mut lines = LineCount::new(file, bytes);
        let header = reader.headers().map_err(|error| lines.error(&error))?;
        let columns: Vec<String> = header.iter().map(str::to_owned).collect();
        check_distinct(file, &columns)?;
        let is_open = !matches!(bytes.last(), None | Some(b'\n' | b'\r'));
        let mut rows: Vec<(Place, StringRecord)> = Vec::new();
        let mut cut = None;
        for row in reader.records() {
            match row {
                Ok(row) => rows.push((lines.place(row.position()), row)),
                Err(error) if is_open && is_unfinished(&error, bytes) => {
                    cut = Some((
                        lines.place(error.position()),
                        "the last line is half-written, left out",
                    ));
                }
                Err(error) => return Err(lines.error(&error)),
            }
        }
        if let (true, None, Some((place, _))) = (is_open, &cut, rows.last()) {
            cut = Some((place.clone(), "may be cut: the last line has no newline"));
        }
        let warning = cut.map(|(place, message)| Warning { place, message: message.to_owned() });
        Ok((Self { file: file.to_owned(), columns, rows }, warning))
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

/// Whether an error is about a record that reaches to the end of the file and
/// has too little in it: fewer fields, or the first bytes of a character.
fn is_unfinished(error: &csv::Error, bytes: &[u8]) -> bool {
    let start = error.position().and_then(|position| usize::try_from(position.byte()).ok());
    let rest = start.and_then(|start| bytes.get(start..)).unwrap_or_default();
    let is_last = !rest.trim_ascii().contains(&b'\n');
    let is_short = match error.kind() {
        ErrorKind::UnequalLengths { expected_len, len, .. } => len < expected_len,
        ErrorKind::Utf8 { .. } => {
            std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_none())
        }
        _ => false,
    };
    is_last && is_short
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
        let (table, warning) =
            Table::parse("t", b"\xef\xbb\xbfa, b\r\n1,\"x\ny\"\r\n\r\n2,z\n").unwrap();
        assert_eq!(warning, None);
        let rows: Vec<(String, String)> = table
            .rows()
            .map(|mut row| (row.place().to_string(), row.need(&["b"], TEXT).unwrap()))
            .collect();
        assert_eq!(rows, [("t:2".into(), "x\ny".into()), ("t:5".into(), "z".into())]);
    }

    #[test]
    fn headers_are_checked() {
        let (table, _) = Table::parse("t", b"a,b\n").unwrap();
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

    #[test]
    fn an_end_without_a_newline_is_warned_of() {
        let read = |bytes: &[u8]| {
            let (table, warning) = Table::parse("t", bytes).unwrap();
            (table.rows().count(), warning.map(|warning| warning.to_string()))
        };
        let left_out = |line| Some(format!("t:{line}: the last line is half-written, left out"));
        let open = |line| Some(format!("t:{line}: may be cut: the last line has no newline"));
        assert_eq!(read(b"a,b\n1,2\n3,4\n"), (2, None));
        assert_eq!(read(b"a,b\r\n1,2\r\n"), (1, None));
        assert_eq!(read(b"a,b\n1,2\n3,4"), (2, open(3)));
        assert_eq!(read(b"a,b\n1,2\n3"), (1, left_out(3)));
        assert_eq!(read(b"a,b\n1,2\n3,\xc3"), (1, left_out(3)));
        assert_eq!(read(b"a,b"), (0, None));
        // Too many fields are no half of a line, nor is a line before the last.
        for bytes in [&b"a,b\n1,2\n3,4,5"[..], b"a,b\n1\n3,4", b"a,b\n3,\xff4"] {
            assert!(Table::parse("t", bytes).is_err(), "{bytes:?}");
        }
    }
}
