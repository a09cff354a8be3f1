//! Values of one column of one row group as a chunk of Parquet pages.
//!
//! The `parquet` crate writes the headers and the file around them. What it
//! would do from Arrow arrays is done here with less work: our labels have
//! codes already, and every value need not be hashed again to get one
//! (docs/ingest-speed.md has the figures).

use std::cell::RefCell;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::Result;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::hybrid;
use super::values::PlainTexts;

/// Stands for a null among codes.
pub(super) const NO_CODE: u32 = u32::MAX;

/// The longest text that is kept as a smallest or largest value.
const LONGEST_BOUND: usize = 64;

/// The smallest and the largest value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bounds<'a> {
    Float(f64, f64),
    Int(i64, i64),
    Text(&'a [u8], &'a [u8]),
    /// Every row is null.
    None,
}

impl Bounds<'_> {
    fn statistics(self, kind: parquet::basic::Type, nulls: u64) -> Statistics {
        use parquet::basic::Type;
        let (distinct, nulls, deprecated) = (None, Some(nulls), false);
        match self {
            Self::Float(min, max) => {
                // A reader must not take either zero for the smaller one.
                let min = if min == 0.0 { -0.0 } else { min };
                let max = if max == 0.0 { 0.0 } else { max };
                Statistics::double(Some(min), Some(max), distinct, nulls, deprecated)
            }
            Self::Int(min, max) => {
                Statistics::int64(Some(min), Some(max), distinct, nulls, deprecated)
            }
            Self::Text(min, max) => {
                let bound = |text: &[u8]| {
                    (text.len() <= LONGEST_BOUND).then(|| ByteArray::from(text.to_vec()))
                };
                Statistics::byte_array(bound(min), bound(max), distinct, nulls, deprecated)
            }
            Self::None => match kind {
                Type::DOUBLE => Statistics::double(None, None, distinct, nulls, deprecated),
                Type::INT64 => Statistics::int64(None, None, distinct, nulls, deprecated),
                _ => Statistics::byte_array(None, None, distinct, nulls, deprecated),
            },
        }
    }
}

thread_local! {
    /// Each thread has its own, for all its pages: its tables are large, and
    /// making them costs as much as compressing a page.
    static COMPRESSOR: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
}

fn compress(bytes: &[u8]) -> Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|own| {
        let compressor = match own {
            Some(compressor) => compressor,
            None => {
                let level = ZstdLevel::default().compression_level();
                own.insert(zstd::bulk::Compressor::new(level)?)
            }
        };
        Ok(compressor.compress(bytes)?)
    })
}

/// An encoded column of a row group.
pub(super) struct ColumnChunk {
    /// Its pages.
    pub bytes: Bytes,
    /// What the file's footer says of them.
    pub close: ColumnCloseResult,
}

/// Encodes one column of one row group.
pub(super) struct ColumnEncoder {
    column: ColumnDescPtr,
    sink: TrackedWrite<Vec<u8>>,
    /// The page that is being put together, uncompressed.
    page: Vec<u8>,
    uncompressed: usize,
    dictionary: Option<u64>,
    /// Bits of a code.
    width: u32,
    first_page: Option<u64>,
    encoding: Encoding,
    rows: usize,
    nulls: usize,
}

impl ColumnEncoder {
    /// For a column of the file's schema.
    pub(super) fn new(column: ColumnDescPtr) -> Self {
        Self {
            column,
            sink: TrackedWrite::new(Vec::new()),
            page: Vec::new(),
            uncompressed: 0,
            dictionary: None,
            width: 0,
            first_page: None,
            encoding: Encoding::PLAIN,
            rows: 0,
            nulls: 0,
        }
    }

    /// The name of the column.
    pub(super) fn name(&self) -> &str {
        self.column.name()
    }

    /// Adds a page of values of eight bytes, without the nulls among them.
    pub(super) fn plain_page<T: Copy>(
        &mut self,
        values: &[T],
        is_null: impl Fn(&T) -> bool,
        bytes: impl Fn(T) -> [u8; 8],
    ) -> Result<()> {
        let nulls = self.levels(values, &is_null);
        let start = self.page.len();
        self.page.resize(start + 8 * (values.len() - nulls), 0);
        let (places, _) = self.page[start..].as_chunks_mut();
        if nulls == 0 {
            places.iter_mut().zip(values).for_each(|(place, value)| *place = bytes(*value));
        } else {
            let values = values.iter().filter(|value| !is_null(value));
            places.iter_mut().zip(values).for_each(|(place, value)| *place = bytes(*value));
        }
        self.data_page(values.len())
    }

    /// Adds a page of texts.
    pub(super) fn text_page(&mut self, texts: &PlainTexts) -> Result<()> {
        let lengths = texts.lengths();
        self.levels(lengths, &|length| *length == 0);
        self.page.extend_from_slice(texts.bytes());
        self.data_page(lengths.len())
    }

    /// Begins with a dictionary, given as Parquet has it; what follows are
    /// pages of codes.
    pub(super) fn dictionary(&mut self, values: &[u8], count: usize) -> Result<()> {
        self.encoding = Encoding::RLE_DICTIONARY;
        self.width = hybrid::width((count as u32).saturating_sub(1));
        let page = Page::DictionaryPage {
            buf: compress(values)?.into(),
            num_values: count as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        self.dictionary = Some(self.write(page, values.len())?);
        Ok(())
    }

    /// Adds a page of values by their codes in the dictionary.
    pub(super) fn code_page(&mut self, codes: &[u32]) -> Result<()> {
        let nulls = self.levels(codes, &|code| *code == NO_CODE);
        self.page.push(self.width as u8);
        if nulls == 0 {
            hybrid::encode(codes, self.width, &mut self.page);
        } else {
            let there = codes.iter().copied().filter(|code| *code != NO_CODE);
            hybrid::encode(&there.collect::<Vec<_>>(), self.width, &mut self.page);
        }
        self.data_page(codes.len())
    }

    /// Begins a page with the levels that say which values are null; gives the
    /// number of nulls.
    fn levels<T>(&mut self, values: &[T], is_null: &impl Fn(&T) -> bool) -> usize {
        self.page.clear();
        if self.column.max_def_level() == 0 {
            return 0;
        }
        let nulls = values.iter().filter(|value| is_null(value)).count();
        self.nulls += nulls;
        let length = [0; 4];
        self.page.extend_from_slice(&length);
        if nulls == 0 {
            hybrid::run(1, values.len(), 1, &mut self.page);
        } else {
            let levels: Vec<u32> = values.iter().map(|value| u32::from(!is_null(value))).collect();
            hybrid::encode(&levels, 1, &mut self.page);
        }
        let written = (self.page.len() - length.len()) as u32;
        self.page[..length.len()].copy_from_slice(&written.to_le_bytes());
        nulls
    }

    /// Ends the page that was put together.
    fn data_page(&mut self, rows: usize) -> Result<()> {
        let page = Page::DataPage {
            buf: compress(&self.page)?.into(),
            num_values: rows as u32,
            encoding: self.encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let offset = self.write(page, self.page.len())?;
        self.first_page.get_or_insert(offset);
        self.rows += rows;
        Ok(())
    }

    /// Writes a page; gives its offset.
    fn write(&mut self, page: Page, uncompressed: usize) -> Result<u64> {
        let page = CompressedPage::new(page, uncompressed);
        let written = SerializedPageWriter::new(&mut self.sink).write_page(page)?;
        self.uncompressed += written.uncompressed_size;
        Ok(written.offset)
    }

    /// Ends the column.
    pub(super) fn finish(self, bounds: Bounds<'_>) -> Result<ColumnChunk> {
        let bytes = Bytes::from(self.sink.into_inner()?);
        let mut encodings = vec![Encoding::PLAIN, Encoding::RLE];
        if self.dictionary.is_some() {
            encodings.push(Encoding::RLE_DICTIONARY);
        }
        let statistics = bounds.statistics(self.column.physical_type(), self.nulls as u64);
        let offset = |offset: u64| offset.cast_signed();
        let metadata = ColumnChunkMetaData::builder(self.column)
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_encodings(encodings)
            .set_num_values(self.rows as i64)
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(self.uncompressed as i64)
            .set_dictionary_page_offset(self.dictionary.map(offset))
            .set_data_page_offset(self.first_page.map_or(0, offset))
            .set_statistics(statistics)
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: self.rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok(ColumnChunk { bytes, close })
    }
}
