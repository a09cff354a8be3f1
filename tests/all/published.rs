//! The published runs give the published figures, to the digit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use tapstat::sql::Session;

use super::shipped::{assert_tier_changes, assert_verdicts};
use super::support::{SCALING, Sandbox, ask, ask_one, published, read_csv};

const FIRST: &str = "20260911T065452Z-41bfc513-tap-compare";
const TWELVE_PROCESSES: &str = "20260913T115758Z-f79672d9-tap-compare-scaling";

/// A store of published runs, and what is expected of them.
struct Published {
    root: PathBuf,
    sandbox: Sandbox,
}

impl Published {
    fn open(runs: &[&str]) -> Option<Self> {
        let root = published()?;
        let sandbox = Sandbox::with_runs(runs.iter().map(|run| root.join(run)).collect::<Vec<_>>());
        Some(Self { root, sandbox })
    }

    fn session(&self) -> Session {
        self.sandbox.session()
    }

    fn expected<T: DeserializeOwned>(&self, file: &str) -> Vec<T> {
        read_csv(&self.root.join("expected").join(file))
    }
}

/// The figures of a table by the key of their row, as they were printed.
type Printed = BTreeMap<String, Vec<String>>;

/// A published table: its first `key` columns name a row.
fn printed(path: &Path, key: usize) -> Printed {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let rows = reader.records().map(|record| {
        let cells: Vec<String> = record.unwrap().iter().map(str::to_owned).collect();
        (cells[..key].join(" "), cells[key..].to_vec())
    });
    rows.collect()
}

/// The answer to a query, printed with so many decimals in each column after
/// the first, which is the key.
fn computed(session: &Session, sql: &str, decimals: &[usize]) -> Printed {
    let rows: Vec<(String, Vec<Option<f64>>)> = keyed(session, sql);
    let print = |(figure, decimals): (&Option<f64>, &usize)| {
        figure.map_or_else(String::new, |figure| format!("{figure:.decimals$}"))
    };
    rows.into_iter()
        .map(|(key, figures)| (key, figures.iter().zip(decimals).map(print).collect()))
        .collect()
}

fn keyed(session: &Session, sql: &str) -> Vec<(String, Vec<Option<f64>>)> {
    let rows: Vec<Vec<serde_json::Value>> = ask(session, sql);
    rows.into_iter()
        .map(|row| {
            let figures = row[1..].iter().map(serde_json::Value::as_f64).collect();
            (row[0].as_str().unwrap().to_owned(), figures)
        })
        .collect()
}

/// Where two tables differ, as `key: column expected, found`. Both must have
/// the same rows.
fn differences(expected: &Printed, found: &Printed, columns: &[&str]) -> Vec<String> {
    assert_eq!(expected.keys().collect::<Vec<_>>(), found.keys().collect::<Vec<_>>());
    let mut differences = Vec::new();
    for (key, figures) in expected {
        for ((column, expected), found) in columns.iter().zip(figures).zip(&found[key]) {
            if expected != found {
                differences.push(format!("{key}: {column} {expected}, {found}"));
            }
        }
    }
    differences
}

#[test]
fn the_whole_run_is_read() {
    let Some(published) = Published::open(&[SCALING]) else { return };
    let (rungs, requests): (i64, i64) =
        ask_one(&published.session(), "SELECT rungs, requests FROM runs");
    assert_eq!((rungs, requests), (540, 4_407_102));
}

#[test]
fn sixty_of_sixty_verdicts() {
    let Some(published) = Published::open(&[SCALING]) else { return };
    assert_verdicts(&published.session(), &published.root.join("expected/verdicts.csv"));
}

#[test]
fn every_cell_at_the_printed_precision() {
    let Some(published) = Published::open(&[SCALING]) else { return };
    let expected = printed(&published.root.join("expected/cells.csv"), 5);
    assert_eq!(expected.len(), 180);
    let found = computed(
        &published.session(),
        "SELECT tier || ' ' || response_format || ' ' || query_class || ' '
           || CAST(concurrency AS VARCHAR) || ' ' || target,
           rps_mean, rps_half_width, latency_p95_s_mean, latency_p95_s_half_width
         FROM cells",
        &[1, 1, 3, 3],
    );
    let columns = ["rps", "rps half-width", "p95", "p95 half-width"];
    // The published rungs are themselves rounded to three decimals, which moves
    // the last digit of two figures that lie on its edge.
    assert_eq!(
        differences(&expected, &found, &columns),
        [
            "16 csv Q05 32 argus-scaling3: p95 half-width 0.089, 0.088",
            "16 csv Q05 8 argus-scaling3: rps half-width 0.7, 0.8",
        ]
    );
}

#[test]
fn the_voided_rungs() {
    let Some(published) = Published::open(&[SCALING]) else { return };
    let session = published.session();
    let mut expected: Vec<(String, String, i64, String, String, i64)> =
        published.expected("voided.csv");
    let mut found: Vec<(String, String, i64, String, String, i64)> = ask(
        &session,
        "SELECT tier, query_class, concurrency, response_format, target, voided_rungs
         FROM cells WHERE voided_rungs > 0",
    );
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    assert_eq!(found.iter().map(|row| row.5).sum::<i64>(), 13);
    let guarded: Vec<(i64,)> = ask(
        &session,
        "SELECT count(*) FROM cells WHERE guard_ok IS DISTINCT FROM (voided_rungs = 0)",
    );
    assert_eq!(guarded, [(0,)]);
}

#[test]
fn tier_changes_by_server() {
    let Some(published) = Published::open(&[SCALING]) else { return };
    assert_tier_changes(&published.session(), &published.root.join("expected/tier_changes.csv"));
}

#[test]
fn the_clients_cost() {
    let Some(published) = Published::open(&[SCALING]) else { return };
    let session = published.session();
    let expected = printed(&published.root.join("expected/client_cost.csv"), 1);
    let found = computed(
        &session,
        "SELECT server, 1e3 * a_s_per_request, 1e3 * b_s_per_mib, rungs FROM client_cost",
        &[2, 2, 0],
    );
    assert_eq!(found, expected);
    assert_eq!(found["argus"], ["1.27", "4.50", "167"]);

    let bases: Vec<(String, i64)> = ask(&session, "SELECT basis, excluded FROM client_cost");
    assert_eq!(bases, [("cpu_peak".into(), 13), ("cpu_peak".into(), 0), ("cpu_peak".into(), 0)]);
}

#[test]
fn resources_of_every_cell_at_the_printed_precision() {
    let Some(published) = Published::open(&[SCALING]) else { return };
    let expected = printed(&published.root.join("expected/resource_cells.csv"), 5);
    assert_eq!(expected.len(), 180);
    let found = computed(
        &published.session(),
        "SELECT tier || ' ' || response_format || ' ' || query_class || ' '
           || CAST(concurrency AS VARCHAR) || ' ' || target,
           cpu_cores, 1e3 * cpu_s_per_request,
           mem_mean_bytes / 1073741824.0, mem_peak_bytes / 1073741824.0
         FROM resource_cells",
        &[2, 1, 2, 2],
    );
    let columns = ["cores", "CPU per request", "memory", "peak memory"];
    // As above: the published rungs are rounded, here to microseconds.
    assert_eq!(
        differences(&expected, &found, &columns),
        [
            "16 votable Q13 32 argus-scaling3: CPU per request 383.8, 383.9",
            "8 csv Q11 32 dachs-scaling3: CPU per request 378.3, 378.2",
        ]
    );
}

#[test]
fn efficiency_under_the_mix_at_the_printed_precision() {
    let Some(published) = Published::open(&[SCALING]) else { return };
    let expected = printed(&published.root.join("expected/mix_efficiency.csv"), 4);
    assert_eq!(expected.len(), 36);
    let found = computed(
        &published.session(),
        "SELECT tier || ' ' || response_format || ' ' || CAST(concurrency AS VARCHAR) || ' '
           || target,
           api_workers, rps, cpu_cores, rps_per_core, 1e3 * cpu_s_per_request
         FROM resource_cells WHERE query_class = 'mix'",
        &[0, 1, 2, 1, 1],
    );
    let columns = ["workers", "rps", "cores", "rps per core", "CPU per request"];
    assert_eq!(differences(&expected, &found, &columns), [""; 0]);
}

#[test]
fn the_windows_that_overran() {
    let Some(published) = Published::open(&[SCALING]) else { return };
    let found: Vec<(f64, f64)> = ask(
        &published.session(),
        "SELECT round(value, 1), \"limit\" FROM anomalies
         WHERE kind = 'window overrun' ORDER BY value DESC",
    );
    assert_eq!(found, [(90.0, 66.0), (68.6, 66.0), (66.7, 66.0)]);
}

#[test]
fn the_first_run_is_reproduced() {
    let Some(published) = Published::open(&[FIRST, SCALING]) else { return };
    let session = published.session();
    // The first run has no tiers, so that the smallest of the other is meant.
    let reproduced = format!("reproduce('{FIRST}', '{SCALING}')");
    let found: Vec<(String, i64, i64)> = ask(
        &session,
        &format!(
            "SELECT server, count(*), sum(CASE outcome WHEN 'tie' THEN 1 ELSE 0 END)
             FROM {reproduced} GROUP BY server ORDER BY server"
        ),
    );
    assert_eq!(found, published.expected::<(String, i64, i64)>("reproduce.csv"));

    let (server, class, format, concurrency, gap, tier_a, tier_b): (
        String,
        String,
        String,
        i64,
        f64,
        Option<String>,
        String,
    ) = ask_one(
        &session,
        &format!(
            "SELECT server, query_class, response_format, concurrency, abs(gap), tier_a, tier_b
             FROM {reproduced} ORDER BY abs(gap) DESC LIMIT 1"
        ),
    );
    assert_eq!(
        (&*server, &*class, &*format, concurrency),
        ("argus", "Q01", "csv", 8),
        "the cell with the largest gap"
    );
    assert_eq!(format!("{:.1}%", 100.0 * gap), "5.8%");
    assert_eq!((tier_a, &*tier_b), (None, "8"));
}

#[test]
fn what_more_generator_processes_changed() {
    let Some(published) = Published::open(&[SCALING, TWELVE_PROCESSES]) else { return };
    let session = published.session();
    let shift = format!("shift('{SCALING}', '{TWELVE_PROCESSES}')");
    let expected = printed(&published.root.join("expected/supplementary.csv"), 4);
    assert_eq!(expected.len(), 6);
    let mut found = computed(
        &session,
        &format!(
            "SELECT response_format || ' ' || query_class || ' ' || CAST(concurrency AS VARCHAR)
               || ' ' || server, rps_mean_a, rps_mean_b, 100 * gap
             FROM {shift} WHERE tier = '24'"
        ),
        &[1, 1, 0],
    );
    let (cells,): (i64,) = ask_one(&session, &format!("SELECT count(*) FROM {shift}"));
    assert_eq!(cells, 24, "every cell of the supplementary run has its like");
    assert_eq!(found.len(), 24);
    found.retain(|cell, _| expected.contains_key(cell));
    assert_eq!(found, expected);
}
