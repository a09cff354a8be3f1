//! The query engine: a session that knows the corpus and TAP_SCHEMA, and no
//! file, no statement and no function besides.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::CatalogProvider;
use datafusion::dataframe::DataFrame;
use datafusion::error::DataFusionError;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SessionStateBuilder, SessionStateDefaults};
use datafusion::physical_plan::{SendableRecordBatchStream, execute_stream};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;

use super::adql::{functions, statement};
use super::data::catalog::Catalog;
use super::data::column::{DESCRIPTION, Table, UNICODE};
use super::data::corpus::Corpus;
use super::data::tap_schema::{self, IVOA};
use super::error::{Refusal, TapError};
use super::watch::{TOO_LONG, Watch, guard};

const CATALOG: &str = "tap";

/// A query that is being answered.
pub struct Rows {
    /// The columns of the answer, described.
    pub schema: SchemaRef,
    /// Its rows: one more than asked for, where there are more. None where no
    /// row was asked for.
    pub stream: Option<SendableRecordBatchStream>,
}

/// The query engine.
pub struct Engine {
    context: SessionContext,
    /// Every table that it serves.
    pub tables: Vec<Table>,
    /// Whether some text of the corpus is more than ASCII.
    unicode: bool,
}

impl Engine {
    /// The engine of a corpus, with a bound on the memory of all its queries
    /// together, in bytes.
    ///
    /// # Errors
    /// If the engine does not start.
    pub fn new(corpus: Corpus, memory: usize) -> Result<Self, TapError> {
        let tables = tap_schema::tables(&corpus.columns);
        let unicode = corpus.columns.iter().any(|column| column.unicode);
        let failed = |error: DataFusionError| TapError::Engine(error.strip_backtrace());
        let catalog = Catalog::new(corpus, &tables).map_err(failed)?;
        let mut config = SessionConfig::new()
            .with_default_catalog_and_schema(CATALOG, IVOA)
            .with_create_default_catalog_and_schema(false)
            .with_information_schema(false)
            // Many queries at once share the processors better than the parts
            // of one do.
            .with_target_partitions(1);
        let options = config.options_mut();
        options.sql_parser.map_string_types_to_utf8view = false;
        options.sql_parser.enable_subquery_sort_elimination = false;
        options.execution.enable_recursive_ctes = false;
        // What is said of a column need not be the same on both sides of it.
        options.execution.skip_physical_aggregate_schema_check = true;
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(GreedyMemoryPool::new(memory)))
            .with_disk_manager_builder(
                DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled),
            )
            .build_arc()
            .map_err(failed)?;
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(runtime)
            .with_expr_planners(SessionStateDefaults::default_expr_planners())
            .with_scalar_functions(functions::scalars())
            .with_aggregate_functions(functions::aggregates())
            .build();
        let context = SessionContext::new_with_state(state);
        context.register_catalog(CATALOG, Arc::new(catalog) as Arc<dyn CatalogProvider>);
        Ok(Self { context, tables, unicode })
    }

    /// Starts to answer a query: at most `rows` rows, and one more that tells
    /// that there are others.
    ///
    /// # Errors
    /// If it is no query of ADQL, names what there is not, or fails at once.
    pub async fn query(
        &self,
        text: &str,
        rows: usize,
        watch: &Arc<Watch>,
    ) -> Result<Rows, Refusal> {
        let statement = statement::prepare(text)?;
        let state = self.context.state();
        let plan = state
            .statement_to_plan(Statement::Statement(Box::new(statement)))
            .await
            .map_err(|error| explain(&error))?;
        SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false)
            .verify_plan(&plan)
            .map_err(|error| explain(&error))?;
        let schema = self.described(plan.schema().inner());
        if rows == 0 {
            return Ok(Rows { schema, stream: None });
        }
        let frame = DataFrame::new(state, plan);
        let frame = frame.limit(0, Some(rows + 1)).map_err(|error| explain(&error))?;
        let context = Arc::new(frame.task_ctx());
        let plan = frame.create_physical_plan().await.map_err(|error| explain(&error))?;
        let stream = guard(plan, watch)
            .and_then(|plan| execute_stream(plan, context))
            .map_err(|error| explain(&error))?;
        Ok(Rows { schema, stream: Some(stream) })
    }

    /// The columns of an answer as clients are told of them: text that was
    /// computed may have been of any column.
    fn described(&self, schema: &SchemaRef) -> SchemaRef {
        let fields = schema.fields().iter().map(|field| {
            let is_computed =
                field.data_type().is_string() && !field.metadata().contains_key(DESCRIPTION);
            if !self.unicode || !is_computed {
                return Arc::clone(field);
            }
            let said = [(UNICODE.to_owned(), "1".to_owned())];
            Arc::new(field.as_ref().clone().with_metadata(said.into()))
        });
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }
}

/// The refusal of a query whose time is up.
pub fn too_long() -> Refusal {
    Refusal { status: 504, message: TOO_LONG.to_owned() }
}

/// What the engine says of a query, in one line.
pub fn explain(error: &DataFusionError) -> Refusal {
    let text = error.strip_backtrace();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match error.find_root() {
        DataFusionError::ResourcesExhausted(_) => {
            Refusal::busy("the query needs more memory than there is for all queries together")
        }
        _ if text.contains(TOO_LONG) => too_long(),
        DataFusionError::Internal(_) => Refusal { status: 500, message: text },
        _ => {
            let mut said = text.as_str();
            for prefix in
                ["Error during planning: ", "Execution error: ", "Schema error: ", "Arrow error: "]
            {
                said = said.strip_prefix(prefix).unwrap_or(said);
            }
            Refusal::bad(
                said.replace("tap.ivoa.", "ivoa.").replace("tap.tap_schema.", "tap_schema."),
            )
        }
    }
}
