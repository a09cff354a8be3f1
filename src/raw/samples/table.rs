//! Samples in Parquet: any types that hold the same values, to columns.

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Float64Type, Int64Type};

use super::columns::{A_COUNT, A_DURATION, A_TIME, Codes, Columns, Figures, Labels};
use super::error::{Problem, found};
use super::field::Field;
use super::{NO_COUNT, NO_FLOAT};

/// Reads a batch. The error is of the row of that number, counted from 0.
pub(super) fn parse(batch: &RecordBatch) -> Result<Columns, (u64, Problem)> {
    let whole = |problem| (0, problem);
    let times = |field| floats(batch, field, A_TIME).map_err(whole);
    let durations = |field| floats(batch, field, A_DURATION).map_err(whole);
    let (t_start, t_offered) = (times(Field::TStart)?, times(Field::TOffered)?);
    let (latency, ttfb) = (durations(Field::Latency)?, durations(Field::Ttfb)?);
    let (status, bytes) =
        (Counts::new(batch, Field::Status)?, Counts::new(batch, Field::ResponseBytes)?);
    let rows = Counts::new(batch, Field::Rows)?;
    let texts = |field| texts(batch, field).map_err(whole);
    let (query_class, query_id) = (texts(Field::QueryClass)?, texts(Field::QueryId)?);
    let (error, pod, mode) = (texts(Field::Error)?, texts(Field::Pod)?, texts(Field::Mode)?);
    let request_id = texts(Field::RequestId)?;

    let mut columns = Columns::with_capacity(batch.num_rows());
    for row in 0..batch.num_rows() {
        let at = |problem| (row as u64, problem);
        let figures = Figures {
            t_start: float(t_start.as_ref(), row, Field::TStart, A_TIME).map_err(at)?,
            t_offered: float(t_offered.as_ref(), row, Field::TOffered, A_TIME).map_err(at)?,
            latency_s: float(latency.as_ref(), row, Field::Latency, A_DURATION).map_err(at)?,
            ttfb_s: float(ttfb.as_ref(), row, Field::Ttfb, A_DURATION).map_err(at)?,
            status: status.get(row).map_err(at)?,
            response_bytes: bytes.get(row).map_err(at)?,
            rows: rows.get(row).map_err(at)?,
        };
        let codes = Codes {
            query_class: label(query_class.as_ref(), row, &mut columns.query_class),
            query_id: label(query_id.as_ref(), row, &mut columns.query_id),
            error: label(error.as_ref(), row, &mut columns.error),
            pod: label(pod.as_ref(), row, &mut columns.pod),
            mode: label(mode.as_ref(), row, &mut columns.mode),
        };
        if !figures.in_order(codes.error)
            && let Some(problem) = figures.problem(codes.error)
        {
            return Err(at(problem));
        }
        columns.push(&figures, &codes, text(request_id.as_ref(), row).map(str::as_bytes));
    }
    columns.finish();
    Ok(columns)
}

/// A column in the type that is wanted; none where the file lacks it.
fn column(
    batch: &RecordBatch,
    field: Field,
    expected: &'static str,
    wanted: &DataType,
    accepted: fn(&DataType) -> bool,
) -> Result<Option<ArrayRef>, Problem> {
    let Some(column) = batch.column_by_name(field.name()) else { return Ok(None) };
    let wrong = |found| Problem::Field { field: field.name(), expected, found };
    let given = column.data_type();
    let values = if let DataType::Dictionary(_, values) = given { &**values } else { given };
    if !accepted(values) && *values != DataType::Null {
        return Err(wrong(format!("a column of {given}")));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    match cast_with_options(column, wanted, &options) {
        Ok(column) => Ok(Some(column)),
        Err(error) => Err(wrong(error.to_string())),
    }
}

fn floats(
    batch: &RecordBatch,
    field: Field,
    expected: &'static str,
) -> Result<Option<Float64Array>, Problem> {
    let column = column(batch, field, expected, &DataType::Float64, DataType::is_numeric)?;
    Ok(column.map(|column| column.as_primitive::<Float64Type>().clone()))
}

/// A null stays one; a figure that is none is not taken for a null.
fn float(
    column: Option<&Float64Array>,
    row: usize,
    field: Field,
    expected: &'static str,
) -> Result<f64, Problem> {
    let Some(column) = column.filter(|column| column.is_valid(row)) else { return Ok(NO_FLOAT) };
    let value = column.value(row);
    if value.is_nan() {
        return Err(Problem::Field { field: field.name(), expected, found: found(value) });
    }
    Ok(value)
}

/// A column of counts: whole numbers, or floats that are whole, as pandas writes
/// them where some are null.
struct Counts {
    field: Field,
    whole: Option<Int64Array>,
    floats: Option<Float64Array>,
}

impl Counts {
    fn new(batch: &RecordBatch, field: Field) -> Result<Self, (u64, Problem)> {
        let floating = batch
            .column_by_name(field.name())
            .is_some_and(|column| column.data_type().is_floating());
        let (mut whole, mut values) = (None, None);
        if floating {
            values = floats(batch, field, A_COUNT).map_err(|problem| (0, problem))?;
        } else {
            whole = column(batch, field, A_COUNT, &DataType::Int64, DataType::is_integer)
                .map_err(|problem| (0, problem))?
                .map(|column| column.as_primitive::<Int64Type>().clone());
        }
        Ok(Self { field, whole, floats: values })
    }

    fn get(&self, row: usize) -> Result<i64, Problem> {
        let wrong = |found| Problem::Field { field: self.field.name(), expected: A_COUNT, found };
        if let Some(column) = self.whole.as_ref().filter(|column| column.is_valid(row)) {
            let value = column.value(row);
            return if value < 0 { Err(wrong(value.to_string())) } else { Ok(value) };
        }
        if let Some(column) = self.floats.as_ref().filter(|column| column.is_valid(row)) {
            let value = column.value(row);
            let whole = value.fract() == 0.0 && (0.0..9_223_372_036_854_775_808.0).contains(&value);
            return if whole { Ok(value as i64) } else { Err(wrong(found(value))) };
        }
        Ok(NO_COUNT)
    }
}

fn texts(batch: &RecordBatch, field: Field) -> Result<Option<StringArray>, Problem> {
    let column = column(batch, field, "text or null", &DataType::Utf8, DataType::is_string)?;
    Ok(column.map(|column| column.as_string::<i32>().clone()))
}

/// Empty text is null.
fn text(column: Option<&StringArray>, row: usize) -> Option<&str> {
    let column = column.filter(|column| column.is_valid(row))?;
    Some(column.value(row)).filter(|text| !text.is_empty())
}

fn label(column: Option<&StringArray>, row: usize, labels: &mut Labels) -> u32 {
    text(column, row).map_or(0, |text| labels.code(text.as_bytes(), [0; 2]))
}
