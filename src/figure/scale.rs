//! Axes: from figures to places, and where to write which number.

use std::ops::Range;

use plotters::coord::combinators::IntoLogRange;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::LogCoord;

/// From how many times the smallest figure on a linear axis would hide it.
const LOG_FROM: f64 = 10.0;

/// From figures to places along an axis.
pub enum Scale {
    /// Equal differences are equally far apart.
    Linear(RangedCoordf64),
    /// Equal ratios are.
    Log(LogCoord<f64>),
}

impl Scale {
    /// A linear scale.
    pub fn linear(low: f64, high: f64) -> Self {
        Self::Linear((low..high).into())
    }

    /// A logarithmic scale of figures above 0.
    pub fn log(low: f64, high: f64) -> Self {
        Self::Log((low..high).log_scale().into())
    }
}

impl Ranged for Scale {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        match self {
            Self::Linear(scale) => scale.map(value, limit),
            Self::Log(scale) => scale.map(value, limit),
        }
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match self {
            Self::Linear(scale) => scale.key_points(hint),
            Self::Log(scale) => scale.key_points(hint),
        }
    }

    fn range(&self) -> Range<f64> {
        match self {
            Self::Linear(scale) => scale.range(),
            Self::Log(scale) => scale.range(),
        }
    }
}

/// An axis that its figures fit on, with round numbers to read it by.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Its ends.
    pub ends: (f64, f64),
    /// Whether it is logarithmic.
    pub is_log: bool,
    /// Where it is marked, and with what.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// The axis for these figures: from 0, or logarithmic where they are far
    /// apart. `room` is how many numbers it has room for.
    pub fn of(values: impl IntoIterator<Item = f64>, room: usize) -> Self {
        let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if low > 0.0 && high / low >= LOG_FROM {
            Self::log(low, high, room)
        } else {
            Self::linear(low.min(0.0), high.max(0.0), room)
        }
    }

    /// A linear axis that reaches from the one to the other, and on to the next
    /// round number.
    pub fn linear(low: f64, high: f64, room: usize) -> Self {
        let (low, high) = if low.is_finite() && high > low { (low, high) } else { (0.0, 1.0) };
        let step = round_step((high - low) / room.max(1) as f64);
        let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
        let count = (last - first).round() as usize;
        let ticks = (0..=count)
            .map(|index| (first + index as f64) * step)
            .map(|v| (v, number(v)))
            .collect();
        Self { ends: (first * step, last * step), is_log: false, ticks }
    }

    /// A logarithmic axis.
    pub fn log(low: f64, high: f64, room: usize) -> Self {
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let marks = |digits: &[f64]| -> Vec<f64> {
            (first..=last)
                .flat_map(|decade| digits.iter().map(move |digit| digit * 10_f64.powi(decade)))
                .collect()
        };
        // The ends are round numbers a little beyond the figures.
        let fine = marks(&[1.0, 2.0, 5.0]);
        let start = fine.iter().copied().filter(|mark| *mark <= low * 0.95).fold(0.0, f64::max);
        let end = fine.iter().copied().find(|mark| *mark >= high * 1.05);
        let ends = (if start > 0.0 { start } else { low * 0.8 }, end.unwrap_or(high * 1.25));
        let within = |marks: Vec<f64>| -> Vec<f64> {
            let is_within = |mark: &f64| *mark >= ends.0 * 0.999 && *mark <= ends.1 * 1.001;
            marks.into_iter().filter(is_within).collect()
        };
        let choices: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
        let mut ticks = Vec::new();
        for digits in choices {
            ticks = within(marks(digits));
            if ticks.len() <= room.max(2) {
                break;
            }
        }
        let ticks = ticks.into_iter().map(|value| (value, number(value))).collect();
        Self { ends, is_log: true, ticks }
    }

    /// The scale of the axis.
    pub fn scale(&self) -> Scale {
        let (low, high) = self.ends;
        if self.is_log { Scale::log(low, high) } else { Scale::linear(low, high) }
    }

    /// What an axis shows, with its unit and its kind if it is not the usual one.
    pub fn caption(&self, what: &str, unit: &str) -> String {
        match (unit, self.is_log) {
            ("", false) => what.to_owned(),
            ("", true) => format!("{what} (log scale)"),
            (unit, false) => format!("{what} ({unit})"),
            (unit, true) => format!("{what} ({unit}, log scale)"),
        }
    }

    /// A figure, drawn no further out than the axis reaches.
    pub fn within(&self, value: f64) -> f64 {
        value.clamp(self.ends.0, self.ends.1)
    }
}

/// The least of 1, 2, 5, 10, 20, … (or their fractions) that is no smaller.
fn round_step(least: f64) -> f64 {
    let decade = 10_f64.powf(least.log10().floor());
    let digits = [1.0, 2.0, 5.0, 10.0];
    let digit = digits.into_iter().find(|digit| digit * decade >= least * (1.0 - 1e-9));
    digit.unwrap_or(10.0) * decade
}

/// A round number as axes show it: `0.05`, `2,000`, `50k`.
pub fn number(value: f64) -> String {
    let size = value.abs();
    let short = |value: f64| {
        // As many digits as tell round numbers apart, none that rounding made.
        let text = format!("{:.9}", value);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        if text == "-0" { "0".to_owned() } else { text.replace('-', "−") }
    };
    if size >= 1e6 {
        format!("{}M", short(value / 1e6))
    } else if size >= 1e4 {
        format!("{}k", short(value / 1e3))
    } else if size >= 1e3 && value.fract() == 0.0 {
        let text = short(value);
        let (head, tail) = text.split_at(text.len() - 3);
        format!("{head},{tail}")
    } else {
        short(value)
    }
}

/// A measured figure with three significant digits at least: `9.41`, `610`,
/// `1,234`, `149.4k`.
pub fn figure(value: f64) -> String {
    let size = value.abs();
    let text = match size {
        _ if size >= 1e6 => return format!("{}M", trimmed(value / 1e6, 2)),
        _ if size >= 1e4 => return format!("{}k", trimmed(value / 1e3, 1)),
        _ if size >= 1e3 => return number(value.round()),
        _ if size >= 100.0 => format!("{value:.0}"),
        _ if size >= 10.0 => format!("{value:.1}"),
        _ if size >= 0.1 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    };
    text.replace('-', "−")
}

fn trimmed(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}").replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn figures_far_apart_need_a_logarithmic_axis() {
        let axis = Axis::of([9.4, 610.0], 6);
        assert!(axis.is_log);
        assert_eq!(shown(&axis), ["10", "30", "100", "300", "1,000"]);
        assert!(axis.ends.0 <= 9.4 && axis.ends.1 >= 610.0);
        assert_eq!(axis.caption("throughput", "requests/s"), "throughput (requests/s, log scale)");
    }

    #[test]
    fn others_begin_at_zero_and_end_at_a_round_number() {
        let axis = Axis::of([3.7, 7.88, 16.2], 4);
        assert_eq!(shown(&axis), ["0", "5", "10", "15", "20"]);
        assert_eq!(axis.caption("cores used", ""), "cores used");
        assert_eq!(shown(&Axis::of([0.02, 0.1], 4)), ["0", "0.05", "0.1"]);
        assert_eq!(shown(&Axis::of([], 2)), ["0", "0.5", "1"]);
        assert_eq!(shown(&Axis::of([0.0, 0.0], 2)), ["0", "0.5", "1"]);
        assert_eq!(shown(&Axis::linear(-0.3, 0.2, 4)), ["−0.4", "−0.2", "0", "0.2"]);
    }

    #[test]
    fn numbers() {
        for (value, text) in [
            (0.0, "0"),
            (0.05, "0.05"),
            (500.0, "500"),
            (2000.0, "2,000"),
            (50_000.0, "50k"),
            (1.5e6, "1.5M"),
        ] {
            assert_eq!(number(value), text);
        }
        for (value, text) in [
            (9.41, "9.41"),
            (610.4, "610"),
            (1234.0, "1,234"),
            (149_400.0, "149.4k"),
            (0.021, "0.0210"),
            (-0.5, "−0.50"),
        ] {
            assert_eq!(figure(value), text);
        }
    }
}
