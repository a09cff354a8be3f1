//! The tables of a published run of which only aggregates were printed.

use super::csv_rows::Table;
use super::environment::Environment;
use super::error::{Place, RawError};
use super::fields::{
    AMOUNT, COUNT, FLAG, FRACTION, Fields, LABEL, Names, ORDINAL, TEXT, Units, Unknown,
};
use super::input::Source;
use super::once::Once;
use super::published::{Burst, Cell, CellKey, InstanceScaling, Published, ResourceCell, Sweep};
use super::rungs::response_format;

const CLASS: Names<'_> = &["query_class", "scenario", "path"];
const CONCURRENCY: Names<'_> = &["concurrency", "connections"];

const LATENCY_P99: Units<'_> = &[("latency_p99_s", same), ("latency_p99_ms", milli)];
const CPU_PER_REQUEST: Units<'_> = &[
    ("cpu_s_per_request", same),
    ("cpu_seconds_per_request", same),
    ("cpu_ms_per_request", milli),
];
const MEM_MEAN: Units<'_> = &[("mem_mean_bytes", same), ("mem_mean_gib", gib)];
const MEM_PEAK: Units<'_> = &[("mem_peak_bytes", same), ("mem_peak_gib", gib), ("rss_mib", mib)];

fn same(value: f64) -> f64 {
    value
}

fn milli(value: f64) -> f64 {
    value / 1e3
}

fn gib(value: f64) -> f64 {
    value * f64::from(1 << 30)
}

fn mib(value: f64) -> f64 {
    value * f64::from(1 << 20)
}

/// Reads every table of a published run, each in file order.
pub(super) fn read(
    source: &mut Source<'_>,
    files: &[String],
    environment: &Environment,
) -> Result<Published, RawError> {
    let mut published = Published::default();
    let mut empty = true;
    for file in files {
        let table = Table::read(source, file)?;
        let mut rows = Rows { table: &table, unknown: Unknown::default() };
        fill(&mut published, file, &mut rows, environment)?;
        source.left_out(file, rows.unknown);
        empty &= table.rows().next().is_none();
    }
    if empty {
        return Err(RawError::Other {
            place: Place::file(files.join(", ")),
            message: "expected at least one row, found none".to_owned(),
        });
    }
    Ok(published)
}

fn fill(
    published: &mut Published,
    file: &str,
    rows: &mut Rows<'_>,
    environment: &Environment,
) -> Result<(), RawError> {
    match file {
        "cells.csv" => published.cells = rows.cells(environment)?,
        "resource_cells.csv" => published.resource_cells = rows.resource_cells()?,
        "instance_scaling.csv" => published.instance_scaling = rows.instance_scaling()?,
        "sweep.csv" => published.sweep = rows.sweep()?,
        "bursts.csv" => published.bursts = rows.bursts()?,
        other => unreachable!("{other} is not listed as a published table"),
    }
    Ok(())
}

/// The rows of one table on their way to records.
struct Rows<'a> {
    table: &'a Table,
    unknown: Unknown,
}

impl Rows<'_> {
    /// Turns each row into a record; `what` names it, and no two may be one.
    fn read<T>(
        &mut self,
        required: &[Names<'_>],
        record: impl Fn(&mut Fields) -> Result<T, RawError>,
        what: impl Fn(&T) -> String,
    ) -> Result<Vec<T>, RawError> {
        self.table.require(required)?;
        let mut once = Once::default();
        let mut records = Vec::new();
        for mut fields in self.table.rows() {
            let read = record(&mut fields)?;
            once.check(what(&read), fields.place())?;
            records.push(read);
            self.unknown.note(fields);
        }
        Ok(records)
    }

    fn cells(&mut self, environment: &Environment) -> Result<Vec<Cell>, RawError> {
        self.read(
            &[CLASS, CONCURRENCY, &["target"], &["rps_mean"]],
            |fields| cell(fields, environment),
            |cell| format!("cell `{}`", cell.key),
        )
    }

    fn resource_cells(&mut self) -> Result<Vec<ResourceCell>, RawError> {
        self.read(&[CLASS, CONCURRENCY, &["target"]], resource_cell, |cell| {
            format!("cell `{}`", cell.key)
        })
    }

    fn sweep(&mut self) -> Result<Vec<Sweep>, RawError> {
        self.read(&[CLASS, CONCURRENCY, &["rps"]], sweep, |step| {
            let target = step.target.as_deref().unwrap_or("-");
            format!("`{}` of `{target}` at {}", step.query_class, step.concurrency)
        })
    }

    fn bursts(&mut self) -> Result<Vec<Burst>, RawError> {
        self.read(&[&["burst"], CONCURRENCY, &["rps"]], burst, |burst| {
            format!("burst {} at {}", burst.burst, burst.concurrency)
        })
    }

    /// One row per number of instances, or one row with a group of columns per
    /// number of instances.
    fn instance_scaling(&mut self) -> Result<Vec<InstanceScaling>, RawError> {
        let counts: Vec<i64> = self.table.columns().filter_map(instances_in).collect();
        if counts.is_empty() {
            return self.read(
                &[CLASS, CONCURRENCY, &["instances"], &["rps_median"]],
                scaling_step,
                scaling_name,
            );
        }
        let rows = self.read(
            &[CLASS, CONCURRENCY],
            |fields| scaling_steps(fields, &counts),
            |steps| steps.first().map(scaling_name).unwrap_or_default(),
        )?;
        Ok(rows.into_iter().flatten().collect())
    }
}

fn cell_key(fields: &mut Fields) -> Result<CellKey, RawError> {
    Ok(CellKey {
        tier: fields.take(&["tier"], LABEL)?,
        response_format: response_format(fields)?,
        query_class: fields.need(CLASS, TEXT)?,
        concurrency: fields.need(CONCURRENCY, ORDINAL)?,
        target: fields.need(&["target"], TEXT)?,
    })
}

fn cell(fields: &mut Fields, environment: &Environment) -> Result<Cell, RawError> {
    let key = cell_key(fields)?;
    let server = fields.take(&["server"], TEXT)?;
    Ok(Cell {
        server: server.unwrap_or_else(|| environment.server_of(&key.target).to_owned()),
        key,
        n: fields.take(&["n"], ORDINAL)?,
        rps_mean: fields.need(&["rps_mean"], AMOUNT)?,
        rps_half_width: fields.take(&["rps_half_width"], AMOUNT)?,
        rps_median: fields.take(&["rps_median"], AMOUNT)?,
        rps_min: fields.take(&["rps_min"], AMOUNT)?,
        rps_max: fields.take(&["rps_max"], AMOUNT)?,
        latency_p95_s_mean: fields.take(&["latency_p95_s_mean"], AMOUNT)?,
        latency_p95_s_half_width: fields.take(&["latency_p95_s_half_width"], AMOUNT)?,
        latency_p95_s_median: fields.take(&["latency_p95_s_median"], AMOUNT)?,
        error_fraction_max: fields.take(&["error_fraction_max"], FRACTION)?,
        guard_ok: fields.take(&["guard_ok"], FLAG)?,
        voided_rungs: fields.take(&["voided_rungs"], COUNT)?,
        lower_bound: fields.take(&["lower_bound"], FLAG)?,
        requests: fields.take(&["requests"], COUNT)?,
    })
}

fn resource_cell(fields: &mut Fields) -> Result<ResourceCell, RawError> {
    Ok(ResourceCell {
        key: cell_key(fields)?,
        n: fields.take(&["n"], COUNT)?,
        rps: fields.take(&["rps"], AMOUNT)?,
        cpu_cores: fields.take(&["cpu_cores"], AMOUNT)?,
        rps_per_core: fields.take(&["rps_per_core"], AMOUNT)?,
        cpu_s_per_request: fields.take_in(CPU_PER_REQUEST, AMOUNT)?,
        mem_mean_bytes: fields.take_in(MEM_MEAN, AMOUNT)?,
        mem_peak_bytes: fields.take_in(MEM_PEAK, AMOUNT)?,
        api_workers: fields.take(&["api_workers"], COUNT)?,
    })
}

fn sweep(fields: &mut Fields) -> Result<Sweep, RawError> {
    Ok(Sweep {
        query_class: fields.need(CLASS, TEXT)?,
        concurrency: fields.need(CONCURRENCY, ORDINAL)?,
        target: fields.take(&["target"], TEXT)?,
        rps: fields.need(&["rps"], AMOUNT)?,
        latency_p99_s: fields.take_in(LATENCY_P99, AMOUNT)?,
        errors: fields.take(&["errors"], COUNT)?,
        instances: fields.take(&["instances"], COUNT)?,
        mem_peak_bytes: fields.take_in(MEM_PEAK, AMOUNT)?,
    })
}

fn burst(fields: &mut Fields) -> Result<Burst, RawError> {
    Ok(Burst {
        burst: fields.need(&["burst"], ORDINAL)?,
        concurrency: fields.need(CONCURRENCY, ORDINAL)?,
        duration_s: fields.take(&["duration_s"], AMOUNT)?,
        gap_s: fields.take(&["gap_s"], AMOUNT)?,
        rps: fields.need(&["rps"], AMOUNT)?,
        latency_p99_s: fields.take_in(LATENCY_P99, AMOUNT)?,
        errors: fields.take(&["errors"], COUNT)?,
        instances_at_end: fields.take(&["instances_at_end"], COUNT)?,
    })
}

fn scaling_name(step: &InstanceScaling) -> String {
    let target = step.target.as_deref().unwrap_or("-");
    let loops = step.loops.unwrap_or(1);
    let shape = format!("{}x{loops}", step.instances);
    format!("`{}` of `{target}` at {} with {shape}", step.query_class, step.concurrency)
}

fn scaling_step(fields: &mut Fields) -> Result<InstanceScaling, RawError> {
    Ok(InstanceScaling {
        query_class: fields.need(CLASS, TEXT)?,
        concurrency: fields.need(CONCURRENCY, ORDINAL)?,
        instances: fields.need(&["instances"], ORDINAL)?,
        loops: fields.take(&["loops"], ORDINAL)?,
        rps_median: fields.need(&["rps_median"], AMOUNT)?,
        efficiency: fields.take(&["efficiency"], AMOUNT)?,
        vs_loops: fields.take(&["vs_loops"], AMOUNT)?,
        target: fields.take(&["target"], TEXT)?,
    })
}

/// The number of instances that a wide column gives the throughput of:
/// 3 in `rps_3_instances`.
fn instances_in(column: &str) -> Option<i64> {
    let count = column.strip_prefix("rps_")?;
    let count = count.strip_suffix("_instances").or_else(|| count.strip_suffix("_instance"))?;
    count.parse().ok().filter(|count| *count >= 1)
}

/// The steps of a wide row; those whose throughput is empty were not measured.
fn scaling_steps(fields: &mut Fields, counts: &[i64]) -> Result<Vec<InstanceScaling>, RawError> {
    let query_class = fields.need(CLASS, TEXT)?;
    let concurrency = fields.need(CONCURRENCY, ORDINAL)?;
    let target = fields.take(&["target"], TEXT)?;
    let mut steps = Vec::new();
    for &n in counts {
        let rps = [format!("rps_{n}_instances"), format!("rps_{n}_instance")];
        let rps = fields.take(&[&rps[0], &rps[1]], AMOUNT)?;
        let efficiency = fields.take(&[&format!("efficiency_{n}")], AMOUNT)?;
        let vs_loops = fields.take(&[&format!("vs_1x{n}_loops")], AMOUNT)?;
        steps.extend(rps.map(|rps_median| InstanceScaling {
            query_class: query_class.clone(),
            concurrency,
            instances: n,
            loops: Some(1),
            rps_median,
            efficiency,
            vs_loops,
            target: target.clone(),
        }));
    }
    Ok(steps)
}
