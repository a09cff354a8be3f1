//! The pages of each command about the run that ships with the project.

use snapbox::file;

use crate::support::Sandbox;

#[test]
fn cells() {
    let sandbox = Sandbox::with_shipped_run();
    let arguments = ["cells", "--tier", "24", "--class", "Q11", "--response-format", "csv"];
    let page = sandbox.tapstat(&arguments).assert().success().stderr_eq("");
    page.stdout_eq(file!["cells.stdout"]);
}

#[test]
fn verdicts_as_markdown_under_another_rule() {
    let sandbox = Sandbox::with_shipped_run();
    let arguments = [
        "verdicts",
        "--tier",
        "8",
        "--class",
        "Q13,mix",
        "--target",
        "egernia*,argus*",
        "--tie-floor",
        "0.5",
        "--format",
        "markdown",
    ];
    let page = sandbox.tapstat(&arguments).assert().success().stderr_eq("");
    page.stdout_eq(file!["verdicts.md"]);
}

#[test]
fn resources() {
    let sandbox = Sandbox::with_shipped_run();
    let arguments = ["resources", "--tier", "8,16", "--class", "Q01,mix", "--target", "egernia*"];
    let page = sandbox.tapstat(&arguments).assert().success().stderr_eq("");
    page.stdout_eq(file!["resources.stdout"]);
}

#[test]
fn tiers() {
    let sandbox = Sandbox::with_shipped_run();
    let arguments = ["tiers", "--class", "Q01,Q11", "--target", "argus*"];
    let page = sandbox.tapstat(&arguments).assert().success().stderr_eq("");
    page.stdout_eq(file!["tiers.stdout"]);
}

#[test]
fn runs() {
    let sandbox = Sandbox::with_shipped_run();
    let page = sandbox.tapstat(&["runs"]).assert().success().stderr_eq("");
    page.stdout_eq(file!["runs.stdout"]);
}

#[test]
fn rows_carry_the_rule_and_the_inputs() {
    let sandbox = Sandbox::with_shipped_run();
    let arguments = ["verdicts", "--tier", "8", "--class", "mix", "--estimator", "median"];
    let rows = sandbox.tapstat(&arguments).args(["--format", "csv"]).assert().success();
    rows.stdout_eq(file!["verdicts.csv"]).stderr_eq("");
}

#[test]
fn what_matches_nothing_is_said_so_and_has_its_header() {
    let sandbox = Sandbox::with_shipped_run();
    let nothing = sandbox.tapstat(&["sweep", "--format", "csv"]).assert().success();
    nothing
        .stdout_eq(
            "run,query_class,concurrency,target,rps,latency_p99_s,errors,instances,\
             mem_peak_bytes,tier,response_format,mode,loop,offered_rps,rule,inputs_sha256\n",
        )
        .stderr_eq("tapstat: note: nothing matches\n");
}
