//! What keeps a figure from being drawn.

use std::fmt::Display;

use crate::report::ReportError;
use crate::sql::SqlError;

/// A figure that cannot be drawn, and why.
#[derive(Debug, thiserror::Error)]
pub enum FigureError {
    /// The session could not be asked.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// An answer is not as it should be.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The session does not have the run.
    #[error("the session has no run {0}")]
    NoRun(String),
    /// More is asked for than one figure shows.
    #[error("the figure is about one {what}, and the filter lets {} through: {}", .found.len(), .found.join(", "))]
    Several {
        /// What there should be one of.
        what: &'static str,
        /// What there is.
        found: Vec<String>,
    },
    /// The drawing failed.
    #[error("the figure cannot be drawn: {0}")]
    Drawing(String),
}

impl FigureError {
    /// A drawing that failed, with what it failed at.
    pub(super) fn drawing(cause: impl Display) -> Self {
        Self::Drawing(cause.to_string())
    }
}
