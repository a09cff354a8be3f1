//! The one font of all figures, and how wide a text is in it.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, RwLock};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plotters::style::{FontDesc, FontFamily, FontStyle, register_font};
use resvg::usvg::fontdb::Database;

/// The family that figures name.
pub const FAMILY: &str = "Inter";

const REGULAR: &[u8] = include_bytes!("../../assets/fonts/Inter-Regular.otf");
const SEMIBOLD: &[u8] = include_bytes!("../../assets/fonts/Inter-SemiBold.otf");
/// The same outlines, packed for browsers.
const REGULAR_WEB: &[u8] = include_bytes!("../../assets/fonts/Inter-Regular.woff2");
const SEMIBOLD_WEB: &[u8] = include_bytes!("../../assets/fonts/Inter-SemiBold.woff2");

/// Design units of an em, and from the ascender to the descender. The measuring
/// library takes that height for the size: at a size of so many pixels, it
/// measures in design units.
const UNITS_PER_EM: f64 = 2816.0;
const UNITS_HIGH: f64 = 3408.0;

/// How heavy a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Weight {
    /// 400.
    Regular,
    /// 600.
    Semibold,
}

/// The width of a text at a size, in the unit of the size: the sum of its
/// advances, since the font has no kerning.
pub fn text_width(text: &str, size: f64, weight: Weight) -> f64 {
    let units: f64 = text.chars().map(|c| advance(c, weight)).sum();
    units * size / UNITS_PER_EM
}

/// The advance of a character in design units.
fn advance(c: char, weight: Weight) -> f64 {
    static KNOWN: OnceLock<RwLock<HashMap<(char, Weight), f64>>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        for (style, font) in [(FontStyle::Normal, REGULAR), (FontStyle::Bold, SEMIBOLD)] {
            // A font that cannot be read leaves texts without width, which the
            // tests would not pass.
            let _ = register_font(FAMILY, style, font);
        }
        RwLock::default()
    });
    let key = (c, weight);
    if let Some(&units) = known.read().ok().as_ref().and_then(|known| known.get(&key)) {
        return units;
    }
    let style = match weight {
        Weight::Regular => FontStyle::Normal,
        Weight::Semibold => FontStyle::Bold,
    };
    let font = FontDesc::new(FontFamily::Name(FAMILY), UNITS_HIGH, style);
    let units = font.layout_box(c.encode_utf8(&mut [0; 4])).map_or(0.0, |(_, (x, _))| f64::from(x));
    if let Ok(mut known) = known.write() {
        known.insert(key, units);
    }
    units
}

/// The font as `@font-face` rules, with its files in them: no network needed.
pub fn font_face_css() -> String {
    [(400, REGULAR_WEB), (600, SEMIBOLD_WEB)]
        .map(|(weight, font)| {
            format!(
                "@font-face{{font-family:{FAMILY};font-weight:{weight};src:url(data:font/woff2;base64,{}) format(\"woff2\")}}",
                STANDARD.encode(font)
            )
        })
        .concat()
}

/// A database of this font alone: what is installed on the machine is not seen.
pub fn database() -> Arc<Database> {
    static DATABASE: OnceLock<Arc<Database>> = OnceLock::new();
    let made = DATABASE.get_or_init(|| {
        let mut database = Database::new();
        database.load_font_data(REGULAR.to_vec());
        database.load_font_data(SEMIBOLD.to_vec());
        database.set_sans_serif_family(FAMILY);
        Arc::new(database)
    });
    Arc::clone(made)
}

#[cfg(test)]
mod tests {
    use resvg::usvg::{Node, Options, Tree};

    use super::*;

    /// The measure of labels is that of the library that draws them.
    #[test]
    fn widths_are_those_that_are_drawn() {
        let text = "egernia-scaling3 ≥×3.64 ±0.2 (requests/s) MWij";
        for (weight, name) in [(Weight::Regular, 400), (Weight::Semibold, 600)] {
            let svg = format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"90\"><text y=\"50\" font-family=\"Inter\" font-weight=\"{name}\" font-size=\"20\">|{text}|</text></svg>"
            );
            let options = Options { fontdb: database(), ..Options::default() };
            let tree = Tree::from_str(&svg, &options).unwrap();
            let Some(Node::Text(node)) = tree.root().children().first() else { panic!("no text") };
            let drawn = f64::from(node.bounding_box().width());
            let measured = text_width(&format!("|{text}|"), 20.0, weight);
            assert!((drawn - measured).abs() < 0.5, "{drawn} {measured}");
            assert!(measured > 300.0);
        }
    }

    #[test]
    fn semibold_is_wider() {
        let regular = text_width("throughput", 7.0, Weight::Regular);
        assert!(text_width("throughput", 7.0, Weight::Semibold) > regular);
    }

    #[test]
    fn the_font_is_in_the_style_sheet() {
        let css = font_face_css();
        assert!(css.starts_with("@font-face{font-family:Inter;font-weight:400;src:url(data:"));
        assert_eq!(css.matches("@font-face").count(), 2);
    }
}
