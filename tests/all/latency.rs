//! Response times of cells, their repetitions taken together.

use serde_json::{Value, json};

use super::support::{Rung, Sandbox, ask};

const RUN: &str = "20260101T000000Z-0123abcd-latency";

/// A run of rungs and their requests, 60 s for each rung.
#[derive(Default)]
struct Rungs {
    rungs: Vec<Rung>,
    samples: Vec<(String, Vec<Value>)>,
}

impl Rungs {
    /// A rung whose requests took so many milliseconds.
    fn rung(
        &mut self,
        target: &str,
        repetition: u32,
        ms: impl IntoIterator<Item = u32>,
    ) -> &mut Self {
        let request =
            |ms| json!({"t_start": 1000.0, "latency_s": f64::from(ms) / 1e3, "status": 200});
        let lines: Vec<_> = ms.into_iter().map(request).collect();
        let requests = lines.len();
        let rung = Rung::new(target, repetition)
            .with("requests", requests)
            .with("rps", requests as f64 / 60.0);
        self.rungs.push(rung);
        self.samples.push((format!("samples/{target}-csv-Q01-c8-r{repetition}.jsonl"), lines));
        self
    }

    /// Changes a field of the last rung.
    fn with(&mut self, field: &str, value: impl Into<Value>) -> &mut Self {
        let rung = self.rungs.pop().unwrap();
        self.rungs.push(rung.with(field, value));
        self
    }

    fn ingest(&mut self) -> Sandbox {
        let sandbox = Sandbox::new();
        let run = sandbox.run(RUN);
        for (name, lines) in self.samples.drain(..) {
            run.lines(&name, lines);
        }
        run.rungs(self.rungs.drain(..));
        sandbox.ingest(run);
        sandbox
    }
}

/// Of 1, 2, … n ms a percentile of type 7 is 1 + (n − 1) q.
#[test]
fn a_percentile_has_ten_requests_beyond_it_or_is_not_given() {
    const COUNTS: [u32; 8] = [99, 100, 199, 200, 999, 1000, 9999, 10_000];
    let mut rungs = Rungs::default();
    for count in COUNTS {
        // In an order of their own.
        rungs.rung(&format!("of-{count}"), 1, (0..count).map(|at| 1 + at * 7 % count));
    }
    let sandbox = rungs.ingest();
    type Row = (i64, f64, f64, Option<f64>, Option<f64>, Option<f64>, Option<f64>, f64);
    let rows: Vec<Row> = ask(
        &sandbox.session(),
        "SELECT n, latency_mean_s, latency_p50_s, latency_p90_s, latency_p95_s, latency_p99_s, \
         latency_p999_s, latency_max_s FROM latency_cells ORDER BY n",
    );
    assert_eq!(rows.iter().map(|row| row.0 as u32).collect::<Vec<_>>(), COUNTS);
    let is = |found: f64, ms: f64| (found - ms / 1e3).abs() < 1e-9;
    for (n, mean, p50, p90, p95, p99, p999, max) in rows {
        let least = [(p90, 0.9, 100), (p95, 0.95, 200), (p99, 0.99, 1000), (p999, 0.999, 10_000)];
        for (found, q, least) in least {
            assert_eq!(found.is_some(), n >= least, "{q} of {n}");
            assert!(found.is_none_or(|found| is(found, 1.0 + (n - 1) as f64 * q)), "{q} of {n}");
        }
        let middle = (n + 1) as f64 / 2.0;
        assert!(is(mean, middle) && is(p50, middle) && is(max, n as f64), "{n}");
    }
}

#[test]
fn repetitions_are_taken_together_and_what_failed_or_is_void_is_left_out() {
    let mut rungs = Rungs::default();
    rungs.rung("a", 1, 1..=60).rung("a", 2, 61..=120);
    rungs.rung("a", 3, 1000..1060).with("generator_guard_ok", false);
    // The first of a second cell failed, after long.
    rungs.rung("b", 1, (1..=9).chain([9000])).with("errors", 1);
    let failed = rungs.samples.last_mut().unwrap().1.last_mut().unwrap();
    failed["status"] = json!(503);
    let sandbox = rungs.ingest();
    let rows: Vec<(String, i64, i64, f64, Option<f64>, f64)> = ask(
        &sandbox.session(),
        "SELECT target, rungs, n, latency_p50_s, latency_p90_s, latency_max_s \
         FROM latency_cells ORDER BY target",
    );
    let row = |target: &str, rungs, n, p50, p90, max| (target.to_owned(), rungs, n, p50, p90, max);
    assert_eq!(
        rows,
        [row("a", 2, 120, 0.0605, Some(0.1081), 0.12), row("b", 1, 9, 0.005, None, 0.009)]
    );
}

#[test]
fn the_report_has_a_table_of_them_or_says_why_not() {
    let mut rungs = Rungs::default();
    rungs.rung("a", 1, 1..=100).rung("b", 1, (1..=1000).rev());
    let sandbox = rungs.ingest();
    let report = |run: &str| {
        sandbox.tapstat(&["report", "--run", run, "--output", run]).assert().success();
        std::fs::read_to_string(sandbox.path(run).join("index.md")).unwrap()
    };
    let text = report(RUN);
    for expected in [
        "| Q01   |   8 | a      |   100 |     50.50 |    50.50 |    90.10 |",
        "| Q01   |   8 | b      | 1,000 |     500.5 |    500.5 |    900.1 |",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    const VOID: &str = "20260102T000000Z-0123abcd-void";
    let void = sandbox.run(VOID);
    void.rungs([Rung::new("a", 1).with("generator_guard_ok", false)]);
    sandbox.ingest(void);
    let expected = "The store has no single request of a rung that is not voided";
    assert!(report(VOID).contains(expected));
}
