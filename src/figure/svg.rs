//! A scene as SVG: a file of its own, or a part of a page.

use std::fmt::Write;

use super::font::{FAMILY, Weight, font_face_css};
use super::ink::Ink;
use super::scene::{At, Fill, Item, Label, Scene, Stroke};

/// What is said of a figure beside its drawing.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// Its title.
    pub title: &'a str,
    /// Its figures in words.
    pub alt: &'a str,
    /// Where it comes from.
    pub notes: &'a [String],
}

/// Where an SVG goes.
#[derive(Debug, Clone, Copy)]
enum Place<'a> {
    /// A file: fixed colours, and the font inside.
    File,
    /// A page that has the font, and may set the colours; the prefix of ids.
    Page(&'a str),
}

/// A file of its own.
pub fn file(scene: &Scene, about: About<'_>) -> String {
    write(scene, about, Place::File, true)
}

/// The same without the font, for renderers that have it.
pub fn drawing(scene: &Scene, about: About<'_>) -> String {
    write(scene, about, Place::File, false)
}

/// A part of a page, whose ids begin with a prefix.
pub fn inline(scene: &Scene, about: About<'_>, prefix: &str) -> String {
    write(scene, about, Place::Page(prefix), false)
}

/// A length in tenths of a point, in millimetres.
fn millimetres(length: i32) -> String {
    let text = format!("{:.2}", f64::from(length) * 25.4 / 720.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn write(scene: &Scene, about: About<'_>, place: Place<'_>, with_font: bool) -> String {
    let (width, height) = scene.size;
    let mut svg = String::with_capacity(64 * scene.items.len() + 1024);
    let prefix = match place {
        Place::File => "",
        Place::Page(prefix) => prefix,
    };
    let prefix = escaped(prefix);
    let size = match place {
        Place::File => {
            format!("width=\"{}mm\" height=\"{}mm\"", millimetres(width), millimetres(height))
        }
        // A page may make it narrower, never wider than it was drawn for.
        Place::Page(_) => format!(
            "style=\"width:100%;height:auto;max-width:{:.1}pt\"",
            1.6 * f64::from(width) / 10.0
        ),
    };
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" {size} viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{prefix}title {prefix}desc\" font-family=\"{FAMILY}, sans-serif\">"
    );
    let _ = writeln!(svg, "<title id=\"{prefix}title\">{}</title>", escaped(about.title));
    let _ = writeln!(svg, "<desc id=\"{prefix}desc\">{}</desc>", escaped(about.alt));
    if matches!(place, Place::File) {
        let _ = writeln!(svg, "<metadata>{}</metadata>", escaped(&about.notes.join("\n")));
        if with_font {
            let _ = writeln!(svg, "<style>{}</style>", font_face_css());
        }
        let _ = writeln!(
            svg,
            "<rect width=\"{width}\" height=\"{height}\"{}/>",
            paint("fill", Ink::Paper, 1.0, place)
        );
    }
    for item in &scene.items {
        write_item(&mut svg, item, place);
    }
    svg += "</svg>\n";
    svg
}

fn write_item(svg: &mut String, item: &Item, place: Place<'_>) {
    let _ = match item {
        Item::Begin(value, data) => {
            svg.push_str("<g class=\"mark\"");
            for (name, value) in data {
                let _ = write!(svg, " data-{name}=\"{}\"", escaped(value));
            }
            writeln!(svg, "><title>{}</title>", escaped(value))
        }
        Item::End => writeln!(svg, "</g>"),
        Item::Hit((x, y), radius) => match place {
            Place::File => Ok(()),
            Place::Page(_) => {
                writeln!(svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"transparent\"/>")
            }
        },
        Item::Line(points, stroke) => {
            writeln!(svg, "<path d=\"{}\" fill=\"none\"{}/>", path(points), stroked(*stroke, place))
        }
        Item::Area(points, fill) => {
            writeln!(svg, "<path d=\"{}Z\"{}/>", path(points), filled(*fill, place))
        }
        Item::Disc((x, y), radius, fill) => {
            writeln!(svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"{}/>", filled(*fill, place))
        }
        Item::Ring((x, y), radius, stroke) => writeln!(
            svg,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"none\"{}/>",
            stroked(*stroke, place)
        ),
        Item::Text(label) => write_label(svg, label, place),
    };
}

fn write_label(svg: &mut String, label: &Label, place: Place<'_>) -> std::fmt::Result {
    let (x, y) = label.at;
    write!(svg, "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\"", label.size)?;
    if label.weight == Weight::Semibold {
        svg.push_str(" font-weight=\"600\"");
    }
    if label.anchor > 0.0 {
        let anchor = if label.anchor < 1.0 { "middle" } else { "end" };
        write!(svg, " text-anchor=\"{anchor}\"")?;
    }
    writeln!(svg, "{}>{}</text>", paint("fill", label.ink, 1.0, place), escaped(&label.text))
}

/// The path through points; closed, where it ends where it began.
fn path(points: &[At]) -> String {
    let mut d = String::new();
    let is_closed = points.len() > 2 && points.first() == points.last();
    let points = if is_closed { &points[..points.len() - 1] } else { points };
    for (index, (x, y)) in points.iter().enumerate() {
        d.push(match index {
            0 => 'M',
            1 => 'L',
            _ => ' ',
        });
        let _ = write!(d, "{x} {y}");
    }
    if is_closed {
        d.push('Z');
    }
    d
}

fn filled(fill: Fill, place: Place<'_>) -> String {
    paint("fill", fill.ink, fill.alpha, place)
}

fn stroked(stroke: Stroke, place: Place<'_>) -> String {
    let mut text = paint("stroke", stroke.ink, stroke.alpha, place);
    let _ = write!(text, " stroke-width=\"{}\" stroke-linejoin=\"round\"", stroke.width);
    if stroke.dashed {
        text.push_str(" stroke-dasharray=\"24 20\"");
    }
    text
}

/// A colour as attributes: fixed in a file; in a page, one that it may set.
fn paint(what: &str, ink: Ink, alpha: f64, place: Place<'_>) -> String {
    let hex = ink.hex();
    let mut text = match place {
        Place::File => format!(" {what}=\"{hex}\""),
        Place::Page(_) => format!(" style=\"{what}:var(--fig-{},{hex})\"", ink.name()),
    };
    if alpha < 1.0 {
        let _ = write!(text, " {what}-opacity=\"{alpha}\"");
    }
    text
}

/// Text between tags or in an attribute.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push('\n'),
            c if super::canvas::is_written(c) => escaped.push(c),
            _ => escaped.push('\u{fffd}'),
        }
    }
    escaped
}
