//! `stilts taplint`: what a validator that no one here wrote says of a service.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// The stages in which an error refuses a comparison: what the service says of
/// itself is wrong, or a query or a job does not work. `PRE` is where taplint
/// finds no service at all, and looks no further.
pub const BLOCKING: [&str; 7] = ["PRE", "CAP", "TMV", "TMS", "TMC", "QGE", "UWS"];

/// What came of taplint on a target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Taplint {
    /// Nothing where it was not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// Why it was not run, or did not end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors_total: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors_blocking: Option<u64>,
    /// The last line of the report, by type: E, W, I, S, F.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub totals: BTreeMap<String, u64>,
    /// Lines of each stage by their type.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_stage: BTreeMap<String, BTreeMap<String, u64>>,
    /// The program, by its own first line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The report, from the folder of the gates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
}

impl Taplint {
    /// One that was not run, and why.
    pub fn not_run(reason: impl Into<String>) -> Self {
        Self { not_run: Some(reason.into()), ..Self::default() }
    }

    /// Reads a report.
    ///
    /// The program ends with 0 whatever it found, even where no server was: only
    /// the line of totals says that it came to its end. Lines of one code past
    /// the ninth are folded into one, which says how many it stands for.
    pub fn of_report(report: &str) -> Self {
        let mut by_stage: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        let mut totals = BTreeMap::new();
        for line in report.lines() {
            if let Some(rest) = line.strip_prefix("Totals: ") {
                totals = read_totals(rest);
            } else if let Some((kind, stage, count)) = read_line(line) {
                *by_stage.entry(stage).or_default().entry(kind).or_default() += count;
            }
        }
        if totals.is_empty() {
            let last = report.lines().rev().find(|line| !line.trim().is_empty());
            let last = last.map_or_else(String::new, |line| format!(": `{line}`"));
            return Self::not_run(format!("taplint did not come to its end{last}"));
        }
        let errors = |stage: &str| by_stage.get(stage).and_then(|kinds| kinds.get("E")).copied();
        let blocking = BLOCKING.iter().filter_map(|stage| errors(stage)).sum::<u64>();
        let counted = by_stage.keys().filter_map(|stage| errors(stage)).sum::<u64>();
        let total = totals.get("E").copied().unwrap_or(0);
        // An error whose stage was not understood is in the way, until somebody
        // looks.
        let unplaced = total.saturating_sub(counted);
        let program = report.lines().find_map(|line| line.strip_prefix("This is "));
        Self {
            passed: Some(blocking + unplaced == 0),
            errors_total: Some(total),
            errors_blocking: Some(blocking + unplaced),
            totals,
            by_stage,
            program: program.map(|line| line.trim_end_matches('.').to_owned()),
            ..Self::default()
        }
    }
}

/// `Errors: 0; Warnings: 15; …` by first letters.
fn read_totals(text: &str) -> BTreeMap<String, u64> {
    let part = |part: &str| {
        let (name, count) = part.trim().split_once(": ")?;
        Some((name.chars().next()?.to_string(), count.trim().parse().ok()?))
    };
    text.split(';').filter_map(part).collect()
}

/// `E-QGE-QERR-1 …`, or `I-QGE-QGET-x (21 more)`: type, stage, lines.
fn read_line(line: &str) -> Option<(String, String, u64)> {
    let (code, rest) = line.split_once(' ').unwrap_or((line, ""));
    let parts: Vec<&str> = code.split('-').collect();
    let [kind, stage, _, number] = parts.as_slice() else { return None };
    let is_code = matches!(*kind, "E" | "W" | "I" | "S" | "F")
        && stage.len() == 3
        && stage.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    if !is_code {
        return None;
    }
    let count = if *number == "x" {
        rest.trim().strip_prefix('(')?.split_once(" more")?.0.trim().parse().ok()?
    } else {
        number.parse::<u64>().ok()?;
        1
    };
    Some(((*kind).to_owned(), (*stage).to_owned(), count))
}

/// Finds the program: the path that is given, else by its name on PATH.
pub fn find(given: Option<&Path>) -> Option<PathBuf> {
    if let Some(path) = given {
        return path.is_file().then(|| path.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("stilts")).find(|path| path.is_file())
}

/// Runs it against a service, and keeps its report in a file.
///
/// # Errors
/// If it cannot be started, or the report cannot be written.
pub fn run(stilts: &Path, url: &str, report: &Path, limit: Duration) -> io::Result<Taplint> {
    let mut child = Command::new(stilts)
        .args(["-batch", "taplint"])
        .arg(format!("tapurl={url}"))
        .arg("format=text")
        .stdin(Stdio::null())
        .stdout(File::create(report)?)
        .stderr(Stdio::piped())
        .spawn()?;
    // The other end of a full pipe would wait for ever.
    let stderr = child.stderr.take().map(|mut pipe| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = pipe.by_ref().take(1 << 16).read_to_end(&mut text);
            let _ = io::copy(&mut pipe, &mut io::sink());
            text
        })
    });
    let until = Instant::now() + limit;
    let ended = loop {
        match child.try_wait()? {
            Some(_) => break true,
            None if Instant::now() >= until => break false,
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    if !ended {
        child.kill()?;
        child.wait()?;
        return Ok(Taplint::not_run(format!("taplint did not end within {} s", limit.as_secs())));
    }
    let said = stderr.and_then(|thread| thread.join().ok()).unwrap_or_default();
    let text = String::from_utf8_lossy(&std::fs::read(report)?).into_owned();
    let mut taplint = Taplint::of_report(&text);
    if let (Some(reason), false) = (&mut taplint.not_run, said.is_empty()) {
        let said = String::from_utf8_lossy(&said);
        let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        reason.push_str(&format!("; it says: {}", first.trim()));
    }
    Ok(taplint)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
This is STILTS taplint, 3.4.7-debian/?
Static report types: ERROR(172), WARNING(77)

Section TMV: Validate table metadata against XML schema
I-TMV-VURL-1 Validating http://localhost:8080/tap/tables
S-TMV-VALI-1 SAX report: warnings 0, errors 0, fatal 0

Section QGE: Make ADQL queries in sync GET mode
E-QGE-QERR-1 TAP query failed
E-QGE-QERR-x (3 more)
W-QGE-YXDL-1 (l.3, c.2693): Non-DALI xtype
I-QGE-QGET-x (21 more)

Section OBS: Test implementation of ObsCore Data Model
E-OBS-CMIS-1 Missing
E-OBS-TYPX-12 Wrong

Totals: Errors: 6; Warnings: 1; Infos: 22; Summaries: 1; Failures: 0
";

    #[test]
    fn errors_are_counted_by_stage_and_only_some_block() {
        let taplint = Taplint::of_report(REPORT);
        assert_eq!((taplint.errors_total, taplint.errors_blocking), (Some(6), Some(4)));
        assert_eq!(taplint.passed, Some(false));
        assert_eq!(
            taplint.by_stage["QGE"],
            BTreeMap::from([("E".into(), 4), ("I".into(), 21), ("W".into(), 1)])
        );
        assert_eq!(taplint.totals["W"], 1);
        assert_eq!(taplint.program.as_deref(), Some("STILTS taplint, 3.4.7-debian/?"));
        let harmless = REPORT
            .replace("E-QGE-QERR-1", "X")
            .replace("E-QGE-QERR-x", "X")
            .replace("Errors: 6", "Errors: 2");
        let taplint = Taplint::of_report(&harmless);
        assert_eq!((taplint.passed, taplint.errors_blocking), (Some(true), Some(0)));
    }

    #[test]
    fn an_error_in_no_stage_is_in_the_way() {
        let taplint =
            Taplint::of_report(&REPORT.replace("E-QGE-QERR-x (3 more)", "E-QGE-QERR: three more"));
        assert_eq!((taplint.errors_total, taplint.errors_blocking), (Some(6), Some(4)));
    }

    #[test]
    fn a_report_without_totals_is_none() {
        let (cut, _) = REPORT.split_once("\nTotals").unwrap();
        let taplint = Taplint::of_report(cut);
        assert_eq!(taplint.passed, None);
        let reason = "taplint did not come to its end: `E-OBS-TYPX-12 Wrong`";
        assert_eq!(taplint.not_run.as_deref(), Some(reason));
    }

    #[cfg(unix)]
    fn script(folder: &Path, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.join("stilts");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[cfg(unix)]
    #[test]
    fn the_program_is_run_and_its_report_kept() {
        let folder = tempfile::tempdir().unwrap();
        let report = folder.path().join("report.txt");
        let minute = Duration::from_secs(60);
        // Another thread's child may hold the script open for a moment.
        let run = |stilts: &Path, limit| loop {
            match run(stilts, "http://x/tap", &report, limit) {
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {}
                other => break other.unwrap(),
            }
        };
        let stilts =
            script(folder.path(), "echo \"This is $2 $3\"; echo 'Totals: Errors: 0; Warnings: 2'");
        let taplint = run(&stilts, minute);
        assert_eq!(taplint.program.as_deref(), Some("taplint tapurl=http://x/tap"));
        assert_eq!((taplint.passed, taplint.errors_total), (Some(true), Some(0)));
        assert!(std::fs::read_to_string(&report).unwrap().starts_with("This is taplint"));
        let stilts = script(folder.path(), "echo 'no java here' >&2; exit 1");
        let taplint = run(&stilts, minute);
        let reason = "taplint did not come to its end; it says: no java here";
        assert_eq!(taplint.not_run.as_deref(), Some(reason));
        let stilts = script(folder.path(), "exec sleep 30");
        let taplint = run(&stilts, Duration::from_millis(100));
        assert_eq!(taplint.not_run.as_deref(), Some("taplint did not end within 0 s"));
        assert_eq!(find(Some(&folder.path().join("stilts"))), Some(folder.path().join("stilts")));
        assert_eq!(find(Some(&folder.path().join("none"))), None);
    }
}
