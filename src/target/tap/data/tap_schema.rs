//! TAP_SCHEMA: the description of all tables, as tables.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Schema};
use arrow::error::ArrowError;

use super::column::{Column, Table, votable_type};

/// The schema's name.
pub const TAP_SCHEMA: &str = "tap_schema";
/// The schema of the corpus.
pub const IVOA: &str = "ivoa";
/// The table of the corpus.
pub const OBSCORE: &str = "obscore";

/// Each schema: name, description.
pub const SCHEMAS: [(&str, &str); 2] = [
    (IVOA, "Tables that the IVOA defines"),
    (TAP_SCHEMA, "The description of all tables, as tables"),
];

/// A foreign key from one table of TAP_SCHEMA to another.
pub struct Key {
    /// Its identifier.
    pub id: &'static str,
    /// The tables: the one that refers, the one referred to.
    pub tables: (&'static str, &'static str),
    /// Their columns.
    pub columns: (&'static str, &'static str),
    /// One line about it.
    pub description: &'static str,
}

/// The foreign keys.
pub const KEYS: [Key; 5] = [
    Key {
        id: "tables_schemas",
        tables: ("tap_schema.tables", "tap_schema.schemas"),
        columns: ("schema_name", "schema_name"),
        description: "The schema that a table is in",
    },
    Key {
        id: "columns_tables",
        tables: ("tap_schema.columns", "tap_schema.tables"),
        columns: ("table_name", "table_name"),
        description: "The table that a column is in",
    },
    Key {
        id: "keys_from_tables",
        tables: ("tap_schema.keys", "tap_schema.tables"),
        columns: ("from_table", "table_name"),
        description: "The table that a key refers from",
    },
    Key {
        id: "keys_target_tables",
        tables: ("tap_schema.keys", "tap_schema.tables"),
        columns: ("target_table", "table_name"),
        description: "The table that a key refers to",
    },
    Key {
        id: "key_columns_keys",
        tables: ("tap_schema.key_columns", "tap_schema.keys"),
        columns: ("key_id", "key_id"),
        description: "The key that a pair of columns belongs to",
    },
];

fn text(name: &str, description: &str) -> Column {
    Column::new(name, DataType::Utf8, description)
}

fn number(name: &str, description: &str) -> Column {
    Column::new(name, DataType::Int32, description)
}

/// Every table that is served: that of the corpus, and those of TAP_SCHEMA.
pub fn tables(obscore: &[Column]) -> Vec<Table> {
    let of_schema = |name, description, columns| Table {
        schema: TAP_SCHEMA,
        name,
        description,
        utype: "",
        columns,
    };
    vec![
        Table {
            schema: IVOA,
            name: OBSCORE,
            description: "Observations, as ObsCore 1.1 describes them: a synthetic corpus, with no data behind it",
            utype: "ivo://ivoa.net/std/obscore#table-1.1",
            columns: obscore.to_vec(),
        },
        of_schema(
            "schemas",
            "Schemas",
            vec![
                text("schema_name", "Name of the schema"),
                text("utype", "Place in a data model"),
                text("description", "One line about the schema"),
                number("schema_index", "Place in a list of schemas"),
            ],
        ),
        of_schema(
            "tables",
            "Tables",
            vec![
                text("schema_name", "Schema that the table is in"),
                text("table_name", "Name of the table as a query writes it"),
                text("table_type", "table or view"),
                text("utype", "Place in a data model"),
                text("description", "One line about the table"),
                number("table_index", "Place in a list of tables"),
            ],
        ),
        of_schema(
            "columns",
            "Columns",
            vec![
                text("table_name", "Table that the column is in"),
                text("column_name", "Name of the column as a query writes it"),
                text("datatype", "VOTable's type of the values"),
                text("arraysize", "VOTable's size of the values as arrays"),
                text("xtype", "Meaning of the values beyond their type"),
                number("size", "Length of the values, where it is fixed (deprecated)"),
                text("description", "One line about the column"),
                text("utype", "Place in a data model"),
                text("unit", "Unit of the values"),
                text("ucd", "Unified content descriptor"),
                number("indexed", "1 where a lookup by the column is fast"),
                number("principal", "1 for columns to look at first"),
                number("std", "1 where a standard defines the column"),
                number("column_index", "Place in a list of columns"),
            ],
        ),
        of_schema(
            "keys",
            "Foreign keys",
            vec![
                text("key_id", "Identifier of the key"),
                text("from_table", "Table that refers"),
                text("target_table", "Table that is referred to"),
                text("utype", "Place in a data model"),
                text("description", "One line about the key"),
            ],
        ),
        of_schema(
            "key_columns",
            "Columns of foreign keys",
            vec![
                text("key_id", "Identifier of the key"),
                text("from_column", "Column that refers"),
                text("target_column", "Column that is referred to"),
            ],
        ),
    ]
}

/// A column of text, null where it is empty.
fn texts<'a>(values: impl IntoIterator<Item = &'a str>) -> ArrayRef {
    let values = values.into_iter().map(|value| (!value.is_empty()).then_some(value));
    Arc::new(values.collect::<StringArray>())
}

fn count(length: usize) -> ArrayRef {
    Arc::new((1..=length as i32).collect::<Int32Array>())
}

fn flags(values: impl IntoIterator<Item = bool>) -> ArrayRef {
    Arc::new(values.into_iter().map(|value| Some(i32::from(value))).collect::<Int32Array>())
}

/// The rows of a table of TAP_SCHEMA, which describe all tables.
///
/// # Errors
/// If the columns are not those of its description.
pub fn rows(table: &Table, all: &[Table]) -> Result<RecordBatch, ArrowError> {
    let names: Vec<String> = all.iter().map(Table::full_name).collect();
    let columns = match table.name {
        "schemas" => vec![
            texts(SCHEMAS.map(|schema| schema.0)),
            texts(SCHEMAS.map(|_| "")),
            texts(SCHEMAS.map(|schema| schema.1)),
            count(SCHEMAS.len()),
        ],
        "tables" => vec![
            texts(all.iter().map(|table| table.schema)),
            texts(names.iter().map(String::as_str)),
            texts(all.iter().map(|_| "table")),
            texts(all.iter().map(|table| table.utype)),
            texts(all.iter().map(|table| table.description)),
            count(all.len()),
        ],
        "columns" => {
            let each: Vec<(&String, &Column)> = all
                .iter()
                .zip(&names)
                .flat_map(|(table, name)| table.columns.iter().map(move |column| (name, column)))
                .collect();
            let written: Vec<String> = each.iter().map(|(_, column)| column.written()).collect();
            let types: Vec<_> = each
                .iter()
                .map(|(_, column)| votable_type(&column.data_type, column.unicode))
                .collect();
            vec![
                texts(each.iter().map(|(table, _)| table.as_str())),
                texts(written.iter().map(String::as_str)),
                texts(types.iter().map(|(name, _)| *name)),
                texts(types.iter().map(|(_, arraysize)| arraysize.unwrap_or_default())),
                texts(each.iter().map(|(_, column)| column.xtype.as_str())),
                Arc::new(Int32Array::new_null(each.len())),
                texts(each.iter().map(|(_, column)| column.description.as_str())),
                texts(each.iter().map(|(_, column)| column.utype.as_str())),
                texts(each.iter().map(|(_, column)| column.unit.as_str())),
                texts(each.iter().map(|(_, column)| column.ucd.as_str())),
                flags(each.iter().map(|(_, column)| column.indexed)),
                flags(each.iter().map(|(_, column)| column.principal)),
                flags(each.iter().map(|(_, column)| column.std)),
                Arc::new(
                    all.iter()
                        .flat_map(|table| 1..=table.columns.len() as i32)
                        .collect::<Int32Array>(),
                ),
            ]
        }
        "keys" => vec![
            texts(KEYS.iter().map(|key| key.id)),
            texts(KEYS.iter().map(|key| key.tables.0)),
            texts(KEYS.iter().map(|key| key.tables.1)),
            texts(KEYS.iter().map(|_| "")),
            texts(KEYS.iter().map(|key| key.description)),
        ],
        "key_columns" => vec![
            texts(KEYS.iter().map(|key| key.id)),
            texts(KEYS.iter().map(|key| key.columns.0)),
            texts(KEYS.iter().map(|key| key.columns.1)),
        ],
        // No table of TAP_SCHEMA.
        _ => Vec::new(),
    };
    let fields: Vec<_> = table.columns.iter().map(Column::field).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}
