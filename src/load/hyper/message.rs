//! Requests as hyper takes them, built before the window.

use std::cell::Cell;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Uri};

use super::sniff::Track;
use crate::load::error::LoadError;
use crate::load::spec::{Endpoint, HttpVersion, RungSpec, Scheme};
use crate::load::workload::Prepared;

/// The number of a stream that has none yet.
pub const UNNUMBERED: u32 = 0;

/// The body of a request. Over HTTP/2 it also learns the number of its stream:
/// hyper asks a body whether it is empty just when it opens the stream.
#[derive(Debug)]
pub struct Outgoing {
    body: Option<Bytes>,
    stream: Option<(Rc<Cell<u32>>, Rc<Track>)>,
}

impl Outgoing {
    /// A body whose stream's number is put into `stream`.
    pub fn new(body: Option<Bytes>, stream: &Rc<Cell<u32>>, track: &Rc<Track>) -> Self {
        Self { body, stream: Some((Rc::clone(stream), Rc::clone(track))) }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.get_mut().body.take().map(|body| Ok(Frame::data(body))))
    }

    fn is_end_stream(&self) -> bool {
        if let Some((stream, track)) = &self.stream
            && stream.get() == UNNUMBERED
        {
            stream.set(track.next_stream());
        }
        self.body.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.body.as_ref().map_or(0, |body| body.len() as u64))
    }
}

/// A request that can be sent again and again.
#[derive(Debug, Clone)]
pub struct Template {
    pub method: Method,
    pub uri: Uri,
    pub fields: HeaderMap,
    pub body: Option<Bytes>,
}

/// Where the requests of a rung go.
#[derive(Debug, Clone)]
pub struct Authority {
    scheme: &'static str,
    /// Host and port, the port left out where the scheme means it.
    name: String,
    base_path: String,
    is_http2: bool,
    keep_alive: bool,
}

impl Authority {
    pub fn new(spec: &RungSpec) -> Self {
        let Endpoint { scheme, host, port, base_path, http, .. } = &spec.endpoint;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let name = if *port == scheme.port() { host } else { format!("{host}:{port}") };
        Self {
            scheme: if *scheme == Scheme::Https { "https" } else { "http" },
            name,
            base_path: base_path.clone(),
            is_http2: *http == HttpVersion::Http2,
            keep_alive: spec.keep_alive,
        }
    }

    /// A target of this place, as the protocol writes it.
    pub fn uri(&self, target: &str) -> Option<Uri> {
        if self.is_http2 {
            format!("{}://{}{target}", self.scheme, self.name).parse().ok()
        } else {
            target.parse().ok()
        }
    }

    /// The request that a workload has prepared.
    ///
    /// # Errors
    /// If it is none.
    pub fn template(&self, request: &Prepared) -> Result<Template, LoadError> {
        let target = format!("{}{}", self.base_path, request.target);
        let wrong = |field| LoadError::Setting {
            field,
            value: format!("{} of {}", target, request.query_id),
            expected: "a request that HTTP can carry",
        };
        let mut fields = self.fields();
        for (name, value) in &request.headers {
            let name: HeaderName = name.parse().map_err(|_| wrong("header"))?;
            fields.append(name, value.parse().map_err(|_| wrong("header"))?);
        }
        Ok(Template {
            method: request.method.parse().map_err(|_| wrong("method"))?,
            uri: self.uri(&target).ok_or_else(|| wrong("path"))?,
            fields,
            body: (!request.body.is_empty()).then(|| Bytes::from(request.body.clone())),
        })
    }

    /// The fields of every request.
    pub fn fields(&self) -> HeaderMap {
        let mut fields = HeaderMap::new();
        if !self.is_http2 {
            // A host is a name or an address: a field's value.
            if let Ok(host) = HeaderValue::from_str(&self.name) {
                fields.insert(HOST, host);
            }
            if !self.keep_alive {
                fields.insert("connection", HeaderValue::from_static("close"));
            }
        }
        fields
    }

    /// Where a redirect from `from` leads, if it stays at this place.
    pub fn follow(&self, from: &Uri, location: &str) -> Option<Uri> {
        let location = location.split_once('#').map_or(location, |(before, _)| before);
        if let Some((scheme, rest)) = location.split_once("://") {
            let (name, target) = match rest.find(['/', '?']) {
                Some(at) => rest.split_at(at),
                None => (rest, "/"),
            };
            let name = if scheme.eq_ignore_ascii_case("https") {
                name.trim_end_matches(":443")
            } else {
                name.trim_end_matches(":80")
            };
            let is_here =
                scheme.eq_ignore_ascii_case(self.scheme) && name.eq_ignore_ascii_case(&self.name);
            return is_here.then(|| self.uri(&slashed(target))).flatten();
        }
        if location.starts_with("//") {
            return None;
        }
        if location.starts_with('/') {
            return self.uri(location);
        }
        // Relative to the folder of where it came from.
        let folder = from.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        self.uri(&format!("{folder}/{location}"))
    }
}

fn slashed(target: &str) -> String {
    if target.starts_with('/') { target.to_owned() } else { format!("/{target}") }
}

impl Template {
    /// One request of it.
    pub fn request(&self, body: Outgoing) -> Request<Outgoing> {
        let mut request = Request::new(body);
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.fields.clone();
        request
    }

    /// The request that a redirect of this status makes of it.
    pub fn redirected(&self, status: u16, uri: Uri) -> Self {
        let is_post = self.method == Method::POST;
        let keeps = matches!(status, 307 | 308) || !is_post && status != 303;
        if keeps {
            return Self { uri, ..self.clone() };
        }
        let mut fields = self.fields.clone();
        fields.remove("content-type");
        let method = if self.method == Method::HEAD { Method::HEAD } else { Method::GET };
        Self { method, uri, fields, body: None }
    }
}
