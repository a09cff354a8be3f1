//! A shape of any kind, from text too, and how two of them lie.

use super::sphere::{self, Cap, Polygon, Vector};

/// A shape on the sphere.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A position: longitude and latitude in degrees.
    Point(f64, f64),
    /// Longitude and latitude of the centre, radius; degrees.
    Circle(f64, f64, f64),
    /// A polygon, a box too.
    Polygon(Polygon),
}

/// Why there is no shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// A latitude that is none.
    #[error("the latitude {0} is not between -90 and 90 degrees")]
    Latitude(String),
    /// A coordinate that is no number.
    #[error("the coordinate {0} is not a finite number")]
    NotFinite(String),
    /// A circle of less than nothing.
    #[error("the radius {0} is negative")]
    Radius(String),
    /// Too few vertices, or too large.
    #[error(
        "a polygon has three vertices or more, which fit into half the sphere; {0} vertices were given"
    )]
    Polygon(usize),
    /// A box without sides, or too large.
    #[error("the sides of a box are above 0 and below 180 degrees; found {0} and {1}")]
    Box(String, String),
    /// A frame that is not ICRS.
    #[error("unknown coordinate frame '{0}': all positions here are ICRS")]
    Frame(String),
    /// Text that describes no shape.
    #[error(
        "not a region: '{0}'; expected POSITION, CIRCLE, BOX or POLYGON, a frame, and its numbers"
    )]
    Text(String),
}

/// Whether a coordinate frame is the one that all positions here are in.
///
/// # Errors
/// If it is another.
pub fn check_frame(frame: &str) -> Result<(), ShapeError> {
    let first = frame.split_whitespace().next().unwrap_or_default();
    let known = ["", "ICRS", "UNKNOWNFRAME"];
    if known.iter().any(|known| first.eq_ignore_ascii_case(known)) {
        Ok(())
    } else {
        Err(ShapeError::Frame(frame.to_owned()))
    }
}

fn check_position(lon: f64, lat: f64) -> Result<(), ShapeError> {
    for coordinate in [lon, lat] {
        if !coordinate.is_finite() {
            return Err(ShapeError::NotFinite(coordinate.to_string()));
        }
    }
    if lat.abs() > 90.0 { Err(ShapeError::Latitude(lat.to_string())) } else { Ok(()) }
}

impl Shape {
    /// A position.
    ///
    /// # Errors
    /// If it is none.
    pub fn point(lon: f64, lat: f64) -> Result<Self, ShapeError> {
        check_position(lon, lat)?;
        Ok(Self::Point(lon, lat))
    }

    /// A circle.
    ///
    /// # Errors
    /// If its centre is no position, or its radius is negative.
    pub fn circle(lon: f64, lat: f64, radius: f64) -> Result<Self, ShapeError> {
        check_position(lon, lat)?;
        if radius.is_nan() || radius < 0.0 {
            return Err(ShapeError::Radius(radius.to_string()));
        }
        Ok(Self::Circle(lon, lat, radius))
    }

    /// A polygon of longitudes and latitudes in turn.
    ///
    /// # Errors
    /// If there are fewer than three vertices, or they do not fit into half the
    /// sphere.
    pub fn polygon(coordinates: &[f64]) -> Result<Self, ShapeError> {
        let (pairs, rest) = coordinates.as_chunks::<2>();
        let invalid = || ShapeError::Polygon(pairs.len());
        if !rest.is_empty() {
            return Err(invalid());
        }
        for &[lon, lat] in pairs {
            check_position(lon, lat)?;
        }
        let vertices = pairs.iter().map(|&[lon, lat]| sphere::direction(lon, lat)).collect();
        Polygon::new(vertices).map(Self::Polygon).ok_or_else(invalid)
    }

    /// The shape that a text in the manner of STC-S describes, such as
    /// `CIRCLE ICRS 180 0 1`.
    ///
    /// # Errors
    /// If it describes none.
    pub fn parse(text: &str) -> Result<Self, ShapeError> {
        let invalid = || ShapeError::Text(text.to_owned());
        let mut words = text.split_whitespace().peekable();
        let kind = words.next().ok_or_else(invalid)?;
        // A frame, and whose place of rest and kind of coordinates it is of.
        while let Some(word) = words.next_if(|word| word.parse::<f64>().is_err()) {
            let known = ["GEOCENTER", "BARYCENTER", "TOPOCENTER", "UNKNOWNREFPOS", "SPHERICAL2"];
            if !known.iter().any(|known| word.eq_ignore_ascii_case(known)) {
                check_frame(word)?;
            }
        }
        let numbers = words.map(str::parse).collect::<Result<Vec<f64>, _>>();
        let numbers = numbers.map_err(|_| invalid())?;
        let is = |name: &str| kind.eq_ignore_ascii_case(name);
        match *numbers {
            [lon, lat] if is("POSITION") || is("POINT") => Self::point(lon, lat),
            [lon, lat, radius] if is("CIRCLE") => Self::circle(lon, lat, radius),
            [lon, lat, width, height] if is("BOX") => {
                Self::polygon(&box_coordinates(lon, lat, width, height)?)
            }
            _ if is("POLYGON") => Self::polygon(&numbers),
            _ => Err(invalid()),
        }
    }

    /// Whether this shape lies in another, which is not a point.
    pub fn is_in(&self, outer: &Self) -> bool {
        match (self, outer) {
            (Self::Point(a, b), Self::Point(c, d)) => sphere::distance(*a, *b, *c, *d) == 0.0,
            (_, Self::Point(..)) => false,
            (Self::Point(lon, lat), Self::Circle(a, b, radius)) => {
                Cap::new(*a, *b, *radius).contains(*lon, *lat)
            }
            (Self::Point(lon, lat), Self::Polygon(polygon)) => {
                polygon.contains(sphere::direction(*lon, *lat))
            }
            (Self::Circle(a, b, inner), Self::Circle(c, d, outer)) => {
                *outer >= 180.0 || sphere::distance(*a, *b, *c, *d) + inner <= *outer
            }
            (Self::Circle(a, b, radius), Self::Polygon(polygon)) => {
                let centre = sphere::direction(*a, *b);
                polygon.contains(centre) && polygon.distance_to_side(centre) >= radius.to_radians()
            }
            (Self::Polygon(polygon), Self::Circle(a, b, radius)) => {
                let centre = sphere::direction(*a, *b);
                if *radius <= 90.0 {
                    // The circle is convex.
                    polygon
                        .vertices()
                        .iter()
                        .all(|&vertex| sphere::angle(centre, vertex) <= radius.to_radians())
                } else {
                    // Nothing of it is in the circle opposite, which is small.
                    let opposite = Self::Circle(a + 180.0, -b, 180.0 - radius);
                    !self.intersects(&opposite)
                }
            }
            (Self::Polygon(inner), Self::Polygon(outer)) => {
                inner.vertices().iter().all(|&vertex| outer.contains(vertex))
                    && !inner.crosses(outer)
            }
        }
    }

    /// Whether the two have a position in common.
    pub fn intersects(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Point(..), _) => self.is_in(other),
            (_, Self::Point(..)) => other.is_in(self),
            (Self::Circle(a, b, r), Self::Circle(c, d, s)) => {
                sphere::distance(*a, *b, *c, *d) <= r + s
            }
            (Self::Circle(a, b, radius), Self::Polygon(polygon))
            | (Self::Polygon(polygon), Self::Circle(a, b, radius)) => {
                let centre = sphere::direction(*a, *b);
                polygon.contains(centre) || polygon.distance_to_side(centre) <= radius.to_radians()
            }
            (Self::Polygon(a), Self::Polygon(b)) => {
                a.vertices().iter().any(|&vertex| b.contains(vertex))
                    || b.vertices().iter().any(|&vertex| a.contains(vertex))
                    || a.crosses(b)
            }
        }
    }

    /// A circle about it: the direction of its centre, its radius in radians.
    pub fn bound(&self) -> (Vector, f64) {
        match self {
            Self::Point(lon, lat) => (sphere::direction(*lon, *lat), 0.0),
            Self::Circle(lon, lat, radius) => (sphere::direction(*lon, *lat), radius.to_radians()),
            Self::Polygon(polygon) => polygon.bound(),
        }
    }

    /// Its area in square degrees.
    pub fn area(&self) -> f64 {
        match self {
            Self::Point(..) => 0.0,
            Self::Circle(_, _, radius) => {
                // 2π (1 − cos r), which cancels for small circles.
                let half = (radius.min(180.0).to_radians() / 2.0).sin();
                (4.0 * std::f64::consts::PI * half * half).to_degrees().to_degrees()
            }
            Self::Polygon(polygon) => polygon.area(),
        }
    }

    /// Longitude and latitude of its middle.
    pub fn centroid(&self) -> (f64, f64) {
        match self {
            Self::Point(lon, lat) | Self::Circle(lon, lat, _) => (*lon, *lat),
            Self::Polygon(polygon) => sphere::position(polygon.centroid()),
        }
    }
}

/// The corners of a box as longitudes and latitudes in turn.
///
/// # Errors
/// If its centre is no position, or a side not above 0 and below 180 degrees.
pub fn box_coordinates(
    lon: f64,
    lat: f64,
    width: f64,
    height: f64,
) -> Result<[f64; 8], ShapeError> {
    check_position(lon, lat)?;
    let vertices = sphere::box_vertices(lon, lat, width, height)
        .ok_or_else(|| ShapeError::Box(width.to_string(), height.to_string()))?;
    let mut coordinates = [0.0; 8];
    for (pair, vertex) in coordinates.as_chunks_mut::<2>().0.iter_mut().zip(vertices) {
        *pair = sphere::position(vertex).into();
    }
    Ok(coordinates)
}
