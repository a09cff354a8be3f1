//! Conditions of a query that an index can narrow down.

use arrow::array::ArrayRef;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Between, BinaryExpr, Cast, Expr, Operator};

use super::index::{Indices, Rows};
use crate::target::tap::geometry::functions::{CONTAINS, DISTANCE, INTERSECTS, POINT};
use crate::target::tap::geometry::shape::Shape;
use crate::target::tap::geometry::values::Shapes;
use arrow::array::RecordBatch;

/// What a condition lets an index look for. Rows that it finds may still not
/// satisfy the condition; those that it does not find, cannot.
#[derive(Debug, Clone, PartialEq)]
pub enum Lookup {
    /// A column that is one of some texts.
    Texts(String, Vec<String>),
    /// A declination between two.
    Declination(f64, f64),
    /// A position in a shape.
    Position(Shape),
    /// A region that touches a shape.
    Region(Shape),
}

impl Lookup {
    /// What a condition lets an index look for, if anything.
    pub fn of(condition: &Expr) -> Option<Self> {
        match plain(condition) {
            Expr::InList(list) if !list.negated => {
                let column = column(&list.expr)?;
                let texts = list.list.iter().map(text).collect::<Option<_>>()?;
                Some(Self::Texts(column.to_owned(), texts))
            }
            Expr::Between(Between { expr, negated: false, low, high }) => {
                (column(expr)? == "s_dec").then_some(())?;
                Some(Self::Declination(number(low)?, number(high)?))
            }
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
                match (Self::of(left)?, Self::of(right)?) {
                    (Self::Texts(a, mut texts), Self::Texts(b, more)) if a == b => {
                        texts.extend(more);
                        Some(Self::Texts(a, texts))
                    }
                    _ => None,
                }
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                Self::compared(left, *op, right).or_else(|| Self::compared(right, op.swap()?, left))
            }
            _ => None,
        }
    }

    /// The same for a comparison with a constant on its right.
    fn compared(left: &Expr, op: Operator, right: &Expr) -> Option<Self> {
        if let Some(column) = column(left) {
            return match op {
                Operator::Eq if column == "s_dec" => {
                    let value = number(right)?;
                    Some(Self::Declination(value, value))
                }
                Operator::Eq => Some(Self::Texts(column.to_owned(), vec![text(right)?])),
                Operator::Lt | Operator::LtEq if column == "s_dec" => {
                    Some(Self::Declination(f64::NEG_INFINITY, number(right)?))
                }
                Operator::Gt | Operator::GtEq if column == "s_dec" => {
                    Some(Self::Declination(number(right)?, f64::INFINITY))
                }
                _ => None,
            };
        }
        let Expr::ScalarFunction(function) = plain(left) else { return None };
        let args = function.args.as_slice();
        let value = number(right)?;
        match (function.func.name(), op, args) {
            (CONTAINS, Operator::Eq, [a, b]) if value == 1.0 => match (shape(a), shape(b)) {
                (None, Some(outer)) if is_position(a) => Some(Self::Position(outer)),
                (None, Some(outer)) if is_region(a) => Some(Self::Region(outer)),
                (Some(inner), None) if is_region(b) => Some(Self::Region(inner)),
                _ => None,
            },
            (INTERSECTS, Operator::Eq, [a, b]) if value == 1.0 => match (shape(a), shape(b)) {
                (None, Some(known)) if is_position(a) => Some(Self::Position(known)),
                (Some(known), None) if is_position(b) => Some(Self::Position(known)),
                (None, Some(known)) if is_region(a) => Some(Self::Region(known)),
                (Some(known), None) if is_region(b) => Some(Self::Region(known)),
                _ => None,
            },
            (DISTANCE, Operator::Lt | Operator::LtEq, args) => {
                let (lon, lat) = match args {
                    [a, b] if is_position(a) => point(b)?,
                    [a, b] if is_position(b) => point(a)?,
                    [a, b, c, d] if is_position_of(a, b) => (number(c)?, number(d)?),
                    [a, b, c, d] if is_position_of(c, d) => (number(a)?, number(b)?),
                    _ => return None,
                };
                Some(Self::Position(Shape::circle(lon, lat, value).ok()?))
            }
            _ => None,
        }
    }

    /// The rows that it finds; `None` without an index for it.
    pub fn rows(&self, indices: &Indices, rows: &RecordBatch) -> Option<Rows> {
        match self {
            Self::Texts(column, texts) => indices.with_texts(rows, column, texts),
            Self::Declination(low, high) => indices.between(rows, *low, *high),
            Self::Position(shape) => {
                let (centre, radius) = shape.bound();
                indices.near(rows, centre, radius)
            }
            Self::Region(shape) => {
                let (centre, radius) = shape.bound();
                Some(indices.touching(centre, radius))
            }
        }
    }
}

/// An expression without the changes of type around it.
fn plain(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast(Cast { expr, .. }) => plain(expr),
        Expr::Alias(alias) => plain(&alias.expr),
        other => other,
    }
}

fn column(expr: &Expr) -> Option<&str> {
    match plain(expr) {
        Expr::Column(column) => Some(&column.name),
        _ => None,
    }
}

fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    }
}

fn text(expr: &Expr) -> Option<String> {
    literal(expr)?.try_as_str()?.map(str::to_owned)
}

fn number(expr: &Expr) -> Option<f64> {
    match literal(expr)?.cast_to(&arrow::datatypes::DataType::Float64).ok()? {
        ScalarValue::Float64(value) => value,
        _ => None,
    }
}

/// The shape that a constant is.
fn shape(expr: &Expr) -> Option<Shape> {
    let column: ArrayRef = literal(expr)?.to_array().ok()?;
    Shapes::of(&column).ok()?.get(0).ok()?
}

fn point(expr: &Expr) -> Option<(f64, f64)> {
    match shape(expr)? {
        Shape::Point(lon, lat) => Some((lon, lat)),
        _ => None,
    }
}

/// Whether it is the point of each row's position.
fn is_position(expr: &Expr) -> bool {
    let Expr::ScalarFunction(ScalarFunction { func, args }) = plain(expr) else { return false };
    let [.., lon, lat] = args.as_slice() else { return false };
    func.name() == POINT && is_position_of(lon, lat)
}

fn is_position_of(lon: &Expr, lat: &Expr) -> bool {
    column(lon) == Some("s_ra") && column(lat) == Some("s_dec")
}

fn is_region(expr: &Expr) -> bool {
    column(expr) == Some("s_region")
}
