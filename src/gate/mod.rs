//! The gates: what must hold before anything is timed.
//!
//! Each TAP target describes itself ([`vosi`]), passes a validator that no one
//! here wrote ([`taplint`]), and gives the answers that the others give
//! ([`agreement`]). All targets are up for it, one tier at a time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

pub mod agreement;
pub mod compare;
pub mod http;
pub mod taplint;
pub mod vosi;

#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;

use agreement::Agreement;
use http::{Ask, Client, Limits, Reach};
use taplint::Taplint;
use vosi::Vosi;

use crate::answer::Format;
use crate::corpus::{Corpus, SEED};

/// The folders of what is kept beside `gates.json`.
const CAPABILITIES: &str = "capabilities";
const TAPLINT: &str = "taplint";

/// What a target speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    #[default]
    Tap,
    Http,
}

/// A target that is to be looked at.
#[derive(Debug, Clone, Default)]
pub struct GateTarget {
    pub name: String,
    /// The software that it runs.
    pub server: String,
    /// Of a TAP service, the URL that `/sync` is appended to.
    pub base_url: String,
    pub kind: TargetKind,
    /// Of every request.
    pub headers: BTreeMap<String, String>,
    /// How it is reached, and its certificate judged.
    pub reach: Reach,
}

impl GateTarget {
    fn base(&self) -> &str {
        self.base_url.trim_end_matches('/')
    }

    /// A request with the target's own headers.
    fn ask(&self, mut ask: Ask) -> Ask {
        ask.headers.extend(self.headers.clone());
        ask
    }
}

/// Where taplint comes from.
#[derive(Debug, Clone)]
pub enum Stilts {
    /// This program.
    At(PathBuf),
    /// It is not run, for this reason.
    NotRun(String),
}

/// How the gates are run.
#[derive(Debug, Clone)]
pub struct Options {
    pub tier: Option<String>,
    /// Of the choice of probes.
    pub seed: u64,
    /// Probes of each class.
    pub probes: usize,
    /// The formats that each probe is asked for in.
    pub formats: Vec<Format>,
    /// The folder for documents and reports; none keeps nothing.
    pub folder: Option<PathBuf>,
    pub stilts: Stilts,
    /// Of one answer.
    pub limits: Limits,
    /// Of one run of taplint.
    pub taplint_limit: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tier: None,
            seed: SEED,
            probes: 5,
            formats: vec![Format::Csv, Format::Votable],
            folder: None,
            stilts: Stilts::NotRun("it was not asked for".to_owned()),
            limits: Limits::default(),
            taplint_limit: Duration::from_secs(900),
        }
    }
}

/// Why the gates could not be run at all.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    #[error("no target")]
    NoTarget,
    #[error("`{0}` cannot be part of a file's name: expected letters, digits, `-`, `_` and `.`")]
    Name(String),
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path}: not what the gates write: {source}")]
    File { path: PathBuf, source: serde_json::Error },
    #[error("the HTTP client cannot be started: {0}")]
    Client(std::io::Error),
}

/// What was found, in the form of `gates.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gates {
    /// Unix seconds.
    pub recorded_at: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// Of the queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corpus_sha256: Option<String>,
    pub seed: u64,
    pub probes: usize,
    pub passed: bool,
    /// What does not hold, one sentence each.
    pub failures: Vec<String>,
    pub targets: BTreeMap<String, TargetGates>,
    pub agreement: Agreement,
}

/// What was found about a target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetGates {
    pub server: String,
    pub kind: TargetKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vosi: Option<Vosi>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taplint: Option<Taplint>,
}

/// The answer that all targets gave to a query, for checks of later answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Of a table.
    pub rows: Option<u64>,
    /// Of a document.
    pub status: Option<u16>,
    /// Of a document, or of a table's keys in their order; those of a query with
    /// TOP and without an order may be others next time.
    pub sha256: String,
}

impl Gates {
    /// The answers to probes on which all targets agreed, by query id.
    pub fn expected(&self) -> BTreeMap<String, Expected> {
        let probes = self.agreement.classes.values().flat_map(|class| &class.detail);
        let agreed = probes.filter(|probe| probe.same).filter_map(|probe| {
            let first = &probe.results.values().next()?.first;
            let sha256 = first.sha256.clone()?;
            let expected = Expected { rows: first.rows, status: first.status, sha256 };
            // Metadata agrees whatever it is.
            let same = |outcome: &agreement::Outcome| outcome.first.sha256 == first.sha256;
            probe.results.values().all(same).then(|| (probe.query_id.clone(), expected))
        });
        agreed.collect()
    }

    /// What is wrong with these targets, whatever they answer to queries: a
    /// comparison with them is refused for it.
    pub fn refusals(&self, targets: &[String]) -> Vec<String> {
        let known = targets.iter().filter_map(|name| Some((name, self.targets.get(name)?)));
        known.flat_map(|(name, gates)| gates.failures(name)).collect()
    }

    /// Takes in what was found about targets that were up at another time. Whether
    /// their answers are those of the others was not looked at, and is not said.
    pub fn take_in(&mut self, earlier: Self, not_judged: String) {
        for (name, gates) in earlier.targets {
            self.targets.entry(name).or_insert(gates);
        }
        let agreement = &mut self.agreement;
        for (class, found) in earlier.agreement.classes {
            agreement.classes.entry(class).or_insert(found);
        }
        agreement.classes.retain(|_, found| !found.agrees);
        agreement.disagreed = agreement.classes.keys().cloned().collect();
        agreement.agreed.clear();
        agreement.other_values.clear();
        agreement.not_run = Some(not_judged);
        self.sum_up();
    }

    /// Says what does not hold.
    fn sum_up(&mut self) {
        let of_targets = self.targets.iter().flat_map(|(name, gates)| gates.failures(name));
        let of_classes = self.agreement.disagreed.iter().map(|class| {
            let reason = self.agreement.classes.get(class).and_then(|class| class.reasons.first());
            format!("{class}: {}", reason.map_or("the answers differ", String::as_str))
        });
        self.failures = of_targets.chain(of_classes).collect();
        self.passed = self.failures.is_empty();
    }

    /// The name of the file: `gates.json`, or `t8-gates.json`.
    pub fn file_name(&self) -> String {
        file_name(self.tier.as_deref())
    }

    /// Reads the file of a tier in a folder; none if it is not there.
    ///
    /// # Errors
    /// If it cannot be read, or is none of this program's.
    pub fn read(folder: &Path, tier: Option<&str>) -> Result<Option<Self>, GateError> {
        let path = folder.join(file_name(tier));
        let bytes = match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(io(&path))?,
        };
        let gates = serde_json::from_slice(&bytes);
        gates.map(Some).map_err(|source| GateError::File { path, source })
    }

    /// Writes the file into a folder, and gives its path.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, GateError> {
        let path = folder.join(self.file_name());
        let mut text = serde_json::to_string_pretty(self).expect("names, texts and finite numbers");
        text.push('\n');
        make(folder)?;
        std::fs::write(&path, text).map_err(io(&path))?;
        Ok(path)
    }
}

impl TargetGates {
    /// What is wrong with the target of that name, one sentence each.
    fn failures(&self, name: &str) -> Vec<String> {
        let problems = self.vosi.iter().flat_map(|vosi| &vosi.problems);
        let problems = problems.map(|problem| format!("{name}: {problem}"));
        let taplint = self.taplint.as_ref().and_then(|taplint| failure(name, taplint));
        problems.chain(taplint).collect()
    }
}

fn file_name(tier: Option<&str>) -> String {
    tier.map_or_else(|| "gates.json".to_owned(), |tier| format!("t{tier}-gates.json"))
}

/// Runs all gates. `progress` is told what is being looked at.
///
/// # Errors
/// If there is no target, or something cannot be written. Whatever is wrong
/// with a target is in the answer.
pub fn run(
    targets: &[GateTarget],
    corpus: &Corpus,
    options: &Options,
    progress: &mut dyn FnMut(&str),
) -> Result<Gates, GateError> {
    if targets.is_empty() {
        return Err(GateError::NoTarget);
    }
    // Both are parts of the names of files.
    for name in targets.iter().map(|target| &target.name).chain(&options.tier) {
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.starts_with('.') || !name.chars().all(fits) {
            return Err(GateError::Name(name.clone()));
        }
    }
    let client = Client::new(options.limits).map_err(GateError::Client)?;
    let mut found = BTreeMap::new();
    for target in targets {
        let mut gates = TargetGates {
            server: target.server.clone(),
            kind: target.kind,
            ..TargetGates::default()
        };
        if target.kind == TargetKind::Tap {
            progress(&format!("{}: service description", target.name));
            let (vosi, documents) = vosi::ask(&client, target);
            keep(options, target, &documents)?;
            gates.vosi = Some(vosi);
        }
        found.insert(target.name.clone(), gates);
    }
    let is_down = found
        .values()
        .any(|gates| gates.vosi.as_ref().is_some_and(|vosi: &Vosi| !vosi.problems.is_empty()));
    for target in targets.iter().filter(|target| target.kind == TargetKind::Tap) {
        let Some(gates) = found.get_mut(&target.name) else { continue };
        let is_well = gates.vosi.as_ref().is_some_and(|vosi| vosi.problems.is_empty());
        let taplint = if is_well {
            lint(options, target, progress)?
        } else {
            Taplint::not_run("the service does not describe itself")
        };
        gates.taplint = Some(taplint);
    }
    let agreement = if is_down {
        let not_run = Some("a target is not there, or does not describe itself".to_owned());
        Agreement { not_run, ..Agreement::default() }
    } else {
        agreement::run(&client, targets, corpus, options, progress)
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut gates = Gates {
        recorded_at: now.as_millis() as f64 / 1000.0,
        tier: options.tier.clone(),
        corpus_sha256: corpus.sha256.clone(),
        seed: options.seed,
        probes: options.probes,
        passed: false,
        failures: Vec::new(),
        targets: found,
        agreement,
    };
    gates.sum_up();
    Ok(gates)
}

/// What a target's taplint means for the comparison.
fn failure(target: &str, taplint: &Taplint) -> Option<String> {
    if let Some(reason) = &taplint.not_run {
        return Some(format!("{target}: taplint was not run: {reason}"));
    }
    let errors = taplint.errors_blocking.filter(|errors| *errors > 0)?;
    let stages: Vec<String> = taplint::BLOCKING
        .iter()
        .filter_map(|stage| {
            let errors = taplint.by_stage.get(*stage)?.get("E")?;
            Some(format!("{errors} in {stage}"))
        })
        .collect();
    let plural = if errors == 1 { "" } else { "s" };
    Some(format!("{target}: taplint finds {errors} error{plural}: {}", stages.join(", ")))
}

/// The start of the names of files about a target.
fn prefix(options: &Options, target: &GateTarget) -> String {
    let tier = options.tier.as_ref().map_or_else(String::new, |tier| format!("t{tier}-"));
    format!("{tier}{}", target.name)
}

fn keep(
    options: &Options,
    target: &GateTarget,
    documents: &[vosi::Document],
) -> Result<(), GateError> {
    let Some(folder) = &options.folder else { return Ok(()) };
    let folder = folder.join(CAPABILITIES);
    make(&folder)?;
    for document in documents {
        let path = folder.join(format!("{}-{}.xml", prefix(options, target), document.name));
        std::fs::write(&path, &document.body).map_err(io(&path))?;
    }
    Ok(())
}

fn lint(
    options: &Options,
    target: &GateTarget,
    progress: &mut dyn FnMut(&str),
) -> Result<Taplint, GateError> {
    let stilts = match &options.stilts {
        Stilts::NotRun(reason) => return Ok(Taplint::not_run(reason.clone())),
        Stilts::At(path) => path,
    };
    progress(&format!("{}: taplint, which takes a minute", target.name));
    let name = format!("{}.txt", prefix(options, target));
    let scratch = tempfile::tempdir().map_err(io(Path::new("the folder for scratch files")))?;
    let folder = match &options.folder {
        Some(folder) => folder.join(TAPLINT),
        None => scratch.path().to_owned(),
    };
    make(&folder)?;
    let report = folder.join(&name);
    let ran = taplint::run(stilts, target.base(), &report, options.taplint_limit);
    let mut taplint = ran.map_err(io(stilts))?;
    if options.folder.is_some() {
        taplint.report = Some(format!("{TAPLINT}/{name}"));
    }
    Ok(taplint)
}

fn make(folder: &Path) -> Result<(), GateError> {
    std::fs::create_dir_all(folder).map_err(io(folder))
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> GateError {
    let path = path.to_owned();
    |source| GateError::Io { path, source }
}
