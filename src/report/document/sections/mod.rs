//! The sections of a report, each from the data.

mod beside;
mod checks;
mod claims;
mod cost;
mod events;
mod guard;
mod instances;
mod latency;
mod overview;
mod results;
mod scaling;
mod summary;
mod words;

use super::super::ReportError;
use super::data::Data;
use super::model::Document;

/// The whole report, its sections in the published order.
pub(super) fn document(data: &Data) -> Result<Document, ReportError> {
    let mut sections = vec![summary::section(data)?, overview::section(data)?];
    sections.extend(results::sections(data)?);
    sections.push(latency::section(data)?);
    sections.extend(scaling::section(data)?);
    sections.extend(instances::section(data)?);
    sections.push(claims::section(data)?);
    sections.push(guard::voided(data)?);
    sections.push(cost::section(data)?);
    sections.push(checks::hypotheses(data));
    sections.push(checks::registration(data));
    sections.push(beside::reproduction(data)?);
    sections.push(beside::shift(data)?);
    sections.push(checks::anomalies(data)?);
    sections.push(checks::robustness(data)?);
    sections.push(words::threats(data));
    sections.push(words::notes(data));
    sections.push(words::reproduce(data)?);
    sections.push(guard::lower_bounds(data)?);
    sections.push(words::provenance(data)?);
    Ok(Document {
        title: data.run.clone(),
        subtitle: subtitle(data),
        sections,
        servers: data.servers.clone(),
    })
}

fn subtitle(data: &Data) -> String {
    let protocol = &data.selected.protocol;
    protocol
        .description
        .as_deref()
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|text| !text.is_empty())
        .unwrap_or_else(|| "A campaign of measurements, reported by tapstat.".to_owned())
}

/// A number in per cent without needless digits: `95%`, `2.5%`.
fn percent(fraction: f64) -> String {
    let text = format!("{:.3}", 100.0 * fraction);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// `1 class`, `2 classes`.
fn classes(count: usize) -> String {
    if count == 1 { "1 class".to_owned() } else { format!("{count} classes") }
}
