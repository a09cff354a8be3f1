//! Run directories: one reader per layout, all giving the same typed records.
//!
//! Nothing here writes, and nothing here knows the store: what files look like
//! stays on this side, and [`Run`] is what every layout is turned into.

mod cells_csv;
mod corpus;
mod environment;
mod error;
mod events;
mod fields;
mod gates;
mod input;
mod layout;
mod pins;
mod published;
mod resources;
mod rung;
mod rungs;
pub mod samples;

pub use environment::Environment;
pub use error::{RawError, Warning};
pub use events::Event;
pub use gates::{Agreement, Gate};
pub use input::InputFile;
pub use layout::{Layout, RunDir, RunId};
pub use pins::Pin;
pub use published::Published;
pub use resources::ResourceSample;
pub use rung::{RungKey, RungRecord};

/// Everything a run directory says, but for the two streams that are never
/// held whole: requests ([`samples`]) and resource samples ([`resources`]).
#[derive(Debug, Default)]
pub struct Run {
    /// `environment.json`; all its fields are empty where the file is missing.
    pub environment: Environment,
    /// The rungs, sorted by name.
    pub rungs: Vec<RungRecord>,
    /// What the gates found, sorted by tier and target.
    pub gates: Vec<Gate>,
    /// Whether the targets agreed, sorted by tier and class.
    pub agreement: Vec<Agreement>,
    /// Resource limits as applied, in file order.
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
