//! What the sky of the corpus is made of: collections, instruments, products.

use super::draws::Draws;

/// Fields that are observed again and again.
pub const FIELDS: usize = 24;

/// A collection: one instrument, and what it delivers.
#[derive(Debug)]
pub struct Archive {
    pub collection: &'static str,
    /// Its share of the rows, relative to the others'.
    pub weight: u64,
    /// Two letters that start the identifiers of its rows.
    pub letters: &'static str,
    pub facility: Option<&'static str>,
    pub instrument: Option<&'static str>,
    pub products: &'static [Product],
    /// What the instrument sees, in metres.
    pub wavelengths: (f64, f64),
    /// On the sky, in arcseconds.
    pub resolution: f64,
    /// Smallest and largest diameter of a field, in degrees.
    pub fov: (f64, f64),
}

/// The kinds of data product of ObsCore 1.1, and none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    Image,
    Cube,
    Spectrum,
    Sed,
    TimeSeries,
    Visibility,
    Event,
    Measurements,
    Unknown,
}

use Product::{Cube, Event, Image, Measurements, Sed, Spectrum, TimeSeries, Unknown, Visibility};

/// The collections.
pub const SKY: &[Archive] = &[
    Archive {
        collection: "TARN-DR1",
        weight: 28,
        letters: "ta",
        facility: Some("Tarn 2.5m"),
        instrument: Some("TarnCam"),
        products: &[Image, Image, Image, Cube],
        wavelengths: (3.2e-7, 1.05e-6),
        resolution: 0.9,
        fov: (0.3, 1.2),
    },
    Archive {
        collection: "TARN-SPEC",
        weight: 20,
        letters: "ts",
        facility: Some("Tarn 2.5m"),
        instrument: Some("TarnSpec"),
        products: &[Spectrum],
        wavelengths: (3.6e-7, 1.0e-6),
        resolution: 2.0,
        fov: (0.0005, 0.0009),
    },
    Archive {
        collection: "OUZEL-IR",
        weight: 15,
        letters: "ou",
        facility: Some("Ouzel"),
        instrument: Some("OIRC"),
        products: &[Image, Image, Cube, Sed],
        wavelengths: (1.1e-6, 2.5e-5),
        resolution: 1.6,
        fov: (0.05, 0.4),
    },
    Archive {
        collection: "LYNX-X",
        weight: 10,
        letters: "ly",
        facility: Some("Lynx X-ray"),
        instrument: Some("XIC"),
        products: &[Event, Event, Image, Spectrum],
        wavelengths: (1.2e-10, 6.2e-9),
        resolution: 4.0,
        fov: (0.2, 0.7),
    },
    Archive {
        collection: "MOOR-ARRAY",
        weight: 14,
        letters: "mo",
        facility: Some("Moor Array"),
        instrument: Some("L-band"),
        products: &[Visibility, Cube, Cube, Image],
        wavelengths: (0.03, 0.21),
        resolution: 6.0,
        fov: (0.1, 0.9),
    },
    Archive {
        collection: "FELL-MM",
        weight: 4,
        letters: "fe",
        facility: Some("Moor Array"),
        instrument: Some("Band 6"),
        products: &[Cube, Visibility],
        wavelengths: (1.1e-3, 1.4e-3),
        resolution: 0.4,
        fov: (0.005, 0.02),
    },
    Archive {
        collection: "TRANSITS",
        weight: 7,
        letters: "tr",
        facility: Some("Beck Survey"),
        instrument: Some("FastCam"),
        products: &[TimeSeries, TimeSeries, Measurements],
        wavelengths: (4.0e-7, 9.5e-7),
        resolution: 3.0,
        fov: (0.001, 0.01),
    },
    Archive {
        collection: "misc",
        weight: 2,
        letters: "mi",
        facility: None,
        instrument: None,
        products: &[Unknown, Image, Spectrum],
        wavelengths: (3.0e-7, 2.2e-6),
        resolution: 1.2,
        fov: (0.01, 0.5),
    },
];

impl Product {
    /// The value of `dataproduct_type`.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Image => "image",
            Cube => "cube",
            Spectrum => "spectrum",
            Sed => "sed",
            TimeSeries => "timeseries",
            Visibility => "visibility",
            Event => "event",
            Measurements => "measurements",
            Unknown => return None,
        })
    }

    /// The media types that it comes in.
    pub fn formats(self) -> &'static [&'static str] {
        match self {
            Image => &["image/fits", "image/fits", "image/jpeg"],
            Cube | Event => &["application/fits"],
            Spectrum => &["application/fits", "application/x-votable+xml"],
            Sed | Measurements => &["application/x-votable+xml"],
            TimeSeries => &["application/x-votable+xml", "application/fits"],
            Visibility => &["application/x-tar"],
            Unknown => &["application/octet-stream"],
        }
    }

    /// The value of `o_ucd`.
    pub fn o_ucd(self) -> Option<&'static str> {
        Some(match self {
            Image | Cube => "phot.flux.density",
            Spectrum => "phot.flux.density;em.wl",
            Sed => "phot.flux.density;em",
            TimeSeries => "phot.mag;em.opt.V",
            Visibility => "stat.fourier",
            Event => "phot.count;em.X-ray",
            Measurements => "phot.mag",
            Unknown => return None,
        })
    }

    /// How far it was calibrated.
    pub fn calib_level(self, draws: &mut Draws) -> i64 {
        match self {
            Visibility => draws.integer(0, 2),
            Event => draws.integer(1, 2),
            Sed | Measurements => 3,
            _ if draws.chance(0.15) => 3,
            _ => draws.integer(1, 2),
        }
    }
}
