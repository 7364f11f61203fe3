//! Where other coordinators reach this one.

use std::net::SocketAddr;

use anyhow::anyhow;

use crate::exit::usage;

/// `named`: host and port of `--advertise`. Without it the address that is listened on, or, if that is every address of the
/// machine, the machine's name.
pub(super) fn url(named: Option<&str>, listening: SocketAddr, scheme: &str) -> anyhow::Result<String> {
    let place = match named {
        Some(named) => {
            let authority: Option<http::uri::Authority> = named.parse().ok();
            let is_whole = |authority: &http::uri::Authority| authority.port().is_some() && !named.contains('@');
            if !authority.as_ref().is_some_and(is_whole) {
                return Err(usage(anyhow!(
                    "--advertise {named:?} is not HOST:PORT\nhint: it is the address at which the other coordinators reach this one, such as 10.0.0.7:7400"
                )));
            }
            named.to_owned()
        }
        None if listening.ip().is_unspecified() => format!("{}:{}", host(), listening.port()),
        None => listening.to_string(),
    };
    Ok(format!("{scheme}://{place}"))
}

fn host() -> String {
    let names =
        ["/proc/sys/kernel/hostname", "/etc/hostname"].map(|path| std::fs::read_to_string(path).unwrap_or_default());
    let name = names.iter().map(|name| name.trim()).find(|name| !name.is_empty());
    name.unwrap_or("localhost").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_is_named_or_listened_on() {
        let any: SocketAddr = "0.0.0.0:7400".parse().unwrap();
        let one: SocketAddr = "127.0.0.1:7401".parse().unwrap();
        assert_eq!(url(Some("pod-1.fleet:80"), any, "https").unwrap(), "https://pod-1.fleet:80");
        assert_eq!(url(Some("[::1]:80"), any, "http").unwrap(), "http://[::1]:80");
        assert_eq!(url(None, one, "http").unwrap(), "http://127.0.0.1:7401");
        assert_eq!(url(None, any, "http").unwrap(), format!("http://{}:7400", host()));
        for wrong in ["pod-1", "http://pod-1:80", "pod-1:x", "", "a@b:1"] {
            let refused = url(Some(wrong), any, "http").unwrap_err().to_string();
            assert!(refused.contains("is not HOST:PORT"), "{wrong}: {refused}");
        }
    }
}
