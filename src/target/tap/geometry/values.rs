//! Shapes as columns of Arrow, and back.
//!
//! A point is a structure of longitude and latitude, a circle has its radius
//! too, a polygon is a list of longitudes and latitudes in turn: what DALI's
//! xtypes write as arrays of numbers. Text is read as a region.

use std::sync::{Arc, LazyLock};

use arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, ListArray, ListBuilder, PrimitiveBuilder, StringArray,
    StructArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Fields, Float64Type};
use datafusion::common::{exec_err, plan_err};
use datafusion::error::Result;

use super::shape::{Shape, ShapeError};

fn structure(names: &[&str]) -> Fields {
    names.iter().map(|name| Field::new(*name, DataType::Float64, true)).collect()
}

static POINT: LazyLock<Fields> = LazyLock::new(|| structure(&["lon", "lat"]));
static CIRCLE: LazyLock<Fields> = LazyLock::new(|| structure(&["lon", "lat", "radius"]));

/// The type of points.
pub fn point_type() -> DataType {
    DataType::Struct(POINT.clone())
}

/// The type of circles.
pub fn circle_type() -> DataType {
    DataType::Struct(CIRCLE.clone())
}

/// The type of polygons.
pub fn polygon_type() -> DataType {
    DataType::List(Arc::new(Field::new_list_field(DataType::Float64, true)))
}

/// DALI's xtype of a type that is one of shapes, and its size as an array of
/// numbers.
pub fn xtype(data_type: &DataType) -> Option<(&'static str, &'static str)> {
    match data_type {
        DataType::Struct(fields) if fields.len() == 2 => Some(("point", "2")),
        DataType::Struct(fields) if fields.len() == 3 => Some(("circle", "3")),
        DataType::List(_) => Some(("polygon", "*")),
        _ => None,
    }
}

/// Points, circles: one column of numbers for each part.
pub fn structures(parts: Vec<ArrayRef>) -> Result<ArrayRef> {
    let fields = if parts.len() == 2 { &*POINT } else { &*CIRCLE };
    Ok(Arc::new(StructArray::try_new(fields.clone(), parts, None)?))
}

/// Polygons, row by row; null where a row has none.
pub fn polygons(
    rows: usize,
    mut coordinates: impl FnMut(usize) -> Result<Option<Vec<f64>>>,
) -> Result<ArrayRef> {
    let mut builder = ListBuilder::new(PrimitiveBuilder::<Float64Type>::new());
    for row in 0..rows {
        match coordinates(row)? {
            Some(coordinates) => {
                builder.values().append_slice(&coordinates);
                builder.append(true);
            }
            None => builder.append(false),
        }
    }
    Ok(Arc::new(builder.finish()))
}

/// Whether a column can be one of shapes.
pub fn check_shape_type(data_type: &DataType) -> Result<()> {
    match data_type {
        DataType::Null | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(()),
        _ if xtype(data_type).is_some() => Ok(()),
        _ => plan_err!("expected a point, a circle, a polygon or a region"),
    }
}

/// A column of numbers or of text, as Float64; a point as two of them.
pub fn numbers(column: &ArrayRef) -> Result<Vec<Float64Array>> {
    if let DataType::Struct(fields) = column.data_type()
        && fields.len() == 2
    {
        let points = column.as_struct();
        return Ok(points.columns().iter().map(|part| part.as_primitive().clone()).collect());
    }
    let numbers = cast(column, &DataType::Float64)?;
    Ok(vec![numbers.as_primitive().clone()])
}

/// A column of shapes.
pub enum Shapes {
    /// Longitudes, latitudes.
    Points(Float64Array, Float64Array),
    /// Longitudes, latitudes, radii.
    Circles(Float64Array, Float64Array, Float64Array),
    /// Longitudes and latitudes in turn.
    Polygons(ListArray),
    /// Texts like `CIRCLE ICRS 180 0 1`.
    Texts(StringArray),
}

impl Shapes {
    /// The shapes of a column.
    ///
    /// # Errors
    /// If its type is not one of shapes.
    pub fn of(column: &ArrayRef) -> Result<Self> {
        Ok(match column.data_type() {
            DataType::Struct(fields) if fields.len() == 2 || fields.len() == 3 => {
                let parts = column.as_struct();
                let part = |index: usize| parts.column(index).as_primitive().clone();
                match fields.len() {
                    2 => Self::Points(part(0), part(1)),
                    _ => Self::Circles(part(0), part(1), part(2)),
                }
            }
            DataType::List(_) => Self::Polygons(column.as_list().clone()),
            DataType::Null | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                Self::Texts(cast(column, &DataType::Utf8)?.as_string().clone())
            }
            other => return exec_err!("no shapes: {other}"),
        })
    }

    /// The shape of a row; none where it is null.
    ///
    /// # Errors
    /// If there is a value that describes no shape.
    pub fn get(&self, row: usize) -> Result<Option<Shape>, ShapeError> {
        let number = |column: &Float64Array| column.is_valid(row).then(|| column.value(row));
        let shape = match self {
            Self::Points(lon, lat) => {
                let (Some(lon), Some(lat)) = (number(lon), number(lat)) else { return Ok(None) };
                Shape::point(lon, lat)
            }
            Self::Circles(lon, lat, radius) => {
                let (Some(lon), Some(lat), Some(radius)) =
                    (number(lon), number(lat), number(radius))
                else {
                    return Ok(None);
                };
                Shape::circle(lon, lat, radius)
            }
            Self::Polygons(polygons) => {
                if polygons.is_null(row) {
                    return Ok(None);
                }
                let coordinates = polygons.value(row);
                if coordinates.null_count() > 0 {
                    return Ok(None);
                }
                Shape::polygon(coordinates.as_primitive::<Float64Type>().values())
            }
            Self::Texts(texts) => {
                if texts.is_null(row) || texts.value(row).is_empty() {
                    return Ok(None);
                }
                Shape::parse(texts.value(row))
            }
        };
        shape.map(Some)
    }
}
