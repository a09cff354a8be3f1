//! The corpus as the query engine reads it.

use std::sync::Arc;

use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::TableType;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;

use super::index::{Indices, Rows};
use super::predicate::Lookup;

/// Rows that are handed on at once.
const BATCH: usize = 8192;

/// A table in memory, with its indices.
#[derive(Debug)]
pub struct MemoryTable {
    rows: RecordBatch,
    indices: Option<Indices>,
}

impl MemoryTable {
    /// A table that is always read whole.
    pub fn plain(rows: RecordBatch) -> Self {
        Self { rows, indices: None }
    }

    /// The ObsCore table, in the order of its declinations.
    pub fn indexed(rows: RecordBatch) -> Self {
        let indices = Some(Indices::new(&rows));
        Self { rows, indices }
    }

    /// The rows that can satisfy all conditions.
    pub fn candidates(&self, conditions: &[Expr]) -> Rows {
        let all = Rows::Range(0..self.rows.num_rows());
        let Some(indices) = &self.indices else { return all };
        conditions
            .iter()
            .filter_map(|condition| Lookup::of(condition)?.rows(indices, &self.rows))
            .fold(all, Rows::and)
    }
}

#[async_trait]
impl TableProvider for MemoryTable {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
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
            .map(|filter| match (&self.indices, Lookup::of(filter)) {
                // The engine still tests each row: an index only finds some.
                (Some(_), Some(_)) => TableProviderFilterPushDown::Inexact,
                _ => TableProviderFilterPushDown::Unsupported,
            })
            .collect())
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let candidates = self.candidates(filters);
        let rows = match projection {
            Some(columns) => self.rows.project(columns)?,
            None => self.rows.clone(),
        };
        let end = limit.map_or(candidates.len(), |limit| limit.min(candidates.len()));
        let mut batches = Vec::new();
        for start in (0..end).step_by(BATCH) {
            let length = BATCH.min(end - start);
            batches.push(match &candidates {
                Rows::Range(range) => rows.slice(range.start + start, length),
                Rows::Some(chosen) => {
                    let chosen = UInt32Array::from(chosen[start..start + length].to_vec());
                    take_record_batch(&rows, &chosen)?
                }
            });
        }
        let source = MemorySourceConfig::try_new_exec(&[batches], rows.schema(), None)?;
        Ok(source)
    }
}
