//! The address of a coordinator.

use std::time::Duration;

use anyhow::anyhow;
use tokio_rustls::rustls::pki_types::ServerName;
use tonic::transport::Endpoint;

use crate::exit::usage;

/// The port that a coordinator listens on if no other is named.
const USUAL_PORT: u16 = 7400;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) is_tls: bool,
    pub(super) host: String,
    pub(super) port: u16,
    text: String,
}

impl Address {
    /// One or more, with commas between them. Either all are encrypted, or none is.
    pub(super) fn read_all(text: &str) -> anyhow::Result<Vec<Self>> {
        let all: Vec<Self> = text.split(',').map(|one| Self::read(one.trim())).collect::<Result<_, _>>()?;
        match all.iter().find(|one| one.is_tls != all[0].is_tls) {
            Some(other) => Err(usage(anyhow!(
                "one of {} and {} is encrypted and the other is not\nhint: all coordinators of a fleet have certificates, or none has",
                all[0].text,
                other.text
            ))),
            None => Ok(all),
        }
    }

    pub(super) fn read(text: &str) -> anyhow::Result<Self> {
        let wrong = || {
            usage(anyhow!(
                "{text:?} is not a coordinator's address\nhint: it looks like http://127.0.0.1:7400, or https://HOST:7400 with TLS"
            ))
        };
        let uri: http::Uri = text.parse().map_err(|_| wrong())?;
        let is_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong()),
        };
        let host = uri.host().ok_or_else(wrong)?;
        // An address of IPv6 has brackets.
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let usual = if is_tls { USUAL_PORT } else { 80 };
        Ok(Self { is_tls, host, port: uri.port_u16().unwrap_or(usual), text: text.to_owned() })
    }

    /// The name that the coordinator's certificate must have.
    pub(super) fn server_name(&self) -> Result<ServerName<'static>, String> {
        ServerName::try_from(self.host.clone()).map_err(|_| format!("{:?} cannot be in a certificate", self.host))
    }

    /// The encryption is below it, in the connector, so tonic gets an address without.
    /// `others`: whether there are other coordinators to go to.
    pub(super) fn endpoint(&self, others: bool) -> anyhow::Result<Endpoint> {
        let text = match self.text.strip_prefix("https://") {
            Some(rest) => format!("http://{rest}"),
            None => self.text.clone(),
        };
        let endpoint = Endpoint::from_shared(text);
        let endpoint = endpoint.map_err(|_| usage(anyhow!("{:?} is not a coordinator's address", self.text)))?;
        Ok(tuned(endpoint, others))
    }
}

/// Of every channel to a coordinator.
fn tuned(endpoint: Endpoint, others: bool) -> Endpoint {
    // With others a coordinator that hangs is left before a worker has to abandon its conversations.
    let (interval, patience) = if others { (3, 6) } else { (10, 20) };
    endpoint
        .http2_keep_alive_interval(Duration::from_secs(interval))
        .keep_alive_timeout(Duration::from_secs(patience))
        .keep_alive_while_idle(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_says_whether_it_is_encrypted() {
        let read = |text| {
            let address = Address::read(text).unwrap();
            (address.is_tls, address.host, address.port)
        };
        assert_eq!(read("http://127.0.0.1:7400"), (false, "127.0.0.1".to_owned(), 7400));
        assert_eq!(read("https://fleet.example:8000"), (true, "fleet.example".to_owned(), 8000));
        assert_eq!(read("https://[::1]:8000"), (true, "::1".to_owned(), 8000));
        assert_eq!(read("https://fleet.example"), (true, "fleet.example".to_owned(), 7400));
        let all = Address::read_all("http://a:1, http://b:2,http://c:3").unwrap();
        assert_eq!(all.iter().map(|one| one.host.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
        let mixed = Address::read_all("http://a:1,https://b:2").unwrap_err().to_string();
        assert!(mixed.starts_with("one of http://a:1 and https://b:2 is encrypted"), "{mixed}");
        assert!(Address::read_all("http://a:1,").is_err());
        for wrong in ["fleet:7400", "ftp://fleet", "/path", ""] {
            let said = Address::read(wrong).unwrap_err().to_string();
            assert!(said.contains("is not a coordinator's address"), "{wrong}: {said}");
        }
    }
}
