//! A column whose values are written one by one.

use std::io::Write;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float32Array, Float64Array, Int16Array, Int32Array,
    Int64Array, ListArray, StringArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float64Type};

use crate::target::tap::data::column::{UNICODE, votable_type};
use crate::target::tap::geometry::values;

/// The values of a column, of one of the types that answers have.
pub enum Cells {
    Boolean(BooleanArray),
    Short(Int16Array),
    Int(Int32Array),
    Long(Int64Array),
    Float(Float32Array),
    Double(Float64Array),
    Text(StringArray),
    /// The numbers of a point or a circle.
    Numbers(Vec<Float64Array>),
    Polygon(ListArray),
}

impl Cells {
    /// The values of a column, as its field is described to clients.
    pub fn of(field: &Field, column: &ArrayRef) -> Self {
        let data_type = column.data_type();
        match data_type {
            DataType::Struct(_) if values::xtype(data_type).is_some() => {
                let parts = column.as_struct().columns().iter();
                return Self::Numbers(parts.map(|part| part.as_primitive().clone()).collect());
            }
            DataType::List(_) => return Self::Polygon(column.as_list().clone()),
            _ => {}
        }
        let unicode = field.metadata().contains_key(UNICODE);
        let (name, _) = votable_type(data_type, unicode);
        let wanted = match name {
            "boolean" => DataType::Boolean,
            "short" => DataType::Int16,
            "int" => DataType::Int32,
            "long" => DataType::Int64,
            "float" => DataType::Float32,
            "double" => DataType::Float64,
            _ => DataType::Utf8,
        };
        // Only nulls are lost where a value does not fit.
        let column = cast(column, &wanted)
            .unwrap_or_else(|_| arrow::array::new_null_array(&wanted, column.len()));
        match wanted {
            DataType::Boolean => Self::Boolean(column.as_boolean().clone()),
            DataType::Int16 => Self::Short(column.as_primitive().clone()),
            DataType::Int32 => Self::Int(column.as_primitive().clone()),
            DataType::Int64 => Self::Long(column.as_primitive().clone()),
            DataType::Float32 => Self::Float(column.as_primitive().clone()),
            DataType::Float64 => Self::Double(column.as_primitive().clone()),
            _ => Self::Text(column.as_string().clone()),
        }
    }

    /// Whether a row has no value.
    pub fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Boolean(column) => column.is_null(row),
            Self::Short(column) => column.is_null(row),
            Self::Int(column) => column.is_null(row),
            Self::Long(column) => column.is_null(row),
            Self::Float(column) => column.is_null(row),
            Self::Double(column) => column.is_null(row),
            Self::Text(column) => column.is_null(row),
            Self::Numbers(parts) => parts.iter().any(|part| part.is_null(row)),
            Self::Polygon(column) => column.is_null(row),
        }
    }

    /// Appends the text of a value that is not null, which is not escaped.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Boolean(column) => out.push(if column.value(row) { b'1' } else { b'0' }),
            Self::Short(column) => whole(column.value(row).into(), out),
            Self::Int(column) => whole(column.value(row).into(), out),
            Self::Long(column) => whole(column.value(row), out),
            Self::Float(column) => {
                let value = column.value(row);
                if value.is_finite() { float(out, value) } else { special(value.into(), out) }
            }
            Self::Double(column) => number(column.value(row), out),
            Self::Text(column) => out.extend_from_slice(column.value(row).as_bytes()),
            Self::Numbers(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    if index > 0 {
                        out.push(b' ');
                    }
                    number(part.value(row), out);
                }
            }
            Self::Polygon(column) => {
                let coordinates = column.value(row);
                let coordinates = coordinates.as_primitive::<Float64Type>().values();
                for (index, &value) in coordinates.iter().enumerate() {
                    if index > 0 {
                        out.push(b' ');
                    }
                    number(value, out);
                }
            }
        }
    }
}

fn number(value: f64, out: &mut Vec<u8>) {
    if value.is_finite() { float(out, value) } else { special(value, out) }
}

/// The shortest text that reads back as the number: writing to memory cannot
/// fail.
fn float(out: &mut Vec<u8>, value: impl std::fmt::Debug) {
    let _ = write!(out, "{value:?}");
}

fn whole(value: i64, out: &mut Vec<u8>) {
    let _ = write!(out, "{value}");
}

fn special(value: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(if value.is_nan() {
        b"NaN"
    } else if value > 0.0 {
        b"+Inf"
    } else {
        b"-Inf"
    });
}
