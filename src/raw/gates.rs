//! `gates.json`, `t<tier>-gates.json` and the published `gates.csv`.

use std::cmp::Ordering;

use serde_json::Value;

use super::csv_rows::Table;
use super::error::{Place, RawError};
use super::fields::{COUNT, FLAG, Fields, LABEL, PASSED, TEXT, Unknown, verbatim};
use super::input::Source;
use super::json;
use super::once::Once;
use super::rung::{cmp_tiers, tiers_are_numeric};

/// What the gates found about one target of one tier.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gate {
    pub tier: Option<String>,
    pub target: String,
    /// Separated by spaces.
    pub tap_versions: Option<String>,
    pub taplint_passed: Option<bool>,
    pub taplint_errors: Option<i64>,
    pub taplint_errors_blocking: Option<i64>,
    pub maxrec_default: Option<i64>,
}

/// Whether the targets of a tier gave the same answers to one query class.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Agreement {
    pub tier: Option<String>,
    pub query_class: String,
    pub agrees: bool,
    /// Probes compared.
    pub probes: i64,
}

/// What all gate files of a run say.
#[derive(Debug, Default)]
pub(super) struct Gates {
    pub(super) gates: Vec<Gate>,
    pub(super) agreement: Vec<Agreement>,
    gates_once: Once,
    agreement_once: Once,
}

/// Reads the gate files, and sorts what they say by tier, then name.
pub(super) fn read(source: &mut Source<'_>, files: &[String]) -> Result<Gates, RawError> {
    let mut gates = Gates::default();
    for file in files {
        if file.ends_with(".json") {
            gates.document(file, json::document(file, &source.bytes(file)?)?)?;
        } else {
            let table = Table::read(source, file)?;
            let unknown = gates.table(file, &table)?;
            source.left_out(file, unknown);
        }
    }
    gates.sort();
    Ok(gates)
}

/// The tier that a gate file is about: `8` for `t8-gates.json`. None where the
/// name is not that of a gate file, and no tier in `gates.json`.
pub(super) fn tier_of(file: &str) -> Option<Option<&str>> {
    if file == "gates.json" {
        return Some(None);
    }
    let tier = file.strip_prefix('t')?.strip_suffix("-gates.json")?;
    (!tier.is_empty()).then_some(Some(tier))
}

impl Gates {
    fn add_gate(&mut self, gate: Gate, place: &Place) -> Result<(), RawError> {
        let what = format!("gate of `{}` in {}", gate.target, tier_name(&gate.tier));
        self.gates_once.check(what, place)?;
        self.gates.push(gate);
        Ok(())
    }

    fn add_agreement(&mut self, agreement: Agreement, place: &Place) -> Result<(), RawError> {
        let tier = tier_name(&agreement.tier);
        let what = format!("agreement on `{}` in {tier}", agreement.query_class);
        self.agreement_once.check(what, place)?;
        self.agreement.push(agreement);
        Ok(())
    }

    fn document(&mut self, file: &str, document: Value) -> Result<(), RawError> {
        let place = Place::file(file);
        let tier = tier_of(file).flatten().map(str::to_owned);
        let mut root = Fields::of_object(place.clone(), document, &["agreement"])?;
        for (target, value) in root.members("targets")? {
            let gate = gate(&place, tier.clone(), target, value)?;
            self.add_gate(gate, &place)?;
        }
        for (query_class, value) in root.members("agreement_classes")? {
            let agreement = agreement(&place, tier.clone(), query_class, value)?;
            self.add_agreement(agreement, &place)?;
        }
        Ok(())
    }

    fn table(&mut self, file: &str, table: &Table) -> Result<Unknown, RawError> {
        let mut unknown = Unknown::default();
        let agreement = file == "agreement.csv";
        table.require(if agreement {
            &[&["query_class"], &["agrees"], &["probes"]]
        } else {
            &[&["target"]]
        })?;
        for mut fields in table.rows() {
            let place = fields.place().clone();
            if agreement {
                self.add_agreement(agreement_row(&mut fields)?, &place)?;
            } else {
                self.add_gate(gate_row(&mut fields)?, &place)?;
            }
            unknown.note(fields);
        }
        Ok(unknown)
    }

    fn sort(&mut self) {
        fn sort<T>(rows: &mut [T], key: impl Fn(&T) -> (Option<&str>, &str)) {
            let numeric = tiers_are_numeric(rows.iter().map(|row| key(row).0));
            rows.sort_by(|a, b| -> Ordering {
                let ((tier_a, name_a), (tier_b, name_b)) = (key(a), key(b));
                cmp_tiers(tier_a, tier_b, numeric).then_with(|| name_a.cmp(name_b))
            });
        }
        sort(&mut self.gates, |gate| (gate.tier.as_deref(), &gate.target));
        sort(&mut self.agreement, |row| (row.tier.as_deref(), &row.query_class));
    }
}

fn tier_name(tier: &Option<String>) -> String {
    tier.as_ref().map_or_else(|| "a run without tiers".to_owned(), |tier| format!("tier {tier}"))
}

fn gate(
    place: &Place,
    tier: Option<String>,
    target: String,
    value: Value,
) -> Result<Gate, RawError> {
    let mut fields = Fields::of_object(place.clone(), value, &["vosi", "taplint"])?;
    Ok(Gate {
        tier,
        target,
        tap_versions: versions(fields.elements("vosi_tap_versions")?),
        taplint_passed: fields.take(&["taplint_passed"], FLAG)?,
        taplint_errors: fields.take(&["taplint_errors_total"], COUNT)?,
        taplint_errors_blocking: fields.take(&["taplint_errors_blocking"], COUNT)?,
        maxrec_default: fields.take(&["vosi_maxrec_default"], COUNT)?,
    })
}

fn versions(versions: Vec<Value>) -> Option<String> {
    let versions: Vec<String> = versions.iter().map(verbatim).collect();
    (!versions.is_empty()).then(|| versions.join(" "))
}

fn agreement(
    place: &Place,
    tier: Option<String>,
    query_class: String,
    value: Value,
) -> Result<Agreement, RawError> {
    let mut fields = Fields::of_object(place.clone(), value, &[])?;
    let probes = fields.elements("detail")?.len();
    Ok(Agreement {
        tier,
        query_class,
        agrees: fields.need(&["agrees"], FLAG)?,
        probes: i64::try_from(probes).unwrap_or(i64::MAX),
    })
}

fn gate_row(fields: &mut Fields) -> Result<Gate, RawError> {
    Ok(Gate {
        tier: fields.take(&["tier"], LABEL)?,
        target: fields.need(&["target"], TEXT)?,
        tap_versions: fields.take(&["tap_versions", "tap_version"], LABEL)?,
        taplint_passed: fields.take(&["taplint", "taplint_passed"], PASSED)?,
        taplint_errors: fields.take(&["taplint_errors"], COUNT)?,
        taplint_errors_blocking: fields.take(&["taplint_errors_blocking"], COUNT)?,
        maxrec_default: fields.take(&["maxrec_default"], COUNT)?,
    })
}

fn agreement_row(fields: &mut Fields) -> Result<Agreement, RawError> {
    Ok(Agreement {
        tier: fields.take(&["tier"], LABEL)?,
        query_class: fields.need(&["query_class"], TEXT)?,
        agrees: fields.need(&["agrees"], FLAG)?,
        probes: fields.need(&["probes"], COUNT)?,
    })
}
