//! Answers as bytes.

pub mod cells;
pub mod choice;
pub mod separated;
pub mod votable;

#[cfg(test)]
mod tests;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;

pub use choice::Format;
use separated::Separated;
use votable::Votable;

/// How the rows of an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// All rows are there.
    Complete,
    /// There are more rows than were given.
    Overflow,
    /// Something failed after the first rows were given.
    Failed(String),
}

/// What writes an answer in one format.
#[derive(Debug)]
pub enum Encoder {
    /// CSV, TSV.
    Separated(Separated),
    /// VOTable.
    Votable(Votable),
}

impl Encoder {
    /// The writer of answers with those columns to a query.
    pub fn new(format: Format, schema: &Schema, query: &str) -> Self {
        match format {
            Format::Csv { header } => Self::Separated(Separated::new(schema, b',', header)),
            Format::Tsv => Self::Separated(Separated::new(schema, b'\t', true)),
            Format::Votable(serialization) => {
                Self::Votable(Votable::new(schema, serialization, query))
            }
        }
    }

    /// Appends what comes before the rows.
    pub fn head(&self, out: &mut Vec<u8>) {
        match self {
            Self::Separated(writer) => writer.head(out),
            Self::Votable(writer) => writer.head(out),
        }
    }

    /// Appends rows.
    pub fn rows(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) {
        match self {
            Self::Separated(writer) => writer.rows(batch, out),
            Self::Votable(writer) => writer.rows(batch, out),
        }
    }

    /// Appends what comes after the rows; false where the format has no way to
    /// say that something failed.
    pub fn tail(&mut self, end: &End, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Separated(_) => !matches!(end, End::Failed(_)),
            Self::Votable(writer) => {
                writer.tail(end, out);
                true
            }
        }
    }
}
