//! Reading VOTables, as a client would.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quick_xml::XmlVersion;
use quick_xml::events::Event;

/// A VOTable, read.
#[derive(Debug, Default)]
pub struct Votable {
    /// Name, datatype, attributes of each field.
    pub fields: Vec<Vec<(String, String)>>,
    /// Rows as text; nulls are none.
    pub rows: Vec<Vec<Option<String>>>,
    /// The values of QUERY_STATUS before and after the table.
    pub before: Option<String>,
    pub after: Option<String>,
}

impl Votable {
    /// An attribute of a field.
    pub fn attribute(&self, field: usize, name: &str) -> Option<&str> {
        let found = self.fields[field].iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// The status that a VOTable ends with: its value and its text.
pub fn status(text: &str) -> Option<(String, String)> {
    let (_, rest) = text.rsplit_once("name=\"QUERY_STATUS\" value=\"")?;
    let (value, rest) = rest.split_once('"')?;
    let (message, _) = rest.trim_start_matches('>').split_once("</INFO>")?;
    let message = quick_xml::escape::unescape(message).unwrap().into_owned();
    Some((value.to_owned(), message))
}

/// Reads a VOTable with TABLEDATA or BINARY2.
pub fn read(text: &str) -> Votable {
    let mut reader = quick_xml::Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut table = Votable::default();
    let mut content = String::new();
    let mut row = Vec::new();
    let mut is_after = false;
    loop {
        match reader.read_event().unwrap() {
            Event::Eof => break,
            Event::Start(element) => {
                content.clear();
                let attributes: Vec<(String, String)> = element
                    .attributes()
                    .map(|attribute| {
                        let attribute = attribute.unwrap();
                        let value = attribute.normalized_value(XmlVersion::Implicit1_0).unwrap();
                        (attribute.key.into_inner().to_owned(), value.into_owned())
                    })
                    .collect();
                let get = |name: &str| {
                    attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
                };
                match element.name().into_inner() {
                    "INFO" if get("name").as_deref() == Some("QUERY_STATUS") => {
                        let status = if is_after { &mut table.after } else { &mut table.before };
                        *status = get("value");
                    }
                    "FIELD" => table.fields.push(attributes),
                    _ => {}
                }
            }
            Event::Text(part) => content.push_str(&part),
            Event::GeneralRef(reference) => {
                let reference = format!("&{};", &*reference);
                content.push_str(&quick_xml::escape::unescape(&reference).unwrap());
            }
            Event::End(element) => match element.name().into_inner() {
                // TABLEDATA has one way to say null and empty.
                "TD" => {
                    row.push(Some(std::mem::take(&mut content)).filter(|text| !text.is_empty()))
                }
                "TR" => table.rows.push(std::mem::take(&mut row)),
                "TABLE" => is_after = true,
                "STREAM" => {
                    let bytes = STANDARD.decode(content.trim()).unwrap();
                    table.rows = binary2(&bytes, &table);
                }
                _ => {}
            },
            _ => {}
        }
    }
    table
}

/// Decodes rows of BINARY2.
fn binary2(bytes: &[u8], table: &Votable) -> Vec<Vec<Option<String>>> {
    let mut rest = bytes;
    let mut rows = Vec::new();
    let count = table.fields.len();
    while !rest.is_empty() {
        let flags = take(&mut rest, count.div_ceil(8)).to_vec();
        let row = (0..count).map(|index| {
            let value = value(&mut rest, table, index);
            (flags[index / 8] & (0x80 >> (index % 8)) == 0).then_some(value)
        });
        rows.push(row.collect());
    }
    rows
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (first, others) = rest.split_at(length);
    *rest = others;
    first
}

fn value(rest: &mut &[u8], table: &Votable, field: usize) -> String {
    let datatype = table.attribute(field, "datatype").unwrap();
    let length = match table.attribute(field, "arraysize") {
        None => None,
        Some("*") => Some(u32::from_be_bytes(take(rest, 4).try_into().unwrap()) as usize),
        Some(fixed) => Some(fixed.parse().unwrap()),
    };
    let one = |rest: &mut &[u8]| match datatype {
        "boolean" => take(rest, 1)[0].to_string(),
        "short" => i16::from_be_bytes(take(rest, 2).try_into().unwrap()).to_string(),
        "int" => i32::from_be_bytes(take(rest, 4).try_into().unwrap()).to_string(),
        "long" => i64::from_be_bytes(take(rest, 8).try_into().unwrap()).to_string(),
        "float" => format!("{:?}", f32::from_be_bytes(take(rest, 4).try_into().unwrap())),
        "double" => format!("{:?}", f64::from_be_bytes(take(rest, 8).try_into().unwrap())),
        other => panic!("unknown datatype {other}"),
    };
    match (datatype, length) {
        ("char", Some(length)) => String::from_utf8(take(rest, length).to_vec()).unwrap(),
        ("unicodeChar", Some(length)) => {
            let units = take(rest, length * 2).chunks(2);
            let units: Vec<u16> =
                units.map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
            String::from_utf16(&units).unwrap()
        }
        (_, None) => one(rest),
        (_, Some(length)) => (0..length).map(|_| one(rest)).collect::<Vec<_>>().join(" "),
    }
}
