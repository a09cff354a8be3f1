//! The requests of a rung as a Parquet file.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Float64Builder, Int64Builder, RecordBatch, StringArray, StringDictionaryBuilder,
};
use arrow::datatypes::Int32Type;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::error::CampaignError;
use crate::load::outcome::Samples;
use crate::load::record::Record;

/// Rows that are turned into columns at a time.
const BATCH: usize = 64 << 10;

/// Writes the requests in the order of their intended starts, with the columns
/// of the table `requests`. `host` tells connections of several hosts apart.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, samples: &Samples, host: &str) -> Result<(), CampaignError> {
    let mut rows: Vec<(usize, &Record)> = Vec::new();
    for (worker, records) in samples.records.iter().enumerate() {
        rows.extend(records.iter().map(|record| (worker, record)));
    }
    rows.sort_by_key(|(worker, record)| (record.intended(), *worker, record.end()));
    let file = File::create(path).map_err(CampaignError::io(path))?;
    let wrong = |source| CampaignError::Parquet { path: path.to_owned(), source };
    let schema = batch(samples, &[], host).schema();
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties())).map_err(wrong)?;
    for rows in rows.chunks(BATCH) {
        writer.write(&batch(samples, rows, host)).map_err(wrong)?;
    }
    writer.close().map_err(wrong)?;
    Ok(())
}

/// How samples are encoded.
pub(super) fn properties() -> WriterProperties {
    let level = ZstdLevel::try_new(3).expect("3 is a level of zstd");
    WriterProperties::builder().set_compression(Compression::ZSTD(level)).build()
}

/// Some requests as columns. A request is timed from when it was meant to start;
/// in an open loop that is `t_offered`, and may lie before `t_start`.
fn batch(samples: &Samples, rows: &[(usize, &Record)], host: &str) -> RecordBatch {
    let unix = |nanos: u64| samples.zero_unix_s + nanos as f64 / 1e9;
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    let requests = samples.workload.requests();
    let mut t_start = Float64Builder::with_capacity(rows.len());
    let mut t_offered = Float64Builder::with_capacity(rows.len());
    let mut latency = Float64Builder::with_capacity(rows.len());
    let mut ttfb = Float64Builder::with_capacity(rows.len());
    let mut status = Int64Builder::with_capacity(rows.len());
    let mut bytes = Int64Builder::with_capacity(rows.len());
    let mut ids = StringDictionaryBuilder::<Int32Type>::new();
    let mut class = StringDictionaryBuilder::<Int32Type>::new();
    let mut query = StringDictionaryBuilder::<Int32Type>::new();
    let mut error = StringDictionaryBuilder::<Int32Type>::new();
    for (worker, record) in rows {
        t_start.append_value(unix(record.start()));
        t_offered.append_option(samples.open.then(|| unix(record.intended())));
        latency.append_value(seconds(record.response()));
        ttfb.append_option(record.first_byte().map(|first| seconds(record.late() + first)));
        status.append_option(record.status().map(i64::from));
        bytes.append_option(record.status().map(|_| record.bytes() as i64));
        let request = &requests[record.query()];
        class.append_value(&request.query_class);
        query.append_value(&request.query_id);
        error.append_option(Some(record.fault().name()).filter(|name| !name.is_empty()));
        let before: usize = samples.connections_before.iter().take(*worker).sum();
        // Which connection carried it: that is all that tells requests apart.
        ids.append_value(format!("{host}c{}", before + usize::from(record.connection())));
    }
    let mode: StringArray = std::iter::repeat_n(samples.mode, rows.len()).collect();
    let columns: [(&str, ArrayRef); 11] = [
        ("t_start", Arc::new(t_start.finish())),
        ("t_offered", Arc::new(t_offered.finish())),
        ("query_class", Arc::new(class.finish())),
        ("query_id", Arc::new(query.finish())),
        ("status", Arc::new(status.finish())),
        ("error", Arc::new(error.finish())),
        ("latency_s", Arc::new(latency.finish())),
        ("ttfb_s", Arc::new(ttfb.finish())),
        ("response_bytes", Arc::new(bytes.finish())),
        ("mode", Arc::new(mode)),
        ("request_id", Arc::new(ids.finish())),
    ];
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns).expect("the columns have one length")
}
