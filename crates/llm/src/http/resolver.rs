//! Names of servers become addresses, without those that no service has.
//!
//! A name in the settings is as far as its DNS says: it may lead to the service that hands out credentials of the machine
//! (169.254.169.254), today or by the next answer. So each connection asks once, the answer is checked, and the connection
//! goes to what was checked. An operator who means such an address writes the address.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    task::{Context, Poll},
    vec,
};

use futures_util::future::BoxFuture;
use hyper_util::client::legacy::connect::dns::Name;
use tower::Service;
use url::{Host, Url};

/// Metadata services of clouds that are not link-local: AWS over IPv6, Alibaba, Oracle.
const METADATA: [IpAddr; 3] = [
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
];

/// The addresses of a host, with port 0. An address that is written as such is not checked.
///
/// # Errors
/// The name has none, or only some that a name must not lead to.
pub async fn resolve(host: &str) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, 0)]);
    }
    let found: Vec<SocketAddr> = tokio::net::lookup_host((host, 0)).await?.collect();
    checked(host, found)
}

fn checked(host: &str, found: Vec<SocketAddr>) -> io::Result<Vec<SocketAddr>> {
    let refused = found.iter().map(SocketAddr::ip).find(|address| is_refused(*address));
    let kept: Vec<SocketAddr> = found.into_iter().filter(|address| !is_refused(address.ip())).collect();
    match (kept.is_empty(), refused) {
        (true, Some(address)) => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!(
                "{host} leads to {address}, where machines keep their credentials; write the address itself if you mean it"
            ),
        )),
        _ => Ok(kept),
    }
}

/// Whether an address that the program at `from` named leads where it has no business: to a service with the credentials of
/// this machine or, from another machine, to this machine itself. Names are looked up when they are connected to.
#[must_use]
pub fn leads_astray(url: &Url, from: &Url) -> bool {
    let written = match url.host() {
        Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
        _ => None,
    };
    written.is_some_and(is_refused) || (is_this_machine(url) && !is_this_machine(from))
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => plain(address.into()).is_loopback(),
        None => false,
    }
}

/// Link-local addresses, where clouds serve credentials, and those of no machine.
fn is_refused(address: IpAddr) -> bool {
    match plain(address) {
        address if METADATA.contains(&address) => true,
        IpAddr::V4(v4) => v4.is_link_local() || v4.octets()[0] == 0 || v4.is_multicast() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6.is_unicast_link_local() || v6.is_unspecified() || v6.is_multicast(),
    }
}

/// Without the wrappings that IPv6 has for addresses of IPv4: mapped, compatible, and NAT64.
fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address.to_canonical() else { return address.to_canonical() };
    match v6.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0, 0, 1..=u16::MAX, _] => {
            let [.., a, b, c, d] = v6.octets();
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        _ => IpAddr::V6(v6),
    }
}

/// [`resolve`] for the connections of hyper.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resolver;

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(async move { resolve(name.as_str()).await.map(Vec::into_iter) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 0)).collect()
    }

    #[test]
    fn a_name_does_not_lead_to_where_machines_keep_their_credentials() {
        for address in [
            "169.254.169.254",
            "169.254.0.1",
            "0.0.0.0",
            "0.1.2.3",
            "224.0.0.1",
            "255.255.255.255",
            "100.100.100.200",
            "192.0.0.192",
            "::",
            "fe80::1",
            "ff02::1",
            "fd00:ec2::254",
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "64:ff9b::169.254.169.254",
        ] {
            let refused = checked("rebound.example", addresses(&[address])).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "{address}");
            assert!(refused.to_string().starts_with("rebound.example leads to "), "{refused}");
        }
    }

    #[test]
    fn services_are_reached_in_a_cluster_and_on_the_machine() {
        for address in
            ["127.0.0.1", "::1", "10.1.2.3", "192.168.7.7", "100.64.0.1", "203.0.113.9", "fd00::7", "2001:db8::1"]
        {
            assert_eq!(checked("shop", addresses(&[address])).unwrap(), addresses(&[address]), "{address}");
        }
        // Of several, those that may be used.
        let kept = checked("shop", addresses(&["169.254.169.254", "10.0.0.1"])).unwrap();
        assert_eq!(kept, addresses(&["10.0.0.1"]));
    }

    #[test]
    fn another_machine_does_not_lead_to_this_one() {
        let url = |text: &str| Url::parse(text).unwrap();
        let (elsewhere, here) = (url("http://agent.example/"), url("http://127.0.0.1:8000/"));
        for ours in [
            "http://localhost:1/",
            "http://LOCALHOST./",
            "http://a.localhost/",
            "http://127.1/",
            "http://0x7f000001/",
            "http://[::1]/",
            "http://[::ffff:7f00:1]/",
        ] {
            assert!(leads_astray(&url(ours), &elsewhere), "{ours}");
            assert!(!leads_astray(&url(ours), &here), "{ours}");
        }
        for credentials in ["http://169.254.169.254/", "http://2852039166/", "http://[::ffff:a9fe:a9fe]/", "http://0/"]
        {
            assert!(leads_astray(&url(credentials), &elsewhere), "{credentials}");
            assert!(leads_astray(&url(credentials), &here), "{credentials}");
        }
        for others in ["http://h/", "http://10.0.0.1/", "http://localhost.example/", "http://[2001:db8::1]/"] {
            assert!(!leads_astray(&url(others), &elsewhere), "{others}");
        }
    }

    #[tokio::test]
    async fn localhost_is_found_and_a_written_address_is_meant() {
        assert_eq!(resolve("169.254.169.254").await.unwrap(), addresses(&["169.254.169.254"]));
        assert!(resolve("localhost").await.unwrap().iter().all(|address| address.ip().is_loopback()));
    }
}
