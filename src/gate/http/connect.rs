//! Connections: TCP, a Unix socket, TLS.

use std::path::PathBuf;
use std::sync::Arc;

use hyper::Uri;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::HttpError;
use crate::load::spec::TlsOptions;
use crate::load::tls;

/// How a certificate is judged, and by what way the server is reached.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// How its certificate is judged.
    pub tls: TlsOptions,
    /// A Unix socket to connect to, in place of the URL's host.
    pub unix_socket: Option<PathBuf>,
}

/// What bytes go through.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Where a URL leads.
#[derive(Debug)]
pub struct Connector {
    pub uri: Uri,
    host: String,
    port: u16,
    is_tls: bool,
}

impl Connector {
    /// For a URL.
    pub fn new(url: &str) -> Result<Self, HttpError> {
        let wrong =
            |reason: &str| HttpError::Url { url: url.to_owned(), reason: reason.to_owned() };
        let uri: Uri =
            url.parse().map_err(|error: hyper::http::uri::InvalidUri| wrong(&error.to_string()))?;
        let is_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong("expected http:// or https://")),
        };
        let host = uri.host().ok_or_else(|| wrong("no host in it"))?;
        let host = host.trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        Ok(Self { uri, host, port, is_tls })
    }

    /// Connects.
    pub async fn connect(&self, reach: &Reach) -> Result<Box<dyn Stream>, HttpError> {
        let host = match &reach.unix_socket {
            Some(path) => path.display().to_string(),
            None => format!("{}:{}", self.host, self.port),
        };
        let refused = |error: std::io::Error| HttpError::Connect {
            host: host.clone(),
            reason: error.to_string(),
        };
        let stream: Box<dyn Stream> = match &reach.unix_socket {
            #[cfg(unix)]
            Some(path) => Box::new(tokio::net::UnixStream::connect(path).await.map_err(refused)?),
            #[cfg(not(unix))]
            Some(_) => return Err(refused(std::io::ErrorKind::Unsupported.into())),
            None => {
                let address = (self.host.as_str(), self.port);
                let stream = TcpStream::connect(address).await.map_err(refused)?;
                stream.set_nodelay(true).map_err(refused)?;
                Box::new(stream)
            }
        };
        if !self.is_tls {
            return Ok(stream);
        }
        let failed = |reason: String| HttpError::Tls { host: host.clone(), reason };
        let config = tls::config(&reach.tls).map_err(failed)?;
        let name = reach.tls.server_name.clone().unwrap_or_else(|| self.host.clone());
        let name = ServerName::try_from(name).map_err(|error| failed(error.to_string()))?;
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
        Ok(Box::new(stream.map_err(|error| failed(error.to_string()))?))
    }
}
