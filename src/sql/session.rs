//! Opening a session, and asking it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion::catalog::{TableFunctionImpl, TableProvider};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::object_store::local::LocalFileSystem;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::{DFParserBuilder, Statement};
use futures::StreamExt;
use tokio::runtime::Runtime;

use super::catalog::{StoreCatalog, StoreSchema};
use super::error::plain;
use super::functions::{self, NO_RUN, RelationFunction, RunFunction, bind, bind_relation};
use super::in_order::JoinInOrder;
use super::table::{RUN, RunFile, StoreTable};
use super::views::{self, View, ViewKind};
use super::{SqlError, rules};
use crate::protocol::{self, Measured, RuleFlags, Selected};
use crate::store::schema::{self, TABLES};
use crate::store::{Manifest, Store};

const CATALOG: &str = "tapstat";
const SCHEMA: &str = "store";
/// Where the store's files are, for DataFusion: paths below it are relative to
/// the store, so that nothing outside it can be named.
const STORE_URL: &str = "store://local/";

/// How a session is opened.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only these runs exist for the session; all where `None`.
    pub runs: Option<Vec<String>>,
    /// The protocol of every run, in place of its own.
    pub protocol: Option<PathBuf>,
    /// A folder whose query files replace the shipped ones.
    pub queries: Option<PathBuf>,
    /// What the command line changes of the rule.
    pub rule: RuleFlags,
}

/// A run, the protocol that holds for it, and its targets with their servers.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The run's id.
    pub run: String,
    /// Its protocol and rule.
    pub selected: Selected,
    /// Server by target.
    pub targets: BTreeMap<String, String>,
}

/// All rows of an answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Its columns, also where it has no rows.
    pub schema: SchemaRef,
    /// Its rows.
    pub batches: Vec<RecordBatch>,
}

impl Answer {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelationKind {
    /// Files of the store, or what the protocol says of its runs.
    Table,
    /// A query over tables and other views.
    View,
    /// A query with runs as arguments.
    Function,
}

/// A table, view or table function, described.
#[derive(Debug, Clone)]
pub struct Relation {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: RelationKind,
    /// One line about it.
    pub doc: String,
    /// Its columns, in order.
    pub columns: Vec<RelationColumn>,
}

/// A column, described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationColumn {
    /// Its name.
    pub name: String,
    /// Its Arrow type.
    pub data_type: String,
    /// The unit of its figures, empty where it has none.
    pub unit: String,
    /// One line about it.
    pub doc: String,
}

/// A session over one store.
pub struct Session {
    context: SessionContext,
    runtime: Runtime,
    views: Vec<View>,
    judged: Vec<Judged>,
    /// Held for its lock: nobody replaces a run while it is read.
    store: Store,
}

impl Session {
    /// Opens a session over a store.
    ///
    /// # Errors
    /// If a protocol or a query file cannot be used, or the store's folder
    /// cannot be reached.
    pub fn open(store: Store, options: Options) -> Result<Self, SqlError> {
        let wanted: Option<BTreeSet<&str>> =
            options.runs.as_ref().map(|runs| runs.iter().map(String::as_str).collect());
        let manifests: Vec<&Manifest> = store
            .manifests()
            .iter()
            .filter(|manifest| {
                wanted.as_ref().is_none_or(|runs| runs.contains(manifest.run.as_str()))
            })
            .collect();
        let judged = manifests
            .iter()
            .map(|manifest| judge(&store, manifest, &options))
            .collect::<Result<Vec<_>, _>>()?;
        let views = views::load(options.queries.as_deref())?;

        let mut config = SessionConfig::new()
            .with_default_catalog_and_schema(CATALOG, SCHEMA)
            .with_create_default_catalog_and_schema(false)
            .with_information_schema(true)
            // Sums of floats depend on the order of their terms: one partition
            // keeps it, and [`JoinInOrder`] where a union makes more.
            .with_target_partitions(1);
        // Text is Utf8 in the store and stays so in every answer.
        config.options_mut().execution.parquet.schema_force_view_types = false;
        config.options_mut().sql_parser.map_string_types_to_utf8view = false;
        // Views say in what order their rows come.
        config.options_mut().sql_parser.enable_subquery_sort_elimination = false;
        let mut state = SessionStateBuilder::new()
            .with_config(config)
            .with_default_features()
            .with_physical_optimizer_rule(Arc::new(JoinInOrder))
            .build();
        for function in functions::scalars() {
            datafusion::execution::FunctionRegistry::register_udf(&mut state, Arc::new(function))?;
        }
        for function in functions::aggregates() {
            datafusion::execution::FunctionRegistry::register_udaf(&mut state, Arc::new(function))?;
        }
        let context = SessionContext::new_with_state(state);

        let url = ObjectStoreUrl::parse(STORE_URL)?;
        let files =
            LocalFileSystem::new_with_prefix(store.root()).map_err(DataFusionError::from)?;
        context.register_object_store(url.as_ref(), Arc::new(files));
        let mut tables = BTreeMap::<String, Arc<dyn TableProvider>>::new();
        for table in TABLES {
            let files = files_of(table.name, &manifests);
            let provider = StoreTable::new(table, files, url.clone());
            tables.insert(table.name.to_owned(), Arc::new(provider));
        }
        tables.insert("rule".to_owned(), rules::rule(&judged, options.rule.guard_max)?);
        tables.insert("containers".to_owned(), rules::containers(&judged)?);
        tables.insert("promised".to_owned(), rules::promised(&judged)?);
        let queries = views
            .iter()
            .filter(|view| view.kind == ViewKind::View)
            .map(|view| (view.name.to_owned(), view.sql.clone()))
            .collect();
        let state = context.state_weak_ref();
        let state = Box::new(move || state.upgrade().map(|state| state.read().clone()));
        let schema = Arc::new(StoreSchema::new(tables, queries, state));
        context.register_catalog(CATALOG, Arc::new(StoreCatalog::new(SCHEMA, schema)));
        let runs: Vec<String> = judged.iter().map(|judged| judged.run.clone()).collect();
        for view in &views {
            let sql = view.sql.clone();
            let function: Arc<dyn TableFunctionImpl> = match view.kind {
                ViewKind::View => continue,
                ViewKind::OfRuns => Arc::new(RunFunction::new(view.name, sql, runs.clone())),
                ViewKind::OfRelation => Arc::new(RelationFunction::new(view.name, sql)),
            };
            context.register_udtf(view.name, function);
        }
        let runtime =
            tokio::runtime::Builder::new_current_thread().build().map_err(SqlError::Runtime)?;
        Ok(Self { context, runtime, views, judged, store })
    }

    /// The store that is asked.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The runs of the session, each with its protocol and rule, sorted.
    pub fn judged(&self) -> &[Judged] {
        &self.judged
    }

    /// Every row that a query gives.
    ///
    /// # Errors
    /// If it is not a query, names what does not exist, or fails while it runs.
    pub fn query(&self, sql: &str) -> Result<Answer, SqlError> {
        let rows = self.stream(sql)?;
        let schema = rows.schema();
        let batches = rows.collect::<Result<Vec<_>, _>>()?;
        Ok(Answer { schema, batches })
    }

    /// The rows that a query gives, as they come.
    ///
    /// # Errors
    /// As [`Session::query`]; failures while it runs are the iterator's.
    pub fn stream(&self, sql: &str) -> Result<Rows<'_>, SqlError> {
        let stream = self.runtime.block_on(self.execute(sql))?;
        Ok(Rows { session: self, stream })
    }

    async fn execute(&self, sql: &str) -> Result<SendableRecordBatchStream, SqlError> {
        let plan = self
            .context
            .state()
            .statement_to_plan(one_statement(sql)?)
            .await
            .map_err(|error| self.explain(error))?;
        SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false)
            .verify_plan(&plan)
            .map_err(|error| SqlError::NotAQuery(plain(&error)))?;
        let frame = self.context.execute_logical_plan(plan).await?;
        Ok(frame.execute_stream().await?)
    }

    /// Adds to an error about a table the name that was likely meant.
    fn explain(&self, error: DataFusionError) -> SqlError {
        let text = error.strip_backtrace();
        let Some((_, rest)) = text.split_once("table '") else { return error.into() };
        let Some((name, "not found")) =
            rest.split_once("' ").map(|(name, rest)| (name, rest.trim()))
        else {
            return error.into();
        };
        let name = name.strip_prefix(&format!("{CATALOG}.{SCHEMA}.")).unwrap_or(name).to_owned();
        let suggested = nearest(&name);
        SqlError::UnknownTable { name, suggested }
    }

    /// Every table, view and table function, with its columns.
    ///
    /// # Errors
    /// If a view cannot be planned.
    pub fn catalog(&self) -> Result<Vec<Relation>, SqlError> {
        let stored = TABLES.iter().map(stored_relation);
        let made = [
            ("rule", "One row per run: the rule that it is judged by.", rules::RULE),
            (
                "containers",
                "Which sampled containers make up each target, by the protocol.",
                rules::CONTAINERS,
            ),
            (
                "promised",
                "One row per cell that the grid of the protocol promises.",
                rules::PROMISED,
            ),
        ];
        let mut relations: Vec<Relation> = stored.collect();
        for (name, doc, columns) in made {
            relations.push(self.relation(
                name,
                RelationKind::Table,
                &all_of(name),
                doc,
                &|name| {
                    let (_, unit, doc) = columns.iter().find(|column| column.0 == name)?;
                    Some(((*unit).to_owned(), (*doc).to_owned()))
                },
            )?);
        }
        for view in &self.views {
            let (kind, sql) = match view.kind {
                ViewKind::View => (RelationKind::View, all_of(view.name)),
                ViewKind::OfRuns => (RelationKind::Function, bind(&view.sql, NO_RUN, NO_RUN, None)),
                ViewKind::OfRelation => {
                    (RelationKind::Function, bind_relation(&view.sql, "judged_cells"))
                }
            };
            let columns = view.columns();
            relations.push(self.relation(view.name, kind, &sql, view.doc(), &|name| {
                let column = columns.iter().find(|column| column.name == name)?;
                Some((column.unit.clone(), column.doc.clone()))
            })?);
        }
        Ok(relations)
    }

    /// Describes a relation by the schema of its plan.
    fn relation(
        &self,
        name: &str,
        kind: RelationKind,
        sql: &str,
        doc: &str,
        describe: &dyn Fn(&str) -> Option<(String, String)>,
    ) -> Result<Relation, SqlError> {
        let plan = self.runtime.block_on(self.context.state().create_logical_plan(sql))?;
        let columns = plan
            .schema()
            .fields()
            .iter()
            .map(|field| {
                let (unit, doc) = describe(field.name()).unwrap_or_default();
                let data_type = field.data_type().to_string();
                RelationColumn { name: field.name().clone(), data_type, unit, doc }
            })
            .collect();
        Ok(Relation { name: name.to_owned(), kind, doc: doc.to_owned(), columns })
    }
}

/// The rows of an answer, batch by batch.
pub struct Rows<'session> {
    session: &'session Session,
    stream: SendableRecordBatchStream,
}

impl Rows<'_> {
    /// The columns of every batch.
    pub fn schema(&self) -> SchemaRef {
        self.stream.schema()
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<RecordBatch, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.session.runtime.block_on(self.stream.next())?;
        Some(batch.map_err(SqlError::from))
    }
}

/// The one statement that a text is.
fn one_statement(sql: &str) -> Result<Statement, SqlError> {
    let mut statements = DFParserBuilder::new(sql).build()?.parse_statements()?;
    match (statements.pop_front(), statements.len()) {
        (Some(statement), 0) => Ok(statement),
        (first, rest) => Err(SqlError::Statements(rest + usize::from(first.is_some()))),
    }
}

/// The table or view whose name is most like that, if one is.
pub(super) fn nearest(name: &str) -> Option<String> {
    let known = TABLES
        .iter()
        .map(|table| table.name)
        .chain(["rule", "containers", "promised"])
        .chain(views::names());
    known
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .filter(|(distance, known)| *distance <= known.len().max(name.len()) / 3 + 1)
        .min()
        .map(|(_, known)| known.to_owned())
}

/// The SQL of a view or table function: of the folder of queries if it has the
/// file, else the one that ships.
///
/// # Errors
/// If there is none of that name, or its file cannot be read.
pub fn view_sql(name: &str, queries: Option<&Path>) -> Result<String, SqlError> {
    let view = views::load(queries)?.into_iter().find(|view| view.name == name);
    view.map(|view| view.sql)
        .ok_or_else(|| SqlError::UnknownView { name: name.to_owned(), suggested: nearest(name) })
}

/// The files of one table that the manifests name.
fn files_of(table: &str, manifests: &[&Manifest]) -> Vec<RunFile> {
    manifests
        .iter()
        .flat_map(|manifest| {
            let outputs = manifest.outputs.iter().filter(|output| output.table == table);
            outputs.map(|output| RunFile {
                run: manifest.run.clone(),
                path: output.path.clone(),
                size: output.size,
                rows: output.rows,
            })
        })
        .collect()
}

/// The protocol and rule of a run.
fn judge(store: &Store, manifest: &Manifest, options: &Options) -> Result<Judged, SqlError> {
    let brought = brought_protocol(store, manifest)?;
    let measured = Measured {
        targets: manifest.contents.targets.keys().cloned().collect(),
        tiers: manifest.contents.tiers.iter().cloned().collect(),
    };
    let selected =
        protocol::select(options.protocol.as_deref(), brought.as_deref(), &measured, &options.rule)
            .map_err(|source| SqlError::Protocol { run: manifest.run.clone(), source })?;
    Ok(Judged { run: manifest.run.clone(), selected, targets: manifest.contents.targets.clone() })
}

/// The text of the protocol that a run directory brought, from the store.
fn brought_protocol(store: &Store, manifest: &Manifest) -> Result<Option<String>, SqlError> {
    let Some(output) = manifest.outputs.iter().find(|output| output.table == "protocols") else {
        return Ok(None);
    };
    let path = store.root().join(&output.path);
    let file = std::fs::File::open(&path).map_err(|source| SqlError::Io { path, source })?;
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(|builder| builder.build())
        .map_err(DataFusionError::from)?;
    for batch in reader {
        let batch = batch.map_err(DataFusionError::from)?;
        let Some(column) = batch.column_by_name("toml") else { continue };
        let texts = column.as_string::<i32>();
        if texts.len() > 0 && texts.is_valid(0) {
            return Ok(Some(texts.value(0).to_owned()));
        }
    }
    Ok(None)
}

fn all_of(name: &str) -> String {
    format!("SELECT * FROM {name}")
}

fn stored_relation(table: &schema::Table) -> Relation {
    let run = RelationColumn {
        name: RUN.to_owned(),
        data_type: "Utf8".to_owned(),
        unit: String::new(),
        doc: "run id".to_owned(),
    };
    let columns = table.columns.iter().map(|column| RelationColumn {
        name: column.name.to_owned(),
        data_type: column.kind.data_type().to_string(),
        unit: column.unit.to_owned(),
        doc: column.doc.to_owned(),
    });
    Relation {
        name: table.name.to_owned(),
        kind: RelationKind::Table,
        doc: table.doc.to_owned(),
        columns: std::iter::once(run).chain(columns).collect(),
    }
}
