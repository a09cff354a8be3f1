use std::sync::Arc;

use super::*;
use crate::load::record::{Ending, Fault, NEVER, Records, Times};
use crate::load::workload::{Ask, Expect, Query, TapOptions, Workload};
use crate::raw::samples::{BLOCK, Buffers, NO_COUNT, SampleFile, Tally};

const MS: u64 = 1_000_000;

fn samples(open: bool) -> Samples {
    let query = Query {
        query_id: "q".to_owned(),
        query_class: "Q01".to_owned(),
        ask: Ask::Adql("SELECT 1".to_owned()),
        expect: Expect { rows: Some(3), ..Expect::default() },
    };
    let workload = Workload::uniform(vec![query.prepare(&TapOptions::default())]).unwrap();
    let good = Ending { status: 200, bytes: 10, ..Ending::default() };
    let mut first = Records::new();
    let mut second = Records::new();
    for at in 0..40 {
        let (intended, start) = (at * 10 * MS, at * 10 * MS + if open { 2 * MS } else { 0 });
        let times =
            Times { intended, start, first_byte: start + MS, end: start + (3 + at % 5) * MS };
        first.push(Record::new(0, times, Ending { checked: at == 0, ..good }));
        let bad = match at % 4 {
            0 => Ending { status: 503, ..good },
            1 => Ending { fault: Fault::Connect, ..Ending::default() },
            _ => Ending { connection: 1, ..good },
        };
        let first_byte = if bad.status == 0 { NEVER } else { times.first_byte };
        second.push(Record::new(0, Times { first_byte, ..times }, bad));
    }
    Samples {
        workload: Arc::new(workload),
        records: vec![first, second],
        zero_unix_s: 1_700_000_000.25,
        open,
        mode: Some("sync"),
        connections_before: vec![0, 1],
    }
}

#[test]
fn what_ingest_recomputes_is_what_was_measured() {
    for open in [false, true] {
        let samples = samples(open);
        let folder = tempfile::tempdir().unwrap();
        samples.write("t-x", &folder.path().join("t-x.parquet")).unwrap();
        let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "nothing half-written is left");

        let files = SampleFile::list(folder.path()).unwrap();
        let mut reader = files[0].open(BLOCK, &Buffers::default()).unwrap();
        let mut tally = Tally::new(folder.path(), 1 << 20);
        let mut seen = 0;
        while let Some(block) = reader.next_block().unwrap() {
            let requests = block.parse().map_err(|bad| bad.at(&files[0], 0)).unwrap();
            assert!(requests.unknown.is_empty(), "{:?}", requests.unknown);
            let columns = requests.columns;
            seen += columns.len();
            assert_eq!(columns.t_offered[0].is_nan(), !open);
            // A checked response that passed says its rows, no other does.
            assert_eq!(columns.rows.iter().filter(|rows| **rows != NO_COUNT).count(), 1);
            tally.add(&columns).unwrap();
        }
        assert_eq!(seen, 80);
        let ours = crate::load::summary::figures(&samples, 1.0);
        let theirs = tally.finish().unwrap();
        assert_eq!((theirs.requests, theirs.errors), (80, 20));
        assert_eq!((ours.requests, ours.errors), (80, 20));
        let response = ours.response.unwrap();
        assert_eq!(theirs.latency_mean_s, Some(response.mean_s));
        assert_eq!(theirs.latency_p50_s, Some(response.p50_s));
        assert_eq!(theirs.latency_p90_s, Some(response.p90_s));
        assert_eq!(theirs.latency_p95_s, Some(response.p95_s));
        assert_eq!(theirs.latency_p99_s, Some(response.p99_s));
        assert_eq!(theirs.latency_p999_s, Some(response.p999_s));
        assert_eq!(theirs.latency_max_s, Some(response.max_s));
        assert_eq!(theirs.ttfb_p95_s, ours.ttfb_p95_s);
        assert_eq!(theirs.mean_response_bytes, ours.mean_response_bytes);
    }
}

#[test]
fn rows_come_in_the_order_of_their_ends() {
    let samples = samples(true);
    let rows: Vec<_> = samples.rows("r").collect();
    let ends: Vec<_> = rows.iter().map(|row| row.t_offered.unwrap() + row.latency_s).collect();
    assert!(ends.is_sorted_by(|a, b| b - a > -1e-6), "{ends:?}");
    let first = &rows[0];
    assert_eq!((first.rung.as_str(), first.query_class.as_deref()), ("r", Some("Q01")));
    // Sent 2 ms late: response time is service time and that.
    assert!((first.t_start - first.t_offered.unwrap() - 0.002).abs() < 1e-6);
    assert_eq!((first.latency_s, first.ttfb_s), (latency(5 * MS), Some(latency(3 * MS))));
    // Of both workers' requests: connection 0 is the first one's, 1 and 2 the second's.
    let mut ids: Vec<_> = rows.iter().filter_map(|row| row.request_id.clone()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 80, "each has its own");
    assert!(ids.contains(&"0-40".to_owned()) && ids.contains(&"2-20".to_owned()), "{ids:?}");
    let refused = rows.iter().find(|row| row.error.is_some()).unwrap();
    assert_eq!((refused.error.as_deref(), refused.status), (Some("connect"), None));
}
