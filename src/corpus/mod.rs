//! The corpus: a synthetic ObsCore 1.1 table, and the queries that are sent
//! against it.
//!
//! Both follow from a seed and a number of rows, to the byte, on any machine:
//! [`draws`] and [`portable`] say how.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

mod archive;
mod classes;
mod columns;
mod count;
mod draws;
mod filter;
mod observation;
mod portable;
mod query;
mod sky;
mod write;

#[cfg(test)]
mod tests;

pub use draws::Draws;
pub use query::{Corpus, Kind, Query, file_of, hex, query_id};

/// The files of a corpus, in its folder.
pub const TABLE_CSV: &str = "obscore.csv";
pub const TABLE_PARQUET: &str = "obscore.parquet";
pub const QUERIES: &str = "corpus.jsonl";
pub const ABOUT: &str = "corpus.json";

/// Rows of a corpus unless another number is asked for.
pub const ROWS: u64 = 500_096;

/// Its seed likewise.
pub const SEED: u64 = 424_242;

/// Rows at least: fewer have not enough identifiers to look up.
pub const ROWS_MIN: u64 = 100;

/// Rows at most: identifiers have eight digits.
pub const ROWS_MAX: u64 = 99_999_999;

/// Why a corpus cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path}:{line}: {message}")]
    Query { path: PathBuf, line: usize, message: String },
    #[error("a table of {0} rows: expected {ROWS_MIN} to {ROWS_MAX}")]
    Rows(u64),
    #[error("the table cannot be written as CSV: {0}")]
    Csv(#[from] csv::Error),
    #[error("the table cannot be written as Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    #[error("the table cannot be written: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
}

impl CorpusError {
    fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Io { path, source }
    }
}

/// What `corpus.json` says of the corpus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    pub rows: u64,
    pub seed: u64,
    /// Of the random draws.
    pub generator: String,
    /// The version of tapstat that wrote it.
    pub tapstat: String,
    pub queries: usize,
    /// The sha256 of each file.
    pub files: Files,
}

/// The sha256 of each file of a corpus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    #[serde(rename = "obscore.csv")]
    pub csv: String,
    #[serde(rename = "obscore.parquet")]
    pub parquet: String,
    #[serde(rename = "corpus.jsonl")]
    pub queries: String,
}

/// Writes a corpus into a folder, which is made if it is not there. Files of an
/// earlier one are replaced, each when its successor is whole; `corpus.json`
/// comes last. `progress` is told the rows written so far.
///
/// # Errors
/// If the number of rows is out of range, or a file cannot be written.
pub fn write(
    folder: &Path,
    rows: u64,
    seed: u64,
    mut progress: impl FnMut(u64),
) -> Result<About, CorpusError> {
    if !(ROWS_MIN..=ROWS_MAX).contains(&rows) {
        return Err(CorpusError::Rows(rows));
    }
    std::fs::create_dir_all(folder).map_err(CorpusError::io(folder))?;
    let observations = observation::Observations::new(seed);
    let drafts = classes::drafts(&observations, rows, seed);
    let mut counter = count::Counter::new(&drafts);
    let (csv, parquet) = (folder.join(TABLE_CSV), folder.join(TABLE_PARQUET));
    let mut table = write::TableWriter::create(&csv, &parquet)?;
    for number in 1..=rows {
        let row = observations.row(number);
        table.add(&row)?;
        counter.add(&row);
        if number % 10_000 == 0 {
            progress(number);
        }
    }
    let digests = table.finish()?;
    let queries = counter.queries();
    let lines = queries.iter().map(json_line).collect::<String>();
    let about = About {
        rows,
        seed,
        generator: draws::GENERATOR.to_owned(),
        tapstat: crate::VERSION.to_owned(),
        queries: queries.len(),
        files: Files {
            csv: digests.csv,
            parquet: digests.parquet,
            queries: write_text(&folder.join(QUERIES), &lines)?,
        },
    };
    let mut text = serde_json::to_string_pretty(&about).expect("names and numbers only");
    text.push('\n');
    write_text(&folder.join(ABOUT), &text)?;
    Ok(about)
}

fn json_line(query: &Query) -> String {
    serde_json::to_string(query).expect("texts and finite numbers only") + "\n"
}

fn write_text(path: &Path, text: &str) -> Result<String, CorpusError> {
    let mut file = write::Hashed::create(path)?;
    std::io::Write::write_all(&mut file, text.as_bytes()).map_err(CorpusError::io(path))?;
    file.finish()
}
