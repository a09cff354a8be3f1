//! One JSON line to a row, slowly: whatever JSON allows, and words for the rest.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::columns::{A_COUNT, A_DURATION, A_TIME, Codes, Columns, Figures, Labels};
use super::error::Problem;
use super::field::{FIELDS, Field};

/// Text that a message quotes at most.
const QUOTED: usize = 80;

/// Reads a line, without its newline, into a row. A blank line is no row.
pub(super) fn read(
    line: &[u8],
    columns: &mut Columns,
    unknown: &mut BTreeSet<String>,
) -> Result<(), Problem> {
    let line = std::str::from_utf8(line).map_err(|error| {
        Problem::Json(format!("not UTF-8 from byte {}", error.valid_up_to() + 1))
    })?;
    if line.trim().is_empty() {
        return Ok(());
    }
    let mut problem = None;
    let mut reader = serde_json::Deserializer::from_str(line);
    let row = Object { unknown, problem: &mut problem };
    let row = row.deserialize(&mut reader).and_then(|row| reader.end().map(|()| row));
    if let Some(problem) = problem {
        return Err(problem);
    }
    row.map_err(|error| Problem::Json(message(&error)))?.push(columns)
}

/// The parser's words, with the column but without its "line 1".
fn message(error: &serde_json::Error) -> String {
    let words = error.to_string();
    let end = words.find(" at line ").unwrap_or(words.len());
    format!("{} at column {}", &words[..end], error.column())
}

/// The known fields of a line.
struct Values([Value; FIELDS]);

struct Object<'a> {
    unknown: &'a mut BTreeSet<String>,
    /// What stopped the parser, where it was not the parser's own opinion.
    problem: &'a mut Option<Problem>,
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = Values;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Values, D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = Values;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object: one request")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Values, A::Error> {
        let mut values = std::array::from_fn(|_| Value::Null);
        let mut seen = 0_u32;
        while let Some(key) = map.next_key::<String>()? {
            let field = Field::named(&key);
            if matches!(field, Field::Key | Field::Unknown) {
                map.next_value::<IgnoredAny>()?;
                if field == Field::Unknown {
                    self.unknown.insert(key);
                }
                continue;
            }
            let bit = 1 << field as u32;
            if seen & bit != 0 {
                *self.problem = Some(Problem::Twice(key));
                return Err(A::Error::custom("a field twice"));
            }
            seen |= bit;
            values[field as usize] = map.next_value()?;
        }
        Ok(Values(values))
    }
}

impl Values {
    fn push(&self, columns: &mut Columns) -> Result<(), Problem> {
        let figures = Figures {
            t_start: self.float(Field::TStart, A_TIME)?,
            t_offered: self.float(Field::TOffered, A_TIME)?,
            latency_s: self.float(Field::Latency, A_DURATION)?,
            ttfb_s: self.float(Field::Ttfb, A_DURATION)?,
            status: self.count(Field::Status)?,
            response_bytes: self.count(Field::ResponseBytes)?,
            rows: self.count(Field::Rows)?,
        };
        let codes = Codes {
            query_class: self.label(Field::QueryClass, &mut columns.query_class)?,
            query_id: self.label(Field::QueryId, &mut columns.query_id)?,
            error: self.label(Field::Error, &mut columns.error)?,
            pod: self.label(Field::Pod, &mut columns.pod)?,
            mode: self.label(Field::Mode, &mut columns.mode)?,
        };
        let request_id = self.text(Field::RequestId)?;
        if let Some(problem) = figures.problem(codes.error) {
            return Err(problem);
        }
        columns.push(&figures, &codes, request_id.map(str::as_bytes));
        Ok(())
    }

    fn wrong(&self, field: Field, expected: &'static str) -> Problem {
        let mut found = self.0[field as usize].to_string();
        if let Some((end, _)) = found.char_indices().nth(QUOTED) {
            found.truncate(end);
            found.push('…');
        }
        Problem::Field { field: field.name(), expected, found }
    }

    fn float(&self, field: Field, expected: &'static str) -> Result<f64, Problem> {
        match &self.0[field as usize] {
            Value::Null => Ok(super::NO_FLOAT),
            Value::Number(number) => number.as_f64().ok_or_else(|| self.wrong(field, expected)),
            _ => Err(self.wrong(field, expected)),
        }
    }

    fn count(&self, field: Field) -> Result<i64, Problem> {
        let value = &self.0[field as usize];
        if value.is_null() {
            return Ok(super::NO_COUNT);
        }
        // 2^63 is the first float that is no count.
        let whole = |float: f64| {
            (float.fract() == 0.0 && (0.0..9_223_372_036_854_775_808.0).contains(&float))
                .then_some(float as i64)
        };
        let count = match value.as_u64() {
            Some(count) => i64::try_from(count).ok(),
            None => value.as_f64().and_then(whole),
        };
        count.ok_or_else(|| self.wrong(field, A_COUNT))
    }

    /// Empty text is null.
    fn text(&self, field: Field) -> Result<Option<&str>, Problem> {
        match &self.0[field as usize] {
            Value::Null => Ok(None),
            Value::String(text) => Ok((!text.is_empty()).then_some(text)),
            _ => Err(self.wrong(field, "text or null")),
        }
    }

    fn label(&self, field: Field, labels: &mut Labels) -> Result<u32, Problem> {
        Ok(self.text(field)?.map_or(0, |text| labels.code(text.as_bytes(), [0; 2])))
    }
}
