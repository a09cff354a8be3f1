//! `tapstat corpus` and `tapstat gates` from the command line, against the
//! embedded server; the modules' own tests look closer.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tapstat::corpus;
use tapstat::target::tap::{Options, TapServer};

use crate::support::{Rung, Sandbox, ask};

/// A corpus that the program wrote, and a server of its table.
fn served(sandbox: &Sandbox) -> TapServer {
    let output = run(sandbox, &["corpus", "--rows", "300", "--seed", "5", "-o", "corpus"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).starts_with("corpus: 300 rows and 401 queries, seed 5, sha256 of "));
    let options = Options { threads: 1, ..Options::default() };
    TapServer::start(&sandbox.path("corpus"), options).unwrap()
}

fn targets(sandbox: &Sandbox, targets: &[(&str, &str)]) {
    let table = |(name, url): &(&str, &str)| format!("[target.{name}]\nbase_url = \"{url}\"\n");
    fs::write(sandbox.path("targets.toml"), targets.iter().map(table).collect::<String>()).unwrap();
}

fn run(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    sandbox.tapstat(arguments).output().unwrap()
}

fn gates(sandbox: &Sandbox, more: &[&str]) -> Output {
    let mut arguments = vec!["gates", "--targets", "targets.toml", "--corpus", "corpus"];
    arguments.extend(["--class", "Q01,Q02,Q13", "--probes", "2"]);
    arguments.extend(more);
    run(sandbox, &arguments)
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn what_the_program_writes_is_what_the_library_writes() {
    let sandbox = Sandbox::new();
    let _server = served(&sandbox);
    let folder = tempfile::tempdir().unwrap();
    let about = corpus::write(folder.path(), 300, 5, |_| ()).unwrap();
    for name in [corpus::TABLE_CSV, corpus::TABLE_PARQUET, corpus::QUERIES, corpus::ABOUT] {
        let read = |folder: &Path| fs::read(folder.join(name)).unwrap();
        assert!(read(folder.path()) == read(&sandbox.path("corpus")), "{name}");
    }
    assert_eq!((about.rows, about.seed), (300, 5));
    let output = run(&sandbox, &["corpus", "--rows", "7", "-o", "other"]);
    assert_eq!(output.status.code(), Some(2));
    let message = "tapstat: error: a table of 7 rows: expected 100 to 99999999\n";
    assert_eq!(stderr(&output), message);
    assert!(!sandbox.path("other").exists());
}

#[test]
fn the_file_is_one_that_ingest_reads() {
    let sandbox = Sandbox::new();
    let server = served(&sandbox);
    targets(&sandbox, &[("one", server.base_url()), ("two", server.base_url())]);
    let output = gates(&sandbox, &["--no-taplint", "--tier", "8", "-o", "gates"]);
    // What was not run is not passed.
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("- one: taplint was not run: --no-taplint\n"));
    let rung = || Rung::new("one", 1).with("tier", "8");
    let folder = sandbox.run("20260101T000000Z-00000000-gates");
    folder.rungs([rung(), rung().with("target", "two")]);
    folder.file("t8-gates.json", fs::read(sandbox.path("gates/t8-gates.json")).unwrap());
    folder.file("corpus.jsonl", fs::read(sandbox.path("corpus/corpus.jsonl")).unwrap());
    sandbox.ingest(&folder);
    let session = sandbox.session();
    let sql = "SELECT tier, target, tap_versions, taplint_passed, maxrec_default FROM gates ORDER BY target";
    let rows: Vec<(String, String, String, Option<bool>, i64)> = ask(&session, sql);
    let expected =
        |target: &str| ("8".to_owned(), target.to_owned(), "1.1".to_owned(), None, 20_000);
    assert_eq!(rows, [expected("one"), expected("two")]);
    let sql = "SELECT query_class, agrees, probes FROM agreement ORDER BY query_class";
    let rows: Vec<(String, bool, i64)> = ask(&session, sql);
    let expected = [("Q01", 1), ("Q02", 2), ("Q13", 2)];
    assert_eq!(rows, expected.map(|(class, probes)| (class.to_owned(), true, probes)));
}

#[cfg(unix)]
#[test]
fn all_gates_are_passed_where_taplint_finds_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    let server = served(&sandbox);
    targets(&sandbox, &[("one", server.base_url())]);
    let stilts = sandbox.path("stilts");
    let report = |errors: u32| {
        let line = if errors > 0 { "E-QGE-QERR-1 no" } else { "" };
        let text = format!(
            "#!/bin/sh\necho 'This is a stand-in'\necho '{line}'\necho 'Totals: Errors: {errors}; Warnings: 2'\n"
        );
        fs::write(&stilts, text).unwrap();
        fs::set_permissions(&stilts, fs::Permissions::from_mode(0o755)).unwrap();
    };
    report(0);
    let output = gates(&sandbox, &["--stilts", "./stilts", "-o", "gates", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(json["passed"], true);
    assert_eq!(json["targets"]["one"]["taplint"]["totals"]["W"], 2);
    assert_eq!(json["targets"]["one"]["taplint"]["report"], "taplint/one.txt");
    let kept = fs::read_to_string(sandbox.path("gates/taplint/one.txt")).unwrap();
    assert!(kept.starts_with("This is a stand-in"));
    let written: Value =
        serde_json::from_slice(&fs::read(sandbox.path("gates/gates.json")).unwrap()).unwrap();
    assert_eq!(written, json);
    report(1);
    let output = gates(&sandbox, &["--stilts", "./stilts"]);
    assert_eq!(output.status.code(), Some(1));
    let failure = "- one: taplint finds 1 error: 1 in QGE\n";
    assert!(stdout(&output).contains(failure), "{}", stdout(&output));
}

#[test]
fn what_cannot_be_asked_for() {
    let sandbox = Sandbox::new();
    let server = served(&sandbox);
    targets(&sandbox, &[("one", server.base_url())]);
    for (more, message) in [
        (["--class", "Q99"], "no query class `Q99`: the corpus has Q01, Q02, Q03, "),
        (["--only", "three"], "no target `three`: the file has one"),
        (["--tier", "../8"], "`../8` cannot be part of a file's name"),
        (["--stilts", "./none"], "./none: no such program"),
        (
            ["--format", "csv"],
            "the answer has no rows: expected the format table, markdown or json",
        ),
    ] {
        let output = gates(&sandbox, &more);
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
        assert_eq!(stdout(&output), "");
    }
    server.stop();
    let output = gates(&sandbox, &["--no-taplint"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("- one: capabilities: no connection to localhost:"));
    assert!(stdout(&output).contains("Not run: a target is not there"), "{}", stdout(&output));
}
