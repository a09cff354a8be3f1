//! The run beside others: whether it reproduces one, and what other apparatus
//! did to the figures.

use super::super::super::{Pair, ReportError, reproduce_page, shift_page};
use super::super::data::{Data, Pairing, Results};
use super::super::model::Section;
use super::{guard, percent, results};

pub(super) fn reproduction(data: &Data) -> Result<Section, ReportError> {
    let mut section = Section::new("reproduction", "Reproduction");
    if data.against.is_empty() {
        section.empty(
            "No run was named that this one could reproduce (`tapstat report --against RUN`).",
        );
    }
    for Pairing { beside, rows, .. } in &data.against {
        section.heading(format!("A: {}, B: this run", beside.run));
        if rows.is_empty() {
            section.empty("The two runs have no cell in common.");
            continue;
        }
        let pair =
            Pair { a: &beside.run, b: &data.run, differences: &beside.differences, stamps: &[] };
        section.page(reproduce_page(rows, pair)?, true);
        section.picture(beside.figure.as_ref());
    }
    Ok(section)
}

pub(super) fn shift(data: &Data) -> Result<Section, ReportError> {
    let mut section = Section::new("shift", "The same by other apparatus");
    if data.shift.is_empty() {
        section.empty(
            "No run was named that measured the same by other apparatus (`tapstat report --shift RUN`).",
        );
    }
    for Pairing { beside, rows, results: other } in &data.shift {
        section.heading(format!("A: this run, B: {}", beside.run));
        if rows.is_empty() {
            section.empty("The two runs have no cell in common.");
            continue;
        }
        let pair =
            Pair { a: &data.run, b: &beside.run, differences: &beside.differences, stamps: &[] };
        section.page(shift_page(rows, pair)?, true);
        if let Some(other) = other {
            within(&mut section, data, &beside.run, other)?;
        }
    }
    Ok(section)
}

/// What the other run says read by itself, which is sound where both together
/// are not comparable.
fn within(
    section: &mut Section,
    data: &Data,
    run: &str,
    other: &Results,
) -> Result<(), ReportError> {
    section.list(vec![
        format!("A, the guard: {}", guard::in_short(&data.results)?),
        format!("B, the guard: {}", guard::in_short(other)?),
        format!("B, errors: {}", errors(data, other)?),
        "Within B all targets met the same apparatus: its own verdicts stand, and change none of A's."
            .to_owned(),
    ]);
    results::of_other(section, data, run, other)
}

fn errors(data: &Data, results: &Results) -> Result<String, ReportError> {
    let ceiling = data.selected.rule.error_ceiling;
    let fractions = results.rungs.floats("error_fraction")?;
    let above = fractions.iter().flatten().filter(|fraction| **fraction > ceiling).count();
    let above = if above == 0 { "no rung".to_owned() } else { format!("{above} rungs") };
    Ok(format!("{above} above {}", percent(ceiling)))
}
