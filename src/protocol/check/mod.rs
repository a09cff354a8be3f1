//! Whether a protocol file makes sense, and which of its rungs a run has.
//!
//! Unlike [`Protocol::read`], which stops at the first thing that is wrong,
//! this finds all of them.

mod coverage;
mod document;
mod sense;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

pub use coverage::{Coverage, TooLarge, coverage, promised};

use super::file::Protocol;
use document::Document;

/// What a check of a protocol file found.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The protocol, without what could not be read.
    pub protocol: Protocol,
    /// What is wrong or odd, by line.
    pub findings: Vec<Finding>,
}

/// The names that a run knows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunNames {
    /// Its targets, with their servers.
    pub targets: BTreeMap<String, String>,
    /// The classes of the requests of its mix; empty where it has no such rung
    /// or requests are not stored.
    pub mix: BTreeSet<String>,
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
/// query file of that name for a hypothesis; a run tells whether names mean
/// anything there.
pub fn check(text: &str, has_query: impl Fn(&str) -> bool, run: Option<&RunNames>) -> Checked {
    let Document { protocol, mut findings, lines, complete } = document::read(text);
    if complete {
        let senseless = sense::findings(&protocol, has_query, run);
        findings.extend(senseless.into_iter().map(|finding| lines.place(finding)));
    }
    findings.sort_by_key(|finding| finding.line);
    Checked { protocol, findings }
}
