//! The generator against a scripted server: the null target, over HTTP/1.1, TLS and
//! HTTP/2.
//!
//! What is asserted does not depend on a quiet machine: counts, names, sums, lower
//! bounds, and which of two figures is larger. `benches/accuracy/` prints the rest.

use std::sync::Arc;
use std::time::Duration;

use tapstat::load::outcome::{Percentiles, RungOutcome, Unwatched};
use tapstat::load::run;
use tapstat::load::spec::{Endpoint, HttpVersion, Kind, Pacing, RungSpec, Spacing};
use tapstat::load::workload::{Ask, Expect, Query, TapOptions, Workload};
use tapstat::target::null::{Counts, Listen, NullTarget, Options};

/// What carries the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wire {
    tls: bool,
    http2: bool,
}

const PLAIN: Wire = Wire { tls: false, http2: false };
const TLS: Wire = Wire { tls: true, http2: false };
const HTTP2: Wire = Wire { tls: false, http2: true };
const HTTP2_TLS: Wire = Wire { tls: true, http2: true };
const ALL: [Wire; 4] = [PLAIN, TLS, HTTP2, HTTP2_TLS];

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn start(wire: Wire) -> NullTarget {
    let Wire { tls, http2 } = wire;
    NullTarget::start(&Options { tls, http2, ..Options::default() }).unwrap()
}

/// A closed loop of two connections for a tenth of a second.
fn spec(target: &NullTarget, wire: Wire, path: &str) -> RungSpec {
    let mut endpoint = Endpoint::parse(&target.url()).unwrap();
    endpoint.http = if wire.http2 { HttpVersion::Http2 } else { HttpVersion::Http1 };
    endpoint.tls.insecure = true;
    let query = Query {
        query_id: "q".to_owned(),
        query_class: "c".to_owned(),
        ask: Ask::Http {
            method: "GET".to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        },
        expect: Expect::default(),
    };
    RungSpec {
        endpoint,
        kind: Kind::Http,
        workload: Arc::new(Workload::uniform(vec![query.prepare(&TapOptions::default())]).unwrap()),
        pacing: Pacing::Closed,
        connections: 2,
        streams: 1,
        workers: 1,
        keep_alive: true,
        pins: Vec::new(),
        warmup: Duration::ZERO,
        measure: ms(100),
        drain: ms(10_000),
        request_timeout: ms(10_000),
        connect_timeout: ms(10_000),
        check_every: 0,
        read_rate: None,
        seed: 7,
        guard_max: 10.0,
        max_redirects: 5,
    }
}

fn measure(spec: &RungSpec) -> RungOutcome {
    let outcome = run(spec, &mut Unwatched).unwrap();
    let counts = outcome.counts;
    assert_eq!(counts.offered, counts.sent + counts.never_sent, "{counts:?}");
    assert_eq!(counts.sent, counts.completed + counts.failed + counts.aborted, "{counts:?}");
    outcome
}

fn against(wire: Wire, path: &str) -> RungOutcome {
    measure(&spec(&start(wire), wire, path))
}

/// The names of all faults that came.
fn faults(outcome: &RungOutcome) -> Vec<&str> {
    outcome.figures.faults.iter().map(|(name, _)| name.as_str()).collect()
}

fn service(outcome: &RungOutcome) -> Percentiles {
    outcome.figures.service.unwrap()
}

#[test]
fn bodies_of_every_framing_come_whole() {
    for wire in ALL {
        for (path, bytes) in [
            ("/bytes/0", 0.0),
            ("/bytes/1024", 1024.0),
            ("/bytes/3386900", 3_386_900.0),
            ("/chunked/bytes/100000", 100_000.0),
            ("/trailers/bytes/1000", 1000.0),
            ("/slow/1ms/100/bytes/500", 500.0),
            ("/until-close/bytes/70000", 70_000.0),
            ("/http10/bytes/1000", 1000.0),
        ] {
            let outcome = against(wire, path);
            assert_eq!(faults(&outcome), [""; 0], "{wire:?} {path}");
            assert!(outcome.counts.completed >= 2, "{wire:?} {path}: {:?}", outcome.counts);
            assert_eq!(outcome.figures.mean_response_bytes, Some(bytes), "{wire:?} {path}");
            let is_kept = wire.http2 || !(path.contains("close") || path.contains("http10"));
            let opened = outcome.connections.opened;
            assert_eq!(opened == 2, is_kept, "{wire:?} {path}: {opened} connections");
        }
    }
}

#[test]
fn delays_are_never_measured_shorter_than_they_are() {
    for wire in ALL {
        for delay in [1, 5, 50] {
            let outcome = against(wire, &format!("/delay/{delay}ms/bytes/100"));
            assert!(service(&outcome).p50_s >= f64::from(delay) / 1e3, "{wire:?} {delay}");
            assert!(outcome.figures.ttfb_p95_s.unwrap() >= f64::from(delay) / 1e3);
        }
    }
}

#[test]
fn slow_bodies_take_their_time_after_the_first_byte() {
    for wire in ALL {
        let outcome = against(wire, "/slow/10ms/100/bytes/500");
        let p50 = service(&outcome).p50_s;
        assert!(p50 >= 0.04, "{wire:?} {p50}");
        assert!(outcome.figures.ttfb_p95_s.unwrap() < service(&outcome).max_s, "{wire:?}");
    }
}

/// 200 requests a second for a second, one connection, a stall of 0.3 s: the 60 that
/// were to be sent in it are late by 0.3 s, 0.295 s, …; the third of 200 from the top,
/// which is the 99th percentile, by 0.29 s. Of the times from the sending alone, one
/// shows the stall: those that waited for the connection look fast.
#[test]
fn a_stall_counts_in_full_in_an_open_loop() {
    for wire in ALL {
        let target = start(wire);
        let mut spec = spec(&target, wire, "/stall/bytes/10?at=300ms&for=300ms");
        spec.pacing = Pacing::Open { rate: 200.0, spacing: Spacing::Constant };
        spec.connections = 1;
        spec.measure = ms(1000);
        let outcome = measure(&spec);
        assert_eq!(outcome.counts.offered, 200, "{wire:?}");
        assert_eq!(outcome.counts.completed, 200, "{wire:?} {:?}", faults(&outcome));
        let (response, service) = (outcome.figures.response.unwrap(), service(&outcome));
        // The server's stall begins with its first request, not with our window.
        assert!(response.p99_s >= 0.28, "{wire:?} {response:?}");
        assert!(service.p99_s < response.p99_s, "{wire:?} {service:?} {response:?}");
        assert!(service.max_s >= 0.28, "{wire:?} {service:?}");
    }
}

#[test]
fn what_goes_wrong_has_its_name() {
    let http1 = [
        ("/reset/now", "reset_head"),
        ("/reset/head", "reset_head"),
        ("/reset/body/bytes/100000", "reset_body"),
        ("/close/before", "closed_head"),
        ("/close/half/bytes/100000", "closed_body"),
        ("/length/wrong/bytes/1000", "closed_body"),
        ("/chunked/close/half/bytes/100000", "closed_body"),
        ("/garbage", "bad_head"),
    ];
    let http2 = [
        ("/reset/now", "stream_reset"),
        ("/reset/head", "stream_reset"),
        ("/reset/body/bytes/100000", "stream_reset"),
        ("/length/wrong/bytes/1000", "bad_body"),
        ("/length/long/bytes/1000", "bad_body"),
    ];
    for wire in ALL {
        for (path, name) in if wire.http2 { &http2[..] } else { &http1[..] } {
            let outcome = against(wire, path);
            assert_eq!(faults(&outcome), [*name], "{wire:?} {path}");
            assert!(outcome.counts.failed >= 2 && outcome.counts.completed == 0, "{wire:?} {path}");
            assert_eq!(outcome.figures.service, None, "{wire:?} {path}: no success, no percentile");
        }
    }
}

#[test]
fn an_http2_connection_that_is_cut_loses_its_streams_by_name() {
    for wire in [HTTP2, HTTP2_TLS] {
        for path in ["/close/before", "/close/half/bytes/100000"] {
            let target = start(wire);
            let outcome = measure(&RungSpec { streams: 4, ..spec(&target, wire, path) });
            let known = ["closed_head", "reset_head", "closed_body", "reset_body"];
            for name in faults(&outcome) {
                assert!(known.contains(&name), "{wire:?} {path} {name}");
            }
            assert!(outcome.counts.failed > 0 && outcome.connections.opened > 2, "{wire:?} {path}");
        }
    }
}

#[test]
fn bodies_and_heads_that_never_end_are_timed_out() {
    for wire in ALL {
        for (path, name) in [
            ("/never", "timeout_body"),
            ("/never/fast", "timeout_body"),
            ("/never/head", "timeout_head"),
        ] {
            let target = start(wire);
            let spec = RungSpec { request_timeout: ms(100), ..spec(&target, wire, path) };
            let outcome = measure(&spec);
            let found = faults(&outcome);
            assert!(found.contains(&name), "{wire:?} {path}: {found:?}");
            // A busy server may be late with its head, too.
            let all_timed_out = found.iter().all(|fault| fault.starts_with("timeout_"));
            assert!(all_timed_out, "{wire:?} {path}: {found:?}");
        }
    }
}

#[test]
fn bursts_of_429_are_errors_and_out_of_the_percentiles() {
    for wire in ALL {
        let target = start(wire);
        let path = "/delay/1ms/status/429/delay/20ms/bytes/10?burst=3&every=10";
        let mut spec = spec(&target, wire, path);
        spec.connections = 1;
        spec.pacing = Pacing::Open { rate: 40.0, spacing: Spacing::Constant };
        spec.measure = ms(1000);
        let outcome = measure(&spec);
        assert_eq!((outcome.counts.completed, outcome.counts.failed), (28, 12), "{wire:?}");
        assert_eq!(outcome.figures.faults, [("status_429".to_owned(), 12)], "{wire:?}");
        assert_eq!((outcome.figures.requests, outcome.figures.errors), (40, 12));
        // The quick refusals would be below the delay of the rest.
        assert!(service(&outcome).p50_s >= 0.021, "{wire:?}");
        let records = outcome.samples.records.iter().flat_map(|records| records.iter());
        let least =
            records.filter(|record| record.succeeded()).map(|record| record.service()).min();
        assert!(least.unwrap() >= 21_000_000, "{wire:?}");
    }
}

#[test]
fn a_hundred_redirects_are_followed_or_are_too_many() {
    for wire in ALL {
        let target = start(wire);
        let path = "/redirect/303/100/bytes/10";
        let mut spec = spec(&target, wire, path);
        spec.connections = 1;
        spec.max_redirects = 100;
        let outcome = measure(&spec);
        assert_eq!(faults(&outcome), [""; 0], "{wire:?}");
        assert!(outcome.counts.completed > 0);
        assert_eq!(outcome.figures.mean_response_bytes, Some(10.0));
        assert_eq!(target.counts().requests, 101 * outcome.counts.completed, "{wire:?}");
        spec.max_redirects = 99;
        assert_eq!(faults(&measure(&spec)), ["redirects"], "{wire:?}");
    }
}

#[test]
fn one_connection_for_each_request() {
    for wire in ALL {
        let target = start(wire);
        let outcome = measure(&RungSpec { keep_alive: false, ..spec(&target, wire, "/bytes/10") });
        assert_eq!(faults(&outcome), [""; 0], "{wire:?}");
        assert_eq!(outcome.connections.opened, outcome.counts.completed, "{wire:?}");
    }
}

/// A target and others on its port.
fn instance(options: &Options, first: Option<&NullTarget>) -> NullTarget {
    let listen = match first {
        Some(first) => Listen::Tcp(first.address().unwrap()),
        None => options.listen.clone(),
    };
    NullTarget::start(&Options { listen, ..options.clone() }).unwrap()
}

fn ended(target: NullTarget) -> Counts {
    target.drain();
    // Answers under way are counted by its end.
    let counter = target.counter();
    target.wait();
    counter.counts()
}

#[test]
fn a_server_that_drains_loses_no_stream_that_it_processed() {
    let options = Options { http2: true, reuse_port: true, ..Options::default() };
    let first = instance(&options, None);
    let second = instance(&options, Some(&first));
    let mut spec = spec(&first, HTTP2, "/delay/5ms/bytes/2000");
    (spec.connections, spec.streams, spec.measure) = (8, 32, ms(800));
    let (outcome, answers) = std::thread::scope(|scope| {
        let load = scope.spawn(|| measure(&spec));
        std::thread::sleep(ms(250));
        let mut answers = ended(first).answers;
        // Whoever was there before, its connections go to the other by now.
        let third = instance(&options, Some(&second));
        std::thread::sleep(ms(250));
        answers += ended(second).answers;
        let outcome = load.join().unwrap();
        answers += ended(third).answers;
        (outcome, answers)
    });
    let counts = outcome.counts;
    assert!(outcome.connections.goaways >= 8, "{:?}", outcome.connections);
    assert_eq!(counts.completed, answers, "{counts:?} {:?}", outcome.figures.faults);
    for name in faults(&outcome) {
        // A connection that the kernel had taken for an instance that was gone.
        assert!(["unprocessed", "connect", "reset_head"].contains(&name), "{name}");
    }
    let unprocessed = outcome.figures.faults.iter().find(|(name, _)| name == "unprocessed");
    assert_eq!(unprocessed.map_or(0, |(_, count)| *count), outcome.connections.unprocessed);
}

#[test]
fn instances_come_and_go_and_every_error_is_explained() {
    for keep_alive in [true, false] {
        let options = Options { reuse_port: true, ..Options::default() };
        let first = instance(&options, None);
        let mut spec = spec(&first, PLAIN, "/delay/1ms/bytes/2000");
        (spec.connections, spec.measure, spec.keep_alive) = (8, ms(900), keep_alive);
        let (outcome, answers, connections) = std::thread::scope(|scope| {
            let load = scope.spawn(|| measure(&spec));
            let mut all = vec![first];
            let (mut answers, mut connections) = (0, 0);
            for _ in 0..4 {
                std::thread::sleep(ms(100));
                all.push(instance(&options, all.last()));
                std::thread::sleep(ms(100));
                let counts = ended(all.remove(0));
                answers += counts.answers;
                connections += counts.connections;
            }
            let outcome = load.join().unwrap();
            for target in all {
                let counts = ended(target);
                answers += counts.answers;
                connections += counts.connections;
            }
            (outcome, answers, connections)
        });
        let counts = outcome.counts;
        assert_eq!(counts.completed, answers, "{counts:?} {:?}", outcome.figures.faults);
        assert!(counts.completed > 50 && connections > 8, "{counts:?}");
        // Refused between two listeners, or cut in the queue of one that went.
        for name in faults(&outcome) {
            assert!(["connect", "reset_head", "closed_head"].contains(&name), "{name}");
        }
    }
}
