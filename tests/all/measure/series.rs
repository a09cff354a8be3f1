//! Series of bursts and sweeps over connections, against a server whose instances
//! are processes that a hook adds.

use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{events, lines, rungs};
use crate::support::{PROGRAM, RunFolder, Sandbox, ask};

/// Starts null targets on one port (SO_REUSEPORT) until there are as many as the
/// file `wanted` says. Each says that it listens in a file of its own.
const POOL: &str = r#"
pids=
trap 'kill $pids; exit' TERM
running=0
while :; do
  while [ "$running" -lt "$(cat wanted)" ]; do
    running=$((running + 1))
    "$1" null-target --listen "127.0.0.1:$2" --reuse-port --delay 2ms >"up.$running" &
    pids="$pids $!"
  done
  sleep 0.02
done
"#;

/// Makes the pool larger by one, and waits for the new instance.
const GROW: &str = r"
count=$(($(cat wanted) + 1))
echo $count >next && mv next wanted
while [ ! -s up.$count ]; do sleep 0.01; done
";

const CORPUS: &str = r#"{"query_id": "a", "query_class": "a", "method": "GET", "path": "/bytes/64"}
"#;

/// Measures a protocol against a pool that `reset` makes larger by one each time,
/// from none; `loops` is a line of the target. Gives the sandbox with the ingested
/// run, and the run's name.
fn measure(protocol: &str, loops: &str) -> (Sandbox, std::path::PathBuf) {
    let sandbox = Sandbox::new();
    let folder = RunFolder::create(&sandbox.path(""));
    // Free a moment ago; the first instance takes it.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    folder.file("pool.sh", POOL).file("grow.sh", GROW).file("corpus.jsonl", CORPUS);
    folder.file("wanted", "0\n").file("protocol.toml", protocol);
    let targets = format!(
        "[target.pool]\nbase_url = \"http://127.0.0.1:{port}\"\nkind = \"http\"\napi = \"api\"\n\
         count_instances = true\n{loops}\n\
         [target.pool.containers]\napi = {{ pid_file = \"pool.pid\", count = \"tapstat*\" }}\n\
         [target.pool.hooks]\n\
         start = \"sh pool.sh '{PROGRAM}' {port} >/dev/null 2>&1 & echo $! >pool.pid\"\n\
         reset = \"sh grow.sh\"\nstop = \"kill $(cat pool.pid)\"\n"
    );
    folder.file("targets.toml", targets);
    let output = sandbox
        .tapstat(&["measure", "protocol.toml"])
        .env("TAPSTAT_LOCK_DIR", sandbox.path(""))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    // A busy machine may void a rung, which is not for these tests to judge.
    assert!(output.status.code().is_some_and(|code| code < 2), "{said}");
    // The stop hook has ended the pool: nothing of it is left, or will be in a moment.
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the pool goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut runs = std::fs::read_dir(sandbox.path("runs")).unwrap();
    let run = runs.next().unwrap().unwrap().path();
    let (_, warnings) = sandbox.try_ingest(&run).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    sandbox.tapstat(&["check"]).assert().code(0);
    (sandbox, run)
}

/// A protocol of one target and class.
fn protocol(connections: &str, rest: &str) -> String {
    format!(
        "[grid]\ntargets = [\"pool\"]\nclasses = [\"a\"]\nformats = [\"-\"]\n\
         concurrencies = {connections}\n{rest}\n\
         gates = false\ncorpus = \"corpus.jsonl\"\ntargets = \"targets.toml\"\nlabel = \"series\"\n\
         sample_seconds = 0.05\n\
         [workload]\ngenerator_workers = 1\n\
         [containers]\npool = {{ members = [\"api\"], api = \"api\" }}\n"
    )
}

/// The objects that a command prints.
fn printed(sandbox: &Sandbox, command: &str) -> Vec<Value> {
    let output = sandbox.tapstat(&[command, "--format", "ndjson"]).assert().code(0);
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_series_of_bursts_from_idle() {
    let protocol = protocol(
        "[3, 2]",
        "[measure]\nloop = \"burst\"\n\
         burst = { idle_seconds = 0.25, seconds = 0.2, count = 3 }",
    );
    let (sandbox, run) = measure(&protocol, "");
    // The first series meets one instance, the second two.
    let names = rungs(&run);
    let named = |c: u32, i: u32| (1..=3).map(move |r| format!("pool---a-c{c}-i{i}x1-burst-r{r}"));
    assert_eq!(names, named(2, 2).chain(named(3, 1)).collect::<Vec<_>>());
    // One reset for a series; one burst's connections are made for it alone.
    let hooks = events(&run, "hook");
    let resets = hooks.iter().filter(|event| event["detail"]["hook"] == "reset").count();
    assert_eq!((resets, events(&run, "deviation").len()), (2, 0));
    for event in events(&run, "generator") {
        let detail = &event["detail"];
        let connections = if event["rung"].as_str().unwrap().contains("-c3-") { 3 } else { 2 };
        assert_eq!(detail["connections"]["opened"], connections, "{event}");
        assert_eq!(detail["counts"]["warmup"], 0);
    }
    let bursts = printed(&sandbox, "bursts");
    assert_eq!(bursts.len(), 6);
    for (at, burst) in bursts.iter().enumerate() {
        let connections = if at < 3 { 2 } else { 3 };
        assert_eq!(
            (&burst["concurrency"], &burst["target"]),
            (&connections.into(), &"pool".into())
        );
        assert_eq!(burst["burst"], at as i64 % 3 + 1);
        assert_eq!(burst["instances"], if at < 3 { 2 } else { 1 });
        assert!(burst["rps"].as_f64().unwrap() > 0.0 && burst["errors"] == 0, "{burst}");
        // The last burst of a series has none after it.
        let gap = burst["gap_s"].as_f64();
        assert!(if at % 3 == 2 { gap.is_none() } else { gap.unwrap() >= 0.25 - 1e-3 }, "{burst}");
    }
    // Bursts are no cells, nor points of a sweep.
    let session = sandbox.session();
    for view in ["cells", "sweep", "instance_scaling"] {
        let rows: Vec<(i64,)> = ask(&session, &format!("SELECT count(*) FROM {view}"));
        assert_eq!(rows, [(0,)], "{view}");
    }
    // What the protocol promised is there, whatever number of instances it met.
    let name = run.file_name().unwrap().to_str().unwrap();
    let check = ["protocol", "check", "protocol.toml", "--run", name];
    let check = sandbox.tapstat(&check).assert().code(0);
    let said = String::from_utf8(check.get_output().stdout.clone()).unwrap();
    assert!(said.contains("6 rungs promised: 6 measured, 0 lacking; 0 beside"), "{said}");
}

const SWEEP: &str = "repetitions = 2\n[window]\nmeasure_seconds = 0.3\n[measure]\nsweep = true";

#[test]
fn a_sweep_over_connections() {
    let (sandbox, run) = measure(&protocol("[4, 1, 2]", SWEEP), "");
    let measured: Vec<Value> = lines(&run.join("rungs.jsonl"));
    let order = measured.iter().map(|rung| {
        let number = |field: &str| rung[field].as_i64().unwrap();
        (number("repetition"), number("concurrency"), number("instances"))
    });
    // Rising; the reset between the sweeps has made the pool larger.
    let expected = [(1, 1, 1), (1, 2, 1), (1, 4, 1), (2, 1, 2), (2, 2, 2), (2, 4, 2)];
    assert_eq!(order.collect::<Vec<_>>(), expected);
    let hooks = events(&run, "hook");
    assert_eq!(hooks.iter().filter(|event| event["detail"]["hook"] == "reset").count(), 2);
    let points = printed(&sandbox, "sweep");
    let shown = points.iter().map(|point| {
        let number = |field: &str| point[field].as_i64().unwrap();
        assert_eq!(point["errors"], 0, "{point}");
        (number("concurrency"), number("instances"))
    });
    assert_eq!(shown.collect::<Vec<_>>(), [(1, 2), (2, 2), (4, 2)], "the most instances");
    let session = sandbox.session();
    let rows: Vec<(i64,)> = ask(&session, "SELECT count(*) FROM instance_scaling");
    assert_eq!(rows, [(0,)], "nobody prescribed the instances");
}

#[test]
fn prescribed_instances_are_compared_with_one() {
    let (sandbox, run) = measure(&protocol("[2, 4]", SWEEP), "instance_loops = 1");
    assert_eq!(rungs(&run)[0], "pool---a-c2-i1x1-r1");
    let session = sandbox.session();
    let sizes: Vec<(i64, i64, i64, bool)> = ask(
        &session,
        "SELECT concurrency, instances, loops, efficiency > 0 FROM instance_scaling
         ORDER BY concurrency, instances",
    );
    assert_eq!(sizes, [(2, 1, 1, true), (2, 2, 1, true), (4, 1, 1, true), (4, 2, 1, true)]);
    let bounds = printed(&sandbox, "classify");
    let shown: Vec<_> = bounds.iter().map(|row| (&row["instances"], &row["target"])).collect();
    assert_eq!(shown, [(&2.into(), &"pool".into()), (&2.into(), &"pool".into())]);
    // Whatever the machine made of it: one size was compared with the other.
    let one_size = ["no single instance", "one size only"];
    assert!(bounds.iter().all(|row| !one_size.contains(&row["reason"].as_str().unwrap())));
    assert!(printed(&sandbox, "sweep").is_empty());
}

#[test]
fn a_series_that_was_interrupted_says_so() {
    let protocol = super::SMALL.replace("repetitions = 3", "repetitions = 1");
    let campaign = super::Campaign::new(&format!("{protocol}sweep = true\n"));
    let part = ["--only", "fast"];
    let (code, said) = campaign.measure(&part);
    assert!(code.is_some_and(|code| code < 2), "{said}");
    let run = campaign.run();
    assert_eq!(events(&run, "deviation"), [Value::Null; 0]);
    // As if it had been killed in the sweep of the first class.
    let all = std::fs::read_to_string(run.join("rungs.jsonl")).unwrap();
    let first = all.lines().next().unwrap();
    std::fs::write(run.join("rungs.jsonl"), format!("{first}\n")).unwrap();
    let resume = [&part[..], &["--resume", run.to_str().unwrap()]].concat();
    let (code, said) = campaign.measure(&resume);
    assert!(code.is_some_and(|code| code < 2), "{said}");
    assert_eq!(rungs(&run).len(), 4);
    // The other class has its whole sweep after the pause.
    let deviations = events(&run, "deviation");
    assert_eq!(deviations.len(), 1, "{deviations:?}");
    assert_eq!(deviations[0]["rung"], "fast---a-c3-r1");
    campaign.ingest_clean(&run);
}
