//! Whether a body that was read whole is the one that was expected.

use memchr::memmem;
use quick_xml::events::Event;
use sha2::{Digest, Sha256};

use super::record::Fault;
use super::workload::Expect;

/// The largest body that is held for a check; a longer one is not checked.
pub const LARGEST: u64 = 1 << 30;

/// Why a body was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub fault: Fault,
    /// What was expected, and what came.
    pub text: String,
}

impl Failure {
    fn new(fault: Fault, text: impl Into<String>) -> Option<Self> {
        Some(Self { fault, text: text.into() })
    }
}

/// Checks a response; none where there is nothing against it. A status of 400 or
/// more is an error by itself, and no body is expected of it.
pub fn check(expect: &Expect, status: u16, content_type: &str, body: &[u8]) -> Option<Failure> {
    if let Some(expected) = expect.status.filter(|expected| *expected != status) {
        return Failure::new(Fault::CheckStatus, format!("status {status}, expected {expected}"));
    }
    if status >= 400 {
        return None;
    }
    if let Some(error) = query_error(body) {
        return Failure::new(Fault::QueryError, format!("QUERY_STATUS is ERROR: {error}"));
    }
    if let Some(expected) = &expect.sha256 {
        let found = hexadecimal(&Sha256::digest(body));
        if !found.eq_ignore_ascii_case(expected) {
            let text = format!("sha256 {found}, expected {expected}");
            return Failure::new(Fault::CheckDigest, text);
        }
    }
    let expected = expect.rows?;
    match rows(content_type, body) {
        Ok(found) if found == expected => None,
        Ok(found) => Failure::new(Fault::CheckRows, format!("{found} rows, expected {expected}")),
        Err(reason) => Failure::new(Fault::CheckFormat, reason),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes whatever is written to it");
        text
    })
}

/// What a VOTable says of its error, if it has `<INFO name="QUERY_STATUS"
/// value="ERROR">`, before its table or after it. No such tag can stand in text:
/// there, `<` is written `&lt;`.
fn query_error(body: &[u8]) -> Option<String> {
    for at in memmem::find_iter(body, b"QUERY_STATUS") {
        let Some(begin) = memchr::memrchr(b'<', &body[..at]) else { continue };
        let Some(length) = memchr::memchr(b'>', &body[begin..]) else { continue };
        let tag = &body[begin..begin + length];
        if !(tag.starts_with(b"<INFO") || memmem::find(tag, b":INFO").is_some()) {
            continue;
        }
        if [&b"\"ERROR\""[..], b"'ERROR'"].iter().any(|value| memmem::find(tag, value).is_some()) {
            let text = &body[begin + length + 1..];
            let text = &text[..memchr::memchr(b'<', text).unwrap_or(text.len()).min(200)];
            return Some(String::from_utf8_lossy(text).trim().to_owned());
        }
    }
    None
}

/// Rows of the table in a body, without its header line.
fn rows(content_type: &str, body: &[u8]) -> Result<u64, String> {
    let content_type = content_type.to_ascii_lowercase();
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
    if content_type.contains("xml") || content_type.contains("votable") || first == Some(&b'<') {
        return votable_rows(body);
    }
    let delimiter = if content_type.contains("tab-separated") { b'\t' } else { b',' };
    let mut reader =
        csv::ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(body);
    let mut record = csv::ByteRecord::new();
    let mut rows = 0;
    loop {
        match reader.read_byte_record(&mut record) {
            Ok(true) => rows += 1,
            Ok(false) => return Ok(rows),
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn votable_rows(body: &[u8]) -> Result<u64, String> {
    let mut reader = quick_xml::Reader::from_reader(body);
    let mut rows = 0;
    let mut tables = 0;
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag) | Event::Empty(tag)) => match tag.local_name().as_ref() {
                "TR" => rows += 1,
                "TABLEDATA" => tables += 1,
                "BINARY" | "BINARY2" | "FITS" => {
                    return Err("rows of a binary VOTable are not counted".to_owned());
                }
                _ => {}
            },
            Ok(Event::Eof) if tables > 0 => return Ok(rows),
            Ok(Event::Eof) => return Err("no TABLEDATA in the body".to_owned()),
            Ok(_) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(expect: &Expect, status: u16, content_type: &str, body: &str) -> Fault {
        check(expect, status, content_type, body.as_bytes()).map_or(Fault::None, |f| f.fault)
    }

    #[test]
    fn an_error_in_a_votable_is_one_whatever_the_status() {
        let expect = Expect::default();
        let table = |info: &str| format!("<VOTABLE><RESOURCE>{info}</RESOURCE></VOTABLE>");
        for info in [
            r#"<INFO name="QUERY_STATUS" value="ERROR">no such table</INFO>"#,
            "<INFO value='ERROR' name='QUERY_STATUS'/>",
            r#"<vot:INFO name="QUERY_STATUS" value="ERROR"/>"#,
            r#"<INFO name="QUERY_STATUS" value="OK"/><INFO name="QUERY_STATUS" value="ERROR"/>"#,
        ] {
            assert_eq!(fault(&expect, 200, "", &table(info)), Fault::QueryError, "{info}");
        }
        for info in [
            r#"<INFO name="QUERY_STATUS" value="OK"/>"#,
            r#"<INFO name="other" value="ERROR"/>"#,
            "<TD>QUERY_STATUS value=&quot;ERROR&quot;</TD>",
        ] {
            assert_eq!(fault(&expect, 200, "", &table(info)), Fault::None, "{info}");
        }
        let failure = check(
            &expect,
            200,
            "",
            br#"<INFO name="QUERY_STATUS" value="ERROR"> no such table </INFO>"#,
        );
        assert_eq!(failure.unwrap().text, "QUERY_STATUS is ERROR: no such table");
    }

    #[test]
    fn rows_are_counted_in_each_format() {
        let rows = |rows| Expect { rows: Some(rows), ..Expect::default() };
        let csv = "a,b\n1,\"x\ny\"\n2,z\n";
        assert_eq!(fault(&rows(2), 200, "text/csv; header=present", csv), Fault::None);
        assert_eq!(fault(&rows(3), 200, "text/csv", csv), Fault::CheckRows);
        assert_eq!(
            fault(&rows(1), 200, "text/tab-separated-values", "a\tb\n1\t\",\"\n"),
            Fault::None
        );
        let votable = "<VOTABLE><TABLEDATA><TR><TD>1</TD></TR><TR/></TABLEDATA></VOTABLE>";
        assert_eq!(fault(&rows(2), 200, "application/x-votable+xml", votable), Fault::None);
        assert_eq!(fault(&rows(1), 200, "", votable), Fault::CheckRows);
        let binary = "<VOTABLE><BINARY2/></VOTABLE>";
        assert_eq!(fault(&rows(1), 200, "", binary), Fault::CheckFormat);
        assert_eq!(fault(&rows(0), 200, "text/xml", "<VOTABLE/>"), Fault::CheckFormat);
    }

    #[test]
    fn digests_and_statuses_are_compared() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let expect = Expect { sha256: Some(abc.to_owned()), status: Some(200), rows: None };
        assert_eq!(fault(&expect, 200, "", "abc"), Fault::None);
        assert_eq!(fault(&expect, 200, "", "abd"), Fault::CheckDigest);
        assert_eq!(fault(&expect, 201, "", "abc"), Fault::CheckStatus);
        assert_eq!(fault(&Expect { status: None, ..expect }, 500, "", "x"), Fault::None);
    }
}
