//! Which layout a run directory has, and what its name says.

use std::path::PathBuf;

/// The layouts, in the order of precedence, for messages.
pub const EXPECTED: &str = "rungs.jsonl, summaries/*.json, summary.json, summary.csv, cells.csv, instance_scaling.csv, sweep.csv, bursts.csv";

/// How a run directory holds its rungs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `rungs.jsonl`: one JSON object a line.
    RungsJsonl,
    /// `summaries/*.json`: one JSON object a file.
    Summaries,
    /// `summary.json`: one JSON array.
    SummaryJson,
    /// `summary.csv`, with `resources.csv` if there: a published run.
    SummaryCsv,
    /// `cells.csv` and its neighbours: a published table.
    PublishedTable,
}

/// A run's id: the name of its directory, `[A-Za-z0-9._-]+`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

/// A run directory that exists and has a layout.
#[derive(Debug, Clone)]
pub struct RunDir {
    pub path: PathBuf,
    pub id: RunId,
    pub layout: Layout,
}
