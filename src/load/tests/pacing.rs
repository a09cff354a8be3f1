//! When requests are sent, and what is said of it.

use super::*;

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
fn a_window_in_which_no_request_begins_is_void() {
    let server = Server::start(|_: &Asked, stream: &mut TcpStream| {
        std::thread::sleep(Duration::from_millis(600));
        stream.write_all(&plain(200, "", b"ok"))?;
        Ok(true)
    });
    let waiting = RungSpec {
        warmup: Duration::from_millis(100),
        measure: Duration::from_millis(100),
        ..spec(&server.url())
    };
    let outcome = measure(&waiting);
    assert_eq!((outcome.counts.offered, outcome.counts.warmup), (0, 2));
    let kinds: Vec<_> = outcome.voids.iter().map(|void| void.kind).collect();
    assert!(kinds.contains(&"empty"), "{kinds:?}");
    let outcome = measure(&RungSpec { warmup: Duration::ZERO, ..waiting });
    assert!(outcome.voids.iter().all(|void| void.kind != "empty"));
}
