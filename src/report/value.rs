//! Arrow values as text.

use std::fmt::Write as _;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, StringArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// One column of a batch, ready to be written as text.
pub(super) struct Values<'a> {
    /// Where there is nothing, also for types whose nulls are not in a bitmap.
    nulls: Option<NullBuffer>,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Float(&'a Float64Array),
    Int(&'a Int64Array),
    Text(&'a StringArray),
    Flag(&'a BooleanArray),
    Other(ArrayFormatter<'a>),
}

impl<'a> Values<'a> {
    /// The values of a column.
    pub fn new(array: &'a ArrayRef) -> Result<Self, ArrowError> {
        // The formatter borrows its options for as long as it borrows the array.
        const OPTIONS: FormatOptions<'static> = FormatOptions::new().with_null("null");
        let kind = match array.data_type() {
            DataType::Float64 => Kind::Float(array.as_primitive::<Float64Type>()),
            DataType::Int64 => Kind::Int(array.as_primitive::<Int64Type>()),
            DataType::Utf8 => Kind::Text(array.as_string::<i32>()),
            DataType::Boolean => Kind::Flag(array.as_boolean()),
            _ => Kind::Other(ArrayFormatter::try_new(array, &OPTIONS)?),
        };
        Ok(Self { nulls: array.logical_nulls(), kind })
    }

    /// Whether a row has no value here.
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Appends the value of a row, which must not be null.
    pub fn push(&self, row: usize, text: &mut String) -> Result<(), ArrowError> {
        match &self.kind {
            Kind::Float(array) => push_float(array.value(row), text),
            Kind::Int(array) => push(text, format_args!("{}", array.value(row))),
            Kind::Text(array) => text.push_str(array.value(row)),
            Kind::Flag(array) => text.push_str(if array.value(row) { "true" } else { "false" }),
            Kind::Other(formatter) => formatter.value(row).write(text)?,
        }
        Ok(())
    }
}

/// The shortest digits that read back to the same value, with a point or an
/// exponent so that they read back as a float.
fn push_float(value: f64, text: &mut String) {
    push(text, format_args!("{value:?}"));
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to a string cannot fail");
}

/// Whether figures of this type stand at the right of their column.
pub(super) fn is_figure(data_type: &DataType) -> bool {
    data_type.is_numeric()
}
