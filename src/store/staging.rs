//! What is written but not decided: out of every reader's sight.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::commit::{self, Change, Journal, Move, STAGED_MANIFEST};
use super::disk;
use super::error::StoreError;
use super::lock::{RunLock, StoreLock};
use super::manifest::{self, Manifest, OutputFile};
use super::parquet::writer;
use super::schema::{Row, SCHEMA_VERSION, Table};
use crate::raw::{Hasher, InputFile, RunId};

/// Rows that are held as Arrow arrays at a time.
const BATCH_ROWS: usize = 1 << 16;

/// A run on its way into the store. Dropped without a commit, it was never there.
#[derive(Debug)]
pub struct Staging {
    root: PathBuf,
    folder: PathBuf,
    outputs: Vec<OutputFile>,
    store_lock: Arc<StoreLock>,
    run_lock: RunLock,
}

impl Staging {
    pub(super) fn new(
        root: PathBuf,
        store_lock: Arc<StoreLock>,
        run_lock: RunLock,
    ) -> Result<Self, StoreError> {
        let folder = commit::staging(&root, run_lock.run().as_str());
        // Of an attempt that was killed.
        disk::remove_tree(&folder)?;
        disk::create_dirs(&folder)?;
        Ok(Self { root, folder, outputs: Vec::new(), store_lock, run_lock })
    }

    /// The run that is written.
    pub fn run(&self) -> &RunId {
        self.run_lock.run()
    }

    /// A folder for what is needed only while the run is written. It is gone
    /// with the staging, and out of every reader's sight.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes all rows of a table. Without rows there is no file.
    ///
    /// # Errors
    ///
    /// Where the disk refuses, or the table has its file already.
    pub fn write_rows<R: Row>(&mut self, rows: &[R]) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        let file = self.create(&R::TABLE)?;
        let path = file.path.clone();
        let encode = || {
            let mut writer = writer(&R::TABLE, file)?;
            for rows in rows.chunks(BATCH_ROWS) {
                writer.write(&R::to_batch(rows))?;
            }
            writer.into_inner()
        };
        let file = encode().map_err(|source| StoreError::Parquet { path, source })?;
        self.finish_file(file, rows.len() as u64)
    }

    /// A file for the rows of a table, for who encodes them otherwise. It
    /// counts once [`finish_file`](Self::finish_file) has it back.
    ///
    /// # Errors
    ///
    /// Where the disk refuses, or the table has its file already.
    pub fn create_file(&mut self, table: &'static Table) -> Result<StagedFile, StoreError> {
        self.create(table)
    }

    fn create(&mut self, table: &Table) -> Result<StagedFile, StoreError> {
        let path = self.folder.join(staged_name(table.name));
        let file = disk::create_file(&path)?;
        Ok(StagedFile { table: table.name, path, file, hasher: Hasher::new(), size: 0 })
    }

    /// Takes a complete file of so many rows. A file without rows is left out.
    ///
    /// # Errors
    ///
    /// Where the disk does not confirm that it has the file.
    pub fn finish_file(&mut self, file: StagedFile, rows: u64) -> Result<(), StoreError> {
        if rows == 0 {
            return Ok(());
        }
        disk::sync_file(&file.path, &file.file)?;
        self.outputs.push(OutputFile {
            table: file.table.to_owned(),
            path: format!("{}/run={}/part-0.parquet", file.table, self.run()),
            rows,
            size: file.size,
            sha256: file.hasher.finish(),
        });
        Ok(())
    }

    /// Makes the run what was staged, at once, in place of what it was before.
    /// Waits until nobody reads the store.
    ///
    /// # Errors
    ///
    /// Where the disk refuses: then the run is as before, or, if that was
    /// decided already, the next to open the store finishes the commit.
    pub fn commit(mut self, layout: &str, inputs: Vec<InputFile>) -> Result<Manifest, StoreError> {
        let mut manifest = Manifest {
            schema_version: SCHEMA_VERSION,
            tapstat: manifest::TAPSTAT.to_owned(),
            revision: manifest::REVISION.to_owned(),
            run: self.run().to_string(),
            layout: layout.to_owned(),
            inputs,
            outputs: std::mem::take(&mut self.outputs),
        };
        manifest.inputs.sort();
        manifest.outputs.sort_by(|a, b| a.path.cmp(&b.path));
        let json = manifest.to_json();
        disk::write_file(&self.folder.join(STAGED_MANIFEST), json.as_bytes())?;

        let files = manifest
            .outputs
            .iter()
            .map(|output| Move { staged: staged_name(&output.table), path: output.path.clone() });
        let journal = Journal { run: manifest.run.clone(), change: Change::Put(files.collect()) };
        journal.commit(&self.root, &self.store_lock)?;
        Ok(manifest)
    }

    /// Takes the run out of the store, at once.
    pub(super) fn commit_removal(self) -> Result<(), StoreError> {
        let journal = Journal { run: self.run().to_string(), change: Change::Remove };
        journal.commit(&self.root, &self.store_lock)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // What was decided belongs to whoever finishes it. What cannot be
        // removed here is removed by the next to write to the store.
        if matches!(commit::is_decided(&self.root, self.run().as_str()), Ok(false)) {
            let _ = disk::remove_tree(&self.folder);
        }
    }
}

/// A file of a run on its way, hashed as it is written.
#[derive(Debug)]
pub struct StagedFile {
    table: &'static str,
    path: PathBuf,
    file: File,
    hasher: Hasher,
    size: u64,
}

impl Write for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn staged_name(table: &str) -> String {
    format!("{table}.parquet")
}
