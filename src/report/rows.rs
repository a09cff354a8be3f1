//! Rows in every format, written as they come.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::ipc::writer::{FileWriter, StreamWriter};
use arrow::json::WriterBuilder;
use arrow::json::writer::{JsonArray, LineDelimited, Writer as JsonWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::csv::CsvWriter;
use super::grid::{Align, Cell, Grid, MISSING, Style};
use super::value::{Values, is_figure};
use super::{Format, ReportError};

/// The most rows that are drawn as a table: it is laid out in memory, as a whole.
const DRAWN: usize = 100_000;

/// How rows are written.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// The format.
    pub format: Format,
    /// How tables are drawn.
    pub style: Style,
    /// Whether Arrow output is the file format, else the stream format.
    pub arrow_file: bool,
}

/// A name that several columns have: whoever reads them by name loses one.
fn twice(schema: &SchemaRef) -> Option<String> {
    let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
    let again = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name));
    again.map(|(_, name)| (*name).clone())
}

/// Writes rows in a format. Their columns are known up front, so that an answer
/// without rows has its header all the same.
///
/// Nulls are an empty field in CSV, null in JSON, and `—` in tables.
///
/// # Errors
/// Those of the rows, and whatever keeps them from being written.
pub fn write_rows<W: Write + Send, E: From<ReportError>>(
    out: W,
    form: Form,
    schema: &SchemaRef,
    rows: impl Iterator<Item = Result<RecordBatch, E>>,
) -> Result<(), E> {
    let is_for_people = matches!(form.format, Format::Table | Format::Markdown | Format::Csv);
    if let Some(name) = twice(schema).filter(|_| !is_for_people) {
        return Err(ReportError::ColumnTwice { name }.into());
    }
    match form.format {
        Format::Table => draw(out, schema, rows, |grid| grid.to_terminal(form.style)),
        Format::Markdown => draw(out, schema, rows, Grid::to_markdown),
        Format::Csv => {
            let mut writer = CsvWriter::new(out, schema).map_err(ReportError::from)?;
            each(rows, |batch| writer.write(batch))
        }
        Format::Json => {
            let mut writer: JsonWriter<_, JsonArray> = json().build(out);
            each(rows, |batch| Ok(writer.write(batch)?))?;
            finish(writer.finish())?;
            // The array ends without a newline, a text file does not.
            finish(writer.get_mut().write_all(b"\n"))
        }
        Format::Ndjson => {
            let mut writer: JsonWriter<_, LineDelimited> = json().build(out);
            each(rows, |batch| Ok(writer.write(batch)?))?;
            finish(writer.finish())
        }
        Format::Parquet => {
            let mut writer = ArrowWriter::try_new(out, schema.clone(), Some(properties()))
                .map_err(ReportError::from)?;
            each(rows, |batch| Ok(writer.write(batch)?))?;
            finish(writer.close().map(drop))
        }
        Format::Arrow if form.arrow_file => {
            let mut writer = FileWriter::try_new(out, schema).map_err(ReportError::from)?;
            each(rows, |batch| Ok(writer.write(batch)?))?;
            finish(writer.finish())
        }
        Format::Arrow => {
            let mut writer = StreamWriter::try_new(out, schema).map_err(ReportError::from)?;
            each(rows, |batch| Ok(writer.write(batch)?))?;
            finish(writer.finish())
        }
    }
}

/// Hands every batch on.
fn each<E: From<ReportError>>(
    rows: impl Iterator<Item = Result<RecordBatch, E>>,
    mut write: impl FnMut(&RecordBatch) -> Result<(), ReportError>,
) -> Result<(), E> {
    for batch in rows {
        write(&batch?)?;
    }
    Ok(())
}

fn finish<R: Into<ReportError>, E: From<ReportError>>(result: Result<(), R>) -> Result<(), E> {
    result.map_err(|error| E::from(error.into()))
}

fn json() -> WriterBuilder {
    WriterBuilder::new().with_explicit_nulls(true)
}

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(format!("tapstat {}", crate::VERSION))
        .build()
}

/// Draws rows as one table.
fn draw<E: From<ReportError>>(
    mut out: impl Write,
    schema: &SchemaRef,
    rows: impl Iterator<Item = Result<RecordBatch, E>>,
    form: impl FnOnce(&Grid) -> String,
) -> Result<(), E> {
    let mut grid = header(schema);
    let mut drawn = 0;
    each(rows, |batch| {
        drawn += batch.num_rows();
        if drawn > DRAWN {
            return Err(ReportError::TooLong { limit: DRAWN });
        }
        push_batch(&mut grid, batch)
    })?;
    finish(out.write_all(form(&grid).as_bytes()))
}

/// A table of these columns, figures at the right.
fn header(schema: &SchemaRef) -> Grid {
    Grid::new(schema.fields().iter().map(|field| {
        let align = if is_figure(field.data_type()) { Align::Right } else { Align::Left };
        (field.name().as_str(), align)
    }))
}

/// Rows as a table, every figure with all its digits.
///
/// # Errors
/// If a value has no text.
pub fn rows_grid(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<Grid, ReportError> {
    let mut grid = header(schema);
    batches.iter().try_for_each(|batch| push_batch(&mut grid, batch))?;
    Ok(grid)
}

fn push_batch(grid: &mut Grid, batch: &RecordBatch) -> Result<(), ReportError> {
    let columns = batch.columns().iter().map(Values::new).collect::<Result<Vec<_>, _>>()?;
    for row in 0..batch.num_rows() {
        let mut cells = Vec::with_capacity(columns.len());
        for column in &columns {
            let mut text = String::new();
            if column.is_null(row) {
                text.push_str(MISSING);
            } else {
                column.push(row, &mut text)?;
            }
            cells.push(Cell::from(text));
        }
        grid.push(cells);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, NullArray, StringArray};
    use arrow::datatypes::{DataType, Field, Schema};
    use arrow::ipc::reader::{FileReader, StreamReader};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;

    fn batch() -> RecordBatch {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("name", Arc::new(StringArray::from(vec![Some("a,\"b\""), Some(""), None]))),
            ("rps", Arc::new(Float64Array::from(vec![Some(412.0), Some(0.1 + 0.2), None]))),
            ("n", Arc::new(Int64Array::from(vec![Some(3), None, Some(-1)]))),
            ("ok", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        ];
        RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, array)| (name, array, true)),
        )
        .unwrap()
    }

    fn bytes(format: Format, arrow_file: bool, batches: &[RecordBatch]) -> Vec<u8> {
        let schema = batch().schema();
        let mut out = Vec::new();
        let form = Form { format, style: Style::default(), arrow_file };
        let rows = batches.iter().cloned().map(Ok::<_, ReportError>);
        write_rows(&mut out, form, &schema, rows).unwrap();
        out
    }

    fn text(format: Format, batches: &[RecordBatch]) -> String {
        String::from_utf8(bytes(format, false, batches)).unwrap()
    }

    #[test]
    fn csv() {
        assert_eq!(
            text(Format::Csv, &[batch()]),
            "name,rps,n,ok\n\
             \"a,\"\"b\"\"\",412.0,3,true\n\
             \"\",0.30000000000000004,,\n\
             ,,-1,false\n"
        );
        assert_eq!(text(Format::Csv, &[]), "name,rps,n,ok\n");
    }

    #[test]
    fn json() {
        let rows = [
            r#"{"name":"a,\"b\"","rps":412.0,"n":3,"ok":true}"#,
            r#"{"name":"","rps":0.30000000000000004,"n":null,"ok":null}"#,
            r#"{"name":null,"rps":null,"n":-1,"ok":false}"#,
        ];
        assert_eq!(text(Format::Json, &[batch()]), format!("[{}]\n", rows.join(",")));
        assert_eq!(text(Format::Json, &[]), "[]\n");
        assert_eq!(text(Format::Ndjson, &[batch()]), rows.map(|row| format!("{row}\n")).concat());
        assert_eq!(text(Format::Ndjson, &[]), "");
    }

    #[test]
    fn batches_follow_each_other_as_one() {
        let halves = [batch().slice(0, 1), batch().slice(1, 2)];
        for format in [Format::Csv, Format::Json, Format::Ndjson, Format::Table, Format::Markdown] {
            assert_eq!(text(format, &halves), text(format, &[batch()]), "{format:?}");
        }
    }

    #[test]
    fn tables() {
        assert_eq!(
            text(Format::Markdown, &[batch()]),
            "\
| name  |                 rps |   n | ok    |
| ----- | ------------------: | --: | ----- |
| a,\"b\" |               412.0 |   3 | true  |
|       | 0.30000000000000004 |   — | —     |
| —     |                   — |  -1 | false |
"
        );
        assert_eq!(
            text(Format::Table, &[batch()]),
            "\
──────────────────────────────────────
name                   rps   n  ok
──────────────────────────────────────
a,\"b\"                412.0   3  true
       0.30000000000000004   —  —
—                        —  -1  false
──────────────────────────────────────
"
        );
        assert_eq!(
            text(Format::Markdown, &[]),
            "| name | rps |   n | ok  |\n| ---- | --: | --: | --- |\n"
        );
        assert!(text(Format::Table, &[]).contains("name  rps  n  ok"));
    }

    #[test]
    fn parquet_reads_back() {
        for batches in [vec![batch()], Vec::new()] {
            let file = tempfile::tempfile().unwrap();
            (&file).write_all(&bytes(Format::Parquet, true, &batches)).unwrap();
            let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
            assert_eq!(reader.schema().fields(), batch().schema().fields());
            let read: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
            assert_eq!(
                read.iter().map(RecordBatch::columns).collect::<Vec<_>>(),
                batches.iter().map(RecordBatch::columns).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn arrow_reads_back_as_file_and_as_stream() {
        for batches in [vec![batch()], Vec::new()] {
            let file = std::io::Cursor::new(bytes(Format::Arrow, true, &batches));
            let file = FileReader::try_new(file, None).unwrap();
            assert_eq!(file.schema(), batch().schema());
            assert_eq!(file.map(Result::unwrap).collect::<Vec<_>>(), batches);

            let stream = std::io::Cursor::new(bytes(Format::Arrow, false, &batches));
            let stream = StreamReader::try_new(stream, None).unwrap();
            assert_eq!(stream.schema(), batch().schema());
            assert_eq!(stream.map(Result::unwrap).collect::<Vec<_>>(), batches);
        }
    }

    #[test]
    fn floats_are_the_shortest_that_read_back() {
        let values = [0.1, 1e21, 1e-7, f64::MAX, 5e-324, -0.0, 1.0 / 3.0, 4_407_102.0];
        let array: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
        let batch = RecordBatch::try_from_iter([("x", array)]).unwrap();
        for format in [Format::Csv, Format::Ndjson] {
            let mut out = Vec::new();
            let form = Form { format, style: Style::default(), arrow_file: false };
            let rows = std::iter::once(Ok::<_, ReportError>(batch.clone()));
            write_rows(&mut out, form, &batch.schema(), rows).unwrap();
            let text = String::from_utf8(out).unwrap();
            let read: Vec<f64> = text
                .lines()
                .map(|line| line.trim_start_matches("{\"x\":").trim_end_matches('}'))
                .filter(|line| *line != "x")
                .map(|line| line.parse().unwrap())
                .collect();
            assert_eq!(
                read.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
                values.map(f64::to_bits)
            );
            assert!(text.contains("0.1") && !text.contains("0.1000"), "{text}");
        }
    }

    #[test]
    fn a_column_of_nothing_is_null_everywhere() {
        let schema = Arc::new(Schema::new(vec![
            Field::new("x", DataType::Null, true),
            Field::new("y", DataType::Int64, true),
        ]));
        let columns: Vec<ArrayRef> =
            vec![Arc::new(NullArray::new(1)), Arc::new(Int64Array::from(vec![1]))];
        let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
        let text = |format| {
            let mut out = Vec::new();
            let form = Form { format, style: Style::default(), arrow_file: false };
            let rows = std::iter::once(Ok::<_, ReportError>(batch.clone()));
            write_rows(&mut out, form, &schema, rows).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(Format::Csv), "x,y\n,1\n");
        assert_eq!(text(Format::Ndjson), "{\"x\":null,\"y\":1}\n");
        assert!(text(Format::Markdown).ends_with("| —   |   1 |\n"));
    }

    #[test]
    fn the_error_of_the_rows_comes_through() {
        let rows = std::iter::once(Err::<RecordBatch, _>(ReportError::TooLong { limit: 1 }));
        let form = Form { format: Format::Csv, style: Style::default(), arrow_file: false };
        let error = write_rows(Vec::new(), form, &batch().schema(), rows).unwrap_err();
        assert!(matches!(error, ReportError::TooLong { .. }));
    }
}
