//! Which layout a run directory has, and what its name says.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::RawError;
use super::{gates, notes};

/// The layouts, in the order of precedence, for messages.
pub const EXPECTED: &str = "rungs.jsonl, summaries/*.json, summary.json, summary.csv, cells.csv, instance_scaling.csv, sweep.csv, bursts.csv";

/// The tables that a published table may have.
const TABLES: &[&str] =
    &["cells.csv", "resource_cells.csv", "instance_scaling.csv", "sweep.csv", "bursts.csv"];

/// How a run directory holds its rungs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `rungs.jsonl`: one JSON object a line.
    RungsJsonl,
    /// `summaries/*.json`: one JSON object a file.
    Summaries,
    /// `summary.json`: one JSON array.
    SummaryJson,
    /// `summary.csv`, with `resources.csv` if there: a published run.
    SummaryCsv,
    /// `cells.csv` and its neighbours: a published table.
    PublishedTable,
}

impl Layout {
    /// What the layout is called, in the store too.
    pub fn name(self) -> &'static str {
        match self {
            Self::RungsJsonl => "rungs.jsonl",
            Self::Summaries => "summaries",
            Self::SummaryJson => "summary.json",
            Self::SummaryCsv => "summary.csv",
            Self::PublishedTable => "published table",
        }
    }

    /// The layout of a directory with these files, and the files that hold its
    /// rungs.
    fn detect(files: &BTreeSet<String>) -> Option<(Self, Vec<String>)> {
        let one = |name: &str| only(files, |file| file == name);
        let candidates = [
            (Self::RungsJsonl, one("rungs.jsonl")),
            (Self::Summaries, only(files, is_summary)),
            (Self::SummaryJson, one("summary.json")),
            (Self::SummaryCsv, one("summary.csv")),
            (Self::PublishedTable, published_tables(files)),
        ];
        candidates.into_iter().find(|(_, files)| !files.is_empty())
    }
}

fn is_summary(file: &str) -> bool {
    file.starts_with("summaries/") && file.ends_with(".json")
}

/// `resource_cells.csv` alone is no published table: it refers to cells.
fn published_tables(files: &BTreeSet<String>) -> Vec<String> {
    let tables = only(files, |file| TABLES.contains(&file));
    if tables == ["resource_cells.csv"] { Vec::new() } else { tables }
}

fn only(files: &BTreeSet<String>, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    files.iter().filter(|file| wanted(file)).cloned().collect()
}

/// A run's id: the name of its directory, `[A-Za-z0-9._-]+`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

impl RunId {
    /// Takes a name that is fit for a run.
    ///
    /// # Errors
    ///
    /// [`RawError::RunId`] for anything but letters, digits, `.`, `_` and `-`,
    /// and for a `.` in front.
    pub fn new(name: &str) -> Result<Self, RawError> {
        let fit = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if name.is_empty() || name.starts_with('.') || !name.bytes().all(fit) {
            return Err(RawError::RunId { path: PathBuf::from(name), found: name.to_owned() });
        }
        Ok(Self(name.to_owned()))
    }

    /// The whole id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What the run was called: the id without `<UTC stamp>-<8 hex>-`, the
    /// whole of it where it has another form.
    pub fn label(&self) -> &str {
        self.parts().map_or(&self.0, |(_, label)| label)
    }

    /// The first eight digits of the commit that was measured, where the id
    /// names them.
    pub fn short_sha(&self) -> Option<&str> {
        self.parts().map(|(sha, _)| sha)
    }

    /// The commit and the label of `20260912T225808Z-d43b538d-label`.
    fn parts(&self) -> Option<(&str, &str)> {
        let (stamp, rest) = self.0.split_once('-')?;
        let (sha, label) = rest.split_once('-')?;
        let is_sha = sha.len() == 8 && sha.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_stamp(stamp) && is_sha && !label.is_empty()).then_some((sha, label))
    }
}

/// Whether a text has the form `20260912T225808Z`.
fn is_stamp(text: &str) -> bool {
    const FORM: &[u8] = b"########T######Z";
    text.len() == FORM.len()
        && text.bytes().zip(FORM).all(|(byte, form)| match form {
            b'#' => byte.is_ascii_digit(),
            form => byte == *form,
        })
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The files of a run directory by what they are read for, each list sorted;
/// paths are relative, with `/` between their parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) environment: Vec<String>,
    pub(super) rungs: Vec<String>,
    /// `resources.csv`, where no `resources.jsonl` takes precedence.
    pub(super) rung_resources: Vec<String>,
    pub(super) gates: Vec<String>,
    pub(super) corpus: Vec<String>,
    pub(super) pins: Vec<String>,
    pub(super) events: Vec<String>,
    pub(super) protocol: Vec<String>,
    pub(super) notes: Vec<String>,
    /// `samples/` and `resources.jsonl`: whoever streams them hashes them.
    pub(super) streams: Vec<String>,
}

impl Parts {
    fn of(files: &BTreeSet<String>, layout: Layout, rungs: Vec<String>) -> Self {
        let one = |name: &str| only(files, |file| file == name);
        let streams = only(files, |file| file == RESOURCES || file.starts_with("samples/"));
        let has_rungs = layout != Layout::PublishedTable;
        let rung_resources = has_rungs && !files.contains(RESOURCES);
        Self {
            environment: one("environment.json"),
            rungs,
            rung_resources: if rung_resources { one("resources.csv") } else { Vec::new() },
            gates: gate_files(files),
            corpus: only(files, |file| matches!(file, "corpus.json" | "corpus.jsonl")),
            pins: only(files, |file| file.starts_with("pins/")),
            events: one("events.jsonl"),
            protocol: one("protocol.toml"),
            notes: only(files, notes::is_note),
            streams,
        }
    }

    fn into_paths(self) -> Vec<String> {
        let mut paths = [
            self.environment,
            self.rungs,
            self.rung_resources,
            self.gates,
            self.corpus,
            self.pins,
            self.events,
            self.protocol,
            self.notes,
            self.streams,
        ]
        .concat();
        paths.sort();
        paths
    }
}

const RESOURCES: &str = "resources.jsonl";
const SUMMARY: &str = "summary.csv";

/// Whether a file is a header and nothing else, as the report of a published
/// table has one: it holds no rung, and the table beside it counts.
fn has_no_rows(path: &Path) -> bool {
    let is_small = fs::metadata(path).is_ok_and(|file| file.len() < 1 << 16);
    is_small && fs::read_to_string(path).is_ok_and(|text| text.trim_end().lines().count() < 2)
}

/// The gate files; the tables only where there are no documents, of which they
/// are an excerpt.
fn gate_files(files: &BTreeSet<String>) -> Vec<String> {
    let documents = only(files, |file| gates::tier_of(file).is_some());
    if documents.is_empty() {
        only(files, |file| matches!(file, "gates.csv" | "agreement.csv"))
    } else {
        documents
    }
}

/// A run directory that exists and has a layout.
#[derive(Debug, Clone)]
pub struct RunDir {
    /// The directory, without links and `..`.
    pub path: PathBuf,
    pub id: RunId,
    pub layout: Layout,
    pub(super) parts: Parts,
}

impl RunDir {
    /// Looks at a directory: its name gives the id, its files the layout.
    ///
    /// # Errors
    ///
    /// [`RawError::Io`] where it is no directory that can be read,
    /// [`RawError::RunId`] where its name is unfit, [`RawError::UnknownLayout`]
    /// where nothing in it holds rungs.
    pub fn open(path: &Path) -> Result<Self, RawError> {
        let real = path.canonicalize().map_err(|source| RawError::io(path, source))?;
        let mut files = list(&real)?;
        if !published_tables(&files).is_empty() && has_no_rows(&real.join(SUMMARY)) {
            files.remove(SUMMARY);
        }
        let name = real.file_name().unwrap_or_default().to_string_lossy();
        let id = RunId::new(&name).map_err(|_| RawError::RunId {
            path: path.to_owned(),
            found: name.clone().into_owned(),
        })?;
        let (layout, rungs) =
            Layout::detect(&files).ok_or_else(|| RawError::UnknownLayout(path.to_owned()))?;
        Ok(Self { path: real, id, layout, parts: Parts::of(&files, layout, rungs) })
    }

    /// The folder of request samples, if there is one, empty or not.
    pub fn samples_dir(&self) -> Option<PathBuf> {
        let path = self.path.join("samples");
        path.is_dir().then_some(path)
    }

    /// `resources.jsonl`, if there.
    pub fn resources_path(&self) -> Option<PathBuf> {
        let has = self.parts.streams.iter().any(|file| file == RESOURCES);
        has.then(|| self.path.join(RESOURCES))
    }

    /// Every file that an ingest of this run reads, relative, sorted: those
    /// that [`RunDir::read`] reads, and those that are streamed.
    pub fn input_paths(&self) -> Vec<String> {
        self.parts.clone().into_paths()
    }
}

/// The files of a run directory, and those in its folders that are read.
fn list(root: &Path) -> Result<BTreeSet<String>, RawError> {
    const FOLDERS: [&str; 4] = ["notes", "pins", "samples", "summaries"];
    let mut files = BTreeSet::new();
    for (name, path) in entries(root)? {
        if path.is_file() {
            files.insert(name);
        } else if FOLDERS.contains(&name.as_str()) {
            list_folder(&path, &name, &mut files)?;
        }
    }
    Ok(files)
}

fn list_folder(folder: &Path, prefix: &str, files: &mut BTreeSet<String>) -> Result<(), RawError> {
    for (name, path) in entries(folder)? {
        let name = format!("{prefix}/{name}");
        if path.is_file() {
            files.insert(name);
        } else if !path.is_symlink() {
            list_folder(&path, &name, files)?;
        }
    }
    Ok(())
}

/// What lies right in a folder, but for what is hidden.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, RawError> {
    let io = |source| RawError::io(folder, source);
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            entries.push((name, entry.path()));
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_say_stamp_commit_and_label() {
        let id = RunId::new("20260912T225808Z-d43b538d-tap-compare-scaling").unwrap();
        assert_eq!((id.label(), id.short_sha()), ("tap-compare-scaling", Some("d43b538d")));
        for name in [
            "mine",
            "2026-d43b538d-x",
            "20260912T225808Z-d43b538-x",
            "20260912T225808Z-d43b538g-x",
            "20260912T225808Z-d43b538d-",
            "20260912T225808Z-d43b538d",
        ] {
            let id = RunId::new(name).unwrap();
            assert_eq!((id.label(), id.short_sha()), (name, None));
            assert_eq!(id.to_string(), name);
        }
    }

    #[test]
    fn ids_that_no_path_should_have_are_refused() {
        for name in ["", ".hidden", "..", "a b", "a/b", "é", "a=b"] {
            let message = RunId::new(name).unwrap_err().to_string();
            assert!(message.contains(&format!("not a run id: `{name}`")), "{message}");
        }
    }

    fn detect(files: &[&str]) -> Option<(Layout, Vec<String>)> {
        Layout::detect(&files.iter().map(|file| (*file).to_owned()).collect())
    }

    #[test]
    fn layouts_have_their_precedence() {
        let all = ["cells.csv", "summary.csv", "summary.json", "summaries/a.json", "rungs.jsonl"];
        let expected = [
            Layout::PublishedTable,
            Layout::SummaryCsv,
            Layout::SummaryJson,
            Layout::Summaries,
            Layout::RungsJsonl,
        ];
        for (count, layout) in (1..).zip(expected) {
            let (found, files) = detect(&all[..count]).unwrap();
            assert_eq!(found, layout);
            assert_eq!(files, [all[count - 1]]);
        }
    }

    #[test]
    fn any_table_but_resources_makes_a_published_table() {
        for table in ["cells.csv", "instance_scaling.csv", "sweep.csv", "bursts.csv"] {
            let (layout, files) = detect(&["resource_cells.csv", table]).unwrap();
            assert_eq!((layout, files.len()), (Layout::PublishedTable, 2));
        }
        assert_eq!(detect(&["resource_cells.csv", "resources.csv", "summaries/a.txt"]), None);
    }
}
