//! What people wrote, how to measure and report it again, and where it all
//! comes from.

use super::super::super::grid::{Align, Grid};
use super::super::super::{ReportError, inputs_sha256};
use super::super::data::Data;
use super::super::model::{Block, Section};
use super::overview::environment;
use crate::raw::Hasher;
use crate::store::schema::SCHEMA_VERSION;

/// Notes whose name begins so are about what the figures may mean instead.
const THREATS: &str = "threats";

pub(super) fn threats(data: &Data) -> Section {
    let mut section = Section::new("threats", "Threats to validity");
    foreign(
        &mut section,
        data,
        &data.selected.protocol.report.threats,
        true,
        "None were brought: neither `threats` in the protocol's `[report]` nor `notes/threats*.md` in the run directory.",
    );
    section
}

pub(super) fn notes(data: &Data) -> Section {
    let mut section = Section::new("notes", "Run notes");
    foreign(
        &mut section,
        data,
        &data.selected.protocol.report.notes,
        false,
        "None were brought: neither `notes` in the protocol's `[report]` nor `notes/*.md` in the run directory.",
    );
    section
}

/// The protocol's texts as one list, then the notes of the run, one after the
/// other.
fn foreign(section: &mut Section, data: &Data, texts: &[String], threats: bool, none: &str) {
    if !texts.is_empty() {
        let items = texts.iter().map(|text| {
            let lines: Vec<&str> = text.trim().lines().collect();
            format!("- {}\n", lines.join("\n  "))
        });
        section.blocks.push(Block::Foreign { level: 2, text: items.collect() });
    }
    let own = data.notes.iter().filter(|(name, _)| name.starts_with(THREATS) == threats);
    for (_, text) in own {
        section.blocks.push(Block::Foreign { level: 2, text: text.clone() });
    }
    if section.blocks.is_empty() {
        section.empty(none);
    }
}

pub(super) fn reproduce(data: &Data) -> Result<Section, ReportError> {
    let mut section = Section::new("reproduce", "How to reproduce it");
    let commands = &data.selected.protocol.report.reproduce;
    if !commands.is_empty() {
        section.heading("measure it again");
        section.code(commands.clone());
    }
    section.heading("make this report again");
    let mut lines: Vec<String> =
        data.inputs.iter().map(|(run, _)| format!("tapstat ingest {run}")).collect();
    lines.push(format!("{} --output report", data.command));
    lines.push("tapstat report --check report".to_owned());
    section.code(lines);
    section.text("The same run directories give the same bytes, on every machine.");
    section.text(environment(data)?);
    Ok(section)
}

pub(super) fn provenance(data: &Data) -> Result<Section, ReportError> {
    let mut section = Section::new("provenance", "Where it comes from");
    section.list(vec![
        format!("made by tapstat {}, store schema {SCHEMA_VERSION}", crate::VERSION),
        format!("layout of the run directory: {}", data.manifest.layout),
    ]);
    let mut rules: Vec<String> = Vec::new();
    for stamp in &data.stamps {
        rules.push(format!("rule of {}: {}", stamp.run, stamp.rule_text()));
    }
    section.list(rules);
    let mut protocols = Vec::new();
    for (source, sha256) in
        data.protocol.names("source")?.iter().zip(data.protocol.names("sha256")?)
    {
        protocols.push(format!("{source} of the run: sha256 {sha256}"));
    }
    for (name, text) in crate::protocol::shipped_texts() {
        if data.selected.source.starts_with(&format!("protocols/{name}")) {
            let mut hasher = Hasher::new();
            hasher.update(text.as_bytes());
            protocols.push(format!("protocols/{name}: sha256 {}", hasher.finish()));
        }
    }
    section.list(protocols);
    for (run, inputs) in &data.inputs {
        section.heading(format!("files of run {run}"));
        section.text(format!("sha256 over the list of them: {}", inputs_sha256(inputs)));
        let mut grid =
            Grid::new([("file", Align::Left), ("bytes", Align::Right), ("sha256", Align::Left)]);
        for input in inputs {
            grid.push(vec![
                input.path.as_str().into(),
                input.size.to_string().into(),
                input.sha256.as_str().into(),
            ]);
        }
        section.folded(format!("Files of run {run}"), grid);
    }
    Ok(section)
}
