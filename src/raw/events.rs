//! `events.jsonl`: what happened while a run was measured.

use super::error::RawError;
use super::fields::{Fields, LABEL, TEXT, TIME, Unknown, VERBATIM};
use super::input::Source;
use super::json;

/// One line of `events.jsonl`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Event {
    /// Unix seconds.
    pub t: Option<f64>,
    pub kind: String,
    /// Name of the rung concerned.
    pub rung: Option<String>,
    /// In words; JSON text where it is more than that.
    pub detail: Option<String>,
}

/// Reads `events.jsonl`, in file order.
pub(super) fn read(source: &mut Source<'_>, file: &str) -> Result<Vec<Event>, RawError> {
    let (lines, warning) = json::lines(file, &source.bytes(file)?)?;
    source.warnings.extend(warning);
    let mut unknown = Unknown::default();
    let mut events = Vec::with_capacity(lines.len());
    for (place, value) in lines {
        let mut fields = Fields::of_object(place, value, &[])?;
        events.push(event(&mut fields)?);
        unknown.note(fields);
    }
    source.left_out(file, unknown);
    Ok(events)
}

fn event(fields: &mut Fields) -> Result<Event, RawError> {
    Ok(Event {
        t: fields.take(&["t"], TIME)?,
        kind: fields.need(&["kind"], TEXT)?,
        rung: fields.take(&["rung"], LABEL)?,
        detail: fields.take(&["detail", "reason"], VERBATIM)?,
    })
}
