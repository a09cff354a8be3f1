//! The gates against servers: the embedded one with altered copies of the
//! corpus, and tiny ones that go wrong.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, RecordBatch, StringArray, UInt32Array};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::Float64Type;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::compare::Difference;
use super::testing::{Came, Server, nobody};
use super::*;
use crate::corpus;
use crate::target::tap::{Options as TapOptions, TapServer};

/// Rows of the table of these tests.
const ROWS: u64 = 400;

struct Made {
    table: RecordBatch,
    corpus: Corpus,
}

fn made() -> Made {
    let folder = tempfile::tempdir().unwrap();
    corpus::write(folder.path(), ROWS, corpus::SEED, |_| ()).unwrap();
    let file = File::open(folder.path().join(corpus::TABLE_PARQUET)).unwrap();
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let schema = Arc::clone(builder.schema());
    let batches: Vec<RecordBatch> = builder.build().unwrap().map(Result::unwrap).collect();
    let table = concat_batches(&schema, &batches).unwrap();
    let corpus = Corpus::read(&folder.path().join(corpus::QUERIES)).unwrap();
    Made { table, corpus }
}

fn only(corpus: &Corpus, classes: &[&str]) -> Corpus {
    let mut corpus = corpus.clone();
    corpus.queries.retain(|query| classes.contains(&query.query_class.as_str()));
    corpus
}

fn target(name: &str, url: &str) -> GateTarget {
    GateTarget {
        name: name.into(),
        server: "s".into(),
        base_url: url.into(),
        ..GateTarget::default()
    }
}

fn serve(table: &RecordBatch) -> TapServer {
    TapServer::start_with(table, TapOptions { threads: 1, ..TapOptions::default() }).unwrap()
}

fn gates(targets: &[GateTarget], corpus: &Corpus, options: &Options) -> Gates {
    run(targets, corpus, options, &mut |_| ()).unwrap()
}

/// Failures but that taplint was not run, which these tests do without.
fn failures(gates: &Gates) -> Vec<&str> {
    let texts = gates.failures.iter().map(String::as_str);
    texts.filter(|text| !text.contains("taplint was not run")).collect()
}

fn keep(table: &RecordBatch, rows: impl Iterator<Item = u32>) -> RecordBatch {
    take_record_batch(table, &UInt32Array::from_iter_values(rows)).unwrap()
}

fn replace(table: &RecordBatch, column: &str, values: ArrayRef) -> RecordBatch {
    let place = table.schema().index_of(column).unwrap();
    let mut columns = table.columns().to_vec();
    columns[place] = values;
    RecordBatch::try_new(table.schema(), columns).unwrap()
}

fn text(table: &RecordBatch, column: &str, row: usize) -> String {
    table.column_by_name(column).unwrap().as_string::<i32>().value(row).to_owned()
}

/// One value of a text column changed.
fn with_text(table: &RecordBatch, column: &str, row: usize, value: &str) -> RecordBatch {
    let old = table.column_by_name(column).unwrap().as_string::<i32>();
    let values = old.iter().enumerate();
    let values = values.map(|(place, old)| if place == row { Some(value) } else { old });
    replace(table, column, Arc::new(values.collect::<StringArray>()))
}

#[test]
fn what_was_planted_in_a_copy_is_found() {
    let made = made();
    let corpus = only(&made.corpus, &["Q01", "Q11"]);
    // A row that every query of Q11 gives, with a position.
    let times = made.table.column_by_name("t_min").unwrap().as_primitive::<Float64Type>().clone();
    let ra = made.table.column_by_name("s_ra").unwrap().as_primitive::<Float64Type>().clone();
    let row = (0..ROWS as usize)
        .find(|row| times.is_valid(*row) && times.value(*row) > 54_000.0 && ra.value(*row) > 100.0)
        .unwrap();
    let key = text(&made.table, "obs_publisher_did", row);
    let all = 0..ROWS as u32;
    let rounded = (ra.value(row) * 1000.0).round() / 1000.0;
    assert!(rounded > 100.0 && rounded != ra.value(row));
    let ra =
        ra.iter().enumerate().map(|(place, old)| if place == row { Some(rounded) } else { old });
    let ra: ArrayRef = Arc::new(ra.collect::<Float64Array>());
    let other = key.replace('?', "?9");
    let copies: [(&str, RecordBatch, bool, Option<&str>); 6] = [
        ("nothing", made.table.clone(), true, None),
        ("missing", keep(&made.table, all.clone().filter(|r| *r as usize != row)), false, None),
        ("twice", keep(&made.table, all.chain([row as u32])), false, None),
        ("renamed", with_text(&made.table, "obs_publisher_did", row, &other), false, None),
        ("value", with_text(&made.table, "access_format", row, "x/y"), true, Some("access_format")),
        ("rounded", replace(&made.table, "s_ra", ra), true, Some("s_ra")),
    ];
    let clean = serve(&made.table);
    for (name, table, agrees, column) in copies {
        let copy = serve(&table);
        let targets = [target("clean", clean.base_url()), target("copy", copy.base_url())];
        let gates = gates(&targets, &corpus, &Options { probes: 2, ..Options::default() });
        let found = &gates.agreement.classes["Q11"];
        assert_eq!(found.agrees, agrees, "{name}: {:?}", gates.failures);
        assert_eq!(found.same_values, Some(name == "nothing"), "{name}");
        assert!(gates.agreement.classes["Q01"].agrees, "{name}: metadata only has to be there");
        let differences: Vec<&Difference> =
            found.detail.iter().flat_map(|probe| &probe.differences).collect();
        let shows = |difference: &&Difference| match difference {
            Difference::Rows { has, first, count: 1, .. } => match name {
                "missing" => has.starts_with("clean") && first[0] == key,
                "twice" => has.starts_with("copy") && first[0] == key,
                _ => has.starts_with("copy") && first[0] == other,
            },
            Difference::Values { key: shown, column: named, values } => {
                *shown == key && Some(named.as_str()) == column && values.len() == 2
            }
            _ => false,
        };
        assert!(differences.iter().any(shows) || name == "nothing", "{name}: {differences:?}");
        assert_eq!(failures(&gates).is_empty(), agrees, "{name}");
        let listed = gates.agreement.disagreed.contains(&"Q11".to_owned());
        assert_eq!(listed, !agrees, "{name}");
        let expected = gates.expected().contains_key(&found.detail[0].query_id);
        assert_eq!(expected, agrees, "{name}: what they disagree on is expected of nobody");
    }
}

#[test]
fn all_classes_agree_on_one_table_and_are_as_large_as_expected() {
    let made = made();
    let (a, b) = (serve(&made.table), serve(&made.table));
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        tier: Some("8".into()),
        folder: Some(folder.path().to_owned()),
        probes: 3,
        ..Options::default()
    };
    let targets = [target("a", a.base_url()), target("b", b.base_url())];
    let gates = gates(&targets, &made.corpus, &options);
    assert_eq!(failures(&gates), <[&str; 0]>::default());
    assert!(!gates.passed, "taplint was not run");
    assert_eq!(gates.agreement.classes.len(), made.corpus.classes().len());
    assert!(gates.agreement.other_values.is_empty(), "{:?}", gates.agreement.other_values);
    let vosi = gates.targets["a"].vosi.as_ref().unwrap();
    assert_eq!(vosi.tap_versions, ["1.1"]);
    assert!(vosi.maxrec_default.is_some() && vosi.output_formats.contains(&"text/csv".to_owned()));
    assert!(vosi.tables.iter().any(|table| table.eq_ignore_ascii_case("ivoa.obscore")));
    for name in ["capabilities", "availability", "tables"] {
        let path = folder.path().join("capabilities").join(format!("t8-a-{name}.xml"));
        assert!(std::fs::read_to_string(&path).unwrap().contains('<'), "{}", path.display());
    }
    let expected = gates.expected();
    let probe = &gates.agreement.classes["Q02"].detail[0];
    assert!(matches!(expected[&probe.query_id].rows, Some(1 | 5)));
    // What is written is what `tapstat ingest` reads.
    let path = gates.write(folder.path()).unwrap();
    assert!(path.ends_with("t8-gates.json"));
    let text = std::fs::read_to_string(path).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["targets"]["a"]["vosi"]["maxrec_default"], vosi.maxrec_default.unwrap());
    assert_eq!(json["agreement"]["classes"]["Q02"]["detail"].as_array().unwrap().len(), 3);
    // And what a resumed measurement reads.
    assert_eq!(Gates::read(folder.path(), None).unwrap(), None);
    let read = Gates::read(folder.path(), Some("8")).unwrap().unwrap();
    assert_eq!((read.expected(), &read.failures), (expected, &gates.failures));
    assert_eq!(read.refusals(&["a".into()]), ["a: taplint was not run: it was not asked for"]);
}

#[test]
fn an_answer_that_the_server_cut_is_seen() {
    let made = made();
    let corpus = only(&made.corpus, &["Q11"]);
    let short = TapOptions { max_rows: 50, threads: 1, ..TapOptions::default() };
    let (a, b) = (serve(&made.table), TapServer::start_with(&made.table, short).unwrap());
    let targets = [target("a", a.base_url()), target("b", b.base_url())];
    let gates = gates(&targets, &corpus, &Options { probes: 1, ..Options::default() });
    let reasons = &gates.agreement.classes["Q11"].reasons;
    let overflow = "b (votable): the server left rows out (OVERFLOW)";
    assert!(reasons.iter().any(|reason| reason == overflow), "{reasons:?}");
    let bounds = "b (csv): 50 rows, the corpus has ";
    assert!(reasons.iter().any(|reason| reason.starts_with(bounds)), "{reasons:?}");
}

#[test]
fn a_target_that_is_none_is_named_before_anything_is_timed() {
    let corpus = only(&made().corpus, &["Q02"]);
    let raw = |head: &'static str, wait: u64| {
        Server::start(move |_, stream| {
            let _ = stream.write_all(head.as_bytes());
            std::thread::sleep(Duration::from_millis(wait));
        })
    };
    let wrong = Server::of(|_| (404, "text/plain", "no".into()));
    let slow = raw("", 900);
    let html = Server::of(|_| (200, "text/html", "<html><title>Welcome</title></html>".into()));
    let broken = Server::of(|_| (500, "text/plain", "oh".into()));
    let early = raw("HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n", 0);
    let more = raw("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n<capabilities>", 0);
    let less = raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n<capabilities>", 0);
    for (url, expected) in [
        (nobody(), "no connection to 127.0.0.1:"),
        (wrong.url("/tap"), "status 404 at http://127.0.0.1:"),
        (slow.url("/tap"), "no whole answer within 0.3 s"),
        (html.url("/tap"), "a web page (`Welcome`) in place of <capabilities>"),
        (broken.url("/tap"), "status 500 at http://127.0.0.1:"),
        (early.url("/tap"), "the connection was closed before an answer came"),
        (more.url("/tap"), "the connection was closed after 14 of the 900 bytes"),
        (less.url("/tap"), "more bytes came than the 5 that Content-Length promised"),
    ] {
        let limits = Limits { time: Duration::from_millis(300), ..Limits::default() };
        let options = Options { limits, ..Options::default() };
        let gates = gates(&[target("x", &url)], &corpus, &options);
        let failure = gates.failures[0].strip_prefix("x: capabilities: ").unwrap();
        assert!(failure.starts_with(expected), "{failure}");
        assert!(!gates.passed && gates.agreement.classes.is_empty());
        let reason = "a target is not there, or does not describe itself";
        assert_eq!(gates.agreement.not_run.as_deref(), Some(reason));
    }
}

/// A status, a media type and a body.
type Sent = (u16, &'static str, String);

/// The documents of a service, and what it answers to queries.
fn tap(came: &Came, answer: impl Fn(&Came) -> Sent) -> Sent {
    let xml = |text: &str| (200, "text/xml", text.to_owned());
    match came.path() {
        "/tap/capabilities" => {
            xml("<capabilities><capability standardID='ivo://ivoa.net/std/TAP'>\
             <interface version='1.1'/></capability></capabilities>")
        }
        "/tap/availability" => xml("<availability><available>true</available></availability>"),
        "/tap/tables" => xml("<tableset><schema><table><name>t</name></table></schema></tableset>"),
        _ => answer(came),
    }
}

#[test]
fn answers_that_are_none_are_told_apart() {
    let corpus = only(&made().corpus, &["Q02"]);
    type Answers = fn(&Came) -> Sent;
    let answers: [(&str, Answers); 5] = [
        (": the server refuses the query: no such table", |_| {
            let info = "<INFO name='QUERY_STATUS' value='ERROR'>no such table</INFO>";
            (200, "text/xml", format!("<VOTABLE><RESOURCE>{info}</RESOURCE></VOTABLE>"))
        }),
        (": a web page (`Log in`) in place of an answer", |_| {
            (200, "text/html", "<html><title>Log in</title></html>".into())
        }),
        (": status 503: a web page (without a title) in place of an answer", |_| {
            (503, "text/html", "<html></html>".into())
        }),
        (": cut off: line 2 ends inside quotes", |_| {
            (200, "text/csv", "obs_publisher_did,x\na,\"1".into())
        }),
        (": 0 rows, the corpus has ", |came| {
            assert_eq!(came.parameter("LANG").as_deref(), Some("ADQL"));
            (200, "text/csv", "obs_publisher_did,x\n".into())
        }),
    ];
    let options = Options { probes: 1, formats: vec![Format::Csv], ..Options::default() };
    for (expected, answer) in answers {
        let server = Server::of(move |came| tap(came, answer));
        let gates = gates(&[target("x", &server.url("/tap"))], &corpus, &options);
        let reason = &gates.agreement.classes["Q02"].reasons[0];
        assert!(reason.starts_with(&format!("x{expected}")), "{reason}");
        assert_eq!(gates.agreement.disagreed, ["Q02"]);
        assert!(failures(&gates)[0].starts_with("Q02: x: "));
    }
}

#[test]
fn a_service_that_says_it_is_not_available() {
    let server = Server::of(|came| match came.path() {
        "/tap/availability" => {
            (200, "text/xml", "<availability><available>false</available></availability>".into())
        }
        _ => tap(came, |_| (200, "text/csv", "a\n".into())),
    });
    let gates = gates(&[target("x", &server.url("/tap"))], &Corpus::default(), &Options::default());
    let failure = "x: availability: the service says that it is not available";
    assert_eq!(failures(&gates), [failure]);
}

#[test]
fn documents_of_plain_http_are_compared_byte_for_byte() {
    let page = |text: &'static str| {
        Server::of(move |came| match came.path() {
            "/files/1k.txt" => (200, "text/plain", text.into()),
            _ => (404, "text/plain", "none".into()),
        })
    };
    let corpus = |path: &str| Corpus {
        queries: vec![
            serde_json::from_value(serde_json::json!({
                "query_id": "p", "query_class": "page", "method": "GET", "path": path
            }))
            .unwrap(),
        ],
        sha256: None,
    };
    let (a, b, c) = (page("same"), page("same"), page("other"));
    let http = |name: &str, server: &Server| GateTarget {
        kind: TargetKind::Http,
        ..target(name, &server.url("/files"))
    };
    let (a, b, c) = (http("a", &a), http("b", &b), http("c", &c));
    let run =
        |targets: &[GateTarget], path: &str| gates(targets, &corpus(path), &Options::default());
    let same = run(&[a.clone(), b], "/1k.txt");
    assert!(same.passed, "{:?}", same.failures);
    assert_eq!(same.targets["a"].vosi, None);
    let other = run(&[a.clone(), c], "/1k.txt");
    assert_eq!(other.failures, ["page: a and c send different documents"]);
    let missing = run(&[a], "/2k.txt");
    assert_eq!(missing.failures, ["page: a: status 404"]);
}
