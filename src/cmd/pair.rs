//! What `reproduce` and `shift` share: two runs, and in what they differ.

use anyhow::{Result, bail};

use super::args::{CellFilter, Global};
use super::output::{Output, say};
use super::select::{Columns, literal, query};
use super::session;
use crate::report::{Difference, Facts, Page, Pair, ReportError, View, differences, stamped};
use crate::sql::Session;

/// Which two runs.
#[derive(Debug, Clone, clap::Args)]
pub struct Runs {
    /// The run that was there first: any unique part of its id
    #[arg(value_name = "A")]
    pub a: String,

    /// The run that is set beside it
    #[arg(value_name = "B")]
    pub b: String,

    /// The tier meant, where only one of the runs has tiers [default: its smallest]
    #[arg(value_name = "TIER")]
    pub tier: Option<String>,
}

/// What a table function says of two runs.
pub struct Asked {
    session: Session,
    a: String,
    b: String,
    /// Its rows.
    pub view: View,
}

impl Asked {
    /// Asks it.
    pub fn new(
        global: &Global,
        runs: &Runs,
        filter: &CellFilter,
        columns: &Columns,
    ) -> Result<Self> {
        let store = session::open_store(global)?;
        let (a, b) = (store.find_run(&runs.a)?.run.clone(), store.find_run(&runs.b)?.run.clone());
        if a == b {
            bail!("both names mean run {a}: expected two runs");
        }
        let mut arguments = vec![literal(&a), literal(&b)];
        arguments.extend(runs.tier.as_deref().map(literal));
        let sql = query(&format!("{}({})", columns.view, arguments.join(", ")), filter, columns)?;
        let session = session::open(global, store, Some(vec![a.clone(), b.clone()]))?;
        let view = session::view(&session, columns.view, &sql)?;
        Ok(Self { session, a, b, view })
    }

    /// Shows it: as the page for people, else its rows.
    pub fn show(
        &self,
        global: &Global,
        page: impl FnOnce(&View, Pair<'_>) -> Result<Page, ReportError>,
    ) -> Result<()> {
        let output = Output::open(&global.output)?;
        if self.view.is_empty() {
            say("tapstat: note: the runs have no cell in common that matches");
        }
        // The first run's before the second's, whatever their ids.
        let mut stamps = session::stamps(&self.session);
        stamps.sort_by_key(|stamp| stamp.run != self.a);
        if output.format.is_page() {
            let differences = compare(&self.session, &self.a, &self.b)?;
            let pair = Pair { a: &self.a, b: &self.b, differences: &differences, stamps: &stamps };
            output.page(&page(&self.view, pair)?)
        } else {
            let batch = stamped(&self.view, &stamps)?;
            output.rows(&batch.schema(), [Ok(batch)])
        }
    }
}

/// In what two runs differ, as far as the store knows.
pub(super) fn compare(session: &Session, a: &str, b: &str) -> Result<Vec<Difference>> {
    let runs = session::view(session, "runs", "SELECT * FROM runs")?;
    let workers = session::view(
        session,
        "rungs",
        "SELECT DISTINCT run, generator_workers FROM rungs ORDER BY run, generator_workers",
    )?;
    let pins = session::view(session, "pins", "SELECT * FROM pins")?;
    let facts = |run: &str| {
        let judged = session.judged().iter().find(|judged| judged.run == run);
        let promised =
            judged.and_then(|judged| judged.selected.protocol.workload.generator_workers);
        Facts::read(run, &runs, &workers, &pins, promised)
    };
    Ok(differences(&facts(a)?, &facts(b)?))
}
