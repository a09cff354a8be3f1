//! Why a run could not be ingested.

use std::path::{Path, PathBuf};

use crate::raw::RawError;
use crate::store::StoreError;

/// A run that could not be ingested, and why.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The directory is none, or none of a run.
    #[error(transparent)]
    Open(RawError),

    /// What is in the directory cannot be believed.
    #[error("{}: {source}", directory.display())]
    Raw { directory: PathBuf, source: RawError },

    /// The store has the run, made of other files.
    #[error(
        "run {run} is in the store already, from other files: {difference}; to rebuild it from these, ingest it with --replace"
    )]
    Known { run: String, difference: String },

    /// The store refuses.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl IngestError {
    /// An error of a file in a run directory, which the user called
    /// `directory` and which is really at `root`.
    pub(super) fn raw(directory: &Path, root: &Path, source: RawError) -> Self {
        let source = match source {
            // The directory is named once.
            RawError::Io { path, source } => {
                let path = path.strip_prefix(root).map(Path::to_owned).unwrap_or(path);
                RawError::Io { path, source }
            }
            source => source,
        };
        Self::Raw { directory: directory.to_owned(), source }
    }
}

/// An error of reading or of writing, where both are done at once.
#[derive(Debug)]
pub(super) enum StreamError {
    Raw(RawError),
    Store(StoreError),
}

impl StreamError {
    /// The same as an error of the ingest of a directory.
    pub(super) fn within(self, directory: &Path, root: &Path) -> IngestError {
        match self {
            Self::Raw(source) => IngestError::raw(directory, root, source),
            Self::Store(source) => IngestError::Store(source),
        }
    }
}

impl From<RawError> for StreamError {
    fn from(error: RawError) -> Self {
        Self::Raw(error)
    }
}

impl From<StoreError> for StreamError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
