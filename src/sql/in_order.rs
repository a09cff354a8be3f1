//! Makes an answer the same bytes each time.
//!
//! One partition is asked of every plan, yet the branches of a `UNION ALL` are
//! partitions of their own, and DataFusion takes their rows as they arrive. A sum
//! of floats depends on the order of its terms, so its last digit would depend
//! on which file was read first. Here the branches are read side by side and
//! passed on one after the other.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::{RecordBatchReceiverStream, RecordBatchStreamAdapter};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties, ReplaceChildrenOptions, SendableRecordBatchStream,
};
use futures::StreamExt;

/// Batches that a branch may be ahead of its turn.
const AHEAD: usize = 2;

/// The last step of planning: whatever joins partitions joins them in order.
#[derive(Debug)]
pub struct JoinInOrder;

impl PhysicalOptimizerRule for JoinInOrder {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = plan.transform_up(|plan| Ok(in_order(&plan))).map(|done| done.data)?;
        // An answer of several partitions would be joined as it is read.
        Ok(match plan.output_partitioning().partition_count() {
            0 | 1 => plan,
            _ => Arc::new(InOrderExec::new(plan)),
        })
    }

    fn name(&self) -> &'static str {
        "join_in_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn in_order(plan: &Arc<dyn ExecutionPlan>) -> Transformed<Arc<dyn ExecutionPlan>> {
    if let Some(joins) = plan.downcast_ref::<CoalescePartitionsExec>() {
        let joined: Arc<dyn ExecutionPlan> = Arc::new(InOrderExec::new(Arc::clone(joins.input())));
        return Transformed::yes(match joins.fetch() {
            None => joined,
            rows => Arc::new(GlobalLimitExec::new(joined, 0, rows)),
        });
    }
    if let Some(merges) = plan.downcast_ref::<SortPreservingMergeExec>() {
        // Of equal rows, the first branch's come first.
        let stable =
            SortPreservingMergeExec::new(merges.expr().clone(), Arc::clone(merges.input()))
                .with_fetch(merges.fetch())
                .with_round_robin_repartition(false);
        return Transformed::yes(Arc::new(stable));
    }
    Transformed::no(Arc::clone(plan))
}

/// The rows of the first partition of its input, then those of the second, ….
#[derive(Debug)]
struct InOrderExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl InOrderExec {
    fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        let mut equivalences = input.equivalence_properties().clone();
        equivalences.clear_orderings();
        equivalences.clear_per_partition_constants();
        let properties = PlanProperties::new(
            equivalences,
            Partitioning::UnknownPartitioning(1),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Self { input, properties: Arc::new(properties) }
    }
}

impl DisplayAs for InOrderExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InOrderExec")
    }
}

impl ExecutionPlan for InOrderExec {
    fn name(&self) -> &'static str {
        "InOrderExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self::new(children.swap_remove(0))))
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self::new(children.swap_remove(0))))
    }

    fn execute(
        &self,
        _partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        // Every branch is begun at once: a join in one may wait for another's
        // build side.
        let branches = (0..self.input.output_partitioning().partition_count())
            .map(|branch| {
                let mut rows = self.input.execute(branch, Arc::clone(&context))?;
                let mut ahead = RecordBatchReceiverStream::builder(self.schema(), AHEAD);
                let sender = ahead.tx();
                ahead.spawn(async move {
                    while let Some(batch) = rows.next().await {
                        let last = batch.is_err();
                        // Nobody listens where a limit was reached.
                        if sender.send(batch).await.is_err() || last {
                            break;
                        }
                    }
                    Ok(())
                });
                Ok(ahead.build())
            })
            .collect::<Result<Vec<_>>>()?;
        let rows = futures::stream::iter(branches).flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Int64Array, RecordBatch};
    use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
    use datafusion::catalog::streaming::StreamingTable;
    use datafusion::execution::SessionStateBuilder;
    use datafusion::physical_plan::streaming::PartitionStream;
    use datafusion::prelude::{SessionConfig, SessionContext};

    use super::*;

    /// One row that comes after others had that many turns.
    #[derive(Debug)]
    struct Late {
        row: i64,
        turns: usize,
        schema: SchemaRef,
    }

    impl PartitionStream for Late {
        fn schema(&self) -> &SchemaRef {
            &self.schema
        }

        fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
            let column = Arc::new(Int64Array::from(vec![self.row]));
            let batch = RecordBatch::try_new(Arc::clone(&self.schema), vec![column]).unwrap();
            let turns = self.turns;
            let rows = futures::stream::once(async move {
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
                Ok(batch)
            });
            Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), rows))
        }
    }

    /// The rows of a query over tables `slow` (1) and `quick` (2).
    fn rows(sql: &str, rule: Option<JoinInOrder>) -> Vec<i64> {
        let mut state = SessionStateBuilder::new()
            .with_config(SessionConfig::new().with_target_partitions(1))
            .with_default_features();
        if let Some(rule) = rule {
            state = state.with_physical_optimizer_rule(Arc::new(rule));
        }
        let context = SessionContext::new_with_state(state.build());
        let schema = Arc::new(Schema::new(vec![Field::new("row", DataType::Int64, false)]));
        for (name, row, turns) in [("slow", 1, 50), ("quick", 2, 0)] {
            let late = Late { row, turns, schema: Arc::clone(&schema) };
            let table = StreamingTable::try_new(Arc::clone(&schema), vec![Arc::new(late)]).unwrap();
            context.register_table(name, Arc::new(table)).unwrap();
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let batches =
            runtime.block_on(async { context.sql(sql).await.unwrap().collect().await.unwrap() });
        batches
            .iter()
            .flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec())
            .collect()
    }

    const UNION: &str = "SELECT row FROM slow UNION ALL SELECT row FROM quick";

    #[test]
    fn branches_come_in_the_order_in_which_they_are_written() {
        // What happens without it, and with it.
        assert_eq!(rows(UNION, None), [2, 1]);
        assert_eq!(rows(UNION, Some(JoinInOrder)), [1, 2]);
    }

    #[test]
    fn joins_within_a_query_and_limits_are_in_order_too() {
        let grouped = format!("SELECT first_value(row) AS row FROM ({UNION}) AS u");
        assert_eq!(rows(&grouped, Some(JoinInOrder)), [1]);
        let limited = format!("SELECT row FROM ({UNION}) AS u LIMIT 1");
        assert_eq!(rows(&limited, Some(JoinInOrder)), [1]);
        let sorted = format!("SELECT row FROM ({UNION}) AS u ORDER BY row % 1");
        assert_eq!(rows(&sorted, Some(JoinInOrder)), [1, 2]);
    }
}
