//! Numbers of JSON lines, read from bytes: exactly rounded, eight digits at a time.

/// A number as it stands in a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Number {
    /// Its digits without point and sign, where they fit; see `exact`.
    mantissa: u64,
    /// Power of ten that the mantissa is multiplied with.
    exponent: i32,
    negative: bool,
    /// Whether `mantissa` holds every digit.
    exact: bool,
    /// Where the number ends.
    pub end: usize,
}

/// The eight bytes from `at`, the first in the lowest place; zeros past the end.
#[inline(always)]
pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok()) {
        Some(eight) => u64::from_le_bytes(eight),
        None => tail_word(bytes, at),
    }
}

#[cold]
fn tail_word(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    if let Some(rest) = bytes.get(at..) {
        eight[..rest.len()].copy_from_slice(rest);
    }
    u64::from_le_bytes(eight)
}

const ONES: u64 = 0x0101_0101_0101_0101;

/// How many of a word's bytes, from the first, are digits.
#[inline(always)]
fn digits(word: u64) -> u32 {
    let zeros = word ^ (ONES * 0x30);
    // A byte is a digit if it is below ten now: neither it nor it plus 0x76 has
    // the top bit. Carries only run upwards, past the first that is none.
    let other = (zeros.wrapping_add(ONES * 0x76) | zeros) & (ONES * 0x80);
    other.trailing_zeros() / 8
}

/// The value of a word of eight digits, of which zero bytes may lead.
#[inline(always)]
fn value(word: u64) -> u64 {
    let word = word & (ONES * 0x0f);
    let word = word.wrapping_mul(10 * 256 + 1) >> 8;
    let word = (word & 0x00ff_00ff_00ff_00ff).wrapping_mul(100 * 65_536 + 1) >> 16;
    (word & 0x0000_ffff_0000_ffff).wrapping_mul(10_000 * (1 << 32) + 1) >> 32
}

const TENS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Reads the digits from `at`: their value (wrapped where it overflows) after
/// that of `mantissa`, and where they end.
#[inline(always)]
fn run(bytes: &[u8], mut at: usize, mut mantissa: u64) -> (u64, usize) {
    loop {
        let eight = word(bytes, at);
        let count = digits(eight);
        if count == 8 {
            mantissa = mantissa.wrapping_mul(100_000_000).wrapping_add(value(eight));
            at += 8;
            continue;
        }
        if count > 0 {
            let last = value(eight << (64 - 8 * count));
            mantissa = mantissa.wrapping_mul(TENS[count as usize]).wrapping_add(last);
        }
        return (mantissa, at + count as usize);
    }
}

/// Reads the count that starts at `at`, and gives where it ends: whole, not
/// negative, and no more than 64 bits signed can hold. `5.0` is 5.
#[inline(always)]
pub(super) fn read_count(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let (value, end) = run(bytes, at, 0);
    let plain = !matches!(bytes.get(end), Some(b'.' | b'e' | b'E'));
    let lead = bytes.get(at) == Some(&b'0') && end > at + 1;
    if (1..=18).contains(&(end - at)) && plain && !lead {
        return Some((value.cast_signed(), end));
    }
    let number = Number::read(bytes, at)?;
    Some((number.count()?, number.end))
}

impl Number {
    /// Reads the JSON number that starts at `start`; none where there is none.
    #[inline(always)]
    pub(super) fn read(bytes: &[u8], start: usize) -> Option<Self> {
        let negative = bytes.get(start) == Some(&b'-');
        let whole = start + usize::from(negative);
        let (mut mantissa, mut end) = run(bytes, whole, 0);
        let mut count = end - whole;
        if count == 0 || (count > 1 && bytes[whole] == b'0') {
            return None;
        }
        let mut exponent = 0;
        if bytes.get(end) == Some(&b'.') {
            let fraction = end + 1;
            (mantissa, end) = run(bytes, fraction, mantissa);
            if end == fraction {
                return None;
            }
            exponent = -i32::try_from(end - fraction).ok()?;
            count += end - fraction;
            if count > 19 {
                // Zeros before the first digit that counts take no place.
                let lead = bytes[whole..end].iter().take_while(|byte| matches!(byte, b'0' | b'.'));
                count = (count + 1).saturating_sub(lead.count());
            }
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let (shift, stop) = power(bytes, end + 1)?;
            exponent += shift;
            end = stop;
        }
        Some(Self { mantissa, exponent, negative, exact: count <= 19, end })
    }

    /// The nearest float, ties to even; infinite where it is out of range.
    #[inline(always)]
    pub(super) fn float(&self, bytes: &[u8], start: usize) -> f64 {
        let magnitude = if self.exact && (-27..=0).contains(&self.exponent) {
            quotient(self.mantissa, self.exponent.unsigned_abs())
        } else {
            return by_library(&bytes[start..self.end]);
        };
        if self.negative { -magnitude } else { magnitude }
    }

    /// The number as a count: whole, not negative, and no more than 64 bits
    /// signed can hold. `5.0` is 5.
    #[inline(always)]
    pub(super) fn count(&self) -> Option<i64> {
        if !self.exact || (self.negative && self.mantissa != 0) {
            return None;
        }
        match self.exponent {
            0 => i64::try_from(self.mantissa).ok(),
            -19..0 => {
                let ten = 10_u64.pow(self.exponent.unsigned_abs());
                self.mantissa.is_multiple_of(ten).then(|| (self.mantissa / ten).cast_signed())
            }
            _ => None,
        }
    }
}

/// An exponent without its `e`, held within what can matter.
#[cold]
fn power(bytes: &[u8], at: usize) -> Option<(i32, usize)> {
    let sign = matches!(bytes.get(at), Some(b'+' | b'-'));
    let start = at + usize::from(sign);
    let mut end = start;
    let mut power = 0_i32;
    while let Some(digit @ b'0'..=b'9') = bytes.get(end) {
        power = (power * 10 + i32::from(digit - b'0')).min(100_000);
        end += 1;
    }
    if end == start {
        return None;
    }
    Some((if bytes[at] == b'-' { -power } else { power }, end))
}

#[cold]
fn by_library(token: &[u8]) -> f64 {
    std::str::from_utf8(token).ok().and_then(|token| token.parse().ok()).unwrap_or(f64::INFINITY)
}

const FIVES: [u64; 28] = {
    let mut fives = [1_u64; 28];
    let mut at = 1;
    while at < 28 {
        fives[at] = fives[at - 1] * 5;
        at += 1;
    }
    fives
};

const EXACT_TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// mantissa / 10^power, rounded to nearest, ties to even; `power` is at most 27.
#[inline(always)]
fn quotient(mantissa: u64, power: u32) -> f64 {
    // Both are exact as floats, so that one division rounds once (Clinger).
    if mantissa == 0 {
        return 0.0;
    }
    if mantissa <= 1 << 53 && power <= 22 {
        return mantissa as f64 / EXACT_TENS[power as usize];
    }
    long_quotient(mantissa, power)
}

/// The same by long division: 10^power is 5^power · 2^power, and 5^27 fits in
/// 64 bits. Both sides are shifted up to their top bit, the mantissa one less,
/// so that the quotient has 63 or 64 bits: all that rounding needs, the
/// remainder apart.
#[inline]
fn long_quotient(mantissa: u64, power: u32) -> f64 {
    let five = FIVES[power as usize];
    let up = mantissa.leading_zeros();
    let five_up = five.leading_zeros();
    let dividend = u128::from(mantissa << up) << 63;
    let divisor = u128::from(five << five_up);
    let (quotient, rest) = (dividend / divisor, dividend % divisor);
    let quotient = u64::try_from(quotient).unwrap_or(u64::MAX);
    // value = quotient · 2^(five_up − up − 63 − power)
    let scale = five_up.cast_signed() - up.cast_signed() - 63 - power.cast_signed();
    // Down to 55 bits or fewer with a sticky last one, which the conversion
    // rounds as it should: it is the same rule.
    let sticky = (quotient >> 9) << 1 | u64::from(quotient & 0x1ff != 0 || rest != 0);
    sticky.cast_signed() as f64 * two_to(scale + 8)
}

/// 2^power for a normal result.
#[inline(always)]
fn two_to(power: i32) -> f64 {
    f64::from_bits(u64::from((power + 1023).unsigned_abs()) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(text: &str) -> Option<f64> {
        // Read in the middle of a buffer, as it is in use.
        let line = format!("{{\"x\": {text}, \"y\": 1}}");
        let number = Number::read(line.as_bytes(), 6)?;
        (number.end == 6 + text.len()).then(|| number.float(line.as_bytes(), 6))
    }

    fn agrees(text: &str) {
        let expected: f64 = text.parse().expect("a float");
        assert_eq!(float(text).map(f64::to_bits), Some(expected.to_bits()), "{text}");
    }

    /// Xorshift: the same numbers in every run.
    fn random(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    #[test]
    fn floats_are_rounded_as_the_library_rounds_them() {
        for text in [
            "0",
            "-0",
            "0.0",
            "-0.0",
            "1",
            "-1",
            "0.1",
            "0.3",
            "1757718488.1234567",
            "5e-324",
            "1e308",
            "1e309",
            "2.2250738585072014e-308",
            "9007199254740993",
            "9007199254740992.5",
            "9007199254740993.0000000001",
            "18446744073709551615",
            "18446744073709551616",
            "0.00012345678901234567",
            "0.000000000000000000012345678901234567",
            "1.5E+3",
            "1e-05",
            "123456789012345678901234567890",
            "0.5000000000000000277555756156289135",
            "3.141592653589793238462643383279502884197",
        ] {
            agrees(text);
        }
    }

    #[test]
    fn random_floats_are_rounded_as_the_library_rounds_them() {
        let mut state = 0x2545_f491_4f6c_dd1d;
        for _ in 0..200_000 {
            let digits = random(&mut state) >> (random(&mut state) % 64);
            let places = (random(&mut state) % 28) as usize;
            let text = format!("{digits:0>width$}", width = places + 1);
            let (whole, fraction) = text.split_at(text.len() - places);
            agrees(&if places == 0 { whole.to_owned() } else { format!("{whole}.{fraction}") });
            // The shortest form of any float of moderate size, as Python writes it.
            let float = (random(&mut state) as f64) / 2_f64.powi((random(&mut state) % 90) as i32);
            agrees(&format!("{float}"));
            agrees(&format!("{float:e}"));
        }
    }

    #[test]
    fn long_division_agrees() {
        let mut state = 0x1234_5678_9abc_def1;
        for _ in 0..100_000 {
            let mantissa = random(&mut state) >> (random(&mut state) % 64);
            let power = (random(&mut state) % 28) as u32;
            let expected: f64 = format!("{mantissa}e-{power}").parse().unwrap();
            if mantissa > 0 {
                assert_eq!(long_quotient(mantissa, power), expected, "{mantissa}e-{power}");
            }
            assert_eq!(quotient(mantissa, power), expected, "{mantissa}e-{power}");
        }
    }

    #[test]
    fn halfway_cases_go_to_even() {
        // (2k + 1) · 2^j has one bit more than a float holds.
        for k in 0..2_000_u64 {
            let odd = (1 << 53) + 2 * k + 1;
            agrees(&format!("{odd}"));
            agrees(&format!("{odd}.0"));
            agrees(&format!("{}.5", (1_u64 << 52) + k));
        }
    }

    #[test]
    fn what_json_refuses_is_refused() {
        for text in
            ["", "-", "+1", ".5", "5.", "01", "-01", "1e", "1e+", "NaN", "Infinity", "-Infinity"]
        {
            assert_eq!(float(text), None, "{text}");
        }
    }

    #[test]
    fn counts_are_whole_and_not_negative() {
        let count = |text: &str| Number::read(text.as_bytes(), 0).and_then(|number| number.count());
        assert_eq!(count("0"), Some(0));
        assert_eq!(count("-0"), Some(0));
        assert_eq!(count("5.0"), Some(5));
        assert_eq!(count("200.00"), Some(200));
        assert_eq!(count("9223372036854775807"), Some(i64::MAX));
        assert_eq!(count("9223372036854775808"), None);
        assert_eq!(count("18446744073709551616"), None);
        assert_eq!(count("5.5"), None);
        assert_eq!(count("-1"), None);
    }
}
