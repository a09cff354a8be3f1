//! Ending a query that takes too long or that nobody waits for any more.
//!
//! A join of two large tables can be busy for hours between two rows of its
//! output. Its condition is evaluated all the time, so that the clock is looked
//! at there; and a join that has much to give is made to let others have their
//! turn between two batches.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{exec_err, internal_err};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr::ScalarFunctionExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder,
};
use tokio::task::AbortHandle;

/// Whether a query may go on.
#[derive(Debug)]
pub struct Watch {
    deadline: Instant,
    cancelled: AtomicBool,
    stopping: Arc<AtomicBool>,
}

impl Watch {
    /// Lets a query go on until then, or until the server stops.
    pub fn new(deadline: Instant, stopping: &Arc<AtomicBool>) -> Arc<Self> {
        let stopping = Arc::clone(stopping);
        Arc::new(Self { deadline, cancelled: AtomicBool::new(false), stopping })
    }

    /// When the time is up.
    pub fn deadline(&self) -> tokio::time::Instant {
        self.deadline.into()
    }

    /// Why the query must end, if it must.
    pub fn over(&self) -> Option<&'static str> {
        if self.cancelled.load(Ordering::Relaxed) {
            Some("the query was stopped")
        } else if self.stopping.load(Ordering::Relaxed) {
            Some("the server stops")
        } else {
            (Instant::now() >= self.deadline).then_some(TOO_LONG)
        }
    }
}

/// What is said of a query whose time is up.
pub const TOO_LONG: &str = "the query took too long";

/// Ends what answers a query when it is dropped: nobody waits any more.
#[derive(Debug)]
pub struct Ending {
    /// Whether the query may go on.
    pub watch: Arc<Watch>,
    /// The task that answers it.
    pub task: AbortHandle,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.watch.cancelled.store(true, Ordering::Relaxed);
        self.task.abort();
    }
}

/// Has the joins of a plan look at the clock.
///
/// # Errors
/// If a join cannot be rebuilt.
pub fn guard(plan: Arc<dyn ExecutionPlan>, watch: &Arc<Watch>) -> Result<Arc<dyn ExecutionPlan>> {
    let guarded = plan.transform_up(|node| {
        if !node.name().contains("Join") {
            return Ok(Transformed::no(node));
        }
        let join = guard_join(node, watch)?;
        let cooperative: Arc<dyn ExecutionPlan> = Arc::new(CooperativeExec::new(join));
        Ok(Transformed::yes(cooperative))
    })?;
    Ok(guarded.data)
}

fn guard_join(node: Arc<dyn ExecutionPlan>, watch: &Arc<Watch>) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>()
        && let Some(filter) = join.filter()
    {
        let (left, right) = (Arc::clone(join.left()), Arc::clone(join.right()));
        let guarded = NestedLoopJoinExecBuilder::new(left, right, *join.join_type())
            .with_filter(Some(guard_filter(filter, watch)?))
            .with_projection_ref(join.projection().clone())
            .build()?;
        return Ok(Arc::new(guarded));
    }
    if let Some(join) = node.downcast_ref::<HashJoinExec>()
        && let Some(filter) = join.filter()
    {
        let filter = guard_filter(filter, watch)?;
        return join.builder().with_filter(Some(filter)).build_exec();
    }
    Ok(node)
}

fn guard_filter(filter: &JoinFilter, watch: &Arc<Watch>) -> Result<JoinFilter> {
    let function = Arc::new(ScalarUDF::from(Watched {
        watch: Arc::clone(watch),
        signature: Signature::any(1, Volatility::Volatile),
    }));
    let guarded = ScalarFunctionExpr::new(
        NAME,
        function,
        vec![Arc::clone(filter.expression())],
        Arc::new(Field::new(NAME, DataType::Boolean, true)),
        Arc::new(ConfigOptions::default()),
    );
    Ok(JoinFilter::new(
        Arc::new(guarded),
        filter.column_indices().to_vec(),
        Arc::clone(filter.schema()),
    ))
}

const NAME: &str = "in_time";

/// A condition as it is, as long as the query may go on.
#[derive(Debug)]
struct Watched {
    watch: Arc<Watch>,
    signature: Signature,
}

impl PartialEq for Watched {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.watch, &other.watch)
    }
}

impl Eq for Watched {}

impl Hash for Watched {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.watch).hash(state);
    }
}

impl ScalarUDFImpl for Watched {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(reason) = self.watch.over() {
            return exec_err!("{reason}");
        }
        match args.args.into_iter().next() {
            Some(condition) => Ok(condition),
            None => internal_err!("a condition is missing"),
        }
    }
}
