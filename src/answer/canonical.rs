//! One text for one value, whoever sent it and in what format.

use super::Value;

/// Columns whose floats are compared at six decimals, not at six significant
/// digits, which are 0.4 arcseconds in 123.456789° and two hours in a date.
const FINE: [&str; 4] = ["s_ra", "s_dec", "t_min", "t_max"];

/// The word that a region in STC-S starts with.
const SHAPES: [&str; 5] = ["circle", "polygon", "box", "position", "ellipse"];

/// The canonical text of a value of a column: floats at six significant digits
/// (positions and dates at six decimals), integers in full, regions with their
/// words in upper case and their numbers at six decimals. None is null; empty
/// text is null too where `fold_empty` says that it cannot be told apart.
///
/// A text that reads as a number is one where the format does not say which it
/// is: CSV gives `1.50` and `1.5` the same text.
pub fn canonical(column: &str, value: &Value, fold_empty: bool) -> Option<String> {
    let is_fine = FINE.iter().any(|fine| fine.eq_ignore_ascii_case(column));
    match value {
        Value::Null => None,
        Value::Text(text) if text.is_empty() => (!fold_empty).then(String::new),
        Value::Text(text) => Some(canonical_text(text, is_fine)),
        Value::Int(value) if is_fine => Some(float(*value as f64, true)),
        Value::Int(value) => Some(integer(*value)),
        Value::Float(value) => Some(float(*value, is_fine)),
        // By way of its text: in double it would have digits that nobody wrote.
        Value::Single(value) => Some(
            value.to_string().parse().map_or_else(|_| value.to_string(), |x| float(x, is_fine)),
        ),
    }
}

fn canonical_text(text: &str, is_fine: bool) -> String {
    let starts_like_a_number =
        text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    if starts_like_a_number {
        if let (Ok(value), false) = (text.parse::<i64>(), is_fine) {
            return integer(value);
        }
        if let Ok(value) = text.parse::<f64>() {
            return float(value, is_fine);
        }
    }
    region(text).unwrap_or_else(|| text.to_owned())
}

/// An integer; up to six digits it looks like a float of that value.
fn integer(value: i64) -> String {
    if value.abs() < 1_000_000 { float(value as f64, false) } else { value.to_string() }
}

/// Means of decimals often end on a five exactly, less or more a last bit that
/// depends on the order of summing: a little is added first, so that all of them
/// are rounded the same way.
fn float(value: f64, is_fine: bool) -> String {
    let value = value + value * if is_fine { 1e-13 } else { 1e-11 };
    let text = if is_fine { format!("{value:.6}") } else { format!("{value:.5e}") };
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    };
    match (digits, exponent) {
        ("0" | "-0", _) => "0".to_owned(),
        (_, "0") => digits.to_owned(),
        _ => format!("{digits}e{exponent}"),
    }
}

/// A region in STC-S: words, then numbers only.
fn region(text: &str) -> Option<String> {
    let mut tokens = text.split_ascii_whitespace().peekable();
    let shape = tokens.next().filter(|word| SHAPES.iter().any(|s| s.eq_ignore_ascii_case(word)))?;
    let mut words = vec![shape.to_ascii_uppercase()];
    while let Some(word) = tokens.next_if(|token| token.parse::<f64>().is_err()) {
        words.push(word.to_ascii_uppercase());
    }
    let before = words.len();
    for token in tokens {
        words.push(float(token.parse().ok()?, true));
    }
    (words.len() > before).then(|| words.join(" "))
}
