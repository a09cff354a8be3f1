//! Connections: TCP, a Unix socket, TLS.

use std::path::PathBuf;
use std::sync::Arc;

use hyper::Uri;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::HttpError;

/// How a certificate is judged, and by what way the server is reached.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// A PEM file of certificates to trust beside the system's.
    pub ca: Option<PathBuf>,
    /// The name to ask for, in place of the URL's host.
    pub server_name: Option<String>,
    /// Trust any certificate.
    pub insecure: bool,
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
    pub async fn connect(&self, tls: &Tls) -> Result<Box<dyn Stream>, HttpError> {
        let host = match &tls.unix_socket {
            Some(path) => path.display().to_string(),
            None => format!("{}:{}", self.host, self.port),
        };
        let refused = |error: std::io::Error| HttpError::Connect {
            host: host.clone(),
            reason: error.to_string(),
        };
        let stream: Box<dyn Stream> = match &tls.unix_socket {
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
        let config = config(tls).map_err(failed)?;
        let name = tls.server_name.clone().unwrap_or_else(|| self.host.clone());
        let name = ServerName::try_from(name).map_err(|error| failed(error.to_string()))?;
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
        Ok(Box::new(stream.map_err(|error| failed(error.to_string()))?))
    }
}

fn config(tls: &Tls) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    if tls.insecure {
        let verifier = Arc::new(TrustAnything(provider));
        return Ok(builder
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth());
    }
    let mut roots = RootCertStore::empty();
    let mut certificates = rustls_native_certs::load_native_certs().certs;
    if let Some(path) = &tls.ca {
        let unreadable = |error| format!("{}: {error}", path.display());
        for certificate in CertificateDer::pem_file_iter(path).map_err(unreadable)? {
            certificates.push(certificate.map_err(unreadable)?);
        }
    }
    roots.add_parsable_certificates(certificates);
    if roots.is_empty() {
        return Err("no certificate to trust".to_owned());
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Takes any certificate, as `insecure` asks; signatures are still checked.
#[derive(Debug)]
struct TrustAnything(Arc<CryptoProvider>);

impl ServerCertVerifier for TrustAnything {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
