//! What can go wrong between an answer and its page.

use std::io;
use std::path::PathBuf;

use arrow::error::ArrowError;
use parquet::errors::ParquetError;
use polars::error::PolarsError;

/// An answer that cannot be written, and why.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The output could not be written.
    #[error("the output cannot be written: {0}")]
    Write(#[from] io::Error),

    /// The output file could not be made or put in place.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// Rows could not be put into Arrow form.
    #[error("the rows cannot be written: {0}")]
    Arrow(#[from] ArrowError),

    /// Rows could not be put into Parquet form.
    #[error("the rows cannot be written as Parquet: {0}")]
    Parquet(#[from] ParquetError),

    /// A table could not be made wide.
    #[error("the table cannot be made wide: {0}")]
    Wide(#[from] PolarsError),

    /// Two rows would share one place of a wide table.
    #[error("the view gives two rows for {place}: expected one")]
    Twice {
        /// The place, in words.
        place: String,
    },

    /// Two columns of one name, in a format that is read by names.
    #[error("two columns are named `{name}`: tell them apart with AS")]
    ColumnTwice {
        /// The name.
        name: String,
    },

    /// Too many rows to draw.
    #[error(
        "the answer has more than {limit} rows, too many to draw as a table: use --format csv, json, ndjson, parquet or arrow, or LIMIT"
    )]
    TooLong {
        /// How many can be drawn.
        limit: usize,
    },

    /// A view lacks a column that its page needs.
    #[error(
        "the view `{view}` gives no column `{column}`: expected one, see `tapstat sql --tables`"
    )]
    NoColumn {
        /// The view.
        view: String,
        /// The column.
        column: String,
    },

    /// A column has another type than its page needs.
    #[error("the view `{view}` gives `{column}` as {found}: expected {expected}")]
    ColumnType {
        /// The view.
        view: String,
        /// The column.
        column: String,
        /// Its type.
        found: String,
        /// The type that is needed.
        expected: &'static str,
    },

    /// Bytes for a terminal.
    #[error("{format} is no text and would garble the terminal: use --output FILE, or pipe it")]
    Terminal {
        /// The format.
        format: &'static str,
    },

    /// A folder that is not a report's.
    #[error("{}: it has files, and no report.json of a report: expected an empty folder, or that of an earlier report", .0.display())]
    NoReport(PathBuf),

    /// A page could not be made from its template.
    #[error("the page cannot be made: {0}")]
    Template(String),

    /// A file whose suffix says nothing.
    #[error(
        "{}: its suffix names no format: expected .csv, .json, .ndjson, .jsonl, .parquet, .arrow, .md or .txt, or --format", .0.display()
    )]
    Suffix(PathBuf),
}
