//! JSON lines to columns, fast: one pass over the bytes, no values in between.
//!
//! Writers of JSON lines write every line alike, so after each field the next
//! one is guessed: the bytes from the end of a value to the start of the next
//! (`, "latency_s": `) are compared with those that stood there before. Only
//! where they differ is a key read. Whatever is not plain (an escape, a nested
//! value, a number that is none) is left to [`super::careful`], which reads the
//! whole line again and knows the words for what is wrong with it.

use std::collections::BTreeSet;

use super::columns::{Codes, Columns, Figures, Labels};
use super::error::Problem;
use super::field::{FIELDS, Field};
use super::number::{Number, word};
use super::{Requests, careful};

/// Lines that need room in a block: a guess that the columns start from.
const LINE: usize = 200;

/// Reads a block of whole lines. `last` says that the file ends with it, so
/// that its last line may lack its newline, and may then be half a line.
///
/// The error is of the line of that number, counted from 0.
pub(super) fn parse(block: &[u8], last: bool) -> Result<Requests, (u64, Problem)> {
    let mut lines = Lines::new(block);
    let mut at = 0;
    let mut count = 0;
    let mut half_line = false;
    while at < block.len() {
        at = match lines.object(at) {
            Some(end) => end,
            None => {
                let end = memchr::memchr(b'\n', &block[at..]).map_or(block.len(), |end| at + end);
                let line = &block[at..end];
                match careful::read(line, &mut lines.columns, &mut lines.unknown) {
                    Ok(()) => {}
                    Err(Problem::Json(_)) if last && end == block.len() => half_line = true,
                    Err(problem) => return Err((count, problem)),
                }
                end + 1
            }
        };
        count += 1;
    }
    lines.columns.finish();
    Ok(Requests { columns: lines.columns, lines: count, unknown: lines.unknown, half_line })
}

struct Lines<'a> {
    block: &'a [u8],
    /// By the field before: what stood after its value.
    guesses: [Guess; FIELDS + 1],
    columns: Columns,
    unknown: BTreeSet<String>,
}

/// The bytes from the end of a value to the start of the next, and its field.
#[derive(Debug, Clone, Copy)]
struct Guess {
    bytes: [u64; 3],
    masks: [u64; 3],
    length: usize,
    field: Field,
}

impl Default for Guess {
    /// What no line has: a zero byte.
    fn default() -> Self {
        Self { bytes: [0; 3], masks: [u64::MAX; 3], length: 0, field: Field::Unknown }
    }
}

impl Guess {
    /// None where it is too long to be worth a guess.
    fn new(bytes: &[u8], field: Field) -> Option<Self> {
        let mut padded = [0; 24];
        padded.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let mask = |at: usize| match bytes.len().saturating_sub(at) {
            8.. => u64::MAX,
            left => !(u64::MAX << (8 * left)),
        };
        Some(Self {
            bytes: [word(&padded, 0), word(&padded, 8), word(&padded, 16)],
            masks: [mask(0), mask(8), mask(16)],
            length: bytes.len(),
            field,
        })
    }

    #[inline(always)]
    fn matches(&self, block: &[u8], at: usize) -> bool {
        let differs =
            |part: usize| (word(block, at + 8 * part) ^ self.bytes[part]) & self.masks[part];
        differs(0) | differs(1) | differs(2) == 0
    }
}

/// A string.
struct Text<'a> {
    /// What is between its quotes: UTF-8.
    bytes: &'a [u8],
    /// The same, for [`Labels::code`].
    short: [u64; 2],
    /// Past the closing quote.
    end: usize,
}

impl<'a> Lines<'a> {
    fn new(block: &'a [u8]) -> Self {
        Self {
            block,
            guesses: std::array::from_fn(|_| Guess::default()),
            columns: Columns::with_capacity(block.len() / LINE + 1),
            unknown: BTreeSet::new(),
        }
    }

    /// Reads the line from `at`; gives where the next starts, or none where
    /// the line is not plain.
    #[inline(always)]
    fn object(&mut self, mut at: usize) -> Option<usize> {
        let block = self.block;
        let mut figures = Figures::default();
        let mut codes = Codes::default();
        let mut request_id = None;
        let mut seen = 0_u32;
        let mut before = FIELDS;
        loop {
            let guess = &self.guesses[before];
            let field = if guess.matches(block, at) {
                at += guess.length;
                guess.field
            } else {
                let brace = space(block, at);
                if block.get(brace) == Some(&b'}') && before != FIELDS {
                    at = brace + 1;
                    break;
                }
                let (field, start) = self.key(at, before)?;
                at = start;
                field
            };
            let bit = 1 << field as u32;
            if seen & bit != 0 && field != Field::Unknown && field != Field::Key {
                return None;
            }
            seen |= bit;
            before = field as usize;
            // "null", of which there are many.
            if word(block, at) as u32 == u32::from_le_bytes(*b"null") {
                at += 4;
                continue;
            }
            at = match field {
                Field::TStart => float(block, at, &mut figures.t_start)?,
                Field::TOffered => float(block, at, &mut figures.t_offered)?,
                Field::Latency => float(block, at, &mut figures.latency_s)?,
                Field::Ttfb => float(block, at, &mut figures.ttfb_s)?,
                Field::Status => count(block, at, &mut figures.status)?,
                Field::ResponseBytes => count(block, at, &mut figures.response_bytes)?,
                Field::Rows => count(block, at, &mut figures.rows)?,
                Field::QueryClass => {
                    label(block, at, &mut self.columns.query_class, &mut codes.query_class)?
                }
                Field::QueryId => {
                    label(block, at, &mut self.columns.query_id, &mut codes.query_id)?
                }
                Field::Error => label(block, at, &mut self.columns.error, &mut codes.error)?,
                Field::Pod => label(block, at, &mut self.columns.pod, &mut codes.pod)?,
                Field::Mode => label(block, at, &mut self.columns.mode, &mut codes.mode)?,
                Field::RequestId => {
                    let text = text(block, at)?;
                    request_id = (!text.bytes.is_empty()).then_some(text.bytes);
                    text.end
                }
                Field::Key | Field::Unknown => scalar(block, at)?,
            };
        }
        let end = match block.get(at) {
            Some(b'\n') => at + 1,
            _ => line_end(block, at)?,
        };
        if !figures.in_order(codes.error) {
            return None;
        }
        self.columns.push(&figures, &codes, request_id);
        Some(end)
    }

    /// Reads a key where the guess was wrong, up to its value, and guesses it
    /// the next time.
    #[cold]
    #[inline(never)]
    fn key(&mut self, start: usize, before: usize) -> Option<(Field, usize)> {
        let block = self.block;
        let mut at = space(block, start);
        let opening = if before == FIELDS { b'{' } else { b',' };
        if block.get(at) != Some(&opening) {
            return None;
        }
        at = space(block, at + 1);
        if block.get(at) != Some(&b'"') {
            return None;
        }
        let key = text(block, at)?;
        at = space(block, key.end);
        if block.get(at) != Some(&b':') {
            return None;
        }
        at = space(block, at + 1);
        let name = std::str::from_utf8(key.bytes).ok()?;
        let field = Field::named(name);
        if field == Field::Unknown && !self.unknown.contains(name) {
            self.unknown.insert(name.to_owned());
        }
        if let Some(guess) = Guess::new(&block[start..at], field) {
            self.guesses[before] = guess;
        }
        Some((field, at))
    }
}

/// Past spaces within a line.
#[inline(always)]
fn space(block: &[u8], mut at: usize) -> usize {
    while matches!(block.get(at), Some(b' ' | b'\t' | b'\r')) {
        at += 1;
    }
    at
}

/// Past the newline that ends a line, if nothing but spaces is before it.
#[cold]
fn line_end(block: &[u8], at: usize) -> Option<usize> {
    let at = space(block, at);
    match block.get(at) {
        Some(b'\n') => Some(at + 1),
        None => Some(at),
        Some(_) => None,
    }
}

#[inline(always)]
fn float(block: &[u8], at: usize, value: &mut f64) -> Option<usize> {
    let number = Number::read(block, at)?;
    *value = number.float(block, at);
    value.is_finite().then_some(())?;
    Some(number.end)
}

#[inline(always)]
fn count(block: &[u8], at: usize, value: &mut i64) -> Option<usize> {
    let number = Number::read(block, at)?;
    *value = number.count()?;
    Some(number.end)
}

#[inline(always)]
fn label(block: &[u8], at: usize, labels: &mut Labels, code: &mut u32) -> Option<usize> {
    let text = text(block, at)?;
    if !text.bytes.is_empty() {
        *code = labels.code(text.bytes, text.short);
    }
    Some(text.end)
}

const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = ONES << 7;

/// Reads the string whose opening quote is at `at`, if it has no escapes.
#[inline(always)]
fn text(block: &[u8], at: usize) -> Option<Text<'_>> {
    if block.get(at) != Some(&b'"') {
        return None;
    }
    let start = at + 1;
    let mut end = start;
    let mut beyond_ascii = 0;
    let mut short = [0; 2];
    loop {
        let eight = word(block, end);
        // The top bit of a byte that is a quote, a backslash or a control
        // character; exact up to the first.
        let zero = |word: u64| word.wrapping_sub(ONES) & !word;
        let stop = (zero(eight ^ (ONES * 0x22))
            | zero(eight ^ (ONES * 0x5c))
            | (eight.wrapping_sub(ONES * 0x20) & !eight))
            & TOPS;
        let length = (stop.trailing_zeros() / 8) as usize;
        let own = if length == 8 { eight } else { eight & !(u64::MAX << (8 * length)) };
        beyond_ascii |= own & TOPS;
        match end - start {
            0 => short[0] = own,
            8 => short[1] = own,
            _ => short = [0; 2],
        }
        end += length;
        if length < 8 {
            break;
        }
    }
    if block.get(end) != Some(&b'"') {
        return None;
    }
    let bytes = &block[start..end];
    if beyond_ascii != 0 {
        std::str::from_utf8(bytes).ok()?;
    }
    Some(Text { bytes, short, end: end + 1 })
}

/// Past a value that nobody wants, if it is plain.
#[cold]
fn scalar(block: &[u8], at: usize) -> Option<usize> {
    match block.get(at)? {
        b'"' => Some(text(block, at)?.end),
        b't' => block[at..].starts_with(b"true").then_some(at + 4),
        b'f' => block[at..].starts_with(b"false").then_some(at + 5),
        _ => Some(Number::read(block, at)?.end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Result<Vec<String>, (u64, Problem)> {
        parse(text.as_bytes(), true).map(|requests| requests.columns.to_lines())
    }

    /// What the careful reader makes of the same lines.
    fn careful_rows(text: &str) -> Vec<String> {
        let (mut columns, mut unknown) = (Columns::default(), BTreeSet::new());
        for line in text.lines() {
            careful::read(line.as_bytes(), &mut columns, &mut unknown).unwrap();
        }
        columns.to_lines()
    }

    fn is_plain(line: &str) -> bool {
        let mut lines = Lines::new(line.as_bytes());
        lines.object(0) == Some(line.len())
    }

    const FULL: &str = r#"{"t_start": 1757718488.1234567, "t_offered": null, "query_class": "Q01", "query_id": "Q01-0042", "status": 200, "error": null, "latency_s": 0.012345678901234567, "ttfb_s": 1e-05, "response_bytes": 18216, "rows": 100, "pod": null, "mode": "sync", "request_id": "a168e14d"}"#;

    #[test]
    fn a_line_gives_every_column() {
        let expected = r#"[1757718488.1234567, NaN, 0.012345678901234567, 1e-5] [Some(200), Some(18216), Some(100)] ["Q01", "Q01-0042", "null", "null", "sync"] Some("a168e14d")"#;
        assert!(is_plain(FULL));
        assert_eq!(rows(&format!("{FULL}\n{FULL}\n")).unwrap(), [expected, expected]);
        assert_eq!(rows(FULL).unwrap(), [expected], "the last newline may be missing");
    }

    #[test]
    fn however_plain_lines_are_written_they_are_read_fast() {
        for line in [
            r#"{"t_start":1,"latency_s":2,"status":200}"#,
            r#"{"status": 404, "latency_s": 2.50, "t_start": 1E2}"#,
            r#" { "t_start" : 1 , "latency_s" : 2 , "status" : 200.0 } "#,
            r#"{"t_start":1,"latency_s":2,"status":null,"error":"timed out"}"#,
            r#"{"t_start":1,"latency_s":-0.0,"status":200,"error":"","pod":"","request_id":""}"#,
            r#"{"t_start":1,"latency_s":2,"status":200,"x":true,"y":false,"z":-1.5e3,"s":"t","n":null}"#,
            r#"{"t_start":-1,"latency_s":2,"status":0,"run":"r","rung":"g","rung":"g"}"#,
            r#"{"t_start":1,"latency_s":2,"status":200,"pod":"exactly sixteen!","query_id":"seventeen letters"}"#,
            r#"{"t_start":1,"latency_s":2,"status":200,"pod":"Zürich 東京"}"#,
        ] {
            assert!(is_plain(line), "{line}");
            assert_eq!(rows(line).unwrap(), careful_rows(line), "{line}");
        }
    }

    #[test]
    fn what_is_not_plain_is_read_all_the_same() {
        for line in [
            r#"{"t_start":1,"latency_s":2,"status":200,"pod":"a\"b\\c\u00fc\n"}"#,
            r#"{"t_start":1,"latency_s":2,"status":200,"\u0070od":"p"}"#,
            r#"{"t_start":1,"latency_s":2,"status":200,"more":{"a":[1,{"b":null}]},"list":[]}"#,
        ] {
            assert!(!is_plain(line), "{line}");
            assert_eq!(rows(line).unwrap(), careful_rows(line), "{line}");
        }
    }

    #[test]
    fn lines_of_many_shapes_follow_each_other() {
        let mut text = String::new();
        for number in 0..300 {
            text += &match number % 5 {
                0 => format!("{}\n", FULL.replace("Q01-0042", &format!("Q01-{number}"))),
                1 => format!("{{\"t_start\":{number},\"latency_s\":0.5,\"status\":{number}}}\r\n"),
                2 => format!(
                    "{{\"latency_s\":0.{number},\"status\":null,\"error\":\"e{number}\",\"t_start\":1.5}}\n"
                ),
                3 => format!(
                    "\n  \n{{\"t_start\":1,\"more\":[{number}],\"latency_s\":1,\"status\":1}}\n"
                ),
                _ => format!(
                    "{{\"t_start\":1,\"pod\":\"\\t{number}\",\"latency_s\":1,\"status\":1}}\n"
                ),
            };
        }
        assert_eq!(rows(&text).unwrap(), careful_rows(&text));
        let requests = parse(text.as_bytes(), false).unwrap();
        assert_eq!(requests.lines, text.lines().count() as u64);
        assert_eq!(requests.unknown.into_iter().collect::<Vec<_>>(), ["more"]);
    }

    #[test]
    fn bad_lines_are_numbered_and_named() {
        let field = |field, expected, found: &str| Problem::Field {
            field,
            expected,
            found: found.to_owned(),
        };
        const COUNT: &str = "a whole number from 0 to 9223372036854775807, or null";
        const DURATION: &str = "a finite number of seconds, 0 or more";
        for (line, expected) in [
            (
                r#"{"t_start":1,"latency_s":-0.5,"status":200}"#,
                field("latency_s", DURATION, "-0.5"),
            ),
            (
                r#"{"t_start":1,"latency_s":1,"ttfb_s":-1,"status":200}"#,
                field("ttfb_s", DURATION, "-1"),
            ),
            (r#"{"t_start":1,"latency_s":1,"status":200.5}"#, field("status", COUNT, "200.5")),
            (r#"{"t_start":1,"latency_s":1,"status":-200}"#, field("status", COUNT, "-200")),
            (
                r#"{"t_start":1,"latency_s":1,"status":200,"rows":9223372036854775808}"#,
                field("rows", COUNT, "9223372036854775808"),
            ),
            (
                r#"{"t_start":1,"latency_s":"1","status":200}"#,
                field("latency_s", DURATION, "\"1\""),
            ),
            (
                r#"{"t_start":1,"latency_s":1,"status":200,"pod":7}"#,
                field("pod", "text or null", "7"),
            ),
            (
                r#"{"t_start":1,"latency_s":1,"status":200,"pod":["a"]}"#,
                field("pod", "text or null", "[\"a\"]"),
            ),
            (
                r#"{"t_start":1,"status":200}"#,
                Problem::Missing { field: "latency_s", expected: DURATION },
            ),
            (
                r#"{"latency_s":1,"status":200}"#,
                Problem::Missing { field: "t_start", expected: "a finite number of unix seconds" },
            ),
            (
                r#"{"t_start":1,"latency_s":1,"status":null,"error":""}"#,
                Problem::Missing {
                    field: "status",
                    expected: "an HTTP status, or an `error` that says why there is none",
                },
            ),
            (
                r#"{"t_start":1,"latency_s":1,"latency_s":1,"status":200}"#,
                Problem::Twice("latency_s".into()),
            ),
            (
                r#"{"t_start":NaN,"latency_s":1,"status":200}"#,
                Problem::Json("expected value at column 12".into()),
            ),
            (
                r#"{"t_start":1,"latency_s":Infinity,"status":200}"#,
                Problem::Json("expected value at column 26".into()),
            ),
            (
                r#"{"t_start":1,"latency_s":1e999,"status":200}"#,
                Problem::Json("number out of range at column 30".into()),
            ),
            (
                r#"{"t_start":1,"latency_s":01,"status":200}"#,
                Problem::Json("invalid number at column 27".into()),
            ),
            (
                r#"{"t_start":1,"latency_s":1,"status":200}}"#,
                Problem::Json("trailing characters at column 41".into()),
            ),
            (
                r#"{"t_start":1,"latency_s":1,"status":200 "pod":"p"}"#,
                Problem::Json("expected `,` or `}` at column 41".into()),
            ),
            (
                r#"{"t_start":1,"latency_s":1,"status":nullx}"#,
                Problem::Json("expected `,` or `}` at column 41".into()),
            ),
        ] {
            let text = format!("{FULL}\n\n{line}\n{FULL}\n");
            assert_eq!(rows(&text), Err((2, expected)), "{line}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        let mut text = FULL.as_bytes().to_vec();
        let place = text.iter().position(|byte| *byte == b'Q').unwrap();
        text[place] = 0xff;
        text.push(b'\n');
        let expected = format!("not UTF-8 from byte {}", place + 1);
        assert_eq!(parse(&text, false).unwrap_err(), (0, Problem::Json(expected)));
    }

    #[test]
    fn half_a_line_is_left_out_at_the_end_only() {
        for cut in 1..FULL.len() {
            let text = format!("{FULL}\n{}", &FULL[..cut]);
            let requests = parse(text.as_bytes(), true).unwrap();
            assert_eq!((requests.columns.len(), requests.half_line), (1, true), "{cut}");
            assert_eq!(parse(text.as_bytes(), false).unwrap_err().0, 1);
            assert_eq!(parse(format!("{text}\n").as_bytes(), true).unwrap_err().0, 1);
        }
        // A whole line that is wrong is no half line.
        let text = format!("{FULL}\n{{\"t_start\":1}}");
        assert_eq!(parse(text.as_bytes(), true).unwrap_err().0, 1);
    }
}
