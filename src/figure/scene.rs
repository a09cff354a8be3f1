//! What is drawn: a list of shapes, read back from what the drawing library
//! wrote.
//!
//! The library's SVG can neither group shapes nor say what they mean. Here they
//! are values, with notes between them: texts can be measured, marks carry
//! their figures, and either a file or a part of a page is written from them.

use resvg::usvg::roxmltree::{Document, Node};

use super::FigureError;
use super::font::Weight;
use super::ink::Ink;

/// Coordinates are tenths of a point.
pub const PT: i32 = 10;

/// What capitals and figures reach above the line, as a fraction of the size.
const CAPS: f64 = 0.727;

/// The library writes a size divided by this.
pub const SIZE_FACTOR: f64 = 1.24;

/// Begins a text that is no text but the number of a note.
pub const NOTE: char = '\u{e000}';

/// A place on the sheet.
pub type At = (i32, i32);

/// All shapes of a figure, in the order in which they are drawn.
#[derive(Debug, Clone, Default)]
pub struct Scene {
    /// Width and height.
    pub size: (i32, i32),
    /// The shapes.
    pub items: Vec<Item>,
}

/// What the drawing library cannot be told.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// A mark begins: its value, and attributes for programs.
    Begin(String, Vec<(&'static str, String)>),
    /// It ends.
    End,
    /// Where a pointer finds a mark: a centre and a radius.
    Hit(At, i32),
    /// Whether lines are dashed from here on.
    Dashed(bool),
}

/// A shape, or where a mark begins or ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A mark begins: its value, and attributes for programs.
    Begin(String, Vec<(&'static str, String)>),
    /// It ends.
    End,
    /// Where a pointer finds a mark: a centre and a radius.
    Hit(At, i32),
    /// A line through points.
    Line(Vec<At>, Stroke),
    /// A filled area.
    Area(Vec<At>, Fill),
    /// A circle, filled or not.
    Disc(At, u32, Fill),
    /// A circle's line.
    Ring(At, u32, Stroke),
    /// A text.
    Text(Label),
}

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stroke {
    /// Its ink.
    pub ink: Ink,
    /// Opacity, 0 to 1.
    pub alpha: f64,
    /// Its width.
    pub width: u32,
    /// Whether it is dashed.
    pub dashed: bool,
}

/// How an area looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fill {
    /// Its ink.
    pub ink: Ink,
    /// Opacity, 0 to 1.
    pub alpha: f64,
}

/// A text and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    /// Where its anchor is, on the base line.
    pub at: At,
    /// The text.
    pub text: String,
    /// Its size.
    pub size: i32,
    /// Its weight.
    pub weight: Weight,
    /// Its ink.
    pub ink: Ink,
    /// The share of its width that lies left of its anchor: 0, 0.5 or 1.
    pub anchor: f64,
}

impl Scene {
    /// Reads what the drawing library wrote, with the notes that its texts name.
    ///
    /// # Errors
    /// If it is not what the library writes.
    pub fn read(svg: &str, size: At, notes: &[Note]) -> Result<Self, FigureError> {
        let document = Document::parse(svg).map_err(FigureError::drawing)?;
        let mut items = Vec::new();
        let mut dashed = false;
        for node in document.root_element().children().filter(Node::is_element) {
            let shape = Written { node };
            if let Some(index) = shape.content().strip_prefix(NOTE) {
                let index: usize = index.parse().map_err(FigureError::drawing)?;
                match &notes[index] {
                    Note::Begin(value, data) => {
                        items.push(Item::Begin(value.clone(), data.clone()))
                    }
                    Note::End => items.push(Item::End),
                    Note::Hit(at, radius) => items.push(Item::Hit(*at, *radius)),
                    Note::Dashed(on) => dashed = *on,
                }
                continue;
            }
            items.extend(shape.item(dashed)?);
        }
        Ok(Self { size, items })
    }
}

/// An element that the library wrote.
struct Written<'a, 'input> {
    node: Node<'a, 'input>,
}

impl Written<'_, '_> {
    fn text(&self, name: &str) -> &str {
        self.node.attribute(name).unwrap_or_default()
    }

    /// The text of a text, which the library puts on a line of its own.
    fn content(&self) -> &str {
        let text = self.node.text().unwrap_or_default();
        let text = text.strip_prefix('\n').unwrap_or(text);
        text.strip_suffix('\n').unwrap_or(text)
    }

    fn number(&self, name: &str) -> Result<f64, FigureError> {
        self.text(name).parse().map_err(FigureError::drawing)
    }

    fn whole(&self, name: &str) -> Result<i32, FigureError> {
        self.text(name).parse().map_err(FigureError::drawing)
    }

    fn points(&self) -> Result<Vec<At>, FigureError> {
        let pair = |pair: &str| {
            let (x, y) = pair.split_once(',').ok_or_else(|| FigureError::drawing(pair))?;
            let number = |text: &str| text.parse::<i32>().map_err(FigureError::drawing);
            Ok((number(x)?, number(y)?))
        };
        self.text("points").split_whitespace().map(pair).collect()
    }

    fn fill(&self) -> Result<Fill, FigureError> {
        Ok(Fill { ink: ink(self.text("fill")), alpha: self.number("opacity")? })
    }

    fn stroke(&self, dashed: bool) -> Result<Stroke, FigureError> {
        let width = self.text("stroke-width").parse().map_err(FigureError::drawing)?;
        Ok(Stroke { ink: ink(self.text("stroke")), alpha: self.number("opacity")?, width, dashed })
    }

    fn item(&self, dashed: bool) -> Result<Option<Item>, FigureError> {
        Ok(Some(match self.node.tag_name().name() {
            "line" => {
                let from = (self.whole("x1")?, self.whole("y1")?);
                let to = (self.whole("x2")?, self.whole("y2")?);
                Item::Line(vec![from, to], self.stroke(dashed)?)
            }
            "polyline" => {
                let points = self.points()?;
                if points.len() < 2 {
                    return Ok(None);
                }
                Item::Line(points, self.stroke(dashed)?)
            }
            "polygon" => Item::Area(self.points()?, self.fill()?),
            "rect" => {
                let (x, y) = (self.whole("x")?, self.whole("y")?);
                let (right, bottom) = (x + self.whole("width")?, y + self.whole("height")?);
                Item::Area(vec![(x, y), (right, y), (right, bottom), (x, bottom)], self.fill()?)
            }
            "circle" => {
                let centre = (self.whole("cx")?, self.whole("cy")?);
                let radius = self.text("r").parse().map_err(FigureError::drawing)?;
                match self.text("fill") {
                    "none" => Item::Ring(centre, radius, self.stroke(dashed)?),
                    _ => Item::Disc(centre, radius, self.fill()?),
                }
            }
            "text" => Item::Text(self.label()?),
            other => return Err(FigureError::drawing(other)),
        }))
    }

    fn label(&self) -> Result<Label, FigureError> {
        let size = self.number("font-size")?;
        let below = match self.text("dy") {
            "0.76em" => CAPS * size,
            "0.5ex" => CAPS * size / 2.0,
            _ => 0.0,
        };
        let (x, y) = (self.whole("x")?, self.whole("y")?);
        Ok(Label {
            at: (x, y + below.round() as i32),
            text: self.content().to_owned(),
            size: size.round() as i32,
            weight: match self.node.attribute("font-weight") {
                Some(_) => Weight::Semibold,
                None => Weight::Regular,
            },
            ink: ink(self.text("fill")),
            anchor: match self.text("text-anchor") {
                "middle" => 0.5,
                "end" => 1.0,
                _ => 0.0,
            },
        })
    }
}

/// The ink of a colour as the library writes it, `#RRGGBB`.
fn ink(colour: &str) -> Ink {
    let number = colour.strip_prefix('#').and_then(|hex| u32::from_str_radix(hex, 16).ok());
    number.map_or(Ink::Text, Ink::of)
}
