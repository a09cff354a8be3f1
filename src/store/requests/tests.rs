//! What was written, read back by the `parquet` crate's own reader.

use std::fmt::Write as _;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int64Type};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::ParquetMetaData;

use super::*;
use crate::raw::samples::{Buffers, SampleFile};

/// One request; `None` is left out of its line.
#[derive(Debug, Clone, PartialEq)]
struct Request {
    t_start: f64,
    query_id: Option<String>,
    status: Option<i64>,
    error: Option<String>,
    latency_s: f64,
    ttfb_s: Option<f64>,
    response_bytes: Option<i64>,
    rows: Option<i64>,
    request_id: Option<String>,
}

/// Requests of which each column has something to it: many different texts,
/// many different counts, few, nulls, long runs.
fn requests(count: usize) -> Vec<Request> {
    let mixed = |at: usize| (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    (0..count)
        .map(|at| {
            let failed = at % 97 == 3;
            Request {
                t_start: 1e9 + at as f64 / 3.0,
                query_id: (at % 11 != 0).then(|| format!("query number {}", mixed(at))),
                status: (!failed).then_some(200 + (at / 1_000 % 3) as i64),
                error: failed.then(|| format!("error {}", at % 2)),
                latency_s: 1e-3 + mixed(at) as f64 / 1e12,
                ttfb_s: (at % 3 == 1).then(|| mixed(at) as f64 / 2e12),
                response_bytes: (at % 5 != 2).then(|| mixed(at) as i64),
                rows: (at / 5_000 % 2 == 1).then(|| mixed(at / 7) as i64 % 300),
                request_id: (at % 2 == 0).then(|| format!("{:x}", mixed(at))),
            }
        })
        .collect()
}

/// Their lines, as samples have them, parsed in blocks of about `block` bytes.
fn chunks(requests: &[Request], block: usize) -> Vec<Arc<Columns>> {
    let mut lines = String::new();
    for request in requests {
        write!(lines, "{{\"t_start\":{},\"latency_s\":{}", request.t_start, request.latency_s)
            .unwrap();
        let mut field = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                write!(lines, ",\"{name}\":{value}").unwrap();
            }
        };
        field("query_id", request.query_id.as_ref().map(|text| format!("{text:?}")));
        field("status", request.status.map(|count| count.to_string()));
        field("error", request.error.as_ref().map(|text| format!("{text:?}")));
        field("ttfb_s", request.ttfb_s.map(|seconds| seconds.to_string()));
        field("response_bytes", request.response_bytes.map(|count| count.to_string()));
        field("rows", request.rows.map(|count| count.to_string()));
        field("request_id", request.request_id.as_ref().map(|text| format!("{text:?}")));
        lines.push_str("}\n");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("r.jsonl"), lines).unwrap();
    let file = SampleFile::list(folder.path()).unwrap().pop().unwrap();
    let mut reader = file.open(block, &Buffers::default()).unwrap();
    let mut chunks = Vec::new();
    while let Some(block) = reader.next_block().unwrap() {
        chunks.push(Arc::new(block.parse().unwrap().columns));
    }
    chunks
}

/// Writes rungs with some threads and row groups of so many rows.
fn write(rungs: &[(&str, Vec<Arc<Columns>>)], threads: usize, row_group_rows: usize) -> Bytes {
    let pool = Pool::new();
    std::thread::scope(|scope| {
        pool.start(scope, threads);
        let _closer = pool.closer();
        let mut writer = RequestsWriter::new(&pool, Vec::new()).unwrap();
        writer.row_group_rows = row_group_rows;
        for (name, chunks) in rungs {
            let mut rung = writer.rung(name);
            chunks.iter().for_each(|chunk| rung.push(Arc::clone(chunk)).unwrap());
            assert_eq!(rung.finish().unwrap(), 0);
        }
        let (bytes, rows) = writer.finish().unwrap();
        let expected: usize = rungs.iter().flat_map(|(_, chunks)| chunks).map(|c| c.len()).sum();
        assert_eq!(rows, expected as u64);
        bytes.into()
    })
}

fn read(file: &Bytes) -> (Arc<ParquetMetaData>, Vec<(String, Request)>) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(file.clone()).unwrap();
    assert_eq!(reader.schema(), &RequestRow::TABLE.file_schema());
    let metadata = Arc::clone(reader.metadata());
    let batches = reader.with_batch_size(1_000).build().unwrap();
    (metadata, batches.flat_map(|batch| rows(&batch.unwrap())).collect())
}

fn rows(batch: &RecordBatch) -> Vec<(String, Request)> {
    let column = |name: &str| batch.column_by_name(name).unwrap();
    let text = |name: &str, row: usize| {
        let column = column(name).as_string::<i32>();
        column.is_valid(row).then(|| column.value(row).to_owned())
    };
    let float = |name: &str, row: usize| {
        let column = column(name).as_primitive::<Float64Type>();
        column.is_valid(row).then(|| column.value(row))
    };
    let count = |name: &str, row: usize| {
        let column = column(name).as_primitive::<Int64Type>();
        column.is_valid(row).then(|| column.value(row))
    };
    for name in ["t_offered", "query_class", "pod", "mode"] {
        assert_eq!(column(name).null_count(), batch.num_rows(), "{name}");
    }
    let request = |row: usize| Request {
        t_start: float("t_start", row).unwrap(),
        query_id: text("query_id", row),
        status: count("status", row),
        error: text("error", row),
        latency_s: float("latency_s", row).unwrap(),
        ttfb_s: float("ttfb_s", row),
        response_bytes: count("response_bytes", row),
        rows: count("rows", row),
        request_id: text("request_id", row),
    };
    (0..batch.num_rows()).map(|row| (text("rung", row).unwrap(), request(row))).collect()
}

#[test]
fn what_is_written_is_read_back() {
    // More than a page, more than a dictionary takes, more than one rung.
    let (first, second) = (requests(70_000), requests(100));
    let rungs = [("a", chunks(&first, 1 << 20)), ("b", vec![]), ("c", chunks(&second, 1 << 20))];
    let (metadata, rows) = read(&write(&rungs, 2, 50_000));
    let expected = first.iter().map(|request| ("a".to_owned(), request.clone()));
    let expected = expected.chain(second.iter().map(|request| ("c".to_owned(), request.clone())));
    assert!(rows.iter().cloned().eq(expected));

    let groups: Vec<i64> = metadata.row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!(groups, [50_000, 20_100]);
    let coded = |name: &str| {
        let columns = metadata.row_group(0).columns();
        let column = columns.iter().find(|column| column.column_path().string() == name);
        column.unwrap().dictionary_page_offset().is_some()
    };
    assert!(["rung", "status", "error", "rows"].into_iter().all(coded));
    assert!(!["query_id", "response_bytes", "request_id", "t_start"].into_iter().any(coded));
}

#[test]
fn statistics_are_those_of_the_rows() {
    let requests = requests(3_000);
    let (metadata, _) = read(&write(&[("a", chunks(&requests, 1 << 20))], 1, 2_000));
    for (group, rows) in metadata.row_groups().iter().zip(requests.chunks(2_000)) {
        let statistics = |name: &str| {
            let column =
                group.columns().iter().find(|column| column.column_path().string() == name);
            let statistics = column.unwrap().statistics().unwrap();
            let bytes = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
            let (min, max) = (statistics.min_bytes_opt(), statistics.max_bytes_opt());
            (bytes(min), bytes(max), statistics.null_count_opt())
        };
        fn of<T: Clone>(
            rows: &[Request],
            field: impl Fn(&Request) -> Option<T>,
            less: impl Fn(&T, &T) -> std::cmp::Ordering,
            bytes: impl Fn(T) -> Vec<u8>,
        ) -> (Option<Vec<u8>>, Option<Vec<u8>>, Option<u64>) {
            let values: Vec<T> = rows.iter().filter_map(field).collect();
            let min = values.iter().min_by(|a, b| less(a, b)).cloned().map(&bytes);
            let max = values.iter().max_by(|a, b| less(a, b)).cloned().map(&bytes);
            (min, max, Some((rows.len() - values.len()) as u64))
        }
        let float = |value: f64| value.to_le_bytes().to_vec();
        let count = |value: i64| value.to_le_bytes().to_vec();
        assert_eq!(statistics("ttfb_s"), of(rows, |r| r.ttfb_s, f64::total_cmp, float));
        assert_eq!(statistics("latency_s"), of(rows, |r| Some(r.latency_s), f64::total_cmp, float));
        assert_eq!(statistics("status"), of(rows, |r| r.status, i64::cmp, count));
        assert_eq!(statistics("response_bytes"), of(rows, |r| r.response_bytes, i64::cmp, count));
        assert_eq!(
            statistics("error"),
            of(rows, |r| r.error.clone(), Ord::cmp, String::into_bytes)
        );
        assert_eq!(
            statistics("request_id"),
            of(rows, |r| r.request_id.clone(), Ord::cmp, String::into_bytes)
        );
        assert_eq!(statistics("pod"), (None, None, Some(rows.len() as u64)));
    }
}

#[test]
fn the_bytes_are_those_of_the_rows() {
    let requests = requests(3_000);
    let written = |block: usize, threads: usize| {
        write(&[("a", chunks(&requests, block)), ("b", chunks(&requests, block))], threads, 700)
    };
    let bytes = written(1 << 20, 1);
    assert_eq!(written(1_000, 2), bytes);
    assert_eq!(written(77, 4), bytes);
}

#[test]
fn without_a_request_there_is_no_row_group() {
    let (metadata, rows) = read(&write(&[("a", vec![])], 1, 700));
    assert_eq!((metadata.num_row_groups(), rows.len()), (0, 0));
}
