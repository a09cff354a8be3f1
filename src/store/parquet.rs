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

#[cfg(test)]
mod tests {
    use std::fs::File;

    use arrow::array::RecordBatch;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;
    use crate::store::schema::{EventRow, RequestRow, Row, TABLES};

    fn encode(table: &Table, batches: &[RecordBatch]) -> File {
        let mut writer = writer(table, tempfile::tempfile().unwrap()).unwrap();
        for batch in batches {
            writer.write(batch).unwrap();
        }
        writer.into_inner().unwrap()
    }

    #[test]
    fn every_table_is_read_back_with_its_types() {
        for table in TABLES {
            let batch = RecordBatch::new_empty(table.file_schema());
            let file = encode(table, &[batch]);
            let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
            assert_eq!(*reader.schema(), table.file_schema(), "{}", table.name);
        }
    }

    #[test]
    fn row_groups_are_bounded_and_have_statistics() {
        let row = EventRow { t: Some(1.5), kind: "void".into(), ..EventRow::default() };
        let batch = EventRow::to_batch(&vec![row; ROW_GROUP_ROWS + 1]);
        let file = encode(&EventRow::TABLE, &[batch]);
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let metadata = reader.metadata();
        let rows: Vec<i64> = metadata.row_groups().iter().map(|group| group.num_rows()).collect();
        assert_eq!(rows, [ROW_GROUP_ROWS as i64, 1]);
        for column in metadata.row_groups().iter().flat_map(|group| group.columns()) {
            assert!(column.statistics().is_some(), "{}", column.column_path());
            assert!(matches!(column.compression(), Compression::ZSTD(_)));
        }
    }

    #[test]
    fn the_file_says_who_wrote_it_and_nothing_of_when() {
        let file = encode(&EventRow::TABLE, &[EventRow::to_batch(&[EventRow::default()])]);
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let metadata = reader.metadata().file_metadata();
        let writer = concat!("tapstat version ", env!("CARGO_PKG_VERSION"));
        assert_eq!(metadata.created_by(), Some(writer));
        assert_eq!(metadata.key_value_metadata(), None);
    }

    #[test]
    fn dictionaries_are_for_values_that_come_again() {
        let file = encode(
            &RequestRow::TABLE,
            &[RequestRow::to_batch(&[RequestRow {
                request_id: Some("a".into()),
                query_id: Some("Q01-1".into()),
                ..RequestRow::default()
            }])],
        );
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let columns = reader.metadata().row_group(0).columns();
        let with: Vec<&str> = columns
            .iter()
            .filter(|column| column.dictionary_page_offset().is_some())
            .map(|column| column.column_path().parts()[0].as_str())
            .collect();
        for (column, expected) in [
            ("rung", true),
            ("query_id", true),
            ("t_start", false),
            ("latency_s", false),
            ("request_id", false),
        ] {
            assert_eq!(with.contains(&column), expected, "{column}");
        }
    }
}
