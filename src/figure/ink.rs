//! Colours and shapes: what tells series apart, also for colour-blind readers.

use plotters::style::{RGBColor, ShapeStyle};

/// What something is drawn with: by its part in the figure, so that a page in
/// dark mode can give it another colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Text and what must be seen.
    Text,
    /// Text that stands back.
    Muted,
    /// Axes.
    Axis,
    /// Lines to read values by.
    Grid,
    /// Bands that lie behind marks.
    Band,
    /// The background.
    Paper,
    /// A series, by its place among the series.
    Series(usize),
}

/// Name, colour on paper, colour in dark mode. Series go by Okabe and Ito's
/// palette, darkened where text in that colour could not be read on white.
const INKS: &[(Ink, &str, u32, u32)] = &[
    (Ink::Text, "text", 0x1a_1a_1a, 0xee_ee_ee),
    (Ink::Muted, "muted", 0x59_59_59, 0xb4_b4_b4),
    (Ink::Axis, "axis", 0x80_80_80, 0x8c_8c_8c),
    (Ink::Grid, "grid", 0xdf_df_df, 0x40_40_40),
    (Ink::Band, "band", 0xec_ec_ec, 0x33_33_33),
    (Ink::Paper, "paper", 0xff_ff_ff, 0x16_16_18),
    (Ink::Series(0), "s0", 0x00_72_b2, 0x56_b4_e9),
    (Ink::Series(1), "s1", 0xc2_4e_00, 0xff_9a_56),
    (Ink::Series(2), "s2", 0x00_7a_5a, 0x4c_d3_a8),
    (Ink::Series(3), "s3", 0xa0_46_8c, 0xe3_9a_d0),
    (Ink::Series(4), "s4", 0x4d_4d_4d, 0xc9_c9_c9),
    (Ink::Series(5), "s5", 0x8f_64_00, 0xf0_c0_4a),
    (Ink::Series(6), "s6", 0x2a_86_c4, 0x8f_d0_ff),
    (Ink::Series(7), "s7", 0xb5_30_4a, 0xff_8f_a0),
];

/// How many colours series have.
const COLOURS: usize = 8;

impl Ink {
    fn entry(self) -> &'static (Ink, &'static str, u32, u32) {
        let wanted = match self {
            Self::Series(index) => Self::Series(index % COLOURS),
            other => other,
        };
        INKS.iter().find(|(ink, ..)| *ink == wanted).unwrap_or(&INKS[0])
    }

    /// Its name in CSS variables, `--fig-NAME`.
    pub fn name(self) -> &'static str {
        self.entry().1
    }

    /// Its colour on paper.
    pub fn rgb(self) -> RGBColor {
        let rgb = self.entry().2;
        let byte = |shift: u32| u8::try_from(rgb >> shift & 0xff).unwrap_or(u8::MAX);
        RGBColor(byte(16), byte(8), byte(0))
    }

    /// Its colour on paper, as CSS writes it.
    pub fn hex(self) -> String {
        format!("#{:06x}", self.entry().2)
    }

    /// The ink of a colour on paper, 0xRRGGBB.
    pub fn of(number: u32) -> Self {
        INKS.iter().find(|(_, _, paper, _)| *paper == number).map_or(Self::Text, |entry| entry.0)
    }

    /// For filled shapes.
    pub fn filled(self) -> ShapeStyle {
        ShapeStyle::from(self.rgb()).filled()
    }

    /// For lines, so many tenths of a point wide.
    pub fn stroked(self, width: u32) -> ShapeStyle {
        ShapeStyle::from(self.rgb()).stroke_width(width)
    }
}

/// The colours of dark mode as declarations of CSS variables. A page that shows
/// figures inline puts them where its dark mode is.
pub fn dark_css() -> String {
    INKS.iter().map(|(_, name, _, dark)| format!("--fig-{name}:#{dark:06x};")).collect()
}

/// The shape of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A circle.
    Circle,
    /// A square.
    Square,
    /// A triangle with its tip up.
    Triangle,
    /// A square on its corner.
    Diamond,
    /// A triangle with its tip down.
    Wedge,
    /// A hexagon.
    Hexagon,
}

impl Shape {
    /// The shape of a series. Colours and shapes repeat at different places:
    /// 24 series differ in one or the other.
    pub fn of(series: usize) -> Self {
        use Shape::{Circle, Diamond, Hexagon, Square, Triangle, Wedge};
        [Circle, Square, Triangle, Diamond, Wedge, Hexagon][series % 6]
    }

    /// Its corners around the origin, for a radius; none for a circle.
    pub fn corners(self, radius: i32) -> Vec<(i32, i32)> {
        let r = f64::from(radius);
        let corners: &[(f64, f64)] = match self {
            Self::Circle => &[],
            Self::Square => &[(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)],
            Self::Triangle => &[(0.0, -1.2), (1.1, 0.75), (-1.1, 0.75)],
            Self::Diamond => &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
            Self::Wedge => &[(0.0, 1.2), (1.1, -0.75), (-1.1, -0.75)],
            Self::Hexagon => {
                &[(0.0, -1.15), (1.0, -0.58), (1.0, 0.58), (0.0, 1.15), (-1.0, 0.58), (-1.0, -0.58)]
            }
        };
        corners.iter().map(|(x, y)| ((x * r).round() as i32, (y * r).round() as i32)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ink_is_found_by_its_colour() {
        for (ink, _, paper, _) in INKS {
            assert_eq!(Ink::of(*paper), *ink);
        }
    }

    #[test]
    fn twenty_four_series_look_different() {
        let looks = |series: usize| (Ink::Series(series).name(), Shape::of(series));
        for a in 0..24 {
            for b in 0..a {
                assert_ne!(looks(a), looks(b), "{a} {b}");
            }
        }
    }
}
