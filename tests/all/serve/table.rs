//! A small ObsCore table, the same every time.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use parquet::arrow::ArrowWriter;

use crate::support::Dice;

/// Rows of the table.
pub const ROWS: usize = 3_000;

/// A row's place on the sky; the first lie where places are hard.
pub fn place(row: usize) -> Option<(f64, f64)> {
    match row {
        0 => Some((0.0, 0.0)),
        1 => Some((359.99, 0.01)),
        2 => Some((0.01, -0.01)),
        3 => Some((123.0, 89.995)),
        4 => Some((303.0, 89.995)),
        5 => Some((45.0, -90.0)),
        6 => None,
        _ => {
            let mut dice = Dice(row as u64 * 7919);
            let ra = (dice.between(0.0, 360.0) * 1e6).round() / 1e6;
            let dec = dice.between(-1.0, 1.0).asin().to_degrees();
            Some((ra, (dec * 1e6).round() / 1e6))
        }
    }
}

/// The identifier of a row.
pub fn publisher_did(row: usize) -> String {
    format!("ivo://test.example/obs?{row:05}")
}

/// The name of a row's target; some are hard to write.
pub fn target(row: usize) -> Option<String> {
    match row {
        0 => Some("HD \"1\", A&B".to_owned()),
        1 => Some("<Oph's> b".to_owned()),
        2 => Some("\u{3b1} Cen \u{1F52D}".to_owned()),
        3 => Some(String::new()),
        _ if row.is_multiple_of(5) => None,
        _ => Some(format!("target {row}")),
    }
}

/// The table: all mandatory columns of ObsCore 1.1.
pub fn obscore() -> RecordBatch {
    let texts = |of: &dyn Fn(usize) -> Option<String>| -> ArrayRef {
        Arc::new((0..ROWS).map(of).collect::<StringArray>())
    };
    let doubles = |of: &dyn Fn(usize) -> Option<f64>| -> ArrayRef {
        Arc::new((0..ROWS).map(of).collect::<Float64Array>())
    };
    let floats = |of: &dyn Fn(usize) -> Option<f32>| -> ArrayRef {
        Arc::new((0..ROWS).map(of).collect::<Float32Array>())
    };
    let longs = |of: &dyn Fn(usize) -> Option<i64>| -> ArrayRef {
        Arc::new((0..ROWS).map(of).collect::<Int64Array>())
    };
    let calib: ArrayRef =
        Arc::new((0..ROWS as i32).map(|row| Some(row % 4)).collect::<Int32Array>());
    let kinds = ["image", "spectrum", "cube"];
    let region = |row| place(row).map(|(ra, dec)| format!("CIRCLE ICRS {ra} {dec} 0.05"));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("dataproduct_type", texts(&|row| kinds.get(row % 4).map(|kind| (*kind).to_owned()))),
        ("calib_level", calib),
        ("obs_collection", texts(&|row| Some(format!("C{}", row % 3)))),
        ("obs_id", texts(&|row| Some(format!("obs-{row:05}")))),
        ("obs_publisher_did", texts(&|row| Some(publisher_did(row)))),
        ("access_url", texts(&|row| Some(format!("http://data.example/{row}")))),
        ("access_format", texts(&|_| Some("application/fits".to_owned()))),
        ("access_estsize", longs(&|row| (row % 7 != 0).then_some(row as i64 * 1000))),
        ("target_name", texts(&target)),
        ("s_ra", doubles(&|row| place(row).map(|place| place.0))),
        ("s_dec", doubles(&|row| place(row).map(|place| place.1))),
        ("s_fov", floats(&|row| (row % 9 != 0).then_some(0.1 + row as f32 / 1e4))),
        ("s_region", texts(&region)),
        ("s_resolution", floats(&|_| Some(1.5))),
        ("s_xel1", longs(&|row| Some(row as i64))),
        ("s_xel2", longs(&|_| None)),
        ("t_min", doubles(&|row| Some(50_000.0 + row as f64 / 8.0))),
        ("t_max", doubles(&|row| Some(50_001.0 + row as f64 / 8.0))),
        ("t_exptime", doubles(&|row| Some(if row == 8 { f64::NAN } else { row as f64 }))),
        ("t_resolution", doubles(&|_| None)),
        ("t_xel", longs(&|_| Some(1))),
        ("em_min", floats(&|_| Some(4e-7))),
        ("em_max", floats(&|_| Some(7e-7))),
        ("em_res_power", floats(&|_| None)),
        ("em_xel", longs(&|_| Some(1))),
        ("o_ucd", texts(&|_| Some("phot.flux".to_owned()))),
        ("pol_states", texts(&|_| None)),
        ("pol_xel", longs(&|_| Some(0))),
        ("facility_name", texts(&|row| (row % 2 == 0).then(|| "Tower".to_owned()))),
        ("instrument_name", texts(&|_| Some("Eye".to_owned()))),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

/// Writes a table as the file of a corpus.
pub fn write(directory: &std::path::Path, table: &RecordBatch) {
    std::fs::create_dir_all(directory).unwrap();
    let file = std::fs::File::create(directory.join(tapstat::target::tap::CORPUS_FILE)).unwrap();
    let mut writer = ArrowWriter::try_new(file, table.schema(), None).unwrap();
    writer.write(table).unwrap();
    writer.close().unwrap();
}
