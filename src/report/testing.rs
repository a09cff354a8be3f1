//! Views for tests, written down as text.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};

use super::View;
use super::stamp::Stamp;
use crate::protocol::Rule;

/// A view from lines of fields between spaces. The first line has the columns,
/// with `:i` for integers, `:f` for floats, `:b` for flags, else text, where
/// `~` is a space; `_` is null. Columns of `also` are null in every row.
pub(super) fn view(name: &'static str, text: &str, also: &str) -> View {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let header = lines.next().expect("a first line");
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split_whitespace().collect()).collect();
    let own = header.split_whitespace().count();
    let columns = header.split_whitespace().chain(also.split_whitespace()).enumerate();
    let arrays = columns.map(|(index, column)| {
        let (column, kind) = column.split_once(':').unwrap_or((column, "t"));
        let fields = rows.iter().map(|row| {
            assert_eq!(row.len(), own, "{row:?}");
            row.get(index).copied().filter(|field| *field != "_")
        });
        let array: ArrayRef = match kind {
            "i" => Arc::new(fields.map(|f| f.map(|f| f.parse().unwrap())).collect::<Int64Array>()),
            "f" => {
                Arc::new(fields.map(|f| f.map(|f| f.parse().unwrap())).collect::<Float64Array>())
            }
            "b" => Arc::new(fields.map(|f| f.map(|f| f == "yes")).collect::<BooleanArray>()),
            _ => {
                let fields = fields.map(|field| field.map(|field| field.replace('~', " ")));
                Arc::new(fields.collect::<StringArray>())
            }
        };
        (column, array, true)
    });
    let batch = RecordBatch::try_from_iter_with_nullable(arrays).unwrap();
    View::new(name, &batch.schema(), &[batch]).unwrap()
}

/// The part of a cell's key that is null for most.
pub(super) const NO_EXTRA: &str = "mode loop offered_rps:f instances:i loops:i";

/// A stamp with the default rule.
pub(super) fn stamp(run: &str) -> Stamp {
    Stamp {
        run: run.to_owned(),
        rule: Rule::default(),
        source: "defaults".to_owned(),
        inputs: 1,
        inputs_sha256: "0123456789abcdef".repeat(4),
    }
}
