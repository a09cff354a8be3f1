//! The desk against servers that exist in arithmetic alone: every time is exact.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use super::*;
use crate::load::spec::{Endpoint, Kind};
use crate::load::workload::{Ask, Expect, Query, TapOptions, Workload};

const MS: Nanos = 1_000_000;

pub fn spec(pacing: Pacing, connections: usize) -> RungSpec {
    let query = Query {
        query_id: "a".to_owned(),
        query_class: "Q01".to_owned(),
        ask: Ask::Http {
            method: "GET".to_owned(),
            path: "/".to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        },
        expect: Expect::default(),
    };
    RungSpec {
        endpoint: Endpoint::parse("http://localhost").unwrap(),
        kind: Kind::Http,
        workload: Arc::new(Workload::uniform(vec![query.prepare(&TapOptions::default())]).unwrap()),
        pacing,
        connections,
        streams: 1,
        workers: 1,
        keep_alive: true,
        pins: Vec::new(),
        warmup: Duration::from_secs(1),
        measure: Duration::from_secs(10),
        drain: Duration::from_secs(5),
        request_timeout: Duration::from_secs(30),
        connect_timeout: Duration::from_secs(1),
        check_every: 0,
        read_rate: None,
        seed: 1,
        guard_max: 0.6,
        max_redirects: 5,
    }
}

fn open(rate: f64) -> Pacing {
    Pacing::Open { rate, spacing: Spacing::Constant }
}

/// Runs a rung against a server that answers a request that starts at a time at
/// the time that `answer` says, or never.
fn simulate(spec: RungSpec, answer: impl Fn(Nanos) -> Option<Nanos>) -> (Closed, Nanos) {
    let connections = spec.connections;
    let stop = Arc::new(AtomicBool::new(false));
    let mut desk = Desk::new(Arc::new(spec), 0, connections, Arc::default(), stop);
    let mut answers = BinaryHeap::new();
    let mut now = 0;
    loop {
        match desk.step(now) {
            Step::Send(ticket) => {
                if let Some(at) = answer(now) {
                    answers.push(Reverse((at, ticket.slot)));
                }
            }
            Step::Wait(until) => {
                assert!(until > now, "waits at {now} until {until}");
                now = answers.peek().map_or(until, |Reverse((at, _))| until.min(*at)).max(now);
                while let Some(Reverse((at, slot))) = answers.peek().copied()
                    && at <= now
                {
                    answers.pop();
                    let ending = Ending { status: 200, ..Ending::default() };
                    desk.first_byte(slot, now);
                    desk.finish(slot, now, ending);
                    desk.release(slot, now);
                }
                while let Some(slot) = desk.expired(now) {
                    answers.retain(|Reverse((_, other))| *other != slot);
                    let ending = Ending { fault: Fault::TimeoutHead, ..Ending::default() };
                    desk.finish(slot, now, ending);
                    desk.release(slot, now);
                }
            }
            Step::Done => return (desk.close(now), now),
        }
    }
}

fn sorted(closed: &Closed, of: fn(&Record) -> Nanos) -> Vec<f64> {
    let mut values: Vec<_> = closed.records.iter().map(|record| of(record) as f64 / 1e9).collect();
    values.sort_by(f64::total_cmp);
    values
}

#[test]
fn a_closed_loop_sends_as_soon_as_it_is_answered() {
    let (closed, end) = simulate(spec(Pacing::Closed, 4), |start| Some(start + 10 * MS));
    // 100 a second on each connection, over ten seconds.
    assert_eq!(closed.tally, Tally { completed: 4_000, warmup: 400, ..Tally::default() });
    assert_eq!(end, 11_000 * MS);
    assert!(closed.records.iter().all(|record| record.service() == 10 * MS && record.late() == 0));
    assert!(closed.records.iter().all(|record| record.intended() >= 1_000 * MS));
}

#[test]
fn what_is_started_in_the_window_is_waited_for() {
    let (closed, end) = simulate(spec(Pacing::Closed, 1), |start| Some(start + 700 * MS));
    // Starts at 1.4 s (0 and 0.7 s are warm-up), the last at 10.5 s, ends at 11.2 s.
    assert_eq!(closed.tally.completed, 14);
    assert_eq!(end, 11_200 * MS);
}

#[test]
fn an_open_loop_keeps_its_schedule() {
    let (closed, _) = simulate(spec(open(100.0), 8), |start| Some(start + 25 * MS));
    assert_eq!(closed.tally, Tally { completed: 1_000, warmup: 100, ..Tally::default() });
    let starts: Vec<_> = closed.records.iter().map(Record::start).collect();
    let expected: Vec<_> = (0..1_000).map(|k| 1_000 * MS + k * 10 * MS).collect();
    assert!(starts == expected, "{:?}", starts.iter().zip(&expected).find(|(a, b)| a != b));
    assert_eq!((closed.late_max, closed.late_over), (0, 0));
}

#[test]
fn a_stall_is_counted_in_full() {
    // 100 a second; between 5 s and 7 s nothing is answered. One connection.
    let stall = |start: Nanos| {
        let begin = start + MS;
        Some(if (5_000 * MS..7_000 * MS).contains(&begin) { 7_000 * MS } else { begin })
    };
    let (closed, _) = simulate(spec(open(100.0), 1), stall);
    assert_eq!((closed.tally.completed, closed.tally.never_sent), (1_000, 0));
    let (response, service) = (sorted(&closed, Record::response), sorted(&closed, Record::service));
    // Uncorrected, a single request took long.
    assert_eq!(service.iter().filter(|service| **service > 0.0015).count(), 1);
    // Corrected, all that should have been sent in the stall, and the queue after
    // it: 200 were due in it, and it drains at 1000 − 100 a second.
    let long = response.iter().filter(|response| **response > 0.0015).count();
    assert!((200..230).contains(&long), "{long}");
    let p99 = |values: &[f64]| crate::stats::percentile::percentile(values, 0.99).unwrap();
    assert!((p99(&response) - 1.91).abs() < 0.02, "{}", p99(&response));
    assert!((p99(&service) - 0.001).abs() < 1e-9, "{}", p99(&service));
    // It was not the generator that was late.
    assert_eq!(closed.late_over, 0);
}

#[test]
fn what_was_never_sent_is_counted() {
    // Capacity is 10 a second, 100 are offered: for 10 + 4.95 s.
    let short = RungSpec { drain: Duration::from_millis(4_950), ..spec(open(100.0), 1) };
    let (closed, end) = simulate(short, |start| Some(start + 100 * MS));
    let tally = closed.tally;
    assert_eq!(end, 15_950 * MS);
    assert_eq!(tally.completed + tally.aborted + tally.never_sent, 1_000);
    // The warm-up's backlog of 90 is sent first, in nine seconds: seven more remain.
    assert_eq!((tally.warmup, tally.completed, tally.aborted), (100, 59, 1), "{tally:?}");
    assert!(closed.records.iter().last().unwrap().fault() == Fault::Aborted);
}

#[test]
fn a_server_that_never_answers_ends_by_the_drain_time() {
    let (closed, end) = simulate(spec(Pacing::Closed, 3), |_| None);
    assert_eq!(end, 11_000 * MS, "nothing of the window is under way");
    assert_eq!(closed.tally, Tally { warmup: 3, ..Tally::default() });

    let never = RungSpec { warmup: Duration::ZERO, ..spec(Pacing::Closed, 3) };
    let (closed, end) = simulate(never, |_| None);
    assert_eq!((end, closed.tally.aborted), (15_000 * MS, 3));

    let impatient = RungSpec {
        warmup: Duration::ZERO,
        request_timeout: Duration::from_secs(2),
        ..spec(Pacing::Closed, 3)
    };
    let (closed, _) = simulate(impatient, |_| None);
    assert_eq!((closed.tally.aborted, closed.tally.failed), (0, 15));
    let long = sorted(&closed, Record::service);
    assert!(long[0] >= 2.0 && long[14] < 2.2, "{long:?}");
}

#[test]
fn bursts_begin_after_a_rest() {
    let burst =
        Pacing::Burst { idle: Duration::from_millis(1_500), on: Duration::from_millis(500) };
    let (closed, _) = simulate(spec(burst, 2), |start| Some(start + 100 * MS));
    // Bursts at 1.5, 3.5, 5.5, 7.5, 9.5 s: five requests on each of two connections.
    assert_eq!(closed.tally.completed, 50);
    for record in closed.records.iter() {
        assert!(record.start() % (2_000 * MS) >= 1_500 * MS, "{}", record.start());
    }
}

#[test]
fn connections_take_turns() {
    let stop = Arc::new(AtomicBool::new(false));
    let mut desk = Desk::new(Arc::new(spec(Pacing::Closed, 3)), 0, 3, Arc::default(), stop);
    let mut slots = Vec::new();
    for now in 0..6 {
        let Step::Send(ticket) = desk.step(now) else { panic!("a slot is free") };
        slots.push(ticket.slot);
        desk.finish(ticket.slot, now, Ending::default());
        desk.release(ticket.slot, now);
    }
    assert_eq!(slots, [0, 1, 2, 0, 1, 2]);
}

#[test]
fn the_first_of_each_query_is_checked_and_one_in_so_many() {
    let spec = RungSpec { check_every: 10, ..spec(Pacing::Closed, 1) };
    let stop = Arc::new(AtomicBool::new(false));
    let mut desk = Desk::new(Arc::new(spec), 0, 1, Arc::default(), stop);
    let mut checked = Vec::new();
    for now in 0..31 {
        let Step::Send(ticket) = desk.step(now) else { panic!("a slot is free") };
        if ticket.check {
            checked.push(now);
        }
        desk.finish(ticket.slot, now, Ending::default());
        desk.release(ticket.slot, now);
    }
    assert_eq!(checked, [0, 10, 20, 30]);
}

#[test]
fn a_stop_ends_it_and_aborts_what_is_under_way() {
    let spec = RungSpec { warmup: Duration::ZERO, ..spec(open(100.0), 2) };
    let stop = Arc::new(AtomicBool::new(false));
    let mut desk = Desk::new(Arc::new(spec), 0, 2, Arc::default(), Arc::clone(&stop));
    let mut now = 0;
    let mut sent = 0;
    while sent < 2 {
        match desk.step(now) {
            Step::Send(_) => sent += 1,
            Step::Wait(until) => now = until,
            Step::Done => panic!("not yet"),
        }
    }
    stop.store(true, Ordering::Relaxed);
    now = 1_000 * MS;
    assert_eq!(desk.step(now), Step::Done);
    let tally = desk.close(now).tally;
    // Due at 0, 10, …, 990 ms.
    assert_eq!((tally.aborted, tally.never_sent), (2, 98));
}

/// A response that no workload of these tests refuses, or one that says an error.
fn sampled(is_good: bool) -> Sampled {
    let body: &[u8] =
        if is_good { b"ok" } else { b"<INFO name=\"QUERY_STATUS\" value=\"ERROR\">no</INFO>" };
    Sampled { status: 200, content_type: String::new(), body: body.to_vec() }
}

#[test]
fn bodies_are_checked_after_the_end_and_refuse_their_own_requests() {
    let spec = RungSpec { check_every: 1, ..spec(Pacing::Closed, 2) };
    let workload = Arc::clone(&spec.workload);
    let window_start = Plan::new(&spec).window_start;
    let stop = Arc::new(AtomicBool::new(false));
    let mut desk = Desk::new(Arc::new(spec), 0, 2, Arc::default(), stop);
    let checked = Ending { status: 200, checked: true, ..Ending::default() };
    // One of the warm-up, then two pairs; the second slot of a pair ends first.
    let Step::Send(ticket) = desk.step(0) else { panic!("a slot is free") };
    desk.hold(ticket.slot, sampled(false));
    desk.finish(ticket.slot, 1, checked);
    desk.release(ticket.slot, 1);
    for pair in 0..2 {
        let now = window_start + pair;
        let Step::Send(first) = desk.step(now) else { panic!("a slot is free") };
        let Step::Send(second) = desk.step(now) else { panic!("a slot is free") };
        desk.hold(first.slot, sampled(pair == 0));
        desk.hold(second.slot, sampled(true));
        for ticket in [second, first] {
            desk.finish(ticket.slot, now, checked);
            desk.release(ticket.slot, now);
        }
    }
    let mut closed = desk.close(window_start + 2);
    assert_eq!((closed.tally.completed, closed.tally.failed), (4, 0));
    closed.check(&workload);
    let faults: Vec<Fault> = closed.records.iter().map(Record::fault).collect();
    assert_eq!(faults, [Fault::None, Fault::None, Fault::None, Fault::QueryError]);
    assert_eq!((closed.tally.completed, closed.tally.failed), (3, 1));
    assert_eq!((closed.checks.made, closed.checks.failed, closed.checks.left_out), (5, 2, 0));
    assert_eq!(closed.checks.failures.len(), 2);
    assert!(closed.held.is_empty());
}

#[test]
fn what_finds_no_room_is_not_checked_and_counted() {
    let spec = RungSpec { check_every: 1, ..spec(Pacing::Closed, 1) };
    let stop = Arc::new(AtomicBool::new(false));
    let mut desk = Desk::new(Arc::new(spec), 0, 1, Arc::default(), stop);
    let mut asked = 0;
    for now in 0..5 {
        let Step::Send(ticket) = desk.step(now) else { panic!("a slot is free") };
        if ticket.check {
            asked += 1;
            // Never written to, so that it takes no memory.
            let body = vec![0; ROOM / 2];
            desk.hold(ticket.slot, Sampled { body, ..sampled(true) });
        }
        desk.finish(ticket.slot, now, Ending { checked: ticket.check, ..Ending::default() });
        desk.release(ticket.slot, now);
    }
    assert_eq!((asked, desk.close(5).checks.left_out), (2, 3));
}
