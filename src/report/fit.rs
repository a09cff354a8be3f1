//! The page of the command `fit`: what a response costs the client.

use super::grid::{Align, Grid};
use super::stamp::{Stamp, footnotes};
use super::{Page, ReportError, View, figure};

/// The page of the command `fit`: a table per run, a row per target.
///
/// # Errors
/// If the view lacks a column.
pub fn fit_page(view: &View, stamps: &[Stamp]) -> Result<Page, ReportError> {
    let runs = view.names("run")?;
    let (targets, servers, bases) =
        (view.names("target")?, view.names("server")?, view.names("basis")?);
    let (rungs, excluded) = (view.ints("rungs")?, view.ints("excluded")?);
    let (a, a_low, a_high) =
        (view.floats("a_s_per_request")?, view.floats("a_low")?, view.floats("a_high")?);
    let (b, b_low, b_high) =
        (view.floats("b_s_per_mib")?, view.floats("b_low")?, view.floats("b_high")?);
    let r_squared = view.floats("r_squared")?;

    let mut page = Page::new();
    let mut grid = header();
    for row in 0..view.len() {
        if row == 0 || runs[row - 1] != runs[row] {
            if row > 0 {
                page.table(std::mem::replace(&mut grid, header()));
            }
            page.heading(1, format!("run {}", runs[row]));
        }
        grid.push(vec![
            targets[row].as_str().into(),
            servers[row].as_str().into(),
            bases[row].as_str().into(),
            figure::whole(rungs[row]).into(),
            figure::whole(excluded[row]).into(),
            milliseconds(a[row], a_low[row], a_high[row]).into(),
            milliseconds(b[row], b_low[row], b_high[row]).into(),
            figure::fixed(r_squared[row], 4).into(),
        ]);
    }
    page.table(grid);

    let mut notes = vec![
        "fit: ordinary least squares, client CPU per request = a + b × mean response MiB, over the rungs that are not voided; ± is the half-width of the interval".to_owned(),
    ];
    if bases.iter().any(|basis| basis == "cpu_peak") {
        notes.push(
            "cpu_peak: the busiest worker alone against everybody's requests, which understates by up to the number of workers".to_owned(),
        );
    }
    if ["cpu_peak", "cpu_total"].iter().all(|basis| bases.iter().any(|found| found == basis)) {
        notes.push("cpu_peak and cpu_total are not to be compared with each other".to_owned());
    }
    notes.extend(footnotes(stamps, Vec::new()));
    page.notes(notes);
    Ok(page)
}

fn header() -> Grid {
    Grid::new([
        ("target", Align::Left),
        ("server", Align::Left),
        ("basis", Align::Left),
        ("rungs", Align::Right),
        ("excluded", Align::Right),
        ("a, ms/request", Align::Right),
        ("b, ms/MiB", Align::Right),
        ("R²", Align::Right),
    ])
}

fn milliseconds(seconds: Option<f64>, low: Option<f64>, high: Option<f64>) -> String {
    let half_width = low.zip(high).map(|(low, high)| 1e3 * (high - low) / 2.0);
    figure::with_half_width(seconds.map(|seconds| 1e3 * seconds), half_width, 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{stamp, view};
    use crate::report::{Format, Style};

    const COLUMNS: &str = "run target server basis rungs:i excluded:i a_s_per_request:f a_low:f \
         a_high:f b_s_per_mib:f b_low:f b_high:f r_squared:f";

    fn page(rows: &str) -> String {
        let view = view("client_cost", &format!("{COLUMNS}\n{rows}"), "");
        let page = fit_page(&view, &[stamp("one")]).unwrap();
        page.render(Format::Markdown, Style::default())
    }

    #[test]
    fn a_row_per_target_with_its_intervals() {
        let text = page(
            "one argus-x argus cpu_peak 167 13 0.00127 0.00120 0.00134 0.0045 0.0044 0.0046 0.98765
             one dachs-x dachs cpu_peak 2 0 _ _ _ _ _ _ _",
        );
        let expected = "\
## run one

| target  | server | basis    | rungs | excluded | a, ms/request |  b, ms/MiB |     R² |
| ------- | ------ | -------- | ----: | -------: | ------------: | ---------: | -----: |
| argus-x | argus  | cpu_peak |   167 |       13 |    1.27 ±0.07 | 4.50 ±0.10 | 0.9877 |
| dachs-x | dachs  | cpu_peak |     2 |        0 |             — |          — |      — |
";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.contains("- cpu_peak: the busiest worker alone"), "{text}");
        assert!(!text.contains("not to be compared"), "{text}");
    }

    #[test]
    fn bases_are_told_apart_and_runs_have_their_own_tables() {
        let text = page(
            "one a a cpu_peak 4 0 1 1 1 1 1 1 1
             two a a cpu_total 4 0 1 1 1 1 1 1 1",
        );
        assert!(text.contains("## run one\n") && text.contains("## run two\n"), "{text}");
        assert!(text.contains("not to be compared with each other"), "{text}");
    }
}
