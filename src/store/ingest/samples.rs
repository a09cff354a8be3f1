//! `samples/` into the table `requests`: one thread reads and hashes, a pool
//! parses and encodes, and this one keeps the order.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::error::StreamError;
use super::{IngestOptions, Progress};
use crate::raw::samples::{
    BLOCK, BadRequest, Buffers, EXPECTED, HELD, Precision, Requests, SampleFile, Tally,
};
use crate::raw::{InputFile, Place, RawError, Run, RunDir, RungRecord, Warning};
use crate::store::pool::{Pending, Pool, Urgency};
use crate::store::requests::RequestsWriter;
use crate::store::schema::{RequestRow, Row};
use crate::store::{StagedFile, Staging, StoreError};

/// Blocks that are read before they are used, for each thread.
const AHEAD: usize = 3;

/// Sizes that tests make small.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Bytes in a block of lines.
    pub(super) block: usize,
    /// Latencies of a rung that are held.
    pub(super) held: usize,
}

/// What the reader says, in the order of the files.
enum Message {
    /// A block of the rung that is at turn.
    Block(Pending<Result<Requests, BadRequest>>),
    /// The end of its file: size and sha256.
    End(u64, String),
    Failed(RawError),
}

/// Writes the requests of all rungs, and puts into the rungs what they give.
pub(super) fn ingest(
    dir: &RunDir,
    run: &mut Run,
    staging: &mut Staging,
    options: &IngestOptions,
    progress: &dyn Progress,
) -> Result<(), StreamError> {
    let sizes = Sizes { block: BLOCK, held: HELD };
    ingest_sized(dir, run, staging, options, progress, sizes)
}

pub(super) fn ingest_sized(
    dir: &RunDir,
    run: &mut Run,
    staging: &mut Staging,
    options: &IngestOptions,
    progress: &dyn Progress,
    sizes: Sizes,
) -> Result<(), StreamError> {
    let Some(folder) = dir.samples_dir() else { return Ok(()) };
    let files = files(&folder, run)?;
    let sink = staging.create_file(&RequestRow::TABLE)?;
    let pool = Pool::new();
    let (file, rows) = std::thread::scope(|scope| {
        pool.start(scope, options.threads);
        let _closer = pool.closer();
        let (sender, receiver) = sync_channel(AHEAD * options.threads.max(1));
        let (read, pool) = (&files, &pool);
        scope.spawn(move || {
            // Nobody listens any more where there was an error.
            let _ = read_all(read, pool, progress, sizes.block, &sender);
        });
        let consumer = Consumer {
            precision: Precision::of(&run.rungs),
            spill: staging.folder().to_owned(),
            held: sizes.held,
            receiver,
            unknown: BTreeSet::new(),
        };
        consumer.run(run, &files, pool, sink)
    })?;
    Ok(staging.finish_file(file, rows)?)
}

/// The samples of each rung, in the order of the rungs.
fn files(folder: &Path, run: &mut Run) -> Result<Vec<SampleFile>, RawError> {
    let files = SampleFile::list(folder)?;
    let mut files: BTreeMap<String, SampleFile> =
        files.into_iter().map(|file| (file.rung.clone(), file)).collect();
    let mut found = Vec::with_capacity(run.rungs.len());
    for rung in &run.rungs {
        let name = rung.key.name();
        found.push(files.remove(&name).ok_or_else(|| RawError::SamplesMissing {
            place: rung.place.clone(),
            rung: name,
            samples: PathBuf::from("samples"),
            expected: EXPECTED.to_owned(),
        })?);
    }
    run.warnings.extend(files.into_values().map(|file| Warning {
        message: format!("no rung is called `{}`, left out", file.rung),
        place: Place::file(file.place),
    }));
    Ok(found)
}

/// Reads all files one after the other. None where nobody listens.
fn read_all(
    files: &[SampleFile],
    pool: &Pool,
    progress: &dyn Progress,
    block: usize,
    sender: &SyncSender<Message>,
) -> Option<()> {
    let buffers = Buffers::default();
    for file in files {
        match read(file, pool, progress, block, &buffers, sender) {
            Ok(sent) => sent?,
            Err(error) => return sender.send(Message::Failed(error)).ok(),
        }
    }
    Some(())
}

fn read(
    file: &SampleFile,
    pool: &Pool,
    progress: &dyn Progress,
    block: usize,
    buffers: &Buffers,
    sender: &SyncSender<Message>,
) -> Result<Option<()>, RawError> {
    let mut reader = file.open(block, buffers)?;
    let mut position = 0;
    while let Some(block) = reader.next_block()? {
        progress.advance(reader.position() - position);
        position = reader.position();
        let parsed = pool.submit(Urgency::Then, || block.parse());
        if sender.send(Message::Block(parsed)).is_err() {
            return Ok(None);
        }
    }
    let (size, sha256) = reader.finish()?;
    progress.advance(size - position);
    Ok(sender.send(Message::End(size, sha256)).ok())
}

/// Takes the blocks in order: counts, sorts, writes.
struct Consumer {
    precision: Precision,
    spill: PathBuf,
    held: usize,
    receiver: Receiver<Message>,
    unknown: BTreeSet<String>,
}

impl Consumer {
    fn run(
        mut self,
        run: &mut Run,
        files: &[SampleFile],
        pool: &Pool,
        sink: StagedFile,
    ) -> Result<(StagedFile, u64), StreamError> {
        let mut writer = RequestsWriter::new(pool, sink).map_err(unencoded)?;
        for (rung, file) in run.rungs.iter_mut().zip(files) {
            let input = self.rung(rung, file, &mut writer, &mut run.warnings)?;
            run.inputs.push(input);
        }
        if !self.unknown.is_empty() {
            let names: Vec<String> = self.unknown.into_iter().collect();
            run.warnings.push(Warning {
                place: Place::file("samples"),
                message: format!("fields not known, left out: {}", names.join(", ")),
            });
        }
        Ok(writer.finish().map_err(unencoded)?)
    }

    fn rung(
        &mut self,
        rung: &mut RungRecord,
        file: &SampleFile,
        writer: &mut RequestsWriter<'_, StagedFile>,
        warnings: &mut Vec<Warning>,
    ) -> Result<InputFile, StreamError> {
        let spilled = |source| RawError::io(&self.spill, source);
        let mut tally = Tally::new(&self.spill, self.held);
        let mut rows = writer.rung(&file.rung);
        let mut lines = 0;
        let (size, sha256) = loop {
            let message = self.receiver.recv();
            match message.expect("the reader sends the end of every file, or an error") {
                Message::Block(requests) => {
                    let requests = requests.wait().map_err(|bad| bad.at(file, lines))?;
                    lines += requests.lines;
                    if requests.half_line {
                        warnings.push(Warning {
                            place: Place::line(&file.place, lines),
                            message: "the last line is half-written, left out".to_owned(),
                        });
                    }
                    self.unknown.extend(requests.unknown);
                    tally.add(&requests.columns).map_err(spilled)?;
                    rows.push(Arc::new(requests.columns)).map_err(unencoded)?;
                }
                Message::End(size, sha256) => break (size, sha256),
                Message::Failed(error) => return Err(error.into()),
            }
        };
        let late = rows.finish().map_err(unencoded)?;
        if late > 0 {
            warnings.push(Warning {
                place: Place::file(&file.place),
                message: format!(
                    "{late} requests stand too far from their place in time to be sorted: they are stored late"
                ),
            });
        }
        self.precision.settle(rung, file, tally.finish().map_err(spilled)?)?;
        Ok(InputFile { path: format!("samples/{}", file.name()), size, sha256 })
    }
}

fn unencoded(source: parquet::errors::ParquetError) -> StoreError {
    StoreError::Parquet { path: PathBuf::from(RequestRow::TABLE.name), source }
}
