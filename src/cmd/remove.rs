//! `tapstat remove`: a run out of the store.

use anyhow::Result;

use super::args::Global;
use super::{Answer, output};
use crate::raw::RunId;
use crate::store::Store;

const EXAMPLES: &str = "\
Examples:
  tapstat remove 20260912T225808Z-d43b538d-tap-compare-scaling
  tapstat remove supplementary";

/// Take runs out of the store; their run directories are not touched
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The runs: any unique part of each id
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    output::refuse(&global.output, "remove")?;
    let store = Store::inspect(&global.store.path())?;
    store.when_waiting(super::ingest::say_waiting);
    // All names are understood before anything is removed.
    let mut ids = args
        .runs
        .iter()
        .map(|name| Ok(RunId::new(store.find_id(name)?)?))
        .collect::<Result<Vec<RunId>>>()?;
    ids.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    ids.dedup_by(|a, b| a.as_str() == b.as_str());
    for id in &ids {
        store.remove(id)?;
        output::say(format_args!("removed {id}"));
    }
    Ok(Answer::Yes)
}
