//! Reading a protocol file past everything that is wrong with it.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue, Deserializer, Error};

use super::super::file::Protocol;
use super::{Finding, Severity};

/// A protocol file as far as it can be read.
pub(super) struct Document {
    pub(super) protocol: Protocol,
    pub(super) findings: Vec<Finding>,
    pub(super) lines: Lines,
    /// Whether the rest is worth a look: not where it is no TOML.
    pub(super) complete: bool,
}

/// The line of every key and element.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Lines(BTreeMap<String, usize>);

/// Reads a protocol. Whatever its types refuse is noted, taken out, and the
/// rest is read again: so all of it is found, and what keys there are is said
/// once, by the types.
pub(super) fn read(text: &str) -> Document {
    let line = |span: Option<Range<usize>>| span.map(|span| line_of(text, span.start));
    let (mut table, errors) = DeTable::parse_recoverable(text);
    let mut findings: Vec<Finding> =
        errors.iter().map(|error| finding(line(error.span()), "", error)).collect();
    if !findings.is_empty() {
        let (protocol, lines) = (Protocol::default(), Lines::default());
        return Document { protocol, findings, lines, complete: false };
    }
    loop {
        let error = match Protocol::deserialize(Deserializer::from(table.clone())) {
            Ok(protocol) => {
                let mut lines = BTreeMap::new();
                for (path, span) in keys(table.get_ref()) {
                    lines.insert(path, line_of(text, span.start));
                }
                return Document { protocol, findings, lines: Lines(lines), complete: true };
            }
            Err(error) => error,
        };
        let taken = error.span().and_then(|span| take_from_table(table.get_mut(), &span));
        findings.push(finding(line(error.span()), taken.as_deref().unwrap_or_default(), &error));
        if taken.is_none() {
            let (protocol, lines) = (Protocol::default(), Lines::default());
            return Document { protocol, findings, lines, complete: false };
        }
    }
}

impl Lines {
    /// The finding with the line of its key, or of the nearest key above.
    pub(super) fn place(&self, mut finding: Finding) -> Finding {
        let mut key = finding.key.as_str();
        while finding.line.is_none() && !key.is_empty() {
            finding.line = self.0.get(key).copied();
            key = parent(key);
        }
        finding
    }
}

/// `a.b` of `a.b[1]` or `a.b.c`.
fn parent(key: &str) -> &str {
    key.rfind(['.', '[']).map_or("", |end| &key[..end])
}

fn finding(line: Option<usize>, key: &str, error: &Error) -> Finding {
    let message = error.message().trim().replace('\n', ", ");
    Finding { line, key: key.to_owned(), severity: Severity::Problem, message }
}

/// The line that an offset is in, from 1.
fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|&byte| byte == b'\n').count()
}

fn joined(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }
}

/// Every key and element, by its dotted name.
fn keys(table: &DeTable<'_>) -> Vec<(String, Range<usize>)> {
    fn of_table(table: &DeTable<'_>, path: &str, found: &mut Vec<(String, Range<usize>)>) {
        for (key, value) in table {
            let path = joined(path, key.get_ref());
            found.push((path.clone(), key.span()));
            of_value(value.get_ref(), &path, found);
        }
    }
    fn of_value(value: &DeValue<'_>, path: &str, found: &mut Vec<(String, Range<usize>)>) {
        match value {
            DeValue::Table(table) => of_table(table, path, found),
            DeValue::Array(array) => {
                for (index, element) in array.iter().enumerate() {
                    let path = format!("{path}[{index}]");
                    found.push((path.clone(), element.span()));
                    of_value(element.get_ref(), &path, found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    of_table(table, "", &mut found);
    found
}

/// Takes out the innermost key or element that has that span, and gives its
/// dotted name.
fn take_from_table(table: &mut DeTable<'_>, span: &Range<usize>) -> Option<String> {
    for (key, value) in table.iter_mut() {
        if let Some(path) = take_from_value(value.get_mut(), span) {
            let key = key.get_ref();
            let is_element = path.starts_with('[');
            return Some(if is_element { format!("{key}{path}") } else { joined(key, &path) });
        }
    }
    let is_meant =
        |key: &Spanned<_>, value: &Spanned<_>| key.span() == *span || value.span() == *span;
    let key = table.iter().find(|(key, value)| is_meant(key, value))?.0.get_ref().to_string();
    table.remove(key.as_str());
    Some(key)
}

fn take_from_value(value: &mut DeValue<'_>, span: &Range<usize>) -> Option<String> {
    match value {
        DeValue::Table(table) => take_from_table(table, span),
        DeValue::Array(array) => take_from_array(array, span),
        _ => None,
    }
}

fn take_from_array(array: &mut DeArray<'_>, span: &Range<usize>) -> Option<String> {
    for (index, element) in array.iter_mut().enumerate() {
        if let Some(path) = take_from_value(element.get_mut(), span) {
            let dot = if path.starts_with('[') { "" } else { "." };
            return Some(format!("[{index}]{dot}{path}"));
        }
    }
    let index = array.iter().position(|element| element.span() == *span)?;
    let mut rest = DeArray::new();
    for (_, element) in array.iter().enumerate().filter(|(other, _)| *other != index) {
        rest.push(element.clone());
    }
    *array = rest;
    Some(format!("[{index}]"))
}
