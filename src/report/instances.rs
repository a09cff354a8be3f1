//! The pages of the commands `scaling`, `sweep` and `bursts`: one server, more of it.

use super::grid::{Align, Cell, Grid, MISSING, Tone};
use super::stamp::{Stamp, footnotes};
use super::{Page, ReportError, View, figure};

/// The page of the command `scaling`: a row per scenario, connections and
/// number of instances.
///
/// # Errors
/// If the view lacks a column.
pub fn scaling_page(view: &View, stamps: &[Stamp]) -> Result<Page, ReportError> {
    let classes = view.names("query_class")?;
    let (connections, instances) = (view.ints("concurrency")?, view.ints("instances")?);
    let (loops, rps) = (view.ints("loops")?, view.floats("rps_median")?);
    let (efficiency, vs_loops) = (view.floats("efficiency")?, view.floats("vs_loops")?);
    let mut tables = Tables::new(
        view,
        &[
            ("scenario", Align::Left),
            ("c", Align::Right),
            ("instances × loops", Align::Right),
            ("rps", Align::Right),
            ("efficiency", Align::Right),
            ("vs 1 × N loops", Align::Right),
        ],
    )?;
    for row in 0..view.len() {
        let loops = loops[row].map_or_else(|| MISSING.to_owned(), |loops| loops.to_string());
        tables.push(
            row,
            vec![
                classes[row].as_str().into(),
                figure::whole(connections[row]).into(),
                format!("{} × {loops}", figure::whole(instances[row])).into(),
                figure::fixed(rps[row], 1).into(),
                figure::fixed(efficiency[row], 2).into(),
                times(vs_loops[row]).into(),
            ],
        );
    }
    let mut page = tables.into_page();
    let mut notes = vec![
        "rps: median over the repetitions".to_owned(),
        "efficiency: rps of N instances / (N × rps of one), each with one event loop".to_owned(),
        "vs 1 × N loops: rps of N instances / rps of one instance with N event loops on the same CPUs"
            .to_owned(),
    ];
    notes.extend(footnotes(stamps, Vec::new()));
    page.notes(notes);
    Ok(page)
}

/// The page of the command `sweep`: a row per path and connections.
///
/// # Errors
/// If the view lacks a column.
pub fn sweep_page(view: &View, stamps: &[Stamp]) -> Result<Page, ReportError> {
    let classes = view.names("query_class")?;
    let (connections, instances) = (view.ints("concurrency")?, view.ints("instances")?);
    let (rps, p99) = (view.floats("rps")?, view.floats("latency_p99_s")?);
    let (errors, memory) = (view.ints("errors")?, view.floats("mem_peak_bytes")?);
    let mut tables = Tables::new(
        view,
        &[
            ("path", Align::Left),
            ("c", Align::Right),
            ("rps", Align::Right),
            ("p99 (ms)", Align::Right),
            ("errors", Align::Right),
            ("instances", Align::Right),
            ("memory peak (MiB)", Align::Right),
        ],
    )?;
    for row in 0..view.len() {
        tables.push(
            row,
            vec![
                classes[row].as_str().into(),
                figure::whole(connections[row]).into(),
                figure::fixed(rps[row], 1).into(),
                figure::fixed(p99[row].map(|seconds| 1e3 * seconds), 2).into(),
                figure::whole(errors[row]).into(),
                figure::whole(instances[row]).into(),
                figure::fixed(memory[row].map(|bytes| bytes / f64::from(1 << 20)), 1).into(),
            ],
        );
    }
    let mut page = tables.into_page();
    let mut notes = vec![
        "rps and p99: medians over the repetitions; errors: added up; instances: the most at the end of a rung"
            .to_owned(),
    ];
    notes.extend(footnotes(stamps, Vec::new()));
    page.notes(notes);
    Ok(page)
}

/// The page of the command `bursts`: a row per burst.
///
/// # Errors
/// If the view lacks a column.
pub fn bursts_page(view: &View, stamps: &[Stamp]) -> Result<Page, ReportError> {
    let classes = view.names("query_class")?;
    let (bursts, connections) = (view.ints("burst")?, view.ints("concurrency")?);
    let (rps, p99) = (view.floats("rps")?, view.floats("latency_p99_s")?);
    let (errors, instances) = (view.ints("errors")?, view.ints("instances")?);
    let (lengths, gaps) = (view.floats("duration_s")?, view.floats("gap_s")?);
    let voided = view.flags("voided")?;
    let mut tables = Tables::new(
        view,
        &[
            ("path", Align::Left),
            ("burst", Align::Right),
            ("c", Align::Right),
            ("length (s)", Align::Right),
            ("pause after (s)", Align::Right),
            ("rps", Align::Right),
            ("p99 (ms)", Align::Right),
            ("errors", Align::Right),
            ("instances", Align::Right),
        ],
    )?;
    for row in 0..view.len() {
        let rate = figure::fixed(rps[row], 1);
        let rate = match voided[row] {
            Some(true) => Cell::toned(format!("{rate} (void)"), Tone::Bad),
            _ => rate.into(),
        };
        tables.push(
            row,
            vec![
                classes[row].as_str().into(),
                figure::whole(bursts[row]).into(),
                figure::whole(connections[row]).into(),
                figure::fixed(lengths[row], 1).into(),
                figure::fixed(gaps[row], 1).into(),
                rate,
                figure::fixed(p99[row].map(|seconds| 1e3 * seconds), 2).into(),
                figure::whole(errors[row]).into(),
                figure::whole(instances[row]).into(),
            ],
        );
    }
    let mut page = tables.into_page();
    let mut notes = vec![
        "each burst stands for itself: it finds the pool that the one before it left".to_owned(),
        "instances: those at the end of the burst".to_owned(),
    ];
    notes.extend(footnotes(stamps, Vec::new()));
    page.notes(notes);
    Ok(page)
}

/// A ratio as `1.03×`.
pub(super) fn times(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| MISSING.to_owned(), |ratio| format!("{ratio:.2}×"))
}

/// What tells rows apart beside scenario and connections: shown where the rows
/// differ in it.
const KEY: [(&str, &str, Align); 6] = [
    ("target", "target", Align::Left),
    ("tier", "tier", Align::Right),
    ("response_format", "format", Align::Left),
    ("mode", "mode", Align::Left),
    ("loop", "loop", Align::Left),
    ("offered_rps", "offered", Align::Right),
];

/// A table per run, under its heading.
pub(super) struct Tables {
    page: Page,
    runs: Vec<String>,
    /// The columns that the rows differ in, and what stands in them.
    key: Vec<Vec<String>>,
    header: Vec<(&'static str, Align)>,
    grid: Grid,
}

impl Tables {
    /// Tables with these columns, after those of the key that are needed.
    ///
    /// # Errors
    /// If the view lacks the column `run`.
    pub(super) fn new(view: &View, columns: &[(&'static str, Align)]) -> Result<Self, ReportError> {
        let (mut header, mut key) = (Vec::new(), Vec::new());
        for (column, name, align) in KEY {
            // A view of the user's may not have it.
            if !view.has(column) {
                continue;
            }
            let values = match column {
                "offered_rps" => {
                    view.floats(column)?.into_iter().map(|rate| figure::fixed(rate, 1)).collect()
                }
                _ => view.names(column)?,
            };
            if values.iter().any(|value| *value != values[0]) {
                header.push((name, align));
                key.push(values);
            }
        }
        header.extend_from_slice(columns);
        let grid = Grid::new(header.iter().copied());
        Ok(Self { page: Page::new(), runs: view.names("run")?, key, header, grid })
    }

    /// The cells of the view's next row.
    pub(super) fn push(&mut self, row: usize, cells: Vec<Cell>) {
        if row == 0 || self.runs[row - 1] != self.runs[row] {
            if row > 0 {
                let next = Grid::new(self.header.iter().copied());
                self.page.table(std::mem::replace(&mut self.grid, next));
            }
            self.page.heading(1, format!("run {}", self.runs[row]));
        }
        let key = self.key.iter().map(|values| Cell::from(values[row].as_str()));
        self.grid.push(key.chain(cells).collect());
    }

    pub(super) fn into_page(mut self) -> Page {
        self.page.table(self.grid);
        self.page
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{stamp, view};
    use crate::report::{Format, Style};

    #[test]
    fn scaling_has_a_row_per_size_and_a_table_per_run() {
        let view = view(
            "instance_scaling",
            "run query_class concurrency:i instances:i loops:i rps_median:f efficiency:f vs_loops:f
             one static-1m 64 1 1 5250 1 _
             one static-1m 64 3 1 10810 0.6863 1.0
             two php 64 1 _ 11800 _ _",
            "",
        );
        let text = scaling_page(&view, &[stamp("one")]).unwrap();
        let text = text.render(Format::Markdown, Style::default());
        let expected = "\
## run one

| scenario  |   c | instances × loops |     rps | efficiency | vs 1 × N loops |
| --------- | --: | ----------------: | ------: | ---------: | -------------: |
| static-1m |  64 |             1 × 1 |  5250.0 |       1.00 |              — |
| static-1m |  64 |             3 × 1 | 10810.0 |       0.69 |          1.00× |

## run two
";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.contains(" 1 × — |"), "{text}");
    }

    #[test]
    fn rows_that_differ_in_more_say_in_what() {
        let view = view(
            "sweep",
            "run query_class concurrency:i target tier rps:f latency_p99_s:f errors:i instances:i mem_peak_bytes:f
             one respond 8 ant 4 100 _ 0 1 _
             one respond 8 bee 4 200 _ 0 1 _",
            "mode",
        );
        let text = sweep_page(&view, &[stamp("one")]).unwrap();
        let text = text.render(Format::Markdown, Style::default());
        assert!(text.contains("| target | path    |   c |"), "{text}");
        assert!(text.contains("| bee    | respond |   8 | 200.0 |"), "{text}");
    }

    #[test]
    fn bursts_stand_one_by_one() {
        let view = view(
            "bursts",
            "run query_class concurrency:i burst:i rps:f latency_p99_s:f errors:i instances:i duration_s:f gap_s:f voided:b
             one respond 1024 1 47000 0.024 0 1 5 8 no
             one respond 1024 2 95600 0.018 0 3 5 _ yes",
            "",
        );
        let text = bursts_page(&view, &[stamp("one")]).unwrap();
        let text = text.render(Format::Markdown, Style::default());
        assert!(
            text.contains("| 1024 |        5.0 |             8.0 |        47000.0 |    24.00 |"),
            "{text}"
        );
        assert!(text.contains("— | 95600.0 (void) |    18.00 |      0 |         3 |"), "{text}");
    }

    #[test]
    fn sweep_gives_milliseconds_and_mib() {
        let view = view(
            "sweep",
            "run query_class concurrency:i target rps:f latency_p99_s:f errors:i instances:i mem_peak_bytes:f
             one respond 8 _ 49600 0.00017 0 1 33554432",
            "",
        );
        let text = sweep_page(&view, &[stamp("one")]).unwrap();
        let text = text.render(Format::Markdown, Style::default());
        assert!(
            text.contains("49600.0 |     0.17 |      0 |         1 |              32.0 |"),
            "{text}"
        );
    }
}
