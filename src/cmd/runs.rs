//! `tapstat runs`: what the store holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use super::args::{Global, RunFilter};
use super::output::Output;
use super::{Answer, session};
use crate::report::figure::{thousands, whole};
use crate::report::{Align, Grid, MISSING, Page, Stamp, short};
use crate::sql::Session;

const EXAMPLES: &str = "\
Examples:
  tapstat runs
  tapstat runs --store demo-store --format json";

/// List the runs in the store
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    pub run: RunFilter,
}

/// A run in the list.
struct Row {
    stamp: Stamp,
    layout: Option<String>,
    rungs: Option<i64>,
    requests: Option<i64>,
    tiers: String,
    targets: String,
    git_sha: Option<String>,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    let output = Output::open(&global.output)?;
    let session = session::open_filtered(global, &args.run)?;
    let rows = read(&session)?;
    if output.format.is_page() {
        let mut page = Page::new();
        page.table(grid(&rows));
        output.page(&page)?;
    } else {
        let batch = batch(&rows)?;
        output.rows(&batch.schema(), [Ok(batch)])?;
    }
    Ok(Answer::Yes)
}

fn read(session: &Session) -> Result<Vec<Row>> {
    let runs = session::view(session, "runs", "SELECT * FROM runs")?;
    let (ids, layouts) = (runs.names("run")?, runs.texts("layout")?);
    let (rungs, requests) = (runs.ints("rungs")?, runs.ints("requests")?);
    let git = runs.texts("git_sha")?;
    let by_id: BTreeMap<&str, usize> = ids.iter().map(String::as_str).zip(0..).collect();
    let mut targets = session::targets(session, &[]);
    Ok(session::stamps(session)
        .into_iter()
        .map(|stamp| {
            let row = by_id.get(&*stamp.run).copied();
            let manifest = session.store().manifest(&stamp.run);
            Row {
                layout: row.and_then(|row| layouts[row].clone()),
                rungs: row.and_then(|row| rungs[row]),
                requests: row.and_then(|row| requests[row]),
                tiers: manifest
                    .map(|manifest| manifest.contents.tiers.join(", "))
                    .unwrap_or_default(),
                targets: targets.remove(&stamp.run).unwrap_or_default().join(", "),
                git_sha: row.and_then(|row| git[row].clone()),
                stamp,
            }
        })
        .collect())
}

fn grid(rows: &[Row]) -> Grid {
    let mut grid = Grid::new([
        ("run", Align::Left),
        ("layout", Align::Left),
        ("rungs", Align::Right),
        ("requests", Align::Right),
        ("tiers", Align::Left),
        ("targets", Align::Left),
        ("commit", Align::Left),
        ("inputs", Align::Left),
    ]);
    let or_missing = |text: Option<&str>| {
        text.filter(|text| !text.is_empty()).map_or_else(|| MISSING.to_owned(), str::to_owned)
    };
    for row in rows {
        let commit = row.git_sha.as_deref().map(|sha| sha.get(..8).unwrap_or(sha));
        grid.push(vec![
            row.stamp.run.as_str().into(),
            or_missing(row.layout.as_deref()).into(),
            whole(row.rungs).into(),
            row.requests.map_or_else(|| MISSING.to_owned(), thousands).into(),
            or_missing(Some(&row.tiers)).into(),
            or_missing(Some(&row.targets)).into(),
            or_missing(commit).into(),
            short(&row.stamp.inputs_sha256).into(),
        ]);
    }
    grid
}

fn batch(rows: &[Row]) -> Result<RecordBatch> {
    let text = |get: &dyn Fn(&Row) -> Option<&str>| -> ArrayRef {
        Arc::new(rows.iter().map(get).collect::<StringArray>())
    };
    let int = |get: &dyn Fn(&Row) -> Option<i64>| -> ArrayRef {
        Arc::new(rows.iter().map(get).collect::<Int64Array>())
    };
    fn filled(text: &str) -> Option<&str> {
        Some(text).filter(|text| !text.is_empty())
    }
    Ok(RecordBatch::try_from_iter_with_nullable([
        ("run", text(&|row| Some(&row.stamp.run)), false),
        ("layout", text(&|row| row.layout.as_deref()), true),
        ("rungs", int(&|row| row.rungs), true),
        ("requests", int(&|row| row.requests), true),
        ("tiers", text(&|row| filled(&row.tiers)), true),
        ("targets", text(&|row| filled(&row.targets)), true),
        ("git_sha", text(&|row| row.git_sha.as_deref()), true),
        ("inputs", int(&|row| i64::try_from(row.stamp.inputs).ok()), true),
        ("inputs_sha256", text(&|row| Some(&row.stamp.inputs_sha256)), false),
    ])?)
}
