//! `samples/`: one row per request of each rung, streamed and never held whole.
//!
//! A [`SampleFile`] is opened as a [`SampleReader`], which gives [`Block`]s, one
//! after the other; each is parsed into [`Requests`] by whichever thread has
//! time for it. Blocks know nothing of those before them, so a place in the
//! file is given relative to the block and made absolute by who holds the order.

mod blocks;
mod careful;
mod columns;
mod compare;
mod distribution;
mod error;
mod field;
mod lines;
mod number;
mod scan;
mod table;
mod tally;
mod template;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use self::blocks::{Blocks, Packing};
use self::error::Problem;
use self::field::Field;
use super::error::{Place, RawError};
use super::input::hash_file;

pub use self::blocks::Buffers;
pub use self::columns::{Columns, Labels, NO_COUNT, NO_FLOAT, Texts};
pub use self::compare::Precision;
pub use self::distribution::HELD;
pub use self::tally::{Recomputed, Tally};

/// The names that a rung's samples may have, after the rung's own, for messages.
pub const EXPECTED: &str = "<rung>.parquet, .jsonl, .jsonl.gz or .jsonl.zst";

/// Bytes of lines in a block: few enough to stay in a core's own cache.
pub const BLOCK: usize = 1 << 20;

/// Rows in a block of a Parquet file.
const BATCH: usize = 16 << 10;

/// How a samples file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Lines(Packing),
    Parquet,
}

/// What may follow a rung's name.
const SUFFIXES: [(&str, Format); 4] = [
    (".parquet", Format::Parquet),
    (".jsonl", Format::Lines(Packing::Plain)),
    (".jsonl.gz", Format::Lines(Packing::Gzip)),
    (".jsonl.zst", Format::Lines(Packing::Zstd)),
];

/// The samples of one rung.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleFile {
    /// Name of the rung.
    pub rung: String,
    /// Where it lies.
    pub path: PathBuf,
    /// Its path relative to the run directory.
    pub place: PathBuf,
    format: Format,
}

impl SampleFile {
    /// The name of the file in `samples/`.
    pub fn name(&self) -> String {
        self.place.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Every samples file in a folder, sorted by the name of its rung. Files of
    /// other names are none.
    ///
    /// # Errors
    ///
    /// Where the folder cannot be read, or a rung has two files.
    pub fn list(folder: &Path) -> Result<Vec<Self>, RawError> {
        let io = |source| RawError::io(folder, source);
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(io)? {
            let entry = entry.map_err(io)?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            for (suffix, format) in SUFFIXES {
                if let Some(rung) = name.strip_suffix(suffix) {
                    files.push(Self {
                        rung: rung.to_owned(),
                        path: entry.path(),
                        place: Path::new("samples").join(name),
                        format,
                    });
                }
            }
        }
        files.sort_by(|a, b| (&a.rung, &a.place).cmp(&(&b.rung, &b.place)));
        if let Some([first, second]) = files.array_windows().find(|[a, b]| a.rung == b.rung) {
            return Err(RawError::Other {
                place: Place::file(&second.place),
                message: format!(
                    "samples of rung `{}` stand in {} already: expected one file for each rung",
                    second.rung,
                    first.place.display()
                ),
            });
        }
        Ok(files)
    }

    /// Opens the file for reading in blocks of about `block` bytes.
    ///
    /// # Errors
    ///
    /// Where it cannot be read, or is Parquet and is none.
    pub fn open(&self, block: usize, buffers: &Buffers) -> Result<SampleReader, RawError> {
        let mut unknown = BTreeSet::new();
        let source = match self.format {
            Format::Lines(packing) => {
                let blocks = Blocks::open(&self.path, packing, block, buffers.clone())?;
                Source::Lines(Box::new(blocks))
            }
            Format::Parquet => {
                let (size, sha256) = hash_file(&self.path)?;
                let batches = self.batches(&mut unknown)?;
                Source::Parquet { batches, size, sha256 }
            }
        };
        Ok(SampleReader { file: self.clone(), source, unknown, buffers: buffers.clone() })
    }

    /// The rows of a Parquet file, known columns only.
    fn batches(
        &self,
        unknown: &mut BTreeSet<String>,
    ) -> Result<ParquetRecordBatchReader, RawError> {
        let wrong =
            |message: String| RawError::Parquet { place: Place::file(&self.place), message };
        let file = File::open(&self.path).map_err(|source| RawError::io(&self.path, source))?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(file)
            .map_err(|error| wrong(error.to_string()))?;
        let mut roots = Vec::new();
        for (root, column) in reader.schema().fields().iter().enumerate() {
            match Field::named(column.name()) {
                Field::Unknown => _ = unknown.insert(column.name().clone()),
                Field::Key => {}
                _ => roots.push(root),
            }
        }
        let mask = ProjectionMask::roots(reader.parquet_schema(), roots);
        reader
            .with_projection(mask)
            .with_batch_size(BATCH)
            .build()
            .map_err(|error| wrong(error.to_string()))
    }
}

enum Source {
    Lines(Box<Blocks>),
    Parquet { batches: ParquetRecordBatchReader, size: u64, sha256: String },
}

/// Reads one samples file, block by block, and hashes it on the way.
pub struct SampleReader {
    file: SampleFile,
    source: Source,
    unknown: BTreeSet<String>,
    buffers: Buffers,
}

impl SampleReader {
    /// The next block; none at the end.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read, or unpacked.
    pub fn next_block(&mut self) -> Result<Option<Block>, RawError> {
        let content = match &mut self.source {
            Source::Lines(blocks) => blocks
                .next()
                .map_err(|source| RawError::io(&self.file.path, source))?
                .map(Content::Lines),
            Source::Parquet { batches, .. } => batches
                .next()
                .transpose()
                .map_err(|error| RawError::Parquet {
                    place: Place::file(&self.file.place),
                    message: error.to_string(),
                })?
                .map(Content::Batch),
        };
        let unknown = std::mem::take(&mut self.unknown);
        Ok(content.map(|content| Block { content, unknown, buffers: self.buffers.clone() }))
    }

    /// Bytes of the file that were read so far.
    pub fn position(&self) -> u64 {
        match &self.source {
            Source::Lines(blocks) => blocks.position(),
            Source::Parquet { size, .. } => *size,
        }
    }

    /// Size and sha256 of the file, once its last block was taken.
    ///
    /// # Errors
    ///
    /// Where what is left of the file cannot be read.
    pub fn finish(self) -> Result<(u64, String), RawError> {
        match self.source {
            Source::Lines(blocks) => {
                blocks.finish().map_err(|source| RawError::io(&self.file.path, source))
            }
            Source::Parquet { size, sha256, .. } => Ok((size, sha256)),
        }
    }
}

enum Content {
    Lines(blocks::Lines),
    Batch(RecordBatch),
}

/// Some consecutive requests of a samples file, not parsed yet.
pub struct Block {
    content: Content,
    unknown: BTreeSet<String>,
    buffers: Buffers,
}

/// Some consecutive requests of a samples file.
#[derive(Debug, Default)]
pub struct Requests {
    pub columns: Columns,
    /// Lines, or rows, that they took in the file.
    pub lines: u64,
    /// Fields that are not known, and were left out.
    pub unknown: BTreeSet<String>,
    /// Whether the file ended in half a line, which was left out.
    pub half_line: bool,
}

/// A request that cannot be believed.
#[derive(Debug)]
pub struct BadRequest {
    /// Its line in the block, from 0.
    line: u64,
    problem: Problem,
}

impl BadRequest {
    /// The error, when so many lines of the file stand before the block.
    pub fn at(self, file: &SampleFile, before: u64) -> RawError {
        self.problem.at(Place::line(&file.place, before + self.line + 1))
    }
}

impl Block {
    /// Parses the block.
    ///
    /// # Errors
    ///
    /// The first request that cannot be believed.
    pub fn parse(self) -> Result<Requests, BadRequest> {
        let bad = |(line, problem)| BadRequest { line, problem };
        let mut requests = match self.content {
            Content::Lines(blocks::Lines { bytes, last }) => {
                let requests = lines::parse(&bytes, last).map_err(bad)?;
                self.buffers.put(bytes);
                requests
            }
            Content::Batch(batch) => {
                let columns = table::parse(&batch).map_err(bad)?;
                Requests { columns, lines: batch.num_rows() as u64, ..Requests::default() }
            }
        };
        requests.unknown.extend(self.unknown);
        Ok(requests)
    }
}
