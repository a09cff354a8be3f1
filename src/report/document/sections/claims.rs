//! What the run may say, and what it may not.

use super::super::super::ReportError;
use super::super::super::figure::counted;
use super::super::data::{Data, Registration};
use super::super::model::Section;
use super::percent;
use crate::protocol::prereg::Verdict;

pub(super) fn section(data: &Data) -> Result<Section, ReportError> {
    let mut section = Section::new("claims", "Claims");
    let pins =
        if data.manifest.rows("pins") > 0 { ", under the recorded resource pins" } else { "" };
    section.text(format!(
        "This run may claim the relative behaviour of these versions, on this hardware, on this \
         corpus, as deployed by their own documentation{pins}: nothing else."
    ));
    let rule = &data.selected.rule;
    let registered = match &data.registration {
        Registration::Examined(found) if found.verdict == Verdict::Frozen => {
            " The rule was registered before anything was measured."
        }
        _ => "",
    };
    section.text(format!(
        "A tie is a verdict by rule: overlapping {} intervals, or under {} apart in throughput.{registered} \
         Classes that a gate excluded are absent, not hidden.",
        percent(rule.confidence),
        percent(rule.tie_floor)
    ));
    section.list(limits(data));
    Ok(section)
}

/// What this very run does not let anybody say.
fn limits(data: &Data) -> Vec<String> {
    let mut limits = Vec::new();
    let cells = &data.results.cells;
    let verdicts = &data.results.verdicts;
    let count = |verdict: &str| {
        verdicts.iter().filter(|row| row.verdict.as_deref() == Some(verdict)).count()
    };
    let is = |count: usize| if count == 1 { "is" } else { "are" };
    let (invalid, incomplete) = (count("invalid"), count("incomplete"));
    if invalid > 0 {
        limits.push(format!(
            "{} {} `invalid`: nothing may be said of who is faster there.",
            counted(invalid, "comparison"),
            is(invalid)
        ));
    }
    if incomplete > 0 {
        limits.push(format!(
            "{} {} `incomplete`: a target has no cell there.",
            counted(incomplete, "comparison"),
            is(incomplete)
        ));
    }
    let bounds = cells.iter().filter(|cell| cell.lower_bound).count();
    if bounds > 0 {
        limits.push(format!(
            "{} {} a lower bound (≥): the target may be faster than shown.",
            counted(bounds, "cell"),
            is(bounds)
        ));
    }
    if !cells.is_empty() && cells.iter().all(|cell| cell.published) {
        limits.push(
            "The figures are as a report printed them: they cannot be recomputed from here, and what needs single rungs (medians, client cost, reproduction) cannot be had.".to_owned(),
        );
    }
    let single = cells.iter().filter(|cell| cell.n == Some(1)).count();
    if single > 0 {
        limits.push(format!(
            "{} of one repetition {} no interval, so that no target can beat another there.",
            counted(single, "cell"),
            if single == 1 { "has" } else { "have" }
        ));
    }
    if !cells.is_empty() && data.manifest.contents.targets.len() < 2 {
        limits
            .push("There is one target: nothing is compared, and there is no verdict.".to_owned());
    }
    if verdicts.iter().any(|row| row.reason == "guard unknown") {
        limits.push(
            "Nothing says whether the generator's guard was quiet: a slow generator would look like a slow server.".to_owned(),
        );
    }
    limits
}
