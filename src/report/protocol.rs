//! The page of the command `protocol check`.

use super::Page;
use super::figure::counted;
use super::grid::{Align, Cell, Grid, MISSING, Tone};
use crate::protocol::check::{Coverage, Finding, Severity};

/// The most rungs of a list that a page shows; JSON has all.
const RUNGS: usize = 20;

/// The page of what was found in a protocol file, and of the rungs that a run
/// has of it.
pub fn protocol_page(
    file: &str,
    findings: &[Finding],
    promised: Option<usize>,
    run: Option<(&str, &Coverage)>,
) -> Page {
    let mut page = Page::new();
    page.heading(1, file);
    let count = |severity| findings.iter().filter(|found| found.severity == severity).count();
    let (problems, notes) = (count(Severity::Problem), count(Severity::Note));
    let mut summary = counted(problems, "problem");
    if notes > 0 {
        summary += &format!(", {}", counted(notes, "note"));
    }
    if let Some(promised) = promised {
        summary += &format!("; {} promised", counted(promised, "rung"));
    }
    page.text(summary);
    if !findings.is_empty() {
        page.table(table(findings));
    }
    if let Some((run, coverage)) = run {
        page.heading(1, format!("run {run}"));
        page.text(format!(
            "{} promised: {} measured, {} lacking; {} beside",
            counted(coverage.promised(), "rung"),
            coverage.has.len(),
            coverage.lacks.len(),
            coverage.beside.len()
        ));
        for (title, rungs) in [
            ("lacking: promised and not measured", &coverage.lacks),
            ("beside: measured and not promised", &coverage.beside),
        ] {
            if !rungs.is_empty() {
                page.heading(2, title);
                page.list(capped(rungs));
            }
        }
    }
    page
}

fn table(findings: &[Finding]) -> Grid {
    let mut grid = Grid::new([
        ("line", Align::Right),
        ("severity", Align::Left),
        ("key", Align::Left),
        ("what", Align::Left),
    ]);
    for finding in findings {
        let tone = match finding.severity {
            Severity::Problem => Tone::Bad,
            Severity::Note => Tone::Even,
        };
        let line = finding.line.map_or_else(|| MISSING.to_owned(), |line| line.to_string());
        let key = if finding.key.is_empty() { MISSING } else { &finding.key };
        grid.push(vec![
            line.into(),
            Cell::toned(finding.severity.to_string(), tone),
            key.into(),
            finding.message.as_str().into(),
        ]);
    }
    grid
}

fn capped(rungs: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = rungs.iter().take(RUNGS).cloned().collect();
    if rungs.len() > RUNGS {
        lines.push(format!("… {} more: --format json has all of them", rungs.len() - RUNGS));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Format, Style};

    fn text(findings: &[Finding], run: Option<(&str, &Coverage)>) -> String {
        let page = protocol_page("p.toml", findings, Some(540), run);
        page.render(Format::Table, Style::default())
    }

    #[test]
    fn findings_are_counted_and_placed() {
        let finding = |line, severity, message: &str| Finding {
            line,
            key: "grid.tiers".into(),
            severity,
            message: message.into(),
        };
        let findings = [
            finding(Some(3), Severity::Problem, "is empty"),
            finding(None, Severity::Note, "is odd"),
        ];
        assert_eq!(
            text(&findings, None),
            "\
p.toml

1 problem, 1 note; 540 rungs promised

─────────────────────────────────────
line  severity  key         what
─────────────────────────────────────
   3  problem   grid.tiers  is empty
   —  note      grid.tiers  is odd
─────────────────────────────────────
"
        );
    }

    #[test]
    fn rungs_are_counted_and_capped() {
        let names = |count| (0..count).map(|index| format!("rung-{index}")).collect();
        let coverage = Coverage { has: names(3), lacks: names(21), beside: names(1) };
        let text = text(&[], Some(("r1", &coverage)));
        for part in [
            "0 problems; 540 rungs promised\n",
            "run r1\n",
            "24 rungs promised: 3 measured, 21 lacking; 1 beside\n",
            "lacking: promised and not measured\n",
            "- rung-19\n- … 1 more: --format json has all of them\n",
            "beside: measured and not promised\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
