//! The rows of a view, read by the names of its columns.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::compute::{cast, concat_batches, filter_record_batch};
use arrow::datatypes::{DataType, Float64Type, Int64Type, SchemaRef};

use super::ReportError;

/// All rows of a view. Columns are found by name, since a query file of the
/// user's may give them in another order, or not at all.
#[derive(Debug, Clone)]
pub struct View {
    name: &'static str,
    batch: RecordBatch,
}

impl View {
    /// The rows of the view `name`.
    ///
    /// # Errors
    /// If the batches are not all of that schema.
    pub fn new(
        name: &'static str,
        schema: &SchemaRef,
        batches: &[RecordBatch],
    ) -> Result<Self, ReportError> {
        Ok(Self { name, batch: concat_batches(schema, batches)? })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it has a column of that name.
    pub fn has(&self, column: &str) -> bool {
        self.batch.column_by_name(column).is_some()
    }

    /// The rows whose mark is true.
    ///
    /// # Errors
    /// If there are more or fewer marks than rows.
    pub fn keep(&self, marks: Vec<bool>) -> Result<Self, ReportError> {
        let batch = filter_record_batch(&self.batch, &BooleanArray::from(marks))?;
        Ok(Self { name: self.name, batch })
    }

    /// All rows.
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// A column of text.
    ///
    /// # Errors
    /// If there is no such column, or it has another type.
    pub fn texts(&self, column: &str) -> Result<Vec<Option<String>>, ReportError> {
        let array = self.column(column, "text", &DataType::Utf8, DataType::is_string)?;
        Ok(array.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect())
    }

    /// A column of text without nulls: a null is read as `—`.
    ///
    /// # Errors
    /// As [`View::texts`].
    pub fn names(&self, column: &str) -> Result<Vec<String>, ReportError> {
        let texts = self.texts(column)?;
        Ok(texts
            .into_iter()
            .map(|text| text.unwrap_or_else(|| super::MISSING.to_owned()))
            .collect())
    }

    /// A column of figures.
    ///
    /// # Errors
    /// If there is no such column, or it has another type.
    pub fn floats(&self, column: &str) -> Result<Vec<Option<f64>>, ReportError> {
        let array = self.column(column, "a number", &DataType::Float64, DataType::is_numeric)?;
        Ok(array.as_primitive::<Float64Type>().iter().collect())
    }

    /// A column of whole figures.
    ///
    /// # Errors
    /// If there is no such column, or it has another type.
    pub fn ints(&self, column: &str) -> Result<Vec<Option<i64>>, ReportError> {
        let array = self.column(column, "an integer", &DataType::Int64, DataType::is_integer)?;
        Ok(array.as_primitive::<Int64Type>().iter().collect())
    }

    /// A column of flags.
    ///
    /// # Errors
    /// If there is no such column, or it has another type.
    pub fn flags(&self, column: &str) -> Result<Vec<Option<bool>>, ReportError> {
        let is_flag = |found: &DataType| *found == DataType::Boolean;
        let array = self.column(column, "true or false", &DataType::Boolean, is_flag)?;
        Ok(array.as_boolean().iter().collect())
    }

    fn column(
        &self,
        column: &str,
        expected: &'static str,
        wanted: &DataType,
        fits: impl Fn(&DataType) -> bool,
    ) -> Result<ArrayRef, ReportError> {
        let array = self.batch.column_by_name(column).ok_or_else(|| ReportError::NoColumn {
            view: self.name.to_owned(),
            column: column.to_owned(),
        })?;
        // A column of nothing but NULL has a type of its own.
        if !fits(array.data_type()) && *array.data_type() != DataType::Null {
            return Err(ReportError::ColumnType {
                view: self.name.to_owned(),
                column: column.to_owned(),
                found: array.data_type().to_string(),
                expected,
            });
        }
        Ok(cast(array, wanted)?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int32Array, NullArray, StringArray};

    use super::*;

    fn view() -> View {
        let columns: [(&str, ArrayRef); 3] = [
            ("name", Arc::new(StringArray::from(vec![Some("a"), None]))),
            ("n", Arc::new(Int32Array::from(vec![Some(3), None]))),
            ("nothing", Arc::new(NullArray::new(2))),
        ];
        let columns = columns.map(|(name, array)| (name, array, true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        View::new("cells", &batch.schema(), &[batch]).unwrap()
    }

    #[test]
    fn columns_are_read_by_name() {
        let view = view();
        assert_eq!(view.texts("name").unwrap(), [Some("a".to_owned()), None]);
        assert_eq!(view.names("name").unwrap(), ["a", "—"]);
        assert_eq!(view.ints("n").unwrap(), [Some(3), None]);
        assert_eq!(view.floats("n").unwrap(), [Some(3.0), None]);
        assert_eq!(view.floats("nothing").unwrap(), [None, None]);
        assert_eq!(view.flags("nothing").unwrap(), [None, None]);
    }

    #[test]
    fn what_is_missing_or_of_another_type_is_named() {
        let error = view().floats("rps_mean").unwrap_err().to_string();
        assert!(error.starts_with("the view `cells` gives no column `rps_mean`"), "{error}");
        let error = view().floats("name").unwrap_err().to_string();
        assert_eq!(error, "the view `cells` gives `name` as Utf8: expected a number");
    }
}
