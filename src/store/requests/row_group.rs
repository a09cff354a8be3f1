//! A row group of `requests`: which rows of which chunks it takes, and each of
//! its columns as an Arrow array.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, StringArray};
use arrow::buffer::{BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};

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

    /// A column, by its place in the table.
    pub(super) fn column(&self, place: usize) -> ArrayRef {
        match place {
            0 => self.rung(),
            1 => self.floats(|columns| &columns.t_start),
            2 => self.floats(|columns| &columns.t_offered),
            3 => self.labels(|columns| &columns.query_class),
            4 => self.labels(|columns| &columns.query_id),
            5 => self.counts(|columns| &columns.status),
            6 => self.labels(|columns| &columns.error),
            7 => self.floats(|columns| &columns.latency_s),
            8 => self.floats(|columns| &columns.ttfb_s),
            9 => self.counts(|columns| &columns.response_bytes),
            10 => self.counts(|columns| &columns.rows),
            11 => self.labels(|columns| &columns.pod),
            12 => self.labels(|columns| &columns.mode),
            _ => self.texts(|columns| &columns.request_id),
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
            values.extend_from_slice(&column(&chunk.columns)[rows]);
        }
        values
    }

    fn rung(&self) -> ArrayRef {
        let mut codes = Vec::with_capacity(self.rows);
        for (chunk, _, rows) in self.spans() {
            codes.resize(codes.len() + rows.len(), chunk.rung as i32);
        }
        let values = StringArray::from_iter_values(&self.rungs);
        dictionary(codes, None, values)
    }

    fn floats(&self, column: impl Fn(&Columns) -> &Vec<f64>) -> ArrayRef {
        let values = self.gather(column);
        let nulls = nulls(&values, |value| !value.is_nan());
        Arc::new(Float64Array::new(ScalarBuffer::from(values), nulls))
    }

    fn counts(&self, column: impl Fn(&Columns) -> &Vec<i64>) -> ArrayRef {
        let values = self.gather(column);
        let nulls = nulls(&values, |value| *value != NO_COUNT);
        Arc::new(Int64Array::new(ScalarBuffer::from(values), nulls))
    }

    /// Chunks have codes of their own: they are made the row group's, numbered
    /// in the order in which the rows use them.
    fn labels(&self, column: impl Fn(&Columns) -> &Labels) -> ArrayRef {
        const UNSEEN: i32 = i32::MIN;
        let mut own: Vec<Vec<i32>> = self
            .chunks
            .iter()
            .map(|chunk| vec![UNSEEN; column(&chunk.columns).values.len() + 1])
            .collect();
        let mut values: Vec<&str> = Vec::new();
        let mut known: HashMap<&str, i32> = HashMap::new();
        let mut codes = Vec::with_capacity(self.rows);
        for (chunk, place, rows) in self.spans() {
            let labels = column(&chunk.columns);
            let own = &mut own[place];
            for code in &labels.codes[rows] {
                let seen = &mut own[*code as usize];
                if *seen == UNSEEN {
                    *seen = labels.text(*code).map_or(-1, |text| {
                        *known.entry(text).or_insert_with(|| {
                            values.push(text);
                            values.len() as i32 - 1
                        })
                    });
                }
                codes.push(*seen);
            }
        }
        let nulls = nulls(&codes, |code| *code >= 0);
        dictionary(codes, nulls, StringArray::from(values))
    }

    fn texts(&self, column: impl Fn(&Columns) -> &Texts) -> ArrayRef {
        let mut bytes = Vec::new();
        let mut ends = Vec::with_capacity(self.rows + 1);
        ends.push(0_i32);
        let mut valid = Vec::with_capacity(self.rows);
        for (chunk, _, rows) in self.spans() {
            let texts = column(&chunk.columns);
            for row in rows {
                let text = texts.get(row);
                valid.push(text.is_some());
                bytes.extend_from_slice(text.unwrap_or_default());
                ends.push(bytes.len() as i32);
            }
        }
        let nulls = nulls(&valid, |valid| *valid);
        Arc::new(StringArray::new(OffsetBuffer::new(ends.into()), bytes.into(), nulls))
    }
}

fn dictionary(codes: Vec<i32>, nulls: Option<NullBuffer>, values: StringArray) -> ArrayRef {
    let codes = Int32Array::new(codes.into(), nulls);
    Arc::new(DictionaryArray::new(codes, Arc::new(values)))
}

/// Which values are there; none where all are.
fn nulls<T>(values: &[T], is_there: impl Fn(&T) -> bool) -> Option<NullBuffer> {
    let there = BooleanBuffer::collect_bool(values.len(), |at| is_there(&values[at]));
    Some(NullBuffer::new(there)).filter(|nulls| nulls.null_count() > 0)
}
