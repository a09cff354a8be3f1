//! `tapstat merge`: one run of what several generator hosts measured together.

use std::path::PathBuf;

use anyhow::Result;

use super::args::Global;
use super::{Answer, output};
use crate::load::campaign::merge;
use crate::report::figure::counted;

const EXAMPLES: &str = "\
Examples:
  tapstat merge a/20260912T225808Z-d43b538d-x b/20260912T225809Z-d43b538d-x --into runs";

/// Make one run of the run directories that several hosts wrote with --shard
///
/// Each rung of the new run directory has the requests of all hosts: percentiles
/// come from all of them, rates are over the time that any of them measured, the
/// guard is the worst, CPU is added up. Rungs that a host lacks are left out;
/// those whose hosts did not measure at one time are void. Exit with 1 if there
/// are any of either.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The run directories: those of all hosts
    #[arg(value_name = "DIR", required = true)]
    pub directories: Vec<PathBuf>,

    /// The folder that the merged run directory is made in
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub into: PathBuf,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    output::refuse(&global.output, "merge")?;
    let merged = merge(&args.directories, &args.into)?;
    let hosts = args.directories.len();
    let rungs = counted(merged.rungs, "rung");
    output::say(format_args!("merged {hosts} hosts into {}: {rungs}", merged.path.display()));
    for (names, what) in [
        (&merged.missing, "left out, since a host has not measured it"),
        (&merged.apart, "void, since the hosts did not measure at one time"),
    ] {
        for name in names {
            output::say(format_args!("{name}: {what}"));
        }
    }
    Ok(Answer::of(merged.missing.is_empty() && merged.apart.is_empty()))
}
