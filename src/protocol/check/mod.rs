//! Whether a protocol file makes sense, and which of its rungs a run has.
//!
//! Unlike [`Protocol::read`], which stops at the first thing that is wrong,
//! this finds all of them.

mod coverage;
mod document;
mod sense;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::Serialize;

pub use coverage::{Coverage, TooLarge, coverage, promised};
pub use sense::against_run;

use super::file::Protocol;
use document::Lines;

/// What a check of a protocol file found.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The protocol, without what could not be read.
    pub protocol: Protocol,
    /// What is wrong or odd, by line.
    pub findings: Vec<Finding>,
    lines: Lines,
}

/// Something in a protocol file that is wrong, or odd.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Where, from line 1, if it is at any line.
    pub line: Option<usize>,
    /// The dotted name of the key; empty where it is about the whole file.
    pub key: String,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, and what was expected.
    pub message: String,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The protocol cannot be used like that.
    Problem,
    /// It can, but may not mean what was meant.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Problem => "problem",
            Self::Note => "note",
        })
    }
}

impl Checked {
    /// Whether there is a problem.
    pub fn has_problems(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Problem)
    }

    /// Adds what was found beside, at the lines of its keys.
    pub fn add(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings.into_iter().map(|finding| self.lines.place(finding)));
        self.findings.sort_by_key(|finding| finding.line);
    }
}

impl Finding {
    fn problem(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Problem, key, message)
    }

    fn note(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, key, message)
    }

    fn new(severity: Severity, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { line: None, key: key.into(), severity, message: message.into() }
    }
}

/// Checks the text of a protocol file. `has_query` tells whether there is a
/// query file of that name for a hypothesis.
pub fn check(text: &str, has_query: impl Fn(&str) -> bool) -> Checked {
    let read = document::read(text);
    let mut checked =
        Checked { protocol: read.protocol, findings: read.findings, lines: read.lines };
    let senseless =
        if read.complete { sense::findings(&checked.protocol, has_query) } else { Vec::new() };
    checked.add(senseless);
    checked
}
