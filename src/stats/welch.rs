//! Two samples of unequal variance: Welch's t-test.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::interval::student_t_quantile;
use super::{StatsError, finite, probability};

/// A sample by its mean, its sample standard deviation and its size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation (n − 1).
    pub s: f64,
    /// Number of values.
    pub n: u64,
}

/// Standard error of the difference of two means, and its degrees of freedom
/// by Welch and Satterthwaite. `None` where a sample has fewer than two values.
fn error(a: Sample, b: Sample) -> Result<Option<(f64, f64)>, StatsError> {
    finite(&[a.mean, a.s, b.mean, b.s])?;
    if a.n < 2 || b.n < 2 {
        return Ok(None);
    }
    let (n_a, n_b) = (a.n as f64, b.n as f64);
    let (v_a, v_b) = (a.s * a.s / n_a, b.s * b.s / n_b);
    let variance = v_a + v_b;
    let degrees = if variance > 0.0 {
        variance * variance / (v_a * v_a / (n_a - 1.0) + v_b * v_b / (n_b - 1.0))
    } else {
        n_a + n_b - 2.0
    };
    Ok(Some((variance.sqrt(), degrees)))
}

/// The two-sided p of Welch's t-test that two means are equal. Samples that do
/// not vary differ for sure, or not at all. `None` where a sample has fewer
/// than two values.
///
/// # Errors
/// If a mean or a deviation is not finite.
pub fn p_value(a: Sample, b: Sample) -> Result<Option<f64>, StatsError> {
    let Some((error, degrees)) = error(a, b)? else { return Ok(None) };
    if error == 0.0 {
        return Ok(Some(if a.mean == b.mean { 1.0 } else { 0.0 }));
    }
    let t = ((a.mean - b.mean) / error).abs();
    let distribution = StudentsT::new(0.0, 1.0, degrees).ok();
    Ok(distribution.map(|distribution| (2.0 * distribution.sf(t)).min(1.0)))
}

/// The half-width of the confidence interval of the difference of two means.
/// `None` where a sample has fewer than two values.
///
/// # Errors
/// If a deviation is not finite, or `confidence` no probability.
pub fn half_width(a: Sample, b: Sample, confidence: f64) -> Result<Option<f64>, StatsError> {
    probability("confidence", confidence)?;
    let Some((error, degrees)) = error(a, b)? else { return Ok(None) };
    let t = student_t_quantile((1.0 + confidence) / 2.0, degrees)?;
    Ok(t.map(|t| t * error))
}

/// The smallest relative difference that the test would find with that power,
/// for two samples of log values: e^((t(1 − α/2) + t(power)) · error) − 1. The
/// sum of two central quantiles stands for the noncentral t. `None` where a
/// sample has fewer than two values.
///
/// # Errors
/// As [`half_width`].
pub fn detectable(
    a: Sample,
    b: Sample,
    confidence: f64,
    power: f64,
) -> Result<Option<f64>, StatsError> {
    probability("confidence", confidence)?;
    probability("power", power)?;
    let Some((error, degrees)) = error(a, b)? else { return Ok(None) };
    let size = student_t_quantile((1.0 + confidence) / 2.0, degrees)?;
    let reach = student_t_quantile(power, degrees)?;
    Ok(size.zip(reach).map(|(size, reach)| ((size + reach) * error).exp_m1()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: Option<f64>, expected: f64) {
        let found = found.unwrap();
        assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} for {expected}");
    }

    const A: Sample = Sample { mean: 6.7, s: 0.0151, n: 3 };
    const B: Sample = Sample { mean: 6.65, s: 0.0042, n: 4 };

    const P: f64 = 0.02383085544840653;
    const HALF_WIDTH: f64 = 0.024407905865178398;
    const DETECTABLE: f64 = 0.04522333916732797;

    /// scipy.stats.ttest_ind_from_stats(6.7, 0.0151, 3, 6.65, 0.0042, 4, equal_var=False)
    #[test]
    fn equals_scipy() {
        close(p_value(A, B).unwrap(), P);
        close(p_value(B, A).unwrap(), P);
        close(half_width(A, B, 0.90).unwrap(), HALF_WIDTH);
        close(detectable(A, B, 0.95, 0.80).unwrap(), DETECTABLE);
    }

    #[test]
    fn needs_two_values_on_each_side() {
        let one = Sample { n: 1, ..A };
        assert_eq!(p_value(one, B), Ok(None));
        assert_eq!(half_width(A, one, 0.9), Ok(None));
        assert_eq!(detectable(A, one, 0.95, 0.8), Ok(None));
    }

    #[test]
    fn samples_that_do_not_vary() {
        let still = Sample { s: 0.0, ..A };
        assert_eq!(p_value(still, still), Ok(Some(1.0)));
        assert_eq!(p_value(still, Sample { mean: 1.0, ..still }), Ok(Some(0.0)));
        assert_eq!(half_width(still, still, 0.9), Ok(Some(0.0)));
    }

    #[test]
    fn refuses_what_is_not_a_number() {
        assert!(p_value(Sample { s: f64::NAN, ..A }, B).is_err());
        assert!(half_width(A, B, 1.0).is_err());
    }
}
