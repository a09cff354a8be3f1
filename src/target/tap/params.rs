//! Parameters of a request: of its URL and of its form, with names that know no
//! case.

use axum::body::Body;
use axum::http::{HeaderMap, Request, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use super::error::Refusal;
use super::options::Options;

/// Parameters in their order; names in upper case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params(Vec<(String, String)>);

impl Params {
    /// Those of a request, whose body is read.
    ///
    /// # Errors
    /// If the body is too long, too slow, or no form.
    pub async fn read(request: Request<Body>, options: &Options) -> Result<Self, Refusal> {
        let (parts, body) = request.into_parts();
        let mut params = Self::default();
        params.form(parts.uri.query().unwrap_or_default().as_bytes());
        let body = Limited::new(body, options.body).collect();
        let body = tokio::time::timeout(options.body_timeout, body).await;
        let body = body.map_err(|_| Refusal {
            status: 408,
            message: "the body of the request did not come in time".to_owned(),
        })?;
        let body = body.map_err(|error| {
            if error.is::<LengthLimitError>() {
                let message = format!("the body of a request has {} bytes at most", options.body);
                Refusal { status: 413, message }
            } else {
                Refusal::bad("the body of the request broke off")
            }
        })?;
        let body = body.to_bytes();
        match boundary(&parts.headers) {
            Some(boundary) => params.multipart(&body, &boundary)?,
            None => params.form(&body),
        }
        Ok(params)
    }

    fn form(&mut self, text: &[u8]) {
        let pairs = form_urlencoded::parse(text);
        self.0.extend(pairs.map(|(key, value)| (key.to_ascii_uppercase(), value.into_owned())));
    }

    /// The parts of a multipart form; a part that is a file counts as an upload.
    fn multipart(&mut self, body: &[u8], boundary: &str) -> Result<(), Refusal> {
        let broken = || Refusal::bad("the multipart form is broken");
        let delimiter = format!("--{boundary}");
        let text = std::str::from_utf8(body).map_err(|_| Refusal::bad("the form is no UTF-8"))?;
        for part in text.split(delimiter.as_str()).skip(1) {
            if part.starts_with("--") {
                return Ok(());
            }
            let part = part.trim_start_matches("\r\n");
            let (head, value) = part.split_once("\r\n\r\n").ok_or_else(broken)?;
            let disposition = head
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-disposition"))
                .map(|(_, value)| value)
                .ok_or_else(broken)?;
            let attribute = |wanted: &str| {
                disposition
                    .split(';')
                    .filter_map(|part| part.split_once('='))
                    .find(|(name, _)| name.trim().eq_ignore_ascii_case(wanted))
                    .map(|(_, value)| value.trim().trim_matches('"'))
            };
            let name = match attribute("filename") {
                Some(_) => "UPLOAD".to_owned(),
                None => attribute("name").ok_or_else(broken)?.to_ascii_uppercase(),
            };
            self.0.push((name, value.strip_suffix("\r\n").unwrap_or(value).to_owned()));
        }
        Err(broken())
    }

    /// The value of a parameter, which has one at most.
    ///
    /// # Errors
    /// If it has two that differ.
    pub fn one(&self, name: &str) -> Result<Option<&str>, Refusal> {
        let mut values =
            self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let first = values.next();
        if values.any(|value| Some(value) != first) {
            return Err(Refusal::bad(format!("{name} is given twice")));
        }
        Ok(first)
    }

    /// The values of a parameter.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Sets those that others give anew.
    pub fn replace(&mut self, others: Self) {
        self.0.retain(|(key, _)| !others.0.iter().any(|(other, _)| other == key));
        self.0.extend(others.0);
    }

    /// Leaves out those of a name.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(key, _)| key != name);
    }
}

fn boundary(headers: &HeaderMap) -> Option<String> {
    let media = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let (kind, rest) = media.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let (_, boundary) = rest
        .split(';')
        .filter_map(|part| part.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("boundary"))?;
    Some(boundary.trim().trim_matches('"').to_owned()).filter(|boundary| !boundary.is_empty())
}
