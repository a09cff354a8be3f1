//! What keeps a rung from being measured at all.

use std::io;

/// A rung that could not be measured. What goes wrong with one request is no
/// such error: see [`Fault`](super::record::Fault).
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A setting that makes no sense.
    #[error("{field} is {value}: expected {expected}")]
    Setting { field: &'static str, value: String, expected: &'static str },
    /// A URL that cannot be measured.
    #[error("`{url}` is no URL that can be measured: {reason}")]
    Url { url: String, reason: String },
    /// The host has no address.
    #[error("no address of `{host}` was found: {reason}")]
    Resolve { host: String, reason: String },
    /// The system refused what a worker needs.
    #[error("{what}: {source}")]
    System { what: &'static str, source: io::Error },
    /// Certificates or keys that cannot be used.
    #[error("TLS: {0}")]
    Tls(String),
    /// A mode that this system, or this combination, does not offer.
    #[error("{0}")]
    Unsupported(String),
    /// A file could not be written.
    #[error("{path}: {reason}")]
    Samples { path: String, reason: String },
    /// A worker thread ended by a panic.
    #[error("a worker of the generator failed: please report this")]
    Worker,
}

impl LoadError {
    /// An error of the system, for `map_err`.
    pub fn system(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}
