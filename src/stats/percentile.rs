//! Percentiles by linear interpolation between closest ranks.

use super::{StatsError, finite, probability_or_end};

/// The p-quantile (0 ≤ p ≤ 1) of the values, which are reordered: type 7 of
/// Hyndman and Fan, *Sample Quantiles in Statistical Packages* (1996), the
/// default of NumPy and R. `None` where there are no values.
///
/// # Errors
/// If a value is not finite, or `p` is not from 0 to 1.
pub fn select(values: &mut [f64], p: f64) -> Result<Option<f64>, StatsError> {
    probability_or_end(p)?;
    finite(values)?;
    if values.is_empty() {
        return Ok(None);
    }
    let rank = p * (values.len() - 1) as f64;
    let below = rank.floor() as usize;
    let (_, &mut low, above) = values.select_nth_unstable_by(below, f64::total_cmp);
    let weight = rank - below as f64;
    if weight == 0.0 {
        return Ok(Some(low));
    }
    let high = above.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(Some(interpolate(low, high, weight)))
}

/// The value a share `weight` of the way from `low` to `high`, computed from
/// the nearer end, as NumPy does.
pub(crate) fn interpolate(low: f64, high: f64, weight: f64) -> f64 {
    let step = high - low;
    if weight < 0.5 { low + step * weight } else { high - step * (1.0 - weight) }
}
