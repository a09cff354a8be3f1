//! What a report is made of, as a session's views give it.

use std::collections::BTreeMap;

use super::super::cells::{self, CellRow};
use super::super::resources::{self, ResourceRow};
use super::super::verdicts::{VerdictRow, read_verdicts};
use super::super::{Difference, ReportError, Stamp, View};
use super::model::Drawn;
use crate::protocol::Selected;
use crate::protocol::prereg::Examination;
use crate::raw::InputFile;
use crate::sql::hypotheses::Judgement;
use crate::sql::{Session, SqlError};
use crate::store::Manifest;

/// The order of cells.
const PLACES: &str = "try_cast(tier AS DOUBLE), tier, response_format, query_class, concurrency, \
                      mode, loop, offered_rps, instances, loops";

/// A report that cannot be made, and why.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// A view could not be asked.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// A table could not be made.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// A run that the session does not have.
    #[error("run {0} is not in the store")]
    NoRun(String),
}

/// What is known of the pre-registration.
#[derive(Debug)]
pub enum Registration {
    /// It was looked at.
    Examined(Box<Examination>),
    /// Nobody named the repository that the protocol was committed to.
    NoRepository,
    /// The protocol names no tag and no commit.
    NoReference,
}

/// Another run that the report sets beside its own.
#[derive(Debug)]
pub struct Beside {
    /// The other run.
    pub run: String,
    /// In what the two differ: the one that was there first is A.
    pub differences: Vec<Difference>,
    /// The figure of the two, if it was asked for.
    pub figure: Option<Drawn>,
}

/// What the views do not say.
#[derive(Debug)]
pub struct Extras {
    /// Runs that this one may reproduce.
    pub against: Vec<Beside>,
    /// Runs that measured the same by other apparatus.
    pub shift: Vec<Beside>,
    /// The predictions, judged.
    pub judgements: Vec<Judgement>,
    /// The pre-registration.
    pub registration: Registration,
    /// The figures.
    pub figures: Vec<Drawn>,
    /// The command that makes the report, without its output.
    pub command: String,
}

/// A run beside the one that is reported.
pub(super) struct Pairing {
    pub beside: Beside,
    /// `reproduce` or `shift` of the two.
    pub rows: View,
    /// The verdicts of the other run, for `shift`.
    pub results: Option<Results>,
}

/// What was measured in one run.
pub(super) struct Results {
    pub cells: Vec<CellRow>,
    pub verdicts: Vec<VerdictRow>,
    pub rungs: View,
}

/// Everything that a report says.
pub struct Data {
    pub(super) run: String,
    pub(super) selected: Selected,
    pub(super) manifest: Manifest,
    /// Stamps of the run and of those beside it, its own first.
    pub(super) stamps: Vec<Stamp>,
    /// The files that each run was made from, its own first.
    pub(super) inputs: Vec<(String, Vec<InputFile>)>,
    pub(super) targets: BTreeMap<String, Vec<String>>,
    pub(super) servers: Vec<(String, String)>,
    pub(super) facts: View,
    pub(super) results: Results,
    pub(super) missing: Vec<String>,
    pub(super) gates: View,
    pub(super) agreement: View,
    pub(super) resources: Vec<ResourceRow>,
    pub(super) latency: View,
    pub(super) tier_changes: View,
    pub(super) cost: View,
    pub(super) responses: View,
    /// What each rung asked of the generator.
    pub(super) loads: View,
    pub(super) scaling: View,
    pub(super) sweep: View,
    pub(super) bursts: View,
    pub(super) classes: View,
    pub(super) anomalies: View,
    pub(super) events: View,
    pub(super) robustness: View,
    /// Names and texts of the notes that the run brought.
    pub(super) notes: Vec<(String, String)>,
    pub(super) protocol: View,
    pub(super) against: Vec<Pairing>,
    pub(super) shift: Vec<Pairing>,
    pub(super) judgements: Vec<Judgement>,
    pub(super) registration: Registration,
    pub(super) figures: Vec<Drawn>,
    pub(super) command: String,
}

impl Data {
    /// Asks a session for all of it. `stamps` are those of the session's runs,
    /// as the report is to print them.
    ///
    /// # Errors
    /// If the run is not there, or a view cannot be asked.
    pub fn read(
        session: &Session,
        run: &str,
        stamps: &[Stamp],
        extras: Extras,
    ) -> Result<Self, DocumentError> {
        let no_run = || DocumentError::NoRun(run.to_owned());
        let judged = session.judged().iter().find(|judged| judged.run == run).ok_or_else(no_run)?;
        let manifest = session.store().manifest(run).ok_or_else(no_run)?;
        let Extras { against, shift, judgements, registration, figures, command } = extras;
        let mut runs = vec![run.to_owned()];
        for beside in against.iter().chain(&shift) {
            if !runs.contains(&beside.run) {
                runs.push(beside.run.clone());
            }
        }
        let of = |run: &String| stamps.iter().find(|stamp| stamp.run == *run).cloned();
        let inputs =
            |run: &String| Some((run.clone(), session.store().manifest(run)?.inputs.clone()));
        let targets = session
            .judged()
            .iter()
            .map(|judged| (judged.run.clone(), judged.targets.keys().cloned().collect::<Vec<_>>()));
        let notes = ask(session, "notes", run, "name")?;
        Ok(Self {
            run: run.to_owned(),
            selected: judged.selected.clone(),
            manifest: manifest.clone(),
            stamps: runs.iter().filter_map(of).collect(),
            inputs: runs.iter().filter_map(inputs).collect(),
            targets: targets.collect(),
            servers: session
                .judged()
                .iter()
                .filter(|judged| runs.contains(&judged.run))
                .flat_map(|judged| judged.targets.clone())
                .collect(),
            facts: ask(session, "runs", run, "run")?,
            results: Results::read(session, run)?,
            missing: ask(
                session,
                "missing_cells",
                run,
                "try_cast(tier AS DOUBLE), tier, response_format, query_class, concurrency, target",
            )?
            .names("cell")?,
            gates: ask(session, "gates", run, "try_cast(tier AS DOUBLE), tier, target")?,
            agreement: ask(
                session,
                "agreement",
                run,
                "try_cast(tier AS DOUBLE), tier, query_class",
            )?,
            resources: resources::read(&ask(
                session,
                "resource_cells",
                run,
                &format!("{PLACES}, target"),
            )?)?,
            latency: ask(session, "latency_cells", run, &format!("{PLACES}, target"))?,
            tier_changes: ask(
                session,
                "tier_changes",
                run,
                "server, target, try_cast(from_tier AS DOUBLE), from_tier, response_format, \
                 query_class, concurrency, mode, loop, offered_rps, instances, loops",
            )?,
            cost: ask(session, "client_cost", run, "target")?,
            responses: query(
                session,
                "rungs",
                &format!(
                    "SELECT query_class, avg(mean_response_bytes) AS bytes \
                     FROM rungs WHERE run = '{run}' AND mean_response_bytes IS NOT NULL \
                     GROUP BY query_class ORDER BY query_class"
                ),
            )?,
            loads: query(
                session,
                "rungs",
                &format!(
                    "SELECT target, rung, rps, mean_response_bytes, generator_workers \
                     FROM rungs WHERE run = '{run}' AND mean_response_bytes IS NOT NULL \
                     AND generator_workers > 0 ORDER BY target, rung"
                ),
            )?,
            scaling: ask(
                session,
                "instance_scaling",
                run,
                "try_cast(tier AS DOUBLE), tier, target, response_format, query_class, \
                 concurrency, instances, loops",
            )?,
            sweep: ask(
                session,
                "sweep",
                run,
                "try_cast(tier AS DOUBLE), tier, target, response_format, query_class, concurrency",
            )?,
            bursts: ask(
                session,
                "bursts",
                run,
                "target, try_cast(tier AS DOUBLE), tier, response_format, mode, offered_rps, \
                 query_class, concurrency, burst",
            )?,
            classes: ask(
                session,
                "classify",
                run,
                "try_cast(tier AS DOUBLE), tier, target, response_format, query_class, \
                 concurrency, mode, loop, offered_rps",
            )?,
            anomalies: ask(session, "anomalies", run, "kind, rung")?,
            events: ask(session, "events", run, "t, kind, rung, detail")?,
            robustness: ask(session, "verdict_robustness", run, PLACES)?,
            notes: notes.names("name")?.into_iter().zip(notes.names("text")?).collect(),
            protocol: ask(session, "protocols", run, "source")?,
            against: pairings(session, against, |other| {
                ("reproduce", format!("reproduce('{other}', '{run}')"))
            })?,
            shift: pairings(session, shift, |other| {
                ("shift", format!("shift('{run}', '{other}')"))
            })?,
            judgements,
            registration,
            figures,
            command,
        })
    }

    /// The stamp of the run itself.
    pub(super) fn stamp(&self) -> Option<&Stamp> {
        self.stamps.iter().find(|stamp| stamp.run == self.run)
    }

    /// Whether the report shows any figure.
    pub fn has_pictures(&self) -> bool {
        let of_pairs = self.against.iter().filter_map(|pairing| pairing.beside.figure.as_ref());
        self.figures.iter().chain(of_pairs).any(|drawn| matches!(drawn, Drawn::Picture(_)))
    }

    /// The figure of that name, or why there is none.
    pub(super) fn figure(&self, name: &str) -> Option<&Drawn> {
        self.figures.iter().find(|drawn| drawn.name() == name)
    }

    /// The tiers of the run in their order; one that is none where it has none.
    pub(super) fn tiers(&self) -> Vec<Option<String>> {
        let tiers = &self.manifest.contents.tiers;
        if tiers.is_empty() { vec![None] } else { tiers.iter().cloned().map(Some).collect() }
    }
}

impl Results {
    fn read(session: &Session, run: &str) -> Result<Self, DocumentError> {
        Ok(Self {
            cells: cells::read(&ask(session, "cells", run, &format!("{PLACES}, target"))?)?,
            verdicts: read_verdicts(&ask(session, "verdicts", run, PLACES)?)?,
            rungs: ask(session, "judged_rungs", run, &format!("{PLACES}, target, repetition"))?,
        })
    }
}

fn pairings(
    session: &Session,
    all: Vec<Beside>,
    function: impl Fn(&str) -> (&'static str, String),
) -> Result<Vec<Pairing>, DocumentError> {
    let pairings = all.into_iter().map(|beside| {
        let (name, call) = function(&beside.run);
        let order = match name {
            "reproduce" => "server, target_a, try_cast(tier_a AS DOUBLE), tier_a",
            _ => "server, target_a, try_cast(tier AS DOUBLE), tier",
        };
        let sql = format!(
            "SELECT * FROM {call} ORDER BY {order}, response_format, query_class, concurrency"
        );
        let results = (name == "shift").then(|| Results::read(session, &beside.run)).transpose()?;
        Ok(Pairing { rows: query(session, name, &sql)?, results, beside })
    });
    pairings.collect()
}

/// All rows of a view that are about a run, sorted.
fn ask(
    session: &Session,
    view: &'static str,
    run: &str,
    order: &str,
) -> Result<View, DocumentError> {
    query(session, view, &format!("SELECT * FROM {view} WHERE run = '{run}' ORDER BY {order}"))
}

/// The rows of a query, which is about the view of that name.
pub(super) fn query(
    session: &Session,
    view: &'static str,
    sql: &str,
) -> Result<View, DocumentError> {
    let answer = session.query(sql)?;
    Ok(View::new(view, &answer.schema, &answer.batches)?)
}
