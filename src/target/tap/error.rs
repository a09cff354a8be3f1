//! What can go wrong: when a server is started, and when it is asked.

use std::io;
use std::path::PathBuf;

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum TapError {
    /// The file of the corpus cannot be opened.
    #[error("{}: cannot open the table of the corpus", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file of the corpus is not what it should be.
    #[error("{}: {reason}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A table is no ObsCore table.
    #[error("{0}")]
    Columns(String),
    /// An option that cannot be.
    #[error("{0}")]
    Option(String),
    /// The address is taken, or not of this machine.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: String,
        /// Why not.
        source: io::Error,
    },
    /// No threads, no timers.
    #[error("cannot start the server's threads")]
    Runtime(#[source] io::Error),
    /// The query engine does not start.
    #[error("cannot start the query engine: {0}")]
    Engine(String),
}

/// Why a request is refused: what is said, and the HTTP status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// What is wrong, for the client.
    pub message: String,
}

impl Refusal {
    /// The client's fault.
    pub fn bad(message: impl Into<String>) -> Self {
        Self { status: 400, message: message.into() }
    }

    /// Too much at once.
    pub fn busy(message: impl Into<String>) -> Self {
        Self { status: 503, message: message.into() }
    }

    /// There is no such thing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self { status: 404, message: message.into() }
    }
}
