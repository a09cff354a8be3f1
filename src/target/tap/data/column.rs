//! Columns and tables as they are described to clients.

use arrow::datatypes::{DataType, Field};

use crate::target::tap::geometry::values;

/// Keys of the metadata of a field, which a query hands on to its answer.
pub const UNIT: &str = "unit";
pub const UCD: &str = "ucd";
pub const UTYPE: &str = "utype";
pub const XTYPE: &str = "xtype";
pub const DESCRIPTION: &str = "description";
/// Set where text holds more than ASCII.
pub const UNICODE: &str = "unicode";

/// A column, described. Empty text stands for what it lacks.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub data_type: DataType,
    /// Whether its text holds more than ASCII.
    pub unicode: bool,
    /// The unit of its values.
    pub unit: String,
    /// Its unified content descriptor.
    pub ucd: String,
    /// Its place in a data model.
    pub utype: String,
    /// What its values mean beyond their type.
    pub xtype: String,
    /// One line about it.
    pub description: String,
    /// Whether it is one of the columns to look at first.
    pub principal: bool,
    /// Whether a lookup by it is fast.
    pub indexed: bool,
    /// Whether a standard defines it.
    pub std: bool,
}

impl Column {
    /// A column of a standard, with a description and nothing else.
    pub fn new(name: &str, data_type: DataType, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            data_type,
            unicode: false,
            unit: String::new(),
            ucd: String::new(),
            utype: String::new(),
            xtype: String::new(),
            description: description.to_owned(),
            principal: true,
            indexed: false,
            std: true,
        }
    }

    /// Its name as a query writes it: in quotes where it is a word of ADQL.
    pub fn written(&self) -> String {
        if self.name == "size" { format!("\"{}\"", self.name) } else { self.name.clone() }
    }

    /// The field of it in a schema, with what is said of it.
    pub fn field(&self) -> Field {
        let unicode = if self.unicode { "1" } else { "" };
        let said = [
            (UNIT, self.unit.as_str()),
            (UCD, &self.ucd),
            (UTYPE, &self.utype),
            (XTYPE, &self.xtype),
            (DESCRIPTION, &self.description),
            (UNICODE, unicode),
        ];
        let said = said.into_iter().filter(|(_, value)| !value.is_empty());
        let metadata = said.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        Field::new(&self.name, self.data_type.clone(), true).with_metadata(metadata)
    }
}

/// A table, described.
#[derive(Debug, Clone)]
pub struct Table {
    /// Its schema's name.
    pub schema: &'static str,
    /// Its own name.
    pub name: &'static str,
    /// One line about it.
    pub description: &'static str,
    /// Its place in a data model.
    pub utype: &'static str,
    /// Its columns, in order.
    pub columns: Vec<Column>,
}

impl Table {
    /// Its name as a query writes it.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }
}

/// VOTable's type of a column, and its size as an array; `None` for one value.
pub fn votable_type(data_type: &DataType, unicode: bool) -> (&'static str, Option<&'static str>) {
    if let Some((_, arraysize)) = values::xtype(data_type) {
        return ("double", Some(arraysize));
    }
    match data_type {
        DataType::Boolean => ("boolean", None),
        DataType::Int8 | DataType::Int16 | DataType::UInt8 => ("short", None),
        DataType::Int32 | DataType::UInt16 => ("int", None),
        DataType::Int64 | DataType::UInt32 | DataType::UInt64 => ("long", None),
        DataType::Float16 | DataType::Float32 => ("float", None),
        DataType::Float64 | DataType::Decimal128(..) | DataType::Decimal256(..) => ("double", None),
        _ if unicode => ("unicodeChar", Some("*")),
        _ => ("char", Some("*")),
    }
}
