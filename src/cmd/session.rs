//! A session over the store, as the shared flags open it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, bail};

use super::Answer;
use super::args::{Filters, Global, RunFilter};
use super::output::{Output, say};
use super::select::{Columns, is_glob, matches, query};
use crate::report::{Page, ReportError, Stamp, View, footnotes, rows_grid, stamped};
use crate::sql::{Options, Session};
use crate::store::Store;

/// Opens the store that the flags name.
///
/// # Errors
/// If there is none, or it cannot be read.
pub fn open_store(global: &Global) -> Result<Store> {
    Ok(Store::open(&global.store.path())?)
}

/// Refuses to write below the folder of a store, whose files are its own.
///
/// # Errors
/// If the path, which need not be there yet, lies in it.
pub fn refuse_within(store: &Store, path: &Path) -> Result<()> {
    if is_within(path, store.root()) {
        bail!("{}: it lies in the store: expected a path elsewhere", path.display());
    }
    Ok(())
}

fn is_within(path: &Path, outer: &Path) -> bool {
    let Ok(outer) = outer.canonicalize() else { return false };
    let Ok(path) = std::path::absolute(path) else { return false };
    let there = path.ancestors().find_map(|path| path.canonicalize().ok());
    there.is_some_and(|path| path.starts_with(outer))
}

/// The ids of the runs that a filter names; `None` where it names none, and all
/// are meant.
///
/// # Errors
/// If a name matches no run, or a name without wildcards several.
pub fn run_ids(store: &Store, filter: &RunFilter) -> Result<Option<Vec<String>>> {
    if filter.runs.is_empty() {
        return Ok(None);
    }
    let mut ids = Vec::new();
    for name in &filter.runs {
        if is_glob(name) {
            let all = store.manifests().iter().map(|manifest| &manifest.run);
            let found: Vec<&String> = all.filter(|run| matches(name, run)).collect();
            if found.is_empty() {
                bail!("no run matches `{name}`");
            }
            ids.extend(found.into_iter().cloned());
        } else {
            ids.push(store.find_run(name)?.run.clone());
        }
    }
    ids.sort();
    ids.dedup();
    Ok(Some(ids))
}

/// Opens a session over those runs of a store, with the rule of the flags.
///
/// # Errors
/// If a protocol or query file cannot be used.
pub fn open(global: &Global, store: Store, runs: Option<Vec<String>>) -> Result<Session> {
    let options = Options {
        runs,
        protocol: global.rule.protocol.clone(),
        queries: global.store.queries.clone(),
        rule: global.rule.flags(),
    };
    Ok(Session::open(store, options)?)
}

/// Opens a session over the one run of that name, and gives its id.
///
/// # Errors
/// As [`open_store`] and [`open`], or if not just one run is meant.
pub fn open_run(global: &Global, name: &str) -> Result<(Session, String)> {
    let store = open_store(global)?;
    let run = store.find_run(name)?.run.clone();
    Ok((open(global, store, Some(vec![run.clone()]))?, run))
}

/// Opens a session over the runs that a filter names.
///
/// # Errors
/// As [`open_store`], [`run_ids`] and [`open`].
pub fn open_filtered(global: &Global, filter: &RunFilter) -> Result<Session> {
    let store = open_store(global)?;
    let runs = run_ids(&store, filter)?;
    open(global, store, runs)
}

/// All rows of a view.
///
/// # Errors
/// If the query fails.
pub fn view(session: &Session, name: &'static str, sql: &str) -> Result<View> {
    let answer = session.query(sql)?;
    Ok(View::new(name, &answer.schema, &answer.batches)?)
}

/// The stamps of a session's runs.
pub fn stamps(session: &Session) -> Vec<Stamp> {
    session
        .judged()
        .iter()
        .filter_map(|judged| Some(Stamp::new(judged, session.store().manifest(&judged.run)?)))
        .collect()
}

/// The targets of each run that a filter lets through.
pub fn targets(session: &Session, patterns: &[String]) -> BTreeMap<String, Vec<String>> {
    let is_shown = |target: &&String| {
        patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, target))
    };
    session
        .judged()
        .iter()
        .map(|judged| {
            (judged.run.clone(), judged.targets.keys().filter(is_shown).cloned().collect())
        })
        .collect()
}

/// Shows the rows of a view: as the page for people, else row by row with the
/// rule and the inputs of its run.
///
/// # Errors
/// If the page cannot be made or written.
pub fn show(
    global: &Global,
    session: &Session,
    view: &View,
    page: impl FnOnce(&[Stamp]) -> Result<Page, ReportError>,
) -> Result<()> {
    let output = Output::open(&global.output)?;
    let stamps = of_rows(view, stamps(session))?;
    if view.is_empty() {
        say("tapstat: note: nothing matches");
    }
    if output.format.is_page() {
        return output.page(&page(&stamps)?);
    }
    let batch = stamped(view, &stamps)?;
    output.rows(&batch.schema(), [Ok(batch)])
}

/// Shows the rows of a view as they are, figures with all their digits: for
/// views that have no page of their own.
///
/// # Errors
/// If a filter has no column, the query fails, or the rows cannot be written.
pub fn show_view(global: &Global, filters: &Filters, columns: &Columns) -> Result<Answer> {
    let sql = query(columns.view, &filters.cell, columns)?;
    let session = open_filtered(global, &filters.run)?;
    let rows = view(&session, columns.view, &sql)?;
    show(global, &session, &rows, |stamps| {
        let mut page = Page::new();
        page.table(rows_grid(&rows.batch().schema(), std::slice::from_ref(rows.batch()))?);
        page.notes(footnotes(stamps, Vec::new()));
        Ok(page)
    })?;
    Ok(Answer::Yes)
}

/// The stamps of the runs that the rows are about: all of them where the rows
/// do not say.
fn of_rows(view: &View, mut stamps: Vec<Stamp>) -> Result<Vec<Stamp>> {
    if view.has("run") {
        let runs = view.names("run")?;
        stamps.retain(|stamp| runs.contains(&stamp.run));
    }
    Ok(stamps)
}
