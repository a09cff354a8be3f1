//! `tapstat corpus`: a table to serve, and the queries to send.

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

use super::args::Global;
use super::{Answer, output};
use crate::corpus;
use crate::report::figure::{counted, thousands};

const EXAMPLES: &str = "\
Examples:
  tapstat corpus --output corpus
  tapstat corpus --rows 20000 --output corpus";

/// Write a synthetic ObsCore table and the queries against it
///
/// The same rows and seed give the same bytes on any machine. The folder that
/// `--output` names gets `obscore.csv` and `obscore.parquet` (the table),
/// `corpus.jsonl` (the queries, with the rows that each has to give) and
/// `corpus.json` (rows, seed, and the sha256 of each file).
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Rows of the table
    #[arg(long, value_name = "N", default_value_t = corpus::ROWS)]
    pub rows: u64,

    /// The seed of all that is drawn
    #[arg(long, value_name = "N", default_value_t = corpus::SEED)]
    pub seed: u64,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    output::refuse_format(&global.output, "corpus")?;
    let folder = global.output.output.clone().unwrap_or_else(|| PathBuf::from("corpus"));
    let bar = bar(args.rows);
    let about = corpus::write(&folder, args.rows, args.seed, |rows| bar.set_position(rows));
    bar.finish_and_clear();
    let about = about?;
    output::say(format_args!(
        "{}: {} and {}, seed {}, sha256 of {} {}",
        folder.display(),
        counted(usize::try_from(about.rows)?, "row"),
        format_args!("{} queries", thousands(i64::try_from(about.queries)?)),
        about.seed,
        corpus::TABLE_CSV,
        about.files.csv,
    ));
    Ok(Answer::Yes)
}

/// A progress bar on standard error, where somebody looks.
fn bar(rows: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(rows);
    match ProgressStyle::with_template("{bar:40} {human_pos} of {human_len} rows, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
