//! Elementary functions that give the same bits on any machine.
//!
//! `f64::sin` and its like call the platform's library, whose last bit differs
//! from one to the next, and one bit is enough for another sha256. Here is only
//! what IEEE 754 defines to the bit: `+`, `-`, `*`, `/`, square root, rounding.
//! Errors are a few units in the last place, and all results are rounded to
//! fewer digits before they are written.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, PI};

/// Sine and cosine of an angle in radians, up to a few turns.
pub fn sin_cos(angle: f64) -> (f64, f64) {
    let quarter = (angle / FRAC_PI_2).round();
    let (sin, cos) = small_sin_cos(angle - quarter * FRAC_PI_2);
    match (quarter as i64).rem_euclid(4) {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

/// Taylor series for |x| ≤ π/4; the first term left out is below 1e-17.
fn small_sin_cos(x: f64) -> (f64, f64) {
    let square = x * x;
    let (mut sin, mut cos) = (1.0, 1.0);
    for k in (1..=9).rev() {
        let k = f64::from(k);
        sin = 1.0 - square / ((2.0 * k) * (2.0 * k + 1.0)) * sin;
        cos = 1.0 - square / ((2.0 * k - 1.0) * (2.0 * k)) * cos;
    }
    (x * sin, cos)
}

/// The angle of a point, in radians from -π to π.
pub fn atan2(y: f64, x: f64) -> f64 {
    let (low, high) = (y.abs().min(x.abs()), y.abs().max(x.abs()));
    let octant = if high == 0.0 { 0.0 } else { small_atan(low / high) };
    let quadrant = if y.abs() > x.abs() { FRAC_PI_2 - octant } else { octant };
    let half = if x < 0.0 { PI - quadrant } else { quadrant };
    if y < 0.0 { -half } else { half }
}

/// Of 0 ≤ x ≤ 1: halved twice, then by its series.
fn small_atan(x: f64) -> f64 {
    let half = |x: f64| x / (1.0 + (1.0 + x * x).sqrt());
    if x == 1.0 {
        return FRAC_PI_4;
    }
    let x = half(half(x));
    let square = x * x;
    let mut sum = 0.0;
    for k in (0..=12).rev() {
        sum = 1.0 / f64::from(2 * k + 1) - square * sum;
    }
    4.0 * x * sum
}

/// The natural exponential function, for results that are normal numbers.
pub fn exp(x: f64) -> f64 {
    let twos = (x / LN_2).round();
    let rest = x - twos * LN_2;
    let mut sum = 1.0;
    for k in (1..=18).rev() {
        sum = 1.0 + rest / f64::from(k) * sum;
    }
    sum * power_of_two(twos as i32)
}

/// The natural logarithm of a positive normal number.
pub fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let twos = ((bits >> 52) & 0x7ff) as i32 - 1023;
    // 1 ≤ mantissa < 2, and the logarithm by 2 · artanh((m - 1) / (m + 1)).
    let mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let square = ratio * ratio;
    let mut sum = 0.0;
    for k in (0..=18).rev() {
        sum = 1.0 / f64::from(2 * k + 1) + square * sum;
    }
    f64::from(twos) * LN_2 + 2.0 * ratio * sum
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// A value at so many decimals: the number nearest to the decimal fraction,
/// which is what reading its text gives. For magnitudes below 2^53 / 10^decimals.
pub fn at_decimals(value: f64, decimals: u32) -> f64 {
    let scale = f64::from(10_u32.pow(decimals));
    let rounded = (value * scale).round() / scale;
    // No negative zero.
    rounded + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(ours: f64, theirs: f64, what: &str) {
        let error = (ours - theirs).abs() / theirs.abs().max(1.0);
        assert!(error < 4e-15, "{what}: {ours} and {theirs}");
    }

    #[test]
    fn like_the_platforms_own() {
        for step in -4000..4000 {
            let x = f64::from(step) / 500.0;
            let (sin, cos) = sin_cos(x);
            close(sin, x.sin(), &format!("sin {x}"));
            close(cos, x.cos(), &format!("cos {x}"));
            close(exp(x), x.exp(), &format!("exp {x}"));
            close(exp(ln(x.abs() + 1e-9)), x.abs() + 1e-9, &format!("ln {x}"));
            close(atan2(sin, cos), sin.atan2(cos), &format!("atan2 {x}"));
        }
        close(ln(1.2e-10), 1.2e-10_f64.ln(), "ln of a small number");
        for (y, x) in [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0), (1.0, 1.0)] {
            close(atan2(y, x), y.atan2(x), &format!("atan2({y}, {x})"));
        }
    }

    #[test]
    fn decimals_read_back() {
        for value in [0.1, 359.123_456_499_9, -89.999_999_51, 1e-9, -1e-9, 51_544.000_000_5] {
            let rounded = at_decimals(value, 6);
            let text = format!("{rounded:.6}");
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), rounded.to_bits(), "{text}");
        }
    }
}
