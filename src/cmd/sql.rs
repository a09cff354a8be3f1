//! `tapstat sql`: any question, in SQL.

use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use arrow::array::{ArrayRef, RecordBatch, StringArray};

use super::args::{Global, RunFilter};
use super::output::{self, Output};
use super::{Answer, session};
use crate::report::{Align, Grid, Page};
use crate::sql::{Relation, RelationColumn, RelationKind};

const EXAMPLES: &str = "\
Examples:
  tapstat sql \"SELECT target, median(rps) FROM rungs GROUP BY target\"
  tapstat sql -f question.sql --output answer.parquet
  echo 'SELECT * FROM anomalies' | tapstat sql --format csv
  tapstat sql --tables
  tapstat sql --show verdicts > my-queries/verdicts.sql";

/// Ask the store anything, in SQL
///
/// One query over the tables of the store and the views that the other commands
/// show. Nothing can be changed, and no other file be read. The query is the
/// argument, or in a file, or on standard input.
///
/// Nulls are empty fields in CSV (an empty text is `""`), null in JSON, and
/// `—` in tables. Floats have the fewest digits that read back to the same
/// value. An answer without rows still has its header. `--format arrow` is the
/// IPC file format in a file and the stream format on standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The query; `-` for standard input
    #[arg(value_name = "QUERY", conflicts_with_all = ["file", "tables", "show"])]
    pub query: Option<String>,

    /// Read the query from a file
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["tables", "show"])]
    pub file: Option<PathBuf>,

    /// List tables, views and table functions, with their columns
    #[arg(long, conflicts_with = "show")]
    pub tables: bool,

    /// Print the SQL of a view or table function
    #[arg(long, value_name = "VIEW")]
    pub show: Option<String>,

    #[command(flatten)]
    pub run: RunFilter,
}

pub fn run(args: &Args, global: &Global) -> Result<Answer> {
    let session = || session::open_filtered(global, &args.run);
    if let Some(view) = &args.show {
        output::refuse_format(&global.output, "sql --show")?;
        let session = session()?;
        let sql = session.view_sql(view)?;
        Output::open_text(&global.output)?.text(&format!("{}\n", sql.trim_end()))?;
    } else if args.tables {
        let relations = session()?.catalog()?;
        let output = Output::open(&global.output)?;
        if output.format.is_page() {
            output.page(&page(&relations))?;
        } else {
            let batch = batch(&relations)?;
            output.rows(&batch.schema(), [Ok(batch)])?;
        }
    } else {
        let sql = query(args)?;
        let output = Output::open(&global.output)?;
        let session = session()?;
        let rows = session.stream(&sql)?;
        output.rows(&rows.schema(), rows.map(|batch| Ok(batch?)))?;
    }
    Ok(Answer::Yes)
}

/// The query, from wherever it is.
fn query(args: &Args) -> Result<String> {
    if let Some(path) = &args.file {
        return std::fs::read_to_string(path).with_context(|| path.display().to_string());
    }
    match args.query.as_deref() {
        Some("-") => {}
        Some(query) => return Ok(query.to_owned()),
        None if std::io::stdin().is_terminal() => {
            bail!("no query: expected one as argument, with -f FILE, or on standard input")
        }
        None => {}
    }
    let mut query = String::new();
    std::io::stdin().read_to_string(&mut query).context("the query on standard input")?;
    Ok(query)
}

fn kind(relation: &Relation) -> &'static str {
    match relation.kind {
        RelationKind::Table => "table",
        RelationKind::View => "view",
        RelationKind::Function => "table function",
    }
}

fn page(relations: &[Relation]) -> Page {
    let mut page = Page::new();
    for relation in relations {
        page.heading(1, format!("{}, {}: {}", relation.name, kind(relation), relation.doc));
        let mut grid = Grid::new([
            ("column", Align::Left),
            ("type", Align::Left),
            ("unit", Align::Left),
            ("about", Align::Left),
        ]);
        for column in &relation.columns {
            let RelationColumn { name, data_type, unit, doc } = column;
            grid.push([name, data_type, unit, doc].map(|text| text.as_str().into()).into());
        }
        page.table(grid);
    }
    page
}

fn batch(relations: &[Relation]) -> Result<RecordBatch> {
    let rows = || {
        relations
            .iter()
            .flat_map(|relation| relation.columns.iter().map(move |column| (relation, column)))
    };
    let text = |get: fn((&Relation, &RelationColumn)) -> String| -> ArrayRef {
        // A column without a unit has none, not one of no letters.
        Arc::new(
            rows().map(get).map(|t| Some(t).filter(|t| !t.is_empty())).collect::<StringArray>(),
        )
    };
    Ok(RecordBatch::try_from_iter_with_nullable([
        ("relation", text(|(relation, _)| relation.name.clone()), true),
        ("kind", text(|(relation, _)| kind(relation).to_owned()), true),
        ("about_relation", text(|(relation, _)| relation.doc.clone()), true),
        ("column", text(|(_, column)| column.name.clone()), true),
        ("type", text(|(_, column)| column.data_type.clone()), true),
        ("unit", text(|(_, column)| column.unit.clone()), true),
        ("about", text(|(_, column)| column.doc.clone()), true),
    ])?)
}
