//! `resources.csv`: what a published run printed about each rung's resources.

use std::collections::HashMap;

use super::csv_rows::Table;
use super::error::RawError;
use super::fields::{AMOUNT, COUNT, COVERAGE, Fields, Names, Unknown};
use super::input::Source;
use super::once::Once;
use super::published::RungResources;
use super::rung::RungRecord;
use super::rungs::{WINDOW, key};

const COLUMNS: &[Names<'_>] = &[&["target"], &["query_class"], &["concurrency"], &["repetition"]];

/// Reads the resources of rungs, in the order of the rungs, and gives each rung
/// the window that its own line lacks.
pub(super) fn read(
    source: &mut Source<'_>,
    file: &str,
    rungs: &mut [RungRecord],
) -> Result<Vec<RungResources>, RawError> {
    let table = Table::read(source, file)?;
    table.require(COLUMNS)?;
    let places: HashMap<String, usize> =
        rungs.iter().enumerate().map(|(i, rung)| (rung.key.name(), i)).collect();
    let mut rows = Vec::new();
    let mut once = Once::default();
    let mut unknown = Unknown::default();
    for mut fields in table.rows() {
        let rung = key(&mut fields)?.name();
        once.check(format!("rung `{rung}`"), fields.place())?;
        let Some(&at) = places.get(&rung) else {
            return Err(RawError::UnknownRung { place: fields.place().clone(), rung });
        };
        check_same_rung(&mut fields, &rungs[at])?;
        let row = resources(&mut fields, rung)?;
        rungs[at].window_s = rungs[at].window_s.or(row.window_s);
        rows.push((at, row));
        unknown.note(fields);
    }
    source.left_out(file, unknown);
    rows.sort_by_key(|(at, _)| *at);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// Where a row repeats figures of its rung, they must be the rung's.
fn check_same_rung(fields: &mut Fields, rung: &RungRecord) -> Result<(), RawError> {
    const DIFFERENCE: f64 = 0.01;
    let requests = fields.take(&["requests"], COUNT)?;
    if let Some(requests) = requests.filter(|requests| *requests != rung.requests) {
        let expected = format!("{} as at {}", rung.requests, rung.place);
        return Err(fields.unexpected("requests", expected, requests.to_string()));
    }
    let rps = fields.take(&["rps"], AMOUNT)?;
    if let Some(rps) = rps.filter(|rps| (rps - rung.rps).abs() > DIFFERENCE * rung.rps) {
        let expected = format!("{} within 1% as at {}", rung.rps, rung.place);
        return Err(fields.unexpected("rps", expected, rps.to_string()));
    }
    Ok(())
}

fn resources(fields: &mut Fields, rung: String) -> Result<RungResources, RawError> {
    Ok(RungResources {
        rung,
        window_s: fields.take(WINDOW, AMOUNT)?,
        coverage: fields.take(&["coverage"], COVERAGE)?,
        cpu_s: fields.take(&["cpu_s", "cpu_seconds"], AMOUNT)?,
        cpu_cores: fields.take(&["cpu_cores"], AMOUNT)?,
        cpu_s_per_request: fields
            .take(&["cpu_s_per_request", "cpu_seconds_per_request"], AMOUNT)?,
        mem_mean_bytes: fields.take(&["mem_mean_bytes"], AMOUNT)?,
        mem_peak_bytes: fields.take(&["mem_peak_bytes"], AMOUNT)?,
        api_workers: fields.take(&["api_workers"], COUNT)?,
    })
}
