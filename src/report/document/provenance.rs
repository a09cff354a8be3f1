//! `report.json`: how a report was made, for whoever makes it again.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Files;
use crate::protocol::{Estimator, RuleFlags};
use crate::raw::{Hasher, InputFile};
use crate::store::schema::SCHEMA_VERSION;

/// The name of the file.
pub const PROVENANCE: &str = "report.json";

/// How a report was made: the same store and these options give the same bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// The version of the tapstat that made it.
    pub tapstat: String,
    /// The version of the store's tables.
    pub store_schema: u32,
    /// The run that it is about.
    pub run: String,
    /// The runs that it is set against.
    pub against: Vec<String>,
    /// The runs that measured the same by other apparatus.
    pub shift: Vec<String>,
    /// Whether the protocol's repository was looked at.
    pub repository: bool,
    /// The tag or commit that was given in place of the protocol's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// What was changed of the rule.
    pub rule: Rule,
    /// The protocol that was given in place of the run's own.
    pub protocol: Option<Source>,
    /// Query files in place of those that ship.
    pub queries: Vec<Source>,
    /// The files that each run was made from.
    pub inputs: BTreeMap<String, Vec<InputFile>>,
    /// The other files of the report.
    pub files: Vec<InputFile>,
}

/// What of a rule was given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    tie_floor: Option<f64>,
    confidence: Option<f64>,
    error_ceiling: Option<f64>,
    guard_max: Option<f64>,
    estimator: Option<String>,
}

/// A file that was given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its name, without its folder.
    pub name: String,
    /// Its sha256.
    pub sha256: String,
}

impl Source {
    /// A file with this content.
    pub fn new(path: &Path, bytes: &[u8]) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { name, sha256: sha256(bytes) }
    }
}

fn sha256(bytes: &[u8]) -> String {
    let mut hasher = Hasher::new();
    hasher.update(bytes);
    hasher.finish()
}

impl From<RuleFlags> for Rule {
    fn from(flags: RuleFlags) -> Self {
        let RuleFlags { tie_floor, confidence, error_ceiling, guard_max, estimator } = flags;
        let estimator = estimator.map(|estimator| estimator.to_string());
        Self { tie_floor, confidence, error_ceiling, guard_max, estimator }
    }
}

impl Rule {
    /// The flags that were given.
    pub fn flags(&self) -> RuleFlags {
        let estimator = match self.estimator.as_deref() {
            Some("median") => Some(Estimator::Median),
            Some(_) => Some(Estimator::Mean),
            None => None,
        };
        RuleFlags {
            tie_floor: self.tie_floor,
            confidence: self.confidence,
            error_ceiling: self.error_ceiling,
            guard_max: self.guard_max,
            estimator,
        }
    }

    /// The flags as they are written on a command line.
    pub fn words(&self) -> Vec<String> {
        let numbers = [
            ("--tie-floor", self.tie_floor),
            ("--confidence", self.confidence),
            ("--error-ceiling", self.error_ceiling),
            ("--guard-max", self.guard_max),
        ];
        let numbers =
            numbers.into_iter().filter_map(|(flag, value)| Some(format!("{flag} {}", value?)));
        let estimator = self.estimator.iter().map(|name| format!("--estimator {name}"));
        numbers.chain(estimator).collect()
    }
}

impl Provenance {
    /// Of this version of the program.
    pub fn new(run: &str) -> Self {
        Self {
            tapstat: crate::VERSION.to_owned(),
            store_schema: SCHEMA_VERSION,
            run: run.to_owned(),
            ..Self::default()
        }
    }

    /// The file, with a line for each of these files.
    pub fn to_file(mut self, files: &Files) -> Vec<u8> {
        self.files = files
            .iter()
            .map(|(path, bytes)| InputFile {
                path: path.clone(),
                size: bytes.len() as u64,
                sha256: sha256(bytes),
            })
            .collect();
        let text = serde_json::to_string_pretty(&self);
        let text = text.expect("text, numbers and lists can always be written as JSON");
        (text + "\n").into_bytes()
    }

    /// Reads the file.
    ///
    /// # Errors
    /// If it is not one that [`Provenance::to_file`] wrote, in words.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_back() {
        let flags = RuleFlags {
            tie_floor: Some(0.05),
            estimator: Some(Estimator::Median),
            ..RuleFlags::default()
        };
        let made = Provenance { rule: flags.clone().into(), ..Provenance::new("r1") };
        let files = Files::from([("index.md".to_owned(), b"x".to_vec())]);
        let read = Provenance::parse(&made.clone().to_file(&files)).unwrap();
        assert_eq!(read.files[0].path, "index.md");
        assert_eq!(read.rule.flags(), flags);
        assert_eq!(read.rule.words(), ["--tie-floor 0.05", "--estimator median"]);
        assert_eq!(Provenance { files: Vec::new(), ..read }, made);
    }
}
