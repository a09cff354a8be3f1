//! A table for people: drawn for a terminal, or as Markdown.

use std::borrow::Cow;

use comfy_table::{
    Attribute, Cell as Drawn, CellAlignment, Color, ColumnConstraint, ContentArrangement,
    ContentLineStyle, LineStyle, Table, TableStyle, Width,
};

/// What stands where there is no figure.
pub const MISSING: &str = "—";

/// Columns of the terminal between two columns of a table.
const GAP: usize = 2;

/// How tables are drawn for a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Columns of the terminal; `None` where nobody looks, and lines may be as
    /// long as they are.
    pub width: Option<u16>,
    /// Whether to use colour.
    pub colour: bool,
}

/// On which side of its column a cell stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Figures.
    Right,
}

/// The tone of a cell, shown as colour. Its text says the same without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Nothing to point out.
    #[default]
    Plain,
    /// Decided, for the better.
    Good,
    /// Decided that there is no difference.
    Even,
    /// Void, incomplete, or for the worse.
    Bad,
}

/// One cell of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// Its tone.
    pub tone: Tone,
}

impl Cell {
    /// A cell with a tone.
    pub fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), tone: Tone::Plain }
    }
}

/// A table: named columns, and rows of as many cells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grid {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<Cell>>,
}

impl Grid {
    /// A table without rows.
    pub fn new<N: Into<String>>(columns: impl IntoIterator<Item = (N, Align)>) -> Self {
        let columns = columns.into_iter().map(|(name, align)| (name.into(), align)).collect();
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row, which has a cell for every column.
    pub fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.columns.len(), "a cell for every column");
        self.rows.push(row);
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table for a terminal: ruled by lines under and over, fitted to the
    /// width if there is one. Ends with a newline.
    pub fn to_terminal(&self, style: Style) -> String {
        const RULED: TableStyle = TableStyle::new()
            .top_border(LineStyle::none().fill('─').junction('─'))
            .header_separator(LineStyle::none().fill('─').junction('─'))
            .bottom_border(LineStyle::none().fill('─').junction('─'))
            .header_lines(ContentLineStyle::none().junction(' '))
            .content_lines(ContentLineStyle::none().junction(' '));
        let mut table = Table::new();
        table.load_style(RULED);
        if style.colour {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        match style.width {
            Some(width) => {
                table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width)
            }
            None => table.set_content_arrangement(ContentArrangement::Disabled),
        };
        table.set_header(self.columns.iter().map(|(name, _)| {
            let cell = Drawn::new(visible(name));
            if style.colour { cell.add_attribute(Attribute::Bold) } else { cell }
        }));
        for row in &self.rows {
            table.add_row(row.iter().map(|cell| draw(cell, style.colour)));
        }
        let least = style.width.and_then(|width| self.least_widths(width)).unwrap_or_default();
        for (index, (_, align)) in self.columns.iter().enumerate() {
            if let Some(column) = table.column_mut(index) {
                if let Some(&least) = least.get(index) {
                    column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
                }
                column.set_padding((0, 1)).set_cell_alignment(match align {
                    Align::Left => CellAlignment::Left,
                    Align::Right => CellAlignment::Right,
                });
            }
        }
        let mut text = table.trim_fmt();
        text.push('\n');
        text
    }

    /// How narrow each column may become in a terminal of that width: no cell
    /// is folded and names only between their words, or at least no cell is.
    /// `None` where the width is not enough for that.
    fn least_widths(&self, width: u16) -> Option<Vec<u16>> {
        let longest = |parts: &mut dyn Iterator<Item = &str>| {
            parts.map(|part| part.chars().count()).max().unwrap_or(0)
        };
        let cells: Vec<usize> = (0..self.columns.len())
            .map(|index| longest(&mut self.rows.iter().flat_map(|row| row[index].text.lines())))
            .collect();
        let names = self.columns.iter().map(|(name, _)| longest(&mut name.split(' ')));
        let both = cells.iter().zip(names).map(|(&cell, name)| cell.max(name)).collect();
        [both, cells].into_iter().find_map(|least: Vec<usize>| {
            let needed: usize = least.iter().map(|width| width + GAP).sum();
            // The boundary is that of the column, with what pads it.
            let least = least.into_iter().map(|width| u16::try_from(width + 1).ok());
            (needed <= usize::from(width)).then(|| least.collect())?
        })
    }

    /// The table as Markdown, its columns padded so that it reads as it is.
    /// Ends with a newline.
    pub fn to_markdown(&self) -> String {
        let header: Vec<String> = self.columns.iter().map(|(name, _)| escaped(name)).collect();
        let rows: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| escaped(&cell.text)).collect())
            .collect();
        let width = |index: usize| {
            let cells = rows.iter().map(|row| &row[index]).chain([&header[index]]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(3)
        };
        let widths: Vec<usize> = (0..header.len()).map(width).collect();
        let line = |cells: &[String]| {
            let mut line = String::from("|");
            for ((cell, width), (_, align)) in cells.iter().zip(&widths).zip(&self.columns) {
                let width = *width;
                line += &match align {
                    Align::Left => format!(" {cell:<width$} |"),
                    Align::Right => format!(" {cell:>width$} |"),
                };
            }
            line.push('\n');
            line
        };
        let mut text = line(&header);
        text.push('|');
        for (width, (_, align)) in widths.iter().zip(&self.columns) {
            text += &match align {
                Align::Left => format!(" {} |", "-".repeat(*width)),
                Align::Right => format!(" {}: |", "-".repeat(width - 1)),
            };
        }
        text.push('\n');
        text.extend(rows.iter().map(|row| line(row)));
        text
    }
}

fn draw(cell: &Cell, colour: bool) -> Drawn {
    let drawn = Drawn::new(visible(&cell.text));
    if !colour {
        return drawn;
    }
    match cell.tone {
        Tone::Plain => drawn,
        Tone::Good => drawn.fg(Color::Green),
        Tone::Even => drawn.fg(Color::Yellow),
        Tone::Bad => drawn.fg(Color::Red),
    }
}

/// Text from the data, without anything that steers a terminal.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    // Control characters, and those that turn the direction of what follows.
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let steers = |c: char| (c.is_control() && c != '\n') || turns(c);
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if steers(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// Text as the content of a Markdown cell.
fn escaped(text: &str) -> String {
    visible(text).replace('\\', "\\\\").replace('|', "\\|").replace('\n', "<br>")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid = Grid::new([("class", Align::Left), ("rps", Align::Right)]);
        grid.push(vec!["Q01".into(), "412.0 ±37.9".into()]);
        grid.push(vec!["mix".into(), Cell::toned(MISSING, Tone::Bad)]);
        grid
    }

    #[test]
    fn terminal_without_a_width_is_as_wide_as_its_text() {
        assert_eq!(
            grid().to_terminal(Style::default()),
            "\
───────────────────
class          rps
───────────────────
Q01    412.0 ±37.9
mix              —
───────────────────
"
        );
    }

    #[test]
    fn terminal_folds_to_its_width() {
        let text = grid().to_terminal(Style { width: Some(18), colour: false });
        assert!(text.lines().all(|line| line.chars().count() <= 18), "{text}");
        assert!(text.contains("±37.9"), "{text}");
    }

    #[test]
    fn names_are_folded_between_words_before_cells_are() {
        let mut grid =
            Grid::new([("egernia-scaling3 p95 (s)", Align::Right), ("verdict", Align::Left)]);
        grid.push(vec!["0.022 ±0.000".into(), "egernia-scaling3".into()]);
        assert_eq!(
            grid.to_terminal(Style { width: Some(35), colour: false }),
            "\
───────────────────────────────────
egernia-scaling3  verdict
         p95 (s)
───────────────────────────────────
    0.022 ±0.000  egernia-scaling3
───────────────────────────────────
"
        );
        let narrow = grid.to_terminal(Style { width: Some(32), colour: false });
        assert!(narrow.contains("0.022 ±0.000  egernia-scaling3"), "{narrow}");
    }

    #[test]
    fn colour_is_there_only_when_asked_for() {
        assert!(!grid().to_terminal(Style::default()).contains('\u{1b}'));
        let coloured = grid().to_terminal(Style { width: None, colour: true });
        assert!(coloured.contains("\u{1b}[38;5;9m"), "{coloured:?}");
    }

    #[test]
    fn markdown_is_padded_and_aligned() {
        assert_eq!(
            grid().to_markdown(),
            "\
| class |         rps |
| ----- | ----------: |
| Q01   | 412.0 ±37.9 |
| mix   |           — |
"
        );
    }

    #[test]
    fn an_empty_grid_still_has_its_header() {
        let empty = Grid::new([("class", Align::Left), ("c", Align::Right)]);
        assert_eq!(empty.to_markdown(), "| class |   c |\n| ----- | --: |\n");
        assert!(empty.to_terminal(Style::default()).contains("class"));
    }

    #[test]
    fn data_cannot_steer_the_terminal_or_break_a_table() {
        let mut grid = Grid::new([("text", Align::Left)]);
        grid.push(vec!["\u{1b}[31mred\u{7}".into()]);
        grid.push(vec!["a|b\nc\\".into()]);
        grid.push(vec!["1\u{202e}2".into()]);
        let text = grid.to_terminal(Style::default());
        assert!(text.contains("\\u{1b}[31mred\\u{7}"), "{text}");
        assert!(text.contains("1\\u{202e}2"), "{text}");
        assert!(grid.to_markdown().contains("| a\\|b<br>c\\\\ "), "{}", grid.to_markdown());
    }
}
