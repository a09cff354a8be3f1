//! A straight line through points, by ordinary least squares.

use super::interval::student_t_quantile;
use super::{StatsError, finite, probability};

/// The line y = a + b·x, and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Points that it goes through.
    pub n: u64,
    /// Value at x = 0.
    pub intercept: f64,
    /// Half-width of the intercept's confidence interval.
    pub intercept_half_width: f64,
    /// Rise of y for each unit of x.
    pub slope: f64,
    /// Half-width of the slope's confidence interval.
    pub slope_half_width: f64,
    /// Share of the variance of y that the line explains; `None` where y does
    /// not vary.
    pub r_squared: Option<f64>,
}

/// Fits y = a + b·x to (x, y) points by ordinary least squares.
///
/// With n points, residual variance s² = Σ(y − a − b·x)² / (n − 2) and
/// Sxx = Σ(x − x̄)², the half-widths are t · s / √Sxx for the slope and
/// t · s · √(1/n + x̄² / Sxx) for the intercept, t being the quantile of
/// Student's t with n − 2 degrees of freedom (Draper & Smith, *Applied
/// Regression Analysis*, 3rd ed., section 1.4).
///
/// `None` for fewer than three points (the interval needs a degree of
/// freedom), and where all x are equal.
///
/// # Errors
/// If a coordinate is not finite, or `confidence` is not strictly between 0 and 1.
pub fn line(points: &[(f64, f64)], confidence: f64) -> Result<Option<Line>, StatsError> {
    probability("confidence", confidence)?;
    for &(x, y) in points {
        finite(&[x, y])?;
    }
    if points.len() < 3 || points.iter().all(|point| point.0 == points[0].0) {
        return Ok(None);
    }
    let n = points.len() as f64;
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / n;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / n;
    let sum = |term: fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|&(x, y)| term(x - mean_x, y - mean_y)).sum()
    };
    let sxx = sum(|x, _| x * x);
    let sxy = sum(|x, y| x * y);
    let syy = sum(|_, y| y * y);

    let slope = sxy / sxx;
    let intercept = mean_y - slope * mean_x;
    // Summed from the residuals themselves: syy − slope · sxy would cancel.
    let residuals: f64 = points.iter().map(|&(x, y)| (y - intercept - slope * x).powi(2)).sum();
    let deviation = (residuals / (n - 2.0)).sqrt();
    let Some(t) = student_t_quantile((1.0 + confidence) / 2.0, n - 2.0)? else { return Ok(None) };
    Ok(Some(Line {
        n: points.len() as u64,
        intercept,
        intercept_half_width: t * deviation * (1.0 / n + mean_x * mean_x / sxx).sqrt(),
        slope,
        slope_half_width: t * deviation / sxx.sqrt(),
        r_squared: (syy > 0.0).then(|| 1.0 - residuals / syy),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() <= 1e-9 * expected.abs().max(1e-9),
            "found {found}, expected {expected}"
        );
    }

    const POINTS: [(f64, f64); 6] = [
        (0.001, 0.0013),
        (0.02, 0.00135),
        (3.23, 0.0158),
        (0.05, 0.0015),
        (1.5, 0.0081),
        (2.2, 0.0112),
    ];

    const INTERCEPT: f64 = 0.0012879876223719985;
    const SLOPE: f64 = 0.0045025102507881744;
    const R_SQUARED: f64 = 0.9999714471596449;
    const INTERCEPT_HALF_WIDTH: f64 = 5.708315615340304e-05;
    const SLOPE_HALF_WIDTH: f64 = 3.339986139742393e-05;

    /// Printed by scipy.stats.linregress, its standard errors times
    /// scipy.stats.t.ppf(0.975, 4).
    #[test]
    fn equals_scipy() {
        let line = line(&POINTS, 0.95).unwrap().unwrap();
        assert_eq!(line.n, 6);
        close(line.intercept, INTERCEPT);
        close(line.slope, SLOPE);
        close(line.r_squared.unwrap(), R_SQUARED);
        close(line.intercept_half_width, INTERCEPT_HALF_WIDTH);
        close(line.slope_half_width, SLOPE_HALF_WIDTH);
    }

    #[test]
    fn an_exact_line_has_no_width() {
        let line = line(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)], 0.95).unwrap().unwrap();
        assert_eq!((line.intercept, line.slope, line.r_squared), (1.0, 2.0, Some(1.0)));
        assert_eq!((line.intercept_half_width, line.slope_half_width), (0.0, 0.0));
    }

    #[test]
    fn a_flat_line_explains_nothing() {
        let line = line(&[(0.0, 2.0), (1.0, 2.0), (2.0, 2.0)], 0.95).unwrap().unwrap();
        assert_eq!((line.slope, line.r_squared), (0.0, None));
    }

    #[test]
    fn no_line_through_too_few_points_or_one_abscissa() {
        assert_eq!(line(&[], 0.95), Ok(None));
        assert_eq!(line(&POINTS[..2], 0.95), Ok(None));
        assert_eq!(line(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)], 0.95), Ok(None));
    }

    #[test]
    fn refuses_what_is_not_a_number() {
        assert!(line(&[(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0)], 0.95).is_err());
        assert!(line(&POINTS, 0.0).is_err());
    }

    #[test]
    fn shifting_and_scaling_carry_through() {
        let plain = line(&POINTS, 0.95).unwrap().unwrap();
        let moved = POINTS.map(|(x, y)| (x, 10.0 * y + 1.0));
        let moved = line(&moved, 0.95).unwrap().unwrap();
        close(moved.slope, 10.0 * plain.slope);
        close(moved.intercept, 10.0 * plain.intercept + 1.0);
        close(moved.slope_half_width, 10.0 * plain.slope_half_width);
    }
}
