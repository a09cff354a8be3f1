//! A panel: a plot with its axes, and labels beside its lines.

use plotters::backend::SVGBackend;
use plotters::coord::cartesian::Cartesian2d;
use plotters::element::PathElement;
use plotters::prelude::DrawingArea;

use super::canvas::{Canvas, Rect, SMALL, TEXT, Type, done};
use super::ink::Ink;
use super::scale::{Axis, Scale};
use super::scene::At;

/// Above a plot, for its heading.
pub const HEADING: i32 = 140;
/// Below a plot, for its numbers.
pub const TICKS: i32 = 110;
/// Below the numbers, for what they are.
pub const CAPTION: i32 = 90;
/// From label to label, one below the other.
const LABEL_GAP: i32 = 82;
/// Between a plot and the labels beside it.
const LABEL_ROOM: i32 = 55;

/// A plot.
pub struct Panel<'c, 'a> {
    canvas: &'c Canvas<'a>,
    area: DrawingArea<SVGBackend<'a>, Cartesian2d<Scale, Scale>>,
    /// Where it is.
    pub plot: Rect,
}

fn tick_look() -> Type {
    Type::new(SMALL).ink(Ink::Muted)
}

/// The look of labels beside lines.
pub fn label_look() -> Type {
    Type::new(TEXT)
}

/// The room that the numbers of a vertical axis need.
pub fn ticks_width(axis: &Axis) -> i32 {
    let widths = axis.ticks.iter().map(|(_, text)| tick_look().width(text));
    widths.max().unwrap_or(0) + 35
}

impl<'c, 'a> Panel<'c, 'a> {
    /// A plot between two axes.
    pub fn new(canvas: &'c Canvas<'a>, plot: Rect, x: Scale, y: Scale) -> Self {
        let pixels = (plot.left..plot.right, plot.bottom..plot.top);
        let area = canvas.area.clone().apply_coord_spec(Cartesian2d::new(x, y, pixels));
        Self { canvas, area, plot }
    }

    /// Where a pair of figures is on the sheet.
    pub fn at(&self, x: f64, y: f64) -> At {
        self.area.map_coordinate(&(x, y))
    }

    /// A line through pairs of figures.
    pub fn curve(&self, points: &[(f64, f64)], ink: Ink, width: u32) {
        if points.len() > 1 {
            done(self.area.draw(&PathElement::new(points.to_vec(), ink.stroked(width))));
        }
    }

    /// What the plot shows, above it, from the one edge to the other.
    pub fn heading(&self, text: &str, left: i32, right: i32) {
        let text = label_look().fitted(text, right - left);
        self.canvas.text((left, self.plot.top - 58), &text, label_look());
    }

    /// The vertical axis: lines across the plot, and their numbers.
    pub fn vertical(&self, axis: &Axis) {
        let Rect { left, right, .. } = self.plot;
        for (value, text) in &axis.ticks {
            let y = self.at_y(*value);
            self.canvas.line(&[(left, y), (right, y)], Ink::Grid, 4);
            self.canvas.text((left - 25, y), text, tick_look().end().middle());
        }
    }

    fn at_y(&self, value: f64) -> i32 {
        let x = self.area.get_x_range().start;
        self.at(x, value).1
    }

    fn at_x(&self, value: f64) -> i32 {
        let y = self.area.get_y_range().start;
        self.at(value, y).0
    }

    /// The horizontal axis: its line, its marks, and as many of their numbers as
    /// have room beside each other.
    pub fn horizontal(&self, ticks: &[(f64, String)], with_numbers: bool) {
        let Rect { left, right, bottom, .. } = self.plot;
        self.canvas.line(&[(left, bottom), (right, bottom)], Ink::Axis, 6);
        let count = i32::try_from(ticks.len()).unwrap_or(1).max(1);
        // Few ticks may be words, which are cut rather than left out.
        let room = ((right - left + 150) / count - 40).max(150);
        let mut free_from = i32::MIN;
        for (value, text) in ticks {
            let x = self.at_x(*value);
            self.canvas.line(&[(x, bottom), (x, bottom + 20)], Ink::Axis, 6);
            let text = tick_look().fitted(text, room);
            let half = tick_look().width(&text) / 2;
            let middle = x.min(right + 50 - half).max(left - 100 + half);
            if with_numbers && middle - half >= free_from {
                self.canvas.text((middle, bottom + 90), &text, tick_look().centre());
                free_from = middle + half + 40;
            }
        }
    }

    /// Thin lines up the plot.
    pub fn uprights(&self, ticks: &[(f64, String)]) {
        for (value, _) in ticks {
            let x = self.at_x(*value);
            self.canvas.line(&[(x, self.plot.top), (x, self.plot.bottom)], Ink::Grid, 4);
        }
    }

    /// What the horizontal axis shows, below its numbers.
    pub fn caption(&self, text: &str) {
        let Rect { left, right, bottom, .. } = self.plot;
        let text = label_look().fitted(text, right - left + 200);
        let half = label_look().width(&text) / 2;
        let centre = (left + right) / 2;
        let centre = if half > (right - left) / 2 { right - half } else { centre };
        self.canvas.text((centre, bottom + TICKS + 65), &text, label_look().centre());
    }
}

/// A label at the end of a line.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    /// Where the line ends.
    pub at: At,
    /// The label.
    pub text: String,
    /// The series.
    pub series: usize,
}

/// The room that labels need beside a plot that high; none where they have no
/// room below each other, or would take more than `most`.
pub fn ends_width<'t>(
    texts: impl IntoIterator<Item = &'t str>,
    height: i32,
    most: i32,
) -> Option<i32> {
    let widths: Vec<i32> = texts.into_iter().map(|text| label_look().width(text)).collect();
    let count = i32::try_from(widths.len()).unwrap_or(i32::MAX / LABEL_GAP);
    let width = LABEL_ROOM + widths.into_iter().max().unwrap_or(0);
    (count * LABEL_GAP <= height && width <= most).then_some(width)
}

/// Writes labels beside a plot, each as near to the end of its line as the
/// others let it, with a thin line where it had to give way.
pub fn draw_ends(canvas: &Canvas<'_>, plot: Rect, mut ends: Vec<End>) {
    ends.sort_by_key(|end| (end.at.1, end.series));
    let wanted: Vec<i32> = ends.iter().map(|end| end.at.1).collect();
    let middles = spread(&wanted, LABEL_GAP, plot.top, plot.bottom);
    for (end, y) in ends.iter().zip(middles) {
        let x = plot.right + LABEL_ROOM;
        if (y - end.at.1).abs() > 12 {
            canvas.line(&[end.at, (x - 12, y)], Ink::Series(end.series), 4);
        }
        canvas.text((x, y), &end.text, label_look().ink(Ink::Series(end.series)).middle());
    }
}

/// Places as near to the wanted ones (in ascending order) as can be with that
/// gap between them, within the ends if they have room there: least squares.
pub fn spread(wanted: &[i32], gap: i32, top: i32, bottom: i32) -> Vec<i32> {
    // What is wanted of each if all stood together; the least squares under
    // which these stay in order are means over blocks.
    let mut blocks: Vec<(i64, i64)> = Vec::new();
    for (index, y) in wanted.iter().enumerate() {
        let offset = i64::from(gap) * i64::try_from(index).unwrap_or(0);
        blocks.push((i64::from(*y) - offset, 1));
        while let [.., (sum_a, a), (sum_b, b)] = blocks[..] {
            if sum_a * b <= sum_b * a {
                break;
            }
            blocks.truncate(blocks.len() - 2);
            blocks.push((sum_a + sum_b, a + b));
        }
    }
    let last = i64::from(gap) * (i64::try_from(wanted.len()).unwrap_or(0) - 1);
    let (least, most) = (i64::from(top), (i64::from(bottom) - last).max(i64::from(top)));
    let mut places = Vec::with_capacity(wanted.len());
    for (sum, count) in blocks {
        for _ in 0..count {
            let offset = i64::from(gap) * i64::try_from(places.len()).unwrap_or(0);
            let place = (sum / count).clamp(least, most) + offset;
            places.push(i32::try_from(place).unwrap_or(bottom));
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_stay_where_they_can() {
        assert_eq!(spread(&[100, 300], 80, 0, 1000), [100, 300]);
        assert_eq!(spread(&[100, 100], 80, 0, 1000), [60, 140]);
        assert_eq!(spread(&[0, 10, 20], 80, 0, 1000), [0, 80, 160]);
        assert_eq!(spread(&[990, 1000], 80, 0, 1000), [920, 1000]);
        assert_eq!(spread(&[500, 510, 520, 900], 80, 0, 1000), [430, 510, 590, 900]);
        assert!(spread(&[], 80, 0, 10).is_empty());
    }

    #[test]
    fn labels_without_room_are_refused() {
        assert!(ends_width(["egernia", "dachs"], 1000, 900).is_some());
        assert_eq!(ends_width(["egernia"; 20], 1000, 900), None);
        assert_eq!(ends_width(["a very long name of a target, indeed"], 1000, 900), None);
    }
}
