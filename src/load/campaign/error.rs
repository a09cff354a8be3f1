//! What keeps a campaign from being measured.

use std::io;
use std::path::{Path, PathBuf};

use crate::protocol::ProtocolError;
use crate::raw::RawError;

/// What keeps a campaign from being measured.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// A file or folder could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A targets file that cannot be used.
    #[error("{origin}: {message}")]
    Targets {
        /// The file.
        origin: String,
        /// Key and what was expected.
        message: String,
    },
    /// A protocol that cannot be used.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// A run directory that cannot be read.
    #[error(transparent)]
    Raw(#[from] RawError),
    /// A protocol that does not say what to measure.
    #[error("{origin}: {message}")]
    Plan {
        /// The protocol file.
        origin: String,
        /// What is missing, or contradicts itself.
        message: String,
    },
    /// A corpus that cannot be sent.
    #[error("{}: {message}", path.display())]
    Corpus {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A run directory that is of another campaign.
    #[error("{}: cannot be resumed: {message}", path.display())]
    Resume {
        /// The run directory.
        path: PathBuf,
        /// The first thing that differs.
        message: String,
    },
    /// Run directories that are not those of one campaign.
    #[error("{}: cannot be merged: {message}", path.display())]
    Merge {
        /// The run directory.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// Somebody else is measuring on this host.
    #[error(
        "another measurement is under way on this host: {holder}; two at once would disturb each \
         other (lock file {})", path.display()
    )]
    Busy {
        /// Who, as far as the lock file says.
        holder: String,
        /// The lock file.
        path: PathBuf,
    },
    /// A hook that did not do what it should.
    #[error("target `{target}`: {message}")]
    Hook {
        /// The target.
        target: String,
        /// Which hook, and what became of it.
        message: String,
    },
    /// Gates that refuse the measurement.
    #[error("{}: nothing is measured: {}", path.display(), failures.join("; "))]
    Gates {
        /// What the gates found.
        path: PathBuf,
        /// What does not hold.
        failures: Vec<String>,
        /// Whether it may be measured all the same, where the user wants that.
        allowable: bool,
    },
    /// Gates that could not be run.
    #[error("the gates: {0}")]
    Gate(#[from] crate::gate::GateError),
    /// A corpus that the gates cannot read.
    #[error(transparent)]
    Queries(#[from] crate::corpus::CorpusError),
    /// Nothing can be sent.
    #[error("rung `{rung}`: {message}")]
    Load {
        /// The rung.
        rung: String,
        /// What the generator said.
        message: String,
    },
    /// A repository that could not be read.
    #[error("git: {0}")]
    Git(#[from] git2::Error),
    /// Samples that could not be written.
    #[error(transparent)]
    Samples(#[from] crate::load::LoadError),
    /// Samples that could not be copied.
    #[error("{}: {source}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// What the writer said.
        source: parquet::errors::ParquetError,
    },
}

impl CampaignError {
    /// An error of the system, at a path.
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Io { path: path.to_owned(), source }
    }
}
