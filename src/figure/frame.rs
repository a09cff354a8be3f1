//! What stands around the panels of a figure: its title, a legend, and the key
//! to its marks. Their room is known before anything is drawn.

use super::canvas::{Canvas, Rect, SMALL, TEXT, TITLE, Type, sheet};
use super::ink::Ink;
use super::scene::{PT, Scene};
use super::{FigureError, Width};

/// Free room at the edges.
const MARGIN: i32 = 4 * PT;
/// From line to line.
const LEADING: i32 = 95;
/// The room of a symbol in a key.
const SYMBOL: i32 = 120;
/// Between two keys on a line.
const BETWEEN: i32 = 120;

/// What is drawn before a key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Symbol {
    /// Nothing.
    None,
    /// The symbol of a series on its line.
    Series(usize),
    /// A hollow mark.
    Hollow,
    /// An arrow upwards.
    Arrow,
    /// An interval.
    Interval,
    /// A square with a dashed edge.
    Dashed,
    /// A swatch of a series, so opaque.
    Swatch(usize, f64),
    /// A band.
    Band,
    /// The symbol of a series alone.
    Mark(usize),
}

/// A symbol and what it means.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// The symbol.
    pub symbol: Symbol,
    /// What it means.
    pub text: String,
}

impl Key {
    /// A symbol and what it means.
    pub fn new(symbol: Symbol, text: impl Into<String>) -> Self {
        Self { symbol, text: text.into() }
    }
}

/// A line of a key, placed.
#[derive(Debug, Clone, PartialEq)]
struct Placed {
    symbol: Symbol,
    x: i32,
    line: i32,
    text: String,
}

/// What stands around the panels.
#[derive(Debug, Clone)]
pub struct Frame {
    width: i32,
    title: Vec<String>,
    subtitle: Vec<String>,
    legend: Vec<Placed>,
    keys: Vec<Placed>,
}

impl Frame {
    /// A frame with a title, what is shown of what, a legend above the panels
    /// and the key to the marks below them.
    pub fn new(width: Width, title: &str, subtitle: &str, legend: &[Key], keys: &[Key]) -> Self {
        let width = width.length();
        let inner = width - 2 * MARGIN;
        Self {
            width,
            title: title_look().wrapped(title, inner),
            subtitle: subtitle_look().wrapped(subtitle, inner),
            legend: place(legend, inner),
            keys: place(keys, inner),
        }
    }

    /// The width that panels have.
    pub fn inner(&self) -> i32 {
        self.width - 2 * MARGIN
    }

    /// Draws it around what `draw` draws in the middle, so high.
    ///
    /// # Errors
    /// If the drawing fails.
    pub fn draw(
        &self,
        height: i32,
        draw: impl FnOnce(&Canvas<'_>, Rect),
    ) -> Result<Scene, FigureError> {
        let lines = |texts: usize| i32::try_from(texts).unwrap_or(0) * LEADING;
        let head = MARGIN + lines(self.title.len()) + lines(self.subtitle.len());
        let legend_top = head + 20;
        let top = head + 30 + rows(&self.legend) * LEADING;
        let bottom = top + height;
        let keys_top = bottom + 40;
        let total =
            keys_top + rows(&self.keys) * LEADING + if self.keys.is_empty() { 0 } else { 20 };
        sheet((self.width, total), |canvas| {
            let mut y = MARGIN + 65;
            for line in &self.title {
                canvas.text((MARGIN, y), line, title_look());
                y += LEADING;
            }
            for line in &self.subtitle {
                canvas.text((MARGIN, y), line, subtitle_look());
                y += LEADING;
            }
            for placed in &self.legend {
                draw_key(canvas, placed, legend_top);
            }
            for placed in &self.keys {
                draw_key(canvas, placed, keys_top);
            }
            draw(canvas, Rect { left: MARGIN, top, right: self.width - MARGIN, bottom });
        })
    }
}

fn title_look() -> Type {
    Type::new(TITLE).bold()
}

fn subtitle_look() -> Type {
    Type::new(TEXT).ink(Ink::Muted)
}

fn key_look() -> Type {
    Type::new(SMALL).ink(Ink::Muted)
}

fn rows(placed: &[Placed]) -> i32 {
    placed.iter().map(|placed| placed.line + 1).max().unwrap_or(0)
}

/// Places keys one after the other, on a new line where one does not fit.
fn place(keys: &[Key], width: i32) -> Vec<Placed> {
    let mut placed = Vec::new();
    let (mut x, mut line) = (0, 0);
    for key in keys {
        let indent = if key.symbol == Symbol::None { 0 } else { SYMBOL };
        let needed = indent + key_look().width(&key.text);
        if x > 0 && x + needed > width {
            x = 0;
            line += 1;
        }
        if needed <= width {
            placed.push(Placed { symbol: key.symbol, x, line, text: key.text.clone() });
            x += needed + BETWEEN;
            continue;
        }
        let mut symbol = key.symbol;
        for text in key_look().wrapped(&key.text, width - indent) {
            let x = if symbol == Symbol::None { indent } else { 0 };
            placed.push(Placed { symbol, x, line, text });
            symbol = Symbol::None;
            line += 1;
        }
        x = 0;
    }
    placed
}

fn draw_key(canvas: &Canvas<'_>, placed: &Placed, top: i32) {
    let x = MARGIN + placed.x;
    let middle = top + placed.line * LEADING + 40;
    let (from, centre, to) = (x, x + 45, x + 90);
    let indent = if placed.symbol == Symbol::None { 0 } else { SYMBOL };
    canvas.text((x + indent, middle), &placed.text, key_look().middle());
    match placed.symbol {
        Symbol::None => {}
        Symbol::Series(series) => {
            canvas.line(&[(from, middle), (to, middle)], Ink::Series(series), 12);
            canvas.symbol((centre, middle), series, 21, false);
        }
        Symbol::Mark(series) => canvas.symbol((centre, middle), series, 21, false),
        Symbol::Hollow => canvas.ring((centre, middle), 21, Ink::Muted, 9),
        Symbol::Arrow => canvas.arrow((centre, middle + 57), 21, Ink::Muted),
        Symbol::Interval => canvas.interval(centre, middle - 30, middle + 30, Ink::Muted),
        Symbol::Dashed => {
            let square = Rect { left: from, top: middle - 28, right: to, bottom: middle + 28 };
            canvas.dashed(|| canvas.edge(square, Ink::Axis, 6));
        }
        Symbol::Swatch(series, alpha) => {
            let swatch = Rect { left: from, top: middle - 28, right: to, bottom: middle + 28 };
            canvas.fill(swatch, Ink::Series(series), alpha);
            canvas.edge(swatch, Ink::Axis, 3);
        }
        Symbol::Band => {
            let band = Rect { left: from, top: middle - 28, right: to, bottom: middle + 28 };
            canvas.fill(band, Ink::Band, 1.0);
        }
    }
}
