use super::*;

fn query(id: &str, class: &str) -> Prepared {
    let ask = Ask::Http {
        method: "GET".to_owned(),
        path: format!("/{id}"),
        headers: Vec::new(),
        body: Vec::new(),
    };
    Query { query_id: id.to_owned(), query_class: class.to_owned(), ask, expect: Expect::default() }
        .prepare(&TapOptions::default())
}

fn requests(count: usize) -> Vec<Prepared> {
    (0..count).map(|id| query(&format!("q{id}"), "Q01")).collect()
}

fn drawn(workload: &Workload, part: Part, worker: usize, workers: usize, n: usize) -> Vec<u16> {
    let mut draws = Draws::new(7, part, worker, workers);
    (0..n).map(|_| draws.draw(workload)).collect()
}

/// The stream is part of the format: a campaign of another version must draw the same.
#[test]
fn the_draws_of_a_seed_are_always_these() {
    let workload = Workload::uniform(requests(10)).unwrap();
    assert_eq!(drawn(&workload, Part::Window, 0, 1, 12), DRAWN);
}

const DRAWN: [u16; 12] = [9, 0, 7, 5, 0, 5, 5, 6, 9, 7, 1, 0];

#[test]
fn workers_share_one_stream() {
    let workload = Workload::uniform(requests(100)).unwrap();
    let all = drawn(&workload, Part::Window, 0, 1, 300);
    for workers in [2, 3, 7] {
        for worker in 0..workers {
            let share = drawn(&workload, Part::Window, worker, workers, 300 / workers);
            let expected: Vec<_> =
                all.iter().skip(worker).step_by(workers).take(share.len()).copied().collect();
            assert_eq!(share, expected, "{worker} of {workers}");
        }
    }
    assert_ne!(all, drawn(&workload, Part::Warmup, 0, 1, 300));
}

#[test]
fn a_mix_draws_by_weight() {
    let all = [query("a", "Q01"), query("b", "Q01"), query("c", "Q02"), query("d", "Q03")];
    let weights = [("Q02".to_owned(), 3.0), ("Q01".to_owned(), 1.0)];
    let workload = Workload::mix(all.to_vec(), &weights).unwrap();
    let ids: Vec<_> = workload.requests().iter().map(|r| r.query_id.as_str()).collect();
    assert_eq!(ids, ["c", "a", "b"]);
    let mut counts = [0_usize; 3];
    for number in drawn(&workload, Part::Window, 0, 1, 80_000) {
        counts[usize::from(number)] += 1;
    }
    // Six standard deviations of a binomial count.
    for (count, p) in counts.into_iter().zip([0.75, 0.125, 0.125]) {
        let (mean, spread) = (80_000.0 * p, 6.0 * (80_000.0 * p * (1.0_f64 - p)).sqrt());
        assert!((count as f64 - mean).abs() < spread, "{counts:?}");
    }
}

#[test]
fn every_number_stands_for_a_request() {
    let workload = Workload::uniform(requests(3)).unwrap();
    assert_eq!(workload.pick(0), 0);
    assert_eq!(workload.pick(u64::MAX), 2);
    assert_eq!(workload.pick(u64::MAX / 2), 1);
}

#[test]
fn arrivals_are_shared_too() {
    let times = |mut arrivals: Arrivals, n| (0..n).map(|_| arrivals.draw()).collect::<Vec<_>>();
    assert_eq!(times(Arrivals::constant(1000.0, 0, 1), 3), [0, 1_000_000, 2_000_000]);
    assert_eq!(times(Arrivals::constant(1000.0, 1, 2), 2), [1_000_000, 3_000_000]);
    let poisson = |worker, workers| Arrivals::poisson(1000.0, 7, Part::Window, worker, workers);
    let all = times(poisson(0, 1), 9_000);
    assert!(all.is_sorted());
    for worker in 0..3 {
        let share = times(poisson(worker, 3), 3_000);
        for (own, all) in share.iter().zip(all.iter().skip(worker).step_by(3)) {
            assert!(own.abs_diff(*all) <= 1, "{own} {all}");
        }
    }
    // 9000 gaps of 1 ms: the sum is within six standard deviations.
    let last = all[8_999] as f64 / 1e9;
    assert!((last - 9.0).abs() < 6.0 * 0.001 * 9_000_f64.sqrt(), "{last}");
}

#[test]
fn tap_requests_are_forms() {
    let query = Query {
        query_id: "a".to_owned(),
        query_class: "Q01".to_owned(),
        ask: Ask::Adql("SELECT TOP 1 * FROM t WHERE a<'é'".to_owned()),
        expect: Expect::default(),
    };
    let tap = TapOptions {
        method: TapMethod::Get,
        response_format: Some("csv".to_owned()),
        maxrec: Some(10),
        ..TapOptions::default()
    };
    let form = "REQUEST=doQuery&LANG=ADQL&RESPONSEFORMAT=csv&MAXREC=10";
    let adql = "QUERY=SELECT+TOP+1+*+FROM+t+WHERE+a%3C%27%C3%A9%27";
    let request = query.prepare(&tap);
    assert_eq!(request.target, format!("/sync?{form}&{adql}"));
    assert!(request.body.is_empty());

    let request = query.prepare(&TapOptions { method: TapMethod::Post, asynchronous: true, ..tap });
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/async"));
    assert_eq!(String::from_utf8(request.body).unwrap(), format!("{form}&PHASE=RUN&{adql}"));
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let with = |change: fn(&mut Prepared)| {
        let mut request = query("a", "Q01");
        change(&mut request);
        Workload::uniform(vec![request]).unwrap_err().to_string()
    };
    let header = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    assert_eq!(
        with(|request| request.method = "G ET".to_owned()),
        "method is `G ET`: expected a method such as GET"
    );
    assert!(with(|request| request.target = "/a b".to_owned()).starts_with("path is `/a b`"));
    let message = {
        let mut request = query("a", "Q01");
        request.headers = header("X", "a\r\nY: b");
        Workload::uniform(vec![request]).unwrap_err().to_string()
    };
    assert!(message.ends_with("expected a value on one line"), "{message}");
    let mut request = query("a", "Q01");
    request.headers = header("Host", "a");
    assert!(Workload::uniform(vec![request]).is_err());
    assert!(Workload::uniform(requests(MOST + 1)).is_err());
    assert!(Workload::mix(requests(1), &[("Q09".to_owned(), 1.0)]).is_err());
    assert!(Workload::mix(requests(1), &[("Q01".to_owned(), 0.0)]).is_err());
}
