//! ADQL's geometrical functions, for the query engine.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int32Array, StringArray};
use arrow::datatypes::DataType;
use datafusion::common::{ScalarValue, exec_datafusion_err, exec_err, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::shape::{Shape, ShapeError, box_coordinates, check_frame};
use super::sphere::{self, Cap};
use super::values::{self, Shapes};

/// A function of ADQL. `CONTAINS` and `INTERSECTS` give 1 or 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Point,
    Circle,
    Box,
    Polygon,
    Region,
    Contains,
    Intersects,
    Distance,
    Coord1,
    Coord2,
    CoordSys,
    Area,
    Centroid,
}

const KINDS: [(&str, Kind); 13] = [
    (POINT, Kind::Point),
    ("circle", Kind::Circle),
    ("box", Kind::Box),
    ("polygon", Kind::Polygon),
    ("region", Kind::Region),
    (CONTAINS, Kind::Contains),
    (INTERSECTS, Kind::Intersects),
    (DISTANCE, Kind::Distance),
    ("coord1", Kind::Coord1),
    ("coord2", Kind::Coord2),
    ("coordsys", Kind::CoordSys),
    ("area", Kind::Area),
    ("centroid", Kind::Centroid),
];

/// Names of the functions that an index can answer.
pub const POINT: &str = "point";
pub const CONTAINS: &str = "contains";
pub const INTERSECTS: &str = "intersects";
pub const DISTANCE: &str = "distance";

/// The names of the functions, as ADQL writes them.
pub fn names() -> impl Iterator<Item = String> {
    KINDS.iter().map(|(name, _)| name.to_uppercase())
}

/// The functions.
pub fn all() -> impl Iterator<Item = ScalarUDF> {
    KINDS.iter().map(|&(name, kind)| {
        let signature = Signature::variadic_any(Volatility::Immutable);
        ScalarUDF::from(Geometry { name, kind, signature })
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Geometry {
    name: &'static str,
    kind: Kind,
    signature: Signature,
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

impl Kind {
    /// Whether the first argument may name a frame.
    fn takes_frame(self) -> bool {
        matches!(self, Self::Point | Self::Circle | Self::Box | Self::Polygon)
    }

    /// How it is called, for messages.
    fn usage(self) -> &'static str {
        match self {
            Self::Point => "POINT([frame,] longitude, latitude)",
            Self::Circle => "CIRCLE([frame,] longitude, latitude, radius) or CIRCLE(point, radius)",
            Self::Box => {
                "BOX([frame,] longitude, latitude, width, height) or BOX(point, width, height)"
            }
            Self::Polygon => {
                "POLYGON([frame,] longitude, latitude, …) or POLYGON(point, …), three vertices or more"
            }
            Self::Region => "REGION('CIRCLE ICRS 180 0 1')",
            Self::Contains => "CONTAINS(shape, region)",
            Self::Intersects => "INTERSECTS(region, region)",
            Self::Distance => {
                "DISTANCE(point, point) or DISTANCE(longitude, latitude, longitude, latitude)"
            }
            Self::Coord1 => "COORD1(point)",
            Self::Coord2 => "COORD2(point)",
            Self::CoordSys => "COORDSYS(shape)",
            Self::Area => "AREA(region)",
            Self::Centroid => "CENTROID(region)",
        }
    }

    /// Whether it can be called with that many numbers, points counted as two.
    fn takes_numbers(self, count: usize) -> bool {
        match self {
            Self::Point | Self::Coord1 | Self::Coord2 => count == 2,
            Self::Circle => count == 3,
            Self::Box | Self::Distance => count == 4,
            Self::Polygon => count >= 6 && count.is_multiple_of(2),
            _ => false,
        }
    }
}

impl ScalarUDFImpl for Geometry {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let usage = || plan_err!("expected {}", self.kind.usage());
        let returns = match self.kind {
            Kind::Region => match types {
                [text] if is_text(text) => return Ok(DataType::Utf8),
                _ => return usage(),
            },
            Kind::Contains | Kind::Intersects => {
                let [a, b] = types else { return usage() };
                values::check_shape_type(a)?;
                values::check_shape_type(b)?;
                return Ok(DataType::Int32);
            }
            Kind::CoordSys | Kind::Area | Kind::Centroid => {
                let [shape] = types else { return usage() };
                values::check_shape_type(shape)?;
                return Ok(match self.kind {
                    Kind::CoordSys => DataType::Utf8,
                    Kind::Area => DataType::Float64,
                    _ => values::point_type(),
                });
            }
            Kind::Point => values::point_type(),
            Kind::Circle => values::circle_type(),
            Kind::Box | Kind::Polygon => values::polygon_type(),
            Kind::Distance | Kind::Coord1 | Kind::Coord2 => DataType::Float64,
        };
        let framed = self.kind.takes_frame() && types.first().is_some_and(is_text);
        let mut count = 0;
        for data_type in &types[usize::from(framed)..] {
            count += match data_type {
                DataType::Struct(fields) if fields.len() == 2 => 2,
                DataType::Null => 1,
                other if other.is_numeric() => 1,
                _ => return usage(),
            };
        }
        if self.kind.takes_numbers(count) { Ok(returns) } else { usage() }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { args.number_rows };
        let column = self.compute(&args.args, rows)?;
        if constant {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&column, 0)?));
        }
        Ok(ColumnarValue::Array(column))
    }
}

impl Geometry {
    fn compute(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        match self.kind {
            Kind::Contains => relate(args, rows, Shape::is_in),
            Kind::Intersects => relate(args, rows, Shape::intersects),
            Kind::Region => {
                let texts = args[0].to_array(rows)?;
                let shapes = Shapes::of(&texts)?;
                for row in 0..rows {
                    shapes.get(row).map_err(wrong)?;
                }
                Ok(arrow::compute::cast(&texts, &DataType::Utf8)?)
            }
            Kind::CoordSys => Ok(Arc::new(StringArray::from(vec!["ICRS"; rows]))),
            Kind::Area => {
                let mut shapes = Each::of(&args[0], rows)?;
                let areas = (0..rows).map(|row| shapes.with(row, Shape::area));
                Ok(Arc::new(areas.collect::<Float64Array>()))
            }
            Kind::Centroid => {
                let mut shapes = Each::of(&args[0], rows)?;
                let middles: Vec<_> =
                    (0..rows).map(|row| shapes.with(row, Shape::centroid)).collect();
                let lon = middles.iter().map(|middle| middle.map(|(lon, _)| lon));
                let lat = middles.iter().map(|middle| middle.map(|(_, lat)| lat));
                values::structures(vec![
                    Arc::new(lon.collect::<Float64Array>()),
                    Arc::new(lat.collect::<Float64Array>()),
                ])
            }
            _ => self.of_numbers(args, rows),
        }
    }

    fn of_numbers(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let mut args = args;
        if let Some((frame, rest)) = args.split_first()
            && self.kind.takes_frame()
            && is_text(&frame.data_type())
        {
            check_frames(frame)?;
            args = rest;
        }
        let mut numbers = Vec::with_capacity(4);
        for arg in args {
            numbers.extend(values::numbers(&arg.to_array(rows)?)?);
        }
        let get = |row: usize| -> Option<Vec<f64>> {
            numbers.iter().map(|part| part.is_valid(row).then(|| part.value(row))).collect()
        };
        match self.kind {
            Kind::Point | Kind::Circle => {
                let parts = numbers.into_iter().map(|part| Arc::new(part) as ArrayRef);
                values::structures(parts.collect())
            }
            Kind::Polygon => values::polygons(rows, |row| Ok(get(row))),
            Kind::Box => values::polygons(rows, |row| {
                let Some(parts) = get(row) else { return Ok(None) };
                let corners = box_coordinates(parts[0], parts[1], parts[2], parts[3]);
                Ok(Some(corners.map_err(wrong)?.to_vec()))
            }),
            Kind::Coord1 => Ok(Arc::new(numbers[0].clone())),
            Kind::Coord2 => Ok(Arc::new(numbers[1].clone())),
            _ => {
                let [a, b, c, d] = &numbers[..] else { return exec_err!("expected two points") };
                let distances = (0..rows).map(|row| {
                    let is_valid = [a, b, c, d].iter().all(|part| part.is_valid(row));
                    is_valid.then(|| {
                        sphere::distance(a.value(row), b.value(row), c.value(row), d.value(row))
                    })
                });
                Ok(Arc::new(distances.collect::<Float64Array>()))
            }
        }
    }
}

fn wrong(error: ShapeError) -> DataFusionError {
    exec_datafusion_err!("{error}")
}

/// Refuses frames other than ICRS.
fn check_frames(frames: &ColumnarValue) -> Result<()> {
    let frames = arrow::compute::cast(&frames.to_array(1)?, &DataType::Utf8)?;
    for frame in frames.as_string::<i32>().iter().flatten() {
        check_frame(frame).map_err(wrong)?;
    }
    Ok(())
}

/// The shapes of an argument row by row: one that is the same for all rows is
/// read once, and must be one; a row whose values describe no shape has none.
struct Each {
    shapes: Shapes,
    constant: Option<Option<Shape>>,
}

impl Each {
    fn of(arg: &ColumnarValue, rows: usize) -> Result<Self> {
        let is_constant = matches!(arg, ColumnarValue::Scalar(_));
        let shapes = Shapes::of(&arg.to_array(if is_constant { 1 } else { rows })?)?;
        let constant = is_constant.then(|| shapes.get(0)).transpose().map_err(wrong)?;
        Ok(Self { shapes, constant })
    }

    fn with<T>(&mut self, row: usize, body: impl FnOnce(&Shape) -> T) -> Option<T> {
        match &self.constant {
            Some(shape) => shape.as_ref().map(body),
            None => self.shapes.get(row).ok().flatten().as_ref().map(body),
        }
    }
}

/// 1 or 0 for each pair of shapes; null where one of them is.
fn relate(
    args: &[ColumnarValue],
    rows: usize,
    relation: fn(&Shape, &Shape) -> bool,
) -> Result<ArrayRef> {
    let (mut a, mut b) = (Each::of(&args[0], rows)?, Each::of(&args[1], rows)?);
    // What nearly all queries ask for: points of a column in one circle.
    if let (None, Shapes::Points(lon, lat), Some(Some(Shape::Circle(x, y, radius)))) =
        (&a.constant, &a.shapes, &b.constant)
    {
        return Ok(Arc::new(in_cap(lon, lat, &Cap::new(*x, *y, *radius))));
    }
    let outcomes = (0..rows).map(|row| {
        let outcome = a.with(row, |a| b.with(row, |b| relation(a, b)));
        outcome.flatten().map(i32::from)
    });
    Ok(Arc::new(outcomes.collect::<Int32Array>()))
}

fn in_cap(lon: &Float64Array, lat: &Float64Array, cap: &Cap) -> Int32Array {
    let nulls = arrow::buffer::NullBuffer::union(lon.nulls(), lat.nulls());
    let inside = lon.values().iter().zip(lat.values());
    let inside = inside.map(|(&lon, &lat)| i32::from(cap.contains(lon, lat)));
    Int32Array::new(inside.collect(), nulls)
}
