//! The tables of the store: names, columns, types, units, one line each.
//!
//! This is the one place that says what a table holds. The row types, the
//! Arrow schemas, the Parquet files, `tapstat sql --tables` and
//! `schemas/*.arrow.json` all come from the declarations below.
//!
//! Times are unix seconds, durations seconds, sizes bytes, fractions 0 to 1.
//! `run` is the partition key: it is in the path, never in the file.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

/// The version of everything below. A store written under another version is
/// rebuilt from its run directories.
pub const SCHEMA_VERSION: u32 = 1;

/// One column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its pinned name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether a row may lack it.
    pub nullable: bool,
    /// The unit of its figures, empty where it has none.
    pub unit: &'static str,
    /// One line about it.
    pub doc: &'static str,
}

/// The four types that a column can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8 text.
    Text,
    /// A signed 64-bit integer.
    Int,
    /// A 64-bit float, always finite.
    Float,
    /// True or false.
    Flag,
}

impl Kind {
    /// The Arrow type of the column.
    pub fn data_type(self) -> DataType {
        match self {
            Self::Text => DataType::Utf8,
            Self::Int => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Flag => DataType::Boolean,
        }
    }
}

/// One table of the store.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// Its pinned name, which is also the name of its folder.
    pub name: &'static str,
    /// One line about it.
    pub doc: &'static str,
    /// Its columns in file order, without the partition key `run`.
    pub columns: &'static [Column],
}

impl Table {
    /// The Arrow schema of the table's files: every column but `run`.
    pub fn file_schema(&self) -> SchemaRef {
        let fields: Vec<Field> = self
            .columns
            .iter()
            .map(|column| Field::new(column.name, column.kind.data_type(), column.nullable))
            .collect();
        Arc::new(Schema::new(fields))
    }
}

/// A row type that knows its table.
pub trait Row: Sized {
    /// The table that the row belongs to.
    const TABLE: Table;

    /// The rows as one Arrow batch in the table's file schema.
    fn to_batch(rows: &[Self]) -> RecordBatch;
}

/// A Rust type that fills a column: what the `table!` macro builds arrays with.
trait Cell: Sized {
    const KIND: Kind;
    const NULLABLE: bool;
    fn array<'a>(cells: impl Iterator<Item = &'a Self>) -> ArrayRef
    where
        Self: 'a;
}

macro_rules! cell {
    ($type:ty, $kind:ident, $array:ident, |$value:ident| $read:expr) => {
        impl Cell for $type {
            const KIND: Kind = Kind::$kind;
            const NULLABLE: bool = false;
            fn array<'a>(cells: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new($array::from_iter(cells.map(|$value| Some($read))))
            }
        }
        impl Cell for Option<$type> {
            const KIND: Kind = Kind::$kind;
            const NULLABLE: bool = true;
            fn array<'a>(cells: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new($array::from_iter(cells.map(|cell| cell.as_ref().map(|$value| $read))))
            }
        }
    };
}
cell!(String, Text, StringArray, |value| value.as_str());
cell!(i64, Int, Int64Array, |value| *value);
cell!(f64, Float, Float64Array, |value| *value);
cell!(bool, Flag, BooleanArray, |value| *value);

/// The name of a field that had to be spelled `r#name`.
const fn plain(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [b'r', b'#', ..] => name.split_at(2).1,
        _ => name,
    }
}

macro_rules! table {
    ($doc:literal $row:ident $name:literal {
        $($column:ident: $type:ty, $unit:literal, $about:literal;)+
    }) => {
        #[doc = $doc]
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $row {
            $(#[doc = $about] pub $column: $type,)+
        }

        impl Row for $row {
            const TABLE: Table = Table {
                name: $name,
                doc: $doc,
                columns: &[$(Column {
                    name: plain(stringify!($column)),
                    kind: <$type as Cell>::KIND,
                    nullable: <$type as Cell>::NULLABLE,
                    unit: $unit,
                    doc: $about,
                },)+],
            };

            fn to_batch(rows: &[Self]) -> RecordBatch {
                let columns = vec![$(<$type as Cell>::array(rows.iter().map(|row| &row.$column)),)+];
                RecordBatch::try_new(Self::TABLE.file_schema(), columns)
                    .expect("the macro builds each array from the type that its field declares")
            }
        }
    };
}

table! {
    "One row per run: where, when and on what it was measured."
    RunRow "runs" {
        label: String, "", "what the run was called: its id without stamp and commit";
        started_at: Option<f64>, "unix s", "start of the first rung, else when the environment was recorded";
        ended_at: Option<f64>, "unix s", "end of the last rung";
        git_sha: Option<String>, "", "commit that was measured (8 digits where only the run id names it)";
        git_branch: Option<String>, "", "branch of that commit";
        git_describe: Option<String>, "", "its git describe";
        git_dirty: Option<bool>, "", "whether the work tree had uncommitted changes";
        corpus_sha256: Option<String>, "", "sha256 of the query corpus";
        dataset_sha256: Option<String>, "", "sha256 of the table that was queried";
        seed: Option<i64>, "", "seed of the query stream";
        scenario: Option<String>, "JSON", "the scenarios and their settings, as recorded";
        measure_seconds: Option<f64>, "s", "length of a measured window by the scenario";
        host_cpus: Option<i64>, "1", "logical CPUs of the host";
        host_platform: Option<String>, "", "operating system of the host";
        layout: String, "", "the layout of the run directory";
        rungs: i64, "1", "rungs in the run";
        requests: i64, "1", "requests of all rungs, failed ones too";
    }
}

table! {
    "One row per rung: one measured window."
    RungRow "rungs" {
        rung: String, "", "name of the rung, made from its key";
        tier: Option<String>, "", "resource budget that the target was pinned to";
        target: String, "", "the deployed server under load";
        server: String, "", "the software that the target runs";
        query_class: String, "", "query class or scenario";
        response_format: String, "", "csv, votable, or -";
        concurrency: i64, "1", "connections held";
        repetition: i64, "1", "which repetition of the cell, from 1";
        mode: Option<String>, "", "sync or async, null where unused";
        r#loop: Option<String>, "", "closed, open or burst, null where not recorded";
        offered_rps: Option<f64>, "1/s", "offered rate of an open loop";
        instances: Option<i64>, "1", "instances of the server";
        loops: Option<i64>, "1", "event loops of each instance";
        requests: i64, "1", "requests, failed ones too";
        errors: i64, "1", "failed requests: transport, time-out, status of 400 or more, body refused";
        error_fraction: Option<f64>, "fraction", "errors / requests";
        elapsed_s: Option<f64>, "s", "from the window's start to the last response";
        window_s: Option<f64>, "s", "from the first request's start to the last response";
        rps: f64, "1/s", "requests / elapsed_s";
        latency_mean_s: Option<f64>, "s", "mean latency of successful requests";
        latency_p50_s: Option<f64>, "s", "median latency of successful requests";
        latency_p90_s: Option<f64>, "s", "90th percentile of their latency";
        latency_p95_s: Option<f64>, "s", "95th percentile of their latency";
        latency_p99_s: Option<f64>, "s", "99th percentile of their latency";
        latency_p999_s: Option<f64>, "s", "99.9th percentile of their latency";
        latency_max_s: Option<f64>, "s", "longest of their latencies";
        ttfb_p95_s: Option<f64>, "s", "95th percentile of their time to the first byte";
        mean_response_bytes: Option<f64>, "B", "mean response size of successful requests";
        generator_workers: Option<i64>, "1", "workers of the load generator";
        generator_cpu_peak: Option<f64>, "fraction of a core", "CPU of the busiest generator worker at its peak";
        generator_cpu_s: Option<f64>, "s", "CPU time of the whole generator in the window";
        generator_guard_ok: Option<bool>, "", "false where the guard voided the rung";
        started_at: Option<f64>, "unix s", "start of the first request";
        ended_at: Option<f64>, "unix s", "end of the last response";
        position: Option<i64>, "1", "place of the rung in the order of measuring";
    }
}

table! {
    "One row per request, failed ones too; sorted by rung, then time."
    RequestRow "requests" {
        rung: String, "", "the rung that the request belongs to";
        t_start: f64, "unix s", "when the request was sent";
        t_offered: Option<f64>, "unix s", "when an open loop meant to send it";
        query_class: Option<String>, "", "query class of the request";
        query_id: Option<String>, "", "query of the corpus";
        status: Option<i64>, "", "HTTP status, null where no response came";
        error: Option<String>, "", "why it failed, null where it succeeded";
        latency_s: f64, "s", "from its start to the end of the response";
        ttfb_s: Option<f64>, "s", "from its start to the first byte";
        response_bytes: Option<i64>, "B", "size of the response body";
        rows: Option<i64>, "1", "rows in the response, where counted";
        pod: Option<String>, "", "which instance answered, where known";
        mode: Option<String>, "", "sync or async";
        request_id: Option<String>, "", "identifier given by the generator";
    }
}

table! {
    "One row per container and tick of the resource sampler."
    ResourceRow "resources" {
        t: f64, "unix s", "time of the sample";
        container: String, "", "container or process group";
        cpu_usec: i64, "µs", "CPU time used since it started, cumulative";
        mem_bytes: i64, "B", "memory in use";
        python_procs: Option<i64>, "1", "number of processes";
    }
}

table! {
    "One row per tier and target: what the gates found before anything was timed."
    GateRow "gates" {
        tier: Option<String>, "", "resource budget";
        target: String, "", "the deployed server";
        tap_versions: Option<String>, "", "TAP versions that it declares, separated by spaces";
        taplint_passed: Option<bool>, "", "whether taplint found no blocking error";
        taplint_errors: Option<i64>, "1", "errors that taplint reported";
        taplint_errors_blocking: Option<i64>, "1", "those in blocking sections";
        maxrec_default: Option<i64>, "1", "rows returned where no MAXREC is given";
    }
}

table! {
    "One row per tier and query class: whether the targets gave the same answers."
    AgreementRow "agreement" {
        tier: Option<String>, "", "resource budget";
        query_class: String, "", "query class";
        agrees: bool, "", "whether every probe agreed";
        probes: i64, "1", "probes compared";
    }
}

table! {
    "Resource limits as they were really applied."
    PinRow "pins" {
        tier: Option<String>, "", "resource budget";
        target: Option<String>, "", "the deployed server";
        container: Option<String>, "", "container or process group";
        key: String, "", "the setting";
        value: Option<String>, "", "its value, verbatim";
    }
}

table! {
    "What happened: voids, resumes, deviations, scaler actions, warnings of ingest."
    EventRow "events" {
        t: Option<f64>, "unix s", "when, null for what ingest noticed";
        kind: String, "", "kind of event; warnings of ingest are `warning`";
        rung: Option<String>, "", "the rung concerned";
        detail: Option<String>, "", "in words";
    }
}

table! {
    "The protocol that the run directory brought."
    ProtocolRow "protocols" {
        source: String, "", "file that it was read from";
        sha256: String, "", "sha256 of that file";
        toml: String, "TOML", "its text";
    }
}

table! {
    "Cells as a published table printed them."
    PublishedCellRow "published_cells" {
        tier: Option<String>, "", "resource budget";
        response_format: String, "", "csv, votable, or -";
        query_class: String, "", "query class or scenario";
        concurrency: i64, "1", "connections held";
        target: String, "", "the deployed server";
        server: String, "", "the software that it runs";
        n: Option<i64>, "1", "repetitions";
        rps_mean: f64, "1/s", "mean throughput";
        rps_half_width: Option<f64>, "1/s", "half-width of its interval";
        rps_median: Option<f64>, "1/s", "median throughput";
        rps_min: Option<f64>, "1/s", "lowest throughput";
        rps_max: Option<f64>, "1/s", "highest throughput";
        latency_p95_s_mean: Option<f64>, "s", "mean of the 95th percentiles";
        latency_p95_s_half_width: Option<f64>, "s", "half-width of its interval";
        latency_p95_s_median: Option<f64>, "s", "median of the 95th percentiles";
        error_fraction_max: Option<f64>, "fraction", "largest error fraction of a repetition";
        guard_ok: Option<bool>, "", "whether no repetition was voided";
        voided_rungs: Option<i64>, "1", "voided repetitions";
        lower_bound: Option<bool>, "", "whether the generator was near its limit";
        requests: Option<i64>, "1", "requests of all repetitions";
    }
}

table! {
    "Resource cells as a published table printed them."
    PublishedResourceCellRow "published_resource_cells" {
        tier: Option<String>, "", "resource budget";
        response_format: String, "", "csv, votable, or -";
        query_class: String, "", "query class or scenario";
        concurrency: i64, "1", "connections held";
        target: String, "", "the deployed server";
        n: Option<i64>, "1", "repetitions with resources";
        rps: Option<f64>, "1/s", "mean throughput";
        cpu_cores: Option<f64>, "cores", "CPU cores used";
        rps_per_core: Option<f64>, "1/s", "throughput per core used";
        cpu_s_per_request: Option<f64>, "s", "CPU time per request";
        mem_mean_bytes: Option<f64>, "B", "mean memory";
        mem_peak_bytes: Option<f64>, "B", "peak memory";
        api_workers: Option<i64>, "1", "workers of the API container";
    }
}

table! {
    "Resources of each rung as a published run printed them."
    PublishedRungResourceRow "published_rung_resources" {
        rung: String, "", "the rung";
        window_s: Option<f64>, "s", "length of the measured window";
        coverage: Option<f64>, "fraction", "share of the window that was sampled";
        cpu_s: Option<f64>, "s", "CPU time of the target in the window";
        cpu_cores: Option<f64>, "cores", "CPU cores used";
        cpu_s_per_request: Option<f64>, "s", "CPU time per request";
        mem_mean_bytes: Option<f64>, "B", "mean memory";
        mem_peak_bytes: Option<f64>, "B", "peak memory";
        api_workers: Option<i64>, "1", "workers of the API container";
    }
}

table! {
    "Instance scaling as a published table printed it."
    PublishedInstanceScalingRow "published_instance_scaling" {
        query_class: String, "", "scenario";
        concurrency: i64, "1", "connections held";
        instances: i64, "1", "instances of the server";
        loops: Option<i64>, "1", "event loops of each instance";
        rps_median: f64, "1/s", "median throughput";
        efficiency: Option<f64>, "ratio", "rps(N) / (N × rps(1)), as printed";
        vs_loops: Option<f64>, "ratio", "against one instance with N event loops, as printed";
        target: Option<String>, "", "the deployed server";
    }
}

table! {
    "Sweeps over connections as a published table printed them."
    PublishedSweepRow "published_sweep" {
        query_class: String, "", "path or scenario";
        concurrency: i64, "1", "connections held";
        target: Option<String>, "", "the deployed server";
        rps: f64, "1/s", "throughput";
        latency_p99_s: Option<f64>, "s", "99th percentile of latency";
        errors: Option<i64>, "1", "failed requests";
        instances: Option<i64>, "1", "instances at the end";
        mem_peak_bytes: Option<f64>, "B", "resident memory of the instances";
    }
}

table! {
    "Bursts from idle as a published table printed them."
    PublishedBurstRow "published_bursts" {
        burst: i64, "1", "which burst, from 1";
        concurrency: i64, "1", "connections held";
        duration_s: Option<f64>, "s", "length of the burst";
        gap_s: Option<f64>, "s", "pause before the next";
        rps: f64, "1/s", "throughput";
        latency_p99_s: Option<f64>, "s", "99th percentile of latency";
        errors: Option<i64>, "1", "failed requests";
        instances_at_end: Option<i64>, "1", "instances at the end of the burst";
    }
}

/// Every table of the store, in the order in which they are listed.
pub const TABLES: &[Table] = &[
    RunRow::TABLE,
    RungRow::TABLE,
    RequestRow::TABLE,
    ResourceRow::TABLE,
    GateRow::TABLE,
    AgreementRow::TABLE,
    PinRow::TABLE,
    EventRow::TABLE,
    ProtocolRow::TABLE,
    PublishedCellRow::TABLE,
    PublishedResourceCellRow::TABLE,
    PublishedRungResourceRow::TABLE,
    PublishedInstanceScalingRow::TABLE,
    PublishedSweepRow::TABLE,
    PublishedBurstRow::TABLE,
];

/// The table of that name, if the store has one.
pub fn table(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.name == name)
}
