//! Requests as they are held between a samples file and the store: by column.

use std::collections::HashMap;

use super::error::{Problem, found};
use crate::raw::fields::LARGEST;

/// Stands for a null among floats: what files give is always finite.
pub const NO_FLOAT: f64 = f64::NAN;
/// Stands for a null among counts: what files give is never negative.
pub const NO_COUNT: i64 = i64::MIN;

/// What a count may be, for messages.
pub(super) const A_COUNT: &str = "a whole number from 0 to 9223372036854775807, or null";
/// What a duration may be, for messages.
pub(super) const A_DURATION: &str = "a number of seconds from 0 to 1e18";
/// What a time may be, for messages.
pub(super) const A_TIME: &str = "a number of unix seconds, at most 1e18";

/// Some consecutive requests of one rung, in the file's order.
#[derive(Debug, Default)]
pub struct Columns {
    /// Unix seconds.
    pub t_start: Vec<f64>,
    /// Unix seconds, or [`NO_FLOAT`].
    pub t_offered: Vec<f64>,
    /// Seconds.
    pub latency_s: Vec<f64>,
    /// Seconds, or [`NO_FLOAT`].
    pub ttfb_s: Vec<f64>,
    /// HTTP status, or [`NO_COUNT`].
    pub status: Vec<i64>,
    /// Bytes, or [`NO_COUNT`].
    pub response_bytes: Vec<i64>,
    /// Rows, or [`NO_COUNT`].
    pub rows: Vec<i64>,
    pub query_class: Labels,
    pub query_id: Labels,
    /// Null where the request did not fail for a reason of its own.
    pub error: Labels,
    pub pod: Labels,
    pub mode: Labels,
    pub request_id: Texts,
}

/// The figures of one request, as it is being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Figures {
    pub t_start: f64,
    pub t_offered: f64,
    pub latency_s: f64,
    pub ttfb_s: f64,
    pub status: i64,
    pub response_bytes: i64,
    pub rows: i64,
}

impl Default for Figures {
    fn default() -> Self {
        Self {
            t_start: NO_FLOAT,
            t_offered: NO_FLOAT,
            latency_s: NO_FLOAT,
            ttfb_s: NO_FLOAT,
            status: NO_COUNT,
            response_bytes: NO_COUNT,
            rows: NO_COUNT,
        }
    }
}

/// The codes of the texts of one request; see [`Labels`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Codes {
    pub query_class: u32,
    pub query_id: u32,
    pub error: u32,
    pub pod: u32,
    pub mode: u32,
}

impl Figures {
    /// Whether a request that failed with `error` (a code) is in order. It is
    /// the one rule that every format's rows pass.
    #[inline(always)]
    pub(super) fn in_order(&self, error: u32) -> bool {
        self.t_start.abs() <= LARGEST
            && self.latency_s >= 0.0
            && self.latency_s <= LARGEST
            // A null compares false with everything.
            && !(self.ttfb_s < 0.0 || self.ttfb_s > LARGEST || self.t_offered.abs() > LARGEST)
            && (self.status != NO_COUNT || error != 0)
    }

    /// What [`Figures::in_order`] found wrong.
    #[cold]
    pub(super) fn problem(&self, error: u32) -> Option<Problem> {
        let wrong = |field, expected, value: f64| {
            Some(Problem::Field { field, expected, found: found(value) })
        };
        if self.t_start.is_nan() {
            return Some(Problem::Missing { field: "t_start", expected: A_TIME });
        }
        if self.latency_s.is_nan() {
            return Some(Problem::Missing { field: "latency_s", expected: A_DURATION });
        }
        if self.t_start.abs() > LARGEST {
            return wrong("t_start", A_TIME, self.t_start);
        }
        if self.t_offered.abs() > LARGEST {
            return wrong("t_offered", A_TIME, self.t_offered);
        }
        if self.latency_s < 0.0 || self.latency_s > LARGEST {
            return wrong("latency_s", A_DURATION, self.latency_s);
        }
        if self.ttfb_s < 0.0 || self.ttfb_s > LARGEST {
            return wrong("ttfb_s", A_DURATION, self.ttfb_s);
        }
        (self.status == NO_COUNT && error == 0).then_some(Problem::Missing {
            field: "status",
            expected: "an HTTP status, or an `error` that says why there is none",
        })
    }
}

impl Columns {
    /// With room for so many requests.
    pub(super) fn with_capacity(rows: usize) -> Self {
        Self {
            t_start: Vec::with_capacity(rows),
            t_offered: Vec::with_capacity(rows),
            latency_s: Vec::with_capacity(rows),
            ttfb_s: Vec::with_capacity(rows),
            status: Vec::with_capacity(rows),
            response_bytes: Vec::with_capacity(rows),
            rows: Vec::with_capacity(rows),
            query_class: Labels::with_capacity(rows),
            query_id: Labels::with_capacity(rows),
            error: Labels::with_capacity(rows),
            pod: Labels::with_capacity(rows),
            mode: Labels::with_capacity(rows),
            request_id: Texts::with_capacity(rows),
        }
    }

    /// Drops what only reading needs.
    pub(super) fn finish(&mut self) {
        for labels in [
            &mut self.query_class,
            &mut self.query_id,
            &mut self.error,
            &mut self.pod,
            &mut self.mode,
        ] {
            labels.finish();
        }
    }

    /// Number of requests.
    pub fn len(&self) -> usize {
        self.t_start.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.t_start.is_empty()
    }

    /// Whether a request succeeded: no error, and a status below 400.
    pub fn succeeded(&self, row: usize) -> bool {
        self.error.codes[row] == 0 && self.status[row] < 400
    }

    /// Adds a request that is in order. Minus zero becomes zero, so that bits
    /// order latencies as values do.
    #[inline(always)]
    pub(super) fn push(&mut self, figures: &Figures, codes: &Codes, request_id: Option<&[u8]>) {
        self.t_start.push(figures.t_start);
        self.t_offered.push(figures.t_offered);
        self.latency_s.push(figures.latency_s + 0.0);
        self.ttfb_s.push(figures.ttfb_s + 0.0);
        self.status.push(figures.status);
        self.response_bytes.push(figures.response_bytes);
        self.rows.push(figures.rows);
        self.query_class.codes.push(codes.query_class);
        self.query_id.codes.push(codes.query_id);
        self.error.codes.push(codes.error);
        self.pod.codes.push(codes.pod);
        self.mode.codes.push(codes.mode);
        self.request_id.push(request_id);
    }
}

/// A column of texts of which many are equal: codes into a list of values. Code
/// 0 is null, and code n is the value n − 1.
#[derive(Debug, Default)]
pub struct Labels {
    pub codes: Vec<u32>,
    pub values: Vec<Box<str>>,
    known: HashMap<Box<[u8]>, u32>,
    recent: Vec<Recent>,
}

/// A short text that was met before, for finding its code without a hash table.
#[derive(Debug, Clone, Copy, Default)]
struct Recent {
    text: [u64; 2],
    code: u32,
}

/// Places in the table of recent texts: a power of two.
const RECENT: usize = 512;
/// Places where a text may be, from its own on.
const NEAR: usize = 4;

impl Labels {
    fn with_capacity(rows: usize) -> Self {
        Self { codes: Vec::with_capacity(rows), ..Self::default() }
    }

    /// The code of a text, given as UTF-8. `short` is the same in 16 bytes with
    /// zeros behind, or all zeros where it is longer.
    #[inline(always)]
    pub(super) fn code(&mut self, text: &[u8], short: [u64; 2]) -> u32 {
        match self.recent.get(place(short)) {
            Some(recent) if recent.text == short && recent.code != 0 => recent.code,
            _ => self.look_up(text, short),
        }
    }

    #[inline(never)]
    fn look_up(&mut self, text: &[u8], short: [u64; 2]) -> u32 {
        let places = std::array::from_fn::<_, NEAR, _>(|step| (place(short) + step) % RECENT);
        if short != [0, 0] {
            self.recent.resize(RECENT, Recent::default());
            if let Some(recent) =
                places.map(|place| self.recent[place]).iter().find(|recent| recent.text == short)
            {
                return recent.code;
            }
        }
        let code = match self.known.get(text) {
            Some(code) => *code,
            None => {
                let value = String::from_utf8_lossy(text);
                self.values.push(value.into());
                let code = u32::try_from(self.values.len()).expect("a block has fewer values");
                self.known.insert(text.into(), code);
                code
            }
        };
        if short != [0, 0] {
            let free = places.into_iter().find(|place| self.recent[*place].code == 0);
            self.recent[free.unwrap_or(places[0])] = Recent { text: short, code };
        }
        code
    }

    /// The text of a code.
    pub fn text(&self, code: u32) -> Option<&str> {
        let at = (code as usize).checked_sub(1)?;
        self.values.get(at).map(|value| &**value)
    }

    /// Drops what only reading needs.
    fn finish(&mut self) {
        self.known = HashMap::new();
        self.recent = Vec::new();
    }
}

#[inline(always)]
fn place(text: [u64; 2]) -> usize {
    let mixed = (text[0] ^ text[1].rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 55) as usize
}

/// A column of texts that are all different.
#[derive(Debug, Default)]
pub struct Texts {
    bytes: Vec<u8>,
    /// Where each text starts and how long it is.
    spans: Vec<(u32, u32)>,
}

/// The length that stands for a null.
const NO_TEXT: u32 = u32::MAX;

impl Texts {
    fn with_capacity(rows: usize) -> Self {
        Self { bytes: Vec::new(), spans: Vec::with_capacity(rows) }
    }

    #[inline(always)]
    fn push(&mut self, text: Option<&[u8]>) {
        let start = self.bytes.len() as u32;
        match text {
            Some(text) => {
                self.bytes.extend_from_slice(text);
                self.spans.push((start, text.len() as u32));
            }
            None => self.spans.push((start, NO_TEXT)),
        }
    }

    /// The bytes of the text of a row, which are UTF-8.
    #[inline(always)]
    pub fn get(&self, row: usize) -> Option<&[u8]> {
        let (start, length) = self.spans[row];
        (length != NO_TEXT).then(|| &self.bytes[start as usize..][..length as usize])
    }
}

#[cfg(test)]
impl Columns {
    /// The requests as lines that say everything about them, for comparing.
    pub(super) fn to_lines(&self) -> Vec<String> {
        let line = |row: usize| {
            let floats = [&self.t_start, &self.t_offered, &self.latency_s, &self.ttfb_s];
            let floats = floats.map(|column| column[row]);
            let counts = [&self.status, &self.response_bytes, &self.rows].map(|column| column[row]);
            let counts = counts.map(|count| (count != NO_COUNT).then_some(count));
            let labels = [&self.query_class, &self.query_id, &self.error, &self.pod, &self.mode];
            let labels = labels.map(|labels| labels.text(labels.codes[row]).unwrap_or("null"));
            let request_id = self.request_id.get(row).map(String::from_utf8_lossy);
            format!("{floats:?} {counts:?} {labels:?} {request_id:?}")
        };
        (0..self.len()).map(line).collect()
    }
}
