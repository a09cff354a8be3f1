//! The transport against the null target.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::load::pulse::Pulse;
use crate::load::spec::{Endpoint, Pacing, RungSpec};
use crate::load::workload::{Ask, Expect, Query, TapOptions, Workload};
use crate::target::null::{NullTarget, Options};

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
        pacing: Pacing::Closed,
        connections: 2,
        streams: 1,
        workers: 1,
        keep_alive: true,
        pins: Vec::new(),
        warmup: Duration::ZERO,
        measure: Duration::from_millis(200),
        drain: Duration::from_secs(5),
        request_timeout: Duration::from_secs(5),
        connect_timeout: Duration::from_secs(5),
        check_every: 0,
        read_rate: None,
        seed: 1,
        guard_max: 0.9,
        max_redirects: 5,
    }
}

fn run(target: &NullTarget, spec: RungSpec) -> (Closed, Rc<Net>) {
    let tls = target.ca_pem().map(|_| tls::client(&spec.endpoint).unwrap());
    let place = Place {
        address: Address::Tcp(target.address().unwrap()),
        tls,
        is_http2: spec.endpoint.http == HttpVersion::Http2,
        is_slow: spec.read_rate.is_some(),
        timeout: spec.connect_timeout,
    };
    let connections = spec.connections;
    let desk = Desk::new(Arc::new(spec), 0, connections, Arc::new(Pulse::default()), Arc::default());
    work(desk, Clock::start(), place).unwrap()
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
        let (closed, net) = run(&target, spec);
        assert!(closed.tally.completed > 10, "{closed:?}");
        assert_eq!((closed.tally.failed, closed.tally.aborted), (0, 0));
        assert_eq!((net.opened.get(), net.failed.get()), (2, 0));
        for record in closed.records.iter() {
            assert_eq!((record.status(), record.bytes()), (Some(200), 1024));
            assert!(record.first_byte().is_some_and(|first| first <= record.service()));
        }
    }
}

/// Prints CPU per request, to set beside `h2load`: run by hand.
#[test]
#[ignore]
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
        let (closed, _) = run(&target, spec);
        let requests = closed.tally.completed;
        println!(
            "tls {tls} h2 {http2} x{streams} {path}: {requests} {:.2} us/request",
            closed.cpu_s / requests as f64 * 1e6
        );
    }
}
