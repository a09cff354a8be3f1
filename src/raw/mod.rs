//! Run directories: one reader per layout, all giving the same typed records.
//!
//! Nothing here writes, and nothing here knows the store: what files look like
//! stays on this side, and [`Run`] is what every layout is turned into.

mod cells_csv;
mod corpus;
mod csv_rows;
mod environment;
mod error;
mod events;
mod fields;
mod gates;
mod input;
mod json;
mod layout;
mod once;
mod pins;
mod published;
mod resources;
mod rung;
mod rung_resources;
mod rungs;
pub mod samples;
#[cfg(test)]
mod tests;

pub use environment::{Environment, Resumed};
pub use error::{Place, RawError, Warning};
pub use events::Event;
pub use gates::{Agreement, Gate};
pub use input::{Hasher, InputFile, hash_file};
pub use layout::{Layout, RunDir, RunId};
pub use pins::Pin;
pub use published::{
    Burst, Cell, CellKey, InstanceScaling, Published, ResourceCell, RungResources, Sweep,
};
pub use resources::{ResourceSample, ResourcesReader};
pub use rung::{RungKey, RungRecord, cmp_tiers, sort_rungs, tiers_are_numeric};

use input::Source;

/// Everything a run directory says, but for the two streams that are never
/// held whole: requests ([`samples`]) and resource samples
/// ([`ResourcesReader`]).
#[derive(Debug, Default)]
pub struct Run {
    /// `environment.json`; all its fields are empty where the file is missing.
    pub environment: Environment,
    /// The rungs, in the order of [`sort_rungs`].
    pub rungs: Vec<RungRecord>,
    /// What the gates found, sorted by tier and target.
    pub gates: Vec<Gate>,
    /// Whether the targets agreed, sorted by tier and class.
    pub agreement: Vec<Agreement>,
    /// Resource limits as applied, in the order of the files.
    pub pins: Vec<Pin>,
    /// `events.jsonl`, in file order.
    pub events: Vec<Event>,
    /// `protocol.toml`, verbatim.
    pub protocol: Option<String>,
    /// What a published run or table printed.
    pub published: Published,
    /// What was read past and should be known.
    pub warnings: Vec<Warning>,
    /// Every file that was read for this, sorted by path.
    pub inputs: Vec<InputFile>,
}

impl RunDir {
    /// Reads and checks all but the streams.
    ///
    /// # Errors
    ///
    /// A [`RawError`] that names what cannot be believed, and where.
    pub fn read(&self) -> Result<Run, RawError> {
        let mut source = Source::new(&self.path);
        let environment = self.environment(&mut source)?;
        let (rungs, published) = self.figures(&mut source, &environment)?;
        let gates = gates::read(&mut source, &self.parts.gates)?;
        let names = pins::Names::of(&environment, &rungs, &published.cells);
        let pins = pins::read(&mut source, &self.parts.pins, &names)?;
        let events = each(&self.parts.events, |file| events::read(&mut source, file))?;
        let protocol = each(&self.parts.protocol, |file| Ok(vec![source.text(file)?]))?.pop();
        source.inputs.sort();
        Ok(Run {
            environment,
            rungs,
            gates: gates.gates,
            agreement: gates.agreement,
            pins,
            events,
            protocol,
            published,
            warnings: source.warnings,
            inputs: source.inputs,
        })
    }

    /// The environment, with the hash of the corpus where it does not state one.
    fn environment(&self, source: &mut Source<'_>) -> Result<Environment, RawError> {
        let mut environment = match self.parts.environment.first() {
            Some(file) => environment::read(source, file)?,
            None => Environment::default(),
        };
        if let Some(sha256) = corpus::check(source, &self.parts.corpus)? {
            environment.corpus_sha256.get_or_insert(sha256);
        }
        Ok(environment)
    }

    /// The rungs in canonical order, and what was printed.
    fn figures(
        &self,
        source: &mut Source<'_>,
        environment: &Environment,
    ) -> Result<(Vec<RungRecord>, Published), RawError> {
        if self.layout == Layout::PublishedTable {
            let published = cells_csv::read(source, &self.parts.rungs, environment)?;
            return Ok((Vec::new(), published));
        }
        let mut rungs = rungs::read(source, self.layout, &self.parts.rungs, environment)?;
        rung::check_unique(&rungs)?;
        sort_rungs(&mut rungs);
        let rung_resources = each(&self.parts.rung_resources, |file| {
            rung_resources::read(source, file, &mut rungs)
        })?;
        Ok((rungs, Published { rung_resources, ..Published::default() }))
    }
}

/// The rows of all files, one after the other.
fn each<T>(
    files: &[String],
    mut read: impl FnMut(&str) -> Result<Vec<T>, RawError>,
) -> Result<Vec<T>, RawError> {
    let mut rows = Vec::new();
    for file in files {
        rows.append(&mut read(file)?);
    }
    Ok(rows)
}
