//! Whether a body that was read whole is the one that was expected.

use memchr::memmem;
use sha2::{Digest, Sha256};

use super::record::Fault;
use super::workload::Expect;
use crate::answer::{Answer, Format};

/// The largest body that is held for a check; a longer one is not checked.
pub const LARGEST: u64 = 1 << 30;

/// A response that came whole and is to be checked.
#[derive(Debug)]
pub struct Sampled {
    pub status: u16,
    pub content_type: String,
    pub body: Vec<u8>,
}

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
pub fn check(expect: &Expect, response: &Sampled) -> Option<Failure> {
    let Sampled { status, content_type, body } = response;
    let (status, body) = (*status, body.as_slice());
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
    match Answer::parse(format(content_type, body), body) {
        Ok(answer) if answer.rows.len() as u64 == expected => None,
        Ok(answer) => {
            let found = answer.rows.len();
            Failure::new(Fault::CheckRows, format!("{found} rows, expected {expected}"))
        }
        Err(reason) => Failure::new(Fault::CheckFormat, reason.to_string()),
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

/// The format that a body is in, by what it says of itself.
fn format(content_type: &str, body: &[u8]) -> Format {
    let content_type = content_type.to_ascii_lowercase();
    let is_xml = ["xml", "votable"].iter().any(|word| content_type.contains(word));
    if is_xml || body.trim_ascii_start().first() == Some(&b'<') {
        Format::Votable
    } else if content_type.contains("tab-separated") {
        Format::Tsv
    } else {
        Format::Csv
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(expect: &Expect, status: u16, content_type: &str, body: &str) -> Option<Failure> {
        let (content_type, body) = (content_type.to_owned(), body.into());
        check(expect, &Sampled { status, content_type, body })
    }

    fn fault(expect: &Expect, status: u16, content_type: &str, body: &str) -> Fault {
        failure(expect, status, content_type, body).map_or(Fault::None, |f| f.fault)
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
        let text = r#"<INFO name="QUERY_STATUS" value="ERROR"> no such table </INFO>"#;
        let failure = failure(&expect, 200, "", text);
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
        let votable = |data: &str| {
            let field = "<FIELD name=\"a\" datatype=\"int\"/>";
            format!("<VOTABLE><TABLE>{field}<DATA>{data}</DATA></TABLE></VOTABLE>")
        };
        let tabledata = votable("<TABLEDATA><TR><TD>1</TD></TR><TR><TD/></TR></TABLEDATA>");
        assert_eq!(fault(&rows(2), 200, "application/x-votable+xml", &tabledata), Fault::None);
        assert_eq!(fault(&rows(1), 200, "", &tabledata), Fault::CheckRows);
        // Two rows of four bytes; in BINARY2 each has a byte of flags before it.
        let binary = votable("<BINARY><STREAM encoding=\"base64\">AAAAAQAAAAI=</STREAM></BINARY>");
        assert_eq!(fault(&rows(2), 200, "", &binary), Fault::None);
        let binary2 =
            votable("<BINARY2><STREAM encoding=\"base64\">AAAAAAEAAAAAAg==</STREAM></BINARY2>");
        assert_eq!(fault(&rows(2), 200, "", &binary2), Fault::None);
        assert_eq!(fault(&rows(3), 200, "", &binary2), Fault::CheckRows);
        assert_eq!(fault(&rows(0), 200, "text/xml", "<VOTABLE/>"), Fault::CheckFormat);
        assert_eq!(fault(&rows(2), 200, "text/xml", &tabledata[..90]), Fault::CheckFormat);
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
