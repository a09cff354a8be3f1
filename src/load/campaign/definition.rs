//! What a campaign is: protocol, targets, corpus, and the plan that they make.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::corpus::{Corpus, MIX};
use super::environment::{self, Git};
use super::error::CampaignError;
use super::gates::Gating;
use super::plan::{Plan, Selection};
use super::rung::{Times, request_timeout};
use super::shard::Shard;
use super::targets::{Kind, Target, Targets};
use crate::load::sampler::now;
use crate::protocol::check::{self, Severity};
use crate::protocol::{Mode, Order, Protocol};

/// What a campaign is made of, as the command line names it.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// The protocol file.
    pub protocol: PathBuf,
    /// The targets file, in place of the protocol's.
    pub targets: Option<PathBuf>,
    /// The corpus, in place of the protocol's.
    pub corpus: Option<PathBuf>,
    /// The label, in place of the protocol's.
    pub label: Option<String>,
    /// The part of the plan that is measured.
    pub selection: Selection,
    /// The share of the load that is sent from here.
    pub shard: Option<Shard>,
    /// How the gates are run.
    pub gating: Gating,
}

/// A campaign that can be measured.
#[derive(Debug)]
pub struct Campaign {
    /// The protocol.
    pub protocol: Protocol,
    /// The protocol file, byte for byte.
    pub text: String,
    /// The targets, those beside the grid's too.
    pub targets: Targets,
    /// The queries.
    pub corpus: Corpus,
    /// The part of the plan that is measured.
    pub plan: Plan,
    /// The last part of the run's id.
    pub label: String,
    /// The share of the load that is sent from here.
    pub shard: Option<Shard>,
    /// How the gates are run.
    pub gating: Gating,
    /// What may not be as it was meant.
    pub notes: Vec<String>,
    /// The state of the repository around the protocol.
    pub git: Option<Git>,
}

impl Campaign {
    /// Reads and checks everything that a campaign needs.
    ///
    /// # Errors
    /// The first thing that keeps it from being measured.
    pub fn read(inputs: &Inputs) -> Result<Self, CampaignError> {
        let path = &inputs.protocol;
        let origin = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(CampaignError::io(path))?;
        let protocol = Protocol::parse(&text, &origin)?;
        let wrong = |message: String| CampaignError::Plan { origin: origin.clone(), message };
        check_protocol(&text).map_err(wrong)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let file = |given: &Option<PathBuf>, own: &Option<PathBuf>, key: &str| {
            let own = || own.as_ref().map(|own| folder.join(own));
            let message = || format!("`measure.{key}` is missing: give it there, or as --{key}");
            given.clone().or_else(own).ok_or_else(|| wrong(message()))
        };
        let targets_path = file(&inputs.targets, &protocol.measure.targets, "targets")?;
        let corpus_path = file(&inputs.corpus, &protocol.measure.corpus, "corpus")?;
        let targets = Targets::read(&targets_path)?;
        let corpus = Corpus::read(&crate::corpus::file_of(&corpus_path))?;
        let git = Git::of(folder_of(path), &[path, &targets_path])?;
        let plan = Plan::of(&protocol).select(&inputs.selection);
        let label = inputs.label.clone().or_else(|| protocol.measure.label.clone());
        let label = label.or_else(|| protocol.name.clone()).unwrap_or_else(|| "tapstat".to_owned());
        let mut campaign = Self {
            protocol,
            text,
            targets,
            corpus,
            plan,
            label: fit(&label),
            shard: inputs.shard,
            gating: inputs.gating.clone(),
            notes: Vec::new(),
            git,
        };
        campaign.check(&inputs.selection).map_err(wrong)?;
        for name in &campaign.protocol.grid.targets {
            campaign.corpus.check(&campaign.protocol, (name, campaign.target(name)))?;
        }
        campaign.notes = campaign.notes();
        Ok(campaign)
    }

    /// Whether the gates come before what is timed.
    pub fn has_gates(&self) -> bool {
        self.protocol.measure.gates != Some(false)
    }

    /// A target of the grid.
    pub fn target(&self, name: &str) -> &Target {
        // The grid's names are checked against the file when it is read.
        &self.targets.target[name]
    }

    fn check(&self, selection: &Selection) -> Result<(), String> {
        let protocol = &self.protocol;
        let grid = &protocol.grid;
        let known = |name: &String, list: &[String]| list.contains(name);
        for name in &grid.targets {
            let Some(target) = self.targets.target.get(name) else {
                return Err(format!("`grid.targets` has `{name}`, which the targets file has not"));
            };
            self.check_target(name, target)?;
        }
        if Times::of(protocol).measure <= 0.0 {
            return Err("`window.measure_seconds` is missing: how long is a rung?".to_owned());
        }
        for (flag, wanted, list) in [
            ("--tier", &selection.tiers, &grid.tiers),
            ("--only", &selection.targets, &grid.targets),
            ("--classes", &selection.classes, &grid.classes),
        ] {
            if let Some(name) = wanted.iter().find(|name| !known(name, list)) {
                let has = if list.is_empty() { "none".to_owned() } else { list.join(", ") };
                return Err(format!("{flag} names `{name}`, which the grid has not: it has {has}"));
            }
        }
        if let Some(shard) = &self.shard
            && let Some(few) = grid.concurrencies.iter().find(|c| (**c as usize) < shard.n)
        {
            return Err(format!("{few} connections cannot be shared by {} hosts", shard.n));
        }
        Ok(())
    }

    fn check_target(&self, name: &str, target: &Target) -> Result<(), String> {
        let (protocol, formats) = (&self.protocol, &self.protocol.grid.formats);
        if target.kind == Kind::Tap {
            if protocol.workload.maxrec.is_none() {
                return Err("`workload.maxrec` is missing: every TAP request needs it".to_owned());
            }
            if formats.iter().any(|format| format == "-") {
                return Err(format!(
                    "`grid.formats` has `-`, but target `{name}` is a TAP service: \
                     every request needs a RESPONSEFORMAT"
                ));
            }
        } else {
            if protocol.measure.mode == Mode::Async {
                return Err(format!("target `{name}` is plain HTTP, which has no async mode"));
            }
            if formats.iter().any(|format| format != "-") {
                return Err(format!(
                    "target `{name}` is plain HTTP: expected `grid.formats` to be [\"-\"]"
                ));
            }
        }
        let Some(containers) = protocol.containers_of(name, target.server(name)) else {
            return Ok(());
        };
        let missing = containers.members.iter().find(|m| !target.containers.contains_key(*m));
        match missing {
            Some(member) if !target.containers.is_empty() => Err(format!(
                "`containers` says that `{member}` is part of target `{name}`, \
                 which the targets file does not sample"
            )),
            _ => Ok(()),
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let protocol = &self.protocol;
        for name in &protocol.grid.targets {
            let target = self.target(name);
            let stated = protocol.containers_of(name, target.server(name));
            match (target.containers.is_empty(), stated) {
                (false, None) => notes.push(format!(
                    "target `{name}` is sampled, but the protocol's [containers] does not say what \
                     it is made of: there will be no resource figures"
                )),
                (true, Some(_)) => notes.push(format!(
                    "target `{name}` has no containers in the targets file: nothing is sampled"
                )),
                _ => {}
            }
            if protocol.measure.order == Order::Blocks && target.hooks.stop.is_none() {
                notes.push(format!(
                    "target `{name}` has no stop hook: it stays up while others are measured"
                ));
            }
        }
        if let Some(git) = self.git.as_ref().filter(|git| git.dirty) {
            notes.push(format!(
                "the repository differs from its commit {}: `prereg` will prove nothing",
                &git.sha[..8]
            ));
        }
        notes
    }

    /// What the rungs and warm passes take by themselves, in seconds.
    pub fn expected_seconds(&self) -> f64 {
        let warm = self.plan.stages.iter().flat_map(|stage| &stage.targets);
        let warm: f64 = warm.filter_map(|name| self.target(name).hooks.warm_seconds).sum();
        self.plan.len() as f64 * Times::of(&self.protocol).planned() + warm
    }

    /// The longest that the rungs and warm passes can take, in seconds.
    pub fn longest_seconds(&self) -> f64 {
        self.expected_seconds() + self.plan.len() as f64 * Times::of(&self.protocol).drain
    }

    /// The settings that decide what is measured: those of `scenario` in the
    /// environment, which a resumed run must share.
    pub fn scenario(&self) -> Value {
        let (protocol, measure) = (&self.protocol, &self.protocol.measure);
        let (grid, times) = (&protocol.grid, Times::of(protocol));
        let rates: Vec<String> = measure.rates.iter().map(ToString::to_string).collect();
        json!({
            "targets": grid.targets, "tiers": grid.tiers, "classes": grid.classes,
            "formats": grid.formats, "concurrencies": grid.concurrencies,
            "repetitions": grid.repetitions,
            "warmup_seconds": times.warmup, "measure_seconds": times.measure,
            "drain_seconds": times.drain,
            "maxrec": protocol.workload.maxrec, "mix": protocol.workload.mix,
            "generator_workers": protocol.workload.generator_workers,
            "mode": measure.mode, "loop": measure.r#loop, "rates": rates,
            "spacing": measure.spacing, "connections": measure.connections,
            "streams": measure.streams.unwrap_or(1), "cpus": measure.cpus,
            "request_timeout_seconds": request_timeout(protocol),
            "check_every": measure.check_every,
            "order": measure.order, "target_order": measure.target_order,
            "guard_max": protocol.rule.guard_max, "error_ceiling": protocol.rule.error_ceiling,
        })
    }

    /// What `environment.json` says at the start.
    pub fn environment(&self) -> Value {
        let grid = &self.protocol.grid;
        let targets = grid.targets.iter();
        let targets: serde_json::Map<String, Value> =
            targets.map(|name| (name.clone(), self.target(name).description(name))).collect();
        let mut environment = json!({
            "git": self.git, "host": environment::host(), "recorded_at": now(),
            "tapstat": {"version": crate::VERSION, "revision": crate::REVISION},
            "seed": self.protocol.measure.seed.unwrap_or_default(),
            "corpus_sha256": self.corpus.sha256,
            "scenario": {self.label.clone(): self.scenario()},
            "target": targets,
            "tier_mode": if grid.tiers.is_empty() { "flat" } else { "tiered" },
            "tiers": grid.tiers,
        });
        if let Some(sha256) = &self.protocol.measure.dataset_sha256 {
            environment["dataset_sha256"] = sha256.as_str().into();
        }
        if let Some(shard) = &self.shard {
            environment["shard"] = json!(shard);
        }
        environment
    }
}

/// Refuses a protocol that has any problem, and names them all.
fn check_protocol(text: &str) -> Result<(), String> {
    // Whether a hypothesis has its query matters when it is judged.
    let checked = check::check(text, |_| true, None);
    let problems: Vec<String> = checked
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Problem)
        .map(|finding| {
            let line = finding.line.map(|line| format!("line {line}: ")).unwrap_or_default();
            format!("{line}`{}` {}", finding.key, finding.message)
        })
        .collect();
    if !problems.is_empty() {
        return Err(problems.join("; "));
    }
    if checked.protocol.grid.targets.is_empty() {
        return Err("`grid` is missing: there is nothing to measure".to_owned());
    }
    let mix = &checked.protocol.workload.mix;
    if mix.is_empty() && checked.protocol.grid.classes.iter().any(|class| class == MIX) {
        return Err("`workload.mix` is missing: what is the class `mix` a mix of?".to_owned());
    }
    Ok(())
}

/// A label that can end a run's id.
fn fit(label: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    label.chars().map(fits).collect()
}

/// The folder that a file lies in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
