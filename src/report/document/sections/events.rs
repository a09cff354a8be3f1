//! What was recorded while the run was measured, in words.

use serde_json::{Map, Value};

use super::super::super::ReportError;
use super::super::super::figure::{counted, thousands};
use super::super::super::grid::{Align, Cell, Grid, MISSING};
use super::super::data::Data;
use super::super::model::Section;
use super::checks::{ROWS, four_digits, left_out};
use crate::protocol::prereg::utc;
use crate::store::rows::WARNING;

/// The kind of event in which the generator says how a rung went.
const GENERATOR: &str = "generator";

/// What happened while the run was measured, what ingest had to say, and what the
/// generator saw of itself.
pub(super) fn add(section: &mut Section, data: &Data) -> Result<(), ReportError> {
    let view = &data.events;
    let (times, kinds) = (view.floats("t")?, view.names("kind")?);
    let (rungs, details) = (view.names("rung")?, view.names("detail")?);
    let mut happened = Grid::new([
        ("at", Align::Left),
        ("kind", Align::Left),
        ("rung", Align::Left),
        ("detail", Align::Left),
    ]);
    let mut own = generator_grid();
    let (mut events, mut watched) = (0, 0);
    for row in 0..view.len() {
        let detail = serde_json::from_str::<Value>(&details[row]).ok();
        if kinds[row] == GENERATOR
            && let Some(detail) = &detail
        {
            watched += 1;
            if watched <= ROWS {
                own.push(generator_row(&rungs[row], detail));
            }
            continue;
        }
        events += 1;
        if events > ROWS {
            continue;
        }
        let at = match times[row] {
            Some(time) if time.is_finite() => utc(time.floor() as i64),
            _ if kinds[row] == WARNING => "at ingest".to_owned(),
            _ => MISSING.to_owned(),
        };
        let detail = match detail {
            Some(Value::Object(fields)) => words(&fields),
            _ => details[row].clone(),
        };
        let texts = [&at, &kinds[row], &rungs[row], &detail];
        happened.push(texts.map(|text| Cell::from(text.as_str())).into());
    }
    table(section, format!("recorded events ({})", counted(events, "event")), events, happened);
    let title = format!("the generator, rung by rung ({})", counted(watched, "rung"));
    let has_own = !own.is_empty();
    table(section, title, watched, own);
    if has_own {
        section.notes(vec![
            "checked: bodies read whole and parsed after the window; peak: the busiest worker's share of a core in one second; host busy and stolen: shares of all cores; resent: TCP segments of the host".to_owned(),
        ]);
    }
    Ok(())
}

fn table(section: &mut Section, title: String, count: usize, grid: Grid) {
    if grid.is_empty() {
        return;
    }
    let caption = title.split(" (").next().unwrap_or_default();
    let caption =
        caption.chars().take(1).flat_map(char::to_uppercase).chain(caption.chars().skip(1));
    let caption: String = caption.collect();
    section.heading(title);
    if count > 20 {
        section.folded(caption, grid);
    } else {
        section.table(caption, grid);
    }
    section.notes(left_out(count));
}

fn generator_grid() -> Grid {
    Grid::new([
        ("rung", Align::Left),
        ("sent", Align::Right),
        ("failed", Align::Right),
        ("aborted", Align::Right),
        ("checked", Align::Right),
        ("refused", Align::Right),
        ("peak", Align::Right),
        ("host busy", Align::Right),
        ("stolen", Align::Right),
        ("resent", Align::Right),
    ])
}

fn generator_row(rung: &str, detail: &Value) -> Vec<Cell> {
    let count = |path: &str| match detail.pointer(path).and_then(Value::as_i64) {
        Some(count) => Cell::from(thousands(count)),
        None => MISSING.into(),
    };
    let share = |value: Option<f64>| match value {
        Some(share) => Cell::from(format!("{share:.2}")),
        None => MISSING.into(),
    };
    let float = |path: &str| detail.pointer(path).and_then(Value::as_f64);
    let peaks = detail.pointer("/guard/worker_peaks").and_then(Value::as_array);
    let peak = peaks.and_then(|peaks| peaks.iter().filter_map(Value::as_f64).reduce(f64::max));
    vec![
        rung.into(),
        count("/counts/sent"),
        count("/counts/failed"),
        count("/counts/aborted"),
        count("/checks/made"),
        count("/checks/failed"),
        share(peak),
        share(float("/guard/host/busy")),
        share(float("/guard/host/steal")),
        count("/guard/host/retransmits"),
    ]
}

/// The fields of an event as a reader takes them in: `hook start, exit code 0, …`.
/// Those that say nothing are left out.
fn words(fields: &Map<String, Value>) -> String {
    let said = fields.iter().filter_map(|(name, value)| {
        let value = match value {
            Value::Null => return None,
            Value::String(text) if text.is_empty() => return None,
            Value::String(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
            Value::Bool(is_so) => if *is_so { "yes" } else { "no" }.to_owned(),
            Value::Number(number) => match number.as_i64() {
                Some(whole) => whole.to_string(),
                None => four_digits(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::Array(values) if values.is_empty() => return None,
            Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
            Value::Object(inner) if inner.is_empty() => return None,
            Value::Object(inner) => format!("({})", words(inner)),
        };
        Some(format!("{}: {value}", name.replace('_', " ")))
    });
    said.collect::<Vec<_>>().join("; ")
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(inner) => format!("({})", words(inner)),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        match serde_json::from_str(text).unwrap() {
            Value::Object(fields) => words(&fields),
            _ => panic!("no object"),
        }
    }

    #[test]
    fn events_are_said_in_words() {
        let hook =
            r#"{"hook": "start", "exit_code": 0, "output": "up\n  at last", "target": null}"#;
        assert_eq!(said(hook), "exit code: 0; hook: start; output: up at last");
        let start = r#"{"git": {"dirty": false, "sha": "ab"}, "left": [], "tiers": [8, "16"]}"#;
        assert_eq!(said(start), "git: (dirty: no; sha: ab); tiers: 8, 16");
        assert_eq!(said(r#"{"seconds": 0.0023456}"#), "seconds: 0.002346");
        assert_eq!(said("{}"), "");
    }
}
