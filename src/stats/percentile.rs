//! Percentiles and means.
//!
//! A percentile is the linear interpolation between closest ranks (Hyndman and
//! Fan's type 7, the NumPy default): of n values in order, counted from 0, the
//! fraction p lies at (n − 1) · p.

use super::{StatsError, finite};

/// Where a percentile lies among values in order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rank {
    /// The value at or before it, counted from 0.
    pub lower: usize,
    /// The value at or after it.
    pub upper: usize,
    /// How far it is from the lower to the upper, from 0 to below 1.
    weight: f64,
}

impl Rank {
    /// Where the fraction `p` (0 to 1) of `count` values lies; none where there
    /// is no value, or `p` is no such fraction.
    pub fn new(count: usize, p: f64) -> Option<Self> {
        if count == 0 || !(0.0..=1.0).contains(&p) {
            return None;
        }
        let last = count - 1;
        let position = last as f64 * p;
        let lower = (position.floor() as usize).min(last);
        Some(Self { lower, upper: (lower + 1).min(last), weight: position - lower as f64 })
    }

    /// The percentile, given the two values that it lies between. It is never
    /// outside of them, and comes out as NumPy computes it, to the last bit.
    pub fn between(&self, lower: f64, upper: f64) -> f64 {
        let span = upper - lower;
        if self.weight < 0.5 {
            lower + span * self.weight
        } else {
            upper - span * (1.0 - self.weight)
        }
    }
}

/// The percentile at the fraction `p` (0 to 1) of values in ascending order.
/// None where there is no value, where `p` is no such fraction, or where one of
/// the values is NaN: `total_cmp` sorts it to an end.
pub fn percentile(sorted: &[f64], p: f64) -> Option<f64> {
    let rank = Rank::new(sorted.len(), p)?;
    let ends = [sorted.first()?, sorted.last()?];
    if ends.iter().any(|end| end.is_nan()) {
        return None;
    }
    Some(rank.between(sorted[rank.lower], sorted[rank.upper]))
}

/// The percentiles at the fractions `ps` (0 to 1, ascending) of values in any
/// order, which are put into another. None where there is no value.
///
/// # Errors
/// If a value is not finite, or a fraction is none.
pub fn select<const N: usize>(
    values: &mut [f64],
    ps: [f64; N],
) -> Result<Option<[f64; N]>, StatsError> {
    finite(values)?;
    if let Some(&value) = ps.iter().find(|p| !(0.0..=1.0).contains(*p)) {
        return Err(StatsError::NotAProbability { what: "fraction", value });
    }
    debug_assert!(ps.is_sorted(), "each is looked for above the one before");
    let mut found = [0.0; N];
    // What is below the last that was found is not looked at again.
    let mut start = 0;
    for (found, p) in found.iter_mut().zip(ps) {
        let Some(rank) = Rank::new(values.len(), p) else { return Ok(None) };
        let rest = &mut values[start..];
        let nth = rank.lower - start;
        let (_, &mut lower, above) = rest.select_nth_unstable_by(nth, f64::total_cmp);
        let upper = above.iter().copied().min_by(f64::total_cmp).unwrap_or(lower);
        *found = rank.between(lower, upper);
        start = rank.lower;
    }
    Ok(Some(found))
}

/// The arithmetic mean of values that come one by one, in one order. What
/// rounding drops from the sum is carried along (Neumaier), so that millions of
/// values are added up as well as a few.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Mean {
    sum: f64,
    dropped: f64,
    count: u64,
}

impl Mean {
    /// Takes a value in.
    #[inline]
    pub fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.dropped += if self.sum.abs() >= value.abs() {
            (self.sum - sum) + value
        } else {
            (value - sum) + self.sum
        };
        self.sum = sum;
        self.count += 1;
    }

    /// The mean; none where there is no value, or one of them was NaN.
    pub fn get(&self) -> Option<f64> {
        let mean = (self.sum + self.dropped) / self.count as f64;
        (!mean.is_nan()).then_some(mean)
    }
}

/// The arithmetic mean; none where there is no value, or one of them is NaN.
pub fn mean(values: &[f64]) -> Option<f64> {
    let mut mean = Mean::default();
    for value in values {
        mean.add(*value);
    }
    mean.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selecting_equals_sorting() {
        let values = [5.0, 1.5, 4.25, 1.5, 9.0, 0.125, 7.0];
        for count in 1..=values.len() {
            let mut sorted = values[..count].to_vec();
            sorted.sort_by(f64::total_cmp);
            let ps = [0.0, 0.1, 0.25, 0.5, 0.5, 0.9, 0.95, 0.999, 1.0];
            let expected = ps.map(|p| percentile(&sorted, p).unwrap());
            assert_eq!(select(&mut values[..count].to_vec(), ps), Ok(Some(expected)), "{count}");
            for (p, expected) in ps.into_iter().zip(expected) {
                assert_eq!(select(&mut values[..count].to_vec(), [p]), Ok(Some([expected])));
            }
        }
        assert_eq!(select(&mut [], [0.5]), Ok(None));
        assert!(select(&mut [1.0, f64::NAN], [0.5]).is_err());
        assert!(select(&mut [1.0], [1.5]).is_err());
    }

    /// `numpy.percentile(values, [0, 5, 25, 50, 90, 95, 99, 99.9, 100])`.
    #[test]
    fn percentiles_are_those_of_numpy() {
        let values = [0.1, 0.2, 0.35, 0.7, 1.3, 2.9, 3.0];
        let expected = [
            (0.0, 0.1),
            (0.05, 0.13),
            (0.25, 0.275),
            (0.5, 0.7),
            (0.9, 2.94),
            (0.95, 2.9699999999999998),
            (0.99, 2.9939999999999998),
            (0.999, 2.9994),
            (1.0, 3.0),
        ];
        for (p, value) in expected {
            assert_eq!(percentile(&values, p), Some(value), "{p}");
        }
    }

    #[test]
    fn few_values_have_percentiles_too() {
        assert_eq!(percentile(&[], 0.5), None);
        assert_eq!(percentile(&[4.0], 0.0), Some(4.0));
        assert_eq!(percentile(&[4.0], 0.95), Some(4.0));
        assert_eq!(percentile(&[1.0, 2.0], 0.5), Some(1.5));
        assert_eq!(percentile(&[1.0, 1.0, 1.0], 0.37), Some(1.0));
    }

    #[test]
    fn what_has_no_percentile_is_refused() {
        assert_eq!(percentile(&[1.0, f64::NAN], 0.5), None);
        assert_eq!(percentile(&[-f64::NAN, 1.0], 0.5), None);
        assert_eq!(percentile(&[1.0], 1.01), None);
        assert_eq!(percentile(&[1.0], -0.01), None);
        assert_eq!(percentile(&[1.0], f64::NAN), None);
    }

    #[test]
    fn a_percentile_is_never_outside_of_its_neighbours() {
        let (lower, upper) = (0.1, 0.1 + f64::EPSILON);
        for count in 2..200 {
            for p in [0.01, 0.37, 0.5, 0.95, 0.999] {
                let value = Rank::new(count, p).unwrap().between(lower, upper);
                assert!((lower..=upper).contains(&value), "{count} {p}");
            }
        }
    }

    #[test]
    fn means_are_exact_where_sums_are_not() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[1.0, f64::NAN]), None);
        assert_eq!(mean(&[1e16, 1.0, -1e16]), Some(1.0 / 3.0));
        assert_eq!(mean(&[0.1; 10]), Some(0.1));
    }
}
