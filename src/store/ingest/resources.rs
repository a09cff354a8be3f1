//! `resources.jsonl` into the table `resources`, in bounded memory.

use super::Progress;
use super::error::StreamError;
use crate::raw::{ResourcesReader, Run, RunDir};
use crate::store::parquet::writer;
use crate::store::schema::{ResourceRow, Row};
use crate::store::{Staging, StoreError};

/// Rows that are held at a time.
const BATCH: usize = 1 << 16;

/// Writes the resource samples in the order of their file, which is that of time.
pub(super) fn ingest(
    dir: &RunDir,
    run: &mut Run,
    staging: &mut Staging,
    progress: &dyn Progress,
) -> Result<(), StreamError> {
    let Some(path) = dir.resources_path() else { return Ok(()) };
    let mut reader = ResourcesReader::open(&path)?;
    let file = staging.create_file(&ResourceRow::TABLE)?;
    let failed = |source| StoreError::Parquet { path: path.clone(), source };
    let mut writer = writer(&ResourceRow::TABLE, file).map_err(failed)?;
    let mut rows = 0;
    let mut position = 0;
    loop {
        let batch = reader.by_ref().take(BATCH);
        let batch = batch.map(|sample| sample.map(ResourceRow::from));
        let batch: Vec<ResourceRow> = batch.collect::<Result<_, _>>()?;
        progress.advance(reader.bytes_read() - position);
        position = reader.bytes_read();
        if batch.is_empty() {
            break;
        }
        rows += batch.len() as u64;
        writer.write(&ResourceRow::to_batch(&batch)).map_err(failed)?;
    }
    let file = writer.into_inner().map_err(failed)?;
    staging.finish_file(file, rows)?;
    let (input, warnings) = reader.finish();
    run.inputs.push(input);
    run.warnings.extend(warnings);
    Ok(())
}
