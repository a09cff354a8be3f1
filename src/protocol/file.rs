//! The protocol file: one TOML file that is frozen before the data exist.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::measure::Measure;
use super::rule::Rule;

/// A protocol file that cannot be used, and why.
#[derive(Debug, thiserror::Error)]
pub enum ProtocolError {
    /// The file could not be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Not TOML, an unknown key, or a value of another type.
    #[error("{origin}: {message}")]
    Toml {
        /// The file, or what stands for it.
        origin: String,
        /// Line, key and what was expected.
        message: String,
    },
    /// A figure outside its range.
    #[error("{origin}: `{field}` is {found}: expected {expected}")]
    Range {
        /// The file, or what stands for it.
        origin: String,
        /// Dotted name of the key.
        field: String,
        /// Its value.
        found: String,
        /// What it should be.
        expected: String,
    },
}

/// A protocol: what will be measured, and how it is judged.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Protocol {
    /// Short name, for output.
    pub name: Option<String>,
    /// What is compared, in a sentence or two.
    pub description: Option<String>,
    /// How cells are judged.
    pub rule: Rule,
    /// Which rungs will be measured.
    pub grid: Grid,
    /// How long each is.
    pub window: Window,
    /// What is asked of the targets.
    pub workload: Workload,
    /// How it is sent, and in what order.
    pub measure: Measure,
    /// Which sampled containers make up each target or server.
    pub containers: BTreeMap<String, Containers>,
    /// Where the protocol was registered.
    pub prereg: Option<Prereg>,
    /// What a report says beside the figures.
    pub report: ReportText,
    /// What is predicted.
    #[serde(rename = "hypothesis")]
    pub hypotheses: Vec<Hypothesis>,
}

/// The rungs that are promised: every combination of these.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Grid {
    /// Targets, by name.
    pub targets: Vec<String>,
    /// Tiers; empty in a campaign without tiers.
    pub tiers: Vec<String>,
    /// Query classes.
    pub classes: Vec<String>,
    /// Response formats.
    pub formats: Vec<String>,
    /// Connections held.
    pub concurrencies: Vec<i64>,
    /// Instances of each target, of one event loop each; empty where there are as
    /// many as there are.
    pub instances: Vec<i64>,
    /// Repetitions of each cell.
    pub repetitions: Option<i64>,
}

/// How long each rung is, in seconds.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Window {
    /// Load before the measured window, discarded.
    pub warmup_seconds: Option<f64>,
    /// The measured window.
    pub measure_seconds: Option<f64>,
    /// How long stragglers are waited for.
    pub drain_seconds: Option<f64>,
}

/// What is asked of the targets.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Workload {
    /// MAXREC of every TAP request.
    pub maxrec: Option<i64>,
    /// Workers of the load generator.
    pub generator_workers: Option<i64>,
    /// Weight of each query class in the mix.
    pub mix: BTreeMap<String, f64>,
}

/// The sampled containers that make up a target.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Containers {
    /// Their names.
    pub members: Vec<String>,
    /// The one that answers HTTP, whose processes are counted.
    pub api: Option<String>,
}

/// Where the protocol was registered before the data existed.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prereg {
    /// A tag or a commit. A protocol that is registered by a commit alone cannot
    /// name it: then whoever examines it does.
    pub r#ref: Option<String>,
    /// The commit that the tag was set on, where that is on record; the first
    /// digits are enough. Tells whether the tag was moved.
    pub commit: Option<String>,
    /// What must not have changed since: files and folders, from the top of the
    /// repository.
    #[serde(default)]
    pub paths: Vec<String>,
}

/// What a report says beside the figures: each text is Markdown.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReportText {
    /// What may make the figures mean something else than they seem to.
    pub threats: Vec<String>,
    /// What was to be known before anything was measured.
    pub notes: Vec<String>,
    /// The commands that measure it again, a line each.
    pub reproduce: Vec<String>,
}

/// A prediction, and the query that judges it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hypothesis {
    /// Short name, such as S1.
    pub id: String,
    /// What is predicted.
    pub statement: String,
    /// File under `queries/hypotheses/`, without its folder.
    pub query: String,
    /// The runs that the query names beside the one that is judged.
    #[serde(default)]
    pub runs: Vec<String>,
}

impl Protocol {
    /// Reads a protocol file.
    ///
    /// # Errors
    /// If it cannot be read, is not TOML, has an unknown key, or a figure out
    /// of its range.
    pub fn read(path: &Path) -> Result<Self, ProtocolError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ProtocolError::Io { path: path.to_owned(), source })?;
        Self::parse(&text, &path.display().to_string())
    }

    /// Parses the text of a protocol file; `origin` names it in errors.
    ///
    /// # Errors
    /// As [`Protocol::read`].
    pub fn parse(text: &str, origin: &str) -> Result<Self, ProtocolError> {
        let protocol: Self = toml::from_str(text).map_err(|error| ProtocolError::Toml {
            origin: origin.to_owned(),
            message: error.to_string().trim_end().to_owned(),
        })?;
        if let Some((field, found, expected)) = protocol.out_of_range().into_iter().next() {
            return Err(ProtocolError::Range {
                origin: origin.to_owned(),
                field,
                found,
                expected: expected.to_owned(),
            });
        }
        Ok(protocol)
    }

    /// The figures out of their range, as (key, value, expected).
    pub(super) fn out_of_range(&self) -> Vec<(String, String, &'static str)> {
        let rule = self
            .rule
            .out_of_range()
            .map(|(field, found, expected)| (format!("rule.{field}"), found.to_string(), expected));
        let seconds = [
            ("window.warmup_seconds", self.window.warmup_seconds),
            ("window.measure_seconds", self.window.measure_seconds),
            ("window.drain_seconds", self.window.drain_seconds),
        ];
        let seconds = seconds.into_iter().filter_map(|(field, value)| {
            let value = value.filter(|value| !value.is_finite() || *value < 0.0)?;
            Some((field.to_owned(), value.to_string(), "0 or more seconds"))
        });
        let concurrencies = self.grid.concurrencies.iter().enumerate();
        let concurrencies = concurrencies
            .map(|(index, &value)| (format!("grid.concurrencies[{index}]"), Some(value)));
        let counts = [
            ("grid.repetitions".to_owned(), self.grid.repetitions),
            ("workload.maxrec".to_owned(), self.workload.maxrec),
            ("workload.generator_workers".to_owned(), self.workload.generator_workers),
        ];
        let counts = concurrencies.chain(counts).filter_map(|(field, value)| {
            let value = value.filter(|&value| value < 1)?;
            Some((field, value.to_string(), "1 or more"))
        });
        let weights = self.workload.mix.iter();
        let weights = weights.filter(|(_, weight)| !weight.is_finite() || **weight <= 0.0).map(
            |(class, weight)| (format!("workload.mix.{class}"), weight.to_string(), "above 0"),
        );
        rule.chain(seconds)
            .chain(counts)
            .chain(weights)
            .chain(self.measure.out_of_range())
            .collect()
    }

    /// The containers of a target: those under its own name, else those under
    /// its server's.
    pub fn containers_of(&self, target: &str, server: &str) -> Option<&Containers> {
        self.containers.get(target).or_else(|| self.containers.get(server))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_gives_the_defaults() {
        let protocol = Protocol::parse("", "p.toml").unwrap();
        assert_eq!(protocol.rule, Rule::default());
        assert_eq!(protocol, Protocol::default());
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line() {
        let error = Protocol::parse("[rule]\ntie_flor = 0.1\n", "p.toml").unwrap_err().to_string();
        assert!(error.starts_with("p.toml: "), "{error}");
        assert!(error.contains("line 2") && error.contains("tie_flor"), "{error}");
        assert!(error.contains("tie_floor"), "{error}");
    }

    #[test]
    fn a_figure_out_of_range_is_named() {
        for (text, field) in [
            ("[rule]\nconfidence = 1.0", "rule.confidence"),
            ("[rule]\ntie_floor = -0.1", "rule.tie_floor"),
            ("[rule]\nerror_ceiling = 2.0", "rule.error_ceiling"),
            ("[rule]\nguard_max = 0.0", "rule.guard_max"),
            ("[grid]\nconcurrencies = [8, 0]", "grid.concurrencies[1]"),
            ("[grid]\nrepetitions = 0", "grid.repetitions"),
            ("[window]\nmeasure_seconds = -1", "window.measure_seconds"),
            ("[workload]\nmaxrec = 0", "workload.maxrec"),
            ("[workload]\ngenerator_workers = 0", "workload.generator_workers"),
            ("[workload]\nmix = { Q01 = 0 }", "workload.mix.Q01"),
        ] {
            let error = Protocol::parse(text, "p.toml").unwrap_err().to_string();
            assert!(error.contains(&format!("`{field}`")), "{error}");
        }
    }

    #[test]
    fn containers_of_a_target_come_before_those_of_its_server() {
        let text = "[containers]\negernia = { members = [\"db\", \"api\"], api = \"api\" }\n\
                    egernia-one = { members = [\"one\"] }\n";
        let protocol = Protocol::parse(text, "p.toml").unwrap();
        let members = |target| protocol.containers_of(target, "egernia").unwrap().members.len();
        assert_eq!(members("egernia-one"), 1);
        assert_eq!(members("egernia-two"), 2);
        assert_eq!(protocol.containers_of("other", "other"), None);
    }
}
