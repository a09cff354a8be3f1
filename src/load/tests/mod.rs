//! Whole rungs over loopback sockets. Nothing here asserts how fast something is.
mod failures;
mod pacing;

use super::carrier::{Carrier, ConnectionTally, Post};
use super::clock::Clock;
use super::desk::Desk;
use super::http1::Http1;
use super::outcome::{Counts, Live, Unwatched};
use super::record::Record;
use super::spec::{Endpoint, Kind, Pacing, Polling, Spacing};
use super::testing::{Asked, Server, bytes, in_chunks, plain, reset_on_close};
use super::tokio_http::TokioHttp;
use super::workload::{Ask, Expect, Query, TapOptions};
use super::*;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
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
fn jobs_that_run_at_the_end_are_deleted() {
    for over_tokio in [false, true] {
        let log = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&log);
        let server = Server::start(move |asked: &Asked, stream: &mut TcpStream| {
            if asked.target.ends_with("/phase") {
                stream.write_all(&plain(200, "", b"EXECUTING"))?;
                return Ok(true);
            }
            uws(asked, stream, &seen)
        });
        let polling =
            Polling { first: Duration::from_millis(5), run_at_once: true, ..Polling::default() };
        let tap = TapOptions { asynchronous: true, run_at_once: true, ..TapOptions::default() };
        let ask = Ask::Adql("SELECT 1".to_owned());
        let query = Query { ask, ..query("GET", "/", Expect::default()) };
        let spec = RungSpec {
            kind: Kind::TapAsync(polling),
            workload: workload(&[query], &tap),
            connections: 3,
            measure: Duration::from_millis(100),
            drain: Duration::from_millis(50),
            ..spec(&format!("{}/tap", server.url()))
        };
        let outcome = if over_tokio {
            rung::run::<TokioHttp>(&spec, &mut Unwatched).unwrap()
        } else {
            measure(&spec)
        };
        assert_eq!(names(&outcome), only("aborted"));
        assert_eq!((outcome.counts.sent, outcome.counts.aborted), (3, 3));
        let log = log.lock().unwrap();
        let mut deleted: Vec<_> =
            log.iter().filter_map(|line| line.strip_prefix("DELETE /tap/async/")).collect();
        deleted.sort_unstable();
        assert_eq!(deleted, ["1", "2", "3"], "over tokio: {over_tokio}");
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
