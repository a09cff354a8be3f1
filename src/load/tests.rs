//! Whole rungs over loopback sockets. Nothing here asserts how fast something is.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::carrier::{Carrier, ConnectionTally, Post};
use super::clock::Clock;
use super::desk::Desk;
use super::http1::Http1;
use super::outcome::{Counts, Live, Unwatched};
use super::record::Record;
use super::spec::{Endpoint, Kind, Pacing, Polling, Spacing};
use super::testing::{Asked, Server, bytes, in_chunks, plain, reset_on_close};
use super::workload::{Ask, Expect, Query, TapOptions};
use super::*;

fn query(method: &str, path: &str, expect: Expect) -> Query {
    Query {
        query_id: path.to_owned(),
        query_class: "Q01".to_owned(),
        ask: Ask::Http {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        },
        expect,
    }
}

fn workload(queries: &[Query], tap: &TapOptions) -> Arc<Workload> {
    let requests = queries.iter().map(|query| query.prepare(tap)).collect();
    Arc::new(Workload::uniform(requests).unwrap())
}

/// A short rung: a closed loop on two connections, without a warm-up.
fn spec(url: &str) -> RungSpec {
    RungSpec {
        endpoint: Endpoint::parse(url).unwrap(),
        workload: workload(&[query("GET", "/", Expect::default())], &TapOptions::default()),
        warmup: Duration::ZERO,
        measure: Duration::from_millis(200),
        drain: Duration::from_secs(10),
        request_timeout: Duration::from_secs(10),
        connect_timeout: Duration::from_secs(5),
        ..desk::tests::spec(Pacing::Closed, 2)
    }
}

fn with(mut spec: RungSpec, queries: &[Query]) -> RungSpec {
    spec.workload = workload(queries, &TapOptions::default());
    spec
}

/// Measures, and checks what holds of every rung.
fn measure(spec: &RungSpec) -> RungOutcome {
    let outcome = run(spec, &mut Unwatched).unwrap();
    let Counts { offered, sent, completed, failed, aborted, never_sent, .. } = outcome.counts;
    assert_eq!(offered, sent + never_sent, "{:?}", outcome.counts);
    assert_eq!(sent, completed + failed + aborted, "{:?}", outcome.counts);
    assert_eq!(sent, records(&outcome).len() as u64);
    assert_eq!(outcome.figures.requests, sent);
    assert_eq!(outcome.figures.errors, failed + aborted);
    assert_eq!(outcome.figures.faults.iter().map(|(_, n)| n).sum::<u64>(), failed + aborted);
    outcome
}

fn records(outcome: &RungOutcome) -> Vec<Record> {
    outcome.samples.records.iter().flat_map(|records| records.iter()).copied().collect()
}

/// The faults of a rung by name; a good response is `ok`.
fn names(outcome: &RungOutcome) -> BTreeSet<String> {
    let mut names: BTreeSet<_> =
        outcome.figures.faults.iter().map(|(name, _)| name.clone()).collect();
    if outcome.counts.completed > 0 {
        names.insert("ok".to_owned());
    }
    names
}

fn only(name: &str) -> BTreeSet<String> {
    BTreeSet::from([name.to_owned()])
}

/// A server that always answers with these bytes, and keeps the connection.
fn canned(answer: Vec<u8>) -> Server {
    Server::start(move |_: &Asked, stream: &mut TcpStream| {
        stream.write_all(&answer)?;
        Ok(true)
    })
}

#[test]
fn connections_are_kept() {
    let server = canned(plain(200, "", &bytes(1_024)));
    let outcome = measure(&RungSpec { workers: 2, connections: 3, ..spec(&server.url()) });
    assert_eq!(names(&outcome), only("ok"));
    assert_eq!((server.accepted(), outcome.connections.opened), (3, 3));
    let records = records(&outcome);
    assert!(records.iter().all(|record| record.bytes() == 1_024 && !record.fresh()));
    assert!(records.iter().all(|record| record.first_byte() <= Some(record.service())));
    assert_eq!(outcome.samples.connections_before, [0, 2]);
    assert!(outcome.window.elapsed_s >= 0.2);
    assert_eq!(outcome.guard.worker_peaks.len(), 2);
    assert!(outcome.guard.cpu_s > 0.0);
}

#[test]
fn one_connection_a_request() {
    let server = Server::start(|asked: &Asked, stream: &mut TcpStream| {
        assert!(asked.head.contains("Connection: close"), "{}", asked.head);
        stream.write_all(&plain(200, "Connection: close\r\n", b"abc"))?;
        Ok(false)
    });
    let outcome = measure(&RungSpec { keep_alive: false, ..spec(&server.url()) });
    assert_eq!(names(&outcome), only("ok"));
    assert_eq!(outcome.connections.opened, outcome.counts.sent);
    assert!(records(&outcome).iter().all(|record| record.fresh() && !record.retried()));
}

/// A wrapper that reads what the other throws away.
struct Reading(Http1);

impl Carrier for Reading {
    fn prepare(post: &Post) -> Result<Self, LoadError> {
        Ok(Self(Http1::prepare(post)?.reading()))
    }

    fn drive(&mut self, desk: &mut Desk, clock: &Clock) -> Result<(), LoadError> {
        self.0.drive(desk, clock)
    }

    fn connections(&self) -> ConnectionTally {
        self.0.connections()
    }
}

/// The sizes of bodies at which something changes: nothing, a read, a discard, the
/// low-water mark, and one more and less of each.
fn sizes() -> Vec<usize> {
    let edges = [0, 16 << 10, 32 << 10, 64 << 10, 256 << 10, 512 << 10, 1 << 20, 3_386_900];
    let near = |edge: usize| [edge.saturating_sub(1), edge, edge + 1, edge + 777];
    edges.into_iter().flat_map(near).collect::<BTreeSet<_>>().into_iter().collect()
}

#[test]
fn every_byte_is_counted_however_it_is_framed_and_taken() {
    for (form, keeps) in [("length", true), ("chunks", true), ("close", false)] {
        let server = Server::start(move |asked: &Asked, stream: &mut TcpStream| {
            let size: usize = asked.target[1..].parse().unwrap();
            let body = bytes(size);
            match form {
                "length" => stream.write_all(&plain(200, "", &body))?,
                "chunks" => {
                    let chunk = [1 + size / 3, 7_000, 100_000][asked.place % 3];
                    stream.write_all(&in_chunks(&body, chunk, "X-Sum: 1\r\n"))?;
                }
                _ => {
                    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
                    stream.write_all(&body)?;
                }
            }
            Ok(keeps)
        });
        let sizes = sizes();
        let queries: Vec<_> =
            sizes.iter().map(|size| query("GET", &format!("/{size}"), Expect::default())).collect();
        // Some are read whole besides.
        let spec = RungSpec {
            check_every: 7,
            measure: Duration::from_millis(500),
            ..with(spec(&server.url()), &queries)
        };
        for outcome in [measure(&spec), rung::run::<Reading>(&spec, &mut Unwatched).unwrap()] {
            assert_eq!(names(&outcome), only("ok"), "{form}");
            assert!(outcome.checks.made > 0);
            for record in records(&outcome) {
                assert_eq!(record.bytes(), sizes[record.query()] as u64, "{form}");
            }
        }
    }
}

#[test]
fn responses_that_come_in_pieces() {
    let server = Server::start(|asked: &Asked, stream: &mut TcpStream| {
        let answer = match asked.place % 3 {
            0 => plain(200, "X: y\r\n", b"hello"),
            1 => in_chunks(b"hello", 2, "A: b\r\n"),
            _ => [b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n".to_vec(), plain(200, "", b"hello")]
                .concat(),
        };
        for byte in answer {
            stream.write_all(&[byte])?;
        }
        Ok(true)
    });
    let outcome = measure(&spec(&server.url()));
    assert_eq!(names(&outcome), only("ok"));
    assert!(records(&outcome).iter().all(|record| record.bytes() == 5));
}

#[test]
fn responses_without_a_body() {
    let server = Server::start(|asked: &Asked, stream: &mut TcpStream| {
        let head = match asked.target.as_str() {
            "/204" => "HTTP/1.1 204 No\r\n\r\n",
            "/304" => "HTTP/1.1 304 No\r\nContent-Length: 10\r\n\r\n",
            _ => "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n",
        };
        stream.write_all(head.as_bytes())?;
        Ok(true)
    });
    let none = Expect::default;
    let queries =
        [query("GET", "/204", none()), query("GET", "/304", none()), query("HEAD", "/", none())];
    let outcome = measure(&with(spec(&server.url()), &queries));
    assert_eq!(names(&outcome), only("ok"));
    assert!(records(&outcome).iter().all(|record| record.bytes() == 0));
    assert_eq!(server.accepted(), 2);
}

#[test]
fn http_1_0_closes() {
    let server = Server::start(|_: &Asked, stream: &mut TcpStream| {
        stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab")?;
        Ok(false)
    });
    let outcome = measure(&spec(&server.url()));
    assert_eq!(names(&outcome), only("ok"));
    assert!(outcome.connections.opened >= outcome.counts.sent);
}

/// What a server does wrong, and what it is called.
#[test]
fn each_failure_has_its_name() {
    type Wrong = fn(&mut TcpStream) -> io::Result<bool>;
    let cases: [(&str, Wrong); 12] = [
        ("closed_head", |_| Ok(false)),
        ("closed_head", |stream| stream.write_all(b"HTTP/1.1 200 OK\r\nConte").map(|()| false)),
        ("reset_head", |stream| {
            reset_on_close(stream);
            Ok(false)
        }),
        ("reset_body", |stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nabc")?;
            std::thread::sleep(Duration::from_millis(5));
            reset_on_close(stream);
            Ok(false)
        }),
        ("closed_body", |stream| {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nabc")
                .map(|()| false)
        }),
        ("closed_body", |stream| {
            let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel";
            stream.write_all(head).map(|()| false)
        }),
        ("bad_body", |stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc").map(|()| true)
        }),
        ("bad_body", |stream| {
            let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n";
            stream.write_all(head).map(|()| true)
        }),
        ("bad_head", |stream| stream.write_all(b"SSH-2.0-x\r\n").map(|()| true)),
        ("redirect_target", |stream| {
            stream.write_all(&plain(302, "Location: http://example.org/\r\n", b"")).map(|()| true)
        }),
        ("redirects", |stream| {
            stream.write_all(&plain(302, "Location: /again\r\n", b"")).map(|()| true)
        }),
        ("status_429", |stream| stream.write_all(&plain(429, "", b"slow down")).map(|()| true)),
    ];
    for (name, wrong) in cases {
        let server = Server::start(move |_: &Asked, stream: &mut TcpStream| wrong(stream));
        let outcome =
            measure(&RungSpec { measure: Duration::from_millis(60), ..spec(&server.url()) });
        assert_eq!(names(&outcome), only(name));
        assert_eq!(outcome.figures.response, None, "{name}: no percentile of what failed");
    }
}

#[test]
fn a_server_that_is_not_there_is_not_asked_without_end() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let outcome = measure(&spec(&format!("http://{address}")));
    assert_eq!(names(&outcome), only("connect"));
    // Two connections, 200 ms, a rest of 10 ms.
    assert!(outcome.counts.sent <= 42, "{:?}", outcome.counts);
    assert!(outcome.connections.failed >= outcome.counts.sent);
}

#[test]
fn what_takes_too_long_is_a_time_out() {
    let silent = Server::start(|_: &Asked, _: &mut TcpStream| {
        std::thread::sleep(Duration::from_millis(400));
        Ok(false)
    });
    let endless = Server::start(|_: &Asked, stream: &mut TcpStream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        while stream.write_all(&[b'x'; 1_000]).is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(false)
    });
    for (server, name) in [(silent, "timeout_head"), (endless, "timeout_body")] {
        let timeout = Duration::from_millis(150);
        let outcome = measure(&RungSpec { request_timeout: timeout, ..spec(&server.url()) });
        assert_eq!(names(&outcome), only(name));
        assert!(records(&outcome).iter().all(|record| record.service() >= 150_000_000));
    }
}

#[test]
fn what_is_under_way_after_the_drain_time_is_aborted() {
    let server = Server::start(|_: &Asked, _: &mut TcpStream| {
        std::thread::sleep(Duration::from_millis(600));
        Ok(false)
    });
    let outcome = measure(&RungSpec {
        measure: Duration::from_millis(50),
        drain: Duration::from_millis(100),
        ..spec(&server.url())
    });
    assert_eq!(names(&outcome), only("aborted"));
    assert_eq!(outcome.counts.aborted, 2);
    assert_eq!(outcome.window.overruns, 2);
    assert!(outcome.window.overrun_s >= 0.1 && outcome.window.elapsed_s >= 0.15);
}

#[test]
fn a_connection_closed_while_idle_is_no_failure_of_the_request() {
    // The server says nothing of it, and closes after each second response.
    let server = Server::start(|asked: &Asked, stream: &mut TcpStream| {
        stream.write_all(&plain(200, "", b"ok"))?;
        Ok(asked.place == 0)
    });
    let outcome = measure(&spec(&server.url()));
    assert_eq!(names(&outcome), only("ok"), "{:?}", outcome.figures.faults);
    assert!(outcome.counts.retried > 0);
    assert_eq!(
        records(&outcome).iter().filter(|record| record.retried()).count() as u64,
        outcome.counts.retried
    );

    // What may not be sent twice is not.
    let post = with(spec(&server.url()), &[query("POST", "/", Expect::default())]);
    let outcome = measure(&post);
    assert_eq!(outcome.counts.retried, 0);
    assert!(names(&outcome).iter().any(|name| name.ends_with("_head") || name == "send"));
}

#[test]
fn redirects_are_followed_in_the_time_of_the_request() {
    let other = canned(plain(200, "", &bytes(300_000)));
    let to = other.url();
    let server = Server::start(move |asked: &Asked, stream: &mut TcpStream| {
        let location = match asked.target.as_str() {
            "/start" => "next?x=1#y",
            "/next?x=1" => "./a/../last",
            "/last" => &format!("{to}/result"),
            target => panic!("{target}"),
        };
        let head = format!("Location: {location}\r\n");
        stream.write_all(&plain(303, &head, b"see there"))?;
        Ok(true)
    });
    let outcome = measure(&with(spec(&server.url()), &[query("GET", "/start", Expect::default())]));
    assert_eq!(names(&outcome), only("ok"));
    assert!(records(&outcome).iter().all(|record| record.bytes() == 300_000));
    assert!(records(&outcome).iter().all(|record| record.status() == Some(200)));
    // Both connections are kept, here and there.
    assert_eq!((server.accepted(), other.accepted()), (2, 2));

    let stay = with(spec(&server.url()), &[query("GET", "/start", Expect::default())]);
    let outcome = measure(&RungSpec { max_redirects: 0, ..stay });
    assert!(records(&outcome).iter().all(|record| record.status() == Some(303)));
}

#[test]
fn a_stall_in_an_open_loop_is_counted_in_full() {
    let stalled = Arc::new(AtomicUsize::new(0));
    let server = Server::start(move |_: &Asked, stream: &mut TcpStream| {
        if stalled.fetch_add(1, Ordering::SeqCst) == 100 {
            std::thread::sleep(Duration::from_secs(2));
        }
        stream.write_all(&plain(200, "", b"ok"))?;
        Ok(true)
    });
    let outcome = measure(&RungSpec {
        pacing: Pacing::Open { rate: 200.0, spacing: Spacing::Constant },
        connections: 1,
        measure: Duration::from_secs(4),
        ..spec(&server.url())
    });
    assert_eq!(names(&outcome), only("ok"));
    assert_eq!(outcome.counts.offered, 800);
    let (response, service) = (outcome.figures.response.unwrap(), outcome.figures.service.unwrap());
    // 400 of 800 were due in the stall: evenly from 2 s down to 0.
    assert!(response.p99_s > 1.9, "{response:?}");
    assert!(response.p50_s >= service.p50_s);
    assert!(service.max_s >= 2.0 && service.p99_s < response.p99_s, "{service:?}");
    let long = records(&outcome).iter().filter(|record| record.response() > 1_000_000_000).count();
    assert!(long >= 200, "{long}");
    assert_eq!(records(&outcome).iter().filter(|r| r.service() > 1_000_000_000).count(), 1);
}

#[test]
fn an_open_loop_sends_at_its_rate_or_says_that_it_did_not() {
    let server = canned(plain(200, "", b"ok"));
    let open = |spacing| RungSpec {
        pacing: Pacing::Open { rate: 500.0, spacing },
        connections: 4,
        workers: 2,
        warmup: Duration::from_millis(100),
        measure: Duration::from_secs(1),
        ..spec(&server.url())
    };
    let outcome = measure(&open(Spacing::Constant));
    assert_eq!((outcome.counts.offered, outcome.counts.warmup), (500, 50));
    let mut intended: Vec<_> = records(&outcome).iter().map(Record::intended).collect();
    intended.sort_unstable();
    let expected: Vec<_> = (0..500).map(|k| 100_000_000 + k * 2_000_000).collect();
    assert!(intended == expected);
    assert!(outcome.guard.late.is_some());

    let gaps = |outcome: &RungOutcome| {
        let mut times: Vec<_> = records(outcome).iter().map(Record::intended).collect();
        times.sort_unstable();
        times
    };
    let poisson = open(Spacing::Poisson);
    assert!(gaps(&measure(&poisson)) == gaps(&measure(&poisson)), "another schedule");

    // One connection to a server that takes 50 ms cannot carry 500 a second.
    let slow = Server::start(|_: &Asked, stream: &mut TcpStream| {
        std::thread::sleep(Duration::from_millis(50));
        stream.write_all(&plain(200, "", b"ok"))?;
        Ok(true)
    });
    let outcome = measure(&RungSpec {
        endpoint: Endpoint::parse(&slow.url()).unwrap(),
        connections: 1,
        workers: 1,
        measure: Duration::from_millis(500),
        drain: Duration::from_millis(200),
        ..open(Spacing::Constant)
    });
    assert!(outcome.counts.never_sent > 0);
    let behind = outcome.voids.iter().find(|void| void.kind == "behind").unwrap();
    assert!(behind.reason.contains("1 connections do not carry 500.0 requests/s"), "{behind:?}");
}

#[test]
fn a_busy_generator_voids_the_rung() {
    let server = canned(plain(200, "", b"ok"));
    let outcome = measure(&RungSpec { guard_max: 1e-6, ..spec(&server.url()) });
    assert!(!outcome.guard_ok());
    assert_eq!(outcome.voids[0].kind, "guard_cpu");
    assert!(outcome.voids[0].reason.ends_with("guard_max is 0.000001"), "{:?}", outcome.voids);
}

#[test]
fn bodies_are_checked_by_sample() {
    let server = Server::start(|asked: &Asked, stream: &mut TcpStream| {
        let body: &[u8] = match asked.target.as_str() {
            "/abc" => b"abc",
            "/rows" => b"a,b\n1,2\n3,4\n",
            _ => b"<VOTABLE><INFO name=\"QUERY_STATUS\" value=\"ERROR\">no</INFO></VOTABLE>",
        };
        stream.write_all(&plain(200, "Content-Type: text/plain\r\n", body))?;
        Ok(true)
    });
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let sha256 = |sha256: &str| Expect { sha256: Some(sha256.to_owned()), ..Expect::default() };
    let rows = |rows| Expect { rows: Some(rows), ..Expect::default() };
    for (path, expect, name) in [
        ("/abc", sha256(abc), "ok"),
        ("/abc", sha256(&abc.replace('b', "c")), "check_digest"),
        ("/rows", rows(2), "ok"),
        ("/rows", rows(3), "check_rows"),
        ("/rows", Expect { status: Some(201), ..Expect::default() }, "check_status"),
        ("/error", Expect::default(), "query_error"),
    ] {
        let spec = with(spec(&server.url()), &[query("GET", path, expect)]);
        let short = Duration::from_millis(50);
        let outcome = measure(&RungSpec { check_every: 1, measure: short, ..spec.clone() });
        assert_eq!(names(&outcome), only(name), "{path}");
        assert_eq!(outcome.checks.made, outcome.counts.sent);
        assert!(records(&outcome).iter().all(Record::checked));
        assert_eq!(outcome.checks.failed > 0, name != "ok");
        assert_eq!(outcome.checks.failures.is_empty(), name == "ok");
        // The first is checked whatever the rest is.
        let outcome = measure(&RungSpec { check_every: 1 << 30, measure: short, ..spec });
        assert_eq!(outcome.checks.made, 1);
        assert!(names(&outcome).contains(name));
    }
}

/// A UWS service: a job is executing when it is asked for the first time.
fn uws(asked: &Asked, stream: &mut TcpStream, log: &Mutex<Vec<String>>) -> io::Result<bool> {
    let note = format!("{} {}", asked.method, asked.target);
    let job = asked.target.split('/').nth(3).unwrap_or_default().to_owned();
    let mut log = log.lock().unwrap();
    let polls = log.iter().filter(|line| **line == note).count();
    log.push(note);
    let jobs = log.iter().filter(|line| *line == "POST /tap/async").count();
    drop(log);
    let last = asked.target.rsplit('/').next().unwrap_or_default();
    let answer = match (asked.method.as_str(), last) {
        ("POST", "async") => {
            assert!(String::from_utf8_lossy(&asked.body).contains("QUERY=SELECT"));
            plain(303, &format!("Location: /tap/async/{jobs}\r\n"), b"")
        }
        ("POST", "phase") => plain(303, &format!("Location: /tap/async/{job}\r\n"), b""),
        ("GET", "phase") => plain(200, "", if polls == 0 { b"EXECUTING" } else { b"COMPLETED\n" }),
        ("GET", "result") => plain(200, "", &bytes(50_000)),
        ("DELETE", _) => plain(303, "Location: /tap/async\r\n", b""),
        _ => plain(404, "", b""),
    };
    stream.write_all(&answer)?;
    Ok(true)
}

#[test]
fn asynchronous_queries_are_one_request_each() {
    for run_at_once in [true, false] {
        let log = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&log);
        let server =
            Server::start(move |asked: &Asked, stream: &mut TcpStream| uws(asked, stream, &seen));
        let polling =
            Polling { first: Duration::from_millis(5), run_at_once, ..Polling::default() };
        let tap = TapOptions { asynchronous: true, run_at_once, ..TapOptions::default() };
        let ask = Ask::Adql("SELECT 1".to_owned());
        let query = Query { ask, ..query("GET", "/", Expect::default()) };
        let outcome = measure(&RungSpec {
            kind: Kind::TapAsync(polling),
            workload: workload(&[query], &tap),
            check_every: 2,
            ..spec(&format!("{}/tap", server.url()))
        });
        assert_eq!(names(&outcome), only("ok"));
        let records = records(&outcome);
        assert!(records.iter().all(|record| record.bytes() == 50_000));
        // Two polls, 5 ms and 7.5 ms after what was before.
        assert!(records.iter().all(|record| record.service() >= 12_500_000), "{records:?}");
        let log = log.lock().unwrap();
        let count = |line: &str| log.iter().filter(|own| own.starts_with(line)).count();
        assert_eq!(count("POST /tap/async"), records.len() * if run_at_once { 1 } else { 2 });
        assert_eq!(count("DELETE /tap/async/"), records.len());
        assert_eq!(outcome.samples.mode, Some("async"));
    }
}

#[test]
fn other_addresses() {
    let answer = |_: &Asked, stream: &mut TcpStream| {
        stream.write_all(&plain(200, "", b"ok"))?;
        Ok(true)
    };
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
        let server = Server::on(SocketAddr::from((Ipv6Addr::LOCALHOST, 0)), answer);
        let outcome = measure(&spec(&server.url()));
        assert_eq!(names(&outcome), only("ok"));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let body = bytes(400_000);
    let served = std::thread::spawn(move || {
        // Two connections, one after the other.
        let serve = |mut stream: std::os::unix::net::UnixStream| {
            std::thread::spawn(move || {
                let mut request = [0; 4_096];
                while io::Read::read(&mut stream, &mut request).is_ok_and(|read| read > 0) {
                    if stream.write_all(&plain(200, "", &body)).is_err() {
                        break;
                    }
                }
            })
        };
        serve(listener.accept().unwrap().0).join().unwrap();
    });
    let unix = format!("unix:{}", path.display());
    let outcome = measure(&RungSpec { connections: 1, ..spec(&unix) });
    assert_eq!(names(&outcome), only("ok"));
    assert!(records(&outcome).iter().all(|record| record.bytes() == 400_000));
    served.join().unwrap();
}

#[test]
fn a_slow_reader_takes_its_time() {
    let server = canned(plain(200, "", &bytes(200_000)));
    let outcome = measure(&RungSpec {
        read_rate: Some(500_000),
        connections: 1,
        measure: Duration::from_millis(50),
        ..spec(&server.url())
    });
    assert_eq!(names(&outcome), only("ok"));
    // 0.4 s, of which the last sip is not waited for.
    assert!(records(&outcome).iter().all(|record| record.service() >= 300_000_000));
}

#[test]
fn bursts_come_on_new_connections() {
    let server = Server::start(|_: &Asked, stream: &mut TcpStream| {
        std::thread::sleep(Duration::from_millis(5));
        stream.write_all(&plain(200, "", b"ok"))?;
        Ok(true)
    });
    let (idle, on) = (Duration::from_millis(100), Duration::from_millis(100));
    let outcome = measure(&RungSpec {
        pacing: Pacing::Burst { idle, on },
        measure: Duration::from_millis(600),
        ..spec(&server.url())
    });
    assert_eq!(names(&outcome), only("ok"));
    // Three bursts on two connections; a request that ends late may begin none anew.
    assert_eq!(outcome.connections.opened, 6);
    for record in records(&outcome) {
        assert!(record.start() % 200_000_000 >= 100_000_000);
    }
}

#[test]
fn who_looks_on_can_end_it() {
    struct Impatient(u32);
    impl Watch for Impatient {
        fn tick(&mut self, live: &Live) -> ControlFlow<()> {
            self.0 += 1;
            assert!(live.planned_s == 60.0 && live.measuring);
            if live.ended > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    let server = canned(plain(200, "", b"ok"));
    let spec = RungSpec { measure: Duration::from_secs(60), ..spec(&server.url()) };
    let outcome = run(&spec, &mut Impatient(0)).unwrap();
    assert!(outcome.stopped && outcome.window.elapsed_s < 30.0);
    assert!(outcome.counts.completed > 0);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |change: fn(&mut RungSpec)| {
        let mut spec = spec("http://127.0.0.1:9");
        change(&mut spec);
        run(&spec, &mut Unwatched).unwrap_err().to_string()
    };
    for (message, expected) in [
        (refused(|spec| spec.connections = 0), "connections is 0: expected a number from 1"),
        (refused(|spec| spec.workers = 3), "workers is 3: expected a number from 1 to that of"),
        (refused(|spec| spec.streams = 2), "streams is 2: expected 1 without HTTP/2"),
        (refused(|spec| spec.guard_max = f64::NAN), "guard_max is NaN"),
        (
            refused(|spec| spec.pacing = Pacing::Open { rate: 0.0, spacing: Spacing::Constant }),
            "rate is 0: expected a number above 0",
        ),
        (refused(|spec| spec.pins = vec![9_999]), "pin is 9999: expected the number of a core"),
    ] {
        assert!(message.starts_with(expected), "{message}");
    }
}
