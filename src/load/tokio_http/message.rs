//! Requests built before the window: for hyper over HTTP/1.1, as bytes over HTTP/2.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Uri};

use super::hpack;
use crate::load::error::LoadError;
use crate::load::spec::{Endpoint, HttpVersion, RungSpec, Scheme};
use crate::load::workload::Prepared;

/// A request that can be sent again and again.
#[derive(Debug, Clone)]
pub struct Template {
    method: Method,
    uri: Uri,
    fields: HeaderMap,
    pub body: Option<Bytes>,
    /// The header block of HTTP/2; empty otherwise.
    pub block: Vec<u8>,
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
        let method: Method = request.method.parse().map_err(|_| wrong("method"))?;
        let mut template = Self {
            is_idempotent: method.is_idempotent(),
            method,
            uri: target.parse().map_err(|_| wrong("path"))?,
            fields: HeaderMap::new(),
            body: (!request.body.is_empty()).then(|| Bytes::from(request.body.clone())),
            block: Vec::new(),
        };
        if endpoint.http == HttpVersion::Http2 {
            let scheme = if endpoint.scheme == Scheme::Https { "https" } else { "http" };
            let mut fields = request.headers.clone();
            if let Some(body) = &template.body {
                fields.push(("content-length".to_owned(), body.len().to_string()));
            }
            template.block = hpack::request(&request.method, scheme, &authority, target, &fields);
            return Ok(template);
        }
        let fields = &mut template.fields;
        fields.insert(HOST, HeaderValue::from_str(&authority).map_err(|_| wrong("host"))?);
        if !spec.keep_alive {
            fields.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        for (name, value) in &request.headers {
            let name: HeaderName = name.parse().map_err(|_| wrong("header"))?;
            fields.append(name, value.parse().map_err(|_| wrong("header"))?);
        }
        Ok(template)
    }

    pub fn is_head(&self) -> bool {
        self.method == Method::HEAD
    }

    /// One request of it, for hyper.
    pub fn request(&self) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body.clone().unwrap_or_default()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.fields.clone();
        request
    }
}
