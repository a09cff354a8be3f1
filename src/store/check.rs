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

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::store::tests::{Rows, content, store_of};
    use crate::store::{CheckReport, Store, StoreError};

    fn check(root: &std::path::Path) -> CheckReport {
        Store::inspect(root).unwrap().check(None).unwrap()
    }

    fn lines(report: &CheckReport) -> Vec<String> {
        report.findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_sound_store_is_clean_and_counted() {
        let folder = store_of(&[("r1", Rows::Old), ("r2", Rows::New)]);
        let report = check(folder.path());
        let parquet = content(folder.path()).into_iter().filter(|(p, _)| p.ends_with(".parquet"));
        let bytes = parquet.map(|(_, bytes)| bytes.len() as u64).sum();
        assert_eq!(report, CheckReport { findings: vec![], runs: 2, files: 4, bytes });
        assert!(report.is_clean());
    }

    #[test]
    fn an_altered_file_is_found_at_the_same_size_too() {
        let folder = store_of(&[("r1", Rows::Old)]);
        let path = folder.path().join("gates/run=r1/part-0.parquet");
        let mut bytes = fs::read(&path).unwrap();
        bytes[100] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let report = check(folder.path());
        assert!(!report.is_clean());
        let [line] = lines(&report).try_into().unwrap();
        let (head, found) = line.split_once(", found ").unwrap();
        let start = "altered: gates/run=r1/part-0.parquet: expected ";
        let size = format!("{} bytes with sha256 ", bytes.len());
        assert!(head.starts_with(&format!("{start}{size}")), "{line}");
        assert!(found.starts_with(&size), "{line}");

        fs::write(&path, "").unwrap();
        let line = lines(&check(folder.path())).remove(0);
        assert!(line.contains("found 0 bytes with sha256 e3b0c442"), "{line}");
    }

    #[test]
    fn a_missing_file_is_found() {
        let folder = store_of(&[("r1", Rows::Old)]);
        fs::remove_file(folder.path().join("pins/run=r1/part-0.parquet")).unwrap();
        let report = check(folder.path());
        assert_eq!(lines(&report), ["missing: pins/run=r1/part-0.parquet"]);
        assert_eq!(report.files, 1);
    }

    #[test]
    fn what_no_manifest_names_is_found() {
        let folder = store_of(&[("r1", Rows::Old)]);
        let root = folder.path();
        for folder in ["gates/run=r9", "rungs/run=r1", "pins/run=r1/deep", ".cache/run=r1"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in ["gates/run=r9/part-0.parquet", "gates/run=r1/part-1.parquet", "gates/x", "y"] {
            fs::write(root.join(file), "").unwrap();
        }
        fs::write(root.join("manifests/r1.json.orig"), "").unwrap();
        let paths = [
            "gates/run=r1/part-1.parquet",
            "gates/run=r9/",
            "gates/x",
            "manifests/r1.json.orig",
            "pins/run=r1/deep/",
            "rungs/run=r1/",
            "y",
        ];
        let expected = paths.map(|path| format!("extra: {path}: no manifest names it"));
        assert_eq!(lines(&check(root)), expected);
    }

    #[test]
    fn an_unreadable_manifest_is_found_and_its_files_are_not_called_extra() {
        let folder = store_of(&[("r1", Rows::Old), ("r2", Rows::Old)]);
        fs::write(folder.path().join("manifests/r1.json"), "{}").unwrap();
        let report = check(folder.path());
        let [line] = lines(&report).try_into().unwrap();
        assert!(line.starts_with("unreadable: manifests/r1.json: "), "{line}");
        assert!(line.contains("missing field `schema_version`"), "{line}");
        assert_eq!(report.runs, 1);
    }

    #[test]
    fn only_the_named_runs_are_checked() {
        let folder = store_of(&[("r1", Rows::Old), ("r2", Rows::Old)]);
        fs::remove_file(folder.path().join("pins/run=r1/part-0.parquet")).unwrap();
        fs::write(folder.path().join("gates/run=r1/x"), "").unwrap();
        fs::write(folder.path().join("gates/run=r2/x"), "").unwrap();
        let store = Store::open(folder.path()).unwrap();
        let report = store.check(Some(&["r2".to_owned()])).unwrap();
        assert_eq!(lines(&report), ["extra: gates/run=r2/x: no manifest names it"]);
        assert_eq!((report.runs, report.files), (1, 2));

        let unknown = store.check(Some(&["r".to_owned()])).unwrap_err();
        assert!(matches!(unknown, StoreError::NoMatch { name, .. } if name == "r"));
    }
}
