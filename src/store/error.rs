//! What can go wrong with a store, in words that name the file or the run.

use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

use crate::raw::RawError;

/// A store that cannot be read or written, and why.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk said no.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },

    /// Rows could not be encoded.
    #[error("{}: {source}", path.display())]
    Parquet { path: PathBuf, source: ParquetError },

    /// A file that was to be hashed could not be read.
    #[error(transparent)]
    Raw(Box<RawError>),

    /// Nothing was ever ingested there.
    #[error("no store at {}: ingest a run first (`tapstat ingest RUN-DIRECTORY`)", .0.display())]
    NoStore(PathBuf),

    /// Another process writes the same run.
    #[error("run {run} is being written by another process: try again when it has ended")]
    Busy { run: String },

    /// No run has that text in its id.
    #[error("no run matches `{name}`: {}", known(runs))]
    NoMatch { name: String, runs: Vec<String> },

    /// More than one run has that text in its id.
    #[error("`{name}` matches several runs: {}", runs.join(", "))]
    Ambiguous { name: String, runs: Vec<String> },

    /// A manifest of another version of the tables.
    #[error(
        "{}: run {run} was stored with schema version {found}, this tapstat reads version {expected}: ingest the run again", path.display()
    )]
    SchemaVersion { path: PathBuf, run: String, found: u64, expected: u32 },

    /// A manifest that is not one.
    #[error("{}: not a manifest of run {run}: {message}: ingest the run again", path.display())]
    Manifest { path: PathBuf, run: String, message: String },

    /// A run that was asked for, and whose manifest cannot be read.
    #[error("{0}")]
    Unreadable(String),

    /// A journal that cannot be read, so that nobody can say what was decided.
    #[error(
        "{}: not a journal: {message}: remove this file and ingest run {run} again", path.display()
    )]
    Journal { path: PathBuf, run: String, message: String },

    /// A commit that cannot be finished: one of its files is gone.
    #[error(
        "{}: an interrupted commit of run {run} cannot be finished, {missing} is neither staged nor in place: remove this journal and ingest the run again", path.display()
    )]
    Lost { path: PathBuf, run: String, missing: String },

    /// A commit that cannot be finished because the store cannot be written.
    #[error(
        "{}: a commit was interrupted and has to be finished before the store can be read, but the store cannot be written: {source}", path.display()
    )]
    Unfinished { path: PathBuf, source: io::Error },
}

impl From<RawError> for StoreError {
    fn from(error: RawError) -> Self {
        Self::Raw(Box::new(error))
    }
}

impl StoreError {
    /// For `map_err`: an I/O error with its path.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}

fn known(runs: &[String]) -> String {
    if runs.is_empty() {
        "the store has no runs".to_owned()
    } else {
        format!("the store has {}", runs.join(", "))
    }
}
