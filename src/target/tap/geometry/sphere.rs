//! Points, circles and polygons on the sphere.
//!
//! Angles are degrees: longitudes of any turn, latitudes from -90 to 90. Where
//! it matters, directions are unit vectors, so that neither the poles nor the
//! meridian 0/360 is a special place.

/// A direction as a unit vector.
pub type Vector = [f64; 3];

/// Distances below this (in radians) are rounding: a vertex lies on its own
/// polygon.
const TOUCH: f64 = 1e-14;

/// The direction of a position.
pub fn direction(lon: f64, lat: f64) -> Vector {
    let (sin_lon, cos_lon) = lon.to_radians().sin_cos();
    let (sin_lat, cos_lat) = lat.to_radians().sin_cos();
    [cos_lat * cos_lon, cos_lat * sin_lon, sin_lat]
}

/// The position of a direction: longitude from 0 to 360 (excluded), latitude.
pub fn position([x, y, z]: Vector) -> (f64, f64) {
    let lon = y.atan2(x).to_degrees().rem_euclid(360.0);
    // A tiny negative angle is rounded up to a whole turn.
    let lon = if lon >= 360.0 { 0.0 } else { lon };
    (lon, z.atan2(x.hypot(y)).to_degrees())
}

/// The scalar product.
pub fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The vector product.
pub fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn norm(a: Vector) -> f64 {
    dot(a, a).sqrt()
}

/// The direction of a vector; `None` for one of no length.
pub fn unit(a: Vector) -> Option<Vector> {
    let length = norm(a);
    (length > 1e-12).then(|| a.map(|part| part / length))
}

/// The angle between two directions in radians, exact for small and for large.
pub fn angle(a: Vector, b: Vector) -> f64 {
    norm(cross(a, b)).atan2(dot(a, b))
}

/// The distance of two positions in degrees.
///
/// Vincenty's formula, with the difference of products that cancels for near
/// positions replaced by a sum of small terms.
pub fn distance(lon1: f64, lat1: f64, lon2: f64, lat2: f64) -> f64 {
    let half = ((lon2 - lon1).to_radians() / 2.0).sin();
    let (sin1, cos1) = lat1.to_radians().sin_cos();
    let (sin2, cos2) = lat2.to_radians().sin_cos();
    let (sin_lon, cos_lon) = (lon2 - lon1).to_radians().sin_cos();
    let east = cos2 * sin_lon;
    let north = (lat2 - lat1).to_radians().sin() + 2.0 * sin1 * cos2 * half * half;
    let along = sin1 * sin2 + cos1 * cos2 * cos_lon;
    east.hypot(north).atan2(along).to_degrees()
}

/// A circle that positions are tested against: what is the same for all of
/// them is computed once.
#[derive(Debug, Clone, Copy)]
pub struct Cap {
    lon: f64,
    lat: f64,
    cos_lat: f64,
    /// The haversine of the radius.
    limit: f64,
}

impl Cap {
    /// The circle of a centre and a radius; nothing is in it where the radius
    /// is negative.
    pub fn new(lon: f64, lat: f64, radius: f64) -> Self {
        let limit = if radius < 0.0 {
            -1.0
        } else if radius >= 180.0 {
            2.0
        } else {
            (radius.to_radians() / 2.0).sin().powi(2)
        };
        Self { lon, lat, cos_lat: lat.to_radians().cos(), limit }
    }

    /// Whether a position is in it, its rim included.
    pub fn contains(&self, lon: f64, lat: f64) -> bool {
        let across = ((lat - self.lat).to_radians() / 2.0).sin();
        // Most positions are told by their latitude alone.
        let mut haversine = across * across;
        if haversine > self.limit {
            return false;
        }
        let along = ((lon - self.lon).to_radians() / 2.0).sin();
        haversine += self.cos_lat * lat.to_radians().cos() * along * along;
        haversine <= self.limit
    }
}

/// A polygon whose sides are arcs of great circles: the smaller of the two
/// areas that they divide the sphere into. It fits into an open half of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Polygon {
    vertices: Vec<Vector>,
    /// A direction less than 90 degrees from every vertex.
    middle: Vector,
    /// The vertices on the tangent plane at the middle, where great circles are
    /// straight.
    flat: Vec<(f64, f64)>,
    /// Two directions that span that plane.
    axes: (Vector, Vector),
}

impl Polygon {
    /// The polygon of some vertices; `None` if they are fewer than three, or do
    /// not fit into half the sphere about the middle of all.
    pub fn new(vertices: Vec<Vector>) -> Option<Self> {
        if vertices.len() < 3 {
            return None;
        }
        let sum =
            vertices.iter().fold([0.0; 3], |sum, v| [sum[0] + v[0], sum[1] + v[1], sum[2] + v[2]]);
        let middle = unit(sum)?;
        let pole = if middle[2].abs() < 0.9 { [0.0, 0.0, 1.0] } else { [1.0, 0.0, 0.0] };
        let east = unit(cross(pole, middle))?;
        let axes = (east, cross(middle, east));
        let flat =
            vertices.iter().map(|&v| project(v, middle, axes)).collect::<Option<Vec<_>>>()?;
        Some(Self { vertices, middle, flat, axes })
    }

    /// Its vertices.
    pub fn vertices(&self) -> &[Vector] {
        &self.vertices
    }

    /// Its sides.
    fn sides(&self) -> impl Iterator<Item = (Vector, Vector)> + '_ {
        let next = self.vertices.iter().cycle().skip(1);
        self.vertices.iter().copied().zip(next.copied())
    }

    /// A circle about it: its centre, and its radius in radians.
    pub fn bound(&self) -> (Vector, f64) {
        let far = self.vertices.iter().map(|&v| angle(self.middle, v)).fold(0.0, f64::max);
        (self.middle, far)
    }

    /// Whether a direction is in it, its sides included.
    pub fn contains(&self, point: Vector) -> bool {
        let Some((x, y)) = project(point, self.middle, self.axes) else { return false };
        let mut inside = false;
        let (mut px, mut py) = self.flat[self.flat.len() - 1];
        for &(qx, qy) in &self.flat {
            if (qy > y) != (py > y) && x < (px - qx) * (y - qy) / (py - qy) + qx {
                inside = !inside;
            }
            (px, py) = (qx, qy);
        }
        inside || self.sides().any(|(a, b)| distance_to_arc(point, a, b) <= TOUCH)
    }

    /// The distance of a direction from its nearest side, in radians.
    pub fn distance_to_side(&self, point: Vector) -> f64 {
        self.sides().map(|(a, b)| distance_to_arc(point, a, b)).fold(f64::INFINITY, f64::min)
    }

    /// Whether a side of it crosses one of another.
    pub fn crosses(&self, other: &Self) -> bool {
        self.sides().any(|(a, b)| other.sides().any(|(c, d)| arcs_cross(a, b, c, d)))
    }

    /// Its area in square degrees.
    pub fn area(&self) -> f64 {
        // Triangles from the middle, signed, so that they need not lie inside.
        let excess = |(a, b): (Vector, Vector)| {
            let volume = dot(self.middle, cross(a, b));
            let rest = 1.0 + dot(self.middle, a) + dot(a, b) + dot(b, self.middle);
            2.0 * volume.atan2(rest)
        };
        let sum: f64 = self.sides().map(excess).sum();
        sum.abs().to_degrees().to_degrees()
    }

    /// The middle of its area, taken as thin.
    pub fn centroid(&self) -> Vector {
        // Over a region of the sphere, the integral of the direction is half
        // the sum over its sides of their length times their plane's normal.
        let mut sum = [0.0; 3];
        for (a, b) in self.sides() {
            let normal = cross(a, b);
            let sine = norm(normal);
            if sine > 0.0 {
                let weight = sine.atan2(dot(a, b)) / sine;
                for (total, part) in sum.iter_mut().zip(normal) {
                    *total += weight * part;
                }
            }
        }
        let Some(centre) = unit(sum) else { return self.middle };
        // The other way round where its vertices run clockwise.
        if dot(centre, self.middle) < 0.0 { centre.map(|part| -part) } else { centre }
    }
}

/// A direction on the tangent plane; `None` on the far half of the sphere.
fn project(v: Vector, middle: Vector, (east, north): (Vector, Vector)) -> Option<(f64, f64)> {
    let along = dot(v, middle);
    (along > 1e-9).then(|| (dot(v, east) / along, dot(v, north) / along))
}

/// The distance of a direction from an arc of a great circle, in radians.
fn distance_to_arc(point: Vector, a: Vector, b: Vector) -> f64 {
    let ends = angle(point, a).min(angle(point, b));
    let Some(normal) = unit(cross(a, b)) else { return ends };
    // Nearest on the arc, not at an end, if the point lies between the planes
    // through the ends and the normal.
    if dot(cross(normal, a), point) >= 0.0 && dot(cross(b, normal), point) >= 0.0 {
        dot(normal, point).clamp(-1.0, 1.0).asin().abs()
    } else {
        ends
    }
}

/// Whether two arcs of great circles, each shorter than half a turn, cross.
fn arcs_cross(a: Vector, b: Vector, c: Vector, d: Vector) -> bool {
    let (ab, cd) = (cross(a, b), cross(c, d));
    let (c_side, d_side) = (dot(ab, c), dot(ab, d));
    let (a_side, b_side) = (dot(cd, a), dot(cd, b));
    // Each pair of ends on either side of the other's plane, and the crossing
    // on the same half of the sphere.
    c_side * d_side < 0.0 && a_side * b_side < 0.0 && c_side * b_side > 0.0
}

/// The vertices of a box: a cross at its centre, whose arms run along the axes
/// there for half the width and half the height, and great circles through the
/// ends of the arms at right angles with them. `None` where a side is not above
/// 0 and below 180 degrees.
pub fn box_vertices(lon: f64, lat: f64, width: f64, height: f64) -> Option<[Vector; 4]> {
    let fits = |side: f64| side > 0.0 && side < 180.0;
    if !fits(width) || !fits(height) {
        return None;
    }
    let (sin_lon, cos_lon) = lon.to_radians().sin_cos();
    let (sin_lat, cos_lat) = lat.to_radians().sin_cos();
    let centre = direction(lon, lat);
    let east = [-sin_lon, cos_lon, 0.0];
    let north = [-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat];
    let x = (width / 2.0).to_radians().tan();
    let y = (height / 2.0).to_radians().tan();
    let corner = |x: f64, y: f64| {
        unit(std::array::from_fn(|axis| centre[axis] + x * east[axis] + y * north[axis]))
    };
    Some([corner(x, -y)?, corner(x, y)?, corner(-x, y)?, corner(-x, -y)?])
}
