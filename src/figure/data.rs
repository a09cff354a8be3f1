//! What figures are drawn from: rows of the views, and what is said of them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Drawn, FigureError, Request};
use crate::protocol::{Estimator, Rule};
use crate::report::{Stamp, View, footnotes, method_notes};
use crate::sql::{Judged, Session, matches};

/// Which cells a figure shows. Each list knows `*` and `?`; an empty one leaves
/// the choice to the figure. No tier is written `-`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Resource budgets.
    pub tiers: Vec<String>,
    /// Query classes or scenarios.
    pub classes: Vec<String>,
    /// Response formats.
    pub formats: Vec<String>,
    /// Numbers of connections.
    pub concurrencies: Vec<String>,
    /// Targets.
    pub targets: Vec<String>,
}

/// Whether a list of patterns lets a text through.
pub fn lets(patterns: &[String], text: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, text))
}

/// What tells a cell from others, but for its target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Resource budget.
    pub tier: Option<String>,
    /// Response format.
    pub format: String,
    /// Query class or scenario.
    pub class: String,
    /// Connections held.
    pub concurrency: i64,
    /// What else is recorded of it, in words: mode, loop, offered rate, instances.
    pub variant: String,
}

impl Place {
    /// The places of a view's rows.
    pub fn read(view: &View) -> Result<Vec<Self>, FigureError> {
        let (tiers, formats) = (view.texts("tier")?, view.names("response_format")?);
        let classes = view.names("query_class")?;
        let concurrencies = view.ints("concurrency")?;
        let modes = view.texts("mode")?;
        let loops_of = view.texts("loop")?;
        let rates = view.floats("offered_rps")?;
        let counts = |column: &str| -> Result<Vec<Option<i64>>, FigureError> {
            if view.has(column) { Ok(view.ints(column)?) } else { Ok(vec![None; view.len()]) }
        };
        let (instances, loops) = (counts("instances")?, counts("loops")?);
        Ok((0..view.len())
            .map(|row| {
                let mut variant: Vec<String> = Vec::new();
                variant.extend(modes[row].clone());
                variant.extend(loops_of[row].as_ref().map(|kind| format!("{kind} loop")));
                variant.extend(rates[row].map(|rate| format!("{rate}/s offered")));
                variant.extend(instances[row].map(|count| format!("{count} instances")));
                variant.extend(loops[row].map(|count| format!("{count} loops")));
                Self {
                    tier: tiers[row].clone(),
                    format: formats[row].clone(),
                    class: classes[row].clone(),
                    concurrency: concurrencies[row].unwrap_or(0),
                    variant: variant.join(", "),
                }
            })
            .collect())
    }

    /// Whether a filter lets it through.
    pub fn passes(&self, filter: &Filter) -> bool {
        lets(&filter.tiers, self.tier.as_deref().unwrap_or("-"))
            && lets(&filter.classes, &self.class)
            && lets(&filter.formats, &self.format)
            && lets(&filter.concurrencies, &self.concurrency.to_string())
    }

    /// In words, without its tier, `mix, csv, c = 32`.
    pub fn text(&self) -> String {
        let mut text = self.class.clone();
        if self.format != "-" {
            text += &format!(", {}", self.format);
        }
        text += &format!(", c = {}", self.concurrency);
        text
    }
}

/// A cell.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Where it stands.
    pub place: Place,
    /// The deployed server.
    pub target: String,
    /// Repetitions.
    pub n: Option<i64>,
    /// Throughput by the rule's estimator, requests a second.
    pub rps: f64,
    /// The ends of its interval.
    pub interval: Option<(f64, f64)>,
    /// Voided repetitions, where the guard is known.
    pub voided: Option<i64>,
    /// Whether it is only a lower bound.
    pub lower_bound: bool,
}

/// A run and what its figures are drawn from.
pub struct Source<'a> {
    /// The session.
    pub session: &'a Session,
    /// The run, its rule and its targets.
    pub judged: &'a Judged,
    /// What its rows are stamped with.
    pub stamp: Stamp,
}

impl<'a> Source<'a> {
    /// The run of a request.
    pub fn of(request: &Request<'a>) -> Result<Self, FigureError> {
        Self::new(request.session, request.run)
    }

    /// A run of a session.
    pub fn new(session: &'a Session, run: &str) -> Result<Self, FigureError> {
        let no_run = || FigureError::NoRun(run.to_owned());
        let judged = session.judged().iter().find(|judged| judged.run == run).ok_or_else(no_run)?;
        let manifest = session.store().manifest(run).ok_or_else(no_run)?;
        Ok(Self { session, judged, stamp: Stamp::new(judged, manifest) })
    }

    /// The rule that holds.
    pub fn rule(&self) -> &'a Rule {
        &self.judged.selected.rule
    }

    /// Its confidence, `95%`.
    pub fn confidence(&self) -> String {
        let percent = format!("{:.4}", 100.0 * self.rule().confidence);
        format!("{}%", percent.trim_end_matches('0').trim_end_matches('.'))
    }

    /// The rows of a query about the run, whose name it puts for `$run`.
    pub fn ask(&self, view: &'static str, sql: &str) -> Result<View, FigureError> {
        let run = format!("'{}'", self.judged.run.replace('\'', "''"));
        let answer = self.session.query(&sql.replace("$run", &run))?;
        Ok(View::new(view, &answer.schema, &answer.batches)?)
    }

    /// The cells that the filter lets through, of any target.
    pub fn cells(&self, filter: &Filter) -> Result<Vec<Cell>, FigureError> {
        let view = self.ask("cells", "SELECT * FROM cells WHERE run = $run")?;
        let places = Place::read(&view)?;
        let targets = view.names("target")?;
        let point = match self.rule().estimator {
            Estimator::Mean => view.floats("rps_mean")?,
            Estimator::Median => {
                let means = view.floats("rps_mean")?;
                let medians = view.floats("rps_median")?;
                medians.into_iter().zip(means).map(|(median, mean)| median.or(mean)).collect()
            }
        };
        let (low, high) = (view.floats("rps_low")?, view.floats("rps_high")?);
        let (n, voided) = (view.ints("n")?, view.ints("voided_rungs")?);
        let bounds = view.flags("lower_bound")?;
        let guards = view.flags("guard_ok")?;
        let mut cells: Vec<Cell> = places
            .into_iter()
            .enumerate()
            .filter(|(row, place)| place.passes(filter) && lets(&filter.targets, &targets[*row]))
            .filter_map(|(row, place)| {
                // A printed table may say that a cell is void, but not of how many rungs.
                let voided = voided[row].or(guards[row].map(|ok| i64::from(!ok)));
                Some(Cell {
                    place,
                    target: targets[row].clone(),
                    n: n[row],
                    rps: point[row]?,
                    interval: low[row].zip(high[row]),
                    voided,
                    lower_bound: bounds[row].unwrap_or(false),
                })
            })
            .collect();
        cells.sort_by(|a, b| (&a.place, &a.target).cmp(&(&b.place, &b.target)));
        Ok(cells)
    }

    /// The tiers of the run, in their order.
    pub fn tiers(&self) -> Result<Vec<String>, FigureError> {
        let view = self.ask("tiers", "SELECT tier FROM tiers WHERE run = $run ORDER BY place")?;
        Ok(view.names("tier")?)
    }

    /// What targets are called in figures: their server, where only one target
    /// of the run runs it.
    pub fn names(&self) -> BTreeMap<String, String> {
        let mut servers: BTreeMap<&str, usize> = BTreeMap::new();
        for server in self.judged.targets.values() {
            *servers.entry(server).or_default() += 1;
        }
        let name = |(target, server): (&String, &String)| {
            let is_alone = servers.get(server.as_str()) == Some(&1);
            (target.clone(), if is_alone { server.clone() } else { target.clone() })
        };
        self.judged.targets.iter().map(name).collect()
    }

    /// The place of a target among those of the run: its colour and shape, the
    /// same in every figure.
    pub fn series(&self, target: &str) -> usize {
        self.judged.targets.keys().position(|known| known == target).unwrap_or(0)
    }

    /// The notes of a figure: the rule, what it has to say, the method and n of
    /// its cells, the inputs.
    pub fn notes(&self, said: Vec<String>, n: &[Option<i64>]) -> Vec<String> {
        let stamps = std::slice::from_ref(&self.stamp);
        let mut notes = said;
        notes.extend(method_notes(stamps, n));
        footnotes(stamps, notes)
    }

    /// Why the run has no rungs, in words for what cannot be drawn.
    pub fn without_rungs(&self) -> Result<Option<String>, FigureError> {
        let rungs = self.ask("rungs", "SELECT rung FROM rungs WHERE run = $run LIMIT 1")?;
        let why = "the run has no rungs, only what a table printed of them";
        Ok(rungs.is_empty().then(|| why.to_owned()))
    }
}

/// The one value that a figure is about: the only one there is, or, where the
/// filter leaves the choice, the first of those preferred that there is, else
/// what `otherwise` chooses.
pub fn one<T: Ord + Clone + ToString>(
    what: &'static str,
    found: BTreeSet<T>,
    is_chosen: bool,
    preferred: &[T],
    otherwise: impl FnOnce(&BTreeSet<T>) -> Option<T>,
) -> Result<Option<T>, FigureError> {
    if found.len() > 1 && is_chosen {
        let found = found.iter().map(ToString::to_string).collect();
        return Err(FigureError::Several { what, found });
    }
    let is_there = preferred.iter().find(|value| found.contains(value)).cloned();
    Ok(is_there.or_else(|| otherwise(&found)))
}

/// Narrows cells down to one class, one format and one number of connections:
/// `mix`, `csv` and 32 where the filter leaves the choice and the run has them.
pub fn one_place(cells: Vec<Cell>, filter: &Filter) -> Result<Vec<Cell>, FigureError> {
    let classes = cells.iter().map(|cell| cell.place.class.clone()).collect();
    let first = |found: &BTreeSet<String>| found.first().cloned();
    let mix = ["mix".to_owned()];
    let class = one("query class", classes, !filter.classes.is_empty(), &mix, first)?;
    let cells: Vec<Cell> =
        cells.into_iter().filter(|cell| Some(&cell.place.class) == class.as_ref()).collect();
    let formats = cells.iter().map(|cell| cell.place.format.clone()).collect();
    let csv = ["csv".to_owned()];
    let format = one("response format", formats, !filter.formats.is_empty(), &csv, first)?;
    let cells: Vec<Cell> =
        cells.into_iter().filter(|cell| Some(&cell.place.format) == format.as_ref()).collect();
    let counts = cells.iter().map(|cell| cell.place.concurrency).collect();
    let is_chosen = !filter.concurrencies.is_empty();
    let most = |found: &BTreeSet<i64>| found.last().copied();
    let count = one("number of connections", counts, is_chosen, &[32], most)?;
    Ok(cells.into_iter().filter(|cell| Some(cell.place.concurrency) == count).collect())
}

/// Not a figure, and why.
pub fn unavailable(why: impl Into<String>) -> Result<Drawn, FigureError> {
    Ok(Drawn::Unavailable(why.into()))
}

/// Words joined as a sentence joins them: `a, b and c`.
pub fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}
