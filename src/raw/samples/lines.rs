//! JSON lines to columns, fast: one pass over the bytes, no values in between.
//!
//! Writers of JSON lines write every line alike. Two lines of a block teach a
//! [`Template`] of what stands in all of them, and only what is between is
//! parsed. Lines that it does not fit are read field by field; there the next
//! field is guessed: the bytes from the end of a value to the start of the next
//! (`, "latency_s": `) are compared with those that stood there before, and only
//! where they differ is a key read. Whatever is not plain is left to
//! [`super::careful`], which reads the whole line again and knows the words for
//! what is wrong with it.

use std::collections::BTreeSet;

use super::columns::Columns;
use super::error::Problem;
use super::field::{FIELDS, Field};
use super::number::word;
use super::scan::{Row, line_end, push, space, text, value};
use super::template::{Learner, Token};
use super::{Requests, careful};

/// Bytes of a line: a guess, for the room that columns start with.
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
        let plain = lines.alike(at).or_else(|| lines.object(at));
        at = match plain {
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
    learner: Learner<'a>,
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

impl<'a> Lines<'a> {
    fn new(block: &'a [u8]) -> Self {
        Self {
            block,
            learner: Learner::default(),
            guesses: std::array::from_fn(|_| Guess::default()),
            columns: Columns::with_capacity(block.len() / LINE + 1),
            unknown: BTreeSet::new(),
        }
    }

    /// Reads the line from `at`, if it is like those before; gives where the
    /// next starts.
    #[inline(always)]
    fn alike(&mut self, at: usize) -> Option<usize> {
        let template = self.learner.template()?;
        let end = template.read(self.block, at, &mut self.columns);
        self.learner.fitted(end.is_some());
        end
    }

    /// Reads the line from `at`; gives where the next starts, or none where
    /// the line is not plain.
    fn object(&mut self, start: usize) -> Option<usize> {
        let block = self.block;
        let mut row = Row::default();
        let mut seen = 0_u32;
        let mut before = FIELDS;
        let mut at = start;
        self.learner.begin();
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
            let start = at;
            at = value(block, start, field, &mut self.columns, &mut row)?;
            self.learner.note(Token { field, value: start..at });
        }
        let end = match block.get(at) {
            Some(b'\n') => at + 1,
            _ => line_end(block, at)?,
        };
        push(&mut self.columns, &row)?;
        self.learner.learn(block, start..end, &row);
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
    fn lines_that_are_alike_may_change() {
        let mut text = String::new();
        let mut state = 1_u64;
        for number in 0..2_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Each value stays as it is for a while, and some for long.
            let steps = [1, 2, 3, 7, 50, 400, 1_000].map(|length| (number / length * 31) % 1_009);
            let error = if state >> 56 == 3 { "\"broken pipe\"" } else { "null" };
            text += &format!(
                "{{\"t_start\": {}.5, \"status\": {}, \"error\": {error}, \"latency_s\": 0.{:03}, \"pod\": \"p{}\", \"rows\": {}, \"mode\": \"{}\", \"query_id\": null, \"request_id\": \"{:x}\"}}\n",
                steps[0],
                200 + steps[5] % 3,
                steps[1],
                steps[4],
                steps[2],
                if steps[6] % 2 == 0 { "sync" } else { "async" },
                state >> 40,
            );
        }
        assert_eq!(rows(&text).unwrap(), careful_rows(&text));
    }

    #[test]
    fn bad_lines_are_numbered_and_named() {
        let field = |field, expected, found: &str| Problem::Field {
            field,
            expected,
            found: found.to_owned(),
        };
        const COUNT: &str = "a whole number from 0 to 9223372036854775807, or null";
        const DURATION: &str = "a number of seconds from 0 to 1e18";
        for (line, expected) in [
            (
                r#"{"t_start":1,"latency_s":-0.5,"status":200}"#,
                field("latency_s", DURATION, "-0.5"),
            ),
            (
                r#"{"t_start":1,"latency_s":1e300,"status":200}"#,
                field("latency_s", DURATION, "1e300"),
            ),
            (
                r#"{"t_start":-1e19,"latency_s":1,"status":200}"#,
                field("t_start", "a number of unix seconds, at most 1e18", "-1e19"),
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
                Problem::Missing {
                    field: "t_start",
                    expected: "a number of unix seconds, at most 1e18",
                },
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
            assert_eq!(rows(&text), Err((2, expected.clone())), "{line}");
            // After lines that are like it, too.
            let good = r#"{"t_start":1,"latency_s":1,"status":200}"#;
            let text = format!("{}{line}\n{good}\n", format!("{good}\n").repeat(5));
            assert_eq!(rows(&text), Err((5, expected)), "{line}");
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
