//! VOTable 1.4, with rows as TABLEDATA or BINARY2.

use std::collections::HashMap;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Schema, SchemaRef};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::End;
use super::cells::Cells;
use super::choice::Serialization;
use crate::target::tap::data::column::{
    DESCRIPTION, UCD, UNICODE, UNIT, UTYPE, XTYPE, votable_type,
};
use crate::target::tap::geometry::values;
use crate::target::tap::xml::{escape, escape_into};

/// The first lines of every VOTable.
const START: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
    <VOTABLE version=\"1.4\" xmlns=\"http://www.ivoa.net/xml/VOTable/v1.3\" \
    xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">\n\
    <RESOURCE type=\"results\">\n";

/// A document that says what went wrong.
pub fn error_document(message: &str) -> String {
    format!("{START}{}</RESOURCE>\n</VOTABLE>\n", status("ERROR", message))
}

fn status(value: &str, message: &str) -> String {
    let message = escape(message);
    format!("<INFO name=\"QUERY_STATUS\" value=\"{value}\">{message}</INFO>\n")
}

/// The names of columns, made different where two are the same.
pub fn unique_names(schema: &Schema) -> Vec<String> {
    let mut taken: HashMap<&str, usize> = HashMap::new();
    let names = schema.fields().iter().map(|field| {
        let count = taken.entry(field.name()).or_default();
        *count += 1;
        if *count == 1 { field.name().clone() } else { format!("{}_{count}", field.name()) }
    });
    names.collect()
}

/// A writer of VOTables.
#[derive(Debug)]
pub struct Votable {
    schema: SchemaRef,
    serialization: Serialization,
    query: String,
    /// Bytes of BINARY2 that wait for a third: base64 is written by threes.
    waiting: Vec<u8>,
}

impl Votable {
    pub fn new(schema: &Schema, serialization: Serialization, query: &str) -> Self {
        let schema = SchemaRef::new(schema.clone());
        Self { schema, serialization, query: query.to_owned(), waiting: Vec::new() }
    }

    pub fn head(&self, out: &mut Vec<u8>) {
        let mut text = START.to_owned();
        text += &status("OK", "");
        text += &format!("<INFO name=\"QUERY\" value=\"{}\"/>\n", escape(&self.query));
        text += "<TABLE name=\"result\">\n";
        for (field, name) in self.schema.fields().iter().zip(unique_names(&self.schema)) {
            let said = field.metadata();
            let data_type = field.data_type();
            let (datatype, arraysize) = votable_type(data_type, said.contains_key(UNICODE));
            text += &format!("<FIELD name=\"{}\" datatype=\"{datatype}\"", escape(&name));
            let of_type = values::xtype(data_type).map(|(xtype, _)| xtype.to_owned());
            let attributes = [
                ("arraysize", arraysize.map(str::to_owned)),
                ("unit", said.get(UNIT).cloned()),
                ("ucd", said.get(UCD).cloned()),
                ("utype", said.get(UTYPE).cloned()),
                ("xtype", of_type.or_else(|| said.get(XTYPE).cloned())),
            ];
            for (name, value) in attributes {
                if let Some(value) = value {
                    text += &format!(" {name}=\"{}\"", escape(&value));
                }
            }
            text += &match said.get(DESCRIPTION) {
                Some(said) => format!("><DESCRIPTION>{}</DESCRIPTION></FIELD>\n", escape(said)),
                None => "/>\n".to_owned(),
            };
        }
        text += match self.serialization {
            Serialization::TableData => "<DATA><TABLEDATA>\n",
            Serialization::Binary2 => "<DATA><BINARY2><STREAM encoding=\"base64\">\n",
        };
        out.extend_from_slice(text.as_bytes());
    }

    pub fn rows(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) {
        let columns = self.schema.fields().iter().zip(batch.columns());
        let columns: Vec<Cells> = columns.map(|(field, column)| Cells::of(field, column)).collect();
        match self.serialization {
            Serialization::TableData => {
                for row in 0..batch.num_rows() {
                    table_row(&columns, row, out);
                }
            }
            Serialization::Binary2 => {
                let unicode: Vec<bool> = self
                    .schema
                    .fields()
                    .iter()
                    .map(|field| field.metadata().contains_key(UNICODE))
                    .collect();
                for row in 0..batch.num_rows() {
                    binary_row(&columns, &unicode, row, &mut self.waiting);
                }
                let whole = self.waiting.len() / 3 * 3;
                let mut text = String::with_capacity(whole / 3 * 4);
                STANDARD.encode_string(&self.waiting[..whole], &mut text);
                out.extend_from_slice(text.as_bytes());
                self.waiting.drain(..whole);
            }
        }
    }

    pub fn tail(&mut self, end: &End, out: &mut Vec<u8>) {
        match self.serialization {
            Serialization::TableData => out.extend_from_slice(b"</TABLEDATA></DATA>\n</TABLE>\n"),
            Serialization::Binary2 => {
                out.extend_from_slice(STANDARD.encode(&self.waiting).as_bytes());
                self.waiting.clear();
                out.extend_from_slice(b"\n</STREAM></BINARY2></DATA>\n</TABLE>\n");
            }
        }
        match end {
            End::Complete => {}
            End::Overflow => {
                out.extend_from_slice(status("OVERFLOW", "there are more rows").as_bytes());
            }
            End::Failed(message) => out.extend_from_slice(status("ERROR", message).as_bytes()),
        }
        out.extend_from_slice(b"</RESOURCE>\n</VOTABLE>\n");
    }
}

fn table_row(columns: &[Cells], row: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(b"<TR>");
    for column in columns {
        if column.is_null(row) {
            out.extend_from_slice(b"<TD/>");
            continue;
        }
        out.extend_from_slice(b"<TD>");
        match column {
            Cells::Text(texts) => escape_into(texts.value(row), out),
            other => other.write(row, out),
        }
        out.extend_from_slice(b"</TD>");
    }
    out.extend_from_slice(b"</TR>\n");
}

/// A row: a bit for each column that is null, then every value, big-endian.
fn binary_row(columns: &[Cells], unicode: &[bool], row: usize, out: &mut Vec<u8>) {
    let flags = out.len();
    out.resize(flags + columns.len().div_ceil(8), 0);
    for (index, (column, &unicode)) in columns.iter().zip(unicode).enumerate() {
        if column.is_null(row) {
            out[flags + index / 8] |= 0x80 >> (index % 8);
            null_value(column, out);
            continue;
        }
        match column {
            Cells::Boolean(column) => out.push(if column.value(row) { b'T' } else { b'F' }),
            Cells::Short(column) => out.extend(column.value(row).to_be_bytes()),
            Cells::Int(column) => out.extend(column.value(row).to_be_bytes()),
            Cells::Long(column) => out.extend(column.value(row).to_be_bytes()),
            Cells::Float(column) => out.extend(column.value(row).to_be_bytes()),
            Cells::Double(column) => out.extend(column.value(row).to_be_bytes()),
            Cells::Text(column) if unicode => {
                let units = column.value(row).encode_utf16();
                length(units.clone().count(), out);
                out.extend(units.flat_map(u16::to_be_bytes));
            }
            Cells::Text(column) => {
                let text = column.value(row);
                length(text.len(), out);
                out.extend_from_slice(text.as_bytes());
            }
            Cells::Numbers(parts) => {
                out.extend(parts.iter().flat_map(|part| part.value(row).to_be_bytes()));
            }
            Cells::Polygon(column) => {
                let coordinates = column.value(row);
                length(coordinates.len(), out);
                let coordinates = coordinates.as_primitive::<Float64Type>().values();
                out.extend(coordinates.iter().flat_map(|value| value.to_be_bytes()));
            }
        }
    }
}

/// What stands where a flag says that there is no value.
fn null_value(column: &Cells, out: &mut Vec<u8>) {
    match column {
        Cells::Boolean(_) => out.push(b'?'),
        Cells::Short(_) => out.extend([0; 2]),
        Cells::Int(_) => out.extend([0; 4]),
        Cells::Long(_) => out.extend([0; 8]),
        Cells::Float(_) => out.extend(f32::NAN.to_be_bytes()),
        Cells::Double(_) => out.extend(f64::NAN.to_be_bytes()),
        Cells::Text(_) | Cells::Polygon(_) => length(0, out),
        Cells::Numbers(parts) => {
            out.extend(parts.iter().flat_map(|_| f64::NAN.to_be_bytes()));
        }
    }
}

fn length(count: usize, out: &mut Vec<u8>) {
    out.extend(u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes());
}
