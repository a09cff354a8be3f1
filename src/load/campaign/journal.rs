//! The run directory while it is written.
//!
//! A rung's samples are on the disk, under their name, before its line is in
//! `rungs.jsonl`; that line is on the disk before the next rung begins. So
//! whoever is killed at any moment loses the rung in flight and no other: what
//! it may have left are samples without a line, and half a line, which
//! [`Journal::resume`] takes away.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::error::CampaignError;
use crate::load::sampler::now;
use crate::raw::{RungKey, RungRecord};

/// A run directory that is written.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    rungs: File,
    events: File,
    /// The rungs that are there.
    done: Vec<Done>,
}

/// What is known of a rung that was measured before.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// Its key.
    pub key: RungKey,
    /// Its requests per second.
    pub rps: f64,
    /// Whether it is void.
    pub is_void: bool,
    /// Failed requests as a fraction.
    pub error_fraction: f64,
}

impl Done {
    /// What is to be remembered of a rung's line.
    pub fn of(record: &RungRecord) -> Self {
        Self {
            key: record.key.clone(),
            rps: record.rps,
            is_void: record.generator_guard_ok == Some(false),
            error_fraction: record.error_fraction.unwrap_or(0.0),
        }
    }
}

/// A line of `events.jsonl`.
#[derive(Serialize)]
struct Event<'a> {
    t: f64,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rung: Option<&'a str>,
    detail: Value,
}

const RUNGS: &str = "rungs.jsonl";
const EVENTS: &str = "events.jsonl";

/// The samples of the sampler.
pub const RESOURCES: &str = "resources.jsonl";

impl Journal {
    /// Makes a run directory with these files in it.
    ///
    /// # Errors
    /// If it is there already, or cannot be written.
    pub fn create(path: &Path, files: &[(&str, &[u8])]) -> Result<Self, CampaignError> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(CampaignError::io(parent))?;
        }
        fs::create_dir(path).map_err(CampaignError::io(path))?;
        for (name, bytes) in files {
            write_whole(&path.join(name), bytes)?;
        }
        Self::open(path, Vec::new())
    }

    /// Takes up a run directory: drops what a killed process left half-done.
    ///
    /// # Errors
    /// If it cannot be read or written, or a rung that it has lacks its samples.
    pub fn resume(path: &Path) -> Result<Self, CampaignError> {
        for name in [RUNGS, EVENTS, RESOURCES] {
            drop_half_line(&path.join(name))?;
        }
        let file = path.join(RUNGS);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(CampaignError::io(&file)(error)),
        };
        let mut done = Vec::new();
        for (at, line) in text.lines().enumerate() {
            done.push(parse(line).ok_or_else(|| CampaignError::Resume {
                path: path.to_owned(),
                message: format!("line {} of {RUNGS} is no rung of `tapstat measure`", at + 1),
            })?);
        }
        let journal = Self::open(path, done)?;
        journal.drop_orphans()?;
        Ok(journal)
    }

    fn open(path: &Path, done: Vec<Done>) -> Result<Self, CampaignError> {
        let samples = path.join("samples");
        fs::create_dir_all(&samples).map_err(CampaignError::io(&samples))?;
        let journal = Self {
            rungs: append(&path.join(RUNGS))?,
            events: append(&path.join(EVENTS))?,
            path: path.to_owned(),
            done,
        };
        sync_folder(path)?;
        Ok(journal)
    }

    /// Removes samples whose rung has no line, and refuses rungs without samples.
    fn drop_orphans(&self) -> Result<(), CampaignError> {
        let folder = self.path.join("samples");
        let mut missing: BTreeSet<String> = self.done.iter().map(|done| done.key.name()).collect();
        for entry in fs::read_dir(&folder).map_err(CampaignError::io(&folder))? {
            let path = entry.map_err(CampaignError::io(&folder))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_known = name.strip_suffix(".parquet").is_some_and(|rung| missing.remove(rung));
            if !is_known {
                fs::remove_file(&path).map_err(CampaignError::io(&path))?;
            }
        }
        if let Some(rung) = missing.first() {
            return Err(CampaignError::Resume {
                path: self.path.clone(),
                message: format!("rung `{rung}` has no samples"),
            });
        }
        Ok(())
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The rungs that are measured, in order.
    pub fn done(&self) -> &[Done] {
        &self.done
    }

    /// What is known of a rung, whatever number of instances it ended with if
    /// none was prescribed.
    pub fn find(&self, key: &RungKey) -> Option<&Done> {
        self.done.iter().find(|done| {
            if key.instances.is_some() {
                return done.key == *key;
            }
            let known = RungKey { instances: None, loops: None, ..done.key.clone() };
            known == *key
        })
    }

    /// Where the samples of a rung are written first, and where they belong.
    fn samples(&self, rung: &str) -> (PathBuf, PathBuf) {
        let folder = self.path.join("samples");
        (folder.join(format!(".{rung}.tmp")), folder.join(format!("{rung}.parquet")))
    }

    /// Adds a rung: its samples as `write` writes them, then its line.
    ///
    /// # Errors
    /// If the disk does not take them.
    pub fn rung(
        &mut self,
        record: &RungRecord,
        write: impl FnOnce(&Path) -> Result<(), CampaignError>,
    ) -> Result<(), CampaignError> {
        let (staged, path) = self.samples(&record.key.name());
        write(&staged)?;
        File::open(&staged).and_then(|file| file.sync_all()).map_err(CampaignError::io(&staged))?;
        fs::rename(&staged, &path).map_err(CampaignError::io(&path))?;
        sync_folder(&self.path.join("samples"))?;
        // The events of the rung come first: a line in `rungs.jsonl` is the end of it.
        self.events.sync_data().map_err(CampaignError::io(&self.path.join(EVENTS)))?;
        let file = self.path.join(RUNGS);
        write_line(&self.rungs, record).map_err(CampaignError::io(&file))?;
        self.rungs.sync_data().map_err(CampaignError::io(&file))?;
        self.done.push(Done::of(record));
        Ok(())
    }

    /// Adds an event.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn event(
        &self,
        kind: &str,
        rung: Option<&str>,
        detail: impl Into<Value>,
    ) -> Result<(), CampaignError> {
        let event = Event { t: now(), kind, rung, detail: detail.into() };
        write_line(&self.events, &event).map_err(CampaignError::io(&self.path.join(EVENTS)))
    }

    /// Adds whole lines of events that were written elsewhere.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn append_events(&self, lines: &[u8]) -> Result<(), CampaignError> {
        (&self.events).write_all(lines).map_err(CampaignError::io(&self.path.join(EVENTS)))
    }

    /// Writes a file of the directory, which is there as a whole or not at all.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn file(&self, name: &str, bytes: &[u8]) -> Result<(), CampaignError> {
        let path = self.path.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(CampaignError::io(folder))?;
        }
        write_whole(&path, bytes)
    }

    /// The file that resource samples are appended to.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn resources(&self) -> Result<File, CampaignError> {
        append(&self.path.join(RESOURCES))
    }
}

/// A line of `rungs.jsonl`, as far as it is needed.
fn parse(line: &str) -> Option<Done> {
    let line: Value = serde_json::from_str(line).ok()?;
    let text = |field: &str| Some(line.get(field)?.as_str()?.to_owned());
    let number = |field: &str| line.get(field)?.as_i64();
    Some(Done {
        key: RungKey {
            tier: text("tier"),
            target: text("target")?,
            response_format: text("response_format")?,
            query_class: text("query_class")?,
            concurrency: number("concurrency")?,
            repetition: number("repetition")?,
            instances: number("instances"),
            loops: number("loops"),
            mode: text("mode"),
            r#loop: text("loop"),
            offered_rps: line.get("offered_rps").and_then(Value::as_f64),
        },
        rps: line.get("rps")?.as_f64()?,
        is_void: line.get("generator_guard_ok").and_then(Value::as_bool) == Some(false),
        error_fraction: line.get("error_fraction").and_then(Value::as_f64).unwrap_or(0.0),
    })
}

fn append(path: &Path) -> Result<File, CampaignError> {
    OpenOptions::new().append(true).create(true).open(path).map_err(CampaignError::io(path))
}

/// One line in one write.
fn write_line(mut file: &File, value: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    file.write_all(&line)
}

/// Writes a file beside its place, and then moves it there.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), CampaignError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let staged = path.with_file_name(format!(".{name}.tmp"));
    let write = || {
        let mut file = File::create(&staged)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&staged, path)
    };
    write().map_err(CampaignError::io(path))
}

/// Waits until the disk has the names in a folder.
fn sync_folder(path: &Path) -> Result<(), CampaignError> {
    if cfg!(unix) {
        File::open(path).and_then(|folder| folder.sync_all()).map_err(CampaignError::io(path))?;
    }
    Ok(())
}

/// Cuts a file after its last whole line.
fn drop_half_line(path: &Path) -> Result<(), CampaignError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(CampaignError::io(path)(error)),
    };
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    if whole < bytes.len() {
        let cut = || {
            let file = OpenOptions::new().write(true).open(path)?;
            file.set_len(whole as u64)?;
            file.sync_all()
        };
        cut().map_err(CampaignError::io(path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(repetition: i64) -> RungRecord {
        let key = RungKey {
            target: "a".into(),
            response_format: "csv".into(),
            query_class: "q".into(),
            concurrency: 2,
            repetition,
            mode: Some("sync".into()),
            r#loop: Some("closed".into()),
            ..RungKey::default()
        };
        RungRecord { key, server: "s".into(), requests: 1, rps: 2.5, ..RungRecord::default() }
    }

    fn write(path: &Path) -> Result<(), CampaignError> {
        fs::write(path, "samples").map_err(CampaignError::io(path))
    }

    #[test]
    fn what_was_half_done_is_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let mut journal = Journal::create(&path, &[("protocol.toml", b"x")]).unwrap();
        journal.rung(&record(1), write).unwrap();
        let with_instances = RungRecord {
            key: RungKey { instances: Some(3), loops: Some(1), ..record(2).key },
            ..record(2)
        };
        journal.rung(&with_instances, write).unwrap();
        journal.event("start", None, "x").unwrap();
        drop(journal);

        let lines = fs::read(path.join(RUNGS)).unwrap();
        fs::write(path.join(RUNGS), [&lines[..], b"{\"target\": \"a\""].concat()).unwrap();
        fs::write(path.join(RESOURCES), "{\"t\": 1}\n{\"t\"").unwrap();
        fs::write(path.join("samples/a-csv-q-c2-r3.parquet"), "orphan").unwrap();
        fs::write(path.join("samples/.a-csv-q-c2-r4.tmp"), "staged").unwrap();

        let journal = Journal::resume(&path).unwrap();
        assert_eq!(journal.done().len(), 2);
        assert_eq!(journal.find(&record(2).key).unwrap().key, with_instances.key);
        assert_eq!(journal.find(&record(3).key), None);
        assert_eq!(journal.done()[0], Done::of(&record(1)));
        assert_eq!(fs::read(path.join(RUNGS)).unwrap(), lines);
        assert_eq!(fs::read_to_string(path.join(RESOURCES)).unwrap(), "{\"t\": 1}\n");
        let mut left: Vec<_> =
            fs::read_dir(path.join("samples")).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["a-csv-q-c2-i3x1-r2.parquet", "a-csv-q-c2-r1.parquet"]);
    }

    #[test]
    fn a_rung_without_samples_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let mut journal = Journal::create(&path, &[]).unwrap();
        journal.rung(&record(1), write).unwrap();
        fs::remove_file(path.join("samples/a-csv-q-c2-r1.parquet")).unwrap();
        let message = Journal::resume(&path).unwrap_err().to_string();
        assert!(message.ends_with("rung `a-csv-q-c2-r1` has no samples"), "{message}");
        fs::write(path.join(RUNGS), "{}\n").unwrap();
        let message = Journal::resume(&path).unwrap_err().to_string();
        assert!(message.contains("line 1 of rungs.jsonl is no rung"), "{message}");
    }
}
