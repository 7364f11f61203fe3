//! Where tools are served, and the address at which agents reach them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The longest address that agents get: it travels in headers, with a path after it.
const LONGEST_URL: usize = 256;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolAddress {
    /// `None`: a free port, reachable only from this machine.
    listen: Option<SocketAddr>,
    /// Without a trailing slash.
    url: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the url {0}")]
    Url(&'static str),
    #[error("the url has a query, and paths are put after it")]
    Query,
    #[error("the url has more than {LONGEST_URL} bytes")]
    Long,
    #[error("agents cannot connect to {0}: set the url that they reach")]
    Anywhere(SocketAddr),
}

impl ToolAddress {
    /// `listen`: by default a free port, reachable from this machine only; port 0 is a free port too. `url`: how agents
    /// reach it, by default `http://` and the address.
    ///
    /// # Errors
    /// The URL is malformed, or there is none and `listen` is an unspecified address.
    pub fn new(listen: Option<SocketAddr>, url: Option<&str>) -> Result<Self, Error> {
        let url = url.map(readable).transpose()?;
        match listen {
            Some(listen) if url.is_none() && listen.ip().is_unspecified() => Err(Error::Anywhere(listen)),
            _ => Ok(Self { listen, url }),
        }
    }

    /// The configured address, if there is one.
    pub(super) fn named(&self) -> Option<SocketAddr> {
        self.listen
    }

    pub(super) fn listen(&self) -> SocketAddr {
        self.listen.unwrap_or(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0))
    }

    /// The address that agents put before a path.
    pub(super) fn base(&self, bound: SocketAddr) -> String {
        self.url.clone().unwrap_or_else(|| format!("http://{bound}"))
    }

    /// The hosts that requests may name. This refuses a web page whose own name resolves to this machine.
    pub(super) fn hosts(&self, bound: SocketAddr) -> Vec<String> {
        let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
        if !bound.ip().is_unspecified() {
            hosts.push(bound.ip().to_string());
        }
        let told = self.url.as_deref().and_then(|url| llm::http::address(url).ok());
        hosts.extend(told.and_then(|url| url.host_str().map(|host| host.trim_matches(['[', ']']).to_owned())));
        hosts
    }
}

fn readable(written: &str) -> Result<String, Error> {
    let url = llm::http::address(written).map_err(Error::Url)?;
    if url.query().is_some() {
        return Err(Error::Query);
    }
    let url = url.as_str().trim_end_matches('/').to_owned();
    if url.len() > LONGEST_URL { Err(Error::Long) } else { Ok(url) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_get_a_reachable_address() {
        let bound: SocketAddr = "127.0.0.1:4711".parse().unwrap();
        let rows = [
            (None, None, "http://127.0.0.1:4711", None),
            (
                Some("0.0.0.0:80"),
                Some("https://tools.example/here/"),
                "https://tools.example/here",
                Some("tools.example"),
            ),
            (Some("[::1]:0"), Some("http://[fd00::1]:90"), "http://[fd00::1]:90", Some("fd00::1")),
        ];
        for (listen, url, base, host) in rows {
            let place = ToolAddress::new(listen.map(|listen| listen.parse().unwrap()), url).unwrap();
            assert_eq!(place.base(bound), base);
            let hosts = place.hosts(bound);
            assert!(hosts.contains(&"127.0.0.1".to_owned()), "{hosts:?}");
            assert!(host.is_none_or(|host| hosts.contains(&host.to_owned())), "{hosts:?}");
        }
        let long = format!("http://{}", "h".repeat(300));
        for (listen, url) in [
            ("0.0.0.0:0", None),
            ("[::]:0", None),
            ("127.0.0.1:0", Some("ftp://h")),
            ("127.0.0.1:0", Some("http://u:p@h")),
            ("127.0.0.1:0", Some("http://h/?a=b")),
            ("127.0.0.1:0", Some(long.as_str())),
        ] {
            assert!(ToolAddress::new(Some(listen.parse().unwrap()), url).is_err(), "{listen} {url:?}");
        }
    }
}
