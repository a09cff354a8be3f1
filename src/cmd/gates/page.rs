//! The gates as a page.

use crate::gate::agreement::{Agreement, ClassAgreement};
use crate::gate::compare::Difference;
use crate::gate::{Gates, TargetGates};
use crate::report::figure::{thousands, whole};
use crate::report::{Align, Cell, Grid, MISSING, Page, Tone};

/// Differences that are shown of a class; all are in the file.
const SHOWN: usize = 4;

/// The page: targets, classes, differences, and what does not hold.
pub fn page(gates: &Gates) -> Page {
    let mut page = Page::new();
    page.heading(
        1,
        match &gates.tier {
            Some(tier) => format!("Gates of tier {tier}"),
            None => "Gates".to_owned(),
        },
    );
    page.heading(2, "Targets");
    page.table(targets(gates));
    page.heading(2, "Agreement");
    match &gates.agreement.not_run {
        Some(reason) => page.text(format!("Not run: {reason}.")),
        None => page.table(classes(&gates.agreement)),
    }
    for (class, found) in &gates.agreement.classes {
        let lines = differences(found);
        if !lines.is_empty() {
            page.text(format!("Differences in {class}:"));
            page.list(lines);
        }
    }
    match gates.failures.is_empty() {
        true => page.text("All gates are passed."),
        false => {
            page.heading(2, "What does not hold");
            page.list(gates.failures.clone());
        }
    }
    page
}

fn targets(gates: &Gates) -> Grid {
    let mut grid = Grid::new([
        ("target", Align::Left),
        ("server", Align::Left),
        ("TAP", Align::Left),
        ("MAXREC", Align::Right),
        ("taplint", Align::Left),
        ("errors", Align::Right),
        ("blocking", Align::Right),
    ]);
    for (name, target) in &gates.targets {
        let vosi = target.vosi.as_ref();
        let lint = target.taplint.as_ref();
        let count = |count: Option<u64>| whole(count.and_then(|count| i64::try_from(count).ok()));
        grid.push(vec![
            name.as_str().into(),
            vosi.and_then(|vosi| vosi.server_header.clone())
                .unwrap_or_else(|| target.server.clone())
                .into(),
            vosi.map_or_else(|| MISSING.to_owned(), |vosi| versions(&vosi.tap_versions)).into(),
            count(vosi.and_then(|vosi| vosi.maxrec_default)).into(),
            word(target),
            count(lint.and_then(|lint| lint.errors_total)).into(),
            count(lint.and_then(|lint| lint.errors_blocking)).into(),
        ]);
    }
    grid
}

fn versions(versions: &[String]) -> String {
    if versions.is_empty() { MISSING.to_owned() } else { versions.join(" ") }
}

/// What came of taplint, in a word.
fn word(target: &TargetGates) -> Cell {
    match target.taplint.as_ref().map(|lint| lint.passed) {
        None => MISSING.into(),
        Some(Some(true)) => Cell::toned("passed", Tone::Good),
        Some(Some(false)) => Cell::toned("failed", Tone::Bad),
        Some(None) => Cell::toned("not run", Tone::Bad),
    }
}

fn classes(agreement: &Agreement) -> Grid {
    let mut grid = Grid::new([
        ("class", Align::Left),
        ("probes", Align::Right),
        ("rows", Align::Right),
        ("agrees", Align::Left),
        ("same values", Align::Left),
    ]);
    for (class, found) in &agreement.classes {
        let yes_or_no = |yes| {
            if yes { Cell::toned("yes", Tone::Good) } else { Cell::toned("no", Tone::Bad) }
        };
        grid.push(vec![
            class.as_str().into(),
            found.detail.len().to_string().into(),
            rows(found).into(),
            yes_or_no(found.agrees),
            found.same_values.map_or_else(|| MISSING.into(), yes_or_no),
        ]);
    }
    grid
}

/// Fewest and most rows of the first target's answers.
fn rows(class: &ClassAgreement) -> String {
    let first = class.detail.iter().filter_map(|probe| probe.results.values().next()?.first.rows);
    let rows: Vec<i64> = first.filter_map(|rows| i64::try_from(rows).ok()).collect();
    match (rows.iter().min(), rows.iter().max()) {
        (Some(least), Some(most)) if least == most => thousands(*most),
        (Some(least), Some(most)) => format!("{} to {}", thousands(*least), thousands(*most)),
        _ => MISSING.to_owned(),
    }
}

fn differences(class: &ClassAgreement) -> Vec<String> {
    let all: Vec<String> = class
        .detail
        .iter()
        .flat_map(|probe| {
            probe.differences.iter().map(|found| format!("{}: {}", probe.query_id, sentence(found)))
        })
        .collect();
    let mut lines: Vec<String> = all.iter().take(SHOWN).cloned().collect();
    if all.len() > SHOWN {
        lines.push(format!("and {} more in the file", all.len() - SHOWN));
    }
    lines
}

fn sentence(difference: &Difference) -> String {
    match difference {
        Difference::Rows { has, lacks, count, first } => {
            let rows = if *count == 1 { "a row".to_owned() } else { format!("{count} rows") };
            format!("{has} has {rows} that {lacks} lacks: {}", first.join(", "))
        }
        Difference::Columns { values } => {
            let parts: Vec<String> =
                values.iter().map(|(name, columns)| format!("{name} has {columns}")).collect();
            format!("other columns: {}", parts.join("; "))
        }
        Difference::Values { key, column, values } => {
            let value = |value: &Option<String>| {
                value.as_ref().map_or_else(|| "nothing".to_owned(), |text| format!("`{text}`"))
            };
            let parts: Vec<String> =
                values.iter().map(|(name, found)| format!("{} in {name}", value(found))).collect();
            format!("{column} of {key} is {}", parts.join(", "))
        }
    }
}
