//! Conditions, once as ADQL and once as a test of a row, so that how many rows
//! a query has to give is counted and not guessed.

use super::columns::{Cell, shortest};
use super::observation::Observation;
use super::sky::{Direction, chord_squared_of};

/// How near to its rim a circle leaves it to the server on which side a row is,
/// as a share of the radius.
const RIM: f64 = 1e-9;

/// The same for a box, whose sides are arcs of great circles to one server and
/// of constant declination to another.
const EDGE: f64 = 1e-2;

/// A condition on the rows.
#[derive(Debug, Clone)]
pub enum Filter {
    /// A text column has one of these values.
    Text(&'static str, Vec<String>),
    /// An integer column has at least this value.
    AtLeast(&'static str, i64),
    /// An integer column has this value.
    Is(&'static str, i64),
    /// A float column lies in this range, with its ends.
    Range(&'static str, f64, f64),
    /// A float column has at least this value.
    From(&'static str, f64),
    /// The position lies in a circle: centre and radius in degrees.
    Circle(f64, f64, f64),
    /// The position lies outside a circle.
    Outside(f64, f64, f64),
    /// The position lies in a box: centre, width and height in degrees, the
    /// centre near the equator.
    Box(f64, f64, f64, f64),
    /// One of these at least.
    Any(Vec<Filter>),
}

/// Whether a row fulfils a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// On every server.
    pub surely: bool,
    /// On some server.
    pub maybe: bool,
}

impl Match {
    fn exact(holds: bool) -> Self {
        Self { surely: holds, maybe: holds }
    }
}

/// A circle or box as a test of positions.
#[derive(Debug)]
enum Shape {
    Circle { centre: Direction, inner: f64, outer: f64 },
    Box { ra: f64, dec: f64, width: f64, height: f64 },
}

/// A condition made ready for many rows.
#[derive(Debug)]
pub struct Test<'a> {
    filter: &'a Filter,
    shape: Option<Shape>,
    parts: Vec<Test<'a>>,
}

impl Filter {
    /// The condition in ADQL, with the columns of a table by its alias.
    pub fn adql(&self, alias: &str) -> String {
        let column = |name: &str| format!("{alias}{name}");
        let point = format!("POINT('ICRS', {alias}s_ra, {alias}s_dec)");
        let contains = |is: u8, shape: String| format!("{is} = CONTAINS({point}, {shape})");
        match self {
            Self::Text(name, values) if values.len() == 1 => {
                format!("{} = {}", column(name), quoted(&values[0]))
            }
            Self::Text(name, values) => {
                let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
                format!("{} IN ({})", column(name), values.join(", "))
            }
            Self::AtLeast(name, value) => format!("{} >= {value}", column(name)),
            Self::Is(name, value) => format!("{} = {value}", column(name)),
            Self::Range(name, low, high) => {
                format!("{} BETWEEN {} AND {}", column(name), literal(*low), literal(*high))
            }
            Self::From(name, value) => format!("{} >= {}", column(name), literal(*value)),
            Self::Circle(ra, dec, radius) => contains(1, circle(*ra, *dec, *radius)),
            Self::Outside(ra, dec, radius) => contains(0, circle(*ra, *dec, *radius)),
            Self::Box(ra, dec, width, height) => {
                let [ra, dec, width, height] = [ra, dec, width, height].map(|x| literal(*x));
                contains(1, format!("BOX('ICRS', {ra}, {dec}, {width}, {height})"))
            }
            Self::Any(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| part.adql(alias)).collect();
                format!("({})", parts.join(" OR "))
            }
        }
    }

    /// The test of it.
    pub fn test(&self) -> Test<'_> {
        let shape = match *self {
            Self::Circle(ra, dec, radius) | Self::Outside(ra, dec, radius) => Some(Shape::Circle {
                centre: Direction::of(ra, dec),
                inner: chord_squared_of(radius * (1.0 - RIM)),
                outer: chord_squared_of(radius * (1.0 + RIM)),
            }),
            Self::Box(ra, dec, width, height) => Some(Shape::Box { ra, dec, width, height }),
            _ => None,
        };
        let parts = match self {
            Self::Any(parts) => parts.iter().map(Self::test).collect(),
            _ => Vec::new(),
        };
        Test { filter: self, shape, parts }
    }
}

impl Test<'_> {
    /// Whether a row, whose direction is given if it has one, fulfils it.
    pub fn of(&self, row: &Observation, direction: Option<Direction>) -> Match {
        if let Some(shape) = &self.shape {
            // Null is neither inside nor outside.
            let Some((position, direction)) = row.position.zip(direction) else {
                return Match::exact(false);
            };
            let inside = shape.holds(position, direction);
            return match self.filter {
                Filter::Outside(..) => Match { surely: !inside.maybe, maybe: !inside.surely },
                _ => inside,
            };
        }
        Match::exact(match self.filter {
            Filter::Text(name, values) => match row.cell(name) {
                Cell::Text(text) => values.iter().any(|value| value == text),
                _ => false,
            },
            Filter::AtLeast(name, value) => {
                matches!(row.cell(name), Cell::Int(found) if found >= *value)
            }
            Filter::Is(name, value) => row.cell(name) == Cell::Int(*value),
            Filter::Range(name, low, high) => {
                matches!(row.cell(name), Cell::Float(x) if (*low..=*high).contains(&x))
            }
            Filter::From(name, low) => matches!(row.cell(name), Cell::Float(x) if x >= *low),
            Filter::Any(_) => {
                let of = |test: &Test<'_>| test.of(row, direction);
                let found: Vec<Match> = self.parts.iter().map(of).collect();
                return Match {
                    surely: found.iter().any(|part| part.surely),
                    maybe: found.iter().any(|part| part.maybe),
                };
            }
            Filter::Circle(..) | Filter::Outside(..) | Filter::Box(..) => {
                unreachable!("a shape was made for it")
            }
        })
    }
}

impl Shape {
    fn holds(&self, (ra, dec): (f64, f64), direction: Direction) -> Match {
        match self {
            Self::Circle { centre, inner, outer } => {
                let distance = centre.chord_squared(direction);
                Match { surely: distance <= *inner, maybe: distance <= *outer }
            }
            Self::Box { ra: middle, dec: centre, width, height } => {
                let east = (ra - middle + 540.0).rem_euclid(360.0) - 180.0;
                let share = (east.abs() / (width / 2.0)).max((dec - centre).abs() / (height / 2.0));
                Match { surely: share <= 1.0 - EDGE, maybe: share <= 1.0 + EDGE }
            }
        }
    }
}

fn circle(ra: f64, dec: f64, radius: f64) -> String {
    format!("CIRCLE('ICRS', {}, {}, {})", literal(ra), literal(dec), literal(radius))
}

/// A number in ADQL, never an integer, which some servers type otherwise.
pub fn literal(value: f64) -> String {
    let text = shortest(value);
    if text.contains(['.', 'e']) { text } else { text + ".0" }
}

/// Text in ADQL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ra: f64, dec: f64) -> Observation {
        let position = Some((ra, dec));
        let times = Some((55_000.0, 55_001.0));
        Observation { position, times, calib_level: 2, em_min: 5e-7, ..Observation::default() }
    }

    fn holds(filter: &Filter, row: &Observation) -> (bool, bool) {
        let direction = row.position.map(|(ra, dec)| Direction::of(ra, dec));
        let found = filter.test().of(row, direction);
        (found.surely, found.maybe)
    }

    #[test]
    fn shapes_and_their_rims() {
        let circle = Filter::Circle(10.0, 60.0, 0.5);
        assert_eq!(holds(&circle, &at(10.9, 60.0)), (true, true));
        assert_eq!(holds(&circle, &at(11.1, 60.0)), (false, false));
        assert_eq!(holds(&circle, &at(10.0, 60.5)), (false, true), "on the rim");
        let outside = Filter::Outside(10.0, 60.0, 0.5);
        assert_eq!(holds(&outside, &at(10.9, 60.0)), (false, false));
        assert_eq!(holds(&outside, &at(11.1, 60.0)), (true, true));
        assert_eq!(holds(&outside, &at(10.0, 60.5)), (false, true), "on the rim");
        let across = Filter::Box(0.0, 0.0, 1.0, 1.0);
        assert_eq!(holds(&across, &at(359.6, 0.3)), (true, true));
        assert_eq!(holds(&across, &at(359.4, 0.3)), (false, false));
        assert_eq!(holds(&across, &at(0.5, 0.3)), (false, true), "on the edge");
        let any = Filter::Any(vec![across, circle]);
        assert_eq!(holds(&any, &at(10.9, 60.0)), (true, true));
    }

    #[test]
    fn null_is_neither_inside_nor_outside() {
        let row = Observation::default();
        for filter in [
            Filter::Circle(0.0, 0.0, 180.0),
            Filter::Outside(0.0, 0.0, 0.1),
            Filter::From("t_min", 0.0),
            Filter::Text("dataproduct_type", vec![String::new()]),
        ] {
            assert_eq!(holds(&filter, &row), (false, false), "{filter:?}");
        }
    }

    #[test]
    fn as_adql() {
        for (filter, adql) in [
            (Filter::Text("obs_id", vec!["it's".into()]), "a.obs_id = 'it''s'"),
            (Filter::Text("obs_id", vec!["1".into(), "2".into()]), "a.obs_id IN ('1', '2')"),
            (Filter::Range("em_min", 1e-10, 2.0), "a.em_min BETWEEN 1e-10 AND 2.0"),
            (
                Filter::Any(vec![Filter::Is("calib_level", 1), Filter::Outside(1.0, -2.5, 0.1)]),
                "(a.calib_level = 1 OR 0 = CONTAINS(POINT('ICRS', a.s_ra, a.s_dec), CIRCLE('ICRS', 1.0, -2.5, 0.1)))",
            ),
        ] {
            assert_eq!(filter.adql("a."), adql);
        }
    }
}
