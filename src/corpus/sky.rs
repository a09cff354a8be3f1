//! Positions on the sky, as unit vectors and in degrees.

use std::f64::consts::PI;

use super::draws::Draws;
use super::portable::{at_decimals, atan2, sin_cos};

/// A direction, of length 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Direction([f64; 3]);

/// Radians of so many degrees.
pub fn radians(degrees: f64) -> f64 {
    degrees / 180.0 * PI
}

impl Direction {
    /// From right ascension and declination in degrees.
    pub fn of(ra: f64, dec: f64) -> Self {
        let (sin_ra, cos_ra) = sin_cos(radians(ra));
        let (sin_dec, cos_dec) = sin_cos(radians(dec));
        Self([cos_dec * cos_ra, cos_dec * sin_ra, sin_dec])
    }

    /// Anywhere, evenly (Marsaglia 1972).
    pub fn draw(draws: &mut Draws) -> Self {
        loop {
            let (a, b) = (draws.between(-1.0, 1.0), draws.between(-1.0, 1.0));
            let square = a * a + b * b;
            if square < 1.0 {
                let root = 2.0 * (1.0 - square).sqrt();
                return Self([a * root, b * root, 1.0 - 2.0 * square]);
            }
        }
    }

    /// A draw in a disc around this direction, evenly, radius in degrees.
    pub fn draw_near(self, draws: &mut Draws, radius: f64) -> Self {
        loop {
            let (east, north) = (draws.between(-1.0, 1.0), draws.between(-1.0, 1.0));
            if east * east + north * north <= 1.0 {
                return self.offset(east * radius, north * radius);
            }
        }
    }

    /// The direction so many degrees to the east and the north, on the plane
    /// that touches the sphere here (gnomonic).
    pub fn offset(self, east: f64, north: f64) -> Self {
        let [x, y, z] = self.0;
        let across = (x * x + y * y).sqrt();
        // At a pole, east is where it is at right ascension 0.
        let (e, n) = if across > 0.0 {
            ([-y / across, x / across, 0.0], [-x * z / across, -y * z / across, across])
        } else {
            ([0.0, 1.0, 0.0], [-z, 0.0, 0.0])
        };
        let (east, north) = (tan(east), tan(north));
        let moved: [f64; 3] = std::array::from_fn(|i| self.0[i] + east * e[i] + north * n[i]);
        let length = (moved.iter().map(|part| part * part).sum::<f64>()).sqrt();
        Self(moved.map(|part| part / length))
    }

    /// Right ascension in [0, 360) and declination, in degrees at so many
    /// decimals.
    pub fn degrees(self, decimals: u32) -> (f64, f64) {
        let [x, y, z] = self.0;
        let ra = atan2(y, x) / PI * 180.0;
        let ra = at_decimals(if ra < 0.0 { ra + 360.0 } else { ra }, decimals);
        let dec = at_decimals(atan2(z, (x * x + y * y).sqrt()) / PI * 180.0, decimals);
        (if ra >= 360.0 { 0.0 } else { ra }, dec)
    }

    /// The square of the straight line to another direction: grows with the
    /// angle between them, and is exact where they are near.
    pub fn chord_squared(self, other: Self) -> f64 {
        (0..3).map(|i| (self.0[i] - other.0[i]) * (self.0[i] - other.0[i])).sum()
    }
}

/// The square of the chord of an angle in degrees.
pub fn chord_squared_of(degrees: f64) -> f64 {
    let sin = 2.0 * sin_cos(radians(degrees) / 2.0).0;
    sin * sin
}

fn tan(degrees: f64) -> f64 {
    let (sin, cos) = sin_cos(radians(degrees));
    sin / cos
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for (ra, dec) in [(0.0, 0.0), (180.0, 0.0), (359.999_999, -89.9), (12.345_678, 45.0)] {
            assert_eq!(Direction::of(ra, dec).degrees(6), (ra, dec));
        }
        assert_eq!(Direction::of(359.999_999_9, 0.0).degrees(6), (0.0, 0.0));
    }

    #[test]
    fn offsets_are_angles() {
        for start in [Direction::of(10.0, 88.0), Direction::of(0.0, 90.0), Direction::of(7.0, -3.0)]
        {
            let moved = start.offset(0.0, 0.5);
            let error = start.chord_squared(moved) - chord_squared_of(0.5);
            assert!(error.abs() < 1e-15, "{start:?}");
        }
        let east = Direction::of(100.0, 0.0).offset(1.0, 0.0);
        assert_eq!(east.degrees(6), (101.0, 0.0));
    }

    #[test]
    fn draws_fill_the_sphere_and_the_disc() {
        let mut draws = Draws::new(5, 5);
        let north = (0..4000).filter(|_| Direction::draw(&mut draws).degrees(6).1 > 30.0).count();
        // A quarter of the sphere; the standard deviation is 27.
        assert!((850..1150).contains(&north), "{north}");
        let centre = Direction::of(200.0, -60.0);
        for _ in 0..500 {
            let near = centre.draw_near(&mut draws, 2.0);
            assert!(centre.chord_squared(near) <= chord_squared_of(2.0));
        }
    }
}
