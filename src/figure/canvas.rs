//! A sheet to draw on: lines, areas, marks and texts by their place on it.

use std::cell::RefCell;

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::element::{Circle, PathElement, Polygon, Rectangle};
use plotters::prelude::{DrawingArea, IntoDrawingArea};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, ShapeStyle, TextStyle};

use super::FigureError;
use super::font::{FAMILY, Weight, text_width};
use super::ink::{Ink, Shape};
use super::scene::{At, NOTE, Note, SIZE_FACTOR, Scene};

/// Text sizes, in tenths of a point: nothing is smaller than 6.5 pt.
pub const TITLE: i32 = 80;
/// Of labels.
pub const TEXT: i32 = 70;
/// Of ticks and keys.
pub const SMALL: i32 = 65;

/// A rectangle on the sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rect {
    /// Left edge.
    pub left: i32,
    /// Upper edge.
    pub top: i32,
    /// Right edge.
    pub right: i32,
    /// Lower edge.
    pub bottom: i32,
}

impl Rect {
    /// Its width.
    pub fn width(&self) -> i32 {
        self.right - self.left
    }
}

/// How a text looks.
#[derive(Clone, Copy)]
pub struct Type {
    size: i32,
    weight: Weight,
    ink: Ink,
    horizontal: HPos,
    vertical: VPos,
}

impl Type {
    /// A text of that size that starts at its place, and stands on it.
    pub fn new(size: i32) -> Self {
        let weight = Weight::Regular;
        Self { size, weight, ink: Ink::Text, horizontal: HPos::Left, vertical: VPos::Bottom }
    }

    /// In that ink.
    pub fn ink(self, ink: Ink) -> Self {
        Self { ink, ..self }
    }

    /// Semibold.
    pub fn bold(self) -> Self {
        Self { weight: Weight::Semibold, ..self }
    }

    /// Centred on its place from left to right.
    pub fn centre(self) -> Self {
        Self { horizontal: HPos::Center, ..self }
    }

    /// Ending at its place.
    pub fn end(self) -> Self {
        Self { horizontal: HPos::Right, ..self }
    }

    /// Its middle at the height of its place.
    pub fn middle(self) -> Self {
        Self { vertical: VPos::Center, ..self }
    }

    /// The width of a text that looks so.
    pub fn width(self, text: &str) -> i32 {
        text_width(text, f64::from(self.size), self.weight).ceil() as i32
    }

    /// The text, with an ellipsis in its middle if it is wider than that: the
    /// ends of names tell them apart.
    pub fn fitted(self, text: &str, width: i32) -> String {
        if self.width(text) <= width {
            return text.to_owned();
        }
        let chars: Vec<char> = text.chars().collect();
        for kept in (0..chars.len()).rev() {
            let (front, back) = (kept.div_ceil(2), kept / 2);
            let mut shorter: String = chars[..front].iter().collect();
            shorter.push('…');
            shorter.extend(&chars[chars.len() - back..]);
            if self.width(&shorter) <= width {
                return shorter;
            }
        }
        String::new()
    }

    /// The text in lines no wider than that. A word that is wider is cut.
    pub fn wrapped(self, text: &str, width: i32) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut line = String::new();
        for word in text.split_whitespace() {
            let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
            if self.width(&longer) <= width {
                line = longer;
                continue;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            for c in word.chars() {
                line.push(c);
                if self.width(&line) > width && line.chars().count() > 1 {
                    line.pop();
                    lines.push(std::mem::replace(&mut line, c.to_string()));
                }
            }
        }
        if !line.is_empty() {
            lines.push(line);
        }
        lines
    }
}

/// The sheet.
pub struct Canvas<'a> {
    /// The whole of it, for the drawing library.
    pub area: DrawingArea<SVGBackend<'a>, Shift>,
    notes: RefCell<Vec<Note>>,
}

/// What `draw` draws on a sheet of that size.
///
/// # Errors
/// If what was drawn cannot be read back.
pub fn sheet(size: At, draw: impl FnOnce(&Canvas<'_>)) -> Result<Scene, FigureError> {
    let side = |length: i32| u32::try_from(length).unwrap_or(0);
    let mut svg = String::new();
    let notes = {
        let backend = SVGBackend::with_string(&mut svg, (side(size.0), side(size.1)));
        let canvas = Canvas { area: backend.into_drawing_area(), notes: RefCell::default() };
        draw(&canvas);
        done(canvas.area.present());
        canvas.notes.into_inner()
    };
    Scene::read(&svg, size, &notes)
}

impl Canvas<'_> {
    /// Puts a note between the shapes.
    fn note(&self, note: Note) {
        let index = self.notes.borrow().len();
        self.notes.borrow_mut().push(note);
        self.write((0, 0), &format!("{NOTE}{index}"), Type::new(SMALL));
    }

    /// A line through points.
    pub fn line(&self, points: &[At], ink: Ink, width: u32) {
        self.path(points, ink.stroked(width));
    }

    fn path(&self, points: &[At], style: ShapeStyle) {
        done(self.area.draw(&PathElement::new(points.to_vec(), style)));
    }

    /// A filled rectangle; `alpha` is its opacity.
    pub fn fill(&self, rect: Rect, ink: Ink, alpha: f64) {
        let corners = [(rect.left, rect.top), (rect.right, rect.bottom)];
        let style = ShapeStyle::from(ink.rgb().mix(alpha)).filled();
        done(self.area.draw(&Rectangle::new(corners, style)));
    }

    /// The edge of a rectangle.
    pub fn edge(&self, rect: Rect, ink: Ink, width: u32) {
        let Rect { left, top, right, bottom } = rect;
        self.line(
            &[(left, top), (right, top), (right, bottom), (left, bottom), (left, top)],
            ink,
            width,
        );
    }

    /// A filled area.
    pub fn polygon(&self, points: &[At], ink: Ink, alpha: f64) {
        let style = ShapeStyle::from(ink.rgb().mix(alpha)).filled();
        done(self.area.draw(&Polygon::new(points.to_vec(), style)));
    }

    /// Everything that `draw` draws, dashed.
    pub fn dashed(&self, draw: impl FnOnce()) {
        self.note(Note::Dashed(true));
        draw();
        self.note(Note::Dashed(false));
    }

    /// Everything that `draw` draws is one mark, whose value is shown under the
    /// pointer, and told to programs.
    pub fn mark(&self, value: &str, data: &[(&'static str, &str)], draw: impl FnOnce()) {
        let data = data.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.note(Note::Begin(value.to_owned(), data));
        draw();
        self.note(Note::End);
    }

    /// The symbol of a series. Hollow, it is seen through to the paper.
    pub fn symbol(&self, at: At, series: usize, radius: i32, is_hollow: bool) {
        let (ink, shape) = (Ink::Series(series), Shape::of(series));
        self.note(Note::Hit(at, radius + 25));
        let corners = shape.corners(radius);
        let (inside, line) = if is_hollow { (Ink::Paper, ink) } else { (ink, Ink::Paper) };
        let width = if is_hollow { 9 } else { 4 };
        if corners.is_empty() {
            done(self.area.draw(&Circle::new(at, radius, inside.filled())));
            done(self.area.draw(&Circle::new(at, radius, line.stroked(width))));
            return;
        }
        let mut corners: Vec<At> = corners.iter().map(|(x, y)| (at.0 + x, at.1 + y)).collect();
        self.polygon(&corners, inside, 1.0);
        corners.push(corners[0]);
        self.line(&corners, line, width);
    }

    /// A circle's line.
    pub fn ring(&self, at: At, radius: i32, ink: Ink, width: u32) {
        done(self.area.draw(&Circle::new(at, radius, ink.stroked(width))));
    }

    /// An arrow upwards from a mark: the figure is a lower bound.
    pub fn arrow(&self, at: At, radius: i32, ink: Ink) {
        self.arrow_to(at, -1, radius, ink);
    }

    /// An arrow downwards from a mark: the figure is at most this.
    pub fn arrow_down(&self, at: At, radius: i32, ink: Ink) {
        self.arrow_to(at, 1, radius, ink);
    }

    fn arrow_to(&self, at: At, way: i32, radius: i32, ink: Ink) {
        let (x, foot) = (at.0, at.1 + way * (radius + 8));
        let tip = foot + way * 50;
        self.line(&[(x, foot), (x, tip)], ink, 7);
        self.line(&[(x - 16, tip - way * 19), (x, tip), (x + 16, tip - way * 19)], ink, 7);
    }

    /// A vertical interval with its ends marked.
    pub fn interval(&self, x: i32, from: i32, to: i32, ink: Ink) {
        self.line(&[(x, from), (x, to)], ink, 8);
        for y in [from, to] {
            self.line(&[(x - 14, y), (x + 14, y)], ink, 8);
        }
    }

    /// A text.
    pub fn text(&self, at: At, text: &str, look: Type) {
        // What XML cannot hold is shown as what it is: a character that is not
        // there.
        let text: String =
            text.chars().map(|c| if is_written(c) { c } else { '\u{fffd}' }).collect();
        if !text.is_empty() {
            self.write(at, &text, look);
        }
    }

    fn write(&self, at: At, text: &str, look: Type) {
        let style = match look.weight {
            Weight::Regular => FontStyle::Normal,
            Weight::Semibold => FontStyle::Bold,
        };
        let size = f64::from(look.size) * SIZE_FACTOR;
        let style = TextStyle {
            font: FontDesc::new(FontFamily::Name(FAMILY), size, style),
            color: look.ink.rgb().to_backend_color(),
            pos: Pos::new(look.horizontal, look.vertical),
        };
        done(self.area.draw_text(text, &style, at));
    }
}

/// Whether a character of a name is written as it is: XML must hold it, and it
/// must not turn the direction of what follows.
pub fn is_written(c: char) -> bool {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !c.is_control() && !turns && !matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{fffe}' | '\u{ffff}')
}

/// The library writes to memory: nothing that it does can fail.
pub fn done<E: std::fmt::Debug>(drawn: Result<(), E>) {
    drawn.expect("a drawing in memory cannot fail");
}
