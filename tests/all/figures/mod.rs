//! Figures: what they show, that they are the same every time, what is said where
//! there is none.

mod layout;
mod shapes;

use std::fs;

use tapstat::figure::{Drawn, Figure, Filter, Name, Request, Width, draw, font_face_css};
use tapstat::sql::Session;

use crate::support::{SCALING, Sandbox, assert, golden, published, sources};
use shapes::{Shape, instances};

fn figure_of(session: &Session, name: Name, run: &str, filter: Filter) -> Figure {
    against(session, name, run, None, filter)
}

fn against(
    session: &Session,
    name: Name,
    run: &str,
    against: Option<&str>,
    filter: Filter,
) -> Figure {
    let request = Request { session, run, against, filter, width: Width::Column };
    match draw(name, &request).unwrap() {
        Drawn::Figure(figure) => figure,
        Drawn::Unavailable(why) => panic!("{name} of {run}: {why}"),
    }
}

fn why_not(session: &Session, name: Name, run: &str, filter: Filter) -> String {
    let request = Request { session, run, against: None, filter, width: Width::Page };
    match draw(name, &request).unwrap() {
        Drawn::Figure(_) => panic!("{name} of {run} was drawn"),
        Drawn::Unavailable(why) => why,
    }
}

/// The texts that are drawn.
fn texts(svg: &str) -> Vec<&str> {
    svg.split("<text ")
        .skip(1)
        .map(|part| part.split_once('>').unwrap().1.split_once("</text>").unwrap().0)
        .collect()
}

fn assert_texts(svg: &str, expected: &[&str]) {
    let found = texts(svg);
    for text in expected {
        assert!(found.contains(text), "no `{text}` in {found:?}");
    }
}

fn classes(classes: &[&str]) -> Filter {
    Filter { classes: classes.iter().map(|&class| class.to_owned()).collect(), ..Filter::default() }
}

#[test]
fn vertical_scaling_is_the_papers() {
    let sandbox = Sandbox::with_shipped_run();
    let session = sandbox.session();
    let figure = figure_of(&session, Name::VerticalScaling, SCALING, Filter::default());
    let svg = figure.svg();
    assert_texts(
        &svg,
        &[
            "mix, csv, c = 32",
            "egernia ×3.64",
            "dachs ×1.26",
            "argus ×1.27",
            "throughput (requests/s, log scale)",
            "CPU used (cores)",
            "CPU time per request (ms, log scale)",
        ],
    );
    for value in [
        "egernia-scaling3, tier 24: throughput 609 ±",
        "egernia-scaling3, tier 24: CPU used 6.67 cores, n = 3",
        "egernia-scaling3, tier 8: CPU time per request 10.4 ms, n = 3",
    ] {
        assert!(svg.contains(&format!("<title>{value}")), "{value}");
    }
    assert!(figure.alt.contains("egernia 167 at tier 8, 324 at tier 16 and 609 at tier 24, ×3.64"));
    assert!(figure.notes.iter().any(|note| note.starts_with("rule: confidence 0.95")));
    assert!(figure.notes.contains(&"n: 3 repetitions in every cell".to_owned()));
    assert!(figure.notes.iter().any(|note| note.contains("sha256")), "{:?}", figure.notes);

    let drawing = svg.replace(&font_face_css(), "");
    assert().eq(drawing, golden("tests/all/figures/vertical-scaling.svg"));
}

#[test]
fn void_and_lower_bounds_are_marked() {
    let sandbox = Sandbox::with_shipped_run();
    let session = sandbox.session();
    let figure = figure_of(&session, Name::VerticalScaling, SCALING, classes(&["Q11"]));
    let svg = figure.svg();
    assert_texts(&svg, &["argus ≥ ×1.51", "lower bound: the generator was near its limit"]);
    assert!(svg.contains("argus-scaling3, tier 16: throughput ≥ 39.1"), "no lower bound");
    let figure = figure_of(&session, Name::VerticalScaling, SCALING, classes(&["Q01"]));
    let svg = figure.svg();
    assert_texts(&svg, &["void: the load generator was at its limit"]);
    assert!(svg.contains("void: 1 of its rungs stopped by the guard</title>"));
    // Hollow, on a dashed line.
    assert!(svg.contains("stroke-dasharray"));
    assert!(
        figure.notes.contains(
            &"hollow: argus-scaling3 at tier 24, 1 of its rungs voided by the guard".to_owned()
        ),
        "{:?}",
        figure.notes
    );
}

#[test]
fn a_lower_bound_over_a_sound_figure_is_at_least_that_gain() {
    let sandbox = Sandbox::new();
    let run = sandbox.run("bound");
    let rung = |target: &str, tier: &str, rps: f64, peak: f64| {
        crate::support::Rung::new(target, 1)
            .with("tier", tier)
            .with("rps", rps)
            .with("generator_cpu_peak", peak)
    };
    run.rungs([
        rung("a", "8", 10.0, 0.1),
        rung("a", "16", 30.0, 0.5),
        rung("b", "8", 50.0, 0.5),
        rung("b", "16", 100.0, 0.2),
    ]);
    sandbox.ingest(run);
    let svg =
        figure_of(&sandbox.session(), Name::VerticalScaling, "bound", Filter::default()).svg();
    assert_texts(&svg, &["a ≥ ×3.00", "b ≤ ×2.00"]);
    assert!(!svg.contains("CPU used"), "a panel without figures");
}

#[test]
fn verdicts_are_those_of_the_view() {
    let sandbox = Sandbox::with_shipped_run();
    let session = sandbox.session();
    let figure = figure_of(&session, Name::Verdicts, SCALING, Filter::default());
    let svg = figure.svg();
    let found = texts(&svg);
    let count = |word: &str| found.iter().filter(|text| **text == word).count();
    // Each in the legend once more, but for the void ones.
    assert_eq!((count("egernia"), count("argus"), count("tie"), count("void")), (37, 14, 7, 5));
    assert_eq!(figure.alt, "Of 60 comparisons: egernia 36, argus 13, tie 6 and invalid 5.");
    assert!(svg.contains("<title>tier 8, mix, csv, c = 32: egernia-scaling3, egernia-scaling3 ×6.80 over argus-scaling3 (beats every other)</title>"));
    assert!(figure.notes.iter().any(|note| note.contains("Q01, csv, c = 32: voided rung")));
}

#[test]
fn client_cost_is_that_of_the_view() {
    let Some(published) = published() else { return };
    let sandbox = Sandbox::with_runs([published.join(SCALING)]);
    let session = sandbox.session();
    let figure = figure_of(&session, Name::ClientCost, SCALING, Filter::default());
    let svg = figure.svg();
    let found = texts(&svg).join("\n");
    for line in ["1.27 ±0.19 ms + 4.50 ±0.15 ms/MiB, R² 0.956", "egernia: 0.55 ±0.05 ms + 1.07"]
    {
        assert!(found.contains(line), "{line}: {found}");
    }
    // Every rung, and three lines.
    assert_eq!(svg.matches("class=\"mark\"").count(), 540 + 3);
    assert_eq!(svg.matches("void: stopped by the guard").count(), 13);
}

#[test]
fn reproduction_has_its_ties_and_its_band() {
    let Some(published) = published() else { return };
    let (first, extra) =
        ("20260911T065452Z-41bfc513-tap-compare", "20260913T115758Z-f79672d9-tap-compare-scaling");
    let sandbox = Sandbox::with_runs([first, SCALING, extra].map(|run| published.join(run)));
    let session = sandbox.session();
    let figure = against(&session, Name::Reproduction, SCALING, Some(first), Filter::default());
    let svg = figure.svg();
    assert_texts(&svg, &["argus: 20 of 20 tie, largest gap −5.8%", "tie band: ±10%"]);
    // Both runs have argus's widest class near the generator's limit.
    assert!(svg.contains("argus, tier 8, Q11, csv, c = 8: ≥ 27.3 against ≥ 27.5 requests/s"));
    let bounds = figure.notes.iter().filter(|note| note.starts_with("lower bound: ")).count();
    assert_eq!(bounds, 2, "{:?}", figure.notes);
    let figure = against(&session, Name::Reproduction, extra, Some(SCALING), Filter::default());
    let svg = figure.svg();
    assert_texts(&svg, &["dachs: 8 of 8 tie, largest gap −2.7%"]);
    assert!(
        figure.notes.iter().any(|note| note.starts_with("not comparable: the apparatus differs")),
        "{:?}",
        figure.notes
    );
}

#[test]
fn latency_and_resources_come_from_samples() {
    let sandbox = Sandbox::new();
    let run = Shape { voided: true, ..Shape::new("voided") }.ingest(&sandbox);
    let session = sandbox.session();
    let latency = figure_of(&session, Name::Latency, &run, Filter::default());
    let svg = latency.svg();
    assert_texts(&svg, &["mix, csv, c = 32, tier 24", "argus", "egernia", "50", "90"]);
    // Three targets, two repetitions each, at the largest tier.
    assert_eq!(svg.matches("class=\"mark\"").count(), 6);
    assert!(
        latency
            .notes
            .iter()
            .any(|note| note == "hollow: t24-argus-csv-mix-c32-r1 voided by the guard")
    );
    assert!(latency.notes.iter().any(|note| note.starts_with("72 successful requests of 6 rungs")));

    let resources = figure_of(&session, Name::Resources, &run, Filter::default());
    let svg = resources.svg();
    assert_texts(&svg, &["windows of the rungs", "CPU used (cores)", "argus"]);
    assert_eq!(svg.matches("data-rung=").count(), 36);
    assert!(svg.contains("<title>egernia: 2.79 GiB at most</title>"), "{svg}");
    let one = Filter { tiers: vec!["8".to_owned()], ..classes(&["Q01"]) };
    let svg = figure_of(&session, Name::Resources, &run, one).svg();
    assert_eq!(svg.matches("data-rung=").count(), 6);
}

#[test]
fn instances_and_sweeps_are_as_printed() {
    let run = "20261012-adaptive-runtime";
    let sandbox = Sandbox::with_runs([sources().join("runs").join(run)]);
    let session = sandbox.session();
    let figure = figure_of(&session, Name::InstanceScaling, run, Filter::default());
    assert_texts(&figure.svg(), &["static-1m, c = 64", "0.84", "0.69", "0.50", "0.33", "N = 3"]);
    assert!(figure.alt.contains("php, c = 64 0.33"), "{}", figure.alt);
    assert!(figure.notes.iter().any(|note| note.contains("printed rounded")));
    let figure = figure_of(&session, Name::Sweep, run, Filter::default());
    let svg = figure.svg();
    assert_texts(
        &svg,
        &[
            "respond",
            "static-small",
            "burst 3",
            "144.5k requests/s, 99th 10 ms, 3 inst.",
            "no request failed",
        ],
    );
    assert!(
        svg.contains(
            "<title>respond, 1024 connections: 99th percentile of latency 10.1 ms</title>"
        )
    );
    assert!(svg.contains("<title>respond, 32 connections: instances at the end 2.00</title>"));

    let sandbox = Sandbox::new();
    instances(&sandbox, "native", 2, "");
    let session = sandbox.session();
    let svg = figure_of(&session, Name::Sweep, "native", Filter::default()).svg();
    assert!(svg.contains("1 failed requests"), "{svg}");
    assert_texts(&svg, &["hollow: some requests failed"]);
}

#[test]
fn the_same_figure_is_the_same_bytes() {
    let sandbox = Sandbox::with_shipped_run();
    for suffix in ["svg", "png", "pdf"] {
        let files = ["one", "two"].map(|name| format!("{name}.{suffix}"));
        for file in &files {
            let arguments =
                ["figure", "vertical-scaling", "--width", "column", "--dpi", "96", "-o", file];
            sandbox.tapstat(&arguments).assert().success().stdout_eq("");
        }
        let bytes = files.map(|file| fs::read(sandbox.path(&file)).unwrap());
        assert!(bytes[0] == bytes[1], "{suffix}");
        let magic: &[u8] = match suffix {
            "svg" => b"<svg ",
            "png" => b"\x89PNG\r\n\x1a\n",
            _ => b"%PDF-",
        };
        assert!(bytes[0].starts_with(magic), "{suffix}");
        assert!(bytes[0].len() > 5000, "{suffix}");
    }
}

#[test]
fn an_inline_figure_is_part_of_its_page() {
    let sandbox = Sandbox::with_shipped_run();
    let session = sandbox.session();
    let figure = figure_of(&session, Name::VerticalScaling, SCALING, Filter::default());
    let svg = figure.inline_svg("f1-");
    assert!(!svg.contains("@font-face") && !svg.contains("<style"));
    assert!(svg.contains("role=\"img\" aria-labelledby=\"f1-title f1-desc\""));
    assert!(svg.contains("<desc id=\"f1-desc\">Throughput in requests a second"));
    assert!(svg.contains("fill:var(--fig-text,#1a1a1a)"));
    assert!(svg.contains("data-target=\"egernia-scaling3\" data-tier=\"24\""));
    assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
    assert!(figure.svg().contains(&font_face_css()));
}

#[test]
fn names_cannot_break_out_of_the_drawing() {
    let sandbox = Sandbox::new();
    let name = "<b>&\"q\"</b>\u{7}\u{e000}0\u{202e}1";
    let run = sandbox.run("odd");
    run.rungs(["8", "16"].map(|tier| {
        crate::support::Rung::new("a", 1).with("tier", tier).with("query_class", name)
    }));
    if sandbox.try_ingest(run).is_err() {
        // Such a name does not get as far as a figure.
        return;
    }
    let svg = figure_of(&sandbox.session(), Name::VerticalScaling, "odd", Filter::default()).svg();
    assert!(svg.contains("&lt;b&gt;&amp;"), "{svg}");
    assert!(!svg.contains("<b>") && !svg.contains(['\u{7}', '\u{e000}', '\u{202e}']));
}

#[test]
fn what_a_run_cannot_give_is_said_with_the_reason() {
    let runs = sources().join("runs");
    let adaptive = "20261012-adaptive-runtime";
    let sandbox = Sandbox::with_runs([SCALING, adaptive].map(|run| runs.join(run)));
    let session = sandbox.session();
    let all = Filter::default;
    let printed = "the run has no rungs, only what a table printed of them";
    for (name, run, why) in [
        (Name::ClientCost, SCALING, printed),
        (Name::Reproduction, SCALING, "no other run to set it against: --against names one"),
        (Name::Latency, SCALING, "the run's single requests are not in the store"),
        (Name::Resources, SCALING, "the run has no samples of resources"),
        (Name::InstanceScaling, SCALING, "no scenario was measured with prescribed instances"),
        (Name::Sweep, SCALING, "no sweep over connections was measured"),
        (Name::VerticalScaling, adaptive, "the run has no cells"),
        (Name::Verdicts, adaptive, "the run has no cells to compare"),
    ] {
        assert_eq!(why_not(&session, name, run, all()), why, "{name}");
    }
    assert_eq!(
        why_not(&session, Name::VerticalScaling, SCALING, classes(&["Q99"])),
        "no cell matches"
    );
    let request = Request {
        session: &session,
        run: SCALING,
        against: None,
        filter: classes(&["Q0*"]),
        width: Width::Page,
    };
    let error = draw(Name::VerticalScaling, &request).unwrap_err().to_string();
    assert_eq!(
        error,
        "the figure is about one query class, and the filter lets 2 through: Q01, Q05"
    );
}

#[test]
fn one_target_has_nothing_to_compare() {
    let sandbox = Sandbox::new();
    let run = Shape { targets: vec!["only".to_owned()], ..Shape::new("one") }.ingest(&sandbox);
    let why = why_not(&sandbox.session(), Name::Verdicts, &run, Filter::default());
    assert_eq!(why, "the run has one target: nothing to compare");
}

#[test]
fn bad_usage_is_refused() {
    let sandbox = Sandbox::with_shipped_run();
    let refuse = |arguments: &[&str], expected: &str| {
        sandbox.tapstat(arguments).assert().code(2).stdout_eq("").stderr_eq(expected);
    };
    refuse(
        &["figure", "verdicts"],
        "tapstat: error: a figure needs --output FILE, which ends in .svg, .png or .pdf\n",
    );
    refuse(
        &["figure", "verdicts", "-o", "figure.gif"],
        "tapstat: error: figure.gif: its suffix names no kind of figure: expected .svg, .png or .pdf\n",
    );
    refuse(
        &["figure", "verdicts", "-o", "nowhere/figure.svg"],
        "tapstat: error: nowhere/figure.svg: No such file or directory (os error 2)\n",
    );
    refuse(
        &["figure", "sweep", "-o", "figure.svg"],
        &format!("tapstat: error: sweep of {SCALING}: no sweep over connections was measured\n"),
    );
    refuse(&["figure", "--all"], "tapstat: error: --all needs --output DIR\n");
    refuse(&["figure", "--all", "--check", "nowhere"], "tapstat: error: nowhere: no such folder\n");
    refuse(&["figure", "verdicts", "--run", "x", "-o", "a.svg"], "tapstat: error: [..]`x`[..]\n");
    refuse(
        &["figure", "nothing", "-o", "a.svg"],
        "tapstat: error: invalid value 'nothing'[..]\n...\n",
    );
    assert!(!sandbox.path("figure.gif").exists() && !sandbox.path("figure.svg").exists());
}

#[test]
fn figures_are_listed() {
    let sandbox = Sandbox::new();
    let output = sandbox.tapstat(&["figure", "--list"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let names: Vec<&str> = text.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(names, Name::ALL.map(Name::as_str));
}

/// The figures that the project shows are those that its runs give.
#[test]
fn shipped_figures_are_current() {
    let runs = sources().join("runs");
    let sandbox =
        Sandbox::with_runs([SCALING, "20261012-adaptive-runtime"].map(|run| runs.join(run)));
    let folder = sources().join("figures");
    let folder = folder.to_str().unwrap();
    sandbox.tapstat(&["figure", "--all", "--check", folder]).assert().success().stdout_eq("");
}

#[test]
fn check_names_what_differs() {
    let sandbox = Sandbox::with_shipped_run();
    let all = ["figure", "--all", "-o", "figures"];
    let notes = sandbox.tapstat(&all).output().unwrap();
    assert!(notes.status.success());
    let notes = String::from_utf8(notes.stderr).unwrap();
    assert!(
        notes.contains(&format!(
            "tapstat: note: {SCALING}: no figure latency: the run's single requests are not in the store\n"
        )),
        "{notes}"
    );
    let check = ["figure", "--all", "--check", "figures"];
    sandbox.tapstat(&check).assert().success().stdout_eq("");

    let folder = sandbox.path("figures").join(SCALING);
    let names: Vec<_> = crate::support::files(&folder).into_keys().collect();
    assert_eq!(names, ["verdicts.svg", "vertical-scaling.pdf", "vertical-scaling.svg"]);
    fs::write(folder.join("verdicts.svg"), "<svg/>").unwrap();
    fs::remove_file(folder.join("vertical-scaling.pdf")).unwrap();
    fs::write(folder.join("sweep.svg"), "<svg/>").unwrap();
    fs::write(folder.join("README.md"), "not a figure").unwrap();
    let expected = format!(
        "figures/{SCALING}/verdicts.svg: differs\n\
         figures/{SCALING}/vertical-scaling.pdf: missing\n\
         figures/{SCALING}/sweep.svg: the runs do not give this figure\n"
    );
    sandbox.tapstat(&check).assert().code(1).stdout_eq(expected);
    // Nothing was mended by looking.
    assert_eq!(fs::read(folder.join("verdicts.svg")).unwrap(), b"<svg/>");
}
