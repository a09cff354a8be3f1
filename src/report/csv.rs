//! Rows as comma-separated values.
//!
//! Not by arrow-csv: it writes a null and an empty text alike. Here a null is
//! an empty field and an empty text is `""`, as PostgreSQL does it. Floats are
//! the shortest digits that read back to the same value. Lines end with `\n`.

use std::io::{self, Write};

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;

use super::ReportError;
use super::value::Values;

/// Writes rows as CSV: the header at once, then batch after batch.
pub(super) struct CsvWriter<W> {
    out: W,
    line: String,
}

impl<W: Write> CsvWriter<W> {
    /// Starts with the header.
    pub fn new(mut out: W, schema: &Schema) -> io::Result<Self> {
        let mut line = String::new();
        for (index, field) in schema.fields().iter().enumerate() {
            if index > 0 {
                line.push(',');
            }
            push_quoted(field.name(), &mut line);
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
        Ok(Self { out, line })
    }

    /// Writes the rows of a batch.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), ReportError> {
        let columns =
            batch.columns().iter().map(Values::new).collect::<Result<Vec<Values<'_>>, _>>()?;
        let mut field = String::new();
        for row in 0..batch.num_rows() {
            self.line.clear();
            for (index, column) in columns.iter().enumerate() {
                if index > 0 {
                    self.line.push(',');
                }
                if !column.is_null(row) {
                    field.clear();
                    column.push(row, &mut field)?;
                    push_quoted(&field, &mut self.line);
                }
            }
            self.line.push('\n');
            self.out.write_all(self.line.as_bytes())?;
        }
        Ok(())
    }
}

/// A field, in quotes where it would else be read as something else.
pub(super) fn quoted(field: &str) -> String {
    let mut text = String::with_capacity(field.len());
    push_quoted(field, &mut text);
    text
}

/// Appends a field, in quotes where it would else be read as something else.
fn push_quoted(field: &str, line: &mut String) {
    let special = |byte: u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
    if !field.is_empty() && !field.bytes().any(special) {
        line.push_str(field);
        return;
    }
    line.push('"');
    for (index, part) in field.split('"').enumerate() {
        if index > 0 {
            line.push_str("\"\"");
        }
        line.push_str(part);
    }
    line.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(quoted("plain text"), "plain text");
        assert_eq!(quoted(""), "\"\"");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"hi\""), "\"say \"\"hi\"\"\"");
        assert_eq!(quoted("\""), "\"\"\"\"");
        assert_eq!(quoted("two\nlines"), "\"two\nlines\"");
    }
}
