//! What the protocol says of each run, as the tables `rule` and `containers`.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use datafusion::error::Result;

use super::Judged;

/// A column of a table that is made up for the session: name, unit, about.
pub(super) type Described = (&'static str, &'static str, &'static str);

/// The columns of `rule`.
pub(super) const RULE: &[Described] = &[
    ("run", "", "run id"),
    ("source", "", "where the rule comes from"),
    ("confidence", "fraction", "confidence of the intervals"),
    ("tie_floor", "fraction", "smallest relative difference that counts"),
    ("error_ceiling", "fraction", "largest error fraction of a clean target"),
    ("guard_max", "fraction of a core", "peak of a generator worker at which a rung is voided"),
    ("void_at", "fraction of a core", "--guard-max where given: voids stored rungs anew"),
    ("min_coverage", "fraction", "smallest sampled share of a window"),
    ("estimator", "", "what stands for a cell: mean or median"),
    ("repetitions", "1", "repetitions that the protocol promises"),
    ("measure_seconds", "s", "length of a window that the protocol promises"),
];

/// The columns of `containers`.
pub(super) const CONTAINERS: &[Described] = &[
    ("run", "", "run id"),
    ("target", "", "the deployed server"),
    ("container", "", "a sampled container that is part of it"),
    ("is_api", "", "whether it is the one that answers HTTP"),
];

/// The columns of `promised`.
pub(super) const PROMISED: &[Described] = &[
    ("run", "", "run id"),
    ("tier", "", "resource budget"),
    ("target", "", "the deployed server"),
    ("response_format", "", "csv, votable, or -"),
    ("query_class", "", "query class or scenario"),
    ("concurrency", "1", "connections held"),
];

fn schema(columns: &[Described], types: &[DataType]) -> SchemaRef {
    let fields: Vec<Field> = columns
        .iter()
        .zip(types)
        .map(|(&(name, ..), data_type)| Field::new(name, data_type.clone(), true))
        .collect();
    Arc::new(Schema::new(fields))
}

fn table(columns: &[Described], arrays: Vec<ArrayRef>) -> Result<Arc<dyn TableProvider>> {
    let types: Vec<DataType> = arrays.iter().map(|array| array.data_type().clone()).collect();
    let schema = schema(columns, &types);
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)?;
    Ok(Arc::new(MemTable::try_new(schema, vec![vec![batch]])?))
}

/// One row per run: the rule that it is judged by.
pub(super) fn rule(runs: &[Judged], void_at: Option<f64>) -> Result<Arc<dyn TableProvider>> {
    let text = |get: fn(&Judged) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(runs.iter().map(get)))
    };
    let float = |get: &dyn Fn(&Judged) -> Option<f64>| -> ArrayRef {
        Arc::new(runs.iter().map(get).collect::<Float64Array>())
    };
    let repetitions: Int64Array =
        runs.iter().map(|run| run.selected.protocol.grid.repetitions).collect();
    table(
        RULE,
        vec![
            text(|run| run.run.clone()),
            text(|run| run.selected.source.clone()),
            float(&|run| Some(run.selected.rule.confidence)),
            float(&|run| Some(run.selected.rule.tie_floor)),
            float(&|run| Some(run.selected.rule.error_ceiling)),
            float(&|run| Some(run.selected.rule.guard_max)),
            float(&|_| void_at),
            float(&|run| Some(run.selected.rule.min_coverage)),
            text(|run| run.selected.rule.estimator.to_string()),
            Arc::new(repetitions),
            float(&|run| run.selected.protocol.window.measure_seconds),
        ],
    )
}

/// One row per run, target and sampled container of that target.
pub(super) fn containers(runs: &[Judged]) -> Result<Arc<dyn TableProvider>> {
    let mut rows = Vec::new();
    for judged in runs {
        for (target, server) in &judged.targets {
            let Some(containers) = judged.selected.protocol.containers_of(target, server) else {
                continue;
            };
            rows.extend(containers.members.iter().map(|member| {
                let is_api = containers.api.as_ref() == Some(member);
                (&judged.run, target, member, is_api)
            }));
        }
    }
    table(
        CONTAINERS,
        vec![
            Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.0))),
            Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.1))),
            Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.2))),
            Arc::new(BooleanArray::from_iter(rows.iter().map(|row| Some(row.3)))),
        ],
    )
}

/// One row per cell that the grid of a run's protocol promises.
pub(super) fn promised(runs: &[Judged]) -> Result<Arc<dyn TableProvider>> {
    let mut rows = Vec::new();
    for judged in runs {
        let grid = &judged.selected.protocol.grid;
        let tiers: Vec<Option<&str>> = match grid.tiers.as_slice() {
            [] => vec![None],
            tiers => tiers.iter().map(|tier| Some(tier.as_str())).collect(),
        };
        for tier in tiers {
            for target in &grid.targets {
                for format in &grid.formats {
                    for class in &grid.classes {
                        rows.extend(grid.concurrencies.iter().map(|&connections| {
                            (judged.run.as_str(), tier, target, format, class, connections)
                        }));
                    }
                }
            }
        }
    }
    table(
        PROMISED,
        vec![
            Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.0))),
            Arc::new(rows.iter().map(|row| row.1).collect::<StringArray>()),
            Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.2))),
            Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.3))),
            Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.4))),
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.5))),
        ],
    )
}
