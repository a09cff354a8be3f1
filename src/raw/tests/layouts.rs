//! Every layout gives the same records, and every other file is read beside it.

use serde_json::{Value, json};

use super::super::{Event, Layout, Place, ResourcesReader, Run, RungRecord};
use super::{Folder, warnings};

/// Two rungs in flat spelling, out of order.
fn flat() -> Vec<Value> {
    let rung = |tier: &str, requests: i64, rps: f64, guard: bool| {
        json!({
            "tier": tier, "target": "one", "server": "argus", "query_class": "Q01",
            "response_format": "csv", "concurrency": 8, "repetition": 1, "requests": requests,
            "error_fraction": 0.1, "rps": rps, "latency_p50_s": 0.1, "latency_p95_s": 0.30000000000000004,
            "ttfb_p95_s": 0.2, "mean_response_bytes": 1003.0, "generator_workers": 6,
            "generator_cpu_peak": 0.37, "generator_guard_ok": guard,
        })
    };
    vec![rung("16", 31, 0.7, true), rung("8", 40, 1.3, false)]
}

/// The same in the nested spelling of the harness.
fn nested() -> Vec<Value> {
    let move_in = |rung: &mut Value, flat: &str, outer: &str, inner: &str| {
        let value = rung.as_object_mut().unwrap().remove(flat).unwrap();
        rung[outer][inner] = value;
    };
    let mut rungs = flat();
    for rung in &mut rungs {
        move_in(rung, "latency_p50_s", "latency", "p50_s");
        move_in(rung, "latency_p95_s", "latency", "p95_s");
        move_in(rung, "ttfb_p95_s", "ttfb", "p95_s");
        let workers = rung.as_object_mut().unwrap().remove("generator_workers").unwrap();
        rung["generator_processes"] = workers;
        rung["tier"] = rung["tier"].as_str().unwrap().parse::<i64>().unwrap().into();
    }
    rungs
}

fn csv(rungs: &[Value]) -> String {
    let columns: Vec<&String> = rungs[0].as_object().unwrap().keys().collect();
    let mut lines = vec![columns.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(",")];
    lines.extend(rungs.iter().map(|rung| {
        let cells = columns.iter().map(|name| match &rung[name.as_str()] {
            Value::String(text) => text.clone(),
            Value::Bool(true) => "True".to_owned(),
            Value::Bool(false) => "False".to_owned(),
            other => other.to_string(),
        });
        cells.collect::<Vec<_>>().join(",")
    }));
    lines.join("\n")
}

fn jsonl(rungs: &[Value]) -> String {
    rungs.iter().map(|rung| format!("{rung}\n")).collect()
}

fn pretty(rungs: &[Value]) -> String {
    serde_json::to_string_pretty(rungs).unwrap()
}

fn without_places(run: Run) -> Vec<RungRecord> {
    let away = |rung| RungRecord { place: Place::default(), ..rung };
    run.rungs.into_iter().map(away).collect()
}

#[test]
fn all_layouts_give_the_same_rungs() {
    let summaries = |rungs: &[Value]| {
        Folder::new()
            .with("summaries/b.json", rungs[0].to_string())
            .with("summaries/a.json", rungs[1].to_string())
    };
    let folders = [
        (Layout::RungsJsonl, Folder::new().with("rungs.jsonl", jsonl(&flat()))),
        (Layout::RungsJsonl, Folder::new().with("rungs.jsonl", jsonl(&nested()))),
        (Layout::Summaries, summaries(&nested())),
        (Layout::SummaryJson, Folder::new().with("summary.json", pretty(&nested()))),
        (Layout::SummaryCsv, Folder::new().with("summary.csv", csv(&flat()) + "\n")),
    ];
    let expected = without_places(folders[0].1.read());
    assert_eq!(expected[0].key.tier.as_deref(), Some("8"));
    assert_eq!(expected[0].latency_p95_s, Some(0.300_000_000_000_000_04));
    assert_eq!((expected[0].errors, expected[1].errors), (4, 3));
    assert_eq!(expected[1].elapsed_s, Some(31.0 / 0.7));
    for (layout, folder) in folders {
        assert_eq!(folder.open().unwrap().layout, layout);
        let run = folder.read();
        assert_eq!(warnings(&run), [""; 0]);
        assert_eq!(without_places(run), expected, "{layout:?}");
    }
}

#[test]
fn rungs_know_where_they_stand() {
    let places = |folder: Folder| {
        let rungs = folder.read().rungs;
        rungs.iter().map(|rung| rung.place.to_string()).collect::<Vec<_>>()
    };
    let lines = places(Folder::new().with("rungs.jsonl", format!("\n{}", jsonl(&flat()))));
    assert_eq!(lines, ["rungs.jsonl:3", "rungs.jsonl:2"]);
    let rows = places(Folder::new().with("summary.csv", csv(&flat()) + "\n"));
    assert_eq!(rows, ["summary.csv:3", "summary.csv:2"]);
    let items = places(Folder::new().with("summary.json", pretty(&flat())));
    let fields = flat()[0].as_object().unwrap().len();
    assert_eq!(items, [format!("summary.json:{} [1]", fields + 4), "summary.json:2 [0]".into()]);
    let files = places(Folder::new().with("summaries/x.json", flat()[0].to_string()));
    assert_eq!(files, ["summaries/x.json"]);
}

/// One rung with some fields given other values, null for none.
fn rung(changes: Value) -> RungRecord {
    let mut rungs = vec![flat().remove(0)];
    for (name, value) in changes.as_object().unwrap() {
        rungs[0][name] = value.clone();
    }
    Folder::new().with("rungs.jsonl", jsonl(&rungs)).read().rungs.remove(0)
}

#[test]
fn figures_that_are_not_given_come_from_others() {
    let read = rung(json!({"rps": null, "elapsed_seconds": 10}));
    assert_eq!((read.rps, read.elapsed_s), (3.1, Some(10.0)));
    let read = rung(json!({"rps": 3.12, "elapsed_s": 10}));
    assert_eq!((read.rps, read.elapsed_s), (3.12, Some(10.0)));
    let read = rung(json!({"rps": 0}));
    assert_eq!((read.rps, read.elapsed_s), (0.0, None));

    let read = rung(json!({"error_fraction": null, "errors": 31}));
    assert_eq!((read.errors, read.error_fraction), (31, Some(1.0)));
    let read = rung(json!({"error_fraction": 0.097, "errors": 3}));
    assert_eq!((read.errors, read.error_fraction), (3, Some(0.097)));

    let nothing =
        json!({"requests": 0, "errors": 0, "error_fraction": null, "rps": null, "elapsed_s": 60});
    let read = rung(nothing);
    assert_eq!((read.error_fraction, read.rps, read.elapsed_s), (None, 0.0, Some(60.0)));
}

#[test]
fn what_is_left_empty_has_a_meaning() {
    let read = rung(json!({"tier": "", "response_format": null, "server": null}));
    assert_eq!((read.key.tier, read.key.response_format.as_str()), (None, "-"));
    assert_eq!(read.server, "one");

    let environment = json!({"target": {"one": {"server": "argus"}}}).to_string();
    let mut line = flat().remove(0);
    line["server"] = Value::Null;
    let folder =
        Folder::new().with("rungs.jsonl", jsonl(&[line])).with("environment.json", environment);
    assert_eq!(folder.read().rungs[0].server, "argus");
}

#[test]
fn whole_lines_and_one_warning_each() {
    let mut rungs = flat();
    rungs[0]["extra"] = json!(1);
    rungs[1]["extra"] = json!(2);
    rungs[1]["latency"] = json!({"p12_s": 3});
    let text = jsonl(&rungs) + r#"{"target": "on"#;
    let events = "{\"kind\": \"void\", \"t\": 1}\n{\"ki";
    let run = Folder::new().with("rungs.jsonl", text).with("events.jsonl", events).read();
    assert_eq!((run.rungs.len(), run.events.len()), (2, 1));
    let expected = [
        "rungs.jsonl:3: the last line is half-written, left out",
        "rungs.jsonl: fields not known, left out: extra, latency.p12_s",
        "events.jsonl:2: the last line is half-written, left out",
    ];
    assert_eq!(warnings(&run), expected);
}

#[test]
fn summaries_share_one_warning() {
    let mut rungs = nested();
    rungs.iter_mut().for_each(|rung| rung["extra"] = json!(1));
    let run = Folder::new()
        .with("summaries/a.json", rungs[0].to_string())
        .with("summaries/b.json", rungs[1].to_string())
        .read();
    assert_eq!(warnings(&run), ["summaries/*.json: fields not known, left out: extra"]);
}

/// A run with every file that is read, and some that are not.
fn full() -> Folder {
    Folder::new()
        .with("rungs.jsonl", jsonl(&flat()))
        .with("summary.csv", "not read")
        .with("resources.csv", "not read: resources.jsonl takes precedence")
        .with("environment.json", r#"{"seed": 7, "git": {"sha": "d43b"}}"#)
        .with("corpus.jsonl", "{\"query_id\": 1, \"query_class\": \"Q\", \"adql\": \"x\"}\n")
        .with("events.jsonl", r#"{"t": 5, "kind": "void", "rung": "r", "reason": {"cpu": 1}}"#)
        .with("protocol.toml", "[rule]\n")
        .with("pins/t8-limits.json", r#"{"one": {"cpus": 8}}"#)
        .with("pins/cgroup/cpu.max", "800000 100000\n")
        .with("t8-gates.json", r#"{"targets": {"one": {}}}"#)
        .with("gates.csv", "not read: documents take precedence")
        .with("resources.jsonl", "")
        .with("samples/a.parquet", "")
        .with("samples/.hidden", "")
        .with("notes/a.md", "not read")
}

#[test]
fn every_file_that_is_read_is_an_input() {
    let folder = full();
    let dir = folder.open().unwrap();
    let run = dir.read().unwrap();
    let read: Vec<&str> = run.inputs.iter().map(|input| input.path.as_str()).collect();
    let expected = [
        "corpus.jsonl",
        "environment.json",
        "events.jsonl",
        "notes/a.md",
        "pins/cgroup/cpu.max",
        "pins/t8-limits.json",
        "protocol.toml",
        "rungs.jsonl",
        "t8-gates.json",
    ];
    assert_eq!(read, expected);
    let mut all: Vec<&str> = [&expected[..], &["resources.jsonl", "samples/a.parquet"]].concat();
    all.sort_unstable();
    assert_eq!(dir.input_paths(), all);
    let paths = [dir.samples_dir().unwrap(), dir.resources_path().unwrap()];
    assert_eq!(paths, [dir.path.join("samples"), dir.path.join("resources.jsonl")]);
    assert_eq!(ResourcesReader::open(&paths[1]).unwrap().count(), 0);

    let bare = Folder::new().with("rungs.jsonl", jsonl(&flat())).open().unwrap();
    assert_eq!((bare.samples_dir(), bare.resources_path()), (None, None));
}

#[test]
fn every_file_is_read() {
    let run = full().read();
    assert_eq!(run.environment.seed, Some(7));
    let corpus = run.inputs.iter().find(|input| input.path == "corpus.jsonl").unwrap();
    assert_eq!(run.environment.corpus_sha256.as_ref(), Some(&corpus.sha256));
    assert_eq!(run.protocol.as_deref(), Some("[rule]\n"));
    let event = Event {
        t: Some(5.0),
        kind: "void".into(),
        rung: Some("r".into()),
        detail: Some(r#"{"cpu":1}"#.into()),
    };
    assert_eq!(run.events, [event]);
    let pins: Vec<&str> = run.pins.iter().map(|pin| pin.key.as_str()).collect();
    assert_eq!(pins, ["cpu", "cpus"]);
    let pin = &run.pins[1];
    assert_eq!((pin.tier.as_deref(), pin.target.as_deref()), (Some("8"), Some("one")));
    assert_eq!(run.gates[0].tier.as_deref(), Some("8"));
    assert_eq!(warnings(&run), [""; 0]);
}

#[test]
fn a_stated_corpus_hash_stands() {
    let folder = full().with("environment.json", r#"{"corpus_sha256": "c0"}"#);
    assert_eq!(folder.read().environment.corpus_sha256.as_deref(), Some("c0"));
}

#[test]
fn a_directory_is_named_by_what_it_is() {
    let folder = full();
    let roundabout = folder.path().join("pins/..");
    assert_eq!(super::RunDir::open(&roundabout).unwrap().id.as_str(), "run");
}
