//! Which protocol holds for a run.

use std::collections::BTreeSet;
use std::path::Path;

use super::file::{Protocol, ProtocolError};
use super::rule::{Rule, RuleFlags};

/// The protocols that ship with the program: (file name, text).
const SHIPPED: &[(&str, &str)] = &[
    ("scaling-three-way.toml", include_str!("../../protocols/scaling-three-way.toml")),
    (
        "scaling-three-way-supplementary.toml",
        include_str!("../../protocols/scaling-three-way-supplementary.toml"),
    ),
];

/// The texts of the protocols that ship with the program, each with its file
/// name.
pub fn shipped_texts() -> &'static [(&'static str, &'static str)] {
    SHIPPED
}

/// The protocols that ship with the program, each with its file name.
///
/// # Errors
/// Never for the files as they are committed; a test reads them all.
pub fn shipped() -> Result<Vec<(&'static str, Protocol)>, ProtocolError> {
    SHIPPED
        .iter()
        .map(|&(name, text)| Ok((name, Protocol::parse(text, &format!("protocols/{name}"))?)))
        .collect()
}

/// What a run measured, as far as it tells which protocol was meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Measured {
    /// Targets with a cell.
    pub targets: BTreeSet<String>,
    /// Tiers with a cell; empty in a run without tiers.
    pub tiers: BTreeSet<String>,
}

/// The protocol that holds for a run, and the rule it is judged by.
#[derive(Debug, Clone, PartialEq)]
pub struct Selected {
    /// The protocol; the default one where none was found.
    pub protocol: Protocol,
    /// Its rule, with the command line's changes.
    pub rule: Rule,
    /// Where both came from, in words.
    pub source: String,
}

/// The protocol of a run: the file given, else the one that the run brought,
/// else the shipped one whose targets and tiers are the run's, else none and
/// the defaults.
///
/// # Errors
/// If a protocol cannot be read, or a flag takes the rule out of its range.
pub fn select(
    given: Option<&Path>,
    brought: Option<&str>,
    measured: &Measured,
    flags: &RuleFlags,
) -> Result<Selected, ProtocolError> {
    let (protocol, source) = if let Some(path) = given {
        (Protocol::read(path)?, named(path))
    } else if let Some(text) = brought {
        (Protocol::parse(text, "protocol.toml of the run")?, "protocol.toml of the run".to_owned())
    } else if let Some((name, protocol)) =
        shipped()?.into_iter().find(|(_, protocol)| fits(protocol, measured))
    {
        (protocol, format!("protocols/{name}"))
    } else {
        (Protocol::default(), "defaults".to_owned())
    };
    let (rule, changed) = flags.apply(protocol.rule.clone());
    if let Some((field, found, expected)) = rule.out_of_range().next() {
        return Err(ProtocolError::Range {
            origin: "command line".to_owned(),
            field: field.to_owned(),
            found: found.to_string(),
            expected: expected.to_owned(),
        });
    }
    let source =
        if changed.is_empty() { source } else { format!("{source}, with {}", changed.join(", ")) };
    Ok(Selected { protocol, rule, source })
}

/// A protocol file as output names it: where it lies on this machine is nobody
/// else's business, so that of a full path only the file is named.
fn named(path: &Path) -> String {
    match path.file_name() {
        Some(name) if path.is_absolute() => name.to_string_lossy().into_owned(),
        _ => path.display().to_string(),
    }
}

/// Whether a protocol promises just the targets and tiers that were measured.
fn fits(protocol: &Protocol, measured: &Measured) -> bool {
    let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
    set(&protocol.grid.targets) == measured.targets && set(&protocol.grid.tiers) == measured.tiers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(targets: &[&str], tiers: &[&str]) -> Measured {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Measured { targets: set(targets), tiers: set(tiers) }
    }

    #[test]
    fn shipped_protocols_are_valid() {
        assert!(!shipped().unwrap().is_empty());
    }

    #[test]
    fn a_shipped_protocol_needs_its_targets_and_tiers() {
        let targets = ["argus-scaling3", "dachs-scaling3", "egernia-scaling3"];
        let source = |measured: &Measured| {
            select(None, None, measured, &RuleFlags::default()).unwrap().source
        };
        assert_eq!(
            source(&measured(&targets, &["8", "16", "24"])),
            "protocols/scaling-three-way.toml"
        );
        assert_eq!(
            source(&measured(&targets, &["24"])),
            "protocols/scaling-three-way-supplementary.toml"
        );
        assert_eq!(source(&measured(&targets, &["8"])), "defaults");
        assert_eq!(source(&measured(&targets[..2], &["8", "16", "24"])), "defaults");
    }

    #[test]
    fn what_the_run_brought_comes_first_and_flags_change_it() {
        let flags = RuleFlags { tie_floor: Some(0.2), ..RuleFlags::default() };
        let brought = Some("[rule]\nconfidence = 0.9");
        let selected = select(None, brought, &Measured::default(), &flags).unwrap();
        assert_eq!((selected.rule.confidence, selected.rule.tie_floor), (0.9, 0.2));
        assert_eq!(selected.source, "protocol.toml of the run, with --tie-floor");
    }

    #[test]
    fn a_flag_out_of_range_is_refused() {
        let flags = RuleFlags { confidence: Some(1.5), ..RuleFlags::default() };
        let error = select(None, None, &Measured::default(), &flags).unwrap_err().to_string();
        assert!(error.contains("command line: `confidence` is 1.5"), "{error}");
    }
}
