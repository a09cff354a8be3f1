//! The functions that a query can use: ADQL's, and no other.
//!
//! A function that makes text or lists out of nothing could take any amount of
//! memory, so that only these are known to the engine.

use std::sync::Arc;

use datafusion::functions::{core, math, string};
use datafusion::functions_aggregate as aggregate;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};

use super::numbers;
use crate::target::tap::geometry::functions as geometry;

pub use super::numbers::CONCAT;

/// Functions that are not of ADQL, as the capabilities list them.
pub const UDFS: [&str; 3] =
    ["nullif(a ANY, b ANY) -> ANY", "stddev(x DOUBLE) -> DOUBLE", "var_samp(x DOUBLE) -> DOUBLE"];

/// The scalar functions.
pub fn scalars() -> Vec<Arc<ScalarUDF>> {
    let named = |function: Arc<ScalarUDF>, alias: &'static str| {
        Arc::new(function.as_ref().clone().with_aliases([alias]))
    };
    let mut functions = vec![
        math::abs(),
        math::acos(),
        math::asin(),
        math::atan(),
        math::atan2(),
        named(math::ceil(), "ceiling"),
        math::cos(),
        math::cot(),
        math::degrees(),
        math::exp(),
        math::floor(),
        // ADQL's LOG is the natural one.
        named(math::ln(), "log"),
        math::log10(),
        math::pi(),
        math::power(),
        math::radians(),
        math::round(),
        math::sin(),
        math::sqrt(),
        math::tan(),
        named(math::trunc(), "truncate"),
        string::lower(),
        string::upper(),
        core::coalesce(),
        core::nullif(),
    ];
    functions.extend(numbers::all().into_iter().map(Arc::new));
    functions.extend(geometry::all().map(Arc::new));
    functions
}

/// The aggregate functions.
pub fn aggregates() -> Vec<Arc<AggregateUDF>> {
    vec![
        aggregate::count::count_udaf(),
        aggregate::sum::sum_udaf(),
        aggregate::average::avg_udaf(),
        aggregate::min_max::min_udaf(),
        aggregate::min_max::max_udaf(),
        aggregate::stddev::stddev_udaf(),
        aggregate::variance::var_samp_udaf(),
    ]
}
