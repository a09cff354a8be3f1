//! The columns of `ivoa.obscore`, as ObsCore 1.1 defines them.

use arrow::datatypes::DataType;

use super::column::Column;

/// The prefix of utypes of the data model.
const MODEL: &str = "obscore:";

/// Columns by which rows are found without looking at all of them.
const INDEXED: [&str; 5] = ["obs_publisher_did", "obs_id", "s_ra", "s_dec", "s_region"];

/// Name, unit, UCD, utype and description of each mandatory column.
#[rustfmt::skip]
const COLUMNS: [(&str, &str, &str, &str, &str); 30] = [
    ("dataproduct_type", "", "meta.code.class", "ObsDataset.dataProductType", "Kind of data product"),
    ("calib_level", "", "meta.code;obs.calib", "ObsDataset.calibLevel", "Level of calibration, from 0 to 4"),
    ("obs_collection", "", "meta.id", "DataID.collection", "Collection that the observation belongs to"),
    ("obs_id", "", "meta.id", "DataID.observationID", "Identifier of the observation"),
    ("obs_publisher_did", "", "meta.ref.ivoid", "Curation.publisherDID", "Identifier that the publisher gave the data set"),
    ("access_url", "", "meta.ref.url", "Access.reference", "Where the data set would be found"),
    ("access_format", "", "meta.code.mime", "Access.format", "Media type of the data set"),
    ("access_estsize", "kbyte", "phys.size;meta.file", "Access.size", "Estimated size of the data set"),
    ("target_name", "", "meta.id;src", "Target.name", "What was observed"),
    ("s_ra", "deg", "pos.eq.ra", "Char.SpatialAxis.Coverage.Location.Coord.Position2D.Value2.C1", "Right ascension of the centre, ICRS"),
    ("s_dec", "deg", "pos.eq.dec", "Char.SpatialAxis.Coverage.Location.Coord.Position2D.Value2.C2", "Declination of the centre, ICRS"),
    ("s_fov", "deg", "phys.angSize;instr.fov", "Char.SpatialAxis.Coverage.Bounds.Extent.diameter", "Diameter of the region covered"),
    ("s_region", "", "pos.outline;obs.field", "Char.SpatialAxis.Coverage.Support.Area", "Region covered, ICRS"),
    ("s_resolution", "arcsec", "pos.angResolution", "Char.SpatialAxis.Resolution.Refval.value", "Spatial resolution"),
    ("s_xel1", "", "meta.number", "Char.SpatialAxis.numBins1", "Elements along the first spatial axis"),
    ("s_xel2", "", "meta.number", "Char.SpatialAxis.numBins2", "Elements along the second spatial axis"),
    ("t_min", "d", "time.start;obs.exposure", "Char.TimeAxis.Coverage.Bounds.Limits.StartTime", "Start of the observation, MJD"),
    ("t_max", "d", "time.end;obs.exposure", "Char.TimeAxis.Coverage.Bounds.Limits.StopTime", "End of the observation, MJD"),
    ("t_exptime", "s", "time.duration;obs.exposure", "Char.TimeAxis.Coverage.Support.Extent", "Total exposure time"),
    ("t_resolution", "s", "time.resolution", "Char.TimeAxis.Resolution.Refval.value", "Resolution in time"),
    ("t_xel", "", "meta.number", "Char.TimeAxis.numBins", "Elements along the time axis"),
    ("em_min", "m", "em.wl;stat.min", "Char.SpectralAxis.Coverage.Bounds.Limits.LoLimit", "Shortest wavelength"),
    ("em_max", "m", "em.wl;stat.max", "Char.SpectralAxis.Coverage.Bounds.Limits.HiLimit", "Longest wavelength"),
    ("em_res_power", "", "spect.resolution", "Char.SpectralAxis.Resolution.ResolPower.refVal", "Resolving power along the spectral axis"),
    ("em_xel", "", "meta.number", "Char.SpectralAxis.numBins", "Elements along the spectral axis"),
    ("o_ucd", "", "meta.ucd", "Char.ObservableAxis.ucd", "UCD of what was measured"),
    ("pol_states", "", "meta.code;phys.polarization", "Char.PolarizationAxis.stateList", "Polarisation states"),
    ("pol_xel", "", "meta.number", "Char.PolarizationAxis.numBins", "Elements along the polarisation axis"),
    ("facility_name", "", "meta.id;instr.tel", "Provenance.ObsConfig.Facility.name", "Telescope"),
    ("instrument_name", "", "meta.id;instr", "Provenance.ObsConfig.Instrument.name", "Instrument"),
];

/// The names of the mandatory columns.
pub fn mandatory() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().map(|column| column.0)
}

/// The description of a column of the table, which may be one that the standard
/// does not know.
pub fn column(name: &str, data_type: DataType, unicode: bool) -> Column {
    let Some(&(_, unit, ucd, utype, description)) = COLUMNS.iter().find(|known| known.0 == name)
    else {
        return Column {
            std: false,
            principal: false,
            unicode,
            ..Column::new(name, data_type, "Not of ObsCore")
        };
    };
    Column {
        unicode,
        unit: unit.to_owned(),
        ucd: ucd.to_owned(),
        utype: format!("{MODEL}{utype}"),
        xtype: if name == "s_region" { "adql:REGION".to_owned() } else { String::new() },
        indexed: INDEXED.contains(&name),
        ..Column::new(name, data_type, description)
    }
}
