//! The table as CSV and Parquet, row by row, in bounded memory.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Builder, Int64Builder, RecordBatch, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use sha2::{Digest, Sha256};

use super::CorpusError;
use super::columns::{COLUMNS, Cell, Kind, shortest};
use super::observation::Observation;
use super::query::hex;

/// Rows that are turned into columns at a time.
const BATCH_ROWS: usize = 8192;

/// Rows in a row group of the Parquet file.
const ROW_GROUP_ROWS: usize = 1 << 16;

/// A file that is written under another name, and hashed on its way.
#[derive(Debug)]
pub struct Hashed {
    file: BufWriter<File>,
    hash: Sha256,
    path: PathBuf,
}

impl Hashed {
    /// Starts the file that will be `path`.
    pub fn create(path: &Path) -> Result<Self, CorpusError> {
        let file = File::create(part(path)).map_err(CorpusError::io(path))?;
        Ok(Self {
            file: BufWriter::with_capacity(1 << 18, file),
            hash: Sha256::new(),
            path: path.to_owned(),
        })
    }

    /// Gives the file its name, and its sha256.
    pub fn finish(mut self) -> Result<String, CorpusError> {
        let path = self.path;
        self.file.flush().map_err(CorpusError::io(&path))?;
        std::fs::rename(part(&path), &path).map_err(CorpusError::io(&path))?;
        Ok(hex(&self.hash.finalize()))
    }
}

fn part(path: &Path) -> PathBuf {
    path.with_added_extension("part")
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes rows to both files.
pub struct TableWriter {
    csv: csv::Writer<Hashed>,
    parquet: ArrowWriter<Hashed>,
    columns: Columns,
}

/// The sha256 of each file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digests {
    pub csv: String,
    pub parquet: String,
}

impl TableWriter {
    /// Starts both files.
    pub fn create(csv: &Path, parquet: &Path) -> Result<Self, CorpusError> {
        let mut writer = csv::WriterBuilder::new()
            .terminator(csv::Terminator::Any(b'\n'))
            .from_writer(Hashed::create(csv)?);
        writer.write_record(COLUMNS.map(|(name, _)| name))?;
        let properties = WriterProperties::builder()
            .set_created_by(format!("tapstat version {}", crate::VERSION))
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .build();
        let sink = Hashed::create(parquet)?;
        let parquet = ArrowWriter::try_new(sink, schema(), Some(properties))?;
        Ok(Self { csv: writer, parquet, columns: Columns::new() })
    }

    /// Writes a row.
    pub fn add(&mut self, row: &Observation) -> Result<(), CorpusError> {
        let cells = row.cells();
        for cell in &cells {
            match cell {
                Cell::Null => self.csv.write_field("")?,
                Cell::Text(text) => self.csv.write_field(text)?,
                Cell::Int(value) => self.csv.write_field(value.to_string())?,
                Cell::Float(value) => self.csv.write_field(shortest(*value))?,
            }
        }
        self.csv.write_record(None::<&[u8]>)?;
        self.columns.add(&cells);
        if self.columns.rows == BATCH_ROWS {
            self.parquet.write(&self.columns.take()?)?;
        }
        Ok(())
    }

    /// Ends both files.
    pub fn finish(mut self) -> Result<Digests, CorpusError> {
        if self.columns.rows > 0 {
            self.parquet.write(&self.columns.take()?)?;
        }
        let csv = self.csv.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
        Ok(Digests { csv: csv.finish()?, parquet: self.parquet.into_inner()?.finish()? })
    }
}

/// The types of the Parquet file.
fn schema() -> SchemaRef {
    let field = |(name, kind): (&str, Kind)| {
        let data_type = match kind {
            Kind::Text => DataType::Utf8,
            Kind::Int => DataType::Int64,
            Kind::Float => DataType::Float64,
        };
        Field::new(name, data_type, true)
    };
    Arc::new(Schema::new(COLUMNS.map(field).to_vec()))
}

/// Rows on their way to a batch.
struct Columns {
    builders: Vec<Builder>,
    rows: usize,
}

enum Builder {
    Text(StringBuilder),
    Int(Int64Builder),
    Float(Float64Builder),
}

impl Columns {
    fn new() -> Self {
        let builder = |(_, kind): (&str, Kind)| match kind {
            Kind::Text => Builder::Text(StringBuilder::new()),
            Kind::Int => Builder::Int(Int64Builder::new()),
            Kind::Float => Builder::Float(Float64Builder::new()),
        };
        Self { builders: COLUMNS.map(builder).into(), rows: 0 }
    }

    fn add(&mut self, cells: &[Cell<'_>; 30]) {
        for (builder, cell) in self.builders.iter_mut().zip(cells) {
            match (builder, *cell) {
                (Builder::Text(builder), Cell::Text(text)) => builder.append_value(text),
                (Builder::Text(builder), _) => builder.append_null(),
                (Builder::Int(builder), Cell::Int(value)) => builder.append_value(value),
                (Builder::Int(builder), _) => builder.append_null(),
                (Builder::Float(builder), Cell::Float(value)) => builder.append_value(value),
                (Builder::Float(builder), _) => builder.append_null(),
            }
        }
        self.rows += 1;
    }

    fn take(&mut self) -> Result<RecordBatch, CorpusError> {
        self.rows = 0;
        let finish = |builder: &mut Builder| -> ArrayRef {
            match builder {
                Builder::Text(builder) => Arc::new(builder.finish()),
                Builder::Int(builder) => Arc::new(builder.finish()),
                Builder::Float(builder) => Arc::new(builder.finish()),
            }
        };
        let arrays = self.builders.iter_mut().map(finish).collect();
        Ok(RecordBatch::try_new(schema(), arrays)?)
    }
}
