//! What goes wrong, and what it is called.

use super::*;

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
