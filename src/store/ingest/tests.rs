//! Whole ingests of small run directories.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int32Array, LargeStringArray, RecordBatch};
use parquet::arrow::ArrowWriter;

use super::samples::Sizes;
use super::*;

const RUN: &str = "20260101T000000Z-0badcafe-test";

/// A run directory in the making, with a store beside it.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(bench.run().join("samples")).unwrap();
        bench
    }

    fn run(&self) -> PathBuf {
        self.folder.path().join(RUN)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.run().join(name), bytes).unwrap();
    }

    fn ingest(&self, options: &IngestOptions) -> Result<(Outcome, Vec<Warning>), IngestError> {
        let store = Store::create(&self.folder.path().join("store")).unwrap();
        ingest(&store, &self.run(), options, &())
    }

    /// What an ingest that must not succeed says, without the folder's name.
    fn refusal(&self) -> String {
        let message = self.ingest(&options(2)).unwrap_err().to_string();
        message.replace(&format!("{}: ", self.run().display()), "")
    }

    fn output(&self, table: &str) -> Vec<u8> {
        let path = format!("store/{table}/run={RUN}/part-0.parquet");
        fs::read(self.folder.path().join(path)).unwrap()
    }
}

fn options(threads: usize) -> IngestOptions {
    IngestOptions { replace: false, threads }
}

/// Times and latencies of some requests, nearly in order.
fn requests(count: u32) -> Vec<(f64, f64)> {
    (0..count)
        .map(|at| (1e9 + f64::from(at ^ 5) / 7.0, f64::from(at * 37 % 1_000 + 1) / 3_000.0))
        .collect()
}

fn lines(requests: &[(f64, f64)]) -> String {
    let line = |(at, (t, latency)): (usize, &(f64, f64))| {
        let error = if at % 50 == 7 { "\"timed out\"" } else { "null" };
        format!(
            "{{\"t_start\": {t}, \"latency_s\": {latency}, \"status\": {}, \"error\": {error}, \"query_id\": \"q{}\"}}\n",
            200 + at % 2,
            at % 9,
        )
    };
    requests.iter().enumerate().map(line).collect()
}

/// The same requests in Parquet, in other types than the table's.
fn parquet(requests: &[(f64, f64)]) -> Vec<u8> {
    let count = requests.len();
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "query_id",
            Arc::new(LargeStringArray::from_iter_values(
                (0..count).map(|at| format!("q{}", at % 9)),
            )),
        ),
        ("t_start", Arc::new(Float64Array::from_iter_values(requests.iter().map(|(t, _)| *t)))),
        (
            "latency_s",
            Arc::new(Float64Array::from_iter_values(requests.iter().map(|(_, latency)| *latency))),
        ),
        (
            "status",
            Arc::new(Int32Array::from_iter_values((0..count).map(|at| 200 + at as i32 % 2))),
        ),
        (
            "error",
            Arc::new(LargeStringArray::from_iter(
                (0..count).map(|at| (at % 50 == 7).then_some("timed out")),
            )),
        ),
        ("rung", Arc::new(Int32Array::from(vec![7; count]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn rung(repetition: u32, count: u32, more: &str) -> String {
    let errors = (0..count).filter(|at| at % 50 == 7).count();
    format!(
        "{{\"target\":\"t\",\"query_class\":\"Q\",\"response_format\":\"csv\",\"concurrency\":8,\"repetition\":{repetition},\"requests\":{count},\"errors\":{errors},\"elapsed_s\":60,\"rps\":{}{more}}}\n",
        f64::from(count) / 60.0
    )
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    // Two members, as `cat a.gz b.gz` makes them.
    let (first, second) = bytes.split_at(bytes.len() / 3);
    let mut packed = Vec::new();
    for part in [first, second] {
        let mut encoder = flate2::write::GzEncoder::new(&mut packed, flate2::Compression::fast());
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap();
    }
    packed
}

#[test]
fn every_format_gives_the_same_bytes() {
    let requests = requests(500);
    let lines = lines(&requests);
    let mut tables = Vec::new();
    for (suffix, bytes) in [
        ("jsonl", lines.clone().into_bytes()),
        ("jsonl.gz", gzip(lines.as_bytes())),
        ("jsonl.zst", zstd::encode_all(lines.as_bytes(), 3).unwrap()),
        ("parquet", parquet(&requests)),
    ] {
        let bench = Bench::new();
        bench.write("rungs.jsonl", rung(1, 500, ""));
        bench.write(&format!("samples/t-csv-Q-c8-r1.{suffix}"), &bytes);
        let (outcome, warnings) = bench.ingest(&options(2)).unwrap();
        assert_eq!(warnings, []);
        let manifest = outcome.manifest();
        assert_eq!(manifest.rows("requests"), 500);
        let input =
            manifest.inputs.iter().find(|input| input.path.starts_with("samples/")).unwrap();
        let (size, sha256) = crate::raw::hash_file(&bench.run().join(&input.path)).unwrap();
        assert_eq!((input.size, &input.sha256), (size, &sha256), "{suffix}");
        tables.push((bench.output("requests"), bench.output("rungs")));
    }
    assert!(tables.iter().all(|table| *table == tables[0]));
}

#[test]
fn threads_and_blocks_leave_no_trace() {
    let mut outputs = Vec::new();
    for (threads, block, held) in [(1, 1 << 20, 1 << 20), (2, 64, 10), (4, 777, 1)] {
        let bench = Bench::new();
        let mut rungs = String::new();
        for repetition in 1..=5 {
            let count = 100 * repetition;
            rungs += &rung(repetition, count, "");
            bench
                .write(&format!("samples/t-csv-Q-c8-r{repetition}.jsonl"), lines(&requests(count)));
        }
        bench.write("rungs.jsonl", rungs);
        let store = Store::create(&bench.folder.path().join("store")).unwrap();
        let dir = RunDir::open(&bench.run()).unwrap();
        let mut run = dir.read().unwrap();
        let mut staging = store.stage(store.lock_run(&dir.id).unwrap()).unwrap();
        let sizes = Sizes { block, held };
        samples::ingest_sized(&dir, &mut run, &mut staging, &options(threads), &(), sizes).unwrap();
        let manifest = staging.commit("test", run.inputs).unwrap();
        outputs.push((manifest, run.rungs));
    }
    assert!(outputs.iter().all(|output| *output == outputs[0]));
}

#[test]
fn figures_are_recomputed() {
    let bench = Bench::new();
    bench.write("rungs.jsonl", rung(1, 4, ""));
    bench.write(
        "samples/t-csv-Q-c8-r1.jsonl",
        concat!(
            "{\"t_start\":10,\"latency_s\":1,\"status\":200,\"ttfb_s\":0.5,\"response_bytes\":100}\n",
            "{\"t_start\":12,\"latency_s\":2,\"status\":200,\"response_bytes\":300}\n",
            "{\"t_start\":11,\"latency_s\":9,\"status\":503}\n",
            "{\"t_start\":19,\"latency_s\":0.5,\"status\":200,\"error\":\"wrong body\"}\n",
        ),
    );
    bench.write("rungs.jsonl", rung(1, 4, "").replace("\"errors\":0", "\"errors\":2"));
    let (dir, store) = (RunDir::open(&bench.run()).unwrap(), tempfile::tempdir().unwrap());
    let store = Store::create(store.path()).unwrap();
    let mut run = dir.read().unwrap();
    let mut staging = store.stage(store.lock_run(&dir.id).unwrap()).unwrap();
    samples::ingest(&dir, &mut run, &mut staging, &options(1), &()).unwrap();
    let rung = &run.rungs[0];
    assert_eq!((rung.requests, rung.errors, rung.error_fraction), (4, 2, Some(0.5)));
    assert_eq!((rung.latency_mean_s, rung.latency_p50_s), (Some(1.5), Some(1.5)));
    assert_eq!((rung.latency_p95_s, rung.latency_max_s), (Some(1.95), Some(2.0)));
    assert_eq!((rung.ttfb_p95_s, rung.mean_response_bytes), (Some(0.5), Some(200.0)));
    assert_eq!(
        (rung.started_at, rung.ended_at, rung.window_s),
        (Some(10.0), Some(20.0), Some(10.0))
    );
}

#[test]
fn a_figure_that_differs_is_refused_by_both_names() {
    let bench = Bench::new();
    bench.write("samples/t-csv-Q-c8-r1.jsonl", lines(&requests(100)));
    let refused = |more: &str| {
        bench.write("rungs.jsonl", rung(1, 100, more));
        bench.refusal()
    };
    // The median of the 98 that succeeded, by NumPy: 0.16016666666666668.
    assert_eq!(
        refused(",\"latency_p50_s\":0.1604"),
        "rungs.jsonl:1: rung `t-csv-Q-c8-r1`: field `latency_p50_s` is 0.1604, but samples/t-csv-Q-c8-r1.jsonl gives 0.16016666666666668"
    );
    assert!(refused(",\"latency_p50_s\":0.16011").contains("`latency_p50_s`"));
    assert!(refused(",\"latency_max_s\":0.5").contains("`latency_max_s`"));
    bench.write("rungs.jsonl", rung(1, 101, ""));
    assert_eq!(
        bench.refusal(),
        "rungs.jsonl:1: rung `t-csv-Q-c8-r1`: field `requests` is 101, but samples/t-csv-Q-c8-r1.jsonl gives 100"
    );
    // Rounded, it is the same figure.
    bench.write("rungs.jsonl", rung(1, 100, ",\"latency_p50_s\":0.1602"));
    bench.ingest(&options(1)).unwrap();
}

#[test]
fn the_run_says_how_exactly_figures_are_given() {
    let bench = Bench::new();
    for repetition in [1, 2] {
        bench.write(&format!("samples/t-csv-Q-c8-r{repetition}.jsonl"), lines(&requests(100)));
    }
    // 0.16 is right to three decimals, but another rung gives five.
    let (rough, fine) = (",\"latency_p50_s\":0.16", ",\"latency_p50_s\":0.16017");
    bench.write("rungs.jsonl", rung(1, 100, rough) + &rung(2, 100, fine));
    assert!(
        bench
            .refusal()
            .contains("rungs.jsonl:1: rung `t-csv-Q-c8-r1`: field `latency_p50_s` is 0.16,")
    );
    bench.write("rungs.jsonl", rung(1, 100, rough) + &rung(2, 100, rough));
    bench.ingest(&options(1)).unwrap();
}

#[test]
fn samples_must_be_complete() {
    let bench = Bench::new();
    bench.write("rungs.jsonl", rung(1, 100, "") + &rung(2, 100, ""));
    bench.write("samples/t-csv-Q-c8-r1.jsonl", lines(&requests(100)));
    assert_eq!(
        bench.refusal(),
        "rungs.jsonl:2: rung `t-csv-Q-c8-r2` has no file in samples: expected <rung>.parquet, .jsonl, .jsonl.gz or .jsonl.zst"
    );
    bench.write("samples/t-csv-Q-c8-r2.jsonl", lines(&requests(100)));
    bench.write("samples/t-csv-Q-c8-r2.parquet", "");
    assert_eq!(
        bench.refusal(),
        "samples/t-csv-Q-c8-r2.parquet: samples of rung `t-csv-Q-c8-r2` stand in samples/t-csv-Q-c8-r2.jsonl already: expected one file for each rung"
    );
}

#[test]
fn bad_samples_are_refused_by_line() {
    let bench = Bench::new();
    bench.write("rungs.jsonl", rung(1, 1_000, ""));
    let good = lines(&requests(600));
    bench.write(
        "samples/t-csv-Q-c8-r1.jsonl",
        format!("{good}{{\"t_start\":1,\"latency_s\":-1,\"status\":200}}\n{good}"),
    );
    assert_eq!(
        bench.refusal(),
        "samples/t-csv-Q-c8-r1.jsonl:601: field `latency_s`: expected a number of seconds from 0 to 1e18, found -1"
    );
    let name = bench.run().join("samples/t-csv-Q-c8-r1.jsonl");
    fs::remove_file(name).unwrap();
    bench.write("samples/t-csv-Q-c8-r1.jsonl.gz", &gzip(good.as_bytes())[..200]);
    assert!(bench.refusal().starts_with("samples/t-csv-Q-c8-r1.jsonl.gz: "));
    fs::remove_file(bench.run().join("samples/t-csv-Q-c8-r1.jsonl.gz")).unwrap();
    bench.write("samples/t-csv-Q-c8-r1.parquet", "PAR1 it is not");
    assert!(
        bench.refusal().starts_with("samples/t-csv-Q-c8-r1.parquet: not a readable Parquet file: ")
    );
    let mut requests = requests(100);
    requests[70].1 = f64::NAN;
    bench.write("samples/t-csv-Q-c8-r1.parquet", parquet(&requests));
    assert_eq!(
        bench.refusal(),
        "samples/t-csv-Q-c8-r1.parquet:71: field `latency_s`: expected a number of seconds from 0 to 1e18, found NaN"
    );
    // A failed ingest leaves nothing behind.
    let staged = fs::read_dir(bench.folder.path().join("store")).unwrap();
    let names: Vec<_> = staged.map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| name != "requests"), "{names:?}");
}

#[test]
fn what_was_read_past_is_warned_of_and_stored() {
    let bench = Bench::new();
    bench.write("environment.json", "{\"target\":{\"t\":{},\"u\":{}},\"resumed\":[{\"at\":7}]}");
    bench.write("rungs.jsonl", rung(1, 100, ""));
    let odd = "{\"t_start\":1,\"latency_s\":1,\"status\":200,\"zone\":1,\"attempt\":{\"a\":2}}\n";
    let text = lines(&requests(99)) + odd + "{\"t_start\":1,\"lat";
    bench.write("samples/t-csv-Q-c8-r1.jsonl", text);
    bench.write("samples/t-csv-Q-c8-r9.jsonl", "no line\n");
    let (_, warnings) = bench.ingest(&options(2)).unwrap();
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "environment.json: targets without a rung: u",
            "samples/t-csv-Q-c8-r9.jsonl: no rung is called `t-csv-Q-c8-r9`, left out",
            "samples/t-csv-Q-c8-r1.jsonl:101: the last line is half-written, left out",
            "samples: fields not known, left out: attempt, zone",
        ]
    );
    let events = bench.output("events");
    for warning in &warnings {
        assert!(
            memchr::memmem::find(&decompressed(&events, "detail"), warning.as_bytes()).is_some()
        );
    }
}

/// The texts of a column of a table, one after the other.
fn decompressed(table: &[u8], column: &str) -> Vec<u8> {
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(
        bytes::Bytes::copy_from_slice(table),
    );
    let mut texts = Vec::new();
    for batch in reader.unwrap().build().unwrap() {
        let batch = batch.unwrap();
        let column = arrow::array::AsArray::as_string::<i32>(batch.column_by_name(column).unwrap());
        column.iter().flatten().for_each(|text| texts.extend_from_slice(text.as_bytes()));
    }
    texts
}

#[test]
fn the_same_files_change_nothing_and_others_need_replace() {
    let bench = Bench::new();
    bench.write("rungs.jsonl", rung(1, 100, ""));
    bench.write("samples/t-csv-Q-c8-r1.jsonl", lines(&requests(100)));
    let (outcome, _) = bench.ingest(&options(1)).unwrap();
    let Outcome::Ingested(manifest) = outcome else { panic!("{outcome:?}") };
    assert_eq!(bench.ingest(&options(2)).unwrap().0, Outcome::Unchanged(manifest.clone()));
    // A file that belongs to no rung is no input.
    bench.write("samples/t-csv-Q-c8-r2.jsonl", "");
    assert_eq!(bench.ingest(&options(2)).unwrap().0, Outcome::Unchanged(manifest.clone()));

    let replace = IngestOptions { replace: true, threads: 1 };
    let outcome = bench.ingest(&replace).unwrap().0;
    assert_eq!(outcome.manifest().inputs, manifest.inputs);
    let (Outcome::Replaced(rebuilt), known) = (outcome, manifest) else { panic!("not replaced") };
    let requests_of = |manifest: &Manifest| {
        manifest.outputs.iter().find(|output| output.table == "requests").cloned()
    };
    assert_eq!(requests_of(&rebuilt), requests_of(&known));

    let refused = |difference: &str| {
        assert_eq!(
            bench.refusal(),
            format!(
                "run {RUN} is in the store already, from other files: {difference}; to rebuild it from these, ingest it with --replace"
            )
        );
    };
    bench.write("environment.json", "{}");
    refused("environment.json was not there");
    fs::remove_file(bench.run().join("environment.json")).unwrap();
    bench.write("rungs.jsonl", rung(1, 100, "").replace('6', "7"));
    refused("rungs.jsonl has changed");
    fs::rename(
        bench.run().join("samples/t-csv-Q-c8-r1.jsonl"),
        bench.run().join("samples/t-csv-Q-c8-r1.jsonl.old"),
    )
    .unwrap();
    refused("samples/t-csv-Q-c8-r1.jsonl is not there any more");
}

#[test]
fn a_directory_that_is_none_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(&folder.path().join("store")).unwrap();
    let missing: &Path = &folder.path().join("missing");
    let message = ingest(&store, missing, &options(1), &()).unwrap_err().to_string();
    assert!(message.starts_with(&format!("{}: ", missing.display())), "{message}");
}
