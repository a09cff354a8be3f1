//! Which rows can satisfy a condition, found without looking at all of them.

use std::ops::Range;

use arrow::array::{Array, AsArray, Float64Array, RecordBatch, StringArray};
use arrow::datatypes::Float64Type;

use crate::target::tap::geometry::shape::Shape;
use crate::target::tap::geometry::sphere::{self, Vector};

/// What is added to a radius in radians, so that rounding loses nothing.
const MARGIN: f64 = 1e-9;

/// Texts in their order, to find one by halving.
#[derive(Debug)]
struct TextIndex {
    column: &'static str,
    order: Vec<u32>,
}

/// The indices of the table.
#[derive(Debug)]
pub struct Indices {
    texts: Vec<TextIndex>,
    /// A circle about the region of each row: direction and radius in radians,
    /// which is not a number where there is none.
    regions: Vec<(Vector, f64)>,
    /// Rows that have a declination: they come first, in its order.
    placed: usize,
}

/// Rows, in rising order: none twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rows {
    /// All that lie next to each other.
    Range(Range<usize>),
    /// Some here and there.
    Some(Vec<u32>),
}

impl Rows {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::Range(range) => range.len(),
            Self::Some(rows) => rows.len(),
        }
    }

    /// Those that are in both.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Range(a), Self::Range(b)) => {
                let start = a.start.max(b.start);
                Self::Range(start..a.end.min(b.end).max(start))
            }
            (Self::Range(range), Self::Some(rows)) | (Self::Some(rows), Self::Range(range)) => {
                let start = rows.partition_point(|&row| (row as usize) < range.start);
                let end = rows.partition_point(|&row| (row as usize) < range.end);
                Self::Some(rows[start..end.max(start)].to_vec())
            }
            (Self::Some(a), Self::Some(b)) => {
                let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
                let both = short.into_iter().filter(|row| long.binary_search(row).is_ok());
                Self::Some(both.collect())
            }
        }
    }
}

fn texts<'a>(rows: &'a RecordBatch, column: &str) -> Option<&'a StringArray> {
    rows.column_by_name(column)?.as_string_opt::<i32>()
}

fn declinations(rows: &RecordBatch) -> Option<&Float64Array> {
    rows.column_by_name("s_dec")?.as_primitive_opt::<Float64Type>()
}

impl Indices {
    /// The indices of a table in the order of its declinations.
    pub fn new(rows: &RecordBatch) -> Self {
        let index = |column: &'static str| {
            let texts = texts(rows, column)?;
            let mut order: Vec<u32> =
                (0..texts.len() as u32).filter(|&row| texts.is_valid(row as usize)).collect();
            order.sort_by_key(|&row| texts.value(row as usize));
            Some(TextIndex { column, order })
        };
        let region = |text: Option<&str>| {
            let bound = text.and_then(|text| Shape::parse(text).ok()).map(|shape| shape.bound());
            bound.unwrap_or(([0.0; 3], f64::NAN))
        };
        let regions = texts(rows, "s_region").map(|texts| texts.iter().map(region).collect());
        let placed = declinations(rows).map_or(0, |dec| {
            let is_number = |&row: &usize| dec.is_valid(row) && !dec.value(row).is_nan();
            (0..dec.len()).take_while(is_number).count()
        });
        Self {
            texts: ["obs_publisher_did", "obs_id"].into_iter().filter_map(index).collect(),
            regions: regions.unwrap_or_default(),
            placed,
        }
    }

    /// The rows where a column is one of some texts; `None` without an index.
    pub fn with_texts(&self, rows: &RecordBatch, column: &str, wanted: &[String]) -> Option<Rows> {
        let index = self.texts.iter().find(|index| index.column == column)?;
        let texts = texts(rows, column)?;
        let mut found = Vec::new();
        for wanted in wanted {
            let value = |row: u32| texts.value(row as usize);
            let start = index.order.partition_point(|&row| value(row) < wanted.as_str());
            let same = index.order[start..].iter().take_while(|&&row| value(row) == wanted);
            found.extend(same);
        }
        found.sort_unstable();
        found.dedup();
        Some(Rows::Some(found))
    }

    /// The rows whose declination is between two, both included.
    pub fn between(&self, rows: &RecordBatch, low: f64, high: f64) -> Option<Rows> {
        let values = &declinations(rows)?.values()[..self.placed];
        let start = values.partition_point(|&dec| dec < low);
        let end = values.partition_point(|&dec| dec <= high);
        Some(Rows::Range(start..end.max(start)))
    }

    /// The rows whose position can lie in a circle of a radius in radians.
    pub fn near(&self, rows: &RecordBatch, centre: Vector, radius: f64) -> Option<Rows> {
        let (_, lat) = sphere::position(centre);
        let reach = (radius + MARGIN).to_degrees();
        self.between(rows, lat - reach, lat + reach)
    }

    /// The rows whose region can touch a circle of a radius in radians.
    pub fn touching(&self, centre: Vector, radius: f64) -> Rows {
        let touches = |&(middle, own): &(Vector, f64)| {
            let reach = radius + own + MARGIN;
            // The cosine of small angles is too flat to tell; the margin makes
            // up for it.
            reach >= std::f64::consts::PI || sphere::dot(centre, middle) >= reach.cos() - 1e-12
        };
        let found = self.regions.iter().enumerate().filter(|(_, region)| touches(region));
        Rows::Some(found.map(|(row, _)| row as u32).collect())
    }
}
