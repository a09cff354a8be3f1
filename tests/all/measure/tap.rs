//! Campaigns against the embedded TAP server, from the gates to the report.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tapstat::corpus;
use tapstat::target::tap::{Options, TapServer};

use super::{events, lines, rungs};
use crate::support::{PROGRAM, Sandbox, ask};

/// Two shapes of the embedded server over one table, and a campaign of them.
struct Campaign {
    sandbox: Sandbox,
    wide: TapServer,
    slow: TapServer,
}

const PROTOCOL: &str = "\
[grid]
targets = [\"wide\", \"slow\"]
classes = [\"Q01\", \"Q02\", \"Q13\"]
formats = [\"csv\", \"votable\"]
concurrencies = [2]
repetitions = 1

[window]
measure_seconds = 0.3
drain_seconds = 5

[workload]
maxrec = 20000
generator_workers = 1

[measure]
corpus = \"corpus\"
targets = \"targets.toml\"
label = \"tap\"
check_every = 1
";

fn serve(folder: &Path, delay_ms: u64) -> TapServer {
    let delay = Duration::from_millis(delay_ms);
    TapServer::start(folder, Options { threads: 1, pool: 16, delay, ..Options::default() }).unwrap()
}

impl Campaign {
    /// The second server has the table of another seed, if it is given.
    fn new(protocol: &str, other_seed: Option<u64>) -> Self {
        let sandbox = Sandbox::new();
        let folder = sandbox.path("corpus");
        corpus::write(&folder, 200, 7, |_| ()).unwrap();
        let other = other_seed.map(|seed| {
            let other = sandbox.path("other");
            corpus::write(&other, 200, seed, |_| ()).unwrap();
            other
        });
        let (wide, slow) = (serve(&folder, 0), serve(&other.unwrap_or(folder), 5));
        let target = |name: &str, url: &str| {
            format!("[target.{name}]\nserver = \"tapstat\"\nbase_url = \"{url}\"\n")
        };
        let targets = target("wide", wide.base_url()) + &target("slow", slow.base_url());
        fs::write(sandbox.path("targets.toml"), targets).unwrap();
        fs::write(sandbox.path("protocol.toml"), protocol).unwrap();
        Self { sandbox, wide, slow }
    }

    /// Measures where no stilts is to be found.
    fn measure(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = Command::new(PROGRAM)
            .current_dir(self.sandbox.path(""))
            .env("TAPSTAT_LOCK_DIR", self.sandbox.path(""))
            .env("PATH", self.sandbox.path("nothing"))
            .env_remove("TAPSTAT_STORE")
            .args(["measure", "protocol.toml"])
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    fn run(&self) -> PathBuf {
        let runs: Vec<_> = fs::read_dir(self.sandbox.path("runs")).unwrap().collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].as_ref().unwrap().path()
    }

    /// What the report of the run says.
    fn report(&self, run: &Path) -> String {
        let (_, warnings) = self.sandbox.try_ingest(run).unwrap();
        assert_eq!(warnings.iter().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
        self.sandbox.tapstat(&["check"]).assert().code(0);
        let id = run.file_name().unwrap().to_str().unwrap();
        self.sandbox.tapstat(&["report", "--run", id, "--output", "report"]).assert().success();
        fs::read_to_string(self.sandbox.path("report/index.md")).unwrap()
    }
}

/// No request failed, nor did any check, of which there were some in each rung.
fn sound(run: &Path) {
    for rung in lines(&run.join("rungs.jsonl")) {
        assert_eq!(rung["errors"], 0, "{rung}");
        assert!(rung["requests"].as_i64().unwrap() > 0, "{rung}");
    }
    for event in events(run, "generator") {
        let checks = &event["detail"]["checks"];
        assert_eq!(checks["failed"], 0, "{event}");
        assert!(checks["made"].as_u64().unwrap() > 0, "{event}");
    }
}

#[test]
fn sync_in_both_formats_from_the_gates_to_the_report() {
    let campaign = Campaign::new(PROTOCOL, None);
    // Without stilts nobody knows whether they are TAP servers.
    let (code, said) = campaign.measure(&[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("gate failed: wide: taplint was not run: no `stilts` on PATH"), "{said}");
    assert!(said.contains("--allow-gate-failures"), "{said}");
    let run = campaign.run();
    assert_eq!(rungs(&run), [""; 0], "nothing is timed");
    assert!(lines(&run.join("rungs.jsonl")).is_empty());
    let path = run.to_str().unwrap();

    let (code, said) =
        campaign.measure(&["--resume", path, "--allow-gate-failures", "--probes", "2"]);
    let voids = events(&run, "void");
    assert_eq!(code, Some(i32::from(!voids.is_empty())), "{said}");
    assert_eq!(rungs(&run).len(), 12);
    sound(&run);
    for name in ["wide-capabilities", "slow-tables"] {
        assert!(run.join("capabilities").join(format!("{name}.xml")).is_file(), "{name}");
    }
    let gates: Value = serde_json::from_slice(&fs::read(run.join("gates.json")).unwrap()).unwrap();
    assert_eq!(gates["agreement"]["agreed"].as_array().unwrap().len(), 3);
    assert_eq!(gates["probes"], 2);
    let deviations = events(&run, "gate");
    assert_eq!(deviations.len(), 1, "{deviations:?}");
    assert_eq!(deviations[0]["detail"]["deviation"], true);
    // What was found stands: gates are not run again.
    let (_, said) = campaign.measure(&["--resume", path]);
    assert!(said.contains("12 of 12 rungs are measured already"), "{said}");
    assert!(!said.contains("gates:"), "{said}");

    let report = campaign.report(&run);
    let deviation = "Deviation: measured although gates failed: wide: taplint was not run";
    assert!(report.contains(deviation), "{report}");
    assert!(report.contains("Agreement gate: 3 classes agree, none disagree."));
    let gates = "- gates: answers agreed in 3 of 3 classes probed, measured in spite of a gate\n";
    assert!(report.contains(gates), "{report}");
    let counted: Vec<(String, i64)> = ask(
        &campaign.sandbox.session(),
        "SELECT response_format, count(DISTINCT target) FROM rungs GROUP BY 1 ORDER BY 1",
    );
    assert_eq!(counted, [("csv".to_owned(), 2), ("votable".to_owned(), 2)]);
}

#[test]
fn async_jobs_are_measured_to_their_result() {
    let protocol = PROTOCOL.replace("[measure]\n", "[measure]\nmode = \"async\"\n");
    let campaign = Campaign::new(&protocol, None);
    let (code, said) =
        campaign.measure(&["--allow-gate-failures", "--classes", "Q02", "--calibrate=0.05"]);
    assert!(code.is_some_and(|code| code < 2), "{said}");
    let run = campaign.run();
    assert_eq!(rungs(&run).len(), 4);
    sound(&run);
    let report = campaign.report(&run);
    assert!(report.contains("async"), "{report}");
    let calibration: Value =
        serde_json::from_slice(&fs::read(run.join("calibration.json")).unwrap()).unwrap();
    assert!(calibration["a_s_per_request"].is_f64());
    assert!(report.contains("Calibrated over HTTP/1.1 beside this run, a worker"), "{report}");
    assert!(report.contains(" nearest (%) |"), "{report}");
    let modes: Vec<(String, bool)> = ask(
        &campaign.sandbox.session(),
        // No job is done before it was polled once, 20 ms after it was made.
        "SELECT r.mode, min(q.latency_s) >= 0.02 FROM rungs r \
         JOIN requests q ON q.rung = r.rung AND q.run = r.run GROUP BY r.mode",
    );
    assert_eq!(modes, [("async".to_owned(), true)]);
    assert!(campaign.wide.base_url() != campaign.slow.base_url());
}

#[test]
fn a_class_that_disagrees_is_not_timed() {
    let campaign = Campaign::new(&PROTOCOL.replace(", \"votable\"", ""), Some(8));
    let (code, said) = campaign.measure(&["--allow-gate-failures"]);
    assert!(code.is_some_and(|code| code < 2), "{said}");
    assert!(said.contains("4 rungs left out: the targets' answers differ"), "{said}");
    let run = campaign.run();
    // Metadata only has to be answered.
    assert_eq!(rungs(&run), ["slow-csv-Q01-c2-r1", "wide-csv-Q01-c2-r1"]);
    let gates = events(&run, "gate");
    let left_out: Vec<&str> =
        gates.iter().filter_map(|event| event["detail"]["left_out"].as_str()).collect();
    assert_eq!(left_out, ["Q02", "Q13"]);
    let (_, said) = campaign.measure(&["--resume", run.to_str().unwrap()]);
    assert!(said.contains("4 rungs left out"), "{said}");
    let report = campaign.report(&run);
    assert!(report.contains("Q02 is left out of what is timed: "), "{report}");
    assert!(report.contains("these disagree: Q02, Q13"), "{report}");
}

#[test]
fn where_one_target_is_up_at_a_time_agreement_is_not_judged() {
    let protocol = PROTOCOL.replace("[measure]\n", "[measure]\norder = \"blocks\"\n");
    let campaign = Campaign::new(&protocol, Some(8));
    let (code, said) = campaign.measure(&["--allow-gate-failures", "--classes", "Q01"]);
    assert!(code.is_some_and(|code| code < 2), "{said}");
    let run = campaign.run();
    let gates: Value = serde_json::from_slice(&fs::read(run.join("gates.json")).unwrap()).unwrap();
    assert_eq!(gates["targets"].as_object().unwrap().len(), 2);
    // Of the second server, which has other rows than the corpus says, that is known.
    let reason = gates["agreement"]["not_run"].as_str().unwrap();
    assert!(reason.ends_with("was up without the others of wide, slow"), "{reason}");
    let report = campaign.report(&run);
    assert!(report.contains("Deviation: whether targets agree was not judged: "), "{report}");
}

#[test]
fn each_tier_has_its_gates() {
    let protocol = PROTOCOL
        .replace("[grid]\n", "[grid]\ntiers = [\"8\", \"16\"]\n")
        .replace(", \"votable\"", "")
        .replace("\"Q02\", \"Q13\"", "\"Q02\"");
    let campaign = Campaign::new(&protocol, Some(8));
    let (code, said) = campaign.measure(&["--allow-gate-failures", "--probes", "1"]);
    assert!(code.is_some_and(|code| code < 2), "{said}");
    let run = campaign.run();
    // Q02 has other answers on the second server, whatever the tier.
    let timed = rungs(&run);
    assert_eq!(
        timed,
        [
            "t16-slow-csv-Q01-c2-r1",
            "t16-wide-csv-Q01-c2-r1",
            "t8-slow-csv-Q01-c2-r1",
            "t8-wide-csv-Q01-c2-r1",
        ]
    );
    let gates = events(&run, "gate");
    let left_out: Vec<_> = gates
        .iter()
        .filter(|event| event["detail"]["left_out"] == "Q02")
        .map(|event| event["detail"]["tier"].as_str().unwrap())
        .collect();
    assert_eq!(left_out, ["8", "16"]);
    let report = campaign.report(&run);
    assert!(report.contains("## Tier 8") && report.contains("## Tier 16"), "{report}");
    assert_eq!(report.matches("Agreement gate: 1 class agrees").count(), 2, "{report}");
    let stored: Vec<(String, String, bool)> = ask(
        &campaign.sandbox.session(),
        "SELECT tier, query_class, agrees FROM agreement ORDER BY tier, query_class",
    );
    let row = |tier: &str, class: &str, agrees| (tier.to_owned(), class.to_owned(), agrees);
    assert_eq!(
        stored,
        [
            row("16", "Q01", true),
            row("16", "Q02", false),
            row("8", "Q01", true),
            row("8", "Q02", false)
        ]
    );
    // Resumed, no tier's gates are run again.
    let (_, said) = campaign.measure(&["--resume", run.to_str().unwrap()]);
    assert!(said.contains("rungs left out") && !said.contains("gates:"), "{said}");
}
