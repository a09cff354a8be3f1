//! The rungs of a run, from every layout that has them line by line.

use serde_json::Value;

use super::csv_rows::Table;
use super::environment::Environment;
use super::error::{Place, RawError};
use super::fields::{
    AMOUNT, COUNT, FLAG, FRACTION, Fields, LABEL, LOOP, MODE, Names, ORDINAL, TEXT, TIME, Unknown,
};
use super::input::Source;
use super::json;
use super::layout::Layout;
use super::rung::{RungKey, RungRecord};

/// Objects whose fields count as the rung's own.
const NESTED: &[&str] = &["latency", "ttfb", "generator"];

const ELAPSED: Names<'_> = &["elapsed_s", "elapsed_seconds", "measure_elapsed_s"];
pub(super) const WINDOW: Names<'_> = &["window_s", "window_seconds"];

/// What a table of rungs cannot do without.
const COLUMNS: &[Names<'_>] = &[
    &["target"],
    &["query_class"],
    &["concurrency"],
    &["repetition"],
    &["requests"],
    &["error_fraction", "errors"],
    &["rps", "elapsed_s", "elapsed_seconds", "measure_elapsed_s"],
];

/// Reads the rungs of a run, in file order.
pub(super) fn read(
    source: &mut Source<'_>,
    layout: Layout,
    files: &[String],
    environment: &Environment,
) -> Result<Vec<RungRecord>, RawError> {
    let mut rungs = Vec::new();
    let mut unknown = Unknown::default();
    for file in files {
        for mut fields in lines(source, layout, file)? {
            rungs.push(record(&mut fields, environment)?);
            unknown.note(fields);
        }
    }
    source.left_out(kind(layout), unknown);
    if rungs.is_empty() {
        return Err(RawError::NoRungs(Place::file(kind(layout))));
    }
    Ok(rungs)
}

/// The files of a layout, in one word.
fn kind(layout: Layout) -> &'static str {
    match layout {
        Layout::Summaries => "summaries/*.json",
        _ => layout.name(),
    }
}

fn lines(source: &mut Source<'_>, layout: Layout, file: &str) -> Result<Vec<Fields>, RawError> {
    match layout {
        Layout::RungsJsonl => {
            let (values, warning) = json::lines(file, &source.bytes(file)?)?;
            source.warnings.extend(warning);
            objects(values)
        }
        Layout::Summaries => {
            objects(vec![(Place::file(file), json::document(file, &source.bytes(file)?)?)])
        }
        Layout::SummaryJson => objects(json::array(file, &source.bytes(file)?)?),
        Layout::SummaryCsv | Layout::PublishedTable => {
            let table = Table::read(source, file)?;
            table.require(COLUMNS)?;
            Ok(table.rows().collect())
        }
    }
}

fn objects(values: Vec<(Place, Value)>) -> Result<Vec<Fields>, RawError> {
    values.into_iter().map(|(place, value)| Fields::of_object(place, value, NESTED)).collect()
}

/// The fields that make a rung's key.
pub(super) fn key(fields: &mut Fields) -> Result<RungKey, RawError> {
    Ok(RungKey {
        tier: fields.take(&["tier"], LABEL)?,
        target: fields.need(&["target"], TEXT)?,
        response_format: response_format(fields)?,
        query_class: fields.need(&["query_class"], LABEL)?,
        concurrency: fields.need(&["concurrency"], ORDINAL)?,
        repetition: fields.need(&["repetition"], ORDINAL)?,
        instances: fields.take(&["instances"], ORDINAL)?,
        loops: fields.take(&["loops"], ORDINAL)?,
        mode: fields.take(&["mode"], MODE)?,
        r#loop: fields.take(&["loop"], LOOP)?,
        offered_rps: fields.take(&["offered_rps"], AMOUNT)?,
    })
}

/// The response format, `-` where there is none to speak of.
pub(super) fn response_format(fields: &mut Fields) -> Result<String, RawError> {
    Ok(fields.take(&["response_format"], TEXT)?.unwrap_or_else(|| "-".to_owned()))
}

fn record(fields: &mut Fields, environment: &Environment) -> Result<RungRecord, RawError> {
    let key = key(fields)?;
    let requests = fields.need(&["requests"], COUNT)?;
    let (errors, error_fraction) = errors(fields, requests)?;
    let (elapsed_s, rps) = pace(fields, requests)?;
    let (started_at, ended_at) = times(fields)?;
    let server = fields.take(&["server"], TEXT)?;
    let rung = RungRecord {
        server: server.unwrap_or_else(|| environment.server_of(&key.target).to_owned()),
        requests,
        errors,
        error_fraction,
        elapsed_s,
        window_s: fields.take(WINDOW, AMOUNT)?,
        rps,
        latency_mean_s: fields.take(&["latency_mean_s"], AMOUNT)?,
        latency_p50_s: fields.take(&["latency_p50_s"], AMOUNT)?,
        latency_p90_s: fields.take(&["latency_p90_s"], AMOUNT)?,
        latency_p95_s: fields.take(&["latency_p95_s"], AMOUNT)?,
        latency_p99_s: fields.take(&["latency_p99_s"], AMOUNT)?,
        latency_p999_s: fields.take(&["latency_p999_s"], AMOUNT)?,
        latency_max_s: fields.take(&["latency_max_s"], AMOUNT)?,
        ttfb_p95_s: fields.take(&["ttfb_p95_s"], AMOUNT)?,
        mean_response_bytes: fields.take(&["mean_response_bytes"], AMOUNT)?,
        generator_workers: fields.take(&["generator_workers", "generator_processes"], COUNT)?,
        generator_cpu_peak: fields.take(&["generator_cpu_peak"], AMOUNT)?,
        generator_cpu_s: fields.take(&["generator_cpu_s"], AMOUNT)?,
        generator_guard_ok: fields.take(&["generator_guard_ok"], FLAG)?,
        started_at,
        ended_at,
        position: fields.take(&["position"], COUNT)?,
        place: fields.place().clone(),
        key,
    };
    check_percentiles(&rung)?;
    Ok(rung)
}

/// Errors and their fraction, each from the other where only one is given.
fn errors(fields: &mut Fields, requests: i64) -> Result<(i64, Option<f64>), RawError> {
    let errors = fields.take(&["errors"], COUNT)?;
    let fraction = fields.take(&["error_fraction"], FRACTION)?;
    if let Some(errors) = errors.filter(|errors| *errors > requests) {
        let expected = format!("at most the {requests} requests");
        return Err(fields.unexpected("errors", expected, errors.to_string()));
    }
    let total = requests as f64;
    match (errors, fraction) {
        (None, None) => Err(fields.missing("errors", "this or `error_fraction`")),
        (None, Some(fraction)) => Ok(((fraction * total).round() as i64, Some(fraction))),
        (Some(errors), None) => Ok((errors, (requests > 0).then(|| errors as f64 / total))),
        (Some(errors), Some(fraction)) if agree(errors as f64, fraction, total) => {
            Ok((errors, Some(fraction)))
        }
        (Some(errors), Some(fraction)) => {
            let expected = format!("{errors} errors / {requests} requests");
            Err(fields.unexpected("error_fraction", expected, fraction.to_string()))
        }
    }
}

/// Whether a fraction is that of its counts, but for rounding: to six decimals
/// or to half a request, whichever is coarser.
fn agree(errors: f64, fraction: f64, requests: f64) -> bool {
    const SIX_DECIMALS: f64 = 0.500_001e-6;
    (errors - fraction * requests).abs() <= (requests * SIX_DECIMALS).max(0.5)
}

/// Elapsed seconds and requests per second, each from the other where only
/// one is given.
fn pace(fields: &mut Fields, requests: i64) -> Result<(Option<f64>, f64), RawError> {
    const DIFFERENCE: f64 = 0.01;
    let elapsed = fields.take(ELAPSED, AMOUNT)?;
    let rps = fields.take(&["rps"], AMOUNT)?;
    let total = requests as f64;
    match (elapsed, rps) {
        // The other way round, a slow rung's rate may be rounded to 0.
        (_, Some(rps)) if rps > 0.0 && requests == 0 => {
            Err(fields.unexpected("rps", "0 for 0 requests", rps.to_string()))
        }
        (None, None) => Err(fields.missing("rps", "this or `elapsed_s`")),
        (None, Some(rps)) => Ok(((rps > 0.0).then(|| total / rps), rps)),
        (Some(0.0), None) if requests > 0 => {
            let expected = format!("more than 0 for {requests} requests");
            Err(fields.unexpected("elapsed_s", expected, "0"))
        }
        (Some(elapsed), None) => {
            Ok((Some(elapsed), if requests > 0 { total / elapsed } else { 0.0 }))
        }
        (Some(elapsed), Some(rps)) if (rps * elapsed - total).abs() <= DIFFERENCE * total => {
            Ok((Some(elapsed), rps))
        }
        (Some(elapsed), Some(rps)) => {
            let expected = format!("{requests} requests / {elapsed} s within 1%");
            Err(fields.unexpected("rps", expected, rps.to_string()))
        }
    }
}

fn times(fields: &mut Fields) -> Result<(Option<f64>, Option<f64>), RawError> {
    let started = fields.take(&["started_at"], TIME)?;
    let ended = fields.take(&["ended_at"], TIME)?;
    match (started, ended) {
        (Some(started), Some(ended)) if ended < started => {
            let expected = format!("a time not before `started_at`, {started}");
            Err(fields.unexpected("ended_at", expected, ended.to_string()))
        }
        times => Ok(times),
    }
}

fn check_percentiles(rung: &RungRecord) -> Result<(), RawError> {
    let ascending = [
        ("latency_p50_s", rung.latency_p50_s),
        ("latency_p90_s", rung.latency_p90_s),
        ("latency_p95_s", rung.latency_p95_s),
        ("latency_p99_s", rung.latency_p99_s),
        ("latency_p999_s", rung.latency_p999_s),
        ("latency_max_s", rung.latency_max_s),
    ];
    let given: Vec<(&'static str, f64)> =
        ascending.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    match given.windows(2).find(|pair| pair[0].1 > pair[1].1) {
        Some(pair) => Err(RawError::PercentileOrder {
            place: rung.place.clone(),
            rung: rung.key.name(),
            lower: pair[0].0,
            lower_value: pair[0].1,
            upper: pair[1].0,
            upper_value: pair[1].1,
        }),
        None => Ok(()),
    }
}
