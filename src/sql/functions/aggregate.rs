//! Aggregate functions: they hold their values and compute exactly.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Float64Type};
use datafusion::common::{ScalarValue, exec_datafusion_err, exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};
use datafusion::physical_expr::expressions::Literal;

use crate::stats::{fit, percentile};

/// Values of one group, as a state that travels between plan steps.
fn list(values: &[f64]) -> ScalarValue {
    let item = Arc::new(Field::new_list_field(DataType::Float64, true));
    let values = Arc::new(Float64Array::from(values.to_vec()));
    let offsets = OffsetBuffer::from_lengths([values.len()]);
    ScalarValue::List(Arc::new(ListArray::new(item, offsets, values, None)))
}

fn list_field(name: &str, part: &str) -> FieldRef {
    Arc::new(Field::new_list(
        format_state_name(name, part),
        Field::new_list_field(DataType::Float64, true),
        true,
    ))
}

/// Calls `each` with the values of every list of a state column.
fn each_list(states: &ArrayRef, mut each: impl FnMut(&Float64Array)) {
    let lists = states.as_list::<i32>();
    for row in (0..lists.len()).filter(|&row| lists.is_valid(row)) {
        each(lists.value(row).as_primitive::<Float64Type>());
    }
}

/// `percentile(x, p)`: the p-quantile (0 to 1) of the values that are not
/// null, by linear interpolation between closest ranks (Hyndman and Fan's
/// type 7), exact for any number of values.
#[derive(Debug, Hash, PartialEq, Eq)]
pub(super) struct Percentile {
    signature: Signature,
}

impl Percentile {
    pub(super) fn new() -> Self {
        let arguments = vec![DataType::Float64, DataType::Float64];
        Self { signature: Signature::exact(arguments, Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for Percentile {
    fn name(&self) -> &str {
        "percentile"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let p = args.exprs.get(1).and_then(|p| p.downcast_ref::<Literal>()).map(Literal::value);
        match p {
            Some(ScalarValue::Float64(Some(p))) if (0.0..=1.0).contains(p) => Ok(Box::new(Held {
                values: Vec::new(),
                ps: [*p],
                answer: |found| Ok(ScalarValue::Float64(found.map(|[value]| value))),
            })),
            _ => plan_err!("percentile(x, p): expected p to be a number from 0 to 1"),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(vec![list_field(args.name, "values")])
    }
}

/// The values of one group, and what is made of their percentiles.
#[derive(Debug)]
struct Held<const N: usize> {
    values: Vec<f64>,
    /// Ascending.
    ps: [f64; N],
    answer: fn(Option<[f64; N]>) -> Result<ScalarValue>,
}

/// Takes in values that are not null.
fn push(values: &mut Vec<f64>, more: &Float64Array) {
    if more.null_count() == 0 {
        values.extend_from_slice(more.values());
    } else {
        values.extend(more.iter().flatten());
    }
}

impl<const N: usize> Accumulator for Held<N> {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        push(&mut self.values, columns[0].as_primitive::<Float64Type>());
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        each_list(&states[0], |values| push(&mut self.values, values));
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let found = percentile::select(&mut self.values, self.ps)
            .map_err(|error| exec_datafusion_err!("percentile: {error}"))?;
        (self.answer)(found)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![list(&self.values)])
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.capacity() * size_of::<f64>()
    }
}

/// The fields of `percentiles`, and the fractions that they are.
const PERCENTILES: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999), ("max", 1.0)];

/// `percentiles(x)`: those of [`PERCENTILES`] in one pass over one copy of the
/// values, as a struct; its fields are null where there is no value.
#[derive(Debug, Hash, PartialEq, Eq)]
pub(super) struct Percentiles {
    signature: Signature,
}

impl Percentiles {
    pub(super) fn new() -> Self {
        Self { signature: Signature::exact(vec![DataType::Float64], Volatility::Immutable) }
    }

    fn fields() -> Fields {
        PERCENTILES.map(|(name, _)| Field::new(name, DataType::Float64, true)).into_iter().collect()
    }

    fn row(found: Option<[f64; PERCENTILES.len()]>) -> Result<ScalarValue> {
        let columns = (0..PERCENTILES.len())
            .map(|place| ScalarValue::Float64(found.map(|found| found[place])).to_array())
            .collect::<Result<Vec<ArrayRef>>>()?;
        let row = arrow::array::StructArray::new(Self::fields(), columns, None);
        Ok(ScalarValue::Struct(Arc::new(row)))
    }
}

impl AggregateUDFImpl for Percentiles {
    fn name(&self) -> &str {
        "percentiles"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Struct(Self::fields()))
    }

    fn accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Held {
            values: Vec::new(),
            ps: PERCENTILES.map(|(_, p)| p),
            answer: Self::row,
        }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(vec![list_field(args.name, "values")])
    }
}

/// `line(x, y, confidence)`: the least-squares line y = a + b·x through the
/// points that are not null, as a struct of `n`, `a`, `a_half_width`, `b`,
/// `b_half_width`, `r_squared`; all but `n` null where there is no line.
#[derive(Debug, Hash, PartialEq, Eq)]
pub(super) struct Line {
    signature: Signature,
}

impl Line {
    pub(super) fn new() -> Self {
        Self { signature: Signature::exact(vec![DataType::Float64; 3], Volatility::Immutable) }
    }

    fn fields() -> Fields {
        let figures = ["a", "a_half_width", "b", "b_half_width", "r_squared"];
        std::iter::once(Field::new("n", DataType::Int64, true))
            .chain(figures.map(|name| Field::new(name, DataType::Float64, true)))
            .collect()
    }
}

impl AggregateUDFImpl for Line {
    fn name(&self) -> &str {
        "line"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Struct(Self::fields()))
    }

    fn accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(LinePoints::default()))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let confidence = format_state_name(args.name, "confidence");
        Ok(vec![
            list_field(args.name, "x"),
            list_field(args.name, "y"),
            Arc::new(Field::new(confidence, DataType::Float64, true)),
        ])
    }
}

#[derive(Debug, Default)]
struct LinePoints {
    points: Vec<(f64, f64)>,
    /// The same for every row of a group.
    confidence: Option<f64>,
}

impl LinePoints {
    fn push(&mut self, x: &Float64Array, y: &Float64Array) {
        let points = x.iter().zip(y).filter_map(|(x, y)| Some((x?, y?)));
        self.points.extend(points);
    }

    fn set_confidence(&mut self, confidences: &Float64Array) -> Result<()> {
        for confidence in confidences.iter().flatten() {
            if *self.confidence.get_or_insert(confidence) != confidence {
                return exec_err!("line(x, y, confidence): expected one confidence in a group");
            }
        }
        Ok(())
    }
}

impl Accumulator for LinePoints {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        self.push(columns[0].as_primitive(), columns[1].as_primitive());
        self.set_confidence(columns[2].as_primitive())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let mut xs = Vec::new();
        each_list(&states[0], |values| xs.push(values.clone()));
        let mut part = 0;
        let mut points = std::mem::take(self);
        each_list(&states[1], |values| {
            points.push(&xs[part], values);
            part += 1;
        });
        *self = points;
        self.set_confidence(states[2].as_primitive())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let line = match self.confidence {
            Some(confidence) => fit::line(&self.points, confidence)
                .map_err(|error| exec_datafusion_err!("line: {error}"))?,
            None => None,
        };
        let n = i64::try_from(self.points.len()).unwrap_or(i64::MAX);
        let figures = [
            line.map(|line| line.intercept),
            line.map(|line| line.intercept_half_width),
            line.map(|line| line.slope),
            line.map(|line| line.slope_half_width),
            line.and_then(|line| line.r_squared),
        ];
        let columns = std::iter::once(ScalarValue::Int64(Some(n)))
            .chain(figures.map(ScalarValue::Float64))
            .map(|value| value.to_array())
            .collect::<Result<Vec<ArrayRef>>>()?;
        let row = arrow::array::StructArray::new(Line::fields(), columns, None);
        Ok(ScalarValue::Struct(Arc::new(row)))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let (x, y): (Vec<f64>, Vec<f64>) = self.points.iter().copied().unzip();
        Ok(vec![list(&x), list(&y), ScalarValue::Float64(self.confidence)])
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.points.capacity() * size_of::<(f64, f64)>()
    }
}
