//! The same rungs in every layout and spelling make the same store.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::support::{RunFolder, Rung, SCALING, Sandbox, ask_one, files, published};

const RUN: &str = "20260912T225808Z-d43b538d-layouts";

/// How a run directory holds its rungs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Layout {
    Lines,
    NestedLines,
    Files,
    NestedFiles,
    Array,
    NestedArray,
    Table,
}

impl Layout {
    const ALL: [Self; 7] = [
        Self::Lines,
        Self::NestedLines,
        Self::Files,
        Self::NestedFiles,
        Self::Array,
        Self::NestedArray,
        Self::Table,
    ];

    /// What the store calls it.
    fn name(self) -> &'static str {
        match self {
            Self::Lines | Self::NestedLines => "rungs.jsonl",
            Self::Files | Self::NestedFiles => "summaries",
            Self::Array | Self::NestedArray => "summary.json",
            Self::Table => "summary.csv",
        }
    }

    fn write(self, run: &RunFolder, rungs: &[Rung]) {
        let flat = rungs.iter().cloned().map(Value::from);
        let nested = rungs.iter().map(nested);
        match self {
            Self::Lines => _ = run.lines("rungs.jsonl", flat),
            Self::NestedLines => _ = run.lines("rungs.jsonl", nested),
            Self::Files => write_files(run, flat),
            Self::NestedFiles => write_files(run, nested),
            Self::Array => _ = run.file("summary.json", flat.collect::<Value>().to_string()),
            Self::NestedArray => {
                run.file("summary.json", format!("{:#}", nested.collect::<Value>()));
            }
            Self::Table => _ = run.file("summary.csv", table(rungs)),
        }
    }
}

fn write_files(run: &RunFolder, rungs: impl Iterator<Item = Value>) {
    for (number, rung) in rungs.enumerate() {
        run.file(&format!("summaries/{number:04}.json"), rung.to_string());
    }
}

/// The rung as the tap-compare harness spells it.
fn nested(rung: &Rung) -> Value {
    let mut object = Map::new();
    for (name, value) in rung.0.clone() {
        let part = ["latency", "ttfb", "generator"].into_iter().find_map(|part| {
            name.strip_prefix(part)?.strip_prefix('_').map(|rest| (part, rest.to_owned()))
        });
        match part {
            _ if name == "generator_workers" => {
                object.insert("generator_processes".to_owned(), value);
            }
            Some((part, rest)) => {
                let inner = object.entry(part).or_insert_with(|| json!({}));
                inner.as_object_mut().unwrap().insert(rest, value);
            }
            None => _ = object.insert(name, value),
        }
    }
    Value::Object(object)
}

/// The rungs as a table whose columns are all their fields.
fn table(rungs: &[Rung]) -> Vec<u8> {
    let columns: std::collections::BTreeSet<&String> =
        rungs.iter().flat_map(|rung| rung.0.keys()).collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&columns).unwrap();
    for rung in rungs {
        let cell = |column: &&String| match rung.0.get(*column) {
            None | Some(Value::Null) => String::new(),
            Some(Value::Bool(flag)) => if *flag { "True" } else { "False" }.to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        writer.write_record(columns.iter().map(cell)).unwrap();
    }
    writer.into_inner().unwrap()
}

/// What a store holds but for what names the layout: every file but those of
/// `runs`, the manifest without layout and inputs, the rows of `runs`.
fn content(sandbox: &Sandbox, layout: Layout) -> BTreeMap<String, Vec<u8>> {
    let mut content = files(&sandbox.store_path());
    content.retain(|path, _| !path.starts_with("runs/") && !path.contains("lock"));
    let name = content.keys().find(|path| path.starts_with("manifests/")).unwrap().clone();
    let mut manifest: Value = serde_json::from_slice(&content[&name]).unwrap();
    let fields = manifest.as_object_mut().unwrap();
    assert_eq!(fields.remove("layout"), Some(json!(layout.name())));
    fields.remove("inputs").unwrap();
    let outputs = fields["outputs"].as_array_mut().unwrap();
    outputs.retain(|output| output["table"] != "runs");
    content.insert(name, manifest.to_string().into_bytes());

    let session = sandbox.session();
    let mut row: Vec<Value> = ask_one(&session, "SELECT * FROM runs");
    let stored = row.iter_mut().find(|cell| **cell == json!(layout.name())).unwrap();
    *stored = Value::Null;
    content.insert("runs".to_owned(), Value::Array(row).to_string().into_bytes());
    content
}

/// Ingests the rungs in every layout, each in another order, with the files
/// that stand beside them, and compares what came of it.
fn assert_same_store(id: &str, rungs: &[Rung], beside: impl Fn(&RunFolder)) {
    let mut first = None;
    for (number, layout) in Layout::ALL.into_iter().enumerate() {
        let sandbox = Sandbox::new();
        let run = sandbox.run(id);
        let mut rungs = rungs.to_vec();
        let middle = number * 3 % rungs.len();
        rungs.rotate_left(middle);
        layout.write(&run, &rungs);
        beside(&run);
        sandbox.ingest(&run);
        let content = content(&sandbox, layout);
        let first = first.get_or_insert_with(|| content.clone());
        assert_eq!(
            first.keys().collect::<Vec<_>>(),
            content.keys().collect::<Vec<_>>(),
            "files from {layout:?}"
        );
        for (path, bytes) in &content {
            assert!(first[path] == *bytes, "{path} from {layout:?} differs");
        }
    }
}

/// Rungs that use every field, and rungs that use few.
fn generated() -> Vec<Rung> {
    let mut rungs = Vec::new();
    for (number, tier) in (1..).zip(["8", "16", "24"]) {
        for repetition in 1..=3 {
            let place = number * 10 + repetition;
            let seconds = f64::from(place) / 7.0;
            let full = Rung::new("egernia-final", repetition)
                .with("tier", tier)
                .with("server", "egernia")
                .with("requests", 60 * place)
                .with("errors", repetition)
                .with("error_fraction", f64::from(repetition) / f64::from(60 * place))
                .with("elapsed_s", 60.0)
                .with("rps", place)
                .with("window_s", 59.9)
                .with("latency_mean_s", seconds / 3.0)
                .with("latency_p50_s", seconds * 0.1)
                .with("latency_p90_s", seconds * 0.2)
                .with("latency_p95_s", seconds * 0.3)
                .with("latency_p99_s", seconds * 0.4)
                .with("latency_p999_s", seconds * 0.5)
                .with("latency_max_s", seconds)
                .with("ttfb_p95_s", 1e-7)
                .with("mean_response_bytes", 1003.25)
                .with("generator_workers", 6)
                .with("generator_cpu_s", 17.5)
                .with("generator_guard_ok", repetition != 2)
                .with("started_at", 1_789_253_888.472_834)
                .with("ended_at", 1_789_253_948.5)
                .with("position", place)
                .with("mode", "async")
                .with("loop", "open")
                .with("offered_rps", 12.5)
                .with("instances", 2)
                .with("loops", 1);
            let few = Rung::new("argus, \"final\"", repetition)
                .with("tier", tier)
                .without("generator_guard_ok")
                .without("generator_cpu_peak")
                .without("response_format");
            rungs.extend([full, few]);
        }
    }
    rungs
}

#[test]
fn generated_rungs() {
    assert_same_store(RUN, &generated(), |run| {
        let target = json!({"egernia-final": {"server": "e"}, "argus, \"final\"": {"server": "a"}});
        run.file("environment.json", json!({"seed": 1, "target": target}).to_string());
    });
}

#[test]
fn rungs_with_samples_and_resources() {
    let rungs: Vec<Rung> = (1..=3)
        .map(|repetition| Rung::new("one", repetition).with("requests", 5).with("rps", 5.0 / 60.0))
        .collect();
    assert_same_store(RUN, &rungs, |run| {
        for repetition in 1..=3 {
            let request = |number: i32| {
                let t = f64::from(100 * repetition + number);
                json!({"t_start": t, "status": 200, "latency_s": 0.5 + t / 1e4})
            };
            run.lines(&format!("samples/one-csv-Q01-c8-r{repetition}.jsonl"), (0..5).map(request));
        }
        let sample = |t| json!({"t": t, "container": "one", "cpu_usec": t * 1000, "mem_bytes": 5});
        run.lines("resources.jsonl", (100..110).map(sample));
    });
}

#[test]
fn the_published_rungs() {
    let Some(published) = published() else { return };
    let source = published.join(SCALING);
    let copied = ["environment.json", "resources.csv"]
        .map(|name| (name, std::fs::read(source.join(name)).unwrap()));
    assert_same_store(SCALING, &rungs_of(&source.join("summary.csv")), |run| {
        for (name, bytes) in &copied {
            run.file(name, bytes);
        }
    });
}

/// The rungs of a published table, each cell as the JSON value that it means.
fn rungs_of(table: &Path) -> Vec<Rung> {
    let mut reader = csv::Reader::from_path(table).unwrap();
    let columns = reader.headers().unwrap().clone();
    let value = |cell: &str| match cell {
        "" => Value::Null,
        "True" => json!(true),
        "False" => json!(false),
        _ => serde_json::from_str(cell).unwrap_or_else(|_| json!(cell)),
    };
    let rung = |record: csv::StringRecord| {
        let cells = columns.iter().zip(&record);
        Rung(cells.map(|(column, cell)| (column.to_owned(), value(cell))).collect())
    };
    reader.records().map(|record| rung(record.unwrap())).collect()
}
