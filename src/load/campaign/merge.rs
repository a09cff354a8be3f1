//! One run of the run directories that several generator hosts wrote.
//!
//! A rung of the merged run has the requests of all hosts: percentiles come from
//! all of them, its rate is all requests over the time from the first host's
//! start to the last one's end, its guard is the worst, CPU is added up.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use arrow::array::{AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};

use super::calibration::CALIBRATION;
use super::environment::differences;
use super::error::CampaignError;
use super::journal::{Journal, RESOURCES};
use super::shard::Shard;
use crate::raw::samples::{BLOCK, Buffers, HELD, SampleFile, Tally};
use crate::raw::{RunDir, RungKey, RungRecord, sort_rungs};

/// The smallest share of the union of the hosts' windows that all must share.
const OVERLAP: f64 = 0.9;

/// What came of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The merged run directory.
    pub path: PathBuf,
    /// How many rungs it has.
    pub rungs: usize,
    /// Rungs that a host lacks: they are left out.
    pub missing: Vec<String>,
    /// Rungs that are void since the hosts did not measure at one time.
    pub apart: Vec<String>,
}

/// The run directory of one host.
struct Part {
    path: PathBuf,
    id: String,
    environment: Value,
    shard: Shard,
    rungs: BTreeMap<String, RungRecord>,
}

/// The shard that a run directory is of, if it is of one.
pub fn shard_of(path: &Path) -> Option<Shard> {
    let text = fs::read_to_string(path.join("environment.json")).ok()?;
    let environment: Value = serde_json::from_str(&text).ok()?;
    serde_json::from_value(environment.get("shard")?.clone()).ok()
}

fn refuse(path: &Path, message: String) -> CampaignError {
    CampaignError::Merge { path: path.to_owned(), message }
}

impl Part {
    fn read(path: &Path) -> Result<Self, CampaignError> {
        let shard = shard_of(path).ok_or_else(|| {
            refuse(path, "is not the run directory of one of several hosts".into())
        })?;
        let file = path.join("environment.json");
        let text = fs::read_to_string(&file).map_err(CampaignError::io(&file))?;
        let environment = serde_json::from_str(&text).map_err(|e| refuse(path, e.to_string()))?;
        let directory = RunDir::open(path)?;
        let id = directory.id.as_str().to_owned();
        let rungs = directory.read()?.rungs.into_iter();
        let rungs = rungs.map(|rung| (common(&rung.key).name(), rung)).collect();
        Ok(Self { path: directory.path, id, environment, shard, rungs })
    }

    fn file(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.path.join(name)).ok()
    }
}

/// The part of a key that all hosts know: who does not sample counts no instances.
fn common(key: &RungKey) -> RungKey {
    RungKey { instances: None, loops: None, ..key.clone() }
}

/// Merges the run directories of all hosts into a new one in `parent`.
///
/// # Errors
/// If they are not those of one campaign, a host is missing, or something cannot
/// be read or written.
pub fn merge(paths: &[PathBuf], parent: &Path) -> Result<Merged, CampaignError> {
    let mut parts = paths.iter().map(|path| Part::read(path)).collect::<Result<Vec<_>, _>>()?;
    parts.sort_by_key(|part| part.shard.k);
    check(&parts)?;
    let first = &parts[0];
    let path = parent.join(format!("{}-merged", first.id));
    let environment = format!("{:#}\n", environment(&parts));
    let names = ["protocol.toml", "targets.toml", "corpus.jsonl", "corpus.json"];
    let files: Vec<(&str, Vec<u8>)> =
        names.iter().filter_map(|name| Some((*name, first.file(name)?))).collect();
    let mut files: Vec<(&str, &[u8])> = files.iter().map(|(n, bytes)| (*n, &**bytes)).collect();
    files.push(("environment.json", environment.as_bytes()));
    let mut journal = Journal::create(&path, &files)?;
    let sampled = parts.iter().find_map(|part| part.file(RESOURCES).filter(|b| !b.is_empty()));
    if let Some(bytes) = sampled {
        journal.file(RESOURCES, &bytes)?;
    }
    for folder in ["pins", "capabilities", "taplint"] {
        copy_folder(first, folder, &journal, |_| true)?;
    }
    let is_found = |name: &str| name.ends_with("gates.json") || name == CALIBRATION;
    copy_folder(first, "", &journal, is_found)?;
    events(&parts, &journal)?;

    let mut merged = Merged { path, rungs: 0, missing: Vec::new(), apart: Vec::new() };
    let mut rungs: Vec<RungRecord> = first.rungs.values().cloned().collect();
    sort_rungs(&mut rungs);
    rungs.sort_by_key(|rung| rung.position);
    for rung in rungs {
        let name = common(&rung.key).name();
        let of_all: Option<Vec<&RungRecord>> =
            parts.iter().map(|part| part.rungs.get(&name)).collect();
        let Some(of_all) = of_all else {
            journal.event("shard_missing", Some(&name), "a host has not measured it: left out")?;
            merged.missing.push(name);
            continue;
        };
        let overlap = overlap(&of_all);
        let mut record = union(&parts, &of_all)?;
        if overlap < OVERLAP {
            record.generator_guard_ok = Some(false);
            let reason = format!(
                "the hosts' windows share {:.0}% of their time only",
                overlap.max(0.0) * 100.0
            );
            let advice = "set the hosts' clocks by NTP, and give each rung a longer --slot";
            let detail = json!({"why": "hosts_apart", "reason": reason, "advice": advice});
            journal.event("void", Some(&record.key.name()), detail)?;
            merged.apart.push(record.key.name());
        }
        journal.rung(&record, |staged| copy_samples(&parts, &of_all, staged))?;
        merged.rungs += 1;
    }
    Ok(merged)
}

fn check(parts: &[Part]) -> Result<(), CampaignError> {
    let first = &parts[0];
    let of = |environment: &Value, key: &str| environment.get(key).cloned().unwrap_or(Value::Null);
    for (at, part) in parts.iter().enumerate() {
        if part.shard.n != first.shard.n {
            let message = format!("is of {} hosts, the first of {}", part.shard.n, first.shard.n);
            return Err(refuse(&part.path, message));
        }
        if part.shard.k != at + 1 {
            let message = format!(
                "is host {} of {}: expected each of them once, and host {} next",
                part.shard.k,
                part.shard.n,
                at + 1
            );
            return Err(refuse(&part.path, message));
        }
        for key in ["corpus_sha256", "scenario", "target", "seed"] {
            let pair = [&first.environment, &part.environment].map(|e| json!({key: of(e, key)}));
            let found = differences(&pair[0], &pair[1]);
            if !found.is_empty() {
                return Err(refuse(&part.path, format!("another campaign: {}", found.join("; "))));
            }
        }
    }
    if parts.len() != first.shard.n {
        let message =
            format!("is one of {} hosts, of which {} are given", first.shard.n, parts.len());
        return Err(refuse(&first.path, message));
    }
    Ok(())
}

/// The first host's environment; the state of the sources on the others stands
/// among the `resumed` entries, where `prereg` looks.
fn environment(parts: &[Part]) -> Value {
    let mut environment = parts[0].environment.clone();
    if let Some(fields) = environment.as_object_mut() {
        fields.remove("shard");
    }
    let of = |part: &Part, key: &str| part.environment.get(key).cloned().unwrap_or(Value::Null);
    let hosts = parts.iter().map(|part| {
        json!({"run": part.id, "shard": part.shard, "host": of(part, "host"), "git": of(part, "git"),
               "recorded_at": of(part, "recorded_at")})
    });
    environment["shards"] = hosts.collect();
    let mut resumed: Vec<Value> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            resumed.push(json!({"t": of(part, "recorded_at"), "git": of(part, "git"),
                                "run": part.id}));
        }
        resumed.extend(of(part, "resumed").as_array().cloned().unwrap_or_default());
    }
    environment["resumed"] = resumed.into();
    environment
}

/// Copies files of a folder in a run directory, if it is there.
fn copy_folder(
    part: &Part,
    folder: &str,
    journal: &Journal,
    wanted: impl Fn(&str) -> bool,
) -> Result<(), CampaignError> {
    let Ok(entries) = fs::read_dir(part.path.join(folder)) else { return Ok(()) };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if wanted(&name) {
            let bytes = fs::read(entry.path()).map_err(CampaignError::io(&entry.path()))?;
            journal.file(&Path::new(folder).join(&name).to_string_lossy(), &bytes)?;
        }
    }
    Ok(())
}

/// The events of all hosts in the order of time, each with its host.
fn events(parts: &[Part], journal: &Journal) -> Result<(), CampaignError> {
    let mut events: Vec<Value> = Vec::new();
    for part in parts {
        let text = part.file("events.jsonl").unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n');
        for mut event in lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok()) {
            let detail = match event.get("detail").cloned() {
                Some(Value::Object(mut fields)) => {
                    fields.insert("shard".to_owned(), part.shard.k.into());
                    Value::Object(fields)
                }
                other => json!({"shard": part.shard.k, "said": other}),
            };
            event["detail"] = detail;
            events.push(event);
        }
    }
    let time = |event: &Value| event.get("t").and_then(Value::as_f64).unwrap_or(0.0);
    events.sort_by(|a, b| time(a).total_cmp(&time(b)));
    let lines: String = events.iter().map(|event| format!("{event}\n")).collect();
    journal.append_events(lines.as_bytes())
}

/// When each host measured: from and to, in unix seconds.
fn windows(rungs: &[&RungRecord]) -> Vec<(f64, f64)> {
    let window = |rung: &&RungRecord| {
        let start = rung.started_at?;
        Some((start, start + rung.elapsed_s?))
    };
    rungs.iter().filter_map(window).collect()
}

/// The time that all windows share, as a fraction of the time that any covers.
fn overlap(rungs: &[&RungRecord]) -> f64 {
    let windows = windows(rungs);
    let (from, to) = covered(&windows);
    let latest = windows.iter().map(|window| window.0).fold(f64::NEG_INFINITY, f64::max);
    let earliest = windows.iter().map(|window| window.1).fold(f64::INFINITY, f64::min);
    if windows.len() == rungs.len() && to > from { (earliest - latest) / (to - from) } else { 0.0 }
}

fn covered(windows: &[(f64, f64)]) -> (f64, f64) {
    let from = windows.iter().map(|window| window.0).fold(f64::INFINITY, f64::min);
    (from, windows.iter().map(|window| window.1).fold(f64::NEG_INFINITY, f64::max))
}

/// The rung of all hosts together.
fn union(parts: &[Part], rungs: &[&RungRecord]) -> Result<RungRecord, CampaignError> {
    let first = rungs[0];
    let mut tally = Tally::new(&std::env::temp_dir(), HELD);
    for (part, rung) in parts.iter().zip(rungs) {
        tally_samples(part, rung, &mut tally)?;
    }
    let temporary = std::env::temp_dir();
    let figures = tally.finish().map_err(CampaignError::io(&temporary))?;
    let (from, to) = covered(&windows(rungs));
    let elapsed = (to - from).max(0.0);
    let counted = rungs.iter().find(|rung| rung.key.instances.is_some()).unwrap_or(&rungs[0]);
    let sum = |figure: fn(&RungRecord) -> Option<f64>| {
        rungs.iter().map(|rung| figure(rung)).sum::<Option<f64>>()
    };
    Ok(RungRecord {
        key: counted.key.clone(),
        server: first.server.clone(),
        requests: figures.requests,
        errors: figures.errors,
        error_fraction: figures.error_fraction,
        elapsed_s: Some(elapsed),
        rps: if elapsed > 0.0 { figures.requests as f64 / elapsed } else { 0.0 },
        latency_mean_s: figures.latency_mean_s,
        latency_p50_s: figures.latency_p50_s,
        latency_p90_s: figures.latency_p90_s,
        latency_p95_s: figures.latency_p95_s,
        latency_p99_s: figures.latency_p99_s,
        latency_p999_s: figures.latency_p999_s,
        latency_max_s: figures.latency_max_s,
        ttfb_p95_s: figures.ttfb_p95_s,
        mean_response_bytes: figures.mean_response_bytes,
        generator_workers: rungs.iter().map(|rung| rung.generator_workers).sum(),
        generator_cpu_peak: rungs.iter().filter_map(|r| r.generator_cpu_peak).reduce(f64::max),
        generator_cpu_s: sum(|rung| rung.generator_cpu_s),
        generator_guard_ok: Some(rungs.iter().all(|r| r.generator_guard_ok != Some(false))),
        started_at: Some(from),
        ended_at: Some(to),
        position: first.position,
        ..RungRecord::default()
    })
}

fn sample_file(part: &Part, rung: &RungRecord) -> Result<SampleFile, CampaignError> {
    let name = rung.key.name();
    let files = SampleFile::list(&part.path.join("samples"))?;
    let missing = || refuse(&part.path, format!("rung `{name}` has no samples"));
    files.into_iter().find(|file| file.rung == name).ok_or_else(missing)
}

fn tally_samples(part: &Part, rung: &RungRecord, tally: &mut Tally) -> Result<(), CampaignError> {
    let file = sample_file(part, rung)?;
    let mut reader = file.open(BLOCK, &Buffers::default())?;
    let mut before = 0;
    while let Some(block) = reader.next_block()? {
        let requests = block.parse().map_err(|bad| bad.at(&file, before))?;
        before += requests.lines;
        tally.add(&requests.columns).map_err(CampaignError::io(&file.path))?;
    }
    Ok(())
}

/// The requests of all hosts, one host after the other. A connection's number
/// means one of its host, so the host is put before it.
fn copy_samples(parts: &[Part], rungs: &[&RungRecord], staged: &Path) -> Result<(), CampaignError> {
    let wrong = |source| CampaignError::Parquet { path: staged.to_owned(), source };
    let mut writer: Option<ArrowWriter<File>> = None;
    for (part, rung) in parts.iter().zip(rungs) {
        let path = sample_file(part, rung)?.path;
        let of_part = |source| CampaignError::Parquet { path: path.clone(), source };
        let file = File::open(&path).map_err(CampaignError::io(&path))?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).map_err(of_part)?;
        let schema = reader.schema().clone();
        let reader = reader.build().map_err(of_part)?;
        let writer = match &mut writer {
            Some(writer) => writer,
            none => {
                let file = File::create(staged).map_err(CampaignError::io(staged))?;
                let level = ZstdLevel::try_new(3).expect("3 is a level of zstd");
                let properties = WriterProperties::builder();
                let properties = properties.set_compression(Compression::ZSTD(level)).build();
                none.insert(ArrowWriter::try_new(file, schema, Some(properties)).map_err(wrong)?)
            }
        };
        for batch in reader {
            let batch = batch.and_then(|batch| with_host(&batch, part.shard.k));
            writer.write(&batch.map_err(|error| of_part(error.into()))?).map_err(wrong)?;
        }
    }
    if let Some(writer) = writer {
        writer.close().map_err(wrong)?;
    }
    Ok(())
}

fn with_host(batch: &RecordBatch, host: usize) -> Result<RecordBatch, ArrowError> {
    let Ok(at) = batch.schema().index_of("request_id") else { return Ok(batch.clone()) };
    let kind = batch.column(at).data_type().clone();
    let ids = cast(batch.column(at), &DataType::Utf8)?;
    let ids = ids.as_string::<i32>().iter().map(|id| id.map(|id| format!("s{host}-{id}")));
    let mut columns = batch.columns().to_vec();
    columns[at] = cast(&ids.collect::<StringArray>(), &kind)?;
    RecordBatch::try_new(batch.schema(), columns)
}
