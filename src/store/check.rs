//! Whether the store is what its manifests say.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use super::disk;
use super::error::StoreError;
use super::manifest::{self, Manifest, OutputFile, Unreadable};
use crate::raw::hash_file;

/// What a check found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// What is not as it should be, sorted by path.
    pub findings: Vec<Finding>,
    /// Runs that were checked.
    pub runs: usize,
    /// Files that were hashed.
    pub files: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

impl CheckReport {
    /// Whether everything is as it should be.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }
}

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The path in the store, with `/` between its parts; a folder ends in `/`.
    pub path: String,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What can be wrong with a file of the store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A manifest names the file with other content.
    Altered { expected: Content, found: Content },
    /// A manifest names the file, and it is not there.
    Missing,
    /// No manifest names the file or folder.
    Extra,
    /// The file is a manifest that cannot be read.
    Unreadable { reason: String },
}

/// The content of a file, as far as it is compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Content {
    /// Size in bytes.
    pub size: u64,
    /// Its sha256 in lower-case hexadecimal.
    pub sha256: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.fault {
            Fault::Altered { expected, found } => {
                write!(f, "altered: {path}: expected {expected}, found {found}")
            }
            Fault::Missing => write!(f, "missing: {path}"),
            Fault::Extra => write!(f, "extra: {path}: no manifest names it"),
            Fault::Unreadable { reason } => write!(f, "unreadable: {path}: {reason}"),
        }
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes with sha256 {}", self.size, self.sha256)
    }
}

/// Which runs are looked at.
struct Scope<'a> {
    runs: Option<&'a [String]>,
}

impl Scope<'_> {
    fn has(&self, run: &str) -> bool {
        self.runs.is_none_or(|runs| runs.iter().any(|named| named == run))
    }
}

/// Checks the runs that are named by their ids, or all of the store. Nobody may
/// write meanwhile: the caller sees to that.
pub(super) fn check(root: &Path, runs: Option<&[String]>) -> Result<CheckReport, StoreError> {
    let scope = Scope { runs };
    let (manifests, unreadable) = manifest::read_all(root)?;
    expect_runs(&manifests, &unreadable, runs)?;

    let mut report = CheckReport::default();
    for Unreadable { run, error } in unreadable.iter().filter(|entry| scope.has(&entry.run)) {
        let path = format!("{}/{run}.json", manifest::FOLDER);
        let fault = Fault::Unreadable { reason: error.to_string() };
        report.findings.push(Finding { path, fault });
    }
    for manifest in manifests.iter().filter(|manifest| scope.has(&manifest.run)) {
        report.runs += 1;
        for output in &manifest.outputs {
            check_output(root, output, &mut report)?;
        }
    }
    find_extra(root, &scope, &manifests, &unreadable, &mut report.findings)?;
    report.findings.sort();
    Ok(report)
}

fn expect_runs(
    manifests: &[Manifest],
    unreadable: &[Unreadable],
    named: Option<&[String]>,
) -> Result<(), StoreError> {
    let ids = || {
        let readable = manifests.iter().map(|manifest| &manifest.run);
        readable.chain(unreadable.iter().map(|entry| &entry.run))
    };
    match named.unwrap_or_default().iter().find(|name| ids().all(|id| id != *name)) {
        None => Ok(()),
        Some(name) => {
            Err(StoreError::NoMatch { name: name.clone(), runs: ids().cloned().collect() })
        }
    }
}

fn check_output(
    root: &Path,
    output: &OutputFile,
    report: &mut CheckReport,
) -> Result<(), StoreError> {
    let path = root.join(&output.path);
    if !path.is_file() {
        let finding = Finding { path: output.path.clone(), fault: Fault::Missing };
        report.findings.push(finding);
        return Ok(());
    }
    let (size, sha256) = hash_file(&path)?;
    report.files += 1;
    report.bytes += size;
    let found = Content { size, sha256 };
    let expected = Content { size: output.size, sha256: output.sha256.clone() };
    if found != expected {
        let fault = Fault::Altered { expected, found };
        report.findings.push(Finding { path: output.path.clone(), fault });
    }
    Ok(())
}

/// Finds what no manifest names. Files of a run whose manifest cannot be read
/// are left alone: nobody can say.
fn find_extra(
    root: &Path,
    scope: &Scope<'_>,
    manifests: &[Manifest],
    unreadable: &[Unreadable],
    findings: &mut Vec<Finding>,
) -> Result<(), StoreError> {
    let named: BTreeSet<&str> = manifests
        .iter()
        .flat_map(|manifest| manifest.outputs.iter().map(|output| output.path.as_str()))
        .collect();
    let names_within =
        |folder: &str| named.range(folder..).next().is_some_and(|path| path.starts_with(folder));
    let mut extra = |path: String| findings.push(Finding { path, fault: Fault::Extra });

    for (table, is_dir) in disk::list(root)? {
        if table.starts_with('.') {
            continue;
        }
        if !is_dir {
            if scope.runs.is_none() {
                extra(table);
            }
            continue;
        }
        for (name, is_dir) in disk::list(&root.join(&table))? {
            let path = if is_dir { format!("{table}/{name}/") } else { format!("{table}/{name}") };
            if table == manifest::FOLDER {
                if scope.runs.is_none() && (is_dir || manifest::run_of(&name).is_none()) {
                    extra(path);
                }
                continue;
            }
            match name.strip_prefix("run=").filter(|_| is_dir) {
                Some(run) if !scope.has(run) => {}
                Some(run) if unreadable.iter().any(|entry| entry.run == run) => {}
                Some(_) if names_within(&path) => {
                    for (name, is_dir) in disk::list(&root.join(&path))? {
                        let file = format!("{path}{name}");
                        if is_dir {
                            extra(file + "/");
                        } else if !named.contains(file.as_str()) {
                            extra(file);
                        }
                    }
                }
                Some(_) => extra(path),
                None if scope.runs.is_none() => extra(path),
                None => {}
            }
        }
    }
    Ok(())
}
