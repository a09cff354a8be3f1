//! The transport against the null target.

use crate::load::desk::tests as desk;
use crate::load::outcome::{RungOutcome, Unwatched};
use crate::load::run;
use crate::load::spec::{Endpoint, HttpVersion, Kind, Pacing, RungSpec};
use crate::load::workload::{Ask, Expect, Query, TapOptions, Workload};
use crate::target::null::{NullTarget, Options};
use std::sync::Arc;
use std::time::Duration;

fn spec(target: &NullTarget, http2: bool, path: &str) -> RungSpec {
    let mut endpoint = Endpoint::parse(&target.url()).unwrap();
    endpoint.http = if http2 { HttpVersion::Http2 } else { HttpVersion::Http1 };
    endpoint.tls.insecure = true;
    let ask = Ask::Http {
        method: "GET".to_owned(),
        path: path.to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
    };
    let query = Query {
        query_id: "q".to_owned(),
        query_class: "c".to_owned(),
        ask,
        expect: Expect::default(),
    };
    let workload = Workload::uniform(vec![query.prepare(&TapOptions::default())]).unwrap();
    RungSpec {
        endpoint,
        kind: Kind::Http,
        workload: Arc::new(workload),
        warmup: Duration::ZERO,
        measure: Duration::from_millis(200),
        ..desk::spec(Pacing::Closed, 2)
    }
}

fn measure(spec: &RungSpec) -> RungOutcome {
    run(spec, &mut Unwatched).unwrap()
}

fn start(tls: bool, http2: bool) -> NullTarget {
    NullTarget::start(&Options { tls, http2, ..Options::default() }).unwrap()
}

#[test]
fn all_three_carry_requests() {
    for (tls, http2, streams) in [(true, false, 1), (false, true, 8), (true, true, 8)] {
        let target = start(tls, http2);
        let mut spec = spec(&target, http2, "/bytes/1024");
        spec.streams = streams;
        let outcome = measure(&spec);
        assert!(outcome.counts.completed > 10, "{:?}", outcome.counts);
        assert_eq!((outcome.counts.failed, outcome.counts.aborted), (0, 0));
        assert_eq!((outcome.connections.opened, outcome.connections.failed), (2, 0));
        assert_eq!(outcome.figures.mean_response_bytes, Some(1024.0));
        assert_eq!(target.counts().connections, 2);
    }
}

/// Prints CPU per request, to set beside `h2load`: run by hand.
#[test]
#[ignore = "prints figures of a quiet machine"]
fn cost() {
    for (tls, http2, streams, path) in [
        (true, false, 1, "/bytes/1024"),
        (true, false, 1, "/bytes/3386900"),
        (false, true, 1, "/bytes/1024"),
        (false, true, 32, "/bytes/1024"),
        (false, true, 1, "/bytes/3386900"),
        (true, true, 32, "/bytes/1024"),
        (true, true, 1, "/bytes/3386900"),
    ] {
        let target = start(tls, http2);
        let mut spec = spec(&target, http2, path);
        spec.connections = 8;
        spec.streams = streams;
        spec.measure = Duration::from_secs(2);
        let outcome = measure(&spec);
        let requests = outcome.counts.completed;
        println!(
            "tls {tls} h2 {http2} x{streams} {path}: {requests} {:.2} us/request",
            outcome.guard.cpu_s / requests as f64 * 1e6
        );
    }
}
