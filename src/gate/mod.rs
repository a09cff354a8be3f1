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
use http::{Ask, Client, Limits, Tls};
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
    pub tls: Tls,
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
    pub rows: u64,
    /// Of the keys in their order; those of a query with TOP and without an
    /// order may be others next time.
    pub sha256: String,
}

impl Gates {
    /// The answers to probes on which all targets agreed, by query id.
    pub fn expected(&self) -> BTreeMap<String, Expected> {
        let probes = self.agreement.classes.values().flat_map(|class| &class.detail);
        let agreed = probes.filter(|probe| probe.same).filter_map(|probe| {
            let first = &probe.results.values().next()?.first;
            let expected = Expected { rows: first.rows?, sha256: first.sha256.clone()? };
            // Metadata agrees whatever it is.
            let same = |outcome: &agreement::Outcome| outcome.first.sha256 == first.sha256;
            probe.results.values().all(same).then(|| (probe.query_id.clone(), expected))
        });
        agreed.collect()
    }

    /// The name of the file: `gates.json`, or `t8-gates.json`.
    pub fn file_name(&self) -> String {
        self.tier
            .as_ref()
            .map_or_else(|| "gates.json".to_owned(), |tier| format!("t{tier}-gates.json"))
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
    let mut failures = Vec::new();
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
            failures
                .extend(vosi.problems.iter().map(|problem| format!("{}: {problem}", target.name)));
            gates.vosi = Some(vosi);
        }
        found.insert(target.name.clone(), gates);
    }
    let is_down = !failures.is_empty();
    for target in targets.iter().filter(|target| target.kind == TargetKind::Tap) {
        let Some(gates) = found.get_mut(&target.name) else { continue };
        let is_well = gates.vosi.as_ref().is_some_and(|vosi| vosi.problems.is_empty());
        let taplint = if is_well {
            lint(options, target, progress)?
        } else {
            Taplint::not_run("the service does not describe itself")
        };
        failures.extend(failure(&target.name, &taplint));
        gates.taplint = Some(taplint);
    }
    let agreement = if is_down {
        let not_run = Some("a target is not there, or does not describe itself".to_owned());
        Agreement { not_run, ..Agreement::default() }
    } else {
        agreement::run(&client, targets, corpus, options, progress)
    };
    for class in &agreement.disagreed {
        let reason = agreement.classes.get(class).and_then(|class| class.reasons.first());
        failures.push(format!("{class}: {}", reason.map_or("the answers differ", String::as_str)));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Gates {
        recorded_at: now.as_millis() as f64 / 1000.0,
        tier: options.tier.clone(),
        corpus_sha256: corpus.sha256.clone(),
        seed: options.seed,
        probes: options.probes,
        passed: failures.is_empty(),
        failures,
        targets: found,
        agreement,
    })
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
