//! Names that other people's scripts call: every one there, every one explained.

use tapstat::sql::{Options, Relation, RelationKind};

use super::support::Sandbox;

/// The pinned columns of each relation, after `run` (but for functions). More
/// may follow.
const PINNED: &[(&str, &str)] = &[
    (
        "runs",
        "label started_at ended_at git_sha git_branch git_describe git_dirty corpus_sha256 \
         dataset_sha256 seed scenario measure_seconds host_cpus host_platform layout rungs requests",
    ),
    (
        "rungs",
        "rung tier target server query_class response_format concurrency repetition mode loop \
         offered_rps instances loops requests errors error_fraction elapsed_s window_s rps \
         latency_mean_s latency_p50_s latency_p90_s latency_p95_s latency_p99_s latency_p999_s \
         latency_max_s ttfb_p95_s mean_response_bytes generator_workers generator_cpu_peak \
         generator_cpu_s generator_guard_ok started_at ended_at position",
    ),
    (
        "requests",
        "rung t_start t_offered query_class query_id status error latency_s ttfb_s response_bytes \
         rows pod mode request_id",
    ),
    ("resources", "t container cpu_usec mem_bytes python_procs"),
    (
        "gates",
        "tier target tap_versions taplint_passed taplint_errors taplint_errors_blocking \
         maxrec_default",
    ),
    ("agreement", "tier query_class agrees probes"),
    ("pins", "tier target container key value"),
    ("events", "t kind rung detail"),
    (
        "cells",
        "tier response_format query_class concurrency target server source n rps_mean \
         rps_half_width rps_low rps_high rps_median rps_min rps_max latency_p95_s_mean \
         latency_p95_s_half_width latency_p95_s_median error_fraction_max guard_ok voided_rungs \
         lower_bound requests",
    ),
    (
        "verdicts",
        "tier response_format query_class concurrency verdict reason targets best runner_up ratio",
    ),
    (
        "rung_resources",
        "rung window_s coverage cpu_s cpu_cores cpu_s_per_request mem_mean_bytes mem_peak_bytes \
         api_workers",
    ),
    (
        "resource_cells",
        "tier response_format query_class concurrency target n rps cpu_cores rps_per_core \
         cpu_s_per_request mem_mean_bytes mem_peak_bytes api_workers",
    ),
    (
        "client_cost",
        "target server basis rungs excluded a_s_per_request a_low a_high b_s_per_mib b_low b_high \
         r_squared",
    ),
    (
        "tier_changes",
        "target server response_format query_class concurrency from_tier to_tier change ratio",
    ),
    ("instance_scaling", "query_class concurrency instances loops rps_median efficiency vs_loops"),
    ("sweep", "query_class concurrency target rps latency_p99_s errors instances mem_peak_bytes"),
    ("anomalies", "rung kind value limit detail"),
    (
        "reproduce",
        "server response_format query_class concurrency rps_mean_a rps_mean_b gap outcome",
    ),
    (
        "shift",
        "tier server response_format query_class concurrency rps_mean_a rps_mean_b gap \
         generator_cpu_peak_a generator_cpu_peak_b",
    ),
];

fn catalog() -> Vec<Relation> {
    Sandbox::with_shipped_run().session().catalog().unwrap()
}

#[test]
fn pinned_columns_stand_in_their_order() {
    let catalog = catalog();
    for (name, columns) in PINNED {
        let relation = catalog.iter().find(|relation| relation.name == *name);
        let relation = relation.unwrap_or_else(|| panic!("{name} is missing"));
        let run = (relation.kind != RelationKind::Function).then_some("run");
        let pinned: Vec<&str> = run.into_iter().chain(columns.split_whitespace()).collect();
        let found: Vec<&str> = relation.columns.iter().map(|column| &*column.name).collect();
        assert!(found.starts_with(&pinned), "{name}: expected {pinned:?}, found {found:?}");
    }
}

#[test]
fn printed_tables_have_the_columns_of_their_view() {
    let catalog = catalog();
    let columns = |name: &str| -> Vec<&str> {
        let relation = catalog.iter().find(|relation| relation.name == name);
        let relation = relation.unwrap_or_else(|| panic!("{name} is missing"));
        relation.columns.iter().map(|column| &*column.name).collect()
    };
    // What a view makes of other columns is not printed.
    let made = ["source", "rps_low", "rps_high"];
    for view in ["cells", "resource_cells", "rung_resources", "instance_scaling", "sweep"] {
        let (_, pinned) = PINNED.iter().find(|(name, _)| *name == view).unwrap();
        let printed = columns(&format!("published_{view}"));
        let expected = pinned.split_whitespace().filter(|column| !made.contains(column));
        let expected: Vec<&str> = std::iter::once("run").chain(expected).collect();
        assert!(printed.starts_with(&expected), "{view}: expected {expected:?}, found {printed:?}");
    }
}

#[test]
fn everything_is_explained() {
    for relation in catalog() {
        assert!(!relation.doc.is_empty(), "{}", relation.name);
        for column in &relation.columns {
            assert!(!column.doc.is_empty(), "{}.{}", relation.name, column.name);
        }
        let numbers = relation.columns.iter().filter(|column| column.data_type == "Float64");
        for column in numbers {
            // Of an anomaly, the kind says what its value is.
            let has_unit = !column.unit.is_empty() || relation.name == "anomalies";
            assert!(has_unit, "{}.{} has no unit", relation.name, column.name);
        }
    }
}

#[test]
fn every_relation_answers_where_there_is_no_run() {
    let sandbox = Sandbox::with_shipped_run();
    let session = sandbox.session_with(Options { runs: Some(Vec::new()), ..Options::default() });
    for relation in session.catalog().unwrap() {
        if relation.kind == RelationKind::Function {
            continue;
        }
        let answer = session.query(&format!("SELECT * FROM {}", relation.name)).unwrap();
        assert_eq!(answer.rows(), 0, "{}", relation.name);
        assert_eq!(answer.schema.fields().len(), relation.columns.len(), "{}", relation.name);
    }
}
