//! How rows become Parquet: one way for all tables, the same bytes each time.

use std::io::Write;

use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::schema::{Kind, Table};

/// Rows in a row group at most: what a reader decodes at a time, and what it
/// can skip by statistics.
pub const ROW_GROUP_ROWS: usize = 1 << 18;

/// How a table is written: zstd, dictionaries where values come again, the
/// smallest and largest value of each column in each row group.
pub fn writer_properties(table: &Table) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("tapstat version {}", super::manifest::TAPSTAT))
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Chunk);
    for column in table.columns.iter().filter(|column| !repeats(column.name, column.kind)) {
        let path = ColumnPath::from(column.name);
        properties = properties.set_column_dictionary_enabled(path, false);
    }
    properties.build()
}

/// Whether values of a column come again often enough for a dictionary.
fn repeats(column: &str, kind: Kind) -> bool {
    kind != Kind::Float && column != "request_id"
}

/// A writer of a table's batches.
///
/// The Arrow schema is left out of the file's metadata: the types of all our
/// columns are read back from Parquet's own.
///
/// # Errors
///
/// Where the first bytes cannot be written.
pub fn writer<W: Write + Send>(table: &Table, sink: W) -> Result<ArrowWriter<W>, ParquetError> {
    let options = ArrowWriterOptions::new()
        .with_properties(writer_properties(table))
        .with_skip_arrow_metadata(true);
    ArrowWriter::try_new_with_options(sink, table.file_schema(), options)
}
