//! What can be wrong with a question put to the store.

use std::path::PathBuf;

use datafusion::error::DataFusionError;

use crate::protocol::ProtocolError;
use crate::store::StoreError;

/// A question that has no answer, and why.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The protocol of a run could not be used.
    #[error("protocol of run {run}: {source}")]
    Protocol {
        /// The run.
        run: String,
        /// What is wrong with it.
        source: ProtocolError,
    },
    /// A query file could not be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A statement that would change something, or read beyond the store.
    #[error("only queries are allowed, the store is not changed by SQL: {0}")]
    NotAQuery(String),
    /// More or fewer than one statement.
    #[error("expected one statement, found {0}")]
    Statements(usize),
    /// No such view.
    #[error("no view named `{name}`{}", suggestion(suggested))]
    UnknownView {
        /// The name that was asked for.
        name: String,
        /// The nearest that there is.
        suggested: Option<String>,
    },
    /// Planning or running failed.
    #[error("{}", plain(.0))]
    Query(#[from] DataFusionError),
    /// A table that does not exist.
    #[error("no table named `{name}`{}", suggestion(suggested))]
    UnknownTable {
        /// The name that was asked for.
        name: String,
        /// The nearest that there is.
        suggested: Option<String>,
    },
    /// A hypothesis whose query is nowhere.
    #[error(
        "no query file `{query}`: expected it in `hypotheses/` of --queries, or among those that ship"
    )]
    UnknownQuery {
        /// The file that it names.
        query: String,
    },
    /// A hypothesis whose query gives other columns than it should.
    #[error("{query}: expected a column `{column}` of type {expected}")]
    HypothesisColumn {
        /// Its query file.
        query: String,
        /// The column.
        column: &'static str,
        /// Its type.
        expected: String,
    },
    /// The runtime of the session could not be started.
    #[error("cannot start the query runtime: {0}")]
    Runtime(std::io::Error),
}

fn suggestion(name: &Option<String>) -> String {
    name.as_ref().map(|name| format!(": did you mean `{name}`?")).unwrap_or_default()
}

/// DataFusion's message without its backtrace and without the name of the
/// error's kind where that says nothing to a user.
fn plain(error: &DataFusionError) -> String {
    let text = error.strip_backtrace();
    let text = text.trim_end();
    ["Error during planning: ", "Execution error: ", "Schema error: ", "SQL error: "]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .unwrap_or(text)
        .to_owned()
}
