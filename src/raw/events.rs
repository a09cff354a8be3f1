//! `events.jsonl`: what happened while a run was measured.

/// One line of `events.jsonl`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Event {
    /// Unix seconds.
    pub t: Option<f64>,
    pub kind: String,
    pub rung: Option<String>,
    pub detail: Option<String>,
}
