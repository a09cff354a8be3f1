//! What each tier came to: gates, verdicts, resources, throughput against cores.

use serde_json::Value;

use super::super::super::figure::whole;
use super::super::super::grid::{Align, Cell, Grid, MISSING, Tone};
use super::super::super::place::Section as Place;
use super::super::super::{ReportError, cells, resources, stamp, verdicts};
use super::super::data::{Data, Results};
use super::super::model::Section;
use super::classes;

/// A section for each tier; one for all where there are none.
pub(super) fn sections(data: &Data) -> Result<Vec<Section>, ReportError> {
    let verdicts =
        verdicts::tables(&data.results.cells, &data.results.verdicts, &data.targets, &data.stamps)?;
    let used = resources::tables(&data.resources, &data.targets)?;
    let mix = resources::mix(&data.resources, &data.run);
    let mut sections = Vec::new();
    for tier in data.tiers() {
        let (id, title) = match &tier {
            Some(tier) => (format!("tier-{}", name(tier)), format!("Tier {tier}")),
            None => ("results".to_owned(), "Results".to_owned()),
        };
        let suffix = tier.as_ref().map(|tier| format!(", tier {tier}")).unwrap_or_default();
        let mut section = Section::new(&id, title);
        section.tier.clone_from(&tier);
        gates(&mut section, data, tier.as_deref(), &suffix)?;
        let own = |place: &Place| place.tier == tier;
        verdict_tables(&mut section, &verdicts, own, &suffix);
        resource_tables(&mut section, data, &used, own, &suffix);
        if section.tier == mix_tiers(&mix, &tier) {
            for (_, grid) in mix.iter().filter(|(of, _)| *of == tier) {
                section.heading(resources::MIX_TITLE);
                section.table(format!("{}{suffix}", resources::MIX_TITLE), grid.clone());
            }
        }
        sections.push(section);
    }
    if let Some(last) = sections.last_mut() {
        last.notes(notes(data));
        last.picture(data.figure("latency"));
        last.picture(data.figure("resources"));
    }
    Ok(sections)
}

/// A tier as part of an address.
fn name(tier: &str) -> String {
    tier.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

fn mix_tiers(mix: &[(Option<String>, Grid)], tier: &Option<String>) -> Option<String> {
    mix.iter().find(|(of, _)| of == tier).and_then(|(of, _)| of.clone())
}

fn verdict_tables(
    section: &mut Section,
    tables: &[(Place, Grid)],
    own: impl Fn(&Place) -> bool,
    suffix: &str,
) {
    let mut any = false;
    for (place, grid) in tables.iter().filter(|(place, _)| own(place)) {
        any = true;
        let title = if place.format == "-" { "throughput and latency" } else { &place.format };
        section.heading(title);
        section.table(format!("Throughput, latency and verdicts, {title}{suffix}"), grid.clone());
    }
    if !any {
        section.heading("throughput and latency");
        section.empty("No cells: nothing was measured, or printed, rung by rung.");
    }
}

fn resource_tables(
    section: &mut Section,
    data: &Data,
    tables: &[(Place, Grid)],
    own: impl Fn(&Place) -> bool,
    suffix: &str,
) {
    let mut any = false;
    for (place, grid) in tables.iter().filter(|(place, _)| own(place)) {
        any = true;
        let title = match place.format.as_str() {
            "-" => "resources".to_owned(),
            format => format!("resources, {format}"),
        };
        section.heading(title.as_str());
        section.table(format!("{title}{suffix}"), grid.clone());
    }
    if !any {
        section.heading("resources");
        section.empty(without_resources(data));
    }
}

/// Why there are no resources.
fn without_resources(data: &Data) -> &'static str {
    let sampled = data.manifest.rows("resources") > 0;
    if data.results.cells.is_empty() {
        "No resources: the run has no cells."
    } else if sampled && data.selected.protocol.containers.is_empty() {
        "No resources: the protocol does not say which of the sampled containers make up each target (`[containers]`)."
    } else if sampled {
        "No resources: of no rung here were enough samples taken, or none of the protocol's containers were sampled."
    } else {
        "No resources: none were sampled (`resources.jsonl`), and none printed."
    }
}

/// What has to be said of the tables.
fn notes(data: &Data) -> Vec<String> {
    let mut notes = cells::legend(&data.results.cells);
    notes.extend(verdicts::unguarded(&data.results.verdicts));
    let n: Vec<Option<i64>> = data.results.cells.iter().map(|cell| cell.n).collect();
    let own = data.stamp().map_or(&[][..], std::slice::from_ref);
    notes.extend(stamp::method_notes(if n.is_empty() { &[] } else { own }, &n));
    if !data.resources.is_empty() {
        notes.push(resources::FIGURES.to_owned());
    }
    notes
}

fn gates(
    section: &mut Section,
    data: &Data,
    tier: Option<&str>,
    suffix: &str,
) -> Result<(), ReportError> {
    section.heading("Gates");
    let view = &data.gates;
    let (tiers, targets) = (view.texts("tier")?, view.names("target")?);
    let versions = view.names("tap_versions")?;
    let (passed, errors) = (view.flags("taplint_passed")?, view.ints("taplint_errors")?);
    let maxrec = view.ints("maxrec_default")?;
    let mut grid = Grid::new([
        ("target", Align::Left),
        ("TAP", Align::Left),
        ("taplint", Align::Left),
        ("maxrec default", Align::Right),
    ]);
    for row in (0..view.len()).filter(|&row| tiers[row].as_deref() == tier) {
        grid.push(vec![
            targets[row].as_str().into(),
            versions[row].as_str().into(),
            taplint(passed[row], errors[row]),
            whole(maxrec[row]).into(),
        ]);
    }
    if grid.is_empty() {
        section.empty(
            "No gates are recorded: nothing says what the services declare, or what taplint found.",
        );
    } else {
        section.table(format!("Gates{suffix}"), grid);
    }
    section.text(agreement(data, tier)?);
    let said = said_of_gates(data, tier)?;
    if !said.is_empty() {
        section.text("Recorded while it was measured:");
        section.list(said);
    }
    Ok(())
}

/// What the measurement recorded of its gates.
pub(super) fn gate_events(data: &Data) -> Result<Vec<Value>, ReportError> {
    let (kinds, details) = (data.events.names("kind")?, data.events.names("detail")?);
    let own = kinds.iter().zip(details).filter(|(kind, _)| *kind == "gate");
    Ok(own.filter_map(|(_, detail)| serde_json::from_str(&detail).ok()).collect())
}

/// What the measurement recorded of the gates of a tier, each once: why it went on
/// in spite of them, and what was left out for them.
fn said_of_gates(data: &Data, tier: Option<&str>) -> Result<Vec<String>, ReportError> {
    let mut said = Vec::new();
    for detail in gate_events(data)? {
        let deviates = detail["deviation"] == true;
        let Some(message) = detail["message"].as_str() else { continue };
        if detail["tier"].as_str() != tier || !(deviates || detail["left_out"].is_string()) {
            continue;
        }
        let message = if deviates { format!("Deviation: {message}") } else { message.to_owned() };
        if !said.contains(&message) {
            said.push(message);
        }
    }
    Ok(said)
}

/// `PASS (2 errors)`, as it was published.
fn taplint(passed: Option<bool>, errors: Option<i64>) -> Cell {
    let errors = errors.map(|errors| {
        let plural = if errors == 1 { "" } else { "s" };
        format!(" ({errors} error{plural})")
    });
    let errors = errors.unwrap_or_default();
    match passed {
        Some(true) => format!("PASS{errors}").into(),
        Some(false) => Cell::toned(format!("FAIL{errors}"), Tone::Bad),
        None => MISSING.into(),
    }
}

/// `Agreement gate: 11 classes agree, none disagree.`
fn agreement(data: &Data, tier: Option<&str>) -> Result<String, ReportError> {
    let (tiers, names) = (data.agreement.texts("tier")?, data.agreement.names("query_class")?);
    let agrees = data.agreement.flags("agrees")?;
    let of = |wanted: bool| {
        let rows = (0..names.len())
            .filter(|&row| tiers[row].as_deref() == tier && agrees[row] == Some(wanted));
        rows.map(|row| names[row].clone()).collect::<Vec<_>>()
    };
    let (agree, disagree) = (of(true), of(false));
    Ok(match (agree.len(), disagree.len()) {
        (0, 0) => "Agreement gate: not recorded.".to_owned(),
        (1, 0) => "Agreement gate: 1 class agrees, none disagree.".to_owned(),
        (some, 0) => format!("Agreement gate: {} agree, none disagree.", classes(some)),
        (0, _) => format!("Agreement gate: none agree; these disagree: {}.", disagree.join(", ")),
        (some, _) => {
            let verb = if some == 1 { "agrees" } else { "agree" };
            format!(
                "Agreement gate: {} {verb}; these disagree: {}.",
                classes(some),
                disagree.join(", ")
            )
        }
    })
}

/// The verdict tables of another run, under headings that name tier and format.
pub(super) fn of_other(
    section: &mut Section,
    data: &Data,
    run: &str,
    results: &Results,
) -> Result<(), ReportError> {
    let tables = verdicts::tables(&results.cells, &results.verdicts, &data.targets, &data.stamps)?;
    for (place, grid) in tables {
        let title = place.heading.unwrap_or_else(|| "throughput and latency".to_owned());
        section.heading(format!("verdicts within {run}: {title}"));
        section.table(format!("Verdicts within {run}, {title}"), grid);
    }
    Ok(())
}
