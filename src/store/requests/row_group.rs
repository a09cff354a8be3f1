//! A row group of `requests`: which rows of which chunks it takes, and each of
//! its columns as Parquet pages.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use parquet::errors::Result;

use super::pages::{Bounds, ColumnChunk, ColumnEncoder, NO_CODE};
use crate::raw::samples::{Columns, Labels, NO_COUNT, Texts};

/// The rows of a row group, in the order of the table.
#[derive(Debug, Default)]
pub(super) struct RowGroup {
    chunks: Vec<Chunk>,
    spans: Vec<Span>,
    rungs: Vec<Arc<str>>,
    rows: usize,
}

#[derive(Debug)]
struct Chunk {
    columns: Arc<Columns>,
    rung: usize,
}

/// Consecutive rows of a chunk.
#[derive(Debug)]
struct Span {
    chunk: u32,
    start: u32,
    rows: u32,
}

impl RowGroup {
    /// Rows so far.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds some rows of a rung.
    pub(super) fn add(&mut self, rung: &Arc<str>, columns: &Arc<Columns>, rows: Range<usize>) {
        if self.rungs.last() != Some(rung) {
            self.rungs.push(Arc::clone(rung));
        }
        let rung = self.rungs.len() - 1;
        // Spans alternate between the few chunks that are near in time.
        let known = |chunk: &Chunk| chunk.rung == rung && Arc::ptr_eq(&chunk.columns, columns);
        let chunk = self.chunks.iter().rposition(known).unwrap_or_else(|| {
            self.chunks.push(Chunk { columns: Arc::clone(columns), rung });
            self.chunks.len() - 1
        });
        self.rows += rows.len();
        let (start, rows) = (rows.start as u32, rows.len() as u32);
        self.spans.push(Span { chunk: chunk as u32, start, rows });
    }

    /// Encodes a column, by its place in the table.
    pub(super) fn encode(&self, place: usize, encoder: ColumnEncoder) -> Result<ColumnChunk> {
        match place {
            0 => self.rung(encoder),
            1 => self.floats(encoder, |columns| &columns.t_start),
            2 => self.floats(encoder, |columns| &columns.t_offered),
            3 => self.labels(encoder, |columns| &columns.query_class),
            4 => self.labels(encoder, |columns| &columns.query_id),
            5 => self.counts(encoder, |columns| &columns.status),
            6 => self.labels(encoder, |columns| &columns.error),
            7 => self.floats(encoder, |columns| &columns.latency_s),
            8 => self.floats(encoder, |columns| &columns.ttfb_s),
            9 => self.counts(encoder, |columns| &columns.response_bytes),
            10 => self.counts(encoder, |columns| &columns.rows),
            11 => self.labels(encoder, |columns| &columns.pod),
            12 => self.labels(encoder, |columns| &columns.mode),
            _ => self.texts(encoder, |columns| &columns.request_id),
        }
    }

    /// Each span as its chunk, the chunk's place, and the rows in it.
    fn spans(&self) -> impl Iterator<Item = (&Chunk, usize, Range<usize>)> {
        self.spans.iter().map(|span| {
            let (chunk, start) = (span.chunk as usize, span.start as usize);
            (&self.chunks[chunk], chunk, start..start + span.rows as usize)
        })
    }

    fn gather<T: Copy>(&self, column: impl Fn(&Columns) -> &Vec<T>) -> Vec<T> {
        let mut values = Vec::with_capacity(self.rows);
        for (chunk, _, rows) in self.spans() {
            let column = column(&chunk.columns);
            // Most spans are short where the file was not quite in order.
            if rows.len() == 1 {
                values.push(column[rows.start]);
            } else {
                values.extend_from_slice(&column[rows]);
            }
        }
        values
    }

    fn rung(&self, encoder: ColumnEncoder) -> Result<ColumnChunk> {
        let mut codes = Vec::with_capacity(self.rows);
        for (chunk, _, rows) in self.spans() {
            codes.resize(codes.len() + rows.len(), chunk.rung as u32);
        }
        let rungs: Vec<&str> = self.rungs.iter().map(|rung| &**rung).collect();
        coded(encoder, &codes, &rungs)
    }

    fn floats(
        &self,
        encoder: ColumnEncoder,
        column: impl Fn(&Columns) -> &Vec<f64>,
    ) -> Result<ColumnChunk> {
        let values = self.gather(column);
        // A null compares false with everything.
        let min = values
            .iter()
            .copied()
            .fold(f64::INFINITY, |min, value| if value < min { value } else { min });
        let max = values
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, |max, value| if value > max { value } else { max });
        let bounds = if min <= max { Bounds::Float(min, max) } else { Bounds::None };
        encoder.plain(&values, |value| value.is_nan(), f64::to_le_bytes, bounds)
    }

    fn counts(
        &self,
        encoder: ColumnEncoder,
        column: impl Fn(&Columns) -> &Vec<i64>,
    ) -> Result<ColumnChunk> {
        let values = self.gather(column);
        // A null is less than every count.
        let max = values.iter().copied().fold(NO_COUNT, i64::max);
        let min = values
            .iter()
            .copied()
            .fold(i64::MAX, |min, value| if value == NO_COUNT { min } else { min.min(value) });
        let bounds = if max == NO_COUNT { Bounds::None } else { Bounds::Int(min, max) };
        match Coded::of(&values) {
            Some(coded) => encoder.coded(&coded.codes, &coded.dictionary, coded.count, bounds),
            None => encoder.plain(&values, |value| *value == NO_COUNT, i64::to_le_bytes, bounds),
        }
    }

    /// Chunks have codes of their own: they are made the row group's, numbered
    /// in the order in which the rows use them.
    fn labels(
        &self,
        encoder: ColumnEncoder,
        column: impl Fn(&Columns) -> &Labels,
    ) -> Result<ColumnChunk> {
        const UNSEEN: u32 = NO_CODE - 1;
        let mut own: Vec<Vec<u32>> = self
            .chunks
            .iter()
            .map(|chunk| {
                let mut own = vec![UNSEEN; column(&chunk.columns).values.len() + 1];
                own[0] = NO_CODE;
                own
            })
            .collect();
        let mut values: Vec<&str> = Vec::new();
        let mut known: HashMap<&str, u32> = HashMap::new();
        let mut codes = Vec::with_capacity(self.rows);
        for (chunk, place, rows) in self.spans() {
            let labels = column(&chunk.columns);
            let own = &mut own[place];
            for code in &labels.codes[rows] {
                let seen = &mut own[*code as usize];
                if *seen == UNSEEN
                    && let Some(text) = labels.text(*code)
                {
                    *seen = *known.entry(text).or_insert_with(|| {
                        values.push(text);
                        values.len() as u32 - 1
                    });
                }
                codes.push(*seen);
            }
        }
        coded(encoder, &codes, &values)
    }

    fn texts(
        &self,
        encoder: ColumnEncoder,
        column: impl Fn(&Columns) -> &Texts,
    ) -> Result<ColumnChunk> {
        let mut texts = PlainTexts::with_capacity(self.rows);
        for (chunk, _, rows) in self.spans() {
            let column = column(&chunk.columns);
            rows.for_each(|row| texts.push(column.get(row)));
        }
        encoder.texts(&texts.bytes, &texts.ends, texts.bounds())
    }
}

/// Bytes of text from which on a dictionary is none: readers hold it whole.
const LARGEST_DICTIONARY: usize = 1 << 20;

/// Labels by their codes; as they are where there are too many different ones.
fn coded(encoder: ColumnEncoder, codes: &[u32], values: &[&str]) -> Result<ColumnChunk> {
    let mut texts = PlainTexts::with_capacity(values.len());
    values.iter().for_each(|text| texts.push(Some(text.as_bytes())));
    if values.is_empty() || texts.bytes.len() <= LARGEST_DICTIONARY {
        return encoder.coded(codes, &texts.bytes, values.len(), texts.bounds());
    }
    let mut plain = PlainTexts::with_capacity(codes.len());
    codes
        .iter()
        .for_each(|code| plain.push(values.get(*code as usize).map(|text| text.as_bytes())));
    encoder.texts(&plain.bytes, &plain.ends, texts.bounds())
}

/// Texts as Parquet has them: each after its length.
struct PlainTexts {
    bytes: Vec<u8>,
    /// Where each ends. A null takes no bytes at all.
    ends: Vec<usize>,
    /// Where the smallest and the largest stand.
    bounds: Option<(Range<usize>, Range<usize>)>,
}

impl PlainTexts {
    fn with_capacity(rows: usize) -> Self {
        Self { bytes: Vec::with_capacity(12 * rows), ends: Vec::with_capacity(rows), bounds: None }
    }

    fn push(&mut self, text: Option<&[u8]>) {
        if let Some(text) = text {
            self.bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
            let start = self.bytes.len();
            self.bytes.extend_from_slice(text);
            let own = start..self.bytes.len();
            match &mut self.bounds {
                None => self.bounds = Some((own.clone(), own)),
                Some((min, _)) if *text < self.bytes[min.clone()] => *min = own,
                Some((_, max)) if *text > self.bytes[max.clone()] => *max = own,
                Some(_) => {}
            }
        }
        self.ends.push(self.bytes.len());
    }

    fn bounds(&self) -> Bounds<'_> {
        self.bounds.as_ref().map_or(Bounds::None, |(min, max)| {
            Bounds::Text(&self.bytes[min.clone()], &self.bytes[max.clone()])
        })
    }
}

/// Counts of which many are equal, by codes.
struct Coded {
    codes: Vec<u32>,
    /// The different counts, as Parquet has them.
    dictionary: Vec<u8>,
    count: usize,
}

impl Coded {
    /// Different counts that a dictionary has at most.
    const LARGEST: usize = 1 << 14;
    /// Places for them: a power of two, twice as many.
    const PLACES: usize = 2 * Self::LARGEST;

    /// None where there are too many different ones.
    fn of(values: &[i64]) -> Option<Self> {
        let mut places = vec![(NO_COUNT, NO_CODE); Self::PLACES];
        let mut coded =
            Self { codes: Vec::with_capacity(values.len()), dictionary: Vec::new(), count: 0 };
        let mut last = (NO_COUNT, NO_CODE);
        for value in values {
            if *value != last.0 {
                last = if *value == NO_COUNT {
                    (NO_COUNT, NO_CODE)
                } else {
                    coded.look_up(*value, &mut places)?
                };
            }
            coded.codes.push(last.1);
        }
        Some(coded)
    }

    fn look_up(&mut self, value: i64, places: &mut [(i64, u32)]) -> Option<(i64, u32)> {
        let mixed = value.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut place = (mixed >> 32) as usize % Self::PLACES;
        while places[place].0 != value {
            if places[place].1 == NO_CODE {
                if self.count == Self::LARGEST {
                    return None;
                }
                places[place] = (value, self.count as u32);
                self.dictionary.extend_from_slice(&value.to_le_bytes());
                self.count += 1;
                break;
            }
            place = (place + 1) % Self::PLACES;
        }
        Some(places[place])
    }
}
