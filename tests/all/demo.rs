//! `tapstat demo`, live: two servers of this program, measured by it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::support::{PROGRAM, Sandbox, ask, files, sources};

/// The demonstration with short windows, called in the sandbox's folder, which
/// has the host's lock and no `stilts`.
fn demo(sandbox: &Sandbox, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    let programs = sandbox.path("bin");
    fs::create_dir_all(&programs).unwrap();
    // What the hooks of the targets need.
    let _ = std::os::unix::fs::symlink(PROGRAM, programs.join("tapstat"));
    for name in ["sh", "cat", "grep", "rm"] {
        let found = ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(name));
        let found = found.into_iter().find(|path| path.exists()).unwrap();
        let _ = std::os::unix::fs::symlink(found, programs.join(name));
    }
    command
        .current_dir(sandbox.path(""))
        .env("TAPSTAT_LOCK_DIR", sandbox.path(""))
        .env_remove("TAPSTAT_STORE")
        .env("PATH", &programs)
        .args(["demo", "--window", "0.2", "--runs"])
        .arg(sources().join("runs"))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The processes that run in the sandbox's folder, as all do that the
/// demonstration starts.
fn left(sandbox: &Sandbox) -> Vec<String> {
    let folder = sandbox.path("").canonicalize().unwrap();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let in_it = processes.filter(|process| {
        let there = fs::read_link(process.path().join("cwd"));
        there.is_ok_and(|there| there.starts_with(&folder))
    });
    in_it.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}

/// Waits until nothing runs in the sandbox's folder.
fn assert_none_left(sandbox: &Sandbox) {
    let begun = Instant::now();
    while !left(sandbox).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", left(sandbox));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn two_servers_are_measured_and_judged() {
    let sandbox = Sandbox::new();
    let arguments = ["--store", "store", "--into", "live"];
    let output = demo(&sandbox, &arguments).output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(left(&sandbox), [""; 0]);
    assert!(said.contains("fast: taplint was not run: no `stilts` on PATH"), "{said}");

    // Live first, then what ships.
    let shown = String::from_utf8(output.stdout).unwrap();
    let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text}: {shown}"));
    assert!(at("-demo\n") < at("tap-compare-scaling\n"), "{shown}");
    assert!(at("fast rps") < at("argus-scaling3 rps"), "{shown}");

    let session = sandbox.session();
    let rungs: Vec<(String, i64, i64, i64)> = ask(
        &session,
        "SELECT target, count(*), sum(CASE WHEN requests > 0 THEN 1 ELSE 0 END), sum(errors) \
         FROM rungs WHERE run LIKE '%-demo' GROUP BY target ORDER BY target",
    );
    assert_eq!(rungs, [("fast".to_owned(), 12, 12, 0), ("slow".to_owned(), 12, 12, 0)]);
    let verdicts: Vec<(String, i64)> = ask(
        &session,
        "SELECT query_class, count(*) FROM verdicts WHERE run LIKE '%-demo' \
         GROUP BY query_class ORDER BY query_class",
    );
    assert_eq!(verdicts, [("Q03".to_owned(), 2), ("Q05".to_owned(), 2)]);
    // No query of the slow one is faster than it waits.
    let quickest: Vec<(f64,)> =
        ask(&session, "SELECT min(latency_s) FROM requests WHERE rung LIKE 'slow-%'");
    assert!(quickest[0].0 >= 0.020, "{quickest:?}");
    let agreed: Vec<(String, bool)> = ask(
        &session,
        "SELECT query_class, agrees FROM agreement WHERE run LIKE '%-demo' ORDER BY query_class",
    );
    assert_eq!(agreed, [("Q03".to_owned(), true), ("Q05".to_owned(), true)]);
    // It keeps others from writing to the store.
    drop(session);

    // All that was written is where it is said, and nothing else is anywhere.
    let written = files(&sandbox.path(""));
    for name in ["report/index.html", "report/figures/verdicts.svg", "vertical-scaling.svg"] {
        let path = format!("live/{name}");
        assert!(said.contains(&format!("  {path}")), "{said}");
        assert!(written.contains_key(&path), "{path}");
    }
    let expected = ["live/", "store/", "bin/", "tapstat-measure.lock"];
    if cfg!(target_os = "linux") {
        let name = written.keys().find(|name| name.ends_with("/resources.jsonl")).unwrap();
        let sampled = String::from_utf8(written[name].clone()).unwrap();
        for container in ["fast", "slow"] {
            assert!(sampled.contains(&format!("\"container\":\"{container}\"")), "{sampled}");
        }
    }
    let strange = written.keys().filter(|name| !expected.iter().any(|part| name.starts_with(part)));
    assert_eq!(strange.collect::<Vec<_>>(), Vec::<&String>::new());
    assert!(!written.keys().any(|name| name.ends_with(".pid")));

    // The report is what the store gives.
    let check = ["report", "--check", "live/report", "--store", "store"];
    sandbox.tapstat(&check).assert().success();

    // Once more, into the same place; and by `measure`, which starts them itself.
    let again = demo(&sandbox, &[&arguments[..], &["--format", "csv"]].concat()).output().unwrap();
    assert_eq!(again.status.code(), Some(0), "{}", self::said(&again));
    let rows = String::from_utf8(again.stdout).unwrap();
    assert_eq!(rows.lines().filter(|line| line.starts_with("run,")).count(), 1, "{rows}");
    let runs = |folder: &str| fs::read_dir(sandbox.path(folder)).unwrap().count();
    assert_eq!(runs("live/runs"), 2);
    assert_eq!(left(&sandbox), [""; 0]);
    let mut measure = Command::new(PROGRAM);
    measure
        .current_dir(sandbox.path(""))
        .env("TAPSTAT_LOCK_DIR", sandbox.path(""))
        .env("PATH", sandbox.path("bin"))
        .args([
            "measure",
            "live/protocol.toml",
            "--into",
            "live/runs",
            "--classes",
            "Q05",
            "--allow-gate-failures",
        ]);
    let measured = measure.output().unwrap();
    let said = self::said(&measured);
    assert!(said.contains("12 rungs") && measured.status.code() < Some(2), "{said}");
    assert_eq!(runs("live/runs"), 3);
    assert_none_left(&sandbox);
}

#[test]
fn another_measurement_keeps_it_from_measuring() {
    let sandbox = Sandbox::new();
    let lock = fs::File::create(sandbox.path("tapstat-measure.lock")).unwrap();
    lock.lock().unwrap();
    let output = demo(&sandbox, &[]).output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("nothing can be measured now (`--no-live` shows what ships)"), "{said}");
    assert!(said.contains("one measurement at a time") || said.contains("lock file"), "{said}");
    assert!(!sandbox.path("demo-live").exists() && !sandbox.path("demo-store").exists());
}

/// Sends a signal once the first rung is measured.
fn ended_by(sandbox: &Sandbox, signal: Signal) -> (Option<i32>, String) {
    let mut child = demo(sandbox, &[]).spawn().unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let process = Pid::from_child(&child);
    let mut said = String::new();
    for line in stderr.lines().map_while(Result::ok) {
        if line.starts_with("rung 1/") {
            let pids = ["fast", "slow"].map(|name| {
                let path = sandbox.path(&format!("demo-live/{name}.pid"));
                let pid: i32 = fs::read_to_string(path).unwrap().trim().parse().unwrap();
                Pid::from_raw(pid).unwrap()
            });
            assert!(pids.iter().all(|pid| test_kill_process(*pid).is_ok()), "they run until then");
            kill_process(process, signal).unwrap();
        }
        said += &format!("{line}\n");
    }
    (child.wait().unwrap().code(), said)
}

#[test]
fn the_servers_end_with_it() {
    let sandbox = Sandbox::new();
    let (code, said) = ended_by(&sandbox, Signal::INT);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(" of 24 rungs measured, and nothing of it is in the store"), "{said}");
    assert_eq!(left(&sandbox), [""; 0]);
    assert!(!sandbox.path("demo-store").exists());

    let (code, said) = ended_by(&sandbox, Signal::KILL);
    assert_eq!(code, None, "{said}");
    assert_none_left(&sandbox);
    // Nothing of it is in the way of the next.
    let (code, said) = ended_by(&sandbox, Signal::TERM);
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(left(&sandbox), [""; 0]);
}
