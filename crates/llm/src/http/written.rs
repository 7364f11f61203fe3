//! The headers that settings may add to a call: none that the protocol or gabfest writes, and no key in plain text.

use std::collections::BTreeMap;

use ::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use crate::key::{self, KeyRef};

use super::headers;

/// They frame the message; another value would send something else than was meant.
const FRAMING: [HeaderName; 7] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::HOST,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Parts of the names of headers that carry keys.
pub(super) const KEYS: [&str; 7] = ["auth", "cookie", "credential", "key", "password", "secret", "token"];

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the header {name} has no value")]
    Key { name: String, source: key::Error },
    #[error("there may be no header {name}: {reason}")]
    Header { name: String, reason: &'static str },
}

/// The headers with their values, and the keys among these.
pub fn resolve(written: &BTreeMap<String, String>) -> Result<(HeaderMap, Vec<SecretString>), Error> {
    let mut headers = HeaderMap::with_capacity(written.len() + 16);
    let mut keys = Vec::new();
    for (name, value) in written {
        let known = self::name(name)?;
        let fault = |reason: &'static str| Error::Header { name: name.clone(), reason };
        let value = match KeyRef::parse(value) {
            Ok(reference) => {
                let key = reference.resolve().map_err(|source| Error::Key { name: name.clone(), source })?;
                let value = secret(key.expose_secret());
                keys.push(key);
                value
            }
            Err(_) if KEYS.iter().any(|part| known.as_str().contains(part)) => {
                return Err(fault("it carries a key, which is never written in the file: use env:NAME or file:PATH"));
            }
            Err(_) => HeaderValue::from_str(value).ok(),
        };
        headers.insert(known, value.ok_or_else(|| fault("its value is not printable ASCII"))?);
    }
    Ok((headers, keys))
}

/// The name of a header that settings may set.
pub fn name(written: &str) -> Result<HeaderName, Error> {
    let fault = |reason: &'static str| Error::Header { name: written.to_owned(), reason };
    let known = HeaderName::from_bytes(written.as_bytes()).map_err(|_| fault("that is no name of a header"))?;
    if FRAMING.contains(&known) || headers::is_ours(&known) {
        return Err(fault("gabfest writes it itself"));
    }
    Ok(known)
}

/// A value that is not shown, not even to debuggers of headers.
#[must_use]
pub fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
