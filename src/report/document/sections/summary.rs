//! What a reader in a hurry takes away: a line for each question, from the data.

use super::super::super::ReportError;
use super::super::super::figure::{counted, thousands};
use super::super::super::verdicts::{self, VerdictRow};
use super::super::data::{Data, Registration};
use super::super::model::Section;
use super::{guard, instances, results};
use crate::protocol::prereg::Verdict;
use crate::sql::hypotheses::Outcome;

pub(super) fn section(data: &Data) -> Result<Section, ReportError> {
    let mut section = Section::new("summary", "In short");
    let mut lines = vec![measured(data)?];
    lines.extend(compared(data));
    lines.extend(instances::most(data)?);
    lines.extend(predicted(data));
    lines.extend(registered(data));
    lines.extend(gated(data)?);
    if !data.results.rungs.is_empty() {
        lines.push(format!("the generator's guard: {}", guard::in_short(&data.results)?));
    }
    section.list(lines);
    Ok(section)
}

/// What there is.
fn measured(data: &Data) -> Result<String, ReportError> {
    let int = |column| {
        Ok::<_, ReportError>(data.facts.ints(column)?.into_iter().flatten().next().unwrap_or(0))
    };
    let (rungs, requests) = (int("rungs")?, int("requests")?);
    let targets = match data.manifest.contents.targets.len() {
        0 => String::new(),
        count => format!(" of {}", counted(count, "target")),
    };
    let mut text = if rungs > 0 {
        let thing = if rungs == 1 { "rung" } else { "rungs" };
        format!("{} {thing}{targets}", thousands(rungs))
    } else {
        format!("a published table{targets}: figures as a report printed them")
    };
    if requests > 0 {
        text += &format!(", {} requests", thousands(requests));
    }
    match data.manifest.contents.tiers.len() {
        0 => {}
        1 => text += ", one tier",
        tiers => text += &format!(", {}", counted(tiers, "tier")),
    }
    Ok(text)
}

/// Who won how often, tier by tier.
fn compared(data: &Data) -> Vec<String> {
    let tiers = data.tiers().into_iter().filter_map(|tier| {
        // Of one target alone there is nothing to say.
        let own = |row: &&VerdictRow| row.place.tier == tier && row.verdict.is_some();
        let rows: Vec<&VerdictRow> = data.results.verdicts.iter().filter(own).collect();
        let tier = tier.map(|tier| format!("tier {tier}, ")).unwrap_or_default();
        (!rows.is_empty()).then(|| format!("{tier}{}", verdicts::summary(&rows)))
    });
    tiers.collect()
}

/// What became of the predictions.
fn predicted(data: &Data) -> Option<String> {
    if data.judgements.is_empty() {
        return None;
    }
    let outcomes = [Outcome::Holds, Outcome::HalfHolds, Outcome::Fails, Outcome::Unsettled];
    let said = outcomes.into_iter().filter_map(|outcome| {
        let own = data.judgements.iter().filter(|judged| judged.outcome == outcome);
        let ids: Vec<&str> = own.map(|judged| judged.id.as_str()).collect();
        (!ids.is_empty()).then(|| format!("{outcome} {}", ids.join(", ")))
    });
    let said: Vec<String> = said.collect();
    Some(format!("{}: {}", counted(data.judgements.len(), "prediction"), said.join("; ")))
}

/// Whether the protocol was there first.
fn registered(data: &Data) -> Option<String> {
    let Registration::Examined(found) = &data.registration else { return None };
    Some(match found.verdict {
        Verdict::Frozen => {
            "the protocol was registered before the first request and has not changed".to_owned()
        }
        other => format!("the protocol's registration is {other}: see below why"),
    })
}

/// Whether the servers do the same.
fn gated(data: &Data) -> Result<Option<String>, ReportError> {
    let (agreement, lint) = (data.agreement.flags("agrees")?, data.gates.flags("taplint_passed")?);
    let deviates = results::gate_events(data)?.iter().any(|event| event["deviation"] == true);
    let mut said = Vec::new();
    if !agreement.is_empty() {
        let agree = agreement.iter().filter(|agrees| **agrees == Some(true)).count();
        said.push(format!(
            "answers agreed in {agree} of {} probed",
            super::classes(agreement.len())
        ));
    }
    if lint.iter().any(Option::is_some) {
        let passed = lint.iter().filter(|passed| **passed == Some(true)).count();
        said.push(format!("taplint passed {passed} of {}", lint.len()));
    }
    if deviates {
        said.push("measured in spite of a gate".to_owned());
    }
    Ok((!said.is_empty()).then(|| format!("gates: {}", said.join(", "))))
}
