//! The rungs of a report as CSV, in the layout of a published run: what
//! `tapstat ingest` reads, and gives the same verdicts for.

use super::super::csv::quoted;
use super::super::rows::{Form, write_rows};
use super::super::{Format, ReportError, Style, View};
use super::Files;
use super::data::{DocumentError, query};
use crate::sql::Session;

/// The order of published rows: by the names of their files.
const ORDER: &str = "r.tier, r.target, r.response_format, r.query_class, \
                     CAST(r.concurrency AS VARCHAR), r.instances, r.loops, r.mode, r.loop, \
                     r.offered_rps, r.repetition";

/// Parts of a rung's key that are columns only where a rung has one.
const EXTRA: [&str; 5] = ["instances", "loops", "mode", "loop", "offered_rps"];

/// What a published table is made of, and the order of its rows.
const PUBLISHED: [(&str, &str, &str); 5] = [
    (
        "published_cells",
        "cells.csv",
        "try_cast(tier AS DOUBLE), tier, response_format, query_class, concurrency, target",
    ),
    (
        "published_resource_cells",
        "resource_cells.csv",
        "try_cast(tier AS DOUBLE), tier, response_format, query_class, concurrency, target",
    ),
    (
        "published_instance_scaling",
        "instance_scaling.csv",
        "target, query_class, concurrency, instances, loops",
    ),
    ("published_sweep", "sweep.csv", "target, query_class, concurrency"),
    ("published_bursts", "bursts.csv", "burst, concurrency"),
];

/// A column of a published table, and how its values are written.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Int,
    Float,
    /// A float that was an integer when it was published.
    Whole,
    /// `True` or `False`.
    Flag,
}

/// `summary.csv` and `resources.csv`; of a published table also the tables that
/// it was, since it has no rungs; and the protocol that the run brought.
///
/// # Errors
/// If a view cannot be asked.
pub fn tables(session: &Session, run: &str) -> Result<Files, DocumentError> {
    use Kind::{Flag, Float, Int, Text, Whole};
    let mut files = Files::new();
    let rungs = query(
        session,
        "rungs",
        &format!("SELECT * FROM rungs AS r WHERE run = '{run}' ORDER BY {ORDER}"),
    )?;
    let extra = extra(&rungs)?;
    let tiers = rungs.texts("tier")?.iter().any(Option::is_some);
    let mut columns = vec![
        ("target", "target", Text),
        ("server", "server", Text),
        ("query_class", "query_class", Text),
        ("response_format", "response_format", Text),
        ("concurrency", "concurrency", Int),
        ("repetition", "repetition", Int),
        ("requests", "requests", Int),
        ("error_fraction", "error_fraction", Float),
        ("rps", "rps", Float),
        ("latency_p50_s", "latency_p50_s", Float),
        ("latency_p95_s", "latency_p95_s", Float),
        ("ttfb_p95_s", "ttfb_p95_s", Float),
        ("mean_response_bytes", "mean_response_bytes", Float),
        ("generator_cpu_peak", "generator_cpu_peak", Float),
        ("generator_guard_ok", "generator_guard_ok", Flag),
    ];
    columns.extend(tiers.then_some(("tier", "tier", Text)));
    columns.extend(&extra);
    files.insert("summary.csv".to_owned(), csv(&rungs, &columns)?);

    let used = query(
        session,
        "rung_resources",
        &format!(
            "SELECT u.*, r.target, r.tier, r.query_class, r.response_format, r.concurrency, \
               r.repetition, r.requests, r.rps, r.instances, r.loops, r.mode, r.loop, r.offered_rps \
             FROM rung_resources AS u JOIN rungs AS r ON r.run = u.run AND r.rung = u.rung \
             WHERE u.run = '{run}' ORDER BY {ORDER}"
        ),
    )?;
    let mut columns = vec![("target", "target", Text)];
    columns.extend(tiers.then_some(("tier", "tier", Text)));
    columns.extend([
        ("query_class", "query_class", Text),
        ("response_format", "response_format", Text),
        ("concurrency", "concurrency", Int),
        ("repetition", "repetition", Int),
        ("requests", "requests", Int),
        ("rps", "rps", Float),
        ("window_seconds", "window_s", Float),
        ("coverage", "coverage", Float),
        ("cpu_seconds", "cpu_s", Float),
        ("cpu_cores", "cpu_cores", Float),
        ("cpu_seconds_per_request", "cpu_s_per_request", Float),
        ("mem_mean_bytes", "mem_mean_bytes", Float),
        ("mem_peak_bytes", "mem_peak_bytes", Whole),
        ("api_workers", "api_workers", Int),
    ]);
    columns.extend(&extra);
    files.insert("resources.csv".to_owned(), csv(&used, &columns)?);

    if rungs.is_empty() {
        for (table, file, order) in PUBLISHED {
            let rows = published(session, table, run, order)?;
            if !rows.is_empty() {
                files.insert(file.to_owned(), as_printed(&rows)?);
            }
        }
    }
    let protocol =
        query(session, "protocols", &format!("SELECT toml FROM protocols WHERE run = '{run}'"))?;
    if let Some(toml) = protocol.texts("toml")?.into_iter().flatten().next() {
        files.insert("protocol.toml".to_owned(), toml.into_bytes());
    }
    Ok(files)
}

/// The parts of the key that some rung has.
fn extra(rungs: &View) -> Result<Vec<(&'static str, &'static str, Kind)>, ReportError> {
    let mut used = Vec::new();
    for name in EXTRA {
        let (kind, is_used) = match name {
            "mode" | "loop" => (Kind::Text, rungs.texts(name)?.iter().any(Option::is_some)),
            "offered_rps" => (Kind::Float, rungs.floats(name)?.iter().any(Option::is_some)),
            _ => (Kind::Int, rungs.ints(name)?.iter().any(Option::is_some)),
        };
        used.extend(is_used.then_some((name, name, kind)));
    }
    Ok(used)
}

/// Columns of a view under their published names, and as they were written.
fn csv(view: &View, columns: &[(&str, &str, Kind)]) -> Result<Vec<u8>, ReportError> {
    let mut texts: Vec<Vec<String>> = Vec::with_capacity(columns.len());
    for (_, name, kind) in columns {
        let or_empty = |text: Option<String>| text.unwrap_or_default();
        let of = |value: Option<f64>, whole: bool| {
            or_empty(value.map(|value| match whole && value.fract() == 0.0 {
                true => format!("{value:.0}"),
                false => format!("{value:?}"),
            }))
        };
        texts.push(match kind {
            Kind::Text => view
                .texts(name)?
                .into_iter()
                .map(|text| or_empty(text.map(|text| quoted(&text))))
                .collect(),
            Kind::Int => {
                let ints = view.ints(name)?.into_iter();
                ints.map(|value| or_empty(value.map(|value| value.to_string()))).collect()
            }
            Kind::Float => view.floats(name)?.into_iter().map(|value| of(value, false)).collect(),
            Kind::Whole => view.floats(name)?.into_iter().map(|value| of(value, true)).collect(),
            Kind::Flag => {
                let flags = view.flags(name)?.into_iter();
                let text = |flag| if flag { "True" } else { "False" };
                flags.map(|flag| or_empty(flag.map(|flag| text(flag).to_owned()))).collect()
            }
        });
    }
    let header: Vec<&str> = columns.iter().map(|(name, ..)| *name).collect();
    let mut csv = header.join(",");
    csv.push('\n');
    for row in 0..view.len() {
        let cells: Vec<&str> = texts.iter().map(|column| column[row].as_str()).collect();
        csv += &cells.join(",");
        csv.push('\n');
    }
    Ok(csv.into_bytes())
}

fn published(
    session: &Session,
    table: &'static str,
    run: &str,
    order: &str,
) -> Result<View, DocumentError> {
    let columns = crate::store::schema::table(table).map_or(&[][..], |table| table.columns);
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    let sql =
        format!("SELECT {} FROM {table} WHERE run = '{run}' ORDER BY {order}", names.join(", "));
    query(session, table, &sql)
}

/// The rows of a printed table, every column under its name.
fn as_printed(view: &View) -> Result<Vec<u8>, ReportError> {
    let mut csv = Vec::new();
    let form = Form { format: Format::Csv, style: Style::default(), arrow_file: false };
    let batch = view.batch();
    write_rows::<_, ReportError>(&mut csv, form, &batch.schema(), [Ok(batch.clone())].into_iter())?;
    Ok(csv)
}
