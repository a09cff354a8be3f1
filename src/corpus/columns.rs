//! The columns of the table, and a row as their values.

use super::observation::Observation;

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Int,
    Float,
}

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    Null,
    Text(&'a str),
    Int(i64),
    Float(f64),
}

/// The mandatory columns of ObsCore 1.1, in the order of its Table 6.
pub const COLUMNS: [(&str, Kind); 30] = [
    ("dataproduct_type", Kind::Text),
    ("calib_level", Kind::Int),
    ("obs_collection", Kind::Text),
    ("obs_id", Kind::Text),
    ("obs_publisher_did", Kind::Text),
    ("access_url", Kind::Text),
    ("access_format", Kind::Text),
    ("access_estsize", Kind::Int),
    ("target_name", Kind::Text),
    ("s_ra", Kind::Float),
    ("s_dec", Kind::Float),
    ("s_fov", Kind::Float),
    ("s_region", Kind::Text),
    ("s_resolution", Kind::Float),
    ("t_min", Kind::Float),
    ("t_max", Kind::Float),
    ("t_exptime", Kind::Float),
    ("t_resolution", Kind::Float),
    ("em_min", Kind::Float),
    ("em_max", Kind::Float),
    ("em_res_power", Kind::Float),
    ("o_ucd", Kind::Text),
    ("pol_states", Kind::Text),
    ("facility_name", Kind::Text),
    ("instrument_name", Kind::Text),
    ("s_xel1", Kind::Int),
    ("s_xel2", Kind::Int),
    ("t_xel", Kind::Int),
    ("em_xel", Kind::Int),
    ("pol_xel", Kind::Int),
];

impl Observation {
    /// The values in the order of [`COLUMNS`].
    pub fn cells(&self) -> [Cell<'_>; 30] {
        [
            self.dataproduct_type.into(),
            Cell::Int(self.calib_level),
            Cell::Text(self.obs_collection),
            Cell::Text(&self.obs_id),
            Cell::Text(&self.obs_publisher_did),
            Cell::Text(&self.access_url),
            Cell::Text(self.access_format),
            self.access_estsize.into(),
            self.target_name.as_deref().into(),
            self.position.map(|(ra, _)| ra).into(),
            self.position.map(|(_, dec)| dec).into(),
            self.s_fov.into(),
            self.s_region.as_deref().into(),
            Cell::Float(self.s_resolution),
            self.times.map(|(start, _)| start).into(),
            self.times.map(|(_, end)| end).into(),
            self.t_exptime.into(),
            self.t_resolution.into(),
            Cell::Float(self.em_min),
            Cell::Float(self.em_max),
            self.em_res_power.into(),
            self.o_ucd.into(),
            self.pol_states.into(),
            self.facility_name.into(),
            self.instrument_name.into(),
            self.s_xel.map(|(width, _)| width).into(),
            self.s_xel.map(|(_, height)| height).into(),
            self.t_xel.into(),
            self.em_xel.into(),
            Cell::Int(self.pol_xel),
        ]
    }

    /// A value by its column's name.
    ///
    /// # Panics
    /// If there is no such column: names are this module's own.
    pub fn cell(&self, column: &str) -> Cell<'_> {
        let place = COLUMNS.iter().position(|(name, _)| *name == column);
        self.cells()[place.expect("a column of the table")]
    }
}

impl<'a> From<Option<&'a str>> for Cell<'a> {
    fn from(value: Option<&'a str>) -> Self {
        value.map_or(Self::Null, Self::Text)
    }
}

impl From<Option<i64>> for Cell<'_> {
    fn from(value: Option<i64>) -> Self {
        value.map_or(Self::Null, Self::Int)
    }
}

impl From<Option<f64>> for Cell<'_> {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Null, Self::Float)
    }
}

/// A number in the shortest form that reads back to the same value.
pub fn shortest(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-4 { format!("{value:e}") } else { format!("{value}") }
}
