//! The card of an A2A agent: where it listens over JSON-RPC, in which version, and whether it streams.

use llm::{hint, http::Url};
use serde_json::Value;

use super::wire::Version;

/// Below the address of an agent (RFC 8615).
const WELL_KNOWN: [&str; 2] = [".well-known", "agent-card.json"];
const JSON_RPC: &str = "JSONRPC";

/// How the agent is reached.
#[derive(Debug, Clone)]
pub(super) struct Interface {
    pub(super) url: Url,
    pub(super) version: Version,
    pub(super) stream: bool,
}

/// The address of the card.
pub(super) fn address(mut url: Url) -> Url {
    if !url.path().ends_with(".json")
        && let Ok(mut segments) = url.path_segments_mut()
    {
        segments.pop_if_empty().extend(WELL_KNOWN);
    }
    url
}

/// Reads a card that came from `address`; `rpc` replaces the address in it. Version 1.0 is preferred to 0.3.
pub(super) fn read(card: &Value, address: &Url, rpc: Option<&Url>) -> Result<Interface, String> {
    let (version, url) =
        interfaces(card).into_iter().min_by_key(|(version, _)| *version == Version::V03).ok_or_else(|| {
            let mend = "gabfest speaks A2A 0.3 and 1.0 over JSON-RPC";
            hint::with("the card names no interface over JSON-RPC", Some(mend))
        })?;
    let url = match rpc {
        Some(rpc) => rpc.clone(),
        None => {
            let read = address.join(url);
            let url = read.map_err(|error| format!("the address {url:?} in the card cannot be read: {error}"))?;
            if matches!(url.scheme(), "http" | "https") {
                not_ours(&url, address)?;
            }
            url
        }
    };
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("the address {url} in the card is neither http:// nor https://"));
    }
    let stream = card["capabilities"]["streaming"].as_bool().unwrap_or(false);
    Ok(Interface { url, version, stream })
}

/// The card comes from the agent. It may name another server, which gets no key (see the connection), and not what only this
/// machine reaches: itself, or the service with its credentials.
fn not_ours(url: &Url, address: &Url) -> Result<(), String> {
    if url.host() == address.host() || !llm::http::leads_astray(url, address) {
        return Ok(());
    }
    let hint = "if it is right, write it as `rpc` of this agent";
    let what = format!("the card leads to {}, which only this machine can reach", llm::http::shown_address(url));
    Err(hint::with(&what, Some(hint)))
}

/// The JSON-RPC interfaces with a supported version, in the order of the card.
fn interfaces(card: &Value) -> Vec<(Version, &str)> {
    let listed = card["supportedInterfaces"].as_array().into_iter().flatten();
    let listed = listed.filter(|interface| interface["protocolBinding"].as_str() == Some(JSON_RPC));
    let listed = listed.filter_map(|interface| {
        Some((Version::of(interface["protocolVersion"].as_str().unwrap_or_default())?, interface["url"].as_str()?))
    });
    let listed: Vec<_> = listed.collect();
    if !listed.is_empty() {
        return listed;
    }
    // The form of version 0.3: one preferred interface, and others.
    let version = Version::of(card["protocolVersion"].as_str().unwrap_or_default());
    let preferred = card["preferredTransport"].as_str().is_none_or(|transport| transport == JSON_RPC);
    let others = card["additionalInterfaces"].as_array().into_iter().flatten();
    let others = others.filter(|interface| interface["transport"].as_str() == Some(JSON_RPC)).map(|one| &one["url"]);
    let urls = preferred.then_some(&card["url"]).into_iter().chain(others).filter_map(Value::as_str);
    urls.filter_map(|url| Some((version?, url))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_card_is_below_the_address() {
        for (url, card) in [
            ("http://h", "http://h/.well-known/agent-card.json"),
            ("http://h/agents/shop/", "http://h/agents/shop/.well-known/agent-card.json"),
            ("http://h/agent.json", "http://h/agent.json"),
        ] {
            assert_eq!(address(Url::parse(url).unwrap()).as_str(), card);
        }
    }

    #[test]
    fn cards_of_both_versions() {
        let listed =
            |interfaces: Value| json!({ "supportedInterfaces": interfaces, "capabilities": { "streaming": true } });
        let one = |binding: &str, version: &str, url: &str| json!({ "protocolBinding": binding, "protocolVersion": version, "url": url });
        let rows = [
            (listed(json!([one("JSONRPC", "1.0", "http://h/rpc")])), Ok("http://h/rpc 1.0 true")),
            (listed(json!([one("JSONRPC", "1.0", "http://c:81/rpc")])), Ok("http://c:81/rpc 1.0 true")),
            (listed(json!([one("JSONRPC", "1.0", "//169.254.169.254/x")])), Err("leads to http://169.254.169.254/x")),
            (listed(json!([one("JSONRPC", "1.0", "http://2852039166/x")])), Err("leads to http://169.254.169.254/x")),
            (listed(json!([one("JSONRPC", "1.0", "http://[::ffff:127.0.0.1]:6379/")])), Err("write it as `rpc`")),
            (listed(json!([one("JSONRPC", "1.0", "http://localhost.:9000/")])), Err("only this machine can reach")),
            (
                listed(json!([one("JSONRPC", "0.3", "/old"), one("JSONRPC", "1.0", "/new")])),
                Ok("http://c/new 1.0 true"),
            ),
            (listed(json!([one("GRPC", "1.0", "/g"), one("JSONRPC", "0.3.0", "/old")])), Ok("http://c/old 0.3 true")),
            (
                listed(json!([one("GRPC", "1.0", "/g"), one("HTTP+JSON", "1.0", "/r")])),
                Err("no interface over JSON-RPC"),
            ),
            (listed(json!([one("JSONRPC", "2.0", "/new")])), Err("speaks A2A 0.3 and 1.0")),
            (json!({ "url": "http://h/a2a", "protocolVersion": "0.3.0" }), Ok("http://h/a2a 0.3 false")),
            (json!({ "url": "http://h/a2a", "protocolVersion": "0.2.6" }), Ok("http://h/a2a 0.3 false")),
            (
                json!({
                    "url": "http://h/grpc", "preferredTransport": "GRPC", "protocolVersion": "0.3.0",
                    "additionalInterfaces": [{ "transport": "JSONRPC", "url": "http://h/a2a" }],
                }),
                Ok("http://h/a2a 0.3 false"),
            ),
            (json!({ "url": "ftp://h/a2a", "protocolVersion": "0.3.0" }), Err("neither http")),
            (json!({}), Err("no interface")),
        ];
        let address = Url::parse("http://c/.well-known/agent-card.json").unwrap();
        for (card, expected) in rows {
            let found = read(&card, &address, None);
            match (found, expected) {
                (Ok(Interface { url, version, stream }), Ok(shown)) => {
                    assert_eq!(format!("{url} {} {stream}", version.name()), shown, "{card}");
                }
                (Err(message), Err(says)) => assert!(message.contains(says), "{card}: {message}"),
                (found, _) => panic!("{card}: {found:?}"),
            }
        }
        let rpc = Url::parse("http://proxy/x").unwrap();
        let card = listed(json!([one("JSONRPC", "1.0", "http://unreachable/rpc")]));
        assert_eq!(read(&card, &address, Some(&rpc)).unwrap().url, rpc);
    }
}
