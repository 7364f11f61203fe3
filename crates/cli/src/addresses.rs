//! Keys in addresses: the redactor hides them, and an address with a key in it is refused as the name of an agent.

use anyhow::anyhow;
use llm::http::query;
use secrecy::ExposeSecret as _;

use crate::exit::usage;

/// An address on the command line becomes the agent's name in plans and reports, so it may name the place of a key but
/// not hold the key.
pub(crate) fn check(address: &str) -> anyhow::Result<()> {
    hide(address);
    match query::keys(address).first() {
        None => Ok(()),
        Some((name, _)) => Err(usage(anyhow!(
            "the address of an agent has a key in its query, and plans and reports show addresses\nhint: name the place of the key instead: {name}=env:NAME or {name}=file:PATH"
        ))),
    }
}

/// Of every address among the texts.
pub(crate) fn hide_all(value: &serde_json::Value) {
    match value {
        serde_json::Value::String(text) if text.contains("://") => hide(text),
        serde_json::Value::Array(values) => values.iter().for_each(hide_all),
        serde_json::Value::Object(values) => values.values().for_each(hide_all),
        _ => {}
    }
}

/// Hides a name and a password, and keys of the query, both encoded and decoded.
fn hide(address: &str) {
    let behind_scheme = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = behind_scheme.split(['/', '?', '#']).next().unwrap_or_default();
    if let Some((credentials, _)) = authority.rsplit_once('@') {
        redact::register(credentials);
        for part in credentials.split(':') {
            redact::register(part);
        }
    }
    for (_, key) in query::keys(address) {
        redact::register(&key);
    }
    for place in query::places(address) {
        if let Ok(key) = place.resolve() {
            redact::register(key.expose_secret());
        }
    }
}
