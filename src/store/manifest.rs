//! Manifests: what a run is made of. A run without one does not exist.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::disk;
use super::error::StoreError;
use super::schema::SCHEMA_VERSION;
use crate::raw::{InputFile, RunId};

/// The version of this program, for manifests and Parquet files.
pub(super) const TAPSTAT: &str = env!("CARGO_PKG_VERSION");

/// The git revision that it was built from.
pub(super) const REVISION: &str = match option_env!("TAPSTAT_REVISION") {
    Some(revision) => revision,
    None => "unknown",
};

/// The folder of the manifests, in the store.
pub(super) const FOLDER: &str = "manifests";

/// What a run is made of, and from what it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the tables: [`SCHEMA_VERSION`] when it was written.
    pub schema_version: u32,
    /// The version of the tapstat that wrote the run.
    pub tapstat: String,
    /// Its git revision.
    pub revision: String,
    /// The run's id.
    pub run: String,
    /// The layout of its run directory.
    pub layout: String,
    /// What was measured.
    pub contents: Contents,
    /// The files that were read, sorted by path.
    pub inputs: Vec<InputFile>,
    /// The files of the store that hold the run, sorted by path.
    pub outputs: Vec<OutputFile>,
}

/// What a run measured: enough to say which protocol was meant without
/// reading a table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// The targets that have a rung or a cell, each with its server.
    pub targets: BTreeMap<String, String>,
    /// The tiers, in their order; none in a run without tiers.
    pub tiers: Vec<String>,
}

/// One file of the store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OutputFile {
    /// The table whose rows it holds.
    pub table: String,
    /// Its path in the store, with `/` between its parts.
    pub path: String,
    /// How many rows it holds.
    pub rows: u64,
    /// Size in bytes.
    pub size: u64,
    /// Its sha256 in lower-case hexadecimal.
    pub sha256: String,
}

impl Manifest {
    /// The rows that the run has in a table; 0 where it has no file there.
    pub fn rows(&self, table: &str) -> u64 {
        self.outputs.iter().filter(|output| output.table == table).map(|output| output.rows).sum()
    }

    /// The bytes of all the run's files in the store.
    pub fn size(&self) -> u64 {
        self.outputs.iter().map(|output| output.size).sum()
    }

    /// A manifest as its file holds it: indented, one newline at the end.
    pub(super) fn to_json(&self) -> String {
        let json = serde_json::to_string_pretty(self);
        json.expect("strings and integers can always be written as JSON") + "\n"
    }

    /// Reads the manifest of a run.
    pub(super) fn read(root: &Path, run: &str) -> Result<Self, StoreError> {
        let path = path(root, run);
        let bytes = fs::read(&path).map_err(StoreError::io(&path))?;
        let broken =
            |message| StoreError::Manifest { path: path.clone(), run: run.into(), message };

        // The version stands before all else: what follows may look different.
        let version =
            serde_json::from_slice::<Version>(&bytes).map_err(|e| broken(e.to_string()))?;
        if version.schema_version != u64::from(SCHEMA_VERSION) {
            return Err(StoreError::SchemaVersion {
                path,
                run: run.to_owned(),
                found: version.schema_version,
                expected: SCHEMA_VERSION,
            });
        }
        let manifest = serde_json::from_slice::<Self>(&bytes).map_err(|e| broken(e.to_string()))?;
        if manifest.run != run {
            return Err(broken(format!("it names run {}", manifest.run)));
        }
        Ok(manifest)
    }

    /// Reads the manifest of a run for its writer: none where there is none, or
    /// none that can be read, which is to be replaced.
    pub(super) fn read_replaceable(root: &Path, run: &str) -> Result<Option<Self>, StoreError> {
        match Self::read(root, run) {
            Ok(manifest) => Ok(Some(manifest)),
            Err(StoreError::Manifest { .. } | StoreError::SchemaVersion { .. }) => Ok(None),
            Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[derive(Deserialize)]
struct Version {
    schema_version: u64,
}

/// A run whose manifest cannot be read.
#[derive(Debug)]
pub struct Unreadable {
    /// The run's id, by the name of the file.
    pub run: String,
    /// Why it cannot be read.
    pub error: StoreError,
}

/// Where the manifest of a run lies.
pub(super) fn path(root: &Path, run: &str) -> PathBuf {
    root.join(FOLDER).join(format!("{run}.json"))
}

/// All manifests of a store, each sorted by run id: those that can be read, and
/// those that cannot. Other files in the folder are no manifests: see `check`.
pub(super) fn read_all(root: &Path) -> Result<(Vec<Manifest>, Vec<Unreadable>), StoreError> {
    let (mut manifests, mut unreadable) = (Vec::new(), Vec::new());
    for (name, is_dir) in disk::list(&root.join(FOLDER))? {
        let Some(run) = run_of(&name).filter(|_| !is_dir) else { continue };
        match Manifest::read(root, run) {
            Ok(manifest) => manifests.push(manifest),
            Err(error) => unreadable.push(Unreadable { run: run.to_owned(), error }),
        }
    }
    // Names sort otherwise than ids where one id is the beginning of another.
    manifests.sort_by(|a, b| a.run.cmp(&b.run));
    unreadable.sort_by(|a, b| a.run.cmp(&b.run));
    Ok((manifests, unreadable))
}

/// The run whose manifest has this file name, if it is one of a manifest.
pub(super) fn run_of(file: &str) -> Option<&str> {
    file.strip_suffix(".json").filter(|run| RunId::new(run).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            schema_version: SCHEMA_VERSION,
            tapstat: "0.1.0".into(),
            revision: "unknown".into(),
            run: "r1".into(),
            layout: "rungs.jsonl".into(),
            contents: Contents {
                targets: BTreeMap::from([("argus-1".into(), "argus".into())]),
                tiers: vec!["8".into()],
            },
            inputs: vec![InputFile { path: "rungs.jsonl".into(), size: 3, sha256: "ab".into() }],
            outputs: vec![OutputFile {
                table: "rungs".into(),
                path: "rungs/run=r1/part-0.parquet".into(),
                rows: 2,
                size: 4,
                sha256: "cd".into(),
            }],
        }
    }

    #[test]
    fn its_file_is_json_for_people() {
        let expected = r#"{
  "schema_version": 2,
  "tapstat": "0.1.0",
  "revision": "unknown",
  "run": "r1",
  "layout": "rungs.jsonl",
  "contents": {
    "targets": {
      "argus-1": "argus"
    },
    "tiers": [
      "8"
    ]
  },
  "inputs": [
    {
      "path": "rungs.jsonl",
      "size": 3,
      "sha256": "ab"
    }
  ],
  "outputs": [
    {
      "table": "rungs",
      "path": "rungs/run=r1/part-0.parquet",
      "rows": 2,
      "size": 4,
      "sha256": "cd"
    }
  ]
}
"#;
        assert_eq!(manifest().to_json(), expected);
        assert_eq!((manifest().rows("rungs"), manifest().rows("x"), manifest().size()), (2, 0, 4));
    }

    #[test]
    fn it_is_read_back_under_its_own_run_only() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(FOLDER)).unwrap();
        for run in ["r1", "r2"] {
            fs::write(path(folder.path(), run), manifest().to_json()).unwrap();
        }
        let (manifests, unreadable) = read_all(folder.path()).unwrap();
        assert_eq!(manifests, [manifest()]);
        let message = unreadable[0].error.to_string();
        assert!(message.ends_with("it names run r1: ingest the run again"), "{message}");
    }
}
