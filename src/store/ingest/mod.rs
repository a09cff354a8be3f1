//! From a run directory into the store.

mod error;
mod inputs;
mod resources;
mod samples;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::Path;

pub use self::error::IngestError;
use super::manifest::{Contents, Manifest};
use super::rows;
use super::schema::{
    AgreementRow, EventRow, GateRow, NoteRow, PinRow, ProtocolRow, PublishedBurstRow,
    PublishedCellRow, PublishedInstanceScalingRow, PublishedResourceCellRow,
    PublishedRungResourceRow, PublishedSweepRow, RunRow, RungRow,
};
use super::{Staging, Store, StoreError};
use crate::raw::{self, Hasher, Place, Published, Run, RunDir, Warning};

/// How to ingest.
#[derive(Debug, Clone)]
pub struct IngestOptions {
    /// Whether to rebuild the run where the store has it already.
    pub replace: bool,
    /// Threads that parse and encode, beside one that reads and one that sorts.
    pub threads: usize,
}

impl Default for IngestOptions {
    /// One thread for each core.
    fn default() -> Self {
        let cores = std::thread::available_parallelism();
        Self { replace: false, threads: cores.map_or(1, |cores| cores.get()) }
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The run is in the store now.
    Ingested(Manifest),
    /// The store had the run, and it was rebuilt.
    Replaced(Manifest),
    /// The store had the run already, from the same files.
    Unchanged(Manifest),
}

impl Outcome {
    /// What the run is made of.
    pub fn manifest(&self) -> &Manifest {
        match self {
            Self::Ingested(manifest) | Self::Replaced(manifest) | Self::Unchanged(manifest) => {
                manifest
            }
        }
    }
}

/// Told how far an ingest is, by bytes of input.
pub trait Progress: Sync {
    /// So many bytes are to be read. Told again for a second pass.
    fn start(&self, bytes: u64);
    /// So many more were read.
    fn advance(&self, bytes: u64);
    /// All were.
    fn finish(&self);
}

/// Nobody is told.
impl Progress for () {
    fn start(&self, _: u64) {}
    fn advance(&self, _: u64) {}
    fn finish(&self) {}
}

/// Brings a run directory into a store. What was read past is in the warnings,
/// and in the table `events`.
///
/// A run that the store has is left as it is if the files are the same, and
/// refused if they are not, but with `replace`.
///
/// # Errors
///
/// Where the run directory cannot be believed, the store refuses, or another
/// process writes the same run. The store is as it was, then.
pub fn ingest(
    store: &Store,
    directory: &Path,
    options: &IngestOptions,
    progress: &dyn Progress,
) -> Result<(Outcome, Vec<Warning>), IngestError> {
    let dir = RunDir::open(directory).map_err(IngestError::Open)?;
    let lock = store.lock_run(&dir.id)?;
    let in_error = |source| IngestError::raw(directory, &dir.path, source);
    let known = lock.manifest().cloned();
    if let Some(manifest) = known.as_ref().filter(|_| !options.replace) {
        return match inputs::difference(&dir, manifest, progress).map_err(in_error)? {
            None => Ok((Outcome::Unchanged(manifest.clone()), Vec::new())),
            Some(difference) => Err(IngestError::Known { run: dir.id.to_string(), difference }),
        };
    }

    let mut run = dir.read().map_err(in_error)?;
    run.warnings.extend(targets_without_rungs(&run));
    let mut staging = store.stage(lock)?;
    progress.start(inputs::streamed_bytes(&dir).map_err(in_error)?);
    let streamed = samples::ingest(&dir, &mut run, &mut staging, options, progress)
        .and_then(|()| resources::ingest(&dir, &mut run, &mut staging, progress));
    streamed.map_err(|error| error.within(directory, &dir.path))?;
    progress.finish();

    let warnings = std::mem::take(&mut run.warnings);
    let inputs = std::mem::take(&mut run.inputs);
    staging.describe(contents(&run));
    staging.write_rows(&[RunRow::new(&dir.id, dir.layout, &run)])?;
    write_tables(&mut staging, run, &warnings)?;
    let manifest = staging.commit(dir.layout.name(), inputs)?;
    let outcome = if known.is_some() { Outcome::Replaced } else { Outcome::Ingested };
    Ok((outcome(manifest), warnings))
}

/// What the run measured: the targets with a rung or a cell, and the tiers.
fn contents(run: &Run) -> Contents {
    let rungs = run.rungs.iter().map(|rung| (&rung.key.tier, &rung.key.target, &rung.server));
    let cells = run.published.cells.iter();
    let cells = cells.map(|cell| (&cell.key.tier, &cell.key.target, &cell.server));
    let measured: Vec<_> = rungs.chain(cells).collect();
    let tiers: BTreeSet<&str> = measured.iter().filter_map(|row| row.0.as_deref()).collect();
    let numeric = raw::tiers_are_numeric(tiers.iter().map(|tier| Some(*tier)));
    let mut tiers: Vec<&str> = tiers.into_iter().collect();
    tiers.sort_by(|a, b| raw::cmp_tiers(Some(a), Some(b), numeric));
    Contents {
        targets: measured.iter().map(|row| (row.1.clone(), row.2.clone())).collect(),
        tiers: tiers.into_iter().map(str::to_owned).collect(),
    }
}

/// Writes the tables whose rows are held.
fn write_tables(staging: &mut Staging, run: Run, warnings: &[Warning]) -> Result<(), StoreError> {
    let events = run.events.into_iter().map(EventRow::from);
    let resumed = run.environment.resumed.into_iter().map(EventRow::resumed);
    let warnings = warnings.iter().map(EventRow::from);
    let events: Vec<EventRow> = events.chain(resumed).chain(warnings).collect();
    let protocol = run.protocol.map(|toml| {
        let mut hasher = Hasher::new();
        hasher.update(toml.as_bytes());
        ProtocolRow { source: "protocol.toml".to_owned(), sha256: hasher.finish(), toml }
    });
    staging.write_rows(&rows::all::<RungRow, _>(run.rungs))?;
    staging.write_rows(&rows::all::<GateRow, _>(run.gates))?;
    staging.write_rows(&rows::all::<AgreementRow, _>(run.agreement))?;
    staging.write_rows(&rows::all::<PinRow, _>(run.pins))?;
    staging.write_rows(&events)?;
    staging.write_rows(protocol.as_slice())?;
    staging.write_rows(&rows::all::<NoteRow, _>(run.notes))?;
    write_published(staging, run.published)
}

fn write_published(staging: &mut Staging, published: Published) -> Result<(), StoreError> {
    staging.write_rows(&rows::all::<PublishedCellRow, _>(published.cells))?;
    staging.write_rows(&rows::all::<PublishedResourceCellRow, _>(published.resource_cells))?;
    staging.write_rows(&rows::all::<PublishedRungResourceRow, _>(published.rung_resources))?;
    staging.write_rows(&rows::all::<PublishedInstanceScalingRow, _>(published.instance_scaling))?;
    staging.write_rows(&rows::all::<PublishedSweepRow, _>(published.sweep))?;
    staging.write_rows(&rows::all::<PublishedBurstRow, _>(published.bursts))
}

/// Targets that the environment names and that no rung, and no printed cell, is of.
fn targets_without_rungs(run: &Run) -> Option<Warning> {
    let measured = |target: &str| {
        let cells = run.published.cells.iter().map(|cell| &cell.key.target);
        run.rungs.iter().map(|rung| &rung.key.target).chain(cells).any(|name| name == target)
    };
    // Of the other tables of a published run, not all have targets.
    if run.rungs.is_empty() && run.published.cells.is_empty() {
        return None;
    }
    let targets = run.environment.targets.iter().map(|(target, _)| target.as_str());
    let missing: Vec<&str> = targets.filter(|target| !measured(target)).collect();
    (!missing.is_empty()).then(|| Warning {
        place: Place::file("environment.json"),
        message: format!("targets without a rung: {}", missing.join(", ")),
    })
}
