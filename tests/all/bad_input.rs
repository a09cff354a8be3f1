//! What is said of input that cannot be believed, and that nothing comes of it.
//!
//! Each case has its golden file in the folder `bad_input`.

use serde_json::{Value, json};
use snapbox::cmd::OutputAssert;

use super::support::{RunFolder, Rung, Sandbox, ask, ask_one, files, golden};

/// The run of every case here.
const RUN: &str = "20260101T000000Z-0123abcd-bad";

/// What a case says on standard error.
fn said(output: OutputAssert, case: &str) -> OutputAssert {
    output.stderr_eq(golden(&format!("tests/all/bad_input/{case}.stderr")).raw())
}

/// Ingests a run that is refused: nothing of it is in the store afterwards.
fn refused(case: &str, write: impl FnOnce(&RunFolder)) {
    let sandbox = Sandbox::new();
    write(&sandbox.run(RUN));
    let output = sandbox.tapstat(&["ingest", &format!("runs/{RUN}")]).assert().code(2);
    said(output.stdout_eq(""), case);
    assert_eq!(stored(&sandbox), [""; 0], "{case} left something in the store");
}

/// Ingests a run that is taken with warnings, which are stored as events too.
fn warned(case: &str, write: impl FnOnce(&RunFolder)) {
    let sandbox = Sandbox::new();
    write(&sandbox.run(RUN));
    let output = sandbox.tapstat(&["ingest", &format!("runs/{RUN}")]).assert().code(0);
    let output = said(output.stdout_eq(""), case);
    let stderr = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    let prefix = format!("tapstat: warning: {RUN}: ");
    let printed: Vec<&str> = stderr.lines().filter_map(|l| l.strip_prefix(&prefix)).collect();
    let session = sandbox.session();
    let events: Vec<(String,)> = ask(&session, "SELECT detail FROM events WHERE kind = 'warning'");
    assert_eq!(events.iter().map(|event| &*event.0).collect::<Vec<_>>(), printed, "{case}");
}

/// The files of a store, but for its locks.
fn stored(sandbox: &Sandbox) -> Vec<String> {
    let store = sandbox.store_path();
    if !store.exists() {
        return Vec::new();
    }
    files(&store).into_keys().filter(|path| !path.contains("lock")).collect()
}

fn rung(repetition: u32) -> Rung {
    Rung::new("one", repetition)
}

fn request(number: u32) -> Value {
    let t = 1000.0 + f64::from(number);
    json!({"t_start": t, "status": 200, "latency_s": 0.01 * f64::from(number)})
}

/// Five requests, in a rung that says so.
fn sampled(run: &RunFolder) -> Rung {
    run.lines("samples/one-csv-Q01-c8-r1.jsonl", (1..=5).map(request));
    rung(1).with("requests", 5).with("rps", 5.0)
}

const HEADER: &str = "target,query_class,concurrency,repetition,requests,errors,rps";

#[test]
fn directories_that_are_no_runs() {
    refused("unknown-layout", |run| _ = run.file("notes/about.md", "nothing here"));
    refused("no-rungs", |run| _ = run.file("rungs.jsonl", "\n"));
    let sandbox = Sandbox::new();
    sandbox.run("my run").rungs([rung(1)]);
    said(sandbox.tapstat(&["ingest", "runs/my run"]).assert().code(2), "unfit-run-id");
    said(sandbox.tapstat(&["ingest", "runs/nowhere"]).assert().code(2), "no-directory");
    assert_eq!(stored(&sandbox), [""; 0]);
}

#[test]
fn lines_that_are_no_rungs() {
    refused("malformed-line", |run| {
        let whole = Value::from(rung(1));
        run.file("rungs.jsonl", format!("{whole}\n{{\"target\": }}\n{whole}\n"));
    });
    refused("line-is-no-object", |run| _ = run.lines("rungs.jsonl", [json!([1, 2])]));
    refused("malformed-array", |run| _ = run.file("summary.json", "[{\"target\": 1},\n,]"));
    refused("missing-field", |run| _ = run.rungs([rung(1), rung(2).without("requests")]));
    refused("wrong-type", |run| _ = run.rungs([rung(1).with("concurrency", "eight")]));
}

#[test]
fn figures_that_cannot_be() {
    refused("negative-figure", |run| _ = run.rungs([rung(1), rung(2).with("rps", -3.5)]));
    refused("non-finite-figure", |run| {
        let line = Value::from(rung(1)).to_string();
        assert!(line.contains("\"rps\":10.0"), "{line}");
        run.file("rungs.jsonl", line.replace("\"rps\":10.0", "\"rps\":NaN") + "\n");
    });
    refused("percentile-order", |run| {
        run.rungs([rung(1).with("latency_p50_s", 0.2).with("latency_p95_s", 0.1)]);
    });
    refused("errors-above-requests", |run| _ = run.rungs([rung(1).with("errors", 601)]));
    refused("error-fraction-differs", |run| _ = run.rungs([rung(1).with("error_fraction", 0.5)]));
    refused("pace-differs", |run| _ = run.rungs([rung(1).with("elapsed_s", 30.0)]));
}

#[test]
fn rungs_that_stand_twice() {
    refused("duplicate-rung", |run| _ = run.rungs([rung(1), rung(2), rung(1)]));
    refused("conflicting-rung", |run| {
        run.rungs([rung(1), rung(2), rung(1).with("rps", 10.5).with("errors", 3)]);
    });
    refused("rungs-with-one-name", |run| _ = run.rungs([rung(1), rung(1).with("loop", "open")]));
}

#[test]
fn tables_that_cannot_be_read() {
    refused("missing-columns", |run| _ = run.file("summary.csv", "target,rps\none,10\n"));
    refused("duplicate-column", |run| {
        run.file("summary.csv", format!("{HEADER},rps\none,Q01,8,1,600,0,10,10\n"));
    });
    refused("ragged-row", |run| {
        run.file("summary.csv", format!("{HEADER}\none,Q01,8,1,600,0,10\none,Q01,8,2,600\n"));
    });
    refused("bad-cell", |run| {
        run.file("summary.csv", format!("{HEADER}\none,Q01,8,1,600,0,ten\n"));
    });
    refused("resources-of-unknown-rung", |run| {
        run.file("summary.csv", format!("{HEADER}\none,Q01,8,1,600,0,10\n"));
        run.file("resources.csv", "target,query_class,concurrency,repetition\ntwo,Q01,8,1\n");
    });
    refused("bad-published-cell", |run| {
        run.file("cells.csv", "query_class,concurrency,target,rps_mean\nQ01,8,one,-1\n");
    });
}

#[test]
fn samples_that_do_not_bear_out_their_rung() {
    refused("rung-without-samples", |run| {
        let first = sampled(run);
        run.rungs([first, rung(2)]);
    });
    refused("count-differs-from-samples", |run| {
        let first = sampled(run);
        run.rungs([first.with("requests", 6).with("rps", 6.0)]);
    });
    refused("errors-differ-from-samples", |run| {
        let first = sampled(run);
        run.rungs([first.with("errors", 1)]);
    });
    refused("percentile-differs-from-samples", |run| {
        let first = sampled(run);
        run.rungs([first.with("latency_p50_s", 0.032)]);
    });
}

#[test]
fn samples_of_no_rung_are_left_out_with_a_warning() {
    warned("samples-without-rung", |run| {
        let first = sampled(run);
        run.lines("samples/two-csv-Q01-c8-r1.jsonl", [request(1)]).rungs([first]);
    });
}

#[test]
fn samples_that_cannot_be_read() {
    let with_samples = |case: &str, name: &str, content: &[u8]| {
        refused(case, |run| {
            run.file(&format!("samples/one-csv-Q01-c8-r1.{name}"), content);
            run.rungs([rung(1).with("requests", 2)]);
        });
    };
    let lines = |second: &str| format!("{}\n{second}\n{}\n", request(1), request(2));
    with_samples("malformed-request", "jsonl", lines("{\"t_start\": 1,}").as_bytes());
    with_samples(
        "negative-latency",
        "jsonl",
        lines("{\"t_start\": 1, \"latency_s\": -1}").as_bytes(),
    );
    with_samples(
        "request-without-outcome",
        "jsonl",
        lines("{\"t_start\": 1, \"latency_s\": 1}").as_bytes(),
    );
    with_samples("no-parquet", "parquet", b"PAR1 but nothing else");
    let gzip = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, lines("").as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    with_samples("cut-gzip", "jsonl.gz", &gzip[..gzip.len() / 2]);
}

#[test]
fn documents_that_cannot_be_read() {
    let beside = |case: &str, name: &str, text: &str| {
        refused(case, |run| _ = run.rungs([rung(1)]).file(name, text));
    };
    beside("malformed-environment", "environment.json", "{\"seed\": 4,\n\"git\": }");
    beside("bad-environment", "environment.json", "{\"host\": {\"cpu_count\": \"many\"}}");
    beside("malformed-gates", "t8-gates.json", "{");
    beside("bad-gates", "gates.json", r#"{"targets": {"one": {"taplint": {"passed": "yes"}}}}"#);
    beside("unknown-protocol-key", "protocol.toml", "[rule]\ntie_flor = 0.1\n");
    beside("protocol-out-of-range", "protocol.toml", "[rule]\nconfidence = 95\n");
    beside("malformed-protocol", "protocol.toml", "[rule\n");
    beside("bad-event", "events.jsonl", "{\"t\": 1}\n");
    beside("bad-query", "corpus.jsonl", "{\"query_id\": \"a\", \"query_class\": \"Q01\"}\n");
    beside(
        "bad-resource-sample",
        "resources.jsonl",
        "{\"t\": 1, \"container\": \"c\", \"cpu_usec\": 5, \"mem_bytes\": -1}\n",
    );
}

#[test]
fn half_written_last_lines_are_left_out_with_a_warning() {
    warned("half-written-rung", |run| {
        let whole = Value::from(rung(1));
        run.file("rungs.jsonl", format!("{whole}\n{{\"target\": \"one\", \"que"));
    });
    warned("half-written-resource-sample", |run| {
        let sample = json!({"t": 1, "container": "c", "cpu_usec": 5, "mem_bytes": 1});
        run.rungs([rung(1)]).file("resources.jsonl", format!("{sample}\n{{\"t\": 2, \"cont"));
    });
    warned("half-written-request", |run| {
        let samples = format!("{}\n{{\"t_sta", request(1));
        run.file("samples/one-csv-Q01-c8-r1.jsonl", samples);
        run.rungs([rung(1).with("requests", 1)]);
    });
}

#[test]
fn unknown_fields_are_named_once() {
    warned("unknown-fields", |run| {
        let odd = |repetition| rung(repetition).with("colour", "blue").with("size", repetition);
        run.rungs([odd(1), odd(2), odd(3)]);
    });
    warned("unknown-columns", |run| {
        run.file("summary.csv", format!("{HEADER},colour\none,Q01,8,1,600,0,10,blue\n"));
    });
    warned("unknown-request-fields", |run| {
        let odd = |number| {
            let mut request = request(number);
            request["colour"] = json!("blue");
            request
        };
        run.lines("samples/one-csv-Q01-c8-r1.jsonl", (1..=5).map(odd));
        run.rungs([rung(1).with("requests", 5)]);
    });
}

#[test]
fn a_known_run_from_other_files_needs_to_be_replaced() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(RUN);
    run.rungs([rung(1)]).file("events.jsonl", "");
    let ingest = |more: &[&str]| {
        sandbox.tapstat(&["ingest", &format!("runs/{RUN}")]).args(more).assert().stdout_eq("")
    };
    ingest(&[]).code(0);
    let before = files(&sandbox.store_path());
    run.rungs([rung(1), rung(2)]);
    said(ingest(&[]).code(2), "other-inputs");
    assert!(files(&sandbox.store_path()) == before, "the store is as it was");
    std::fs::remove_file(run.as_ref().join("events.jsonl")).unwrap();
    run.rungs([rung(1)]);
    said(ingest(&[]).code(2), "fewer-inputs");
    ingest(&["--replace"]).code(0);
    let rungs: (i64,) = ask_one(&sandbox.session(), "SELECT count(*) FROM rungs");
    assert_eq!(rungs, (1,));
}

#[test]
fn a_bad_run_leaves_the_one_it_would_replace() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(RUN);
    run.rungs([rung(1)]);
    let ingest =
        |more: &[&str]| sandbox.tapstat(&["ingest", &format!("runs/{RUN}")]).args(more).assert();
    ingest(&[]).code(0);
    let before = files(&sandbox.store_path());
    let first = sampled(&run);
    run.rungs([first.with("errors", 2)]);
    ingest(&["--replace"]).code(2);
    assert!(files(&sandbox.store_path()) == before, "the store is as it was");
    sandbox.tapstat(&["check"]).assert().code(0);
}

/// Asks something that is refused, with nothing on standard output.
fn not_answered(sandbox: &Sandbox, case: &str, sql: &str) {
    said(sandbox.tapstat(&["sql", sql]).assert().code(2).stdout_eq(""), case);
}

#[test]
fn only_queries_are_answered() {
    let sandbox = Sandbox::with_shipped_run();
    let before = files(&sandbox.store_path());
    for (case, sql) in [
        ("sql-create-table", "CREATE TABLE mine AS SELECT 1"),
        ("sql-create-view", "CREATE VIEW cells AS SELECT 1"),
        ("sql-drop", "DROP TABLE rungs"),
        ("sql-insert", "INSERT INTO rungs SELECT * FROM rungs"),
        ("sql-update", "UPDATE rungs SET rps = 1"),
        ("sql-delete", "DELETE FROM rungs"),
        ("sql-copy", "COPY (SELECT 1) TO 'mine.csv'"),
        ("sql-set", "SET datafusion.execution.batch_size = 1"),
        ("sql-external-table", "CREATE EXTERNAL TABLE passwd STORED AS CSV LOCATION '/etc/passwd'"),
        ("sql-file", "SELECT * FROM '/etc/passwd'"),
        ("sql-two-statements", "SELECT 1; SELECT 2"),
        ("sql-nothing", ""),
        ("sql-syntax", "SELEC 1"),
    ] {
        not_answered(&sandbox, case, sql);
    }
    assert!(files(&sandbox.store_path()) == before, "the store is as it was");
    assert!(!sandbox.path("mine.csv").exists());
}

#[test]
fn mistyped_names_are_answered_with_what_was_meant() {
    let sandbox = Sandbox::with_shipped_run();
    for (case, sql) in [
        ("sql-mistyped-column", "SELECT rps_men FROM cells"),
        ("sql-mistyped-table", "SELECT * FROM rung"),
        ("sql-mistyped-view", "SELECT * FROM verdict"),
        ("sql-unknown-table", "SELECT * FROM quite_something_else"),
        ("sql-mistyped-function", "SELECT medians(rps_mean) FROM cells"),
        ("sql-unknown-run", "SELECT * FROM reproduce('first', 'second')"),
    ] {
        not_answered(&sandbox, case, sql);
    }
    let show = sandbox.tapstat(&["sql", "--show", "verdict"]).assert().code(2).stdout_eq("");
    said(show, "show-mistyped-view");
}

#[test]
fn names_that_are_no_run_or_several() {
    let sandbox = Sandbox::new();
    for id in ["20260101T000000Z-0123abcd-first", "20260102T000000Z-0123abcd-second"] {
        sandbox.ingest(sandbox.run(id).rungs([rung(1)]));
    }
    for (case, arguments) in [
        ("unknown-run", &["cells", "--run", "third"][..]),
        ("ambiguous-run", &["remove", "0123abcd"]),
        ("ambiguous-pair", &["reproduce", "0123abcd", "second"]),
        ("remove-unknown-run", &["remove", "third"]),
    ] {
        said(sandbox.tapstat(arguments).assert().code(2).stdout_eq(""), case);
    }
    let none = Sandbox::new();
    said(none.tapstat(&["verdicts"]).assert().code(2).stdout_eq(""), "no-store");
}
