//! Whether a report is still what the store gives.

use super::*;

#[test]
fn the_committed_reports_are_what_the_runs_give() {
    let runs = [SCALING, "20261012-adaptive-runtime"];
    let sandbox = Sandbox::with_runs(runs.map(|run| sources().join("runs").join(run)));
    for run in runs {
        let folder = sources().join("docs/reports").join(run);
        if std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "overwrite") {
            let made = report(&sandbox, &["--run", run]);
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(folder.parent().unwrap()).unwrap();
            copy_all(&made, &folder);
            fs::remove_dir_all(made).unwrap();
        }
        let (code, stdout, stderr) = check(&sandbox, folder.to_str().unwrap(), &[]);
        assert_eq!((code, &*stderr), (0, ""), "{stdout}");
    }
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_byte_that_is_altered_is_found() {
    let sandbox = Sandbox::with_shipped_run();
    let folder = report(&sandbox, &["--run", SCALING, "--tie-floor", "0.05"]);
    let (code, stdout, _) = check(&sandbox, "report", &[]);
    assert_eq!(code, 0, "{stdout}");
    assert!(stdout.contains("all as the store gives them for run 20260912"), "{stdout}");

    let path = folder.join("index.md");
    let text = read(&folder, "index.md").replacen("412.0", "412.1", 1);
    fs::write(&path, text).unwrap();
    fs::remove_file(folder.join("cells.csv")).unwrap();
    fs::write(folder.join("figures-of-mine.svg"), "").unwrap();
    let (code, stdout, stderr) = check(&sandbox, "report", &[]);
    assert_eq!((code, &*stderr), (1, ""));
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{stdout}");
    assert_eq!(lines[0], "- missing: cells.csv");
    assert!(lines[1].starts_with("- differs: index.md, from line "), "{stdout}");
    assert_eq!(lines[2], "- extra: figures-of-mine.svg");
    let (_, stdout, _) = check(&sandbox, "report", &["--format", "json"]);
    let answer: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(answer["ok"], json!(false));
    assert_eq!(answer["faults"][0], json!({"fault": "missing", "file": "cells.csv", "line": null}));

    // Without what it was made with, nothing can be said of the rest.
    fs::write(folder.join("report.json"), "{").unwrap();
    let (code, stdout, _) = check(&sandbox, "report", &[]);
    assert_eq!(code, 1);
    assert!(stdout.starts_with("- differs: report.json\n"), "{stdout}");
}

#[test]
fn what_a_check_needs_to_know() {
    let sandbox = Sandbox::with_shipped_run();
    let protocol = sandbox.path("own.toml");
    fs::write(&protocol, "[rule]\ntie_floor = 0.5\n").unwrap();
    let folder = report(&sandbox, &["--run", SCALING, "--protocol", protocol.to_str().unwrap()]);
    for file in ["index.md", "index.html", "report.json"] {
        let text = read(&folder, file);
        assert!(text.contains("own.toml"), "{file}");
        assert!(!text.contains(sandbox.path("").to_str().unwrap()), "{file} has a path");
    }
    for (more, part) in [
        (&[][..], "was made with --protocol FILE: give it again"),
        (&["--protocol", "own.toml", "--repo", "."], "was made without --repo DIR"),
        (&["--protocol", "own.toml", "--tie-floor", "0.1"], "give none with --check"),
    ] {
        let (code, _, stderr) = check(&sandbox, "report", more);
        assert_eq!(code, 2);
        assert!(stderr.contains(part), "{stderr}");
    }
    let (code, stdout, _) = check(&sandbox, "report", &["--protocol", "own.toml"]);
    assert_eq!(code, 0, "{stdout}");
    fs::write(&protocol, "[rule]\ntie_floor = 0.4\n").unwrap();
    let (code, stdout, _) = check(&sandbox, "report", &["--protocol", "own.toml"]);
    assert_eq!(code, 1);
    for file in ["index.md", "index.html", "report.json"] {
        assert!(stdout.contains(&format!("differs: {file}")), "{stdout}");
    }
    let (code, _, stderr) = check(&sandbox, "nowhere", &[]);
    assert_eq!(code, 2);
    assert!(stderr.contains("expected a report"), "{stderr}");
}

#[test]
fn the_same_store_gives_the_same_bytes() {
    let sandbox = Sandbox::with_shipped_run();
    let first = report(&sandbox, &["--run", SCALING]);
    let other = Sandbox::with_shipped_run();
    let second = report(&other, &["--run", SCALING]);
    for file in ["index.md", "index.html", "summary.csv", "cells.csv", "report.json"] {
        assert!(read(&first, file) == read(&second, file), "{file}");
    }
}
