//! `tapstat report`: every figure of a published report, the same bytes again,
//! and nothing of what hostile texts ask for.

mod checks;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::shipped::assert_verdicts;
use super::support::{RunFolder, Rung, SCALING, Sandbox, ask, published, sources};

const FIRST: &str = "20260911T065452Z-41bfc513-tap-compare";
const TWELVE: &str = "20260913T115758Z-f79672d9-tap-compare-scaling";

/// Makes a report, and gives its folder.
fn report(sandbox: &Sandbox, arguments: &[&str]) -> PathBuf {
    let store = sandbox.store_path();
    let mut all = vec!["--store", store.to_str().unwrap(), "report"];
    all.extend(arguments);
    all.extend(["--output", "report"]);
    sandbox.tapstat(&all).assert().success();
    sandbox.path("report")
}

/// What `report --check` says, and its exit code.
fn check(sandbox: &Sandbox, folder: &str, more: &[&str]) -> (i32, String, String) {
    let store = sandbox.store_path();
    let mut all = vec!["--store", store.to_str().unwrap(), "report", "--check", folder];
    all.extend(more);
    let output = sandbox.tapstat(&all).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// A Markdown document as its headings say: `## section`, `### part`, and the
/// rows of the tables below them.
type Tables = BTreeMap<(String, String), Vec<Vec<String>>>;

fn tables(markdown: &str) -> Tables {
    let mut tables = Tables::new();
    let mut place = (String::new(), String::new());
    for line in markdown.lines() {
        if let Some(section) = line.strip_prefix("## ") {
            place = (section.to_owned(), String::new());
        } else if let Some(part) = line.strip_prefix("### ") {
            place.1 = part.to_owned();
        } else if let Some(row) = line.strip_prefix('|') {
            let cells: Vec<String> =
                row.trim_end_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
            if !cells.iter().all(|cell| cell.trim_matches(['-', ':']).is_empty()) {
                tables.entry(place.clone()).or_default().push(cells);
            }
        }
    }
    tables
}

fn rows<'a>(tables: &'a Tables, section: &str, part: &str) -> &'a [Vec<String>] {
    let place = (section.to_owned(), part.to_owned());
    tables.get(&place).unwrap_or_else(|| panic!("no table under {section}, {part}"))
}

/// The three published runs, with the gates as far as they were printed.
fn published_runs(sandbox: &Sandbox) -> Option<PathBuf> {
    let root = published()?;
    for run in [FIRST, SCALING, TWELVE] {
        let copy = sandbox.run(run);
        for entry in fs::read_dir(root.join(run)).unwrap() {
            let entry = entry.unwrap();
            copy.file(entry.file_name().to_str().unwrap(), fs::read(entry.path()).unwrap());
        }
        if run == SCALING {
            copy.file("gates.csv", fs::read(root.join("expected/gates.csv")).unwrap());
            let classes = (1..=11).flat_map(|class| {
                ["8", "16", "24"].map(|tier| format!("{tier},Q{class:02},true,4\n"))
            });
            let text: String = classes.collect();
            copy.file("agreement.csv", format!("tier,query_class,agrees,probes\n{text}"));
        }
        sandbox.ingest(&copy);
    }
    Some(root)
}

fn full_report(sandbox: &Sandbox) -> PathBuf {
    report(sandbox, &["--run", SCALING, "--against", FIRST, "--shift", TWELVE])
}

/// A row of a CSV file as text.
type Row = Vec<String>;

fn csv(path: &Path) -> Vec<Row> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let rows = reader.records();
    rows.map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
}

#[test]
fn every_table_of_the_published_report() {
    let sandbox = Sandbox::new();
    let Some(root) = published_runs(&sandbox) else { return };
    let markdown = read(&full_report(&sandbox), "index.md");
    let tables = tables(&markdown);
    let expected = |name: &str| csv(&root.join("expected").join(name));
    let mut found: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    let mut used: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    let mut verdicts = Vec::new();
    for tier in ["8", "16", "24"] {
        let section = format!("Tier {tier}");
        for format in ["csv", "votable"] {
            let rows = rows(&tables, &section, format);
            let targets: Vec<&str> =
                rows[0].iter().filter_map(|name| name.strip_suffix(" rps")).collect();
            assert_eq!(targets.len(), 3);
            for row in &rows[1..] {
                let key = |target: &str| {
                    [tier, format, &row[0], &row[1], target].map(str::to_owned).to_vec()
                };
                for (index, target) in targets.iter().enumerate() {
                    let cells = row[2 + 2 * index..4 + 2 * index].iter();
                    let figures = cells.flat_map(|cell| {
                        cell.trim_start_matches('≥').split(" ±").map(str::to_owned)
                    });
                    found.insert(key(target), figures.collect());
                }
                verdicts.push(key(row.last().unwrap()));
            }
            let resources = self::rows(&tables, &section, &format!("resources, {format}"));
            for row in &resources[1..] {
                for (index, target) in targets.iter().enumerate() {
                    let key = [tier, format, &row[0], &row[1], target].map(str::to_owned);
                    let cells = row[2 + 4 * index..6 + 4 * index].iter();
                    let figures = cells.map(|cell| cell.trim_end_matches(" ms").to_owned());
                    used.insert(key.to_vec(), figures.collect());
                }
            }
        }
    }
    // Rungs were published with three decimals, which moves the last digit of
    // those figures that lie on its edge.
    assert_eq!(
        differences(&expected("cells.csv"), 5, &found),
        ["16 csv Q05 32 argus-scaling3: 0.089, 0.088", "16 csv Q05 8 argus-scaling3: 0.7, 0.8"]
    );
    let moved = differences(&expected("resource_cells.csv"), 5, &used);
    assert_eq!(
        moved,
        [
            "16 votable Q13 32 argus-scaling3: 383.8, 383.9",
            "8 csv Q11 32 dachs-scaling3: 378.3, 378.2"
        ]
    );
    verdicts.sort();
    let mut expected_verdicts = expected("verdicts.csv");
    expected_verdicts.sort();
    let printed: Vec<Row> =
        verdicts.into_iter().map(|key| [&key[..4], &key[4..]].concat()).collect();
    assert_eq!(printed, expected_verdicts);
}

/// Where a table differs from a published one whose first columns are the key.
fn differences(
    expected: &[Row],
    key: usize,
    found: &BTreeMap<Vec<String>, Vec<String>>,
) -> Vec<String> {
    assert_eq!(expected.len(), found.len());
    let mut differences = Vec::new();
    for row in expected {
        let (key, figures) = row.split_at(key);
        for (expected, found) in figures.iter().zip(&found[key]) {
            if expected != found {
                differences.push(format!("{}: {expected}, {found}", key.join(" ")));
            }
        }
    }
    differences.sort();
    differences
}

#[test]
fn what_else_the_published_report_says() {
    let sandbox = Sandbox::new();
    let Some(root) = published_runs(&sandbox) else { return };
    let markdown = read(&full_report(&sandbox), "index.md");
    for line in [
        "- 540 rungs of 3 targets, 4,407,102 requests, 3 tiers\n",
        "- tier 24, 20 comparisons: egernia-scaling3 15, argus-scaling3 1, tie 1, invalid 3\n",
        "- 5 predictions: holds S2, S4, S5; half-holds S1, S3\n",
        "- gates: answers agreed in 33 of 33 classes probed, taplint passed 9 of 9\n",
        "- the generator's guard: of 540 rungs 13 void, ",
    ] {
        assert!(markdown.contains(line), "{line}: {}", &markdown[..2_000]);
    }
    let tables = tables(&markdown);
    for tier in ["8", "16", "24"] {
        let gates = rows(&tables, &format!("Tier {tier}"), "Gates");
        assert_eq!(gates[1], ["argus-scaling3", "1.1", "PASS (2 errors)", "134217728"]);
        assert_eq!(gates[2], ["dachs-scaling3", "1.1", "PASS (0 errors)", "20000"]);
        assert_eq!(gates[3], ["egernia-scaling3", "1.1", "PASS (0 errors)", "10000"]);
    }
    assert_eq!(markdown.matches("Agreement gate: 11 classes agree, none disagree.\n").count(), 3);

    // The mix: throughput against cores, tier by tier.
    let mut found = BTreeMap::new();
    for tier in ["8", "16", "24"] {
        let rows = rows(&tables, &format!("Tier {tier}"), "throughput vs CPU cores used (mix)");
        for row in &rows[1..] {
            let key = [tier, &row[0], &row[1], &row[2]].map(str::to_owned).to_vec();
            let cells = row[3..].iter().map(|cell| cell.replace('—', ""));
            found.insert(key, cells.collect::<Vec<_>>());
        }
    }
    assert_eq!(found.len(), 36);
    assert_eq!(differences(&csv(&root.join("expected/mix_efficiency.csv")), 4, &found), NONE);
    let by_tier = rows(
        &tables,
        "From tier to tier",
        "throughput, cores used and CPU time per request by tier (mix)",
    );
    let egernia =
        by_tier.iter().find(|row| row[1..4] == ["csv", "32", "egernia-scaling3"]).unwrap();
    assert_eq!(
        egernia[4..],
        [
            "167.3 rps · 1.74 cores · 10.4 ms/req",
            "323.8 rps · 3.46 cores · 10.7 ms/req",
            "609.3 rps · 6.67 cores · 11.0 ms/req",
            "×3.64"
        ]
    );

    // The guard, and what a response costs.
    let voided = rows(&tables, "The generator's guard: voided rungs", "");
    let printed: Vec<(String, String, String)> =
        voided[1..].iter().map(|row| (row[0].clone(), row[5].clone(), row[6].clone())).collect();
    let row = |tier: &str, voided: &str, peak: &str| (tier.into(), voided.into(), peak.into());
    assert_eq!(
        printed,
        [
            row("16", "3 of 3", "0.61 – 0.625"),
            row("16", "3 of 3", "0.65 – 0.66"),
            row("24", "1 of 3", "0.88"),
            row("24", "3 of 3", "0.635 – 0.65"),
            row("24", "3 of 3", "0.675 – 0.69"),
        ]
    );
    let cost = rows(&tables, "Client cost", "");
    assert!(cost[1][6].starts_with("1.27 ±") || cost[1][5].starts_with("1.27 ±"), "{cost:?}");
    for part in [
        "13 of 540 rungs are void, in 5 cells: argus-scaling3 13.",
        "60 comparisons: egernia-scaling3 36, argus-scaling3 13, tie 6, invalid 5",
        "| rungs above the error ceiling | none (above 1%)",
        "S1 half-holds",
        "S2 holds",
        "S3 half-holds",
        "S4 holds",
        "S5 holds",
        "10.4, 10.7, 11.0 ms per request",
        "20 of 20 cells",
        "5.8%",
        "control: dachs",
        "B, the guard: of 72 rungs none void, highest peak of a worker 0.34",
        "Environment: commit d43b538d, seed 424242, corpus 9f9da00f45f1….",
    ] {
        assert!(markdown.contains(part), "{part}");
    }
    // A response of Q11 costs argus's client 14.5 of 15.8 ms.
    let classes = rows(&tables, "Client cost", "by class");
    let q11 = classes.iter().find(|row| row[0] == "Q11").unwrap();
    assert_eq!(q11[1..4], ["3.23", "14.5", "15.8"]);
}

const NONE: [&str; 0] = [];

#[test]
fn the_csv_files_are_those_that_were_published() {
    let sandbox = Sandbox::new();
    let Some(root) = published_runs(&sandbox) else { return };
    let folder = full_report(&sandbox);
    for file in ["summary.csv", "resources.csv"] {
        assert!(read(&folder, file) == read(&root.join(SCALING), file), "{file}");
    }
    // A run without tiers has no column for them.
    let other = report(&sandbox, &["--run", FIRST]);
    assert!(read(&other, "summary.csv") == read(&root.join(FIRST), "summary.csv"));
}

#[test]
fn its_csv_files_give_the_same_verdicts() {
    let sandbox = Sandbox::new();
    if published_runs(&sandbox).is_none() {
        return;
    }
    again(&sandbox, SCALING, "published");
}

#[test]
fn the_report_of_a_printed_table_is_one_again() {
    let sandbox = Sandbox::with_shipped_run();
    let store = again(&sandbox, SCALING, "printed");
    assert_verdicts(&store.session(), &sources().join("tests/all/data/verdicts.csv"));
}

/// Ingests the report of a run as a run, and compares the verdicts.
fn again(sandbox: &Sandbox, run: &str, name: &str) -> Sandbox {
    const VERDICTS: &str =
        "SELECT tier, response_format, query_class, concurrency, verdict, reason,
         best, runner_up, ratio FROM verdicts ORDER BY 1, 2, 3, 4";
    type Verdict = (Option<String>, String, String, i64, String, String, String, String, f64);
    let folder = report(sandbox, &["--run", run]);
    let copy = sandbox.path(name).join(run);
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    fs::rename(folder, &copy).unwrap();
    let second = Sandbox::with_runs([&copy]);
    let of_run = VERDICTS.replace("FROM verdicts", &format!("FROM verdicts WHERE run = '{run}'"));
    let expected: Vec<Verdict> = ask(&sandbox.session(), &of_run);
    assert_eq!(expected.len(), 60);
    assert_eq!(ask::<Verdict>(&second.session(), VERDICTS), expected);
    second
}

/// Rungs of a few targets, three repetitions each.
fn rungs(targets: &[&str], class: &str) -> Vec<Rung> {
    let mut rungs = Vec::new();
    for (index, target) in targets.iter().enumerate() {
        for repetition in 1..=3 {
            let rate = 100.0 * (index + 1) as f64 + repetition as f64;
            let rung = Rung::new(target, repetition);
            rungs.push(rung.with("query_class", class).with("rps", rate));
        }
    }
    rungs
}

#[test]
fn runs_of_every_shape() {
    for (targets, class, parts) in [
        // One target: nothing to compare.
        (
            &["one"][..],
            "Q01",
            &["There is one target", "| tiers", "none", "## In short\n\n- 3 rungs of 1 target"][..],
        ),
        // Two, without tiers, gates or resources.
        (
            &["one", "two"],
            "Q01",
            &[
                "## Results\n",
                "## In short\n\n- 6 rungs of 2 targets",
                "\n- 1 comparison: two 1\n",
                "*No gates are recorded",
                "Agreement gate: not recorded.",
                "*No resources: none were sampled",
                "*The protocol states none (defaults).*",
                "*Neither the protocol nor",
                "*No run was named that this one could reproduce",
                "*No run was named that measured the same",
                "*None were brought: neither `threats` in the protocol's `[report]` nor `notes/threats*.md`",
            ],
        ),
    ] {
        let sandbox = Sandbox::new();
        let run = sandbox.run("r1");
        run.rungs(rungs(targets, class));
        sandbox.ingest(&run);
        let folder = report(&sandbox, &["--run", "r1"]);
        let markdown = read(&folder, "index.md");
        for part in parts {
            assert!(markdown.contains(part), "{part}: {markdown}");
        }
        assert!(!markdown.contains("## Tier"), "{markdown}");
        assert_eq!(csv(&folder.join("summary.csv")).len(), 3 * targets.len());
        assert_eq!(check(&sandbox, "report", &[]).0, 0);
    }
}

#[test]
fn a_campaign_of_instances() {
    let sandbox = Sandbox::with_runs([sources().join("runs/20261012-adaptive-runtime")]);
    let folder = report(&sandbox, &["--run", "20261012"]);
    let markdown = read(&folder, "index.md");
    let tables = tables(&markdown);
    let scaling = rows(&tables, "Instances and autoscaling", "N instances against one");
    assert_eq!(scaling.len(), 28);
    let sweep = rows(&tables, "Instances and autoscaling", "sweep over connections");
    assert_eq!(sweep.len(), 15);
    assert_eq!(rows(&tables, "Instances and autoscaling", "bursts from idle").len(), 4);
    // As it was printed, but for cache-hit at three instances: 1.00 there, 0.99
    // from the rounded rates.
    let wide = rows(&tables, "Instances and autoscaling", "a row per scenario");
    let row = |scenario: &str, c: &str| {
        let row = wide.iter().find(|row| row[0] == scenario && row[1] == c);
        row.unwrap_or_else(|| panic!("no {scenario}"))[2..].join(" ")
    };
    for (scenario, c, figures) in [
        ("respond", "64", "50,100 100,200 1.00 1.03× 151,000 1.00 1.03×"),
        ("static-1m", "64", "5,250 8,820 0.84 1.00× 10,810 0.69 1.00×"),
        ("cache-hit", "64", "40,800 80,800 0.99 1.05× 121,700 0.99 1.05×"),
        ("TLS+H2", "256", "30,500 62,000 1.02 1.03× 94,900 1.04 1.02×"),
        ("php", "64", "11,800 11,800 0.50 1.00× 11,800 0.33 1.00×"),
    ] {
        assert_eq!(row(scenario, c), figures, "{scenario}");
    }
    for part in [
        "- a published table: figures as a report printed them\n",
        "- 3 instances against one: efficiency 0.33 (php) to 1.04 (TLS+H2)\n",
        "- sweep of respond: at most 149,400 requests per second, at 128 connections with 3 instances, ×2.98 of one instance alone (50,100)",
        "- failed requests, sweep: none",
        "- failed requests, bursts: none",
    ] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
    assert!(markdown.contains("The run has no cells that could be compared"), "{markdown}");
    let copy = sandbox.path("again").join("20261012-adaptive-runtime");
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    fs::rename(folder, &copy).unwrap();
    let second = Sandbox::with_runs([&copy]);
    let session = second.session();
    for (view, rows) in [("instance_scaling", 27), ("sweep", 14), ("published_bursts", 3)] {
        let count: Vec<(i64,)> = ask(&session, &format!("SELECT count(*) FROM {view}"));
        assert_eq!(count, [(rows,)], "{view}");
    }
}

#[test]
fn notes_and_the_protocols_words_are_in_the_report() {
    let sandbox = Sandbox::new();
    let run = sandbox.run("r1");
    run.rungs(rungs(&["one", "two"], "Q01"));
    run.file("notes/threats.md", "# Where it may fail\n\nOne host.\n");
    run.file("notes/a-run.md", "# What this is\n\nA *test*.\n");
    run.file("notes/drafts/x.md", "not this");
    run.file(
        "protocol.toml",
        "[report]\nthreats = [\"We know one **better**.\"]\nnotes = [\"Planned.\"]\nreproduce = [\"./run.sh --all\"]\n",
    );
    let manifest = sandbox.ingest(&run);
    assert_eq!(manifest.rows("notes"), 2);
    let folder = report(&sandbox, &["--run", "r1"]);
    let markdown = read(&folder, "index.md");
    let between = |from: &str, to: &str| {
        let (_, rest) = markdown.split_once(from).unwrap_or_else(|| panic!("no {from}"));
        rest.split_once(to).unwrap_or_else(|| panic!("no {to}")).0.to_owned()
    };
    assert_eq!(
        between("## Threats to validity\n", "## Run notes"),
        "\n- We know one **better**.\n\n### Where it may fail\n\nOne host.\n\n"
    );
    assert_eq!(
        between("## Run notes\n", "## How to"),
        "\n- Planned.\n\n### What this is\n\nA *test*.\n\n"
    );
    assert!(markdown.contains("```sh\n./run.sh --all\n```"), "{markdown}");
    let html = read(&folder, "index.html");
    for part in ["<strong>better</strong>", "<h3>What this is</h3>", "A <em>test</em>."] {
        assert!(html.contains(part), "{part}");
    }
    assert!(read(&folder, "protocol.toml").contains("[report]"));
}

#[test]
fn hostile_texts_are_texts() {
    let sandbox = Sandbox::new();
    let run = sandbox.run("r1");
    let name = "<script>alert(1)</script>";
    run.rungs(rungs(
        &[name, "a|b`c", "</style><img src=x onerror=alert(2)>"],
        "Q*1*[x](javascript:y)",
    ));
    run.file("notes/n.md", "text <img src=x onerror=alert(3)>\n\n<script>alert(4)</script>\n\n[a](javascript:alert(5))\n");
    run.lines("events.jsonl", [json!({"t": 1, "kind": "deviation", "detail": "<b>bold</b>"})]);
    sandbox.ingest(&run);
    let folder = report(&sandbox, &["--run", "r1"]);
    let html = read(&folder, "index.html");
    let lower = html.to_lowercase();
    assert_eq!(lower.matches("<script").count(), 1, "the page's own");
    assert_eq!(lower.matches("</style>").count(), lower.matches("<style").count());
    for part in ["<img", "<b>", "href=\"javascript:", "alert(1)</script>"] {
        assert!(!lower.contains(part), "{part}");
    }
    assert!(html.contains("&lt;script&gt;alert(1)&lt;&#x2f;script&gt;"), "{html}");
    let markdown = read(&folder, "index.md");
    for part in ["<script", "<img", "<b>", "</style>"] {
        assert!(!markdown.contains(part), "{part}: {markdown}");
    }
    for part in ["a\\|b\\`c", "&lt;script>", "Q\\*1\\*\\[x](javascript:y)", "\\[a](javascript"] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
    assert_eq!(check(&sandbox, "report", &[]).0, 0);
}

#[test]
fn a_pre_registration_is_examined_where_its_repository_is_given() {
    let sandbox = Sandbox::new();
    let repository = git2::Repository::init(sandbox.path("repo")).unwrap();
    fs::write(sandbox.path("repo/p.toml"), "x").unwrap();
    let mut index = repository.index().unwrap();
    index.add_path(Path::new("p.toml")).unwrap();
    let tree = repository.find_tree(index.write_tree().unwrap()).unwrap();
    let who = git2::Signature::new("Ada", "ada@x", &git2::Time::new(1_000, 0)).unwrap();
    let commit = repository.commit(Some("HEAD"), &who, &who, "One", &tree, &[]).unwrap();
    let object = repository.find_object(commit, None).unwrap();
    repository.tag("v1", &object, &who, "Registered", false).unwrap();

    let run = sandbox.run("r1");
    run.rungs(rungs(&["one", "two"], "Q01"));
    run.file("protocol.toml", "[prereg]\nref = \"v1\"\npaths = [\"p.toml\"]\n");
    let environment = json!({
        "git": {"sha": commit.to_string(), "dirty": false}, "recorded_at": 2_000.0,
    });
    run.file("environment.json", environment.to_string());
    sandbox.ingest(&run);
    let folder = report(&sandbox, &["--run", "r1", "--repo", "repo"]);
    let markdown = read(&folder, "index.md");
    for part in [
        "- the protocol was registered before the first request and has not changed\n",
        "| verdict",
        "frozen",
        "registered before anything was measured",
    ] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
    assert_eq!(check(&sandbox, "report", &["--repo", "repo"]).0, 0);
    let (code, _, stderr) = check(&sandbox, "report", &[]);
    assert_eq!(code, 2);
    assert!(stderr.contains("made with --repo DIR"), "{stderr}");
    // Not looked at: the report says how.
    let folder = report(&sandbox, &["--run", "r1"]);
    assert!(read(&folder, "index.md").contains("it was registered by `v1`"));
}

#[test]
fn what_a_report_needs_to_know() {
    let sandbox = Sandbox::with_shipped_run();
    let store = sandbox.store_path();
    let call = |arguments: &[&str]| {
        let mut all = vec!["--store", store.to_str().unwrap(), "report"];
        all.extend(arguments);
        let output = sandbox.tapstat(&all).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for (arguments, part) in [
        (&["--output", "x"][..], "give --run RUN, or --check DIR"),
        (&["--run", SCALING], "give --output DIR"),
        (&["--run", SCALING, "--against", SCALING, "-o", "x"], "itself: expected another run"),
        (&["--run", SCALING, "--shift", "nothing", "-o", "x"], "nothing"),
        (&["--run", SCALING, "-o", "x", "--format", "csv"], "--format has no effect"),
        (&["--check", "x", "--run", SCALING], "cannot be used with"),
    ] {
        let (code, stderr) = call(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(part), "{part}: {stderr}");
        assert!(!sandbox.path("x").exists());
    }
    // The store holds what its manifests name, and nothing else.
    let within = store.join("reports/r1");
    let (code, stderr) = call(&["--run", SCALING, "--output", within.to_str().unwrap()]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("it lies in the store"), "{stderr}");
    assert!(!store.join("reports").exists());
    for figure in [&["--all"][..], &["verdicts", "--run", SCALING]] {
        let output = store.join("drawn.svg");
        let arguments = ["--store", store.to_str().unwrap(), "figure"];
        let arguments = [&arguments, figure, &["--output", output.to_str().unwrap()]].concat();
        let refused = sandbox.tapstat(&arguments).output().unwrap();
        let stderr = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("it lies in the store"), "{stderr}");
        assert!(!output.exists());
    }
    // Somebody's own folder is left alone.
    RunFolder::create(&sandbox.path("mine")).file("index.html", "mine");
    let (code, stderr) = call(&["--run", SCALING, "--output", "mine"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("expected an empty folder, or that of an earlier report"), "{stderr}");
    assert_eq!(read(&sandbox.path("mine"), "index.html"), "mine");
}
