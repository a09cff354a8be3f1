//! Every comparison as a square: who is faster and by how much, where it is a
//! tie, where the measurement is void.

use super::canvas::{Canvas, Rect, SMALL, Type};
use super::data::{Cell, Filter, Place, Source, listed, unavailable};
use super::frame::{Frame, Key, Symbol};
use super::ink::Ink;
use super::{Drawn, Figure, FigureError, Name, Request};

/// Height of a square, and of a line of headings.
const ROW: i32 = 200;
const LINE: i32 = 95;

/// From which ratio on a square is darker.
const STEPS: [(f64, f64); 3] = [(0.0, 0.16), (1.5, 0.32), (3.0, 0.5)];

/// A comparison and its verdict.
struct Comparison {
    place: Place,
    verdict: String,
    reason: String,
    best: Option<String>,
    runner_up: Option<String>,
    ratio: Option<f64>,
    /// `≥` or `≤`, where one of the two that the ratio is of is a lower bound.
    bound: &'static str,
}

pub fn draw(request: &Request<'_>) -> Result<Drawn, FigureError> {
    let source = Source::of(request)?;
    let view = source.ask("verdicts", "SELECT * FROM verdicts WHERE run = $run")?;
    let (verdicts, reasons) = (view.texts("verdict")?, view.names("reason")?);
    let (best, next) = (view.texts("best")?, view.texts("runner_up")?);
    let ratios = view.floats("ratio")?;
    let cells = source.cells(&Filter::default())?;
    let is_bound = |place: &Place, target: &Option<String>| {
        let is_it = |cell: &&Cell| cell.place == *place && Some(&cell.target) == target.as_ref();
        cells.iter().find(is_it).is_some_and(|cell| cell.lower_bound)
    };
    let mut all = Vec::new();
    for (row, place) in Place::read(&view)?.into_iter().enumerate() {
        if let Some(verdict) = verdicts[row].clone().filter(|_| place.passes(&request.filter)) {
            let bound = match (is_bound(&place, &best[row]), is_bound(&place, &next[row])) {
                (true, false) => "≥\u{a0}",
                (false, true) => "≤\u{a0}",
                _ => "",
            };
            all.push(Comparison {
                bound,
                place,
                verdict,
                reason: reasons[row].clone(),
                best: best[row].clone(),
                runner_up: next[row].clone(),
                ratio: ratios[row],
            });
        }
    }
    if all.is_empty() {
        return unavailable(match (view.is_empty(), source.judged.targets.len()) {
            (true, _) => "the run has no cells to compare",
            (false, 0 | 1) => "the run has one target: nothing to compare",
            (false, _) => "no comparison matches",
        });
    }
    compose(&source, request, &all)
}

/// A row's name: class and connections.
type Row = (String, i64, String);
/// A column's: tier and format.
type Column = (Option<String>, String);

struct Grid<'c> {
    rows: Vec<Row>,
    columns: Vec<Column>,
    /// The room of row names.
    names: i32,
    /// The width of a column, and how many stand side by side.
    width: i32,
    beside: usize,
    /// What targets are called in squares.
    labels: Vec<(String, String)>,
    all: &'c [Comparison],
}

fn look() -> Type {
    Type::new(SMALL)
}

impl<'c> Grid<'c> {
    fn new(source: &Source<'_>, inner: i32, all: &'c [Comparison]) -> Result<Self, FigureError> {
        let mut rows: Vec<Row> = all
            .iter()
            .map(|one| (one.place.class.clone(), one.place.concurrency, one.place.variant.clone()))
            .collect();
        rows.sort();
        rows.dedup();
        let tiers = source.tiers()?;
        let rank =
            |tier: &Option<String>| tiers.iter().position(|known| Some(known) == tier.as_ref());
        let mut columns: Vec<Column> =
            all.iter().map(|one| (one.place.tier.clone(), one.place.format.clone())).collect();
        columns.sort_by_key(|(tier, format)| (rank(tier), format.clone()));
        columns.dedup();

        let names = rows.iter().map(|row| look().width(&row_name(row))).max().unwrap_or(0);
        let names = names.min(inner * 2 / 5) + 30;
        let short: Vec<(String, String)> = source.names().into_iter().collect();
        let count = i32::try_from(columns.len()).unwrap_or(1);
        let least = columns.iter().map(|(tier, format)| {
            let tier = tier.as_ref().map_or(0, |tier| look().width(&format!("tier {tier}")));
            tier.max(look().width(format))
        });
        let least = least.max().unwrap_or(0).max(look().width("≥\u{a0}×999"));
        let needed = short.iter().map(|(_, name)| look().width(name)).max().unwrap_or(0);
        let room = (inner - names) / count;
        // Letters stand for names that are too long for a square.
        let (labels, least) = if needed.max(least) + 20 <= room {
            (short, needed.max(least) + 20)
        } else {
            (lettered(short), least + 20)
        };
        let beside = usize::try_from((inner - names) / least).unwrap_or(1).clamp(1, columns.len());
        let width = ((inner - names) / i32::try_from(beside).unwrap_or(1)).min(760);
        Ok(Self { rows, columns, names, width, beside, labels, all })
    }

    fn has_formats(&self) -> bool {
        self.columns.iter().any(|(_, format)| format != "-")
    }

    fn has_tiers(&self) -> bool {
        self.columns.iter().any(|(tier, _)| tier.is_some())
    }

    fn head(&self) -> i32 {
        LINE * (i32::from(self.has_tiers()) + i32::from(self.has_formats())) + 15
    }

    /// Height of one block of columns.
    fn block(&self) -> i32 {
        self.head() + ROW * i32::try_from(self.rows.len()).unwrap_or(0)
    }

    fn height(&self) -> i32 {
        let blocks = i32::try_from(self.columns.len().div_ceil(self.beside)).unwrap_or(1);
        blocks * self.block() + (blocks - 1) * LINE
    }

    fn label(&self, target: &str) -> &str {
        let found = self.labels.iter().find(|(known, _)| known == target);
        found.map_or("?", |(_, label)| label.as_str())
    }
}

fn lettered(names: Vec<(String, String)>) -> Vec<(String, String)> {
    let letter = |index: usize| match u8::try_from(index) {
        Ok(index @ 0..26) => char::from(b'A' + index).to_string(),
        _ => format!("T{}", index + 1),
    };
    names.into_iter().enumerate().map(|(index, (target, _))| (target, letter(index))).collect()
}

fn row_name((class, concurrency, variant): &Row) -> String {
    let variant = if variant.is_empty() { String::new() } else { format!(", {variant}") };
    format!("{class}, c = {concurrency}{variant}")
}

fn compose(
    source: &Source<'_>,
    request: &Request<'_>,
    all: &[Comparison],
) -> Result<Drawn, FigureError> {
    let inner = Frame::new(request.width, "", "", &[], &[]).inner();
    let grid = Grid::new(source, inner, all)?;
    let names = source.names();
    let legend: Vec<Key> = grid
        .labels
        .iter()
        .filter(|(target, _)| all.iter().any(|one| one.verdict == *target))
        .map(|(target, label)| {
            let name = names.get(target).unwrap_or(target);
            let text = if label == name { name.clone() } else { format!("{label}: {name}") };
            Key::new(Symbol::Swatch(source.series(target), STEPS[1].1), text)
        })
        .collect();
    let mut keys = Vec::new();
    let has = |verdict: &str| all.iter().any(|one| one.verdict == verdict);
    let is_won =
        |one: &Comparison| !matches!(one.verdict.as_str(), "tie" | "invalid" | "incomplete");
    if all.iter().any(is_won) {
        keys.push(Key::new(Symbol::None, "named: faster than every other target"));
        keys.push(Key::new(Symbol::None, "×: over the next; darker from ×1.5 and ×3 on"));
    }
    if has("tie") {
        keys.push(Key::new(Symbol::Band, "tie"));
    }
    if has("invalid") {
        keys.push(Key::new(Symbol::Dashed, "void: a rung voided by the guard, or no target clean"));
    }
    if has("incomplete") {
        keys.push(Key::new(Symbol::None, "—: a target was not measured"));
    }
    if all.iter().any(|one| !one.bound.is_empty() && one.verdict != "invalid") {
        keys.push(Key::new(Symbol::None, "≥, ≤: one of the two is a lower bound"));
    }
    let title = "Verdicts";
    let subtitle = format!("{} of {} targets", counted(all.len()), source.judged.targets.len());
    let frame = Frame::new(request.width, title, &subtitle, &legend, &keys);
    let scene = frame.draw(grid.height(), |canvas, body| draw_grid(canvas, body, source, &grid))?;

    let mut said = Vec::new();
    for one in all.iter().filter(|one| one.verdict == "invalid") {
        said.push(format!("hollow: {}: {}", place_text(&one.place), one.reason));
    }
    if all.iter().any(|one| one.reason == "guard unknown") {
        said.push("the table printed no guard: nothing can be called void".to_owned());
    }
    let n: Vec<Option<i64>> = source.cells(&request.filter)?.iter().map(|cell| cell.n).collect();
    Ok(Drawn::Figure(Figure {
        name: Name::Verdicts,
        title: format!("{title}: {subtitle}"),
        alt: alt(source, all),
        notes: source.notes(said, &n),
        scene,
    }))
}

fn counted(comparisons: usize) -> String {
    crate::report::figure::counted(comparisons, "comparison")
}

fn place_text(place: &Place) -> String {
    let tier = place.tier.as_ref().map(|tier| format!("tier {tier}, ")).unwrap_or_default();
    format!("{tier}{}", place.text())
}

fn draw_grid(canvas: &Canvas<'_>, body: Rect, source: &Source<'_>, grid: &Grid<'_>) {
    for (block, columns) in grid.columns.chunks(grid.beside).enumerate() {
        let top = body.top + i32::try_from(block).unwrap_or(0) * (grid.block() + LINE);
        draw_head(canvas, body.left + grid.names, top, grid, columns);
        for (index, row) in grid.rows.iter().enumerate() {
            let y = top + grid.head() + i32::try_from(index).unwrap_or(0) * ROW;
            let name = look().fitted(&row_name(row), grid.names - 30);
            canvas.text((body.left, y + ROW / 2), &name, look().middle());
            for (column, key) in columns.iter().enumerate() {
                let x = body.left + grid.names + i32::try_from(column).unwrap_or(0) * grid.width;
                let square = Rect {
                    left: x + 6,
                    top: y + 6,
                    right: x + grid.width - 6,
                    bottom: y + ROW - 6,
                };
                let is_here = |one: &&Comparison| {
                    (&one.place.class, one.place.concurrency, &one.place.variant)
                        == (&row.0, row.1, &row.2)
                        && (&one.place.tier, &one.place.format) == (&key.0, &key.1)
                };
                if let Some(one) = grid.all.iter().find(is_here) {
                    draw_square(canvas, square, source, grid, one);
                }
            }
        }
    }
}

fn draw_head(canvas: &Canvas<'_>, left: i32, top: i32, grid: &Grid<'_>, columns: &[Column]) {
    let x = |column: usize| left + i32::try_from(column).unwrap_or(0) * grid.width;
    let muted = look().ink(Ink::Muted).centre();
    let mut y = top + 70;
    if grid.has_tiers() {
        let mut from = 0;
        while from < columns.len() {
            let tier = &columns[from].0;
            let to = from + columns[from..].iter().take_while(|column| column.0 == *tier).count();
            let text = tier.as_ref().map_or_else(|| "—".to_owned(), |tier| format!("tier {tier}"));
            let text = look().fitted(&text, x(to) - x(from) - 20);
            canvas.text((i32::midpoint(x(from), x(to)), y), &text, look().centre());
            from = to;
        }
        y += LINE;
    }
    if grid.has_formats() {
        for (column, (_, format)) in columns.iter().enumerate() {
            let text = look().fitted(format, grid.width - 10);
            canvas.text((x(column) + grid.width / 2, y), &text, muted);
        }
    }
}

fn draw_square(
    canvas: &Canvas<'_>,
    square: Rect,
    source: &Source<'_>,
    grid: &Grid<'_>,
    one: &Comparison,
) {
    let ratio = one.ratio.map(|ratio| format!("{}{}", one.bound, times(ratio)));
    let ratio = ratio.unwrap_or_default();
    let (upper, lower) = match one.verdict.as_str() {
        "tie" => ("tie", ratio.as_str()),
        "invalid" => ("void", ""),
        "incomplete" => ("—", ""),
        target => (grid.label(target), ratio.as_str()),
    };
    let value = described(one);
    let number = one.ratio.map(|ratio| ratio.to_string()).unwrap_or_default();
    let place = &one.place;
    let data = [
        ("tier", place.tier.as_deref().unwrap_or_default()),
        ("format", place.format.as_str()),
        ("class", place.class.as_str()),
        ("verdict", one.verdict.as_str()),
        ("value", number.as_str()),
    ];
    canvas.mark(&value, &data, || {
        match one.verdict.as_str() {
            "tie" => canvas.fill(square, Ink::Band, 1.0),
            "invalid" | "incomplete" => {
                // Filled with nothing, so that a pointer finds it.
                canvas.fill(square, Ink::Paper, 1.0);
                canvas.dashed(|| canvas.edge(square, Ink::Axis, 6));
            }
            target => {
                let reached =
                    |(from, _): &&(f64, f64)| one.ratio.is_none_or(|ratio| ratio >= *from);
                let alpha = STEPS.iter().rfind(reached).map_or(STEPS[0].1, |(_, alpha)| *alpha);
                let ink = Ink::Series(source.series(target));
                canvas.fill(square, ink, alpha);
            }
        }
        let centre = i32::midpoint(square.left, square.right);
        let middle = i32::midpoint(square.top, square.bottom);
        let upper = look().fitted(upper, square.width());
        if lower.is_empty() {
            canvas.text((centre, middle), &upper, look().centre().middle());
        } else {
            canvas.text((centre, middle - 14), &upper, look().centre());
            canvas.text((centre, middle + 65), lower, look().centre());
        }
    });
}

/// A ratio with three digits.
fn times(ratio: f64) -> String {
    if ratio < 10.0 {
        format!("×{ratio:.2}")
    } else if ratio < 100.0 {
        format!("×{ratio:.1}")
    } else {
        format!("×{}", super::scale::number(ratio.round()))
    }
}

fn described(one: &Comparison) -> String {
    let mut text = format!("{}: {}", place_text(&one.place), one.verdict);
    if let (Some(best), Some(next), Some(ratio)) = (&one.best, &one.runner_up, one.ratio) {
        text += &format!(", {best} {}{} over {next}", one.bound, times(ratio));
    }
    format!("{text} ({})", one.reason)
}

fn alt(source: &Source<'_>, all: &[Comparison]) -> String {
    let names = source.names();
    let mut counts: Vec<(String, usize)> = Vec::new();
    for one in all {
        let word = names.get(&one.verdict).unwrap_or(&one.verdict);
        match counts.iter_mut().find(|(known, _)| known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word.clone(), 1)),
        }
    }
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let counts: Vec<String> =
        counts.iter().map(|(word, count)| format!("{word} {count}")).collect();
    format!("Of {}: {}.", counted(all.len()), listed(&counts))
}
