//! The gates of a stage: what must hold of its targets before they are timed,
//! and what the answers that they agreed on mean for the rungs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use super::corpus::MIX;
use super::definition::Campaign;
use super::error::CampaignError;
use super::journal::Journal;
use super::plan::{Planned, Stage};
use super::targets::{Kind, Target};
use crate::answer::Format;
use crate::gate::http::Reach;
use crate::gate::{self, Expected, GateTarget, Gates, Options, Stilts, TargetKind};
use crate::load::Workload;
use crate::load::spec::TlsOptions;
use crate::load::workload::{Expect, Prepared};
use crate::protocol::Protocol;

/// How the gates of a campaign are run.
#[derive(Debug, Clone)]
pub struct Gating {
    /// Where taplint comes from.
    pub stilts: Stilts,
    /// Queries of each class that are compared.
    pub probes: usize,
    /// Whether targets that fail are measured all the same.
    pub allow_failures: bool,
}

impl Default for Gating {
    fn default() -> Self {
        let Options { stilts, probes, .. } = Options::default();
        Self { stilts, probes, allow_failures: false }
    }
}

/// A target as the gates take it; paths start from `folder`.
pub fn gate_target(name: &str, target: &Target, folder: &Path) -> GateTarget {
    GateTarget {
        name: name.to_owned(),
        server: target.server(name).to_owned(),
        base_url: target.base_url.clone(),
        kind: match target.kind {
            Kind::Tap => TargetKind::Tap,
            Kind::Http => TargetKind::Http,
        },
        headers: target.headers.clone(),
        reach: Reach {
            tls: TlsOptions {
                roots: target.tls.ca.as_ref().map(|path| folder.join(path)),
                server_name: target.tls.server_name.clone(),
                insecure: target.tls.insecure,
            },
            unix_socket: target.unix_socket.as_ref().map(|path| folder.join(path)),
        },
    }
}

/// What the gates mean for the rungs of a stage.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Passed {
    /// Classes that are not timed: their answers differ.
    left_out: BTreeSet<String>,
    /// What was answered to a query, by its id.
    expected: BTreeMap<String, Expected>,
    maxrec: Option<u64>,
}

impl Passed {
    fn of(gates: &Gates, protocol: &Protocol) -> Self {
        let mut left_out: BTreeSet<String> = gates.agreement.disagreed.iter().cloned().collect();
        if protocol.workload.mix.keys().any(|class| left_out.contains(class)) {
            left_out.insert(MIX.to_owned());
        }
        let maxrec = protocol.workload.maxrec.and_then(|maxrec| u64::try_from(maxrec).ok());
        Self { left_out, expected: gates.expected(), maxrec }
    }

    /// Whether a rung is not timed, since its class's answers differ.
    pub fn leaves_out(&self, rung: &Planned) -> bool {
        self.left_out.contains(&rung.key.query_class)
    }

    /// Has checked bodies compared with what the gates saw, where the corpus does
    /// not say what is expected.
    pub fn expect(&self, workload: &mut Workload) {
        workload.expect(|request: &Prepared| {
            let known = self.expected.get(&request.query_id)?;
            let rows = known.rows.map(|rows| self.maxrec.map_or(rows, |most| rows.min(most)));
            // The digest of a table is that of its keys, in an order of their own.
            let sha256 = known.status.is_some().then(|| known.sha256.clone());
            Some(Expect { status: known.status, sha256, rows })
        });
    }
}

/// What gates in the run directory mean for a stage: those of an earlier part of
/// the measurement count if all its targets were seen and nothing kept them from
/// being timed, or they were timed all the same. None if they are to be run.
pub fn kept(
    campaign: &Campaign,
    journal: &Journal,
    stage: &Stage,
) -> Result<Option<Passed>, CampaignError> {
    let Some(gates) = Gates::read(journal.path(), stage.tier.as_deref())? else { return Ok(None) };
    let has_all = stage.targets.iter().all(|target| gates.targets.contains_key(target));
    let was_timed = journal
        .done()
        .iter()
        .any(|done| done.key.tier == stage.tier && stage.targets.contains(&done.key.target));
    let counts = has_all && (was_timed || gates.refusals(&stage.targets).is_empty());
    Ok(counts.then(|| Passed::of(&gates, &campaign.protocol)))
}

/// Runs the gates of a stage whose targets are up, and writes what they found.
///
/// # Errors
/// If they cannot be run, or refuse the measurement.
pub fn run(
    campaign: &Campaign,
    journal: &Journal,
    stage: &Stage,
    say: &mut dyn FnMut(&str),
) -> Result<Passed, CampaignError> {
    let found = found(campaign, journal, stage, say)?;
    let path = found.write(journal.path())?;
    let file = found.file_name();
    let event = |detail: Value| {
        let mut detail = detail;
        detail["tier"] = json!(stage.tier);
        detail["file"] = json!(file);
        journal.event("gate", None, detail)
    };
    let refusals = found.refusals(&stage.targets);
    let passed = Passed::of(&found, &campaign.protocol);
    let mut rungs = stage.blocks.iter().flat_map(|block| &block.rungs);
    if rungs.all(|rung| passed.leaves_out(rung)) {
        return Err(CampaignError::Gates { path, failures: found.failures, allowable: false });
    }
    if !refusals.is_empty() && !campaign.gating.allow_failures {
        return Err(CampaignError::Gates { path, failures: refusals, allowable: true });
    }
    if found.passed && found.agreement.not_run.is_none() {
        event(json!({"passed": true, "message": "all gates are passed"}))?;
    }
    if !refusals.is_empty() {
        let message = format!("measured although gates failed: {}", refusals.join("; "));
        say(&format!("deviation: {message}"));
        event(json!({"deviation": true, "message": message, "failures": refusals}))?;
    }
    if let Some(reason) = &found.agreement.not_run {
        let message = format!("whether targets agree was not judged: {reason}");
        event(json!({"deviation": true, "message": message}))?;
    }
    for class in &passed.left_out {
        let reasons = found.agreement.classes.get(class).map(|class| class.reasons.clone());
        let reasons = reasons.unwrap_or_else(|| vec!["a class that it mixes disagrees".to_owned()]);
        let message = format!("{class} is left out of what is timed: {}", reasons.join("; "));
        say(&message);
        event(json!({"left_out": class, "message": message, "reasons": reasons}))?;
    }
    Ok(passed)
}

fn found(
    campaign: &Campaign,
    journal: &Journal,
    stage: &Stage,
    say: &mut dyn FnMut(&str),
) -> Result<Gates, CampaignError> {
    let protocol = &campaign.protocol;
    let folder = &campaign.targets.folder;
    let targets: Vec<GateTarget> =
        stage.targets.iter().map(|name| gate_target(name, campaign.target(name), folder)).collect();
    let mut corpus = crate::corpus::Corpus::read(campaign.corpus.path())?;
    let mixed = protocol.workload.mix.keys();
    let classes: BTreeSet<&String> = protocol.grid.classes.iter().chain(mixed).collect();
    corpus.queries.retain(|query| classes.contains(&query.query_class));
    let mut formats: Vec<Format> =
        protocol.grid.formats.iter().filter_map(|format| Format::named(format)).collect();
    if formats.is_empty() {
        formats = Options::default().formats;
    }
    let seed = protocol.measure.seed.and_then(|seed| u64::try_from(seed).ok());
    let options = Options {
        tier: stage.tier.clone(),
        seed: seed.unwrap_or(crate::corpus::SEED),
        probes: campaign.gating.probes,
        formats,
        folder: Some(journal.path().to_owned()),
        stilts: campaign.gating.stilts.clone(),
        ..Options::default()
    };
    let mut gates = gate::run(&targets, &corpus, &options, &mut |what| {
        say(&format!("gates: {what}"));
    })?;
    // Of one target that is up alone, nobody can say whether it agrees with others.
    if stage.targets.len() < protocol.grid.targets.len() {
        let up = stage.targets.join(", ");
        let all = protocol.grid.targets.join(", ");
        let before = Gates::read(journal.path(), stage.tier.as_deref())?;
        let before = before.unwrap_or_else(|| gates.clone());
        gates.take_in(before, format!("{up} was up without the others of {all}"));
    }
    Ok(gates)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::load::campaign::{Corpus, Targets};

    const CORPUS: &str = r#"{"query_id": "a", "query_class": "Q", "adql": "SELECT 1", "rows_min": 7, "rows_max": 7}
{"query_id": "b", "query_class": "Q", "adql": "SELECT 2", "rows_min": 1, "rows_max": 30}
{"query_id": "c", "query_class": "Q", "adql": "SELECT 3", "rows_min": 1, "rows_max": 30}
{"query_id": "d", "query_class": "Q", "adql": "SELECT 4", "expect": {"rows": 2}}
"#;

    #[test]
    fn the_corpus_says_what_is_expected_or_else_the_gates_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("corpus.jsonl");
        std::fs::write(&path, CORPUS).unwrap();
        let corpus = Corpus::read(&path).unwrap();
        let protocol = Protocol::parse("[workload]\nmaxrec = 5\n", "p").unwrap();
        let targets = "[target.t]\nbase_url = \"http://localhost/tap\"\n".to_owned();
        let targets = Targets::parse(targets, "t", Path::new(".")).unwrap();
        let workload = corpus.workload(&protocol, ("t", &targets.target["t"]), "Q", "csv");
        let mut workload = Arc::unwrap_or_clone(workload.unwrap());
        let seen = |rows| Expected { rows: Some(rows), status: None, sha256: "00".into() };
        let expected = [("a", 9), ("b", 4), ("c", 20), ("d", 9)];
        let expected = expected.map(|(id, rows)| (id.to_owned(), seen(rows)));
        let passed =
            Passed { maxrec: Some(5), expected: BTreeMap::from(expected), ..Passed::default() };
        passed.expect(&mut workload);
        let rows: Vec<_> = workload.requests().iter().map(|one| one.expect.rows).collect();
        // No answer has more rows than MAXREC.
        assert_eq!(rows, [Some(5), Some(4), Some(5), Some(2)]);
        // The digest of a table is not that of a body.
        assert!(workload.requests().iter().all(|one| one.expect.sha256.is_none()));
    }
}
