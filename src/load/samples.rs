//! Records as rows: `samples/<rung>.parquet`, in the form of the table `requests`.
//!
//! `t_start` is when a request was sent and `t_offered` when an open loop meant to
//! send it; `latency_s` and `ttfb_s` count from `t_offered` where there is one, so
//! that they are response times. The service time is
//! `latency_s − (t_start − t_offered)`. `request_id` is `<connection>-<n>`: the
//! connection, and the request's place among those that ended on it, from 1.

use std::fs::{self, File};
use std::path::Path;

use super::clock::{latency, seconds};
use super::error::LoadError;
use super::outcome::Samples;
use super::record::Record;
use crate::store::parquet::writer;
use crate::store::schema::{RequestRow, Row};

/// Rows that are encoded at a time.
const BATCH: usize = 64 << 10;

impl Samples {
    /// The rows of the rung of that name, in the order in which they ended.
    pub fn rows<'a>(&'a self, rung: &'a str) -> impl Iterator<Item = RequestRow> + 'a {
        let mut places: Vec<Vec<u64>> = vec![Vec::new(); self.records.len()];
        let mut workers: Vec<_> =
            self.records.iter().map(|records| records.iter().peekable()).collect();
        std::iter::from_fn(move || {
            let ends = workers.iter_mut().enumerate();
            let ends = ends.filter_map(|(at, own)| Some((own.peek()?.end(), at)));
            let (_, worker) = ends.min()?;
            let record = workers[worker].next()?;
            let connection = usize::from(record.connection());
            let places = &mut places[worker];
            places.resize(places.len().max(connection + 1), 0);
            places[connection] += 1;
            let number = self.connections_before[worker] + connection;
            Some(self.row(rung, record, format!("{number}-{}", places[connection])))
        })
    }

    fn row(&self, rung: &str, record: &Record, request_id: String) -> RequestRow {
        let request = &self.workload.requests()[record.query()];
        let unix = |nanos| self.zero_unix_s + seconds(nanos);
        let fault = record.fault().name();
        let rows = request.expect.rows.filter(|_| record.checked() && record.succeeded());
        RequestRow {
            rung: rung.to_owned(),
            t_start: unix(record.start()),
            t_offered: self.open.then(|| unix(record.intended())),
            query_class: Some(request.query_class.clone()),
            query_id: Some(request.query_id.clone()),
            status: record.status().map(i64::from),
            error: (!fault.is_empty()).then(|| fault.to_owned()),
            latency_s: latency(record.response()),
            ttfb_s: record.first_byte().map(|first| latency(record.late() + first)),
            response_bytes: Some(record.bytes() as i64),
            rows: rows.and_then(|rows| i64::try_from(rows).ok()),
            pod: None,
            mode: self.mode.map(str::to_owned),
            request_id: Some(request_id),
        }
    }

    /// Writes the rows of the rung of that name to a file, which is there when it is
    /// whole, and on the disk when this returns.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, rung: &str, path: &Path) -> Result<(), LoadError> {
        let failed =
            |reason: String| LoadError::Samples { path: path.display().to_string(), reason };
        let part = path.with_extension("parquet.part");
        let write = || -> Result<(), Box<dyn std::error::Error>> {
            let mut writer = writer(&RequestRow::TABLE, File::create(&part)?)?;
            let mut rows = self.rows(rung);
            loop {
                let batch: Vec<_> = rows.by_ref().take(BATCH).collect();
                if batch.is_empty() {
                    break;
                }
                writer.write(&RequestRow::to_batch(&batch))?;
            }
            writer.into_inner()?.sync_all()?;
            Ok(fs::rename(&part, path)?)
        };
        write().map_err(|error| {
            let _ = fs::remove_file(&part);
            failed(error.to_string())
        })
    }
}

#[cfg(test)]
mod tests;
