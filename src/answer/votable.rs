//! Answers as VOTable 1.1 to 1.5, in its serialisations TABLEDATA, BINARY and
//! BINARY2.

use std::borrow::Cow;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Error, Reader, XmlVersion};

use super::binary::{self, Field, Shape};
use super::{Answer, AnswerError, Column, Kind, Value};

/// Reads the first table of the first resource of results. No table but an
/// error is an error, in its own words.
pub fn parse(body: &[u8]) -> Result<Answer, AnswerError> {
    let text = std::str::from_utf8(body).map_err(|error| {
        AnswerError::malformed(format!("not UTF-8 at byte {}", error.valid_up_to()))
    })?;
    let mut state = State::default();
    let mut reader = Reader::from_str(text);
    loop {
        match reader.read_event().map_err(|error| problem(&error))? {
            Event::Start(tag) => state.open(&tag)?,
            Event::Empty(tag) => {
                state.open(&tag)?;
                state.close(tag.local_name().as_ref())?;
            }
            Event::End(tag) => state.close(tag.local_name().as_ref())?,
            Event::Text(text) => state.add(&text.xml10_content()),
            Event::CData(text) => state.add(&text.xml10_content()),
            Event::GeneralRef(name) => {
                let resolved = match name.resolve_char_ref().map_err(|error| problem(&error))? {
                    Some(character) => Cow::from(character.to_string()),
                    None => quick_xml::escape::resolve_predefined_entity(&name)
                        .ok_or_else(|| {
                            AnswerError::malformed(format!("unknown entity &{};", &*name))
                        })?
                        .into(),
                };
                state.add(&resolved);
            }
            Event::Eof => return state.finish(),
            Event::Decl(_) | Event::PI(_) | Event::DocType(_) | Event::Comment(_) => {}
        }
    }
}

fn problem(error: &Error) -> AnswerError {
    match error {
        Error::Syntax(error) => AnswerError::truncated(error.to_string()),
        _ => AnswerError::malformed(format!("no well-formed XML: {error}")),
    }
}

/// What was read of a document so far.
#[derive(Default)]
struct State {
    /// The elements that are open.
    path: Vec<String>,
    text: String,
    answer: Answer,
    fields: Vec<Field>,
    row: Vec<Value>,
    has_table: bool,
    /// The table that is read has ended: what follows is another.
    table_ended: bool,
    /// The value of the INFO that is open, if it is a status.
    status: Option<String>,
    refused: Option<String>,
}

impl State {
    fn open(&mut self, tag: &BytesStart<'_>) -> Result<(), AnswerError> {
        let name = tag.local_name().as_ref().to_owned();
        if self.path.is_empty() && name != "VOTABLE" {
            return Err(AnswerError::malformed(format!("an XML document <{name}>, no VOTable")));
        }
        match name.as_str() {
            "INFO" if attribute(tag, "name")?.as_deref() == Some("QUERY_STATUS") => {
                self.status = attribute(tag, "value")?;
            }
            "TABLE" if !self.table_ended => self.has_table = true,
            "FIELD" if !self.table_ended => {
                let (column, field) = field(tag)?;
                self.answer.columns.push(column);
                self.fields.push(field);
            }
            "VALUES" if self.path.last().is_some_and(|open| open == "FIELD") => {
                if let (Some(field), Some(null)) = (self.fields.last_mut(), attribute(tag, "null")?)
                {
                    field.null = Some(null);
                }
            }
            "TR" => self.row.clear(),
            "FITS" => return Err(AnswerError::malformed("a table as FITS, which is not read")),
            _ => {}
        }
        self.text.clear();
        self.path.push(name);
        Ok(())
    }

    fn add(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn close(&mut self, name: &str) -> Result<(), AnswerError> {
        self.path.pop();
        match name {
            "INFO" => match self.status.take().as_deref() {
                Some("ERROR") => self.refused = Some(one_line(&self.text)),
                Some("OVERFLOW") => self.answer.overflow = true,
                _ => {}
            },
            "TD" if !self.table_ended => {
                let place = self.row.len();
                let Some(field) = self.fields.get(place) else {
                    let row = self.answer.rows.len() + 1;
                    let columns = self.fields.len();
                    return Err(AnswerError::malformed(format!(
                        "row {row} has more than {columns} cells"
                    )));
                };
                let value = field.of_text(&self.text).map_err(|wanted| {
                    let (row, name) =
                        (self.answer.rows.len() + 1, &self.answer.columns[place].name);
                    let text = one_line(&self.text);
                    AnswerError::malformed(format!("row {row}, {name}: `{text}` is {wanted}"))
                })?;
                self.row.push(value);
            }
            "TR" if !self.table_ended => {
                if self.row.len() != self.fields.len() {
                    let (row, cells) = (self.answer.rows.len() + 1, self.row.len());
                    let columns = self.fields.len();
                    return Err(AnswerError::malformed(format!(
                        "row {row} has {cells} cells for {columns} columns"
                    )));
                }
                self.answer.rows.push(std::mem::take(&mut self.row));
            }
            "STREAM" if !self.table_ended => {
                let has_flags = self.path.last().is_some_and(|open| open == "BINARY2");
                let bytes = binary::base64(&self.text)?;
                self.answer.rows = binary::rows(&bytes, &self.fields, has_flags)?;
                self.answer.tells_null = has_flags;
            }
            "TABLE" => self.table_ended = true,
            _ => {}
        }
        self.text.clear();
        Ok(())
    }

    fn finish(self) -> Result<Answer, AnswerError> {
        if let Some(message) = self.refused {
            return Err(AnswerError::Refused(message));
        }
        if let Some(open) = self.path.last() {
            return Err(AnswerError::truncated(format!("it ends inside <{open}>")));
        }
        if !self.has_table {
            return Err(AnswerError::malformed("a VOTable without a table"));
        }
        Ok(self.answer)
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<Option<String>, AnswerError> {
    let wrong = |error: String| AnswerError::malformed(format!("no well-formed XML: {error}"));
    let Some(found) = tag.try_get_attribute(name).map_err(|error| wrong(error.to_string()))? else {
        return Ok(None);
    };
    let value = found.normalized_value(XmlVersion::Implicit1_0);
    Ok(Some(value.map_err(|error| wrong(error.to_string()))?.into_owned()))
}

fn field(tag: &BytesStart<'_>) -> Result<(Column, Field), AnswerError> {
    let name = attribute(tag, "name")?.unwrap_or_default();
    let datatype = attribute(tag, "datatype")?.unwrap_or_default();
    let arraysize = attribute(tag, "arraysize")?;
    let field = Field::new(&datatype, arraysize.as_deref()).ok_or_else(|| {
        let arraysize = arraysize.as_deref().unwrap_or("1");
        AnswerError::malformed(format!("column {name}: type {datatype} [{arraysize}] is unknown"))
    })?;
    let kind = match (field.datatype.is_float(), field.shape == Shape::One) {
        (true, true) => Kind::Float,
        (false, true) if field.datatype.is_integer() => Kind::Int,
        _ => Kind::Text,
    };
    Ok((Column { name, kind }, field))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect()
}
