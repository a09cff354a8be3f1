//! What was compared, and by which protocol.

use std::collections::BTreeSet;

use super::super::super::figure::{counted, thousands, whole};
use super::super::super::grid::{Align, Grid, MISSING};
use super::super::super::verdicts::{VerdictRow, lacking, summary, undecided};
use super::super::super::{ReportError, short};
use super::super::data::Data;
use super::super::model::Section;
use super::percent;
use crate::protocol::prereg::utc;
use crate::protocol::{Estimator, Protocol};

pub(super) fn section(data: &Data) -> Result<Section, ReportError> {
    let mut section = Section::new("compared", "What was compared, and the protocol");
    section.facts("What was compared", compared(data)?);
    came_out(&mut section, data);
    section.heading("The protocol");
    section.facts("The protocol", protocol(data));
    section.text(rule(data));
    section.heading("Where it was measured");
    section.facts("Where it was measured", environment_facts(data)?);
    Ok(section)
}

/// How often each verdict was given, why there is no winner where there is none,
/// and the two figures that show most of it.
fn came_out(section: &mut Section, data: &Data) {
    let verdicts: Vec<&VerdictRow> = data.results.verdicts.iter().collect();
    section.heading("What came out");
    if verdicts.is_empty() {
        section.empty(if data.results.cells.is_empty() {
            "The run has no cells that could be compared: its figures are further down."
        } else {
            "The run has no comparison."
        });
    } else {
        section.text(summary(&verdicts));
        section.list(undecided(&verdicts));
        section.list(lacking(data.missing.clone()));
        section.picture(data.figure("vertical-scaling"));
        section.picture(data.figure("verdicts"));
    }
}

/// Rows of what and its value; those without a value are left out.
struct Facts(Grid);

impl Facts {
    fn new() -> Self {
        Self(Grid::new([("what", Align::Left), ("found", Align::Left)]))
    }

    fn push(&mut self, what: &str, value: impl Into<String>) {
        let value = value.into();
        if !value.is_empty() {
            self.0.push(vec![what.into(), value.into()]);
        }
    }

    fn maybe(&mut self, what: &str, value: Option<impl Into<String>>) {
        if let Some(value) = value {
            self.push(what, value);
        }
    }
}

fn compared(data: &Data) -> Result<Grid, ReportError> {
    let text =
        |column| Ok::<_, ReportError>(data.facts.texts(column)?.into_iter().flatten().next());
    let int = |column| Ok::<_, ReportError>(data.facts.ints(column)?.into_iter().flatten().next());
    let time =
        |column| Ok::<_, ReportError>(data.facts.floats(column)?.into_iter().flatten().next());
    let mut facts = Facts::new();
    facts.maybe("campaign", text("label")?);
    let targets = &data.manifest.contents.targets;
    let named = targets.iter().map(|(target, server)| {
        if target == server { target.clone() } else { format!("{target} ({server})") }
    });
    facts.push("targets", named.collect::<Vec<_>>().join(", "));
    let tiers = &data.manifest.contents.tiers;
    facts.push("tiers", if tiers.is_empty() { "none".to_owned() } else { tiers.join(", ") });
    let cells = &data.results.cells;
    let once = |values: Vec<String>| {
        let mut seen = BTreeSet::new();
        values.into_iter().filter(|value| seen.insert(value.clone())).collect::<Vec<_>>().join(", ")
    };
    facts.push("query classes", once(cells.iter().map(|cell| cell.place.class.clone()).collect()));
    let formats = cells.iter().map(|cell| cell.place.format.clone()).filter(|name| name != "-");
    facts.push("response formats", once(formats.collect()));
    let mut connections: Vec<String> =
        cells.iter().map(|cell| cell.place.concurrency.clone()).collect();
    connections.sort_by_key(|text| (text.len(), text.clone()));
    facts.push("connections", once(connections));
    let n: BTreeSet<i64> = cells.iter().filter_map(|cell| cell.n).collect();
    facts.push("repetitions", n.iter().map(i64::to_string).collect::<Vec<_>>().join(", "));
    let rungs = int("rungs")?.unwrap_or(0);
    let requests = int("requests")?.unwrap_or(0);
    if rungs > 0 {
        facts.push("rungs", thousands(rungs));
    } else {
        facts.push("rungs", "none: the run is a published table, whose figures stand as printed");
    }
    if !cells.is_empty() {
        facts.push("cells", thousands(i64::try_from(cells.len()).unwrap_or(i64::MAX)));
    }
    if requests > 0 {
        facts.push("requests", thousands(requests));
    }
    facts.maybe("rungs above the error ceiling", above_ceiling(data)?);
    let started = time("started_at")?;
    facts.maybe("begun", started.map(|time| utc(time.floor() as i64)));
    let ended = time("ended_at")?;
    facts.maybe("ended", ended.map(|time| utc(time.floor() as i64)));
    let hours = started.zip(ended).map(|(from, to)| (to - from) / 3600.0);
    facts.maybe("took", hours.map(|hours| format!("{hours:.1} h")));
    Ok(facts.0)
}

fn environment_facts(data: &Data) -> Result<Grid, ReportError> {
    let text =
        |column| Ok::<_, ReportError>(data.facts.texts(column)?.into_iter().flatten().next());
    let int = |column| Ok::<_, ReportError>(data.facts.ints(column)?.into_iter().flatten().next());
    let mut facts = Facts::new();
    let dirty = data.facts.flags("git_dirty")?.into_iter().flatten().next();
    let commit = text("git_sha")?.map(|sha| match dirty {
        Some(true) => format!("{sha}, with changes that were not committed"),
        _ => sha,
    });
    facts.maybe("commit", commit);
    facts.maybe("branch", text("git_branch")?);
    facts.maybe("described as", text("git_describe")?);
    facts.maybe("host CPUs", int("host_cpus")?.map(|cpus| cpus.to_string()));
    facts.maybe("host platform", text("host_platform")?);
    facts.maybe("seed", int("seed")?.map(|seed| seed.to_string()));
    facts.maybe("corpus sha256", text("corpus_sha256")?);
    facts.maybe("data set sha256", text("dataset_sha256")?);
    let pins = data.manifest.rows("pins");
    facts.push(
        "pins as applied",
        if pins == 0 {
            "not recorded".to_owned()
        } else {
            format!("{} (table `pins`)", counted(usize::try_from(pins).unwrap_or(0), "setting"))
        },
    );
    Ok(facts.0)
}

/// How many rungs have more errors than a target that can win may have.
fn above_ceiling(data: &Data) -> Result<Option<String>, ReportError> {
    let fractions = data.results.rungs.floats("error_fraction")?;
    if fractions.is_empty() {
        return Ok(None);
    }
    let ceiling = data.selected.rule.error_ceiling;
    let above = fractions.iter().flatten().filter(|fraction| **fraction > ceiling).count();
    let above = if above == 0 { "none".to_owned() } else { above.to_string() };
    Ok(Some(format!("{above} (above {})", percent(ceiling))))
}

fn protocol(data: &Data) -> Grid {
    let Protocol { name, grid, window, workload, prereg, .. } = &data.selected.protocol;
    let seconds = |value: Option<f64>| value.map(|seconds| format!("{seconds} s"));
    let mut facts = Facts::new();
    facts.maybe("name", name.clone());
    facts.push("from", data.stamp().map_or_else(String::new, |stamp| stamp.source.clone()));
    let promised = [grid.targets.len(), grid.classes.len(), grid.formats.len()];
    if promised.iter().all(|count| *count > 0) {
        let cells =
            promised.iter().product::<usize>() * grid.tiers.len().max(1) * grid.concurrencies.len();
        let rungs = grid.repetitions.map_or(0, |n| usize::try_from(n).unwrap_or(0)) * cells;
        facts.push("promised", format!("{}, {}", counted(cells, "cell"), counted(rungs, "rung")));
        let lacks = match data.missing.len() {
            0 => "every cell is there".to_owned(),
            some => counted(some, "cell") + " missing",
        };
        facts.push("of these", lacks);
    }
    facts.maybe("warm-up", seconds(window.warmup_seconds));
    facts.maybe("window", seconds(window.measure_seconds));
    facts.maybe("drain", seconds(window.drain_seconds));
    facts.maybe("MAXREC", workload.maxrec.map(|rows| rows.to_string()));
    facts.maybe("generator workers", workload.generator_workers.map(|n| n.to_string()));
    let mix = workload.mix.iter().map(|(class, weight)| format!("{class} {weight}"));
    facts.push("weights of the mix", mix.collect::<Vec<_>>().join(", "));
    facts.maybe("registered by", prereg.as_ref().and_then(|prereg| prereg.r#ref.clone()));
    let rule = &data.selected.rule;
    facts.push("confidence", percent(rule.confidence));
    facts.push("tie floor", percent(rule.tie_floor));
    facts.push("error ceiling", percent(rule.error_ceiling));
    facts.push("guard limit", format!("{:.2} of a core", rule.guard_max));
    facts.push("least coverage of resources", percent(rule.min_coverage));
    facts.push("estimator", rule.estimator.to_string());
    facts.0
}

/// What the figures are, and how a comparison gets its verdict.
fn rule(data: &Data) -> String {
    let rule = &data.selected.rule;
    let confidence = percent(rule.confidence);
    let point = match rule.estimator {
        Estimator::Mean => "the mean over a cell's repetitions",
        Estimator::Median => "the median over a cell's repetitions",
    };
    let n: BTreeSet<i64> = data.results.cells.iter().filter_map(|cell| cell.n).collect();
    let single = if n.contains(&1) { " (none where there is one repetition)" } else { "" };
    format!(
        "A figure is {point}, ± the half-width of the {confidence} interval of the mean by Student's \
         t{single}. One target beats another where the intervals do not touch and its throughput is \
         at least {} higher. The first of these that matches is the verdict: `incomplete` where a \
         target has no cell; `invalid` where a rung is void, or no target has at most {} errors; the \
         target that beats every other clean one; else `tie`.",
        percent(rule.tie_floor),
        percent(rule.error_ceiling)
    )
}

/// The line that names where the run came from.
pub(super) fn environment(data: &Data) -> Result<String, ReportError> {
    let text =
        |column| Ok::<_, ReportError>(data.facts.texts(column)?.into_iter().flatten().next());
    let or = |text: Option<String>| text.unwrap_or_else(|| MISSING.to_owned());
    let commit = text("git_sha")?.map(|sha| sha.get(..8).unwrap_or(&sha).to_owned());
    let corpus =
        text("corpus_sha256")?.map(|sha| format!("{}…", short(&sha).get(..12).unwrap_or(&sha)));
    let seed = data.facts.ints("seed")?.into_iter().flatten().next();
    Ok(format!("Environment: commit {}, seed {}, corpus {}.", or(commit), whole(seed), or(corpus)))
}
