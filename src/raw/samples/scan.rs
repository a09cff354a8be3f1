//! The plain parts of JSON lines, read from bytes. Whatever is not plain (an
//! escape, a nested value, a number that is none) gives nothing.

use super::columns::{Codes, Columns, Figures, Labels};
use super::field::Field;
use super::number::{Number, read_count, word};

/// One request, as it is being read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Row<'a> {
    pub figures: Figures,
    pub codes: Codes,
    pub request_id: Option<&'a [u8]>,
}

impl Row<'_> {
    /// Makes a field null again.
    pub(super) fn clear(&mut self, field: Field) {
        let (figures, codes) = (Figures::default(), Codes::default());
        match field {
            Field::TStart => self.figures.t_start = figures.t_start,
            Field::TOffered => self.figures.t_offered = figures.t_offered,
            Field::Latency => self.figures.latency_s = figures.latency_s,
            Field::Ttfb => self.figures.ttfb_s = figures.ttfb_s,
            Field::Status => self.figures.status = figures.status,
            Field::ResponseBytes => self.figures.response_bytes = figures.response_bytes,
            Field::Rows => self.figures.rows = figures.rows,
            Field::QueryClass => self.codes.query_class = codes.query_class,
            Field::QueryId => self.codes.query_id = codes.query_id,
            Field::Error => self.codes.error = codes.error,
            Field::Pod => self.codes.pod = codes.pod,
            Field::Mode => self.codes.mode = codes.mode,
            Field::RequestId => self.request_id = None,
            Field::Key | Field::Unknown => {}
        }
    }
}

/// Reads the value of a field, which starts at `at`; gives where it ends.
#[inline(always)]
pub(super) fn value<'a>(
    block: &'a [u8],
    at: usize,
    field: Field,
    columns: &mut Columns,
    row: &mut Row<'a>,
) -> Option<usize> {
    // Of nulls there are many.
    if word(block, at) as u32 == u32::from_le_bytes(*b"null") {
        return Some(at + 4);
    }
    let Row { figures, codes, request_id } = row;
    match field {
        Field::TStart => float(block, at, &mut figures.t_start),
        Field::TOffered => float(block, at, &mut figures.t_offered),
        Field::Latency => float(block, at, &mut figures.latency_s),
        Field::Ttfb => float(block, at, &mut figures.ttfb_s),
        Field::Status => count(block, at, &mut figures.status),
        Field::ResponseBytes => count(block, at, &mut figures.response_bytes),
        Field::Rows => count(block, at, &mut figures.rows),
        Field::QueryClass => label(block, at, &mut columns.query_class, &mut codes.query_class),
        Field::QueryId => label(block, at, &mut columns.query_id, &mut codes.query_id),
        Field::Error => label(block, at, &mut columns.error, &mut codes.error),
        Field::Pod => label(block, at, &mut columns.pod, &mut codes.pod),
        Field::Mode => label(block, at, &mut columns.mode, &mut codes.mode),
        Field::RequestId => {
            let text = text(block, at)?;
            *request_id = (!text.bytes.is_empty()).then_some(text.bytes);
            Some(text.end)
        }
        Field::Key | Field::Unknown => scalar(block, at),
    }
}

/// Adds the request that a line held, if it is in order.
#[inline(always)]
pub(super) fn push(columns: &mut Columns, row: &Row<'_>) -> Option<()> {
    row.figures.in_order(row.codes.error).then_some(())?;
    columns.push(&row.figures, &row.codes, row.request_id);
    Some(())
}

/// Past spaces within a line.
#[inline(always)]
pub(super) fn space(block: &[u8], mut at: usize) -> usize {
    while matches!(block.get(at), Some(b' ' | b'\t' | b'\r')) {
        at += 1;
    }
    at
}

/// Past the newline that ends a line, if nothing but spaces is before it.
#[cold]
pub(super) fn line_end(block: &[u8], at: usize) -> Option<usize> {
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
    let (count, end) = read_count(block, at)?;
    *value = count;
    Some(end)
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

/// A string.
pub(super) struct Text<'a> {
    /// What is between its quotes: UTF-8.
    pub bytes: &'a [u8],
    /// The same, for [`Labels::code`].
    short: [u64; 2],
    /// Past the closing quote.
    pub end: usize,
}

/// Reads the string whose opening quote is at `at`, if it has no escapes.
#[inline(always)]
pub(super) fn text(block: &[u8], at: usize) -> Option<Text<'_>> {
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
