//! The table that is served, from its file.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array};
use arrow::compute::{cast, concat_batches, take_record_batch};
use arrow::datatypes::{DataType, Float64Type, Schema};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::column::Column;
use super::obscore;
use crate::target::tap::TapError;

/// The file of the table in the directory of a corpus.
pub const FILE: &str = "obscore.parquet";

/// The table in memory, in the order of declinations, which most queries ask
/// for; rows without one come last.
#[derive(Debug)]
pub struct Corpus {
    /// Its columns, described.
    pub columns: Vec<Column>,
    /// Its rows; every field has its description as metadata.
    pub rows: RecordBatch,
}

impl Corpus {
    /// Reads the table from the directory of a corpus.
    ///
    /// # Errors
    /// If the file is not there, is no Parquet, or is not an ObsCore table.
    pub fn read(directory: &Path) -> Result<Self, TapError> {
        let path = directory.join(FILE);
        let open = |source| TapError::Open { path: path.clone(), source };
        let file = File::open(&path).map_err(open)?;
        let unreadable = |error: String| TapError::Table { path: path.clone(), reason: error };
        let builder = ParquetRecordBatchReaderBuilder::try_new(file)
            .map_err(|error| unreadable(error.to_string()))?;
        let schema = Arc::clone(builder.schema());
        let batches = builder
            .build()
            .map_err(|error| unreadable(error.to_string()))?
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| unreadable(error.to_string()))?;
        let table =
            concat_batches(&schema, &batches).map_err(|error| unreadable(error.to_string()))?;
        Self::new(&table).map_err(|error| match error {
            TapError::Columns(reason) => unreadable(reason),
            other => other,
        })
    }

    /// Takes the table from memory.
    ///
    /// # Errors
    /// If it is not an ObsCore table.
    pub fn new(table: &RecordBatch) -> Result<Self, TapError> {
        let schema = table.schema();
        if let Some(missing) =
            obscore::mandatory().find(|name| schema.column_with_name(name).is_none())
        {
            return Err(TapError::Columns(format!(
                "the column `{missing}` is missing, which ObsCore 1.1 requires"
            )));
        }
        let refused = |error: arrow::error::ArrowError| TapError::Columns(error.to_string());
        let mut columns = Vec::new();
        let mut arrays = Vec::new();
        for (field, array) in schema.fields().iter().zip(table.columns()) {
            let name = field.name();
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) {
                return Err(TapError::Columns(format!(
                    "the column `{name}` is not named in lower-case letters, digits and _"
                )));
            }
            let data_type = served_type(name, field.data_type()).ok_or_else(|| {
                TapError::Columns(format!(
                    "the column `{name}` is of type {}, which is not served",
                    field.data_type()
                ))
            })?;
            let array = cast(array, &data_type).map_err(refused)?;
            columns.push(obscore::column(name, data_type, is_unicode(&array)));
            arrays.push(array);
        }
        let schema = Schema::new(columns.iter().map(Column::field).collect::<Vec<_>>());
        let rows = RecordBatch::try_new(Arc::new(schema), arrays).map_err(refused)?;
        let order = by_declination(&rows);
        let rows = take_record_batch(&rows, &order).map_err(refused)?;
        Ok(Self { columns, rows })
    }
}

/// The type that values are served as.
fn served_type(name: &str, data_type: &DataType) -> Option<DataType> {
    if matches!(name, "s_ra" | "s_dec") {
        return data_type.is_numeric().then_some(DataType::Float64);
    }
    Some(match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::Dictionary(_, values) => return served_type(name, values),
        DataType::Int8 | DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 => DataType::Int64,
        DataType::Boolean
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64 => data_type.clone(),
        // A column without any value.
        DataType::Null => DataType::Utf8,
        _ => return None,
    })
}

fn is_unicode(array: &ArrayRef) -> bool {
    array.as_string_opt::<i32>().is_some_and(|texts| !texts.value_data().is_ascii())
}

/// The rows from south to north, in their own order where two are level.
fn by_declination(rows: &RecordBatch) -> UInt32Array {
    let mut order: Vec<u32> =
        (0..rows.num_rows()).map_while(|row| u32::try_from(row).ok()).collect();
    if let Some(dec) = rows.column_by_name("s_dec") {
        let dec = dec.as_primitive::<Float64Type>();
        let height = |row: u32| {
            let row = row as usize;
            if dec.is_valid(row) { dec.value(row) } else { f64::NAN.copysign(1.0) }
        };
        order.sort_by(|&a, &b| height(a).total_cmp(&height(b)));
    }
    UInt32Array::from(order)
}
