//! Pages of verdicts, as a terminal without a width shows them.

use super::*;
use crate::report::testing::{NO_EXTRA, stamp, view};
use crate::report::{Format, Style};

const CELL_COLUMNS: &str = "run tier response_format query_class concurrency:i target source n:i \
     rps_mean:f rps_half_width:f rps_median:f latency_p95_s_mean:f latency_p95_s_half_width:f \
     lower_bound:b";
const CELL_REST: &str = "rps_min:f rps_max:f latency_p95_s_median:f error_fraction_max:f \
     voided_rungs:i requests:i mode loop offered_rps:f instances:i loops:i";
const VERDICT_COLUMNS: &str = "run tier response_format query_class concurrency:i verdict reason";

fn cells(rows: &str) -> View {
    view("cells", &format!("{CELL_COLUMNS}\n{rows}"), CELL_REST)
}

fn verdicts(rows: &str) -> View {
    view("verdicts", &format!("{VERDICT_COLUMNS}\n{rows}"), NO_EXTRA)
}

fn targets(run: &str, names: &[&str]) -> BTreeMap<String, Vec<String>> {
    BTreeMap::from([(run.to_owned(), names.iter().map(|&name| name.to_owned()).collect())])
}

/// No cell that is promised and missing.
fn no_cells() -> View {
    view("missing_cells", "run cell", "")
}

fn text(page: &Page) -> String {
    page.render(Format::Table, Style::default())
}

#[test]
fn three_targets_in_two_tiers() {
    let cells = cells(
        "one 8  csv Q01 8  argus   computed 3 412.04 37.86 411 0.0218 0.0004 no
         one 8  csv Q01 8  dachs   computed 3 18.0   0.2   18  0.535  0.014  no
         one 8  csv Q01 8  egernia computed 3 208.5  1.4   208 0.050  0.001  no
         one 16 csv Q11 32 argus   computed 3 42.3   1.0   42  0.7    0.01   yes
         one 16 csv Q11 32 egernia computed 1 21.4   _     21  0.468  _      no",
    );
    let verdicts = verdicts(
        "one 8  csv Q01 8  argus      beats
         one 16 csv Q11 32 incomplete missing",
    );
    let page = verdicts_page(
        &cells,
        &verdicts,
        &targets("one", &["argus", "dachs", "egernia"]),
        &no_cells(),
        &[stamp("one")],
    )
    .unwrap();
    assert_eq!(
        text(&page),
        "\
run one

tier 8, csv
──────────────────────────────────────────────────────────────────────────────────────────────────────
class  c    argus rps  argus p95 (s)  dachs rps  dachs p95 (s)  egernia rps  egernia p95 (s)  verdict
──────────────────────────────────────────────────────────────────────────────────────────────────────
Q01    8  412.0 ±37.9   0.022 ±0.000  18.0 ±0.2   0.535 ±0.014   208.5 ±1.4     0.050 ±0.001  argus
──────────────────────────────────────────────────────────────────────────────────────────────────────

tier 16, csv
─────────────────────────────────────────────────────────────────────────────────────────────────────────
class   c   argus rps  argus p95 (s)  dachs rps  dachs p95 (s)  egernia rps  egernia p95 (s)  verdict
─────────────────────────────────────────────────────────────────────────────────────────────────────────
Q11    32  ≥42.3 ±1.0   0.700 ±0.010          —              —         21.4            0.468  incomplete
─────────────────────────────────────────────────────────────────────────────────────────────────────────

2 comparisons: argus 1, incomplete 1
- incomplete, missing (1): tier 16, csv, Q11, c=32

≥: the generator was near its limit, the figure is a lower bound
rule: confidence 0.95, tie floor 0.1, error ceiling 0.01, guard limit 0.6, min coverage 0.8, estimator mean (defaults)
method: mean ± t(0.975, n−1)·s/√n over n repetitions
n: 1 to 3 repetitions in a cell
inputs of one: 1 file, sha256 0123456789abcdef
"
    );
}

#[test]
fn one_target_has_no_verdict() {
    let cells = cells("one _ - respond 64 a published _ 50100 _ _ _ _ _");
    let verdicts = verdicts("one _ - respond 64 _ one~target");
    let page =
        verdicts_page(&cells, &verdicts, &targets("one", &["a"]), &no_cells(), &[stamp("one")])
            .unwrap();
    let text = text(&page);
    assert!(
        text.starts_with(
            "\
run one
─────────────────────────────────────────
class     c    a rps  a p95 (s)  verdict
─────────────────────────────────────────
respond  64  50100.0          —  —
"
        ),
        "{text}"
    );
    assert!(text.contains("\n1 comparison: nothing to compare 1\n"), "{text}");
    assert!(text.contains("\nfigures: as published, not recomputed\n"), "{text}");
    assert!(text.contains("\nn: unknown\n"), "{text}");
}

#[test]
fn targets_can_be_left_out_and_the_verdict_stays() {
    let cells = cells("one _ csv Q01 8 b computed 3 10 1 10 0.1 0.01 no");
    let verdicts = verdicts(
        "one _ csv Q01 8  a   beats
         one _ csv Q01 32 tie touch",
    );
    let page =
        verdicts_page(&cells, &verdicts, &targets("one", &["b"]), &no_cells(), &[stamp("one")])
            .unwrap();
    let markdown = page.render(Format::Markdown, Style::default());
    assert!(
        markdown.contains(
            "\
| class |   c |     b rps |    b p95 (s) | verdict |
| ----- | --: | --------: | -----------: | ------- |
| Q01   |   8 | 10.0 ±1.0 | 0.100 ±0.010 | a       |
| Q01   |  32 |         — |            — | tie     |
"
        ),
        "{markdown}"
    );
}

#[test]
fn the_median_stands_where_the_rule_says_so() {
    let cells = cells("one _ csv Q01 8 a computed 3 10 1 12 0.1 0.01 no");
    let verdicts = verdicts("one _ csv Q01 8 a beats");
    let mut stamp = stamp("one");
    stamp.rule.estimator = Estimator::Median;
    let page =
        verdicts_page(&cells, &verdicts, &targets("one", &["a"]), &no_cells(), &[stamp]).unwrap();
    let text = text(&page);
    assert!(text.contains("12.0 ±1.0"), "{text}");
    assert!(text.contains("method: median ± the half-width of the mean"), "{text}");
}

#[test]
fn no_comparison_gives_an_empty_table() {
    let page =
        verdicts_page(&cells(""), &verdicts(""), &BTreeMap::new(), &no_cells(), &[]).unwrap();
    assert_eq!(
        text(&page),
        "──────────────────\nclass  c  verdict\n──────────────────\n──────────────────\n"
    );
}

#[test]
fn verdicts_are_coloured_by_kind_and_never_by_colour_alone() {
    for (verdict, tone) in [("tie", Tone::Even), ("invalid", Tone::Bad), ("argus", Tone::Good)] {
        assert_eq!(verdict_cell(Some(verdict)), Cell::toned(verdict, tone));
    }
    assert_eq!(verdict_cell(None), Cell::toned(MISSING, Tone::Plain));
}

#[test]
fn a_query_without_a_column_is_an_error_that_names_it() {
    let error = verdicts_page(&verdicts(""), &verdicts(""), &BTreeMap::new(), &no_cells(), &[])
        .unwrap_err();
    assert!(error.to_string().contains("gives no column `target`"), "{error}");
}

#[test]
fn missing_cells_are_listed_under_their_run() {
    let verdicts = verdicts("one _ csv Q01 8 tie touch");
    let missing = view("missing_cells", "run cell\none c-csv-Q01-c8\ntwo d-csv-Q01-c8", "");
    let targets = targets("one", &["a"]);
    let page = verdicts_page(&cells(""), &verdicts, &targets, &missing, &[stamp("one")]).unwrap();
    let text = text(&page);
    assert!(
        text.contains("- missing, of what the protocol promises (1 cell): c-csv-Q01-c8\n"),
        "{text}"
    );
    assert!(!text.contains("d-csv"), "{text}");
}
