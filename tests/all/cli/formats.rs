//! Where rows go, and in what form.

use std::path::Path;
use std::process::Stdio;

use arrow::ipc::reader::{FileReader, StreamReader};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use snapbox::{IntoData, str};

use crate::support::{PROGRAM, Sandbox};

/// A row with a null and an empty text; nothing where `1` is replaced by `0`.
const QUERY: &str = "SELECT 'a,b' AS name, '' AS empty, CAST(NULL AS DOUBLE) AS nothing, \
                     0.1 + 0.2 AS sum, 3 AS n WHERE 1 = 1";

/// Asks for one row and for none in a format.
fn answers(sandbox: &Sandbox, format: &str, one: impl IntoData, none: impl IntoData) {
    let ask = |query: &str| sandbox.tapstat(&["sql", query, "--format", format]).assert().success();
    ask(QUERY).stdout_eq(one).stderr_eq("");
    ask(&QUERY.replace("1 = 1", "1 = 0")).stdout_eq(none).stderr_eq("");
}

#[test]
fn nulls_and_empty_answers_in_every_text_format() {
    let sandbox = Sandbox::with_shipped_run();
    answers(
        &sandbox,
        "csv",
        str![[r#"
name,empty,nothing,sum,n
"a,b","",,0.30000000000000004,3

"#]],
        str![[r#"
name,empty,nothing,sum,n

"#]],
    );
    answers(
        &sandbox,
        "json",
        str![[r#"
[{"name":"a,b","empty":"","nothing":null,"sum":0.30000000000000004,"n":3}]

"#]],
        str![[r#"
[]

"#]],
    );
    answers(
        &sandbox,
        "ndjson",
        str![[r#"
{"name":"a,b","empty":"","nothing":null,"sum":0.30000000000000004,"n":3}

"#]],
        str![""],
    );
    answers(
        &sandbox,
        "markdown",
        str![[r#"
| name | empty | nothing |                 sum |   n |
| ---- | ----- | ------: | ------------------: | --: |
| a,b  |       |       — | 0.30000000000000004 |   3 |

"#]],
        str![[r#"
| name | empty | nothing | sum |   n |
| ---- | ----- | ------: | --: | --: |

"#]],
    );
    answers(
        &sandbox,
        "table",
        str![[r#"
─────────────────────────────────────────────
name  empty  nothing                  sum  n
─────────────────────────────────────────────
a,b                —  0.30000000000000004  3
─────────────────────────────────────────────

"#]],
        str![[r#"
─────────────────────────────
name  empty  nothing  sum  n
─────────────────────────────
─────────────────────────────

"#]],
    );
}

#[test]
fn a_file_has_the_format_of_its_suffix() {
    let sandbox = Sandbox::with_shipped_run();
    let write = |name: &str| {
        let done = sandbox.tapstat(&["sql", QUERY, "--output", name]).assert().success();
        done.stdout_eq("").stderr_eq("");
        std::fs::File::open(sandbox.path(name)).unwrap()
    };
    let parquet = ParquetRecordBatchReaderBuilder::try_new(write("a.parquet")).unwrap();
    let rows: usize = parquet.build().unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 1);
    let arrow = FileReader::try_new(write("a.arrow"), None).unwrap();
    assert_eq!(arrow.schema().field(2).name(), "nothing");
    write("a.csv");
    let csv = std::fs::read_to_string(sandbox.path("a.csv")).unwrap();
    assert!(csv.starts_with("name,empty,nothing,sum,n\n"), "{csv}");

    let unknown = sandbox.tapstat(&["sql", QUERY, "--output", "a.xlsx"]).assert().code(2);
    let text = String::from_utf8(unknown.get_output().stderr.clone()).unwrap();
    assert!(text.starts_with("tapstat: error: a.xlsx: its suffix names no format"), "{text}");
    assert!(!sandbox.path("a.xlsx").exists());
}

#[test]
fn arrow_on_standard_output_is_a_stream() {
    let sandbox = Sandbox::with_shipped_run();
    let answer = sandbox.tapstat(&["sql", QUERY, "--format", "arrow"]).assert().success();
    let bytes = answer.get_output().stdout.clone();
    let stream = StreamReader::try_new(bytes.as_slice(), None).unwrap();
    assert_eq!(stream.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 1);
}

#[test]
fn an_error_leaves_the_file_and_standard_output_as_they_were() {
    let sandbox = Sandbox::with_shipped_run();
    std::fs::write(sandbox.path("a.csv"), "mine").unwrap();
    let query = "SELECT rps_men FROM cells";
    sandbox.tapstat(&["sql", query, "--output", "a.csv"]).assert().code(2).stdout_eq("");
    assert_eq!(std::fs::read_to_string(sandbox.path("a.csv")).unwrap(), "mine");
    let names: Vec<String> = std::fs::read_dir(sandbox.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with(".tapstat"))
        .collect();
    assert_eq!(names, Vec::<String>::new());
}

#[test]
fn a_query_comes_as_argument_from_a_file_or_from_standard_input() {
    let sandbox = Sandbox::with_shipped_run();
    std::fs::write(sandbox.path("q.sql"), "SELECT 7 AS n;\n").unwrap();
    for (arguments, input) in [
        (&["sql", "SELECT 7 AS n"][..], ""),
        (&["sql", "-f", "q.sql"], ""),
        (&["sql", "-"], "SELECT 7 AS n"),
        (&["sql"], "SELECT 7 AS n"),
    ] {
        let command = sandbox.tapstat(arguments).args(["--format", "csv"]).stdin(input);
        command.assert().success().stdout_eq("n\n7\n").stderr_eq("");
    }
    let missing = sandbox.tapstat(&["sql", "-f", "none.sql"]).assert().code(2).stdout_eq("");
    missing.stderr_eq("tapstat: error: none.sql: No such file or directory (os error 2)\n");
}

#[test]
fn a_reader_who_leaves_early_is_no_error() {
    let sandbox = Sandbox::with_shipped_run();
    for format in ["table", "markdown", "csv", "json", "ndjson", "parquet", "arrow"] {
        let mut child = std::process::Command::new(PROGRAM)
            .args(["sql", "SELECT a.* FROM published_cells AS a, published_cells AS b"])
            .args(["--format", format])
            .current_dir(sandbox.path("."))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ended.stderr), "", "{format}");
        assert_eq!(ended.status.code(), Some(0), "{format}");
    }
}

#[test]
fn colour_is_for_terminals_unless_it_is_asked_for() {
    let sandbox = Sandbox::with_shipped_run();
    let text = |arguments: &[&str]| {
        let command = sandbox.tapstat(&["verdicts", "--tier", "24"]).args(arguments);
        let shown = command.env("NO_COLOR", "1").assert().success();
        String::from_utf8(shown.get_output().stdout.clone()).unwrap()
    };
    let (plain, coloured) = (text(&[]), text(&["--color", "always"]));
    assert!(!plain.contains('\u{1b}'));
    assert!(coloured.contains('\u{1b}'));
    // Every word is there without colour, too.
    for word in ["invalid", "tie", "egernia-scaling3"] {
        assert!(plain.contains(word) && coloured.contains(word), "{word}");
    }
}

#[test]
fn tables_and_views_tell_about_themselves() {
    let sandbox = Sandbox::with_shipped_run();
    let rows = sandbox.tapstat(&["sql", "--tables", "--format", "csv"]).assert().success();
    let text = String::from_utf8(rows.get_output().stdout.clone()).unwrap();
    assert!(text.starts_with("relation,kind,about_relation,column,type,unit,about\n"), "{text}");
    for line in ["\nrungs,table,", "\ncells,view,", "\nreproduce,table function,"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.contains(",elapsed_s,Float64,s,"), "{text}");
    let page = sandbox.tapstat(&["sql", "--tables"]).assert().success().stderr_eq("");
    let text = String::from_utf8(page.get_output().stdout.clone()).unwrap();
    assert!(text.contains("\nrungs, table: One row per rung"), "{text}");

    let shown = sandbox.tapstat(&["sql", "--show", "cells"]).assert().success().stderr_eq("");
    let sql =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("queries/cells.sql"))
            .unwrap();
    shown.stdout_eq(sql);
    let error = sandbox.tapstat(&["sql", "--show", "cels"]).assert().code(2).stdout_eq("");
    error.stderr_eq("tapstat: error: no view named `cels`: did you mean `cells`?\n");
}
