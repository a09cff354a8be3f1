//! Published runs and tables.

use std::fs;
use std::path::Path;

use super::super::{
    Agreement, Burst, Cell, CellKey, Gate, InstanceScaling, ResourceCell, Run, RungResources, Sweep,
};
use super::{Folder, published, warnings};

const SUMMARY: &str = "target,query_class,concurrency,repetition,requests,errors,rps,window_s\n\
    one,Q,8,1,100,0,10,\n\
    one,Q,8,2,100,0,10,9.5\n";

fn text(value: &str) -> Option<String> {
    Some(value.to_owned())
}

fn key(tier: Option<&str>, target: &str) -> CellKey {
    CellKey {
        tier: tier.map(str::to_owned),
        response_format: "csv".into(),
        query_class: "Q01".into(),
        concurrency: 8,
        target: target.into(),
    }
}

#[test]
fn resources_of_rungs() {
    let resources = "target,query_class,concurrency,repetition,requests,rps,window_seconds,\
        coverage,cpu_seconds,cpu_seconds_per_request,api_workers,mystery\n\
        one,Q,8,2,100,10.0,9.8,1.01,4.5,0.045,3,x\n\
        one,Q,8,1,,,9.7,,,,,\n";
    let run = Folder::new().with("summary.csv", SUMMARY).with("resources.csv", resources).read();
    let windows: Vec<_> = run.rungs.iter().map(|rung| rung.window_s).collect();
    assert_eq!(windows, [Some(9.7), Some(9.5)]);
    let expected = [
        RungResources {
            rung: "one---Q-c8-r1".into(),
            window_s: Some(9.7),
            ..RungResources::default()
        },
        RungResources {
            rung: "one---Q-c8-r2".into(),
            window_s: Some(9.8),
            coverage: Some(1.01),
            cpu_s: Some(4.5),
            cpu_s_per_request: Some(0.045),
            api_workers: Some(3),
            ..RungResources::default()
        },
    ];
    assert_eq!(run.published.rung_resources, expected);
    assert_eq!(warnings(&run), ["resources.csv: fields not known, left out: mystery"]);
}

#[test]
fn resources_that_fit_no_rung_are_refused() {
    let refusal = |row: &str| {
        let header = "target,query_class,concurrency,repetition,requests,rps";
        let resources = format!("{header}\n{row}\n");
        Folder::new().with("summary.csv", SUMMARY).with("resources.csv", resources).refusal()
    };
    assert_eq!(
        refusal("two,Q,8,1,,"),
        "resources.csv:2: rung `two---Q-c8-r1` is not among the rungs of the run: expected one of them"
    );
    assert_eq!(
        refusal("one,Q,8,1,,\none,Q,8,1,,"),
        "resources.csv:3: rung `one---Q-c8-r1` stands at resources.csv:2 already: expected it once"
    );
    assert_eq!(
        refusal("one,Q,8,1,101,"),
        "resources.csv:2: field `requests`: expected 100 as at summary.csv:2, found 101"
    );
    assert_eq!(
        refusal("one,Q,8,1,,12"),
        "resources.csv:2: field `rps`: expected 10 within 1% as at summary.csv:2, found 12"
    );
}

#[test]
fn cells_and_their_resources() {
    let cells = "tier,response_format,query_class,concurrency,target,server,rps_mean,\
        rps_half_width,guard_ok,voided_rungs,error_fraction_max\n\
        8,csv,Q01,8,one,argus,412.0,37.9,False,1,0.0\n,csv,Q01,8,two,,1,,,,\n";
    let resources = "tier,response_format,query_class,concurrency,target,cpu_cores,\
        cpu_ms_per_request,mem_mean_gib,mem_peak_bytes\n8,csv,Q01,8,one,3.70,9.0,2.5,7\n";
    let run = Folder::new()
        .with("cells.csv", cells)
        .with("resource_cells.csv", resources)
        .with("environment.json", r#"{"target": {"two": {"server": "dachs"}}}"#)
        .read();
    let expected = [
        Cell {
            key: key(Some("8"), "one"),
            server: "argus".into(),
            rps_mean: 412.0,
            rps_half_width: Some(37.9),
            guard_ok: Some(false),
            voided_rungs: Some(1),
            error_fraction_max: Some(0.0),
            ..Cell::default()
        },
        Cell { key: key(None, "two"), server: "dachs".into(), rps_mean: 1.0, ..Cell::default() },
    ];
    assert_eq!(run.published.cells, expected);
    let expected = ResourceCell {
        key: key(Some("8"), "one"),
        cpu_cores: Some(3.7),
        cpu_s_per_request: Some(0.009),
        mem_mean_bytes: Some(2.5 * 1_073_741_824.0),
        mem_peak_bytes: Some(7.0),
        ..ResourceCell::default()
    };
    assert_eq!(run.published.resource_cells, [expected]);
    assert!(run.rungs.is_empty());
    assert_eq!(warnings(&run), [""; 0]);
}

#[test]
fn instance_scaling_long_and_wide() {
    let wide = "scenario,connections,rps_1_instance,rps_2_instances,efficiency_2,vs_1x2_loops,\
        rps_4_instances,efficiency_4,vs_1x4_loops\n\
        respond,64,50100,100200,1.00,1.03,151000,0.75,1.1\nphp,64,10,,,,20,0.5,\n";
    let long = "query_class,concurrency,instances,loops,rps_median,efficiency,vs_loops\n\
        respond,64,1,1,50100,,\nrespond,64,2,1,100200,1.00,1.03\n\
        respond,64,4,1,151000,0.75,1.1\nphp,64,1,1,10,,\nphp,64,4,1,20,0.5,\n";
    let read = |text| Folder::new().with("instance_scaling.csv", text).read();
    let steps = read(wide).published.instance_scaling;
    let second = InstanceScaling {
        query_class: "respond".into(),
        concurrency: 64,
        instances: 2,
        loops: Some(1),
        rps_median: 100_200.0,
        efficiency: Some(1.0),
        vs_loops: Some(1.03),
        target: None,
    };
    assert_eq!(steps[1], second);
    assert_eq!(steps, read(long).published.instance_scaling);
}

#[test]
fn sweeps_and_bursts() {
    let run = Folder::new()
        .with(
            "sweep.csv",
            "path,connections,rps,latency_p99_ms,errors,instances,rss_mib\nrespond,8,49600,0.17,0,1,32\n",
        )
        .with(
            "bursts.csv",
            "burst,connections,duration_s,gap_s,rps,latency_p99_ms,errors,instances_at_end\n1,1024,5,8,47000,24,0,3\n",
        )
        .read();
    let sweep = Sweep {
        query_class: "respond".into(),
        concurrency: 8,
        target: None,
        rps: 49_600.0,
        latency_p99_s: Some(0.000_17),
        errors: Some(0),
        instances: Some(1),
        mem_peak_bytes: Some(33_554_432.0),
    };
    assert_eq!(run.published.sweep, [sweep]);
    let burst = Burst {
        burst: 1,
        concurrency: 1024,
        duration_s: Some(5.0),
        gap_s: Some(8.0),
        rps: 47_000.0,
        latency_p99_s: Some(0.024),
        errors: Some(0),
        instances_at_end: Some(3),
    };
    assert_eq!(run.published.bursts, [burst]);
    assert_eq!(warnings(&run), [""; 0]);
}

#[test]
fn gates_as_documents_and_as_tables() {
    let document = r#"{
        "agreement": {"agreed": ["Q01"], "classes": {"Q01": {"agrees": true, "detail": [{}, {}]}}},
        "targets": {"one": {
            "taplint": {"passed": true, "errors_total": 2, "errors_blocking": 0, "by_stage": {}},
            "vosi": {"tap_versions": ["1.1", "1.0"], "maxrec_default": 20000}
        }}
    }"#;
    let table = "tier,target,tap_version,taplint,taplint_errors,taplint_errors_blocking,maxrec_default\n\
        16,one,1.1 1.0,PASS,2,0,20000\n8,one,1.1 1.0,PASS,2,0,20000\n";
    let agreement = "tier,query_class,agrees,probes\n16,Q01,true,2\n8,Q01,True,2\n";
    let folder =
        || Folder::new().with("cells.csv", "target,query_class,concurrency,rps_mean\na,b,1,1\n");
    let documents =
        folder().with("t16-gates.json", document).with("t8-gates.json", document).read();
    let tables = folder().with("gates.csv", table).with("agreement.csv", agreement).read();

    let gate = Gate {
        tier: text("8"),
        target: "one".into(),
        tap_versions: text("1.1 1.0"),
        taplint_passed: Some(true),
        taplint_errors: Some(2),
        taplint_errors_blocking: Some(0),
        maxrec_default: Some(20_000),
    };
    assert_eq!(documents.gates, [gate.clone(), Gate { tier: text("16"), ..gate }]);
    let agreed = Agreement { tier: text("8"), query_class: "Q01".into(), agrees: true, probes: 2 };
    assert_eq!(documents.agreement, [agreed.clone(), Agreement { tier: text("16"), ..agreed }]);
    assert_eq!(tables.gates, documents.gates);
    assert_eq!(tables.agreement, documents.agreement);

    let without_tier = folder().with("gates.json", r#"{"targets": {"one": {}}}"#).read();
    assert_eq!(without_tier.gates, [Gate { target: "one".into(), ..Gate::default() }]);
}

#[test]
fn tables_that_say_a_thing_twice_are_refused() {
    let refusal = |name: &str, text: &str| Folder::new().with(name, text).refusal();
    assert_eq!(
        refusal("cells.csv", "target,query_class,concurrency,rps_mean\na,b,1,1\na,b,1,2\n"),
        "cells.csv:3: cell `a---b-c1` stands at cells.csv:2 already: expected it once"
    );
    assert_eq!(
        refusal("sweep.csv", "path,connections,rps\n/,1,1\n/,1,1\n"),
        "sweep.csv:3: `/` of `-` at 1 stands at sweep.csv:2 already: expected it once"
    );
    assert_eq!(
        refusal("bursts.csv", "burst,connections,rps\n1,1,1\n1,1,1\n"),
        "bursts.csv:3: burst 1 at 1 stands at bursts.csv:2 already: expected it once"
    );
    assert_eq!(
        refusal("instance_scaling.csv", "path,connections,rps_1_instance\n/,1,1\n/,1,1\n"),
        "instance_scaling.csv:3: `/` of `-` at 1 with 1x1 stands at instance_scaling.csv:2 already: expected it once"
    );
    assert_eq!(
        refusal("cells.csv", "target,query_class,concurrency,rps_mean\n"),
        "cells.csv: expected at least one row, found none"
    );
    let gates = Folder::new().with("summary.csv", SUMMARY).with("gates.csv", "target\na\na\n");
    assert_eq!(
        gates.refusal(),
        "gates.csv:3: gate of `a` in a run without tiers stands at gates.csv:2 already: expected it once"
    );
}

fn read(path: &Path) -> Run {
    let run = super::RunDir::open(path).unwrap().read().unwrap();
    assert_eq!(warnings(&run), [""; 0]);
    run
}

#[test]
fn the_published_runs() {
    let Some(published) = published() else { return };
    for (name, rungs, voided, requests) in [
        ("20260911T065452Z-41bfc513-tap-compare", 180, 0, None),
        ("20260912T225808Z-d43b538d-tap-compare-scaling", 540, 13, Some(4_407_102)),
        ("20260913T115758Z-f79672d9-tap-compare-scaling", 72, 0, None),
    ] {
        let run = read(&published.join(name));
        assert_eq!(run.rungs.len(), rungs, "{name}");
        let tripped = run.rungs.iter().filter(|rung| rung.generator_guard_ok == Some(false));
        assert_eq!(tripped.count(), voided, "{name}");
        let total: i64 = run.rungs.iter().map(|rung| rung.requests).sum();
        assert_eq!(total, requests.unwrap_or(total), "{name}");
        let resources = run.published.rung_resources.len();
        assert!(resources == 0 || resources == rungs, "{name}: {resources}");
    }
}

#[test]
fn the_published_tables() {
    let Some(published) = published() else { return };
    let copy = |names: &[(&str, &str)]| {
        let folder = Folder::new();
        names.iter().fold(folder, |folder, (from, to)| {
            folder.with(to, fs::read(published.join(from)).unwrap())
        })
    };
    let tables = copy(&[
        ("expected/cells.csv", "cells.csv"),
        ("expected/resource_cells.csv", "resource_cells.csv"),
        ("expected/gates.csv", "gates.csv"),
        ("examples/t8-gates.json", "pins/t8-gates.json"),
    ]);
    let run = read(&tables.path());
    let Run { published: printed, gates, .. } = run;
    let counts = (printed.cells.len(), printed.resource_cells.len(), gates.len());
    assert_eq!(counts, (180, 180, 9));

    let adaptive = copy(&[
        ("adaptive-runtime/d1_instances.csv", "instance_scaling.csv"),
        ("adaptive-runtime/d5_sweep.csv", "sweep.csv"),
        ("adaptive-runtime/d5_bursts.csv", "bursts.csv"),
        ("examples/t8-gates.json", "t8-gates.json"),
    ]);
    let run = read(&adaptive.path());
    let Run { published: printed, gates, agreement, .. } = run;
    let counts = (printed.instance_scaling.len(), printed.sweep.len(), printed.bursts.len());
    assert_eq!(counts, (27, 14, 3));
    assert_eq!((gates.len(), agreement.len()), (2, 2));
    assert_eq!(gates[0].taplint_errors, Some(0));
}
