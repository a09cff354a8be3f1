//! What a service says of itself: the VOSI documents, kept as they came, and
//! what of them matters to a comparison.

use std::collections::BTreeSet;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use serde::{Deserialize, Serialize};

use super::GateTarget;
use super::http::{Ask, Client};
use crate::answer;

/// What the VOSI documents of a target say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Vosi {
    pub base_url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities_status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub availability_status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tables_status: Option<u16>,
    /// Whether the service says that it is available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<bool>,
    pub tap_versions: Vec<String>,
    /// Media types without parameters, in order.
    pub output_formats: Vec<String>,
    /// Rows, where MAXREC is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maxrec_default: Option<u64>,
    /// Rows at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maxrec_hard: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_header: Option<String>,
    /// Tables by name, in order.
    pub tables: Vec<String>,
    /// What is wrong, one sentence each: none of it, or nothing is compared.
    pub problems: Vec<String>,
}

/// A document as it came.
#[derive(Debug)]
pub struct Document {
    pub name: &'static str,
    pub body: Vec<u8>,
}

/// Asks a target for its documents.
pub fn ask(client: &Client, target: &GateTarget) -> (Vosi, Vec<Document>) {
    let base = target.base();
    let mut vosi = Vosi { base_url: target.base_url.clone(), ..Vosi::default() };
    let mut documents = Vec::new();
    for name in ["capabilities", "availability", "tables"] {
        let url = format!("{base}/{name}");
        let mut problem = |text: String| vosi.problems.push(format!("{name}: {text}"));
        let reply = match client.ask(&target.ask(Ask::get(&url)), &target.reach) {
            Ok(reply) => reply,
            Err(error) => {
                problem(error.to_string());
                if name == "capabilities" {
                    // Three times the same would say no more, and take longer.
                    return (vosi, documents);
                }
                continue;
            }
        };
        let status = reply.status;
        match (status, name) {
            (200, _) => {}
            (400.., "capabilities") => problem(format!(
                "status {status} at {url}{}",
                if status == 404 { ": is that where the service is?" } else { "" }
            )),
            _ => problem(format!("status {status} at {url}, expected 200")),
        }
        if status == 200
            && let Err(reason) = vosi.read(name, &reply.body)
        {
            vosi.problems.push(format!("{name}: {reason}"));
        }
        let slot = match name {
            "capabilities" => &mut vosi.capabilities_status,
            "availability" => &mut vosi.availability_status,
            _ => &mut vosi.tables_status,
        };
        *slot = Some(status);
        if vosi.server_header.is_none() {
            vosi.server_header = reply.header("server").map(str::to_owned);
        }
        documents.push(Document { name, body: reply.body });
    }
    if vosi.available == Some(false) {
        vosi.problems.push("availability: the service says that it is not available".to_owned());
    }
    (vosi, documents)
}

impl Vosi {
    fn read(&mut self, name: &str, body: &[u8]) -> Result<(), String> {
        match name {
            "capabilities" => {
                let found = capabilities(body)?;
                if found.tap_versions.is_empty() {
                    return Err("no capability of TAP in it".to_owned());
                }
                self.tap_versions = found.tap_versions.into_iter().collect();
                self.output_formats = found.output_formats.into_iter().collect();
                (self.maxrec_default, self.maxrec_hard) = found.maxrec;
            }
            "availability" => self.available = Some(availability(body)?),
            _ => self.tables = tables(body)?.into_iter().collect(),
        }
        Ok(())
    }
}

#[derive(Default)]
struct Capabilities {
    tap_versions: BTreeSet<String>,
    output_formats: BTreeSet<String>,
    maxrec: (Option<u64>, Option<u64>),
}

fn capabilities(body: &[u8]) -> Result<Capabilities, String> {
    let mut found = Capabilities::default();
    let mut is_tap = false;
    let mut in_rows = false;
    walk(body, "capabilities", |path, step| match (path, step) {
        ([.., "capability"], Step::Open(attribute)) => {
            is_tap = attribute("standardID")
                .is_some_and(|id| id.to_ascii_lowercase().starts_with("ivo://ivoa.net/std/tap"));
        }
        ([.., "capability", "interface"], Step::Open(attribute)) if is_tap => {
            // The endpoints of one capability are interfaces too, from TAP 1.1 on.
            found.tap_versions.insert(attribute("version").unwrap_or_else(|| "1.0".to_owned()));
        }
        ([.., "outputFormat", "mime"], Step::Text(text)) if is_tap => {
            let mime = text.split(';').next().unwrap_or_default().trim();
            found.output_formats.insert(mime.to_owned());
        }
        ([.., "outputLimit", limit @ ("default" | "hard")], step) if is_tap => match step {
            Step::Open(attribute) => in_rows = attribute("unit").is_some_and(|unit| unit == "row"),
            Step::Text(text) if in_rows => {
                let rows = text.trim().parse().ok();
                match *limit {
                    "default" => found.maxrec.0 = rows,
                    _ => found.maxrec.1 = rows,
                }
            }
            Step::Text(_) => {}
        },
        _ => {}
    })?;
    Ok(found)
}

fn availability(body: &[u8]) -> Result<bool, String> {
    let mut found = None;
    walk(body, "availability", |path, step| {
        if let (["availability", "available"], Step::Text(text)) = (path, step) {
            found = Some(matches!(text.trim(), "true" | "1"));
        }
    })?;
    found.ok_or_else(|| "does not say whether the service is available".to_owned())
}

fn tables(body: &[u8]) -> Result<BTreeSet<String>, String> {
    let mut found = BTreeSet::new();
    walk(body, "tableset", |path, step| {
        if let ([.., "table", "name"], Step::Text(text)) = (path, step) {
            found.insert(text.trim().to_owned());
        }
    })?;
    if found.is_empty() { Err("no table in it".to_owned()) } else { Ok(found) }
}

/// What comes in a document: an element with its attributes, or an element's
/// text at its end.
enum Step<'a> {
    Open(&'a dyn Fn(&str) -> Option<String>),
    Text(&'a str),
}

/// Walks through a document with this root, whose elements are named without
/// their namespaces.
fn walk(body: &[u8], root: &str, mut visit: impl FnMut(&[&str], Step<'_>)) -> Result<(), String> {
    let head = body.trim_ascii_start();
    if head.is_empty() {
        return Err("an empty body".to_owned());
    }
    let lower = head[..head.len().min(512)].to_ascii_lowercase();
    if memchr::memmem::find(&lower, b"<html").is_some() || lower.starts_with(b"<!doctype html") {
        return Err(format!("a web page ({}) in place of <{root}>", answer::title(body)));
    }
    if head[0] != b'<' {
        return Err(format!("no XML: it starts `{}`", answer::start(body)));
    }
    let text = std::str::from_utf8(body).map_err(|_| "not UTF-8".to_owned())?;
    let mut reader = Reader::from_str(text);
    let mut path: Vec<String> = Vec::new();
    let mut content = String::new();
    loop {
        let event = reader.read_event().map_err(|error| format!("no well-formed XML: {error}"))?;
        let opened = matches!(event, Event::Start(_) | Event::Empty(_));
        let is_empty = matches!(event, Event::Empty(_));
        match &event {
            Event::Start(tag) | Event::Empty(tag) => {
                let name = tag.local_name().as_ref().to_owned();
                if path.is_empty() && name != root {
                    return Err(format!("an XML document <{name}>, expected <{root}>"));
                }
                path.push(name);
                let names: Vec<&str> = path.iter().map(String::as_str).collect();
                visit(&names, Step::Open(&|name| attribute(tag, name)));
                content.clear();
            }
            Event::Text(text) => content.push_str(&text.xml10_content()),
            Event::CData(text) => content.push_str(&text.xml10_content()),
            Event::Eof => {
                return match path.last() {
                    Some(open) => Err(format!("cut off: it ends inside <{open}>")),
                    None => Ok(()),
                };
            }
            _ => {}
        }
        if matches!(event, Event::End(_)) || (opened && is_empty) {
            let names: Vec<&str> = path.iter().map(String::as_str).collect();
            visit(&names, Step::Text(&content));
            path.pop();
            content.clear();
        }
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = tag.try_get_attribute(name).ok()??;
    Some(found.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPABILITIES: &str = r#"<vosi:capabilities xmlns:vosi="http://www.ivoa.net/xml/VOSICapabilities/v1.0">
      <capability standardID="ivo://ivoa.net/std/VOSI#tables"><interface version="9"/></capability>
      <capability standardID="ivo://ivoa.net/std/TAP" xsi:type="tr:TableAccess">
        <interface role="std" version="1.1" xsi:type="vs:ParamHTTP"><accessURL>http://x/tap</accessURL></interface>
        <outputFormat><mime>text/csv;header=present</mime><alias>csv</alias></outputFormat>
        <outputFormat><mime>text/csv</mime></outputFormat>
        <outputFormat><mime>application/x-votable+xml</mime></outputFormat>
        <outputLimit><default unit="row">20000</default><hard unit="row">20000000</hard></outputLimit>
        <uploadLimit><hard unit="byte">7</hard></uploadLimit>
      </capability></vosi:capabilities>"#;

    #[test]
    fn capabilities_are_read_whatever_the_prefix() {
        let found = capabilities(CAPABILITIES.as_bytes()).unwrap();
        assert_eq!(found.tap_versions, BTreeSet::from(["1.1".to_owned()]));
        let formats: Vec<&str> = found.output_formats.iter().map(String::as_str).collect();
        assert_eq!(formats, ["application/x-votable+xml", "text/csv"]);
        assert_eq!(found.maxrec, (Some(20_000), Some(20_000_000)));
        let bytes = CAPABILITIES.replace("unit=\"row\"", "unit=\"byte\"");
        assert_eq!(capabilities(bytes.as_bytes()).unwrap().maxrec, (None, None));
        let old = CAPABILITIES.replace("version=\"1.1\" ", "");
        let versions = capabilities(old.as_bytes()).unwrap().tap_versions;
        assert_eq!(versions, BTreeSet::from(["1.0".to_owned()]));
    }

    #[test]
    fn the_other_documents() {
        let text = "<avail:availability xmlns:avail='x'><avail:available>true</avail:available>\
                    <avail:note>is up</avail:note></avail:availability>";
        assert_eq!(availability(text.as_bytes()), Ok(true));
        assert_eq!(availability(text.replace("true", "false").as_bytes()), Ok(false));
        assert!(availability(b"<availability/>").is_err());
        let text = "<tableset><schema><name>ivoa</name><table><name>ivoa.obscore</name>\
                    <column><name>s_ra</name></column></table></schema></tableset>";
        assert_eq!(tables(text.as_bytes()), Ok(BTreeSet::from(["ivoa.obscore".to_owned()])));
    }

    #[test]
    fn documents_that_are_none() {
        for (body, expected) in [
            ("", "an empty body"),
            ("OK", "no XML: it starts `OK`"),
            ("<!DOCTYPE html><title>Hi</title>", "a web page (`Hi`) in place of <capabilities>"),
            ("<tableset/>", "an XML document <tableset>, expected <capabilities>"),
            ("<capabilities><capability>", "cut off: it ends inside <capability>"),
            ("<capabilities><capability", "no well-formed XML: "),
        ] {
            let error = capabilities(body.as_bytes()).err().unwrap();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
