//! `tapstat measure`: from a protocol to a run directory, and what becomes of
//! one that is killed, stopped or resumed.

mod bad;
mod campaign;
mod hooks;
mod hosts;
mod resume;
mod sampled;
mod server;
mod tap;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use self::server::Server;
use crate::support::{PROGRAM, RunFolder, Sandbox};

/// A campaign of two targets in a sandbox.
struct Campaign {
    sandbox: Sandbox,
    fast: Server,
    slow: Server,
}

/// The grid and window of a campaign of few rungs.
const SMALL: &str = "\
[grid]
targets = [\"fast\", \"slow\"]
classes = [\"a\", \"b\"]
formats = [\"-\"]
concurrencies = [1, 3]
repetitions = 3

[window]
measure_seconds = 0.3
drain_seconds = 2

[workload]
generator_workers = 1

[measure]
corpus = \"corpus.jsonl\"
targets = \"targets.toml\"
label = \"small\"
gates = false
";

const CORPUS: &str = r#"{"query_id": "a1", "query_class": "a", "method": "GET", "path": "/a"}
{"query_id": "a2", "query_class": "a", "method": "GET", "path": "/a?2"}
{"query_id": "b1", "query_class": "b", "method": "POST", "path": "/b", "body": "x"}
"#;

impl Campaign {
    /// Writes protocol, targets and corpus.
    fn new(protocol: &str) -> Self {
        let campaign =
            Self { sandbox: Sandbox::new(), fast: Server::start(4), slow: Server::start(10) };
        let folder = campaign.folder();
        folder.file("protocol.toml", protocol).file("corpus.jsonl", CORPUS);
        campaign.targets("", "");
        campaign
    }

    fn folder(&self) -> RunFolder {
        RunFolder::create(&self.sandbox.path(""))
    }

    /// Writes the targets file with more for each of the two.
    fn targets(&self, fast: &str, slow: &str) {
        let target = |name: &str, server: &Server, more: &str| {
            format!("[target.{name}]\nbase_url = \"{}\"\nkind = \"http\"\n{more}\n", server.url())
        };
        let text = target("fast", &self.fast, fast) + &target("slow", &self.slow, slow);
        self.folder().file("targets.toml", text);
    }

    /// The program, which finds no other measurement on this host.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .current_dir(self.sandbox.path(""))
            .env("TAPSTAT_LOCK_DIR", self.sandbox.path(""))
            .env_remove("TAPSTAT_STORE")
            .args(["measure", "protocol.toml"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn measure(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let Output { status, stderr, .. } = self.command(arguments).output().unwrap();
        (status.code(), String::from_utf8(stderr).unwrap())
    }

    /// The run directories, sorted.
    fn runs(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.sandbox.path("runs")) else { return Vec::new() };
        let mut runs: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        runs.sort();
        runs
    }

    /// The one run directory.
    fn run(&self) -> PathBuf {
        let runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].clone()
    }

    /// Ingests a run, without a warning but one of a target that it has no rung
    /// of, and finds nothing wrong with the store.
    fn ingest_clean(&self, run: &Path) {
        let (_, warnings) = self.sandbox.try_ingest(run).unwrap();
        let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        let measured = rungs(run);
        let lacks_slow = !measured.iter().any(|rung| rung.contains("slow"));
        let of_part = ["environment.json: targets without a rung: slow"];
        assert_eq!(warnings, if lacks_slow { &of_part[..] } else { &[] });
        self.sandbox.tapstat(&["check"]).assert().code(0);
    }
}

/// The lines of a file of JSON lines.
fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The events of a kind.
fn events(run: &Path, kind: &str) -> Vec<Value> {
    let mut events = lines(&run.join("events.jsonl"));
    events.retain(|event| event["kind"] == kind);
    events
}

/// The names of the rungs in a run directory, by their samples, sorted.
fn rungs(run: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(run.join("samples")).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        name.strip_suffix(".parquet").unwrap_or(&name).to_owned()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}
