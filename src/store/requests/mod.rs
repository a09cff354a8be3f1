//! The table `requests`: sorted by rung and time, encoded by several threads,
//! the same bytes however many there are.
//!
//! Rows are counted off into row groups of [`ROW_GROUP_ROWS`]. Each column of a
//! row group is encoded by whoever has time, and they are put into the file in
//! their order.

mod hybrid;
mod order;
mod pages;
mod row_group;
#[cfg(test)]
mod tests;
mod values;

use std::collections::VecDeque;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use parquet::arrow::ArrowSchemaConverter;
use parquet::errors::Result;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::SchemaDescriptor;

use self::order::TimeOrder;
use self::pages::{ColumnChunk, ColumnEncoder};
use self::row_group::RowGroup;
use super::parquet::{ROW_GROUP_ROWS, writer_properties};
use super::pool::{Pending, Pool, Urgency};
use super::schema::{RequestRow, Row};
use crate::raw::samples::Columns;

/// Row groups that are being encoded at a time: one is never enough to keep all
/// threads at work, and each takes some 50 MB.
const IN_FLIGHT: usize = 2;

/// Writes requests, rung after rung.
pub(super) struct RequestsWriter<'a, W: Write + Send> {
    pool: &'a Pool,
    file: SerializedFileWriter<W>,
    schema: SchemaDescriptor,
    encoding: VecDeque<Vec<Pending<Result<ColumnChunk>>>>,
    filling: RowGroup,
    row_group_rows: usize,
    rows: u64,
}

impl<'a, W: Write + Send> RequestsWriter<'a, W> {
    /// Begins a file.
    ///
    /// # Errors
    ///
    /// Where its first bytes cannot be written.
    pub(super) fn new(pool: &'a Pool, sink: W) -> Result<Self> {
        let properties = Arc::new(writer_properties(&RequestRow::TABLE));
        let schema = ArrowSchemaConverter::new().convert(&RequestRow::TABLE.file_schema())?;
        let file = SerializedFileWriter::new(sink, schema.root_schema_ptr(), properties)?;
        Ok(Self {
            pool,
            file,
            schema,
            encoding: VecDeque::new(),
            filling: RowGroup::default(),
            row_group_rows: ROW_GROUP_ROWS,
            rows: 0,
        })
    }

    /// Begins a rung.
    pub(super) fn rung(&mut self, name: &str) -> RungWriter<'_, 'a, W> {
        RungWriter { writer: self, name: name.into(), order: TimeOrder::new(order::HELD) }
    }

    fn add(&mut self, rung: &Arc<str>, columns: &Arc<Columns>, rows: Range<usize>) -> Result<()> {
        let mut start = rows.start;
        while start < rows.end {
            let end = rows.end.min(start + self.row_group_rows - self.filling.rows());
            self.filling.add(rung, columns, start..end);
            start = end;
            if self.filling.rows() == self.row_group_rows {
                self.encode()?;
            }
        }
        Ok(())
    }

    /// Leaves the row group that was filled to the pool.
    fn encode(&mut self) -> Result<()> {
        while self.encoding.len() >= IN_FLIGHT {
            self.put_first()?;
        }
        let rows = Arc::new(std::mem::take(&mut self.filling));
        self.rows += rows.rows() as u64;
        let columns = self.schema.columns().iter().map(|column| {
            let (rows, column) = (Arc::clone(&rows), Arc::clone(column));
            self.pool.submit(Urgency::First, move || rows.encode(ColumnEncoder::new(column)))
        });
        let columns = columns.collect();
        self.encoding.push_back(columns);
        Ok(())
    }

    /// Puts the earliest row group that is being encoded into the file.
    fn put_first(&mut self) -> Result<()> {
        let Some(columns) = self.encoding.pop_front() else { return Ok(()) };
        let mut row_group = self.file.next_row_group()?;
        for column in columns {
            let ColumnChunk { bytes, close } = column.wait()?;
            row_group.append_column(&bytes, close)?;
        }
        row_group.close().map(|_| ())
    }

    /// Ends the file; gives the sink and the number of rows.
    ///
    /// # Errors
    ///
    /// Where rows cannot be encoded or written.
    pub(super) fn finish(mut self) -> Result<(W, u64)> {
        if self.filling.rows() > 0 {
            self.encode()?;
        }
        while !self.encoding.is_empty() {
            self.put_first()?;
        }
        Ok((self.file.into_inner()?, self.rows))
    }
}

/// Writes the requests of one rung.
pub(super) struct RungWriter<'w, 'a, W: Write + Send> {
    writer: &'w mut RequestsWriter<'a, W>,
    name: Arc<str>,
    order: TimeOrder,
}

impl<W: Write + Send> RungWriter<'_, '_, W> {
    /// Takes the next requests of the rung.
    ///
    /// # Errors
    ///
    /// Where rows cannot be encoded or written.
    pub(super) fn push(&mut self, columns: Arc<Columns>) -> Result<()> {
        let mut give = |columns: &Arc<Columns>, rows| self.writer.add(&self.name, columns, rows);
        self.order.push(columns, &mut give)
    }

    /// Ends the rung; gives the number of requests that are not in order.
    ///
    /// # Errors
    ///
    /// Where rows cannot be encoded or written.
    pub(super) fn finish(mut self) -> Result<u64> {
        let mut give = |columns: &Arc<Columns>, rows| self.writer.add(&self.name, columns, rows);
        self.order.finish(&mut give)?;
        Ok(self.order.late())
    }
}
