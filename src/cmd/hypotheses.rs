//! `tapstat hypotheses`: what was predicted, and what the data say of it.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use arrow::array::{RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};

use super::args::Global;
use super::output::Output;
use super::{Answer, session};
use crate::report::{View, hypotheses_page, stamped};
use crate::sql::Session;
use crate::sql::hypotheses::{Judgement, Outcome, judge, query_of};

const EXAMPLES: &str = "\
Examples:
  tapstat hypotheses --run scaling
  tapstat hypotheses --run 20260912 --check --format json";

/// Judge the predictions of a run's protocol on its data
///
/// Each prediction has parts, each judged by its query: a part fails if a cell
/// that is not voided contradicts it, and is unsettled if only voided cells, or
/// a run that is not in the store, could decide. All parts hold: holds; some
/// do: half-holds; none does: unsettled if any part is, else fails.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The run: its id or any unique part of it [default: the only one]
    #[arg(long)]
    pub run: Option<String>,

    /// Exit with 1 unless every prediction holds
    #[arg(long)]
    pub check: bool,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    let store = session::open_store(global)?;
    let run = match (&args.run, store.manifests()) {
        (Some(name), _) => store.find_run(name)?.run.clone(),
        (None, [only]) => only.run.clone(),
        (None, several) => bail!("the store has {} runs: say which with --run", several.len()),
    };
    // All runs: a prediction may name another than the one that is judged.
    let session = session::open(global, store, None)?;
    let judged = session.judged().iter().find(|judged| judged.run == run);
    let selected = &judged.context("the run went away")?.selected;
    if selected.protocol.hypotheses.is_empty() {
        bail!("the protocol of run {run} states no hypothesis ({})", selected.source);
    }
    let judgements = judgements(global, &session, &run)?;

    let mut stamps = session::stamps(&session);
    stamps.retain(|stamp| stamp.run == run);
    let output = Output::open(&global.output)?;
    if output.format.is_page() {
        output.page(&hypotheses_page(&run, &judgements, &stamps))?;
    } else {
        let rows = rows(&run, &judgements)?;
        let view = View::new("hypotheses", &rows.schema(), std::slice::from_ref(&rows))?;
        let batch = stamped(&view, &stamps)?;
        output.rows(&batch.schema(), [Ok(batch)])?;
    }
    let all_hold = judgements.iter().all(|judgement| judgement.outcome == Outcome::Holds);
    Ok(Answer::of(all_hold || !args.check))
}

/// The predictions of a run's protocol, judged; none where it states none.
pub(super) fn judgements(global: &Global, session: &Session, run: &str) -> Result<Vec<Judgement>> {
    let judged = session.judged().iter().find(|judged| judged.run == run);
    let hypotheses = judged.map_or(&[][..], |judged| &judged.selected.protocol.hypotheses);
    hypotheses
        .iter()
        .map(|hypothesis| {
            let sql = query_of(hypothesis, global.store.queries.as_deref())?;
            judge(session, run, hypothesis, &sql)
                .with_context(|| format!("hypothesis {}", hypothesis.id))
        })
        .collect()
}

/// The other runs that the predictions of a run's protocol name.
pub(super) fn runs(session: &Session, run: &str) -> Vec<String> {
    let judged = session.judged().iter().find(|judged| judged.run == run);
    let hypotheses = judged.map_or(&[][..], |judged| &judged.selected.protocol.hypotheses);
    hypotheses.iter().flat_map(|hypothesis| hypothesis.runs.clone()).collect()
}

/// One row per part.
fn rows(run: &str, judgements: &[Judgement]) -> Result<RecordBatch> {
    let parts: Vec<_> = judgements
        .iter()
        .flat_map(|judgement| judgement.parts.iter().map(move |part| (judgement, part)))
        .collect();
    let columns = [
        ("run", parts.iter().map(|_| Some(run.to_owned())).collect::<StringArray>()),
        ("hypothesis", parts.iter().map(|(whole, _)| Some(whole.id.as_str())).collect()),
        ("statement", parts.iter().map(|(whole, _)| Some(whole.statement.as_str())).collect()),
        ("judged", parts.iter().map(|(whole, _)| Some(whole.outcome.to_string())).collect()),
        ("part", parts.iter().map(|(_, part)| Some(part.name.as_str())).collect()),
        ("outcome", parts.iter().map(|(_, part)| Some(part.outcome.to_string())).collect()),
        ("found", parts.iter().map(|(_, part)| Some(part.found.as_str())).collect()),
        ("expected", parts.iter().map(|(_, part)| Some(part.expected.as_str())).collect()),
        ("detail", parts.iter().map(|(_, part)| part.detail.as_deref()).collect()),
    ];
    let fields: Vec<Field> =
        columns.iter().map(|(name, _)| Field::new(*name, DataType::Utf8, true)).collect();
    let arrays = columns.into_iter().map(|(_, column)| Arc::new(column) as _).collect();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
}
