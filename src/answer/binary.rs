//! Values of a VOTable: the types of its fields, and its binary serialisations.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{AnswerError, Value};

/// The type of a field's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Datatype {
    Boolean,
    Bit,
    Byte,
    Short,
    Int,
    Long,
    Char,
    UnicodeChar,
    Float,
    Double,
    FloatComplex,
    DoubleComplex,
}

/// How many elements a value has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    One,
    Fixed(usize),
    /// As many as stand before it, in multiples of this.
    Variable(usize),
}

/// A field, as its values are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub datatype: Datatype,
    pub shape: Shape,
    /// The text that stands for null.
    pub null: Option<String>,
}

impl Datatype {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "boolean" => Self::Boolean,
            "bit" => Self::Bit,
            "unsignedByte" => Self::Byte,
            "short" => Self::Short,
            "int" => Self::Int,
            "long" => Self::Long,
            "char" => Self::Char,
            "unicodeChar" => Self::UnicodeChar,
            "float" => Self::Float,
            "double" => Self::Double,
            "floatComplex" => Self::FloatComplex,
            "doubleComplex" => Self::DoubleComplex,
            _ => return None,
        })
    }

    pub fn is_float(self) -> bool {
        matches!(self, Self::Float | Self::Double)
    }

    pub fn is_integer(self) -> bool {
        matches!(self, Self::Byte | Self::Short | Self::Int | Self::Long)
    }

    fn is_text(self) -> bool {
        matches!(self, Self::Char | Self::UnicodeChar)
    }

    /// Bytes of so many elements.
    fn bytes(self, elements: usize) -> Option<usize> {
        let size = match self {
            Self::Bit => return Some(elements.div_ceil(8)),
            Self::Boolean | Self::Byte | Self::Char => 1,
            Self::Short | Self::UnicodeChar => 2,
            Self::Int | Self::Float => 4,
            Self::Long | Self::Double | Self::FloatComplex => 8,
            Self::DoubleComplex => 16,
        };
        elements.checked_mul(size)
    }
}

impl Field {
    /// A field of a type, and of elements as `arraysize` says, `3`, `2x*`, `8*`.
    pub fn new(datatype: &str, arraysize: Option<&str>) -> Option<Self> {
        let datatype = Datatype::named(datatype)?;
        let shape = match arraysize.map(str::trim) {
            None | Some("") => Shape::One,
            Some(size) => {
                let (fixed, is_variable) = match size.rsplit_once('x') {
                    Some((fixed, last)) if last.ends_with('*') => (Some(fixed), true),
                    None if size.ends_with('*') => (None, true),
                    _ => (Some(size), false),
                };
                let mut elements = 1_usize;
                for dimension in fixed.into_iter().flat_map(|fixed| fixed.split('x')) {
                    elements = elements.checked_mul(dimension.trim().parse().ok()?)?;
                }
                match (is_variable, elements) {
                    (true, _) => Shape::Variable(elements),
                    // The same as none, by an erratum of VOTable 1.3, but of text.
                    (false, 1) => Shape::One,
                    (false, _) => Shape::Fixed(elements),
                }
            }
        };
        Some(Self { datatype, shape, null: None })
    }

    /// The value of a cell of TABLEDATA; else what it should be.
    pub fn of_text(&self, text: &str) -> Result<Value, &'static str> {
        if self.null.as_deref() == Some(text.trim()) && !text.trim().is_empty() {
            return Ok(Value::Null);
        }
        if self.datatype.is_text() || self.shape != Shape::One {
            // An empty cell of text is empty text or null: nobody can say.
            return Ok(if text.is_empty() { Value::Null } else { Value::Text(text.to_owned()) });
        }
        let text = text.trim();
        if text.is_empty() {
            return Ok(Value::Null);
        }
        match self.datatype {
            Datatype::Float | Datatype::Double => {
                let value = float(text).ok_or("no number")?;
                Ok(match self.datatype {
                    _ if value.is_nan() => Value::Null,
                    Datatype::Float => Value::Single(value as f32),
                    _ => Value::Float(value),
                })
            }
            Datatype::Boolean => match text.to_ascii_lowercase().as_str() {
                "t" | "true" | "1" => Ok(Value::Text("true".to_owned())),
                "f" | "false" | "0" => Ok(Value::Text("false".to_owned())),
                "?" => Ok(Value::Null),
                _ => Err("no truth value"),
            },
            datatype if datatype.is_integer() => {
                let value = match text.strip_prefix("0x") {
                    Some(digits) => i64::from_str_radix(digits, 16),
                    None => text.strip_prefix('+').unwrap_or(text).parse(),
                };
                value.map(Value::Int).map_err(|_| "no integer")
            }
            _ => Ok(Value::Text(text.to_owned())),
        }
    }

    /// The value of so many bytes.
    fn of_bytes(&self, bytes: &[u8]) -> Value {
        let text = |text: String| {
            let text = text.trim_end_matches('\0');
            if self.null.as_deref() == Some(text) {
                Value::Null
            } else {
                Value::Text(text.to_owned())
            }
        };
        match self.datatype {
            Datatype::Char => return text(String::from_utf8_lossy(bytes).into_owned()),
            Datatype::UnicodeChar => {
                let units: Vec<u16> = bytes
                    .chunks_exact(2)
                    .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
                    .collect();
                return text(String::from_utf16_lossy(&units));
            }
            _ => {}
        }
        let size = self.datatype.bytes(1).unwrap_or(1).max(1);
        let elements: Vec<Value> =
            bytes.chunks_exact(size).map(|element| self.element(element)).collect();
        match (self.shape, elements.into_iter()) {
            (Shape::One, mut elements) => elements.next().unwrap_or(Value::Null),
            (_, elements) => {
                let texts: Vec<String> = elements.map(|element| plain(&element)).collect();
                Value::Text(texts.join(" "))
            }
        }
    }

    fn element(&self, bytes: &[u8]) -> Value {
        let integer = |value: i64| match self.null.as_deref().map(str::parse::<i64>) {
            Some(Ok(null)) if value == null => Value::Null,
            _ => Value::Int(value),
        };
        match (self.datatype, bytes) {
            (Datatype::Boolean, [b'T' | b't' | b'1']) => Value::Text("true".to_owned()),
            (Datatype::Boolean, [b'F' | b'f' | b'0']) => Value::Text("false".to_owned()),
            (Datatype::Byte, [byte]) => integer(i64::from(*byte)),
            (Datatype::Short, &[a, b]) => integer(i64::from(i16::from_be_bytes([a, b]))),
            (Datatype::Int, &[a, b, c, d]) => integer(i64::from(i32::from_be_bytes([a, b, c, d]))),
            (Datatype::Float, &[a, b, c, d]) => match f32::from_be_bytes([a, b, c, d]) {
                value if value.is_nan() => Value::Null,
                value => Value::Single(value),
            },
            (Datatype::Long, _) => {
                bytes.try_into().map_or(Value::Null, |bytes| integer(i64::from_be_bytes(bytes)))
            }
            (Datatype::Double, _) => match bytes.try_into().map(f64::from_be_bytes) {
                Ok(value) if !value.is_nan() => Value::Float(value),
                _ => Value::Null,
            },
            (Datatype::Boolean, _) => Value::Null,
            (_, bytes) => Value::Text(crate::corpus::hex(bytes)),
        }
    }
}

/// A number as VOTable writes it.
fn float(text: &str) -> Option<f64> {
    match text {
        "NaN" | "nan" => Some(f64::NAN),
        "+Inf" | "Inf" | "+inf" | "inf" | "Infinity" => Some(f64::INFINITY),
        "-Inf" | "-inf" | "-Infinity" => Some(f64::NEG_INFINITY),
        text => text.parse().ok(),
    }
}

/// An element of an array, as TABLEDATA writes it.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "NaN".to_owned(),
        Value::Text(text) => text.clone(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Single(value) => value.to_string(),
    }
}

/// The bytes of a STREAM.
pub fn base64(text: &str) -> Result<Vec<u8>, AnswerError> {
    let text: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    STANDARD.decode(text).map_err(|error| AnswerError::malformed(format!("no base64: {error}")))
}

/// The rows of a binary table. BINARY2 starts each with a flag for each field,
/// set where its value is null.
pub fn rows(
    bytes: &[u8],
    fields: &[Field],
    has_flags: bool,
) -> Result<Vec<Vec<Value>>, AnswerError> {
    let mut rest = bytes;
    let mut rows = Vec::new();
    while !rest.is_empty() {
        let row = row(&mut rest, fields, has_flags).ok_or_else(|| {
            AnswerError::truncated(format!("its bytes end inside row {}", rows.len() + 1))
        })?;
        rows.push(row);
        if fields.is_empty() {
            return Err(AnswerError::malformed("bytes without fields"));
        }
    }
    Ok(rows)
}

fn row(rest: &mut &[u8], fields: &[Field], has_flags: bool) -> Option<Vec<Value>> {
    let flags = if has_flags { take(rest, fields.len().div_ceil(8))? } else { &[] };
    let mut values = Vec::with_capacity(fields.len());
    for (place, field) in fields.iter().enumerate() {
        let elements = match field.shape {
            Shape::One => 1,
            Shape::Fixed(elements) => elements,
            Shape::Variable(_) => {
                let length = take(rest, 4)?;
                usize::try_from(u32::from_be_bytes(length.try_into().ok()?)).ok()?
            }
        };
        let bytes = take(rest, field.datatype.bytes(elements)?)?;
        let is_null = flags.get(place / 8).is_some_and(|byte| byte & (0x80 >> (place % 8)) != 0);
        // Without flags, empty is all that text can say of null.
        let is_empty = !has_flags && bytes.is_empty();
        values.push(if is_null || is_empty { Value::Null } else { field.of_bytes(bytes) });
    }
    Some(values)
}

fn take<'a>(rest: &mut &'a [u8], bytes: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(bytes)?;
    *rest = left;
    Some(taken)
}
