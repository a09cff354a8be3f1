//! `tapstat prereg`, from a repository and a run directory to its exit code.

use std::fs;
use std::path::Path;

use git2::{IndexAddOption, Oid, Repository, Signature, Time};
use serde_json::{Value, json};

use crate::support::{Rung, Sandbox};

/// When the first request of every run was sent.
const START: f64 = 1_000_000.5;

const PROTOCOL: &str = "\
[grid]
targets = [\"a\"]
classes = [\"Q01\"]
formats = [\"csv\"]
concurrencies = [8]
repetitions = 2

[prereg]
ref = \"v1\"
paths = [\"protocol.toml\"]
";

/// A repository `repo` in a sandbox, with a protocol and a driver.
struct Campaign {
    sandbox: Sandbox,
    repo: Repository,
}

impl Campaign {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let repo = Repository::init(sandbox.path("repo")).unwrap();
        let campaign = Self { sandbox, repo };
        campaign.commit(900_000, &[("protocol.toml", PROTOCOL), ("driver.py", "print(1)\n")]);
        campaign
    }

    /// Writes files and commits all there is.
    fn commit(&self, seconds: i64, files: &[(&str, &str)]) -> Oid {
        for (name, content) in files {
            fs::write(self.sandbox.path("repo").join(name), content).unwrap();
        }
        let mut index = self.repo.index().unwrap();
        index.add_all(["*"], IndexAddOption::DEFAULT, None).unwrap();
        let tree = self.repo.find_tree(index.write_tree().unwrap()).unwrap();
        let head = self.repo.head().ok().map(|head| head.peel_to_commit().unwrap());
        let parents: Vec<_> = head.iter().collect();
        let who = signature(seconds);
        self.repo.commit(Some("HEAD"), &who, &who, "Work", &tree, &parents).unwrap()
    }

    /// Sets the tag `v1` on HEAD.
    fn tag(&self, seconds: i64) {
        let head = self.repo.head().unwrap().peel(git2::ObjectType::Commit).unwrap();
        self.repo.tag("v1", &head, &signature(seconds), "Registered", true).unwrap();
    }

    /// Ingests a run that was measured at a commit.
    fn measure(&self, commit: Oid, dirty: bool, resumed: Value) {
        let run = self.sandbox.run("20260101T000000Z-0123abcd-campaign");
        let git = json!({"sha": commit.to_string(), "dirty": dirty});
        let environment = json!({"git": git, "recorded_at": 999_999.0, "resumed": resumed});
        run.file("environment.json", environment.to_string());
        run.file("protocol.toml", PROTOCOL);
        run.rungs([
            Rung::new("a", 1).with("started_at", START).with("ended_at", START + 60.0),
            Rung::new("a", 2).with("started_at", START + 70.0).with("ended_at", START + 130.0),
        ]);
        self.sandbox.ingest(run);
    }

    /// The exit code and JSON of `prereg --run campaign` with more arguments.
    fn prereg(&self, more: &[&str]) -> (i32, Value) {
        let arguments = ["prereg", "--repo", "repo", "--format", "json"];
        let output = self.sandbox.tapstat(&[&arguments, more].concat()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let document = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {stderr}"));
        (output.status.code().unwrap(), document)
    }

    /// The exit code, verdict and codes of the reasons for the run.
    fn verdict(&self) -> (i32, String, Vec<String>) {
        let (code, document) = self.prereg(&["--run", "campaign"]);
        (code, text(&document["verdict"]), reasons(&document))
    }
}

fn signature(seconds: i64) -> Signature<'static> {
    Signature::new("Ada", "ada@example.org", &Time::new(seconds, 0)).unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn reasons(document: &Value) -> Vec<String> {
    document["reasons"].as_array().unwrap().iter().map(|reason| text(&reason["code"])).collect()
}

fn expected(code: i32, verdict: &str, reasons: &[&str]) -> (i32, String, Vec<String>) {
    let reasons = reasons.iter().map(|&reason| reason.to_owned()).collect();
    (code, verdict.to_owned(), reasons)
}

#[test]
fn a_protocol_that_was_tagged_and_left_alone_is_frozen() {
    let campaign = Campaign::new();
    campaign.tag(950_000);
    let measured = campaign.commit(960_000, &[("driver.py", "print(2)\n")]);
    campaign.measure(measured, false, json!([]));
    let (code, document) = campaign.prereg(&["--run", "campaign"]);
    assert_eq!(
        (code, &document["verdict"], &document["reasons"]),
        (0, &json!("frozen"), &json!([]))
    );
    assert_eq!(document["registered"]["name"], "v1");
    assert_eq!(document["registered"]["kind"], "annotated");
    assert_eq!(document["registered"]["time"], 950_000);
    assert_eq!(document["measured"], measured.to_string());
    assert_eq!(document["start"], json!({"time": START, "basis": "request"}));
    assert_eq!((&document["ancestor"], &document["before"]), (&json!(true), &json!(true)));
    assert_eq!(document["paths"], json!([{"path": "protocol.toml", "state": "same"}]));
    assert_eq!(document["commits"][0]["paths"], json!(["driver.py"]));
    assert_eq!(document["files"], json!([]));
}

#[test]
fn one_byte_of_the_protocol_is_a_change() {
    let campaign = Campaign::new();
    campaign.tag(950_000);
    let other = PROTOCOL.replace("repetitions = 2", "repetitions = 3");
    let measured = campaign.commit(960_000, &[("protocol.toml", &other)]);
    campaign.measure(measured, false, json!([]));
    assert_eq!(campaign.verdict(), expected(1, "changed", &["protocol_changed"]));
    let (_, document) = campaign.prereg(&["--run", "campaign"]);
    let hunk = &document["files"][0]["hunks"][0];
    assert_eq!((&hunk["old_start"], &hunk["new_lines"]), (&json!(3), &json!(7)));
    let lines = hunk["lines"].as_array().unwrap();
    assert!(
        lines.contains(&json!("-repetitions = 2")) && lines.contains(&json!("+repetitions = 3"))
    );
    // In other files nothing did.
    let (code, document) = campaign.prereg(&["--run", "campaign", "--paths", "driver.py"]);
    assert_eq!((code, text(&document["verdict"])), (0, "frozen".to_owned()));
}

#[test]
fn what_cannot_be_shown_is_unproven() {
    let campaign = Campaign::new();
    campaign.tag(1_000_000);
    let head = campaign.repo.head().unwrap().target().unwrap();
    campaign.measure(head, true, json!([]));
    // In the same second as the first request, and measured with other changes.
    assert_eq!(campaign.verdict(), expected(1, "unproven", &["dirty", "not_before"]));
}

#[test]
fn a_resume_at_another_protocol_is_a_change() {
    let campaign = Campaign::new();
    campaign.tag(950_000);
    let head = campaign.repo.head().unwrap().target().unwrap();
    let later = campaign.commit(1_000_050, &[("protocol.toml", "[rule]\n")]);
    let entry = json!({"t": 1_000_060, "git": {"sha": later.to_string(), "dirty": false}});
    campaign.measure(head, false, json!([entry]));
    assert_eq!(campaign.verdict(), expected(1, "changed", &["resume_changed"]));
    let (_, document) = campaign.prereg(&["--run", "campaign"]);
    assert_eq!(document["resumed"][0]["changed"], true);
}

#[test]
fn tag_and_paths_come_before_those_of_the_protocol() {
    let campaign = Campaign::new();
    let first = campaign.repo.head().unwrap().target().unwrap().to_string();
    let measured = campaign.commit(960_000, &[("driver.py", "print(2)\n")]);
    campaign.measure(measured, false, json!([]));
    let (code, document) = campaign.prereg(&["--run", "campaign", "--tag", &first]);
    assert_eq!((code, reasons(&document)), (0, vec!["bare_commit".to_owned()]));
    let changed = ["--run", "campaign", "--tag", &first, "--paths", "protocol.toml,driver.py"];
    assert_eq!(campaign.prereg(&changed).0, 1);

    // Without a run, HEAD is compared, and the protocol is a file's.
    let (code, document) = campaign.prereg(&["--tag", &first, "--protocol", "repo/protocol.toml"]);
    assert_eq!((code, &document["run"]), (1, &Value::Null));
    assert_eq!(reasons(&document), ["no_run", "bare_commit"]);
}

#[test]
fn the_page_says_the_same() {
    let campaign = Campaign::new();
    campaign.tag(950_000);
    let head = campaign.repo.head().unwrap().target().unwrap();
    campaign.measure(head, true, json!([]));
    let page = |more: &[&str]| {
        let arguments = ["prereg", "--repo", "repo", "--run", "campaign"];
        let answer = campaign.sandbox.tapstat(&[&arguments, more].concat()).assert().code(1);
        let answer = answer.stderr_eq("");
        String::from_utf8(answer.get_output().stdout.clone()).unwrap()
    };
    let table = page(&[]);
    for part in [
        "verdict              unproven\n",
        "registered by        v1, annotated tag, not signed\n",
        "- unproven: the work tree had changes",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let markdown = page(&["--format", "markdown"]);
    assert!(markdown.contains("| protocol.toml | the same |"), "{markdown}");
    page(&["--output", "page.json"]);
    let document = fs::read(campaign.sandbox.path("page.json")).unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    assert_eq!(document["verdict"], "unproven");
}

#[test]
fn what_cannot_be_asked_ends_with_2() {
    let campaign = Campaign::new();
    campaign.tag(950_000);
    let refused = |arguments: &[&str], part: &str| {
        let answer = campaign.sandbox.tapstat(&[&["prereg"], arguments].concat()).assert().code(2);
        let answer = answer.stdout_eq("");
        let message = String::from_utf8(answer.get_output().stderr.clone()).unwrap();
        assert!(message.starts_with("tapstat: error: ") && message.contains(part), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    };
    refused(&["--repo", "repo"], "no tag: give --tag");
    refused(&["--repo", "repo", "--tag", "v1"], "no paths: which files are the protocol?");
    refused(&["--repo", "repo", "--tag", "v2", "--paths", "x"], "did you mean `v1`?");
    refused(&["--repo", "repo", "--tag", "v1", "--paths", "../x"], "path `../x`");
    refused(&["--repo", "none", "--tag", "v1", "--paths", "x"], "none: no git repository");
    refused(&["--repo", "repo", "--tag", "v1", "--run", "x"], "no store at store");
    let rows = ["--repo", "repo", "--tag", "v1", "--paths", "driver.py", "--format", "csv"];
    refused(&rows, "expected the format table, markdown or json");
}

#[test]
fn a_repository_is_only_read() {
    let campaign = Campaign::new();
    campaign.tag(950_000);
    let head = campaign.repo.head().unwrap().target().unwrap();
    campaign.measure(head, false, json!([]));
    let files = |root: &Path| crate::support::files(root);
    let before = files(&campaign.sandbox.path("repo"));
    assert_eq!(campaign.prereg(&["--run", "campaign"]).0, 0);
    assert!(files(&campaign.sandbox.path("repo")) == before);
}

#[test]
fn a_resume_in_the_events_has_the_time_of_its_event() {
    let campaign = Campaign::new();
    campaign.tag(950_000);
    let head = campaign.repo.head().unwrap().target().unwrap();
    let later = campaign.commit(1_000_050, &[("driver.py", "print(3)\n")]);
    let event = json!({"t": 1_000_060.0, "kind": "resumed",
                       "detail": {"git": {"sha": later.to_string(), "dirty": false}}});
    campaign.sandbox.run("20260101T000000Z-0123abcd-campaign").lines("events.jsonl", [event]);
    campaign.measure(head, false, json!(null));
    let (code, document) = campaign.prereg(&["--run", "campaign"]);
    assert_eq!((code, &document["verdict"]), (0, &json!("frozen")));
    let resumed = document["resumed"].as_array().unwrap();
    assert_eq!((resumed.len(), &resumed[0]["changed"]), (1, &json!(false)));
    assert_eq!(resumed[0]["time"], 1_000_060.0, "{document}");
}
