//! The functions that SQL lacks, over [`crate::stats`].

mod aggregate;
mod limit;
mod relation;
mod scalar;

pub(super) use relation::{NO_RUN, RelationFunction, RunFunction, bind, bind_relation};

use datafusion::logical_expr::{AggregateUDF, ScalarUDF};

/// Scalar functions: Student's t, half-widths, the beats rule, CPU limits, a refusal.
pub(super) fn scalars() -> Vec<ScalarUDF> {
    scalar::all()
}

/// Aggregates: exact percentiles, a least-squares line.
pub(super) fn aggregates() -> Vec<AggregateUDF> {
    vec![
        AggregateUDF::from(aggregate::Percentile::new()),
        AggregateUDF::from(aggregate::Percentiles::new()),
        AggregateUDF::from(aggregate::Line::new()),
    ]
}
