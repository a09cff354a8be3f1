//! How a server's certificate is judged.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CipherSuite, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::error::LoadError;
use super::spec::{Endpoint, HttpVersion, TlsOptions};

/// What a client of an endpoint needs for TLS, once for all connections.
///
/// # Errors
/// If the certificates to be trusted cannot be read, or nobody can have the name.
pub fn client(endpoint: &Endpoint) -> Result<(Arc<ClientConfig>, ServerName<'static>), LoadError> {
    let mut config = config(&endpoint.tls).map_err(LoadError::Tls)?;
    config.alpn_protocols = match endpoint.http {
        HttpVersion::Http1 => vec![b"http/1.1".to_vec()],
        HttpVersion::Http2 => vec![b"h2".to_vec()],
    };
    let name = endpoint.tls.server_name.clone().unwrap_or_else(|| endpoint.host.clone());
    let server = ServerName::try_from(name.clone())
        .map_err(|_| LoadError::Tls(format!("`{name}` is no name that a server can have")))?;
    Ok((Arc::new(config), server))
}

/// A client that judges certificates so, and asks for no protocol.
///
/// # Errors
/// What is wrong with the certificates to be trusted, in words.
pub fn config(options: &TlsOptions) -> Result<ClientConfig, String> {
    let mut provider = ring::default_provider();
    // As browsers have it: a server follows the client's order, and both spend less.
    provider.cipher_suites.sort_by_key(|suite| !is_aes_128(suite.suite()));
    let provider = Arc::new(provider);
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    if options.insecure {
        let any = Arc::new(Anybody(provider));
        return Ok(builder.dangerous().with_custom_certificate_verifier(any).with_no_client_auth());
    }
    let mut roots = RootCertStore::empty();
    // What of the system's cannot be read is trusted no less for that.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = &options.roots {
        let place = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let mut found = 0;
        for certificate in CertificateDer::pem_file_iter(path).map_err(|error| place(&error))? {
            let certificate = certificate.map_err(|error| place(&error))?;
            roots.add(certificate).map_err(|error| place(&error))?;
            found += 1;
        }
        if found == 0 {
            return Err(place(&"expected a certificate in PEM"));
        }
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn is_aes_128(suite: CipherSuite) -> bool {
    matches!(
        suite,
        CipherSuite::TLS13_AES_128_GCM_SHA256
            | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
            | CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
    )
}

/// Takes any certificate, but still asks for the key to it.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
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
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheaper_key_is_asked_for_first_and_no_suite_is_lost() {
        let config = config(&TlsOptions { insecure: true, ..TlsOptions::default() }).unwrap();
        let suites: Vec<_> =
            config.crypto_provider().cipher_suites.iter().map(|suite| suite.suite()).collect();
        assert_eq!(suites.len(), ring::default_provider().cipher_suites.len());
        let first = suites.iter().take_while(|suite| is_aes_128(**suite)).count();
        assert_eq!((first, suites[0]), (3, CipherSuite::TLS13_AES_128_GCM_SHA256));
    }
}
