//! What the tests share: run directories that are written, stores that are asked.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use arrow::json::WriterBuilder;
use arrow::json::writer::JsonArray;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use snapbox::cmd::Command;
use snapbox::{Assert, Data};
use tapstat::raw::Warning;
use tapstat::sql::{Options, Session};
use tapstat::store::ingest::{IngestError, IngestOptions, Outcome, ingest};
use tapstat::store::{Manifest, Store};
use tempfile::TempDir;

/// The source tree.
pub fn sources() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The published run of three servers on three tiers.
pub const SCALING: &str = "20260912T225808Z-d43b538d-tap-compare-scaling";

/// The published data: `TAPSTAT_PUBLISHED`, or the folder beside the source
/// tree; none, and a line that says so, where there is neither.
pub fn published() -> Option<PathBuf> {
    let beside = || sources().join("../shared/published");
    let path = std::env::var_os("TAPSTAT_PUBLISHED").map_or_else(beside, PathBuf::from);
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("skipped: no published data at {}", path.display());
    None
}

/// The directory of the run that ships with the project, as a printed table.
pub fn shipped_run() -> PathBuf {
    sources().join("runs").join(SCALING)
}

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_tapstat");

/// Compares with golden files, which `SNAPSHOTS=overwrite cargo test` rewrites.
pub fn assert() -> Assert {
    Assert::new().action_env(snapbox::assert::DEFAULT_ACTION_ENV)
}

/// A file of the source tree, as a golden one.
pub fn golden(path: &str) -> Data {
    Data::read_from(&sources().join(path), None)
}

/// A scratch folder with run directories and one store; it goes with the value.
pub struct Sandbox {
    root: TempDir,
}

impl Sandbox {
    pub fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    /// A sandbox whose store has these runs already.
    pub fn with_runs(runs: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        let sandbox = Self::new();
        for run in runs {
            sandbox.ingest(run);
        }
        sandbox
    }

    /// A sandbox whose store holds the run that ships with the project.
    pub fn with_shipped_run() -> Self {
        Self::with_runs([shipped_run()])
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn store_path(&self) -> PathBuf {
        self.path("store")
    }

    /// The program with these arguments, called in the folder, with nothing of
    /// the caller's environment that it looks at.
    pub fn tapstat(&self, arguments: &[&str]) -> Command {
        Command::new(PROGRAM)
            .with_assert(assert())
            .current_dir(self.root.path())
            .env_remove("TAPSTAT_STORE")
            .env_remove("NO_COLOR")
            .args(arguments)
    }

    /// An empty run directory.
    pub fn run(&self, id: &str) -> RunFolder {
        RunFolder::create(&self.path("runs").join(id))
    }

    /// Ingests a run that is in order.
    pub fn ingest(&self, run: impl AsRef<Path>) -> Manifest {
        self.try_ingest(run).unwrap().0.manifest().clone()
    }

    pub fn try_ingest(
        &self,
        run: impl AsRef<Path>,
    ) -> Result<(Outcome, Vec<Warning>), IngestError> {
        let store = Store::create(&self.store_path()).unwrap();
        let options = IngestOptions { replace: false, threads: 2 };
        ingest(&store, run.as_ref(), &options, &())
    }

    pub fn session(&self) -> Session {
        self.session_with(Options::default())
    }

    pub fn session_with(&self, options: Options) -> Session {
        Session::open(Store::open(&self.store_path()).unwrap(), options).unwrap()
    }
}

/// The rows of an answer, each as a tuple of its columns.
pub fn ask<T: DeserializeOwned>(session: &Session, sql: &str) -> Vec<T> {
    let answer = session.query(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    let names: Vec<&str> = answer.schema.fields().iter().map(|field| &**field.name()).collect();
    let mut writer =
        WriterBuilder::new().with_explicit_nulls(true).build::<_, JsonArray>(Vec::new());
    writer.write_batches(&answer.batches.iter().collect::<Vec<_>>()).unwrap();
    writer.finish().unwrap();
    let text = writer.into_inner();
    if text.is_empty() {
        return Vec::new();
    }
    let rows: Vec<Map<String, Value>> = serde_json::from_slice(&text).unwrap();
    rows.into_iter()
        .map(|mut row| {
            let cells = names.iter().map(|name| row.remove(*name).unwrap()).collect();
            serde_json::from_value(Value::Array(cells)).unwrap()
        })
        .collect()
}

/// The one row of an answer.
pub fn ask_one<T: DeserializeOwned>(session: &Session, sql: &str) -> T {
    let mut rows = ask(session, sql);
    assert_eq!(rows.len(), 1, "rows of {sql}");
    rows.remove(0)
}

/// The rows of a CSV file with a header, each as a tuple of its columns.
pub fn read_csv<T: DeserializeOwned>(path: &Path) -> Vec<T> {
    let mut reader =
        csv::Reader::from_path(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let rows: Result<_, _> = reader.deserialize().collect();
    rows.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A run directory that is written file by file.
pub struct RunFolder {
    path: PathBuf,
}

impl AsRef<Path> for RunFolder {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl RunFolder {
    pub fn create(path: &Path) -> Self {
        fs::create_dir_all(path).unwrap();
        Self { path: path.to_owned() }
    }

    /// Writes a file, and the folders that it lies in.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// Writes a file of JSON lines.
    pub fn lines(&self, name: &str, lines: impl IntoIterator<Item = impl Into<Value>>) -> &Self {
        let lines = lines.into_iter().map(|line| format!("{}\n", line.into()));
        self.file(name, lines.collect::<String>())
    }

    /// Writes the rungs as `rungs.jsonl`.
    pub fn rungs(&self, rungs: impl IntoIterator<Item = Rung>) -> &Self {
        self.lines("rungs.jsonl", rungs)
    }
}

/// The line of a rung: fields by their flat names.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung(pub Map<String, Value>);

impl Rung {
    /// A sound minute of 600 requests; what matters to a test is set by it.
    pub fn new(target: &str, repetition: u32) -> Self {
        let line = json!({
            "target": target, "query_class": "Q01", "response_format": "csv", "concurrency": 8,
            "repetition": repetition, "requests": 600, "errors": 0, "rps": 10.0,
            "generator_cpu_peak": 0.25, "generator_guard_ok": true,
        });
        let Value::Object(fields) = line else { unreachable!("an object was written") };
        Self(fields)
    }

    /// The same rung with one field set.
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.0.insert(field.to_owned(), value.into());
        self
    }

    /// The same rung without one field.
    pub fn without(mut self, field: &str) -> Self {
        self.0.remove(field).unwrap_or_else(|| panic!("the rung has no field {field}"));
        self
    }
}

impl From<Rung> for Value {
    fn from(rung: Rung) -> Self {
        Self::Object(rung.0)
    }
}

/// Every file below a folder, by its path from there.
pub fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    fn visit(folder: &Path, root: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                visit(&path, root, files);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    visit(root, root, &mut found);
    found
}

/// Numbers that look random and are the same every time (an LCG by Knuth).
pub struct Dice(pub u64);

impl Dice {
    pub fn fraction(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1_u64 << 24) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.fraction()
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.fraction() * end as f64) as usize
    }
}
