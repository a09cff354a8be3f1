//! Figures: drawn from the views, one file each, the same bytes on every machine.
//!
//! A figure asks the session (`data`), lays out its panels (`frame`, `panel`,
//! `scale`), and draws them through plotters (`canvas`); what plotters wrote is
//! read back as a `scene` of shapes, texts and marks, from which SVG (`svg`) and,
//! by the same outlines, PNG and PDF (`export`) are made. The font is in the
//! program (`font`), and so are the colours and shapes of series (`ink`).

mod canvas;
mod data;
mod error;
mod export;
mod font;
mod frame;
mod ink;
mod panel;
mod scale;
mod scene;
mod svg;

mod client_cost;
mod instance_scaling;
mod latency;
mod reproduction;
mod resources;
mod sweep;
mod verdicts;
mod vertical_scaling;

use std::fmt;

pub use data::Filter;
pub use error::FigureError;
pub use font::{Weight, font_face_css, text_width};
pub use ink::dark_css;

use crate::sql::Session;
use scene::Scene;

/// Pixels of an inch in a PNG at the scale 1.
pub const DPI: f32 = export::DPI;

/// Which figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, clap::ValueEnum)]
pub enum Name {
    /// Throughput, cores and CPU time per request against the tier.
    VerticalScaling,
    /// Every comparison with its verdict and ratio.
    Verdicts,
    /// What a response costs the client: rungs and fitted lines.
    ClientCost,
    /// One run against another, with the tie band.
    Reproduction,
    /// Percentiles of latency, from the requests of rungs.
    Latency,
    /// Cores and memory over time, with the rungs' windows.
    Resources,
    /// Instances against one instance.
    InstanceScaling,
    /// A scaled pool under more and more connections.
    Sweep,
}

impl Name {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 8] = [
        Self::VerticalScaling,
        Self::Verdicts,
        Self::ClientCost,
        Self::Reproduction,
        Self::Latency,
        Self::Resources,
        Self::InstanceScaling,
        Self::Sweep,
    ];

    /// Its name in commands and files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::VerticalScaling => "vertical-scaling",
            Self::Verdicts => "verdicts",
            Self::ClientCost => "client-cost",
            Self::Reproduction => "reproduction",
            Self::Latency => "latency",
            Self::Resources => "resources",
            Self::InstanceScaling => "instance-scaling",
            Self::Sweep => "sweep",
        }
    }

    /// What it shows, in one line.
    pub fn about(self) -> &'static str {
        match self {
            Self::VerticalScaling => {
                "throughput, cores used and CPU time per request against the tier"
            }
            Self::Verdicts => "every comparison with its verdict and ratio",
            Self::ClientCost => "what a response costs the client: rungs and fitted lines",
            Self::Reproduction => "one run against another (--against), with the tie band",
            Self::Latency => "percentiles of latency, from the requests of rungs",
            Self::Resources => "cores and memory over time, with the rungs' windows",
            Self::InstanceScaling => "instances against one instance, and against event loops",
            Self::Sweep => "throughput, tail latency, instances and memory against connections",
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How wide a figure is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Width {
    /// One column of a journal, 85 mm.
    Column,
    /// A page, 178 mm.
    #[default]
    Page,
}

impl Width {
    /// In tenths of a point.
    fn length(self) -> i32 {
        match self {
            Self::Column => 2409,
            Self::Page => 5046,
        }
    }
}

/// What is to be drawn.
#[derive(Clone)]
pub struct Request<'a> {
    /// The session that is asked.
    pub session: &'a Session,
    /// The run's id.
    pub run: &'a str,
    /// The id of the run that it is set against, where the figure needs one.
    pub against: Option<&'a str>,
    /// Which cells are shown; each figure has its defaults.
    pub filter: Filter,
    /// How wide.
    pub width: Width,
}

/// A figure.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Which it is.
    pub name: Name,
    /// Its title.
    pub title: String,
    /// One or two sentences with its numbers, for people who cannot see it.
    pub alt: String,
    /// What is hollow and why, the method, n, the rule, the hash of the inputs.
    pub notes: Vec<String>,
    scene: Scene,
}

/// A figure, or why the run cannot give it.
#[derive(Debug, Clone)]
pub enum Drawn {
    /// The figure.
    Figure(Figure),
    /// What the run lacks.
    Unavailable(String),
}

/// Draws a figure.
///
/// # Errors
/// If the session cannot be asked, the filter means too much, or the drawing
/// fails. What a run cannot give is no error, but [`Drawn::Unavailable`].
pub fn draw(name: Name, request: &Request<'_>) -> Result<Drawn, FigureError> {
    match name {
        Name::VerticalScaling => vertical_scaling::draw(request),
        Name::Verdicts => verdicts::draw(request),
        Name::ClientCost => client_cost::draw(request),
        Name::Reproduction => reproduction::draw(request),
        Name::Latency => latency::draw(request),
        Name::Resources => resources::draw(request),
        Name::InstanceScaling => instance_scaling::draw(request),
        Name::Sweep => sweep::draw(request),
    }
}

impl Figure {
    fn about(&self) -> svg::About<'_> {
        svg::About { title: &self.title, alt: &self.alt, notes: &self.notes }
    }

    /// A file of its own, with the font inside.
    pub fn svg(&self) -> String {
        svg::file(&self.scene, self.about())
    }

    /// A part of an HTML page that has the font ([`font_face_css`]); its ids begin
    /// with the prefix. Colours are the page's variables `--fig-NAME` where it
    /// sets them ([`dark_css`]). Marks show their value under the pointer, and
    /// have it in `data-` attributes.
    pub fn inline_svg(&self, id_prefix: &str) -> String {
        svg::inline(&self.scene, self.about(), id_prefix)
    }

    /// A PNG, so many times [`DPI`] dots an inch.
    ///
    /// # Errors
    /// If the scale makes no picture.
    pub fn png(&self, scale: f32) -> Result<Vec<u8>, FigureError> {
        export::png(&svg::drawing(&self.scene, self.about()), scale)
    }

    /// A PDF of one page, its lines and texts as such.
    ///
    /// # Errors
    /// If the page cannot be written.
    pub fn pdf(&self) -> Result<Vec<u8>, FigureError> {
        export::pdf(&svg::drawing(&self.scene, self.about()), &self.title)
    }
}
