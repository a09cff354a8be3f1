//! The pages of the commands `reproduce` and `shift`: one run beside another.

use super::differences::{Difference, comparable, grid as difference_grid};
use super::grid::{Align, Cell, Grid};
use super::place::heading;
use super::stamp::{Stamp, footnotes};
use super::tiers::change_tone;
use super::{MISSING, Page, ReportError, View, figure};

/// Two runs, and in what they differ.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// The run that was there first.
    pub a: &'a str,
    /// The run that is set beside it.
    pub b: &'a str,
    /// In what they differ.
    pub differences: &'a [Difference],
    /// The stamps of both.
    pub stamps: &'a [Stamp],
}

/// A row that both views have: a cell in either run.
struct PairRow {
    server: String,
    tiers: [Option<String>; 2],
    format: String,
    class: String,
    concurrency: Option<i64>,
    rps: [Option<f64>; 2],
    gap: Option<f64>,
}

impl PairRow {
    fn read(view: &View, tiers: [&str; 2]) -> Result<Vec<Self>, ReportError> {
        let servers = view.names("server")?;
        let (tiers_a, tiers_b) = (view.texts(tiers[0])?, view.texts(tiers[1])?);
        let (formats, classes) = (view.names("response_format")?, view.names("query_class")?);
        let concurrencies = view.ints("concurrency")?;
        let (a, b) = (view.floats("rps_mean_a")?, view.floats("rps_mean_b")?);
        let gaps = view.floats("gap")?;
        Ok((0..view.len())
            .map(|row| Self {
                server: servers[row].clone(),
                tiers: [tiers_a[row].clone(), tiers_b[row].clone()],
                format: formats[row].clone(),
                class: classes[row].clone(),
                concurrency: concurrencies[row],
                rps: [a[row], b[row]],
                gap: gaps[row],
            })
            .collect())
    }

    /// Where the row stands, `csv, Q01, c=8`.
    fn place(&self) -> String {
        let mut parts: Vec<String> = heading(None, &self.format).into_iter().collect();
        parts.push(self.class.clone());
        parts.push(format!("c={}", figure::whole(self.concurrency)));
        parts.join(", ")
    }

    /// What the row begins with; its tiers where any row has some.
    fn cells(&self, with_tiers: bool) -> Vec<Cell> {
        let mut cells = vec![Cell::from(self.server.as_str())];
        if with_tiers {
            cells.push(self.tier().into());
        }
        cells.extend([
            self.format.as_str().into(),
            self.class.as_str().into(),
            figure::whole(self.concurrency).into(),
            figure::fixed(self.rps[0], 1).into(),
            figure::fixed(self.rps[1], 1).into(),
            figure::change(self.gap).into(),
        ]);
        cells
    }

    /// The tier in both runs, `8`, or in either, `— → 8`.
    fn tier(&self) -> String {
        let [a, b] = self.tiers.each_ref().map(|tier| tier.as_deref().unwrap_or(MISSING));
        if a == b { a.to_owned() } else { format!("{a} → {b}") }
    }
}

fn columns(with_tiers: bool, more: &[(&'static str, Align)]) -> Grid {
    let mut header = vec![("server", Align::Left)];
    if with_tiers {
        header.push(("tier", Align::Right));
    }
    header.extend([
        ("format", Align::Left),
        ("class", Align::Left),
        ("c", Align::Right),
        ("rps A", Align::Right),
        ("rps B", Align::Right),
        ("gap", Align::Right),
    ]);
    header.extend(more);
    Grid::new(header)
}

/// The page up to the figures: which is A, which is B, in what they differ.
fn start(pair: Pair<'_>) -> Page {
    let mut page = Page::new();
    page.heading(1, format!("A {}, B {}", pair.a, pair.b));
    if pair.differences.is_empty() {
        page.text("The runs differ in nothing that is recorded.");
    } else {
        page.table(difference_grid(pair.differences, "A", "B"));
    }
    page.text(comparable(pair.differences));
    page
}

fn notes(pair: Pair<'_>) -> Vec<String> {
    let mut notes = vec!["gap: (B − A) / A of the means".to_owned()];
    notes.extend(footnotes(pair.stamps, Vec::new()));
    notes
}

/// Servers in the order of their first row, each with the numbers of its rows.
fn by_server(rows: &[PairRow]) -> Vec<(&str, Vec<usize>)> {
    let mut servers: Vec<(&str, Vec<usize>)> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        match servers.iter_mut().find(|(server, _)| *server == row.server) {
            Some((_, members)) => members.push(index),
            None => servers.push((&row.server, vec![index])),
        }
    }
    servers
}

/// The page of `reproduce`: how many cells of each server are ties, its largest
/// gap, then cell by cell.
///
/// # Errors
/// If the view lacks a column.
pub fn reproduce_page(view: &View, pair: Pair<'_>) -> Result<Page, ReportError> {
    let rows = PairRow::read(view, ["tier_a", "tier_b"])?;
    let outcomes = view.names("outcome")?;
    let mut page = start(pair);

    let mut summary = Grid::new([
        ("server", Align::Left),
        ("ties", Align::Left),
        ("higher", Align::Right),
        ("lower", Align::Right),
        ("void", Align::Right),
        ("largest gap", Align::Right),
        ("in", Align::Left),
    ]);
    for (server, members) in by_server(&rows) {
        let count = |outcome| members.iter().filter(|&&row| outcomes[row] == outcome).count();
        let largest = members
            .iter()
            .map(|&row| &rows[row])
            .filter(|row| row.gap.is_some())
            .max_by(|a, b| a.gap.unwrap_or(0.0).abs().total_cmp(&b.gap.unwrap_or(0.0).abs()));
        summary.push(vec![
            server.into(),
            format!("{} of {}", count("tie"), figure::counted(members.len(), "cell")).into(),
            count("higher").to_string().into(),
            count("lower").to_string().into(),
            count("void").to_string().into(),
            figure::change(largest.and_then(|row| row.gap)).into(),
            largest.map_or_else(|| MISSING.to_owned(), PairRow::place).into(),
        ]);
    }
    page.table(summary);

    let with_tiers = rows.iter().any(|row| row.tiers.iter().any(Option::is_some));
    let mut grid = columns(with_tiers, &[("outcome", Align::Left)]);
    for (row, outcome) in rows.iter().zip(&outcomes) {
        let mut cells = row.cells(with_tiers);
        cells.push(Cell::toned(outcome.as_str(), change_tone(outcome)));
        grid.push(cells);
    }
    page.table(grid);
    let mut all = vec![
        "outcome: tie unless the intervals do not touch and the means are at least the tie floor apart; void where either cell has a voided rung".to_owned(),
    ];
    // A view of the user's may not have it.
    if view.has("has_intervals") {
        let flags = view.flags("has_intervals")?;
        let ties = outcomes.iter().zip(&flags).filter(|(outcome, _)| *outcome == "tie");
        let (mut all_ties, mut undecided) = (0, 0);
        for (_, flag) in ties {
            all_ties += 1;
            undecided += usize::from(*flag == Some(false));
        }
        if undecided > 0 {
            all.push(format!(
                "undecided: {undecided} of {} without an interval in both runs, which by the rule cannot differ",
                figure::counted(all_ties, "tie")
            ));
        }
    }
    all.extend(notes(pair));
    page.notes(all);
    Ok(page)
}

/// The page of `shift`: how far each server moved, the control, then cell by
/// cell with the generator's peaks.
///
/// # Errors
/// If the view lacks a column.
pub fn shift_page(view: &View, pair: Pair<'_>) -> Result<Page, ReportError> {
    let rows = PairRow::read(view, ["tier", "tier"])?;
    let peaks_a = view.floats("generator_cpu_peak_a")?;
    let peaks_b = view.floats("generator_cpu_peak_b")?;
    let mut page = start(pair);

    let mut summary = Grid::new([
        ("server", Align::Left),
        ("cells", Align::Right),
        ("gap from", Align::Right),
        ("gap to", Align::Right),
        ("peak A", Align::Right),
        ("peak B", Align::Right),
    ]);
    let mut moves = Vec::new();
    for (server, members) in by_server(&rows) {
        let gaps = || members.iter().filter_map(|&row| rows[row].gap);
        let peak =
            |peaks: &[Option<f64>]| members.iter().filter_map(|&row| peaks[row]).reduce(f64::max);
        let (least, most) = (gaps().reduce(f64::min), gaps().reduce(f64::max));
        let (peak_a, peak_b) = (peak(&peaks_a), peak(&peaks_b));
        summary.push(vec![
            server.into(),
            members.len().to_string().into(),
            figure::change(least).into(),
            figure::change(most).into(),
            figure::fixed(peak_a, 2).into(),
            figure::fixed(peak_b, 2).into(),
        ]);
        if let (Some(a), Some(b)) = (peak_a, peak_b) {
            moves.push((server, a.max(b), least, most));
        }
    }
    page.table(summary);
    // Of one server nobody can say that it is the one less touched.
    let least_touched = moves.iter().min_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| moves.len() > 1);
    if let Some((server, peak, least, most)) = least_touched {
        page.text(format!(
            "control: {server}, which loads the generator least (peak {peak:.2} at most), moved {} … {}",
            figure::change(*least),
            figure::change(*most)
        ));
    }

    let with_tiers = rows.iter().any(|row| row.tiers[0].is_some());
    let mut grid = columns(with_tiers, &[("peak A", Align::Right), ("peak B", Align::Right)]);
    for (index, row) in rows.iter().enumerate() {
        let mut cells = row.cells(with_tiers);
        cells.push(figure::fixed(peaks_a[index], 2).into());
        cells.push(figure::fixed(peaks_b[index], 2).into());
        grid.push(cells);
    }
    page.table(grid);
    let mut all = vec![
        "peak: the busiest generator worker at its peak, in cores, over the cell's rungs"
            .to_owned(),
    ];
    all.extend(notes(pair));
    page.notes(all);
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{stamp, view};
    use crate::report::{Format, Style};

    fn render(page: &Page) -> String {
        page.render(Format::Markdown, Style::default())
    }

    #[test]
    fn reproduce_says_differences_first_then_ties_and_the_largest_gap() {
        let view = view(
            "reproduce",
            "server response_format query_class concurrency:i rps_mean_a:f rps_mean_b:f gap:f outcome tier_a tier_b
             argus csv Q01 8  412.0 435.9 0.058  tie    _ 8
             argus csv Q01 32 500   490   -0.02  tie    _ 8
             dachs csv Q01 8  18.0  14.0  -0.222 lower  _ 8
             dachs -   mix 8  18.0  _     _      void   _ 8",
            "",
        );
        let differences = [Difference {
            what: "scenario".to_owned(),
            a: "final".to_owned(),
            b: "scaling3".to_owned(),
            apparatus: false,
        }];
        let stamps = [stamp("one"), stamp("two")];
        let pair = Pair { a: "one", b: "two", differences: &differences, stamps: &stamps };
        let text = render(&reproduce_page(&view, pair).unwrap());
        let expected = "\
## A one, B two

| differs in | A     | B        |
| ---------- | ----- | -------- |
| scenario   | final | scaling3 |

comparable: nothing recorded says that the apparatus differs

| server | ties         | higher | lower | void | largest gap | in            |
| ------ | ------------ | -----: | ----: | ---: | ----------: | ------------- |
| argus  | 2 of 2 cells |      0 |     0 |    0 |       +5.8% | csv, Q01, c=8 |
| dachs  | 0 of 2 cells |      0 |     1 |    1 |      −22.2% | csv, Q01, c=8 |

| server |  tier | format | class |   c | rps A | rps B |    gap | outcome |
| ------ | ----: | ------ | ----- | --: | ----: | ----: | -----: | ------- |
| argus  | — → 8 | csv    | Q01   |   8 | 412.0 | 435.9 |  +5.8% | tie     |
";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.contains("- inputs of two: 1 file"), "{text}");
    }

    #[test]
    fn shift_names_the_control() {
        let view = view(
            "shift",
            "tier server response_format query_class concurrency:i rps_mean_a:f rps_mean_b:f gap:f generator_cpu_peak_a:f generator_cpu_peak_b:f
             24 argus csv Q11 8  40.4 29.9 -0.26  0.65 0.34
             24 dachs csv Q11 8  10.0 9.7  -0.03  0.04 0.02
             24 dachs csv Q11 32 10.0 10.2 0.02   0.03 0.02",
            "",
        );
        let pair = Pair { a: "one", b: "two", differences: &[], stamps: &[] };
        let text = render(&shift_page(&view, pair).unwrap());
        let expected = "\
| server | cells | gap from | gap to | peak A | peak B |
| ------ | ----: | -------: | -----: | -----: | -----: |
| argus  |     1 |   −26.0% | −26.0% |   0.65 |   0.34 |
| dachs  |     2 |    −3.0% |  +2.0% |   0.04 |   0.02 |

control: dachs, which loads the generator least (peak 0.04 at most), moved −3.0% … +2.0%

| server | tier | format | class |   c | rps A | rps B |    gap | peak A | peak B |
| ------ | ---: | ------ | ----- | --: | ----: | ----: | -----: | -----: | -----: |
| argus  |   24 | csv    | Q11   |   8 |  40.4 |  29.9 | −26.0% |   0.65 |   0.34 |
";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("The runs differ in nothing that is recorded."), "{text}");
    }
}
