//! What targets used, from samples few enough to be added up by hand.

use serde_json::{Value, json};

use super::support::{Rung, Sandbox, ask, ask_one};

/// The window of every rung here: a minute.
const START: f64 = 1000.0;
const END: f64 = 1060.0;

/// `egernia` is two containers, of which `api` answers HTTP.
const PROTOCOL: &str = "\
[containers]
egernia = { members = [\"db\", \"api\"], api = \"api\" }
";

fn rung() -> Rung {
    timed(Rung::new("egernia", 1))
}

fn timed(rung: Rung) -> Rung {
    rung.with("started_at", START).with("ended_at", END)
}

/// A container that uses so many cores and so much memory.
#[derive(Debug, Clone, Copy)]
struct Container {
    name: &'static str,
    cores: f64,
    mem_bytes: i64,
    processes: Option<i64>,
}

const API: Container = Container { name: "api", cores: 0.5, mem_bytes: 100, processes: Some(4) };
const DB: Container = Container { name: "db", cores: 0.25, mem_bytes: 50, processes: None };

impl Container {
    fn at(self, t: f64) -> Value {
        let cpu_usec = (1e6 * self.cores * (t - START + 500.0)).round() as i64;
        json!({
            "t": t, "container": self.name, "cpu_usec": cpu_usec, "mem_bytes": self.mem_bytes,
            "python_procs": self.processes,
        })
    }

    fn every_second(self, from: u32, to: u32) -> Vec<Value> {
        (from..=to).map(|t| self.at(f64::from(t))).collect()
    }
}

/// What `rung_resources` says, but for the name and the length of the window.
#[derive(Debug, PartialEq, serde::Deserialize)]
struct Used {
    coverage: Option<f64>,
    cpu_s: Option<f64>,
    cpu_cores: Option<f64>,
    cpu_s_per_request: Option<f64>,
    mem_mean_bytes: Option<f64>,
    mem_peak_bytes: Option<f64>,
    api_workers: Option<i64>,
}

impl Used {
    /// Samples that cover too little to say anything.
    fn unknown(coverage: f64) -> Self {
        Self {
            coverage: Some(coverage),
            cpu_s: None,
            cpu_cores: None,
            cpu_s_per_request: None,
            mem_mean_bytes: None,
            mem_peak_bytes: None,
            api_workers: None,
        }
    }

    /// Half a core and a quarter of one, for a minute of 600 requests.
    fn both() -> Self {
        Self {
            coverage: Some(1.0),
            cpu_s: Some(45.0),
            cpu_cores: Some(0.75),
            cpu_s_per_request: Some(0.075),
            mem_mean_bytes: Some(150.0),
            mem_peak_bytes: Some(150.0),
            api_workers: Some(2),
        }
    }
}

fn sandbox(protocol: &str, rungs: Vec<Rung>, samples: Vec<Value>) -> Sandbox {
    let sandbox = Sandbox::new();
    let run = sandbox.run("run");
    run.file("protocol.toml", protocol).lines("resources.jsonl", samples).rungs(rungs);
    sandbox.ingest(run);
    sandbox
}

fn used_by(sandbox: &Sandbox) -> Used {
    ask_one(
        &sandbox.session(),
        "SELECT coverage, cpu_s, cpu_cores, cpu_s_per_request, mem_mean_bytes, mem_peak_bytes,
           api_workers
         FROM rung_resources",
    )
}

/// What the one rung used by these samples, under the protocol above.
fn used(samples: Vec<Value>) -> Used {
    used_by(&sandbox(PROTOCOL, vec![rung()], samples))
}

#[test]
fn a_target_is_the_sum_of_its_containers() {
    let samples = [API.every_second(990, 1070), DB.every_second(990, 1070)].concat();
    assert_eq!(used(samples), Used::both());
}

#[test]
fn samples_of_others_and_of_other_times_do_not_count() {
    let other = Container { name: "other", ..API };
    let early = Container { cores: 9.0, mem_bytes: 9999, processes: Some(1), ..API };
    let samples = [
        early.every_second(900, 999),
        API.every_second(1000, 1060),
        DB.every_second(1000, 1060),
        other.every_second(990, 1070),
    ];
    assert_eq!(used(samples.concat()), Used::both());
}

#[test]
fn cpu_is_scaled_from_the_sampled_span_to_the_window() {
    // 50 of 60 seconds seen, in which api used 25 s and db 12.5 s.
    let samples = [API.every_second(1005, 1055), DB.every_second(1005, 1055)].concat();
    assert_eq!(used(samples), Used { coverage: Some(50.0 / 60.0), ..Used::both() });
}

#[test]
fn coverage_at_the_limit_is_enough_and_below_it_there_are_no_figures() {
    let samples = |to| [API.every_second(1000, 1060), DB.every_second(1000, to)].concat();
    // The shortest container counts: 48 of 60 seconds are 80%.
    assert_eq!(used(samples(1048)), Used { coverage: Some(0.8), ..Used::both() });
    assert_eq!(used(samples(1047)), Used::unknown(47.0 / 60.0));
}

#[test]
fn low_coverage_is_an_anomaly() {
    let samples = [API.every_second(1000, 1030), DB.every_second(1000, 1030)].concat();
    let sandbox = sandbox(PROTOCOL, vec![rung()], samples);
    let anomalies: Vec<(String, String, f64, f64)> =
        ask(&sandbox.session(), "SELECT rung, kind, value, \"limit\" FROM anomalies");
    let name = "egernia-csv-Q01-c8-r1".to_owned();
    assert_eq!(anomalies, [(name, "resource coverage".to_owned(), 0.5, 0.8)]);
    let cells: Vec<(i64,)> = ask(&sandbox.session(), "SELECT n FROM resource_cells");
    assert_eq!(cells, [], "a cell without a rung that has figures");
}

#[test]
fn the_limit_of_coverage_is_the_rules() {
    let protocol = format!("[rule]\nmin_coverage = 0.5\n{PROTOCOL}");
    let samples = [API.every_second(1000, 1030), DB.every_second(1000, 1030)].concat();
    let sandbox = sandbox(&protocol, vec![rung()], samples);
    assert_eq!(used_by(&sandbox), Used { coverage: Some(0.5), ..Used::both() });
}

#[test]
fn a_missing_container_leaves_nothing_to_say() {
    assert_eq!(used(API.every_second(1000, 1060)), Used::unknown(0.0));
    let once = [API.every_second(1000, 1060), vec![DB.at(1030.0)]].concat();
    assert_eq!(used(once), Used::unknown(0.0));
}

#[test]
fn a_counter_that_went_back_gives_no_cpu() {
    let mut samples = [API.every_second(1000, 1060), DB.every_second(1000, 1060)].concat();
    samples.last_mut().unwrap()["cpu_usec"] = json!(5);
    let expected = Used { cpu_s: None, cpu_cores: None, cpu_s_per_request: None, ..Used::both() };
    assert_eq!(used(samples), expected);
}

#[test]
fn memory_is_added_up_at_ticks_that_have_every_container() {
    let at = |container: Container, t, mem_bytes| Container { mem_bytes, ..container }.at(t);
    let samples = vec![
        at(API, 1000.4, 100),
        at(DB, 1000.1, 10),
        // Two samples in one second are one tick, at their mean.
        at(API, 1019.8, 300),
        at(API, 1020.2, 500),
        at(DB, 1020.4, 20),
        // The database is missing here, and the peak of the API does not count.
        at(API, 1040.0, 90_000),
        at(API, 1060.0, 200),
        at(DB, 1059.9, 40),
    ];
    let used = used(samples);
    // 110, 420, 240.
    assert_eq!(used.mem_mean_bytes, Some(770.0 / 3.0));
    assert_eq!(used.mem_peak_bytes, Some(420.0));
}

#[test]
fn api_workers_from_the_smallest_process_count() {
    let workers = |processes| {
        let api = Container { processes, ..API };
        let mut samples = [api.every_second(1000, 1060), DB.every_second(1000, 1060)].concat();
        // More of them for a while do not count.
        samples[30]["python_procs"] = json!(processes.map(|processes| processes + 5));
        used(samples).api_workers
    };
    assert_eq!(workers(None), None);
    for (processes, expected) in [(0, 1), (1, 1), (2, 1), (3, 1), (4, 2), (6, 4)] {
        assert_eq!(workers(Some(processes)), Some(expected), "{processes} processes");
    }
}

#[test]
fn no_api_has_no_workers() {
    let protocol = PROTOCOL.replace(", api = \"api\"", "");
    let samples = [API.every_second(1000, 1060), DB.every_second(1000, 1060)].concat();
    let sandbox = sandbox(&protocol, vec![rung()], samples);
    assert_eq!(used_by(&sandbox), Used { api_workers: None, ..Used::both() });
}

#[test]
fn containers_go_by_target_before_server() {
    let protocol = format!("{PROTOCOL}egernia-one = {{ members = [\"api\"] }}\n");
    let rung = |target: &str| timed(Rung::new(target, 1)).with("server", "egernia");
    let samples = [API.every_second(1000, 1060), DB.every_second(1000, 1060)].concat();
    let sandbox = sandbox(&protocol, vec![rung("egernia-one"), rung("egernia-two")], samples);
    let cores: Vec<(String, f64)> =
        ask(&sandbox.session(), "SELECT rung, cpu_cores FROM rung_resources ORDER BY rung");
    let name = |target: &str| format!("{target}-csv-Q01-c8-r1");
    assert_eq!(cores, [(name("egernia-one"), 0.5), (name("egernia-two"), 0.75)]);
}

#[test]
fn without_a_protocol_no_container_is_known() {
    let sandbox = Sandbox::new();
    let run = sandbox.run("run");
    run.lines("resources.jsonl", API.every_second(1000, 1060)).rungs([rung()]);
    sandbox.ingest(&run);
    let rows: Vec<(String,)> = ask(&sandbox.session(), "SELECT rung FROM rung_resources");
    assert_eq!(rows, []);
}

#[test]
fn the_window_is_that_of_the_rungs_own_requests() {
    let sandbox = Sandbox::new();
    let run = sandbox.run("run");
    let request = |t: f64, latency: f64| json!({"t_start": t, "latency_s": latency, "status": 200});
    // The last to begin is not the last to end, and a failed one counts too.
    let failed = json!({"t_start": 1010.0, "latency_s": 50.0, "error": "timeout"});
    let requests = [request(START, 1.0), failed, request(1058.0, 0.5)];
    let samples = [API.every_second(990, 1070), DB.every_second(990, 1070)].concat();
    run.file("protocol.toml", PROTOCOL)
        .lines("samples/egernia-csv-Q01-c8-r1.jsonl", requests)
        .lines("resources.jsonl", samples)
        .rungs([Rung::new("egernia", 1)
            .with("requests", 3)
            .with("errors", 1)
            .with("rps", 0.05)
            // What the line says gives way to the requests.
            .with("started_at", START - 30.0)
            .with("ended_at", END + 30.0)]);
    sandbox.ingest(&run);
    assert_eq!(used_by(&sandbox), Used { cpu_s_per_request: Some(15.0), ..Used::both() });
}

#[test]
fn a_cell_takes_the_mean_of_its_rungs_and_the_peak_of_their_peaks() {
    // The second repetition sends twice the requests with twice the CPU and memory.
    let rungs = [(1, 600), (2, 1200)].map(|(repetition, requests)| {
        let shift = 100.0 * f64::from(repetition - 1);
        Rung::new("egernia", u32::try_from(repetition).unwrap())
            .with("requests", requests)
            .with("rps", f64::from(requests) / 60.0)
            .with("started_at", START + shift)
            .with("ended_at", END + shift)
    });
    let first = [API.every_second(1000, 1060), DB.every_second(1000, 1060)];
    let double = |container: Container| Container {
        cores: 2.0 * container.cores,
        mem_bytes: 2 * container.mem_bytes,
        processes: container.processes.map(|processes| processes + 1),
        ..container
    };
    let second = [double(API).every_second(1100, 1160), double(DB).every_second(1100, 1160)];
    let sandbox = sandbox(PROTOCOL, rungs.to_vec(), [first.concat(), second.concat()].concat());
    let cell: (i64, f64, f64, f64, f64, f64, f64, i64) = ask_one(
        &sandbox.session(),
        "SELECT n, rps, cpu_cores, rps_per_core, cpu_s_per_request, mem_mean_bytes,
           mem_peak_bytes, api_workers
         FROM resource_cells",
    );
    assert_eq!(cell, (2, 15.0, 1.125, 15.0 / 1.125, 0.075, 225.0, 300.0, 2));
}

#[test]
fn cpu_of_two_containers_adds_up_whatever_they_did() {
    let protocol = "\
[containers]
both = { members = [\"x\", \"y\"] }
only-x = { members = [\"x\"] }
only-y = { members = [\"y\"] }
";
    // Steps that look random, other ticks for each, one of them late.
    let samples = |container: &str, first: u32, step: u32| {
        let mut cpu_usec = 0;
        let sample = move |t: u32| {
            cpu_usec += u64::from(t) * u64::from(t) * 7919 % 1_000_003;
            let t = f64::from(t) + f64::from(step) / 10.0;
            json!({"t": t, "container": container, "cpu_usec": cpu_usec, "mem_bytes": 1})
        };
        (first..1060).step_by(step as usize).map(sample).collect::<Vec<_>>()
    };
    let rungs = ["both", "only-x", "only-y"].map(|target| timed(Rung::new(target, 1)));
    let samples = [samples("x", 990, 2), samples("y", 1004, 3)].concat();
    let sandbox = sandbox(protocol, rungs.to_vec(), samples);
    let found: Vec<(f64, f64)> =
        ask(&sandbox.session(), "SELECT cpu_s, coverage FROM rung_resources ORDER BY rung");
    let [both, x, y] = found[..] else { panic!("three rungs, found {found:?}") };
    assert!(x.0 > 0.0 && y.0 > 0.0);
    assert!((both.0 - (x.0 + y.0)).abs() <= 1e-12 * both.0, "{} = {} + {}", both.0, x.0, y.0);
    assert_eq!(both.1, f64::min(x.1, y.1), "the shorter covers");
}
