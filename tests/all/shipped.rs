//! The run that ships as a printed table says what the paper said.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tapstat::sql::Session;

use super::support::{Sandbox, ask, ask_one, read_csv, sources};

/// A table in the folder `data`.
fn data(name: &str) -> PathBuf {
    sources().join("tests/all/data").join(name)
}

/// Tier, format, class, connections, verdict.
type Verdict = (String, String, String, i64, String);

/// Compares the verdicts of the one run in a store with a published table.
pub fn assert_verdicts(session: &Session, table: &Path) {
    let sorted = |mut verdicts: Vec<Verdict>| {
        verdicts.sort();
        verdicts
    };
    let found = sorted(ask(
        session,
        "SELECT tier, response_format, query_class, concurrency, verdict FROM verdicts",
    ));
    assert_eq!(found.len(), 60);
    assert_eq!(found, sorted(read_csv(table)));

    let mut counts = BTreeMap::<&str, u32>::new();
    for verdict in &found {
        *counts.entry(verdict.4.trim_end_matches("-scaling3")).or_default() += 1;
    }
    let expected = [("argus", 13), ("egernia", 36), ("invalid", 5), ("tie", 6)];
    assert_eq!(counts, BTreeMap::from(expected));
}

/// Compares the counts of tier changes by server with a published table.
pub fn assert_tier_changes(session: &Session, table: &Path) {
    let found: Vec<(String, String, String, i64, i64, i64, i64)> = ask(
        session,
        "SELECT server, from_tier, to_tier,
           sum(CASE change WHEN 'higher' THEN 1 ELSE 0 END),
           sum(CASE change WHEN 'tie' THEN 1 ELSE 0 END),
           sum(CASE change WHEN 'lower' THEN 1 ELSE 0 END),
           sum(CASE change WHEN 'void' THEN 1 ELSE 0 END)
         FROM tier_changes GROUP BY server, from_tier, to_tier
         ORDER BY server, try_cast(from_tier AS INT)",
    );
    assert_eq!(found, read_csv(table));
}

fn sandbox() -> Sandbox {
    Sandbox::with_shipped_run()
}

#[test]
fn sixty_of_sixty_verdicts() {
    assert_verdicts(&sandbox().session(), &data("verdicts.csv"));
}

#[test]
fn tier_changes_by_server() {
    assert_tier_changes(&sandbox().session(), &data("tier_changes.csv"));
}

#[test]
fn every_cell_is_as_printed() {
    let sandbox = sandbox();
    let session = sandbox.session();
    let counts: (i64, i64, i64, i64) = ask_one(
        &session,
        "SELECT count(*), sum(voided_rungs), sum(CASE WHEN guard_ok THEN 0 ELSE 1 END),
           sum(CASE WHEN source = 'published' THEN 1 ELSE 0 END)
         FROM cells",
    );
    assert_eq!(counts, (180, 13, 5, 180));
    let cell: (f64, f64, f64, f64, i64) = ask_one(
        &session,
        "SELECT rps_mean, rps_half_width, rps_low, rps_high, n FROM cells
         WHERE tier = '8' AND response_format = 'csv' AND query_class = 'Q01'
           AND concurrency = 8 AND target = 'argus-scaling3'",
    );
    assert_eq!(cell, (412.0, 37.9, 412.0 - 37.9, 412.0 + 37.9, 3));
    let (resources,): (i64,) = ask_one(&session, "SELECT count(*) FROM resource_cells");
    assert_eq!(resources, 180);
}

#[test]
fn the_protocol_that_ships_with_it_holds() {
    let source: (String, i64) =
        ask_one(&sandbox().session(), "SELECT source, repetitions FROM rule");
    assert_eq!(source, ("protocols/scaling-three-way.toml".to_owned(), 3));
}

#[test]
fn a_printed_table_promises_nothing_about_rungs() {
    let sandbox = sandbox();
    let session = sandbox.session();
    for view in ["rungs", "rung_resources", "client_cost", "anomalies"] {
        let (rows,): (i64,) = ask_one(&session, &format!("SELECT count(*) FROM {view}"));
        assert_eq!(rows, 0, "{view}");
    }
}
