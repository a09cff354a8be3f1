//! A table of the store as DataFusion sees it.

use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{DFSchema, Result, ScalarValue, Statistics};
use datafusion::datasource::TableType;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;

use crate::store::schema::Table;

/// The partition key.
pub(super) const RUN: &str = "run";

/// One Parquet file of a run.
#[derive(Debug, Clone)]
pub(super) struct RunFile {
    pub run: String,
    /// Path relative to the store.
    pub path: String,
    /// Bytes.
    pub size: u64,
    pub rows: u64,
}

/// A table of the store: the files that the manifests name, nothing else.
///
/// The run is known from the manifest, so that a filter on it decides which
/// files are opened at all, and leaves nothing for later.
#[derive(Debug)]
pub(super) struct StoreTable {
    /// `run`, then the columns of the files.
    schema: SchemaRef,
    /// The columns of the files, then `run`: the order in which files are read.
    scanned: TableSchema,
    files: Vec<RunFile>,
    url: ObjectStoreUrl,
}

impl StoreTable {
    pub(super) fn new(table: &Table, files: Vec<RunFile>, url: ObjectStoreUrl) -> Self {
        let run: FieldRef = Arc::new(Field::new(RUN, DataType::Utf8, false));
        let file_schema = table.file_schema();
        let fields: Vec<FieldRef> =
            std::iter::once(&run).chain(file_schema.fields()).map(Arc::clone).collect();
        Self {
            schema: Arc::new(Schema::new(fields)),
            scanned: TableSchema::builder(file_schema).with_table_partition_cols(vec![run]).build(),
            files,
            url,
        }
    }

    /// The files of the runs that satisfy every filter, each of which asks for
    /// nothing but the run.
    fn files_for(&self, state: &dyn Session, filters: &[Expr]) -> Result<Vec<&RunFile>> {
        let on_run = filters.iter().filter(|filter| asks_for_run_only(filter)).cloned();
        let Some(filter) = conjunction(on_run) else { return Ok(self.files.iter().collect()) };
        let schema = Arc::new(Schema::new(vec![Field::new(RUN, DataType::Utf8, false)]));
        let runs = StringArray::from_iter_values(self.files.iter().map(|file| &file.run));
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(runs)])?;
        let filter = state.create_physical_expr(filter, &DFSchema::try_from(schema)?)?;
        let kept = filter.evaluate(&batch)?.into_array(batch.num_rows())?;
        let kept: &BooleanArray = datafusion::common::cast::as_boolean_array(&kept)?;
        Ok(self
            .files
            .iter()
            .zip(kept)
            .filter_map(|(file, kept)| kept.unwrap_or(false).then_some(file))
            .collect())
    }
}

/// Whether the run alone decides a filter.
fn asks_for_run_only(filter: &Expr) -> bool {
    !filter.is_volatile()
        && filter.column_refs().iter().all(|column| column.name == RUN)
        && !filter.column_refs().is_empty()
}

#[async_trait]
impl TableProvider for StoreTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(filters
            .iter()
            .map(|filter| {
                if asks_for_run_only(filter) {
                    TableProviderFilterPushDown::Exact
                } else {
                    TableProviderFilterPushDown::Inexact
                }
            })
            .collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let files = self.files_for(state, filters)?;
        let rows: u64 = files.iter().map(|file| file.rows).sum();
        let mut source = ParquetSource::new(self.scanned.clone());
        let rest = filters.iter().filter(|filter| !asks_for_run_only(filter)).cloned();
        if let Some(predicate) = conjunction(rest) {
            let schema = DFSchema::try_from(Arc::clone(self.scanned.table_schema()))?;
            source = source.with_predicate(state.create_physical_expr(predicate, &schema)?);
        }
        let group: FileGroup = files.into_iter().map(partitioned).collect();
        let columns = self.scanned.file_schema().fields().len();
        let projection = projection.map(|indices| {
            // `run` comes first for whoever asks, last for whoever reads.
            indices.iter().map(|&index| if index == 0 { columns } else { index - 1 }).collect()
        });
        let projection =
            projection.unwrap_or_else(|| std::iter::once(columns).chain(0..columns).collect());
        let mut statistics = Statistics::new_unknown(self.scanned.table_schema());
        statistics.num_rows = Precision::Exact(usize::try_from(rows).unwrap_or(usize::MAX));
        let config = FileScanConfigBuilder::new(self.url.clone(), Arc::new(source))
            .with_file_group(group)
            .with_statistics(statistics)
            .with_projection_indices(Some(projection))?
            .with_limit(limit)
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }
}

fn partitioned(file: &RunFile) -> PartitionedFile {
    PartitionedFile::new(file.path.clone(), file.size)
        .with_partition_values(vec![ScalarValue::Utf8(Some(file.run.clone()))])
}
