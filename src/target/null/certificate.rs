//! A certificate for the loopback, made anew at each start.

use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// The names that it stands for.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// TLS for a server, and the certificate in PEM that a client has to trust.
///
/// # Errors
/// If no key can be made.
pub fn server(protocol: &[u8]) -> io::Result<(Arc<ServerConfig>, String)> {
    let made =
        rcgen::generate_simple_self_signed(NAMES.map(String::from)).map_err(io::Error::other)?;
    let pem = made.cert.pem();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.into()], key)
        .map_err(io::Error::other)?;
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok((Arc::new(config), pem))
}
