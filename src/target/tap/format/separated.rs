//! CSV (RFC 4180) and tab-separated values.

use arrow::array::RecordBatch;
use arrow::datatypes::{Fields, Schema};

use super::cells::Cells;
use super::votable::unique_names;

/// A writer of lines.
#[derive(Debug)]
pub struct Separated {
    fields: Fields,
    names: Vec<String>,
    separator: u8,
    header: bool,
}

impl Separated {
    pub fn new(schema: &Schema, separator: u8, header: bool) -> Self {
        Self { fields: schema.fields().clone(), names: unique_names(schema), separator, header }
    }

    fn end_line(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if self.separator == b',' { b"\r\n" } else { b"\n" });
    }

    pub fn head(&self, out: &mut Vec<u8>) {
        if !self.header {
            return;
        }
        for (index, name) in self.names.iter().enumerate() {
            if index > 0 {
                out.push(self.separator);
            }
            self.text(name, out);
        }
        self.end_line(out);
    }

    pub fn rows(&self, batch: &RecordBatch, out: &mut Vec<u8>) {
        let columns = self.fields.iter().zip(batch.columns());
        let columns: Vec<Cells> = columns.map(|(field, column)| Cells::of(field, column)).collect();
        for row in 0..batch.num_rows() {
            for (index, column) in columns.iter().enumerate() {
                if index > 0 {
                    out.push(self.separator);
                }
                if column.is_null(row) {
                    // A line of nothing is one that readers pass over.
                    if columns.len() == 1 && self.separator == b',' {
                        out.extend_from_slice(b"\"\"");
                    }
                    continue;
                }
                match column {
                    Cells::Text(texts) => self.text(texts.value(row), out),
                    other => other.write(row, out),
                }
            }
            self.end_line(out);
        }
    }

    /// A text. One of no length is quoted in CSV, which tells it from null.
    fn text(&self, text: &str, out: &mut Vec<u8>) {
        let bytes = text.as_bytes();
        if self.separator == b'\t' {
            let plain =
                |byte: &u8| if matches!(byte, b'\t' | b'\n' | b'\r') { b' ' } else { *byte };
            out.extend(bytes.iter().map(plain));
            return;
        }
        let special = |byte: &u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
        let at_edge = |byte: Option<&u8>| byte.is_none_or(|byte| *byte == b' ');
        if at_edge(bytes.first()) || at_edge(bytes.last()) || bytes.iter().any(|b| special(b)) {
            out.push(b'"');
            for &byte in bytes {
                if byte == b'"' {
                    out.push(b'"');
                }
                out.push(byte);
            }
            out.push(b'"');
        } else {
            out.extend_from_slice(bytes);
        }
    }
}
