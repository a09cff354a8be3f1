//! The interval of a mean over repetitions.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::{StatsError, finite, probability};

/// The quantile of Student's t distribution with `degrees` degrees of
/// freedom: the x with P(T ≤ x) = `p`. `None` below one degree of freedom.
///
/// # Errors
/// If `p` is not strictly between 0 and 1.
pub fn student_t_quantile(p: f64, degrees: f64) -> Result<Option<f64>, StatsError> {
    probability("probability", p)?;
    if degrees.is_nan() || degrees < 1.0 {
        return Ok(None);
    }
    // The distribution is symmetric: the upper half alone is inverted, so that
    // quantiles of p and 1 − p differ in nothing but their sign.
    let upper = p.max(1.0 - p);
    let quantile = if degrees < MANY {
        StudentsT::new(0.0, 1.0, degrees).map(|t| t.inverse_cdf(upper)).ok()
    } else {
        Some(near_normal(upper, degrees))
    };
    let quantile = quantile.filter(|quantile| quantile.is_finite());
    Ok(quantile.map(|quantile| if p < 0.5 { -quantile } else { quantile }))
}

/// Degrees of freedom from which the inversion loses digits, and the expansion
/// has more than it.
const MANY: f64 = 1000.0;

/// The quantile by its expansion about the normal one in powers of 1 / degrees
/// (Abramowitz & Stegun, *Handbook of Mathematical Functions*, 26.7.5).
fn near_normal(p: f64, degrees: f64) -> f64 {
    let z = Normal::standard().inverse_cdf(p);
    let square = z * z;
    let terms = [
        (square + 1.0) / 4.0,
        ((5.0 * square + 16.0) * square + 3.0) / 96.0,
        (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0,
        ((((79.0 * square + 776.0) * square + 1482.0) * square - 1920.0) * square - 945.0)
            / 92160.0,
    ];
    z + z * terms.iter().rev().fold(0.0, |sum, term| (sum + term) / degrees)
}

/// The half-width of the confidence interval of a mean of `n` values with
/// sample standard deviation `s`: t((1 + confidence) / 2, n − 1) · s / √n.
/// `None` for fewer than two values, which have no interval.
///
/// # Errors
/// If `confidence` is not strictly between 0 and 1, or `s` is not finite.
pub fn half_width(s: f64, n: u64, confidence: f64) -> Result<Option<f64>, StatsError> {
    probability("confidence", confidence)?;
    finite(&[s])?;
    if n < 2 {
        return Ok(None);
    }
    let n = n as f64;
    let quantile = student_t_quantile((1.0 + confidence) / 2.0, n - 1.0)?;
    Ok(quantile.map(|t| t * s / n.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() <= 1e-10 * expected.abs(),
            "found {found}, expected {expected}"
        );
    }

    /// (probability, degrees of freedom, quantile) as scipy.stats.t.ppf prints them.
    const QUANTILES: [(f64, f64, f64); 41] = [
        (0.9, 1.0, 3.0776835371752544),
        (0.9, 2.0, 1.8856180831641272),
        (0.9, 3.0, 1.637744353696209),
        (0.9, 4.0, 1.533206274058944),
        (0.9, 9.0, 1.3830287383966329),
        (0.9, 30.0, 1.3104150253913955),
        (0.9, 165.0, 1.2867034092907204),
        (0.9, 1000.0, 1.2823987214609247),
        (0.95, 1.0, 6.313751514675037),
        (0.95, 2.0, 2.9199855803537242),
        (0.95, 3.0, 2.3533634348018233),
        (0.95, 4.0, 2.1318467863266495),
        (0.95, 9.0, 1.833112932656237),
        (0.95, 30.0, 1.697260886593957),
        (0.95, 165.0, 1.654140976295726),
        (0.95, 1000.0, 1.6463788172854643),
        (0.975, 1.0, 12.706204736174694),
        (0.975, 2.0, 4.302652729749462),
        (0.975, 3.0, 3.1824463052837078),
        (0.975, 4.0, 2.7764451051977934),
        (0.975, 9.0, 2.262157162798205),
        (0.975, 30.0, 2.0422724563012378),
        (0.975, 165.0, 1.9744456300923825),
        (0.975, 1000.0, 1.9623390808264083),
        (0.995, 1.0, 63.656741162871526),
        (0.995, 2.0, 9.924843200918287),
        (0.995, 3.0, 5.840909309733355),
        (0.995, 4.0, 4.604094871349992),
        (0.995, 9.0, 3.249835541592126),
        (0.995, 30.0, 2.7499956535672254),
        (0.995, 165.0, 2.6059537906861867),
        (0.995, 1000.0, 2.580754698065951),
        (0.6, 10000.0, 0.253353843445727),
        (0.6, 1000000.0, 0.25334717053784184),
        (0.6, 1000000000.0, 0.25334710320320153),
        (0.975, 10000.0, 1.960201239890626),
        (0.975, 1000000.0, 1.959966356814107),
        (0.975, 1000000000.0, 1.959963986912325),
        (0.995, 10000.0, 2.5763210466685282),
        (0.995, 1000000.0, 2.5758342201053344),
        (0.995, 1000000000.0, 2.5758293084654484),
    ];

    #[test]
    fn quantiles_equal_scipy() {
        for (p, degrees, expected) in QUANTILES {
            let found = student_t_quantile(p, degrees).unwrap().unwrap();
            close(found, expected);
            assert_eq!(
                student_t_quantile(1.0 - p, degrees).unwrap().map(f64::abs),
                Some(found.abs())
            );
        }
    }

    #[test]
    fn quantiles_need_a_degree_of_freedom_and_a_probability() {
        assert_eq!(student_t_quantile(0.975, 0.0), Ok(None));
        assert_eq!(student_t_quantile(0.5, 3.0), Ok(Some(0.0)));
        for p in [0.0, 1.0, -0.1, f64::NAN] {
            assert!(student_t_quantile(p, 2.0).is_err(), "{p}");
        }
    }

    /// By hand: 1, 2, 3 have s = 1, and t(0.975, 2) = 4.302652729911275.
    #[test]
    fn half_width_of_small_samples() {
        close(half_width(1.0, 3, 0.95).unwrap().unwrap(), 4.302_652_729_749_464 / 3f64.sqrt());
        close(half_width(1.0, 2, 0.95).unwrap().unwrap(), 12.706_204_736_174_694 / 2f64.sqrt());
        assert_eq!(half_width(1.0, 1, 0.95), Ok(None));
        assert_eq!(half_width(1.0, 0, 0.95), Ok(None));
        assert_eq!(half_width(0.0, 3, 0.95), Ok(Some(0.0)));
        assert!(half_width(f64::NAN, 3, 0.95).is_err());
        assert!(half_width(1.0, 3, 1.0).is_err());
    }

    #[test]
    fn an_interval_grows_with_scale_and_confidence_and_shrinks_with_n() {
        let width = |s, n, confidence| half_width(s, n, confidence).unwrap().unwrap();
        close(width(7.0, 5, 0.95), 7.0 * width(1.0, 5, 0.95));
        assert!(width(1.0, 5, 0.99) > width(1.0, 5, 0.95));
        assert!(width(1.0, 6, 0.95) < width(1.0, 5, 0.95));
    }
}
