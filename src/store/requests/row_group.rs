//! A row group of `requests`: which rows of which chunks it takes, and each of
//! its columns as Parquet pages.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use parquet::errors::{ParquetError, Result};

use super::pages::{ColumnChunk, ColumnEncoder, NO_CODE};
use super::values::{Coded, Extent, PlainTexts};
use crate::raw::samples::{Columns, Labels, NO_COUNT, Texts};

/// Rows in a page: few enough for the values to stay in a core's own cache.
const PAGE_ROWS: usize = 32 << 10;

/// Bytes of text from which on a page is full, whatever its rows.
const PAGE_BYTES: usize = 1 << 20;

/// Bytes of text from which on a dictionary is none: readers hold it whole.
const LARGEST_DICTIONARY: usize = 1 << 20;

/// The rows of a row group, in the order of the table.
#[derive(Debug, Default)]
pub(super) struct RowGroup {
    chunks: Vec<Chunk>,
    /// The rows of each page; all but the last are full.
    pages: Vec<Vec<Span>>,
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
        let mut start = rows.start;
        while start < rows.end {
            let filled = self.rows % PAGE_ROWS;
            if filled == 0 {
                self.pages.push(Vec::new());
            }
            let length = (rows.end - start).min(PAGE_ROWS - filled);
            if let Some(page) = self.pages.last_mut() {
                page.push(Span { chunk: chunk as u32, start: start as u32, rows: length as u32 });
            }
            self.rows += length;
            start += length;
        }
    }

    /// Encodes the column that the encoder is for.
    pub(super) fn encode(&self, encoder: ColumnEncoder) -> Result<ColumnChunk> {
        match encoder.name() {
            "rung" => self.rung(encoder),
            "t_start" => self.floats(encoder, |columns| &columns.t_start),
            "t_offered" => self.floats(encoder, |columns| &columns.t_offered),
            "query_class" => self.labels(encoder, |columns| &columns.query_class),
            "query_id" => self.labels(encoder, |columns| &columns.query_id),
            "status" => self.counts(encoder, |columns| &columns.status),
            "error" => self.labels(encoder, |columns| &columns.error),
            "latency_s" => self.floats(encoder, |columns| &columns.latency_s),
            "ttfb_s" => self.floats(encoder, |columns| &columns.ttfb_s),
            "response_bytes" => self.counts(encoder, |columns| &columns.response_bytes),
            "rows" => self.counts(encoder, |columns| &columns.rows),
            "pod" => self.labels(encoder, |columns| &columns.pod),
            "mode" => self.labels(encoder, |columns| &columns.mode),
            "request_id" => self.texts(encoder, |columns| &columns.request_id),
            other => Err(ParquetError::General(format!("no requests have a column `{other}`"))),
        }
    }

    /// Each span of some as its chunk, the chunk's place, and the rows in it.
    fn spans<'a>(
        &'a self,
        spans: impl IntoIterator<Item = &'a Span>,
    ) -> impl Iterator<Item = (&'a Chunk, usize, Range<usize>)> {
        spans.into_iter().map(|span| {
            let (chunk, start) = (span.chunk as usize, span.start as usize);
            (&self.chunks[chunk], chunk, start..start + span.rows as usize)
        })
    }

    /// Appends the values of some spans.
    fn gather<'a, T: Copy>(
        &'a self,
        spans: impl IntoIterator<Item = &'a Span>,
        column: impl Fn(&Columns) -> &Vec<T>,
        values: &mut Vec<T>,
    ) {
        for (chunk, _, rows) in self.spans(spans) {
            let column = column(&chunk.columns);
            // Most spans are short where the file was not quite in order.
            if rows.len() == 1 {
                values.push(column[rows.start]);
            } else {
                values.extend_from_slice(&column[rows]);
            }
        }
    }

    fn rung(&self, encoder: ColumnEncoder) -> Result<ColumnChunk> {
        let mut codes = Vec::with_capacity(self.rows);
        for (chunk, _, rows) in self.spans(self.pages.iter().flatten()) {
            codes.resize(codes.len() + rows.len(), chunk.rung as u32);
        }
        let rungs: Vec<&str> = self.rungs.iter().map(|rung| &**rung).collect();
        coded(encoder, &codes, &rungs)
    }

    fn floats(
        &self,
        mut encoder: ColumnEncoder,
        column: impl Fn(&Columns) -> &Vec<f64>,
    ) -> Result<ColumnChunk> {
        let mut extent = Extent::new();
        let mut values = Vec::with_capacity(PAGE_ROWS);
        for page in &self.pages {
            values.clear();
            self.gather(page, &column, &mut values);
            values.iter().filter(|value| !value.is_nan()).for_each(|value| extent.add(*value));
            encoder.plain_page(&values, |value| value.is_nan(), f64::to_le_bytes)?;
        }
        encoder.finish(extent.bounds())
    }

    fn counts(
        &self,
        mut encoder: ColumnEncoder,
        column: impl Fn(&Columns) -> &Vec<i64>,
    ) -> Result<ColumnChunk> {
        let mut values = Vec::with_capacity(self.rows);
        self.gather(self.pages.iter().flatten(), column, &mut values);
        let mut extent = Extent::new();
        values.iter().filter(|value| **value != NO_COUNT).for_each(|value| extent.add(*value));
        if let Some(coded) = Coded::of(&values) {
            encoder.dictionary(&coded.dictionary, coded.count)?;
            for codes in coded.codes.chunks(PAGE_ROWS) {
                encoder.code_page(codes)?;
            }
        } else {
            for values in values.chunks(PAGE_ROWS) {
                encoder.plain_page(values, |value| *value == NO_COUNT, i64::to_le_bytes)?;
            }
        }
        encoder.finish(extent.bounds())
    }

    /// Chunks have codes of their own: they are made the row group's, numbered
    /// in the order in which the rows use them.
    fn labels(
        &self,
        encoder: ColumnEncoder,
        column: impl Fn(&Columns) -> &Labels,
    ) -> Result<ColumnChunk> {
        const UNSEEN: u32 = NO_CODE - 1;
        let own = |chunk: &Chunk| {
            let mut own = vec![UNSEEN; column(&chunk.columns).values.len() + 1];
            own[0] = NO_CODE;
            own
        };
        let mut own: Vec<Vec<u32>> = self.chunks.iter().map(own).collect();
        let mut values: Vec<&str> = Vec::new();
        let mut known: HashMap<&str, u32> = HashMap::new();
        let mut codes = Vec::with_capacity(self.rows);
        for (chunk, place, rows) in self.spans(self.pages.iter().flatten()) {
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
        let spans = self.spans(self.pages.iter().flatten());
        plain(
            encoder,
            spans.flat_map(|(chunk, _, rows)| {
                let column = column(&chunk.columns);
                rows.map(move |row| column.get(row))
            }),
        )
    }
}

/// Labels by their codes; as they are where there are too many different ones.
fn coded(mut encoder: ColumnEncoder, codes: &[u32], values: &[&str]) -> Result<ColumnChunk> {
    let mut dictionary = PlainTexts::default();
    let mut extent = Extent::new();
    for text in values.iter().map(|text| text.as_bytes()) {
        dictionary.push(Some(text));
        extent.add(text);
    }
    if dictionary.bytes().len() > LARGEST_DICTIONARY {
        let text = |code: &u32| values.get(*code as usize).map(|text| text.as_bytes());
        return plain(encoder, codes.iter().map(text));
    }
    encoder.dictionary(dictionary.bytes(), values.len())?;
    for codes in codes.chunks(PAGE_ROWS) {
        encoder.code_page(codes)?;
    }
    encoder.finish(extent.bounds())
}

/// Texts as they are.
fn plain<'a>(
    mut encoder: ColumnEncoder,
    texts: impl Iterator<Item = Option<&'a [u8]>>,
) -> Result<ColumnChunk> {
    let mut page = PlainTexts::default();
    let mut extent = Extent::new();
    for text in texts {
        page.push(text);
        if let Some(text) = text {
            extent.add(text);
        }
        if page.lengths().len() == PAGE_ROWS || page.bytes().len() >= PAGE_BYTES {
            encoder.text_page(&page)?;
            page.clear();
        }
    }
    if !page.lengths().is_empty() {
        encoder.text_page(&page)?;
    }
    encoder.finish(extent.bounds())
}
