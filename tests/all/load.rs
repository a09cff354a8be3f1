//! `tapstat load` against a server of this test, and what it wrote, ingested.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::support::{PROGRAM, Sandbox, ask};

/// A server on the loopback that answers every request with a status and `ok`. It
/// lives as long as the tests do.
fn server(status: u16) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(&stream, status));
        }
    });
    url
}

fn answer(stream: &TcpStream, status: u16) {
    let response = format!("HTTP/1.1 {status} X\r\nContent-Length: 2\r\n\r\nok");
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    for _ in lines.filter(String::is_empty) {
        if (&mut &*stream).write_all(response.as_bytes()).is_err() {
            return;
        }
    }
}

/// The answer of `tapstat load` as JSON.
fn load(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    let arguments = [&["load", "--format", "json", "--warmup", "0"], arguments].concat();
    let output = sandbox.tapstat(&arguments).assert().success().get_output().stdout.clone();
    serde_json::from_slice(&output).unwrap()
}

fn number(value: &Value, pointer: &str) -> f64 {
    value.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer}: {value}"))
}

#[test]
fn what_was_measured_is_what_ingest_finds() {
    let sandbox = Sandbox::new();
    let url = server(200);
    for (number_of_run, pacing) in
        [&[][..], &["--rate", "200", "--spacing", "poisson"]].iter().enumerate()
    {
        let id = format!("2026010{}T000000Z-0123abcd-load", number_of_run + 1);
        let run = sandbox.run(&id);
        let rung = if pacing.is_empty() { "a---load-c2-r1" } else { "a---load-c2-q200-r1" };
        fs::create_dir(run.as_ref().join("samples")).unwrap();
        let samples = run.as_ref().join(format!("samples/{rung}.parquet"));
        let samples = samples.to_str().unwrap();
        let common = [&url, "-c", "2", "-d", "0.5", "--samples", samples];
        let answer = load(&sandbox, &[&common, *pacing].concat());
        let figure = |pointer: &str| answer.pointer(pointer).unwrap().clone();
        assert_eq!(figure("/figures/errors"), 0);
        let mut line = json!({
            "target": "a", "server": "a", "response_format": "-", "query_class": "load",
            "concurrency": 2, "repetition": 1, "loop": figure("/loop"),
            "requests": figure("/figures/requests"), "errors": figure("/figures/errors"),
            "elapsed_s": figure("/window/elapsed_s"), "rps": figure("/figures/rps"),
            "latency_mean_s": figure("/figures/response/mean_s"),
            "latency_p50_s": figure("/figures/response/p50_s"),
            "latency_p99_s": figure("/figures/response/p99_s"),
            "latency_p999_s": figure("/figures/response/p999_s"),
            "latency_max_s": figure("/figures/response/max_s"),
            "ttfb_p95_s": figure("/figures/ttfb_p95_s"),
            "mean_response_bytes": figure("/figures/mean_response_bytes"),
            "generator_cpu_peak": figure("/guard/cpu_peak"),
            "generator_cpu_s": figure("/guard/cpu_s"),
        });
        if !pacing.is_empty() {
            line["offered_rps"] = json!(200.0);
        }
        fs::write(run.as_ref().join("rungs.jsonl"), format!("{line}\n")).unwrap();
        let (_, warnings) = sandbox.try_ingest(run.as_ref()).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
    }
    let session = sandbox.session();
    let rows: Vec<(i64, f64, f64)> =
        ask(&session, "SELECT requests, window_s, elapsed_s FROM rungs ORDER BY run");
    assert!(rows.iter().all(|(requests, ..)| *requests > 10), "{rows:?}");
    // From the first request to the last response, which is in the window.
    assert!(rows.iter().all(|(_, window, elapsed)| window <= &(elapsed * 1.0001)), "{rows:?}");
    let offered: Vec<(i64, i64)> = ask(
        &session,
        "SELECT count(*), sum(CASE WHEN t_offered <= t_start THEN 1 ELSE 0 END) \
         FROM requests WHERE t_offered IS NOT NULL",
    );
    assert_eq!(offered[0].0, offered[0].1);
    assert_eq!(offered[0].0, rows[1].0);
}

#[test]
fn the_answer_says_what_it_cost_and_whether_it_holds() {
    let sandbox = Sandbox::new();
    let url = server(200);
    let answer = load(&sandbox, &[&url, "-d", "0.2", "-c", "2"]);
    assert!(number(&answer, "/cpu_s_per_request") > 0.0);
    assert!(number(&answer, "/cpu_s_per_mib") > 0.0);
    assert_eq!(number(&answer, "/counts/offered"), number(&answer, "/counts/completed"));

    let busy = server(503);
    let answer = load(&sandbox, &[&busy, "-d", "0.2", "-c", "1"]);
    assert_eq!(answer["figures"]["faults"][0][0], "status_503");
    assert_eq!(answer["figures"]["response"], Value::Null);
    let flags = ["load", &busy, "-d", "0.1", "--warmup", "0", "--check"];
    let page = sandbox.tapstat(&flags).assert().code(1).get_output().stdout.clone();
    assert!(String::from_utf8(page).unwrap().contains("status_503: "));

    for (flags, expected) in [
        (&["load", "ftp://x"][..], "tapstat: error: `ftp://x` is no URL that can be measured"),
        (&["load", &url, "--streams", "2"], "tapstat: error: streams is 2: expected 1 without"),
        (&["load", &url, "-H", "x"], "tapstat: error: --header `x`: expected `Name: value`"),
        (&["load", &url, "-d", "x"], "tapstat: error: invalid value 'x' for '--duration <S>'"),
    ] {
        let failed = sandbox.tapstat(flags).assert().code(2).get_output().clone();
        let message = String::from_utf8(failed.stderr).unwrap();
        assert!(message.starts_with(expected), "{message}");
        assert!(failed.stdout.is_empty());
    }
}

#[test]
fn an_interrupt_ends_it_and_shows_what_there_is() {
    let url = server(200);
    let child = Command::new(PROGRAM)
        .args(["load", &url, "-d", "600", "--warmup", "0", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let process = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("interrupted: the figures are of the window so far"), "{said}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["stopped"], true);
    assert!(number(&answer, "/figures/requests") > 0.0);
}
