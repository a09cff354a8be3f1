//! HTTP/2 against a server that is a script of frames, and what it all costs.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::frame::{self, PREFACE, put_head, put_number};
use crate::load::desk::tests as desk;
use crate::load::outcome::{RungOutcome, Unwatched};
use crate::load::run;
use crate::load::spec::{Endpoint, HttpVersion, Pacing, RungSpec};
use crate::load::workload::{Ask, Expect, Query, TapOptions, Workload};
use crate::target::null::{NullTarget, Options};

fn spec(url: &str, http2: bool, path: &str) -> RungSpec {
    let mut endpoint = Endpoint::parse(url).unwrap();
    endpoint.http = if http2 { HttpVersion::Http2 } else { HttpVersion::Http1 };
    endpoint.tls.insecure = true;
    let ask = Ask::Http {
        method: "POST".to_owned(),
        path: path.to_owned(),
        headers: vec![("X-Mark".to_owned(), "1".to_owned())],
        body: vec![b'x'; 100],
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
        workload: Arc::new(workload),
        warmup: Duration::ZERO,
        measure: Duration::from_millis(200),
        ..desk::spec(Pacing::Closed, 1)
    }
}

fn measure(spec: &RungSpec) -> RungOutcome {
    run(spec, &mut Unwatched).unwrap()
}

/// The streams that a client has opened, once there are eight or no more come.
fn opened(socket: &mut TcpStream) -> Option<usize> {
    socket.set_read_timeout(Some(Duration::from_millis(60))).unwrap();
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let rest = bytes.strip_prefix(PREFACE).unwrap_or_default();
        let (mut at, mut streams) = (0, 0);
        while let Some(head) = rest.get(at..at + frame::HEAD) {
            streams += usize::from(head[3] == frame::HEADERS);
            at += frame::HEAD + usize::from(head[1]) * 256 + usize::from(head[2]);
        }
        if streams == 8 && at <= rest.len() {
            return Some(streams);
        }
        match socket.read(&mut part) {
            Ok(0) => return None,
            Ok(got) => bytes.extend_from_slice(&part[..got]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Some(streams),
            Err(_) => return None,
        }
    }
}

/// Of eight streams, the second is refused, and a GOAWAY leaves the last four
/// unprocessed; the others are answered, in a frame with padding and in two parts
/// of a header block. Then the connection is closed.
#[test]
fn streams_that_were_left_unprocessed_are_not_lost_streams() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answered = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&answered);
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let Some(streams) = opened(&mut socket) else { continue };
            let mut out = Vec::new();
            put_head(&mut out, 0, frame::SETTINGS, 0, 0);
            put_number(&mut out, frame::RST_STREAM, 3, 7);
            put_head(&mut out, 8, frame::GOAWAY, 0, 0);
            out.extend(7_u32.to_be_bytes());
            out.extend(0_u32.to_be_bytes());
            for stream in [1, 5, 7].into_iter().filter(|stream| stream / 2 < streams as u32) {
                // :status 200, and a field that is cut in two.
                put_head(&mut out, 3, frame::HEADERS, 0, stream);
                out.extend([0x88, 0, 1]);
                put_head(&mut out, 3, frame::CONTINUATION, frame::END_HEADERS, stream);
                out.extend([b'x', 1, b'y']);
                put_head(&mut out, 9, frame::DATA, frame::PADDED | frame::END_STREAM, stream);
                out.extend([3, b'h', b'e', b'l', b'l', b'o', 0, 0, 0]);
                count.fetch_add(1, Ordering::Relaxed);
            }
            // In small parts, so that no frame comes whole.
            for part in out.chunks(7) {
                socket.write_all(part).unwrap();
                socket.flush().unwrap();
            }
            let _ = socket.shutdown(std::net::Shutdown::Write);
            let _ = socket.read(&mut [0; 1024]);
        }
    });
    let outcome = measure(&RungSpec { streams: 8, ..spec(&url, true, "/") });
    let counts = outcome.counts;
    assert_eq!(counts.completed, answered.load(Ordering::Relaxed), "{:?}", outcome.figures.faults);
    assert!(counts.completed >= 3 && counts.aborted == 0, "{counts:?}");
    assert_eq!(outcome.figures.faults, [("unprocessed".to_owned(), counts.failed)]);
    assert_eq!(outcome.connections.unprocessed, counts.failed);
    assert!(outcome.connections.goaways >= 1);
    assert_eq!(outcome.figures.mean_response_bytes, Some(5.0));
}

#[test]
fn all_three_carry_requests() {
    for (tls, http2, streams) in [(true, false, 1), (false, true, 300), (true, true, 8)] {
        let target = NullTarget::start(&Options { tls, http2, ..Options::default() }).unwrap();
        let mut spec = spec(&target.url(), http2, "/bytes/100000");
        spec.streams = streams;
        let outcome = measure(&spec);
        assert!(outcome.counts.completed > 10, "{:?}", outcome.counts);
        assert_eq!((outcome.counts.failed, outcome.counts.aborted), (0, 0));
        assert_eq!((outcome.connections.opened, outcome.connections.failed), (1, 0));
        assert_eq!(outcome.figures.mean_response_bytes, Some(100_000.0));
        assert_eq!(target.counts().connections, 1);
        assert!(outcome.guard.cpu_s > 0.0);
    }
}

/// Bodies of requests that are larger than every window of HTTP/2.
#[test]
fn long_requests_wait_for_the_server_to_take_them() {
    let target = NullTarget::start(&Options { http2: true, ..Options::default() }).unwrap();
    let mut spec = spec(&target.url(), true, "/bytes/10");
    let mut request = spec.workload.requests()[0].clone();
    request.body = vec![b'y'; 20 << 20];
    spec.workload = Arc::new(Workload::uniform(vec![request]).unwrap());
    spec.streams = 3;
    let outcome = measure(&spec);
    assert_eq!((outcome.counts.failed, outcome.counts.aborted), (0, 0));
    assert_eq!(outcome.counts.completed, target.counts().answers);
}
