//! Where an endpoint is connected to.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use super::error::LoadError;
use super::spec::{Endpoint, Family};

/// An address that a socket connects to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Inet(SocketAddr),
    Unix(PathBuf),
}

impl Address {
    /// The address of an endpoint: looked up once for a rung, so that no request
    /// waits for a resolver and every request goes to the same host.
    ///
    /// # Errors
    /// If the host has no address of the family.
    pub fn resolve(endpoint: &Endpoint) -> Result<Self, LoadError> {
        if let Some(path) = &endpoint.unix {
            return Ok(Self::Unix(path.clone()));
        }
        let none = |reason: String| LoadError::Resolve { host: endpoint.host.clone(), reason };
        let wanted = |address: &SocketAddr| match endpoint.family {
            Family::Any => true,
            Family::V4 => address.is_ipv4(),
            Family::V6 => address.is_ipv6(),
        };
        (endpoint.host.as_str(), endpoint.port)
            .to_socket_addrs()
            .map_err(|error| none(error.to_string()))?
            .find(wanted)
            .map(Self::Inet)
            .ok_or_else(|| none("none of the family that was asked for".to_owned()))
    }

    /// The same host, at another port.
    pub fn with_port(&self, port: u16) -> Self {
        match self {
            Self::Inet(address) => Self::Inet(SocketAddr::new(address.ip(), port)),
            Self::Unix(path) => Self::Unix(path.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_each_family() {
        let mut endpoint = Endpoint::parse("http://[::1]:81/x/").unwrap();
        assert_eq!(
            (endpoint.base_path.as_str(), endpoint.authority().as_str()),
            ("/x", "[::1]:81")
        );
        let address = Address::resolve(&endpoint).unwrap();
        assert_eq!(address, Address::Inet("[::1]:81".parse().unwrap()));
        assert_eq!(address.with_port(9), Address::Inet("[::1]:9".parse().unwrap()));
        endpoint.family = Family::V4;
        assert!(Address::resolve(&endpoint).is_err());
        let unix = Endpoint::parse("unix:/run/x.sock:/tap").unwrap();
        assert_eq!(unix.base_path, "/tap");
        assert_eq!(Address::resolve(&unix).unwrap(), Address::Unix("/run/x.sock".into()));
    }

    #[test]
    fn urls_that_are_none() {
        for url in ["ftp://x", "http://", "http://u@h/", "http://h:0", "http://h:x", "http://[::1"]
        {
            assert!(Endpoint::parse(url).is_err(), "{url}");
        }
        let endpoint = Endpoint::parse("https://example.org/tap/").unwrap();
        assert_eq!((endpoint.port, endpoint.base_path.as_str()), (443, "/tap"));
        assert_eq!(endpoint.authority(), "example.org");
    }
}
