//! What was predicted, whether that was frozen, what looks wrong, and how firm
//! the verdicts are.

use std::collections::BTreeMap;

use super::super::super::grid::{Align, Grid, MISSING};
use super::super::super::{ReportError, hypotheses_page, prereg_page, robust_page};
use super::super::data::{Data, Registration};
use super::super::model::Section;
use super::events;

/// The most rows of a table that are shown; the store has all.
pub(super) const ROWS: usize = 200;

pub(super) fn hypotheses(data: &Data) -> Section {
    let mut section = Section::new("hypotheses", "Hypotheses");
    if data.judgements.is_empty() {
        section.empty(format!("The protocol states none ({}).", data.selected.source));
    } else {
        section.page(hypotheses_page(&data.run, &data.judgements, &[]), false);
    }
    section
}

pub(super) fn registration(data: &Data) -> Section {
    let mut section = Section::new("pre-registration", "Pre-registration");
    match &data.registration {
        Registration::Examined(found) => section.page(prereg_page(found), false),
        Registration::NoReference => {
            section.empty("Neither the protocol nor who made the report (`--tag`) named a tag or a commit by which it was registered.");
        }
        Registration::NoRepository => {
            section.empty(
                "Not examined: the report was made without the repository that the protocol was committed to (`--repo DIR`).",
            );
            if let Some(prereg) = &data.selected.protocol.prereg
                && let Some(reference) = &prereg.r#ref
            {
                let at =
                    prereg.commit.as_ref().map(|commit| format!(", on record at commit {commit}"));
                section.text(format!(
                    "The protocol says that it was registered by `{}`{}, with these paths; `tapstat prereg --repo DIR --run {}` compares them with what was measured:",
                    reference,
                    at.unwrap_or_default(),
                    data.run
                ));
                section.list(prereg.paths.iter().map(|path| format!("`{path}`")).collect());
            }
        }
    }
    section
}

pub(super) fn anomalies(data: &Data) -> Result<Section, ReportError> {
    let mut section = Section::new("anomalies", "Anomalies");
    let view = &data.anomalies;
    let (rungs, kinds) = (view.names("rung")?, view.names("kind")?);
    let (values, limits) = (view.floats("value")?, view.floats("limit")?);
    let details = view.names("detail")?;
    if view.is_empty() {
        section.empty("Nothing looks wrong in the data, of what is looked for.");
    } else {
        section.text(by_kind(&kinds));
        let mut grid = Grid::new([
            ("rung", Align::Left),
            ("kind", Align::Left),
            ("value", Align::Right),
            ("limit", Align::Right),
            ("detail", Align::Left),
        ]);
        let number = |value: Option<f64>| value.map_or_else(|| MISSING.to_owned(), four_digits);
        for row in 0..view.len().min(ROWS) {
            grid.push(vec![
                rungs[row].as_str().into(),
                kinds[row].as_str().into(),
                number(values[row]).into(),
                number(limits[row]).into(),
                details[row].as_str().into(),
            ]);
        }
        if view.len() > 20 {
            section.folded("Anomalies", grid);
        } else {
            section.table("Anomalies", grid);
        }
        section.notes(left_out(view.len()));
        section.text("None of them changes a verdict; `tapstat sql --show anomalies` says what is looked for.");
    }
    events::add(&mut section, data)?;
    Ok(section)
}

/// How many there are of each kind.
fn by_kind(kinds: &[String]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for kind in kinds {
        *counts.entry(kind).or_default() += 1;
    }
    let counts: Vec<String> =
        counts.into_iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let things = if kinds.len() == 1 { "anomaly" } else { "anomalies" };
    format!("{} {things}: {}", kinds.len(), counts.join(", "))
}

/// Four significant digits, as a plain number.
pub(super) fn four_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let decimals = (3 - value.abs().log10().floor() as i32).clamp(0, 9);
    let text = format!("{value:.*}", usize::try_from(decimals).unwrap_or(0));
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

pub(super) fn left_out(count: usize) -> Vec<String> {
    if count <= ROWS {
        return Vec::new();
    }
    vec![format!("{ROWS} of {count} are shown; the store has all of them")]
}

pub(super) fn robustness(data: &Data) -> Result<Section, ReportError> {
    let mut section = Section::new("robustness", "How robust the verdicts are");
    if data.robustness.is_empty() {
        section.empty("There is no comparison whose verdict could be tried by other rules.");
    } else {
        section.page(robust_page(&data.robustness, &[])?, true);
    }
    Ok(section)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        for (value, text) in
            [(0.635, "0.635"), (60.0453, "60.05"), (12345.6, "12346"), (3.0, "3"), (0.0, "0")]
        {
            assert_eq!(four_digits(value), text);
        }
    }
}
