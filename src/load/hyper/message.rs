//! Requests as hyper takes them, built before the window.

use std::cell::Cell;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue};
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
    stream: Rc<Cell<u32>>,
    track: Rc<Track>,
}

impl Outgoing {
    /// A body whose stream's number is put into `stream`.
    pub fn new(body: Option<Bytes>, stream: &Rc<Cell<u32>>, track: &Rc<Track>) -> Self {
        Self { body, stream: Rc::clone(stream), track: Rc::clone(track) }
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
        if self.stream.get() == UNNUMBERED {
            self.stream.set(self.track.next_stream());
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
    method: Method,
    uri: Uri,
    fields: HeaderMap,
    pub body: Option<Bytes>,
    /// Whether it may be sent twice.
    pub is_idempotent: bool,
}

impl Template {
    /// The request for `target`, base path and all, at an endpoint.
    ///
    /// # Errors
    /// If it is none that HTTP can carry.
    pub fn new(
        spec: &RungSpec,
        endpoint: &Endpoint,
        target: &str,
        request: &Prepared,
    ) -> Result<Self, LoadError> {
        let wrong = |field| LoadError::Setting {
            field,
            value: format!("{target} of {}", request.query_id),
            expected: "a request that HTTP can carry",
        };
        let authority = endpoint.authority();
        let mut fields = HeaderMap::new();
        let uri = if endpoint.http == HttpVersion::Http2 {
            let scheme = if endpoint.scheme == Scheme::Https { "https" } else { "http" };
            format!("{scheme}://{authority}{target}").parse()
        } else {
            fields.insert(HOST, HeaderValue::from_str(&authority).map_err(|_| wrong("host"))?);
            if !spec.keep_alive {
                fields.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            target.parse()
        };
        for (name, value) in &request.headers {
            let name: HeaderName = name.parse().map_err(|_| wrong("header"))?;
            fields.append(name, value.parse().map_err(|_| wrong("header"))?);
        }
        let method: Method = request.method.parse().map_err(|_| wrong("method"))?;
        Ok(Self {
            is_idempotent: method.is_idempotent(),
            method,
            uri: uri.map_err(|_| wrong("path"))?,
            fields,
            body: (!request.body.is_empty()).then(|| Bytes::from(request.body.clone())),
        })
    }

    /// One request of it.
    pub fn request(&self, body: Outgoing) -> Request<Outgoing> {
        let mut request = Request::new(body);
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.fields.clone();
        request
    }
}
