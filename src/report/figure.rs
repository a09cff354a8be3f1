//! Figures as tables print them: rounded, with what belongs to them.
//!
//! Rounding is to the nearest decimal of the exact binary value, ties to even,
//! as Python's format does it: figures printed by either agree.

use super::grid::MISSING;

/// A figure with that many decimals; `—` for none.
pub fn fixed(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| MISSING.to_owned(), |value| rounded(value, decimals))
}

/// A figure and the half-width of its interval, `412.0 ±37.9`; without the
/// second part where there is no interval, `—` where there is no figure.
pub fn with_half_width(value: Option<f64>, half_width: Option<f64>, decimals: usize) -> String {
    match (value, half_width) {
        (Some(value), Some(half)) => {
            format!("{} ±{}", rounded(value, decimals), rounded(half, decimals))
        }
        _ => fixed(value, decimals),
    }
}

/// A whole figure; `—` for none.
pub fn whole(value: Option<i64>) -> String {
    value.map_or_else(|| MISSING.to_owned(), |value| value.to_string())
}

/// A whole figure with its thousands apart, `4,407,102`.
pub fn thousands(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::from(if value < 0 { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things, `1 rung`, `2 rungs`.
pub fn counted(count: usize, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", thousands(i64::try_from(count).unwrap_or(i64::MAX)))
}

/// Seconds as milliseconds, `9.0 ms`.
pub fn milliseconds(seconds: Option<f64>) -> String {
    seconds
        .map_or_else(|| MISSING.to_owned(), |seconds| format!("{} ms", rounded(1e3 * seconds, 1)))
}

/// Bytes as GiB with two decimals.
pub fn gib(bytes: Option<f64>) -> String {
    fixed(bytes.map(|bytes| bytes / f64::from(1 << 30)), 2)
}

/// A fraction as a change in per cent, `+5.8%`.
pub fn change(fraction: Option<f64>) -> String {
    let Some(fraction) = fraction else { return MISSING.to_owned() };
    let text = rounded(100.0 * fraction, 1);
    match text.strip_prefix('-') {
        Some(positive) => format!("−{positive}%"),
        None => format!("+{text}%"),
    }
}

/// A fraction in per cent, `0.02%`.
pub fn percent(fraction: Option<f64>, decimals: usize) -> String {
    fraction.map_or_else(
        || MISSING.to_owned(),
        |fraction| format!("{}%", rounded(100.0 * fraction, decimals)),
    )
}

/// Never `-0.0`: a zero has no sign that anybody measured.
fn rounded(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(zero) if zero.bytes().all(|byte| matches!(byte, b'0' | b'.')) => zero.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_with_their_half_widths() {
        assert_eq!(with_half_width(Some(412.04), Some(37.86), 1), "412.0 ±37.9");
        assert_eq!(with_half_width(Some(0.0218), Some(0.000_41), 3), "0.022 ±0.000");
        assert_eq!(with_half_width(Some(412.04), None, 1), "412.0");
        assert_eq!(with_half_width(None, Some(1.0), 1), "—");
    }

    #[test]
    fn rounding_is_that_of_pythons_format() {
        // Ties in binary go to even; 0.15 and 2.675 lie below what they look like.
        let pairs = [(0.25, 1, "0.2"), (0.35, 1, "0.3"), (0.15, 1, "0.1"), (2.675, 2, "2.67")];
        for (value, decimals, text) in pairs {
            assert_eq!(fixed(Some(value), decimals), text, "{value}");
        }
        assert_eq!(fixed(Some(-0.01), 1), "0.0");
        assert_eq!(fixed(Some(-0.06), 1), "-0.1");
    }

    #[test]
    fn units() {
        assert_eq!(milliseconds(Some(0.009_04)), "9.0 ms");
        assert_eq!(gib(Some(2_566_286_377.0)), "2.39");
        assert_eq!(change(Some(0.058)), "+5.8%");
        assert_eq!(change(Some(-0.26)), "−26.0%");
        assert_eq!(change(Some(-0.0001)), "+0.0%");
        assert_eq!(percent(Some(0.0123), 1), "1.2%");
        assert_eq!(thousands(4_407_102), "4,407,102");
        assert_eq!(thousands(-999), "-999");
        assert_eq!(counted(1, "rung"), "1 rung");
        assert_eq!(counted(1_540, "rung"), "1,540 rungs");
    }
}
