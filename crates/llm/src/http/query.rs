//! Keys in the query of an address: `?api_key=env:NAME`, never the key itself, since plans and logs hold the address.

use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::written::KEYS;
use crate::key::{self, KeyRef};

/// Parameter names that carry keys, in addition to the name parts that mark headers with keys.
const MORE_KEYS: [&str; 8] = ["code", "jwt", "passwd", "pwd", "sas", "session", "sig", "signature"];

/// A longer run of letters and digits is a key, whatever its name.
const LONGEST_WORD: usize = 20;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Does not show the value.
    #[error("it has a key in its query: name the place where it is kept, {0}=env:NAME or {0}=file:PATH")]
    Written(String),
    #[error("it has no value for {name} in its query: {why}")]
    Key { name: String, why: key::Error },
}

/// Replaces the places of keys in the query with the keys.
///
/// # Errors
/// When the query holds a key itself, or when a key cannot be read.
pub fn resolve(url: &mut Url) -> Result<Vec<SecretString>, Error> {
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    if let Some((name, _)) = pairs.iter().find(|(name, value)| is_key(name, value)) {
        return Err(Error::Written(name.clone()));
    }
    if !pairs.iter().any(|(_, value)| KeyRef::parse(value).is_ok()) {
        // As it was written, without normalising it.
        return Ok(Vec::new());
    }
    let mut keys = Vec::new();
    let mut query = url.query_pairs_mut();
    query.clear();
    for (name, value) in pairs {
        match KeyRef::parse(&value) {
            Ok(place) => {
                let key = place.resolve().map_err(|why| Error::Key { name: name.clone(), why })?;
                query.append_pair(&name, key.expose_secret());
                keys.push(key);
            }
            Err(_) => drop(query.append_pair(&name, &value)),
        }
    }
    drop(query);
    Ok(keys)
}

/// The places of keys in the query of an address.
#[must_use]
pub fn places(address: &str) -> Vec<KeyRef> {
    pairs(address).into_iter().filter_map(|(_, value)| KeyRef::parse(&value).ok()).collect()
}

/// The keys in the query of an address, with the names of their parameters.
#[must_use]
pub fn keys(address: &str) -> Vec<(String, String)> {
    pairs(address).into_iter().filter(|(name, value)| is_key(name, value)).collect()
}

fn pairs(address: &str) -> Vec<(String, String)> {
    let Some((_, query)) = address.split_once('?') else { return Vec::new() };
    let query = query.split('#').next().unwrap_or_default();
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

fn is_key(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let by_name = KEYS.iter().any(|part| name.contains(part)) || MORE_KEYS.contains(&name.as_str());
    let has = |kind: fn(&char) -> bool| value.chars().any(|character| kind(&character));
    let by_value = value.starts_with("sk-")
        || (value.len() > LONGEST_WORD
            && value.chars().all(|character| character.is_ascii_alphanumeric() || "+/=_".contains(character))
            && has(char::is_ascii_digit)
            && has(char::is_ascii_alphabetic));
    !value.is_empty() && KeyRef::parse(value).is_err() && (by_name || by_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_refused_and_never_shown() {
        for address in [
            "http://h/v1?api_key=hunter2",
            "http://h/v1?v=1&API-KEY=hunter2",
            "http://h/v1?code=hunter2&x",
            "http://h/v1?%6Bey=hunter2",
            "http://h/v1?k=hunter2hunter2hunter2",
            "http://h/v1?k=sk-hunter2",
        ] {
            let error = resolve(&mut Url::parse(address).unwrap()).unwrap_err().to_string();
            assert!(error.contains("=env:NAME") && !error.contains("hunter2"), "{error}");
            assert!(keys(address).iter().all(|(_, value)| value.contains("hunter2")), "{address}");
            assert_eq!(keys(address).len(), 1, "{address}");
        }
    }

    #[test]
    fn other_parameters_stay_as_written() {
        for address in [
            "http://h/v1",
            "http://h/v1?api-version=2024-02-01&deployment=gpt-4o-2024-08-06-preview",
            "http://h/v1?a=b%20c+d&key=&country_code=de",
        ] {
            let mut url = Url::parse(address).unwrap();
            assert!(resolve(&mut url).unwrap().is_empty());
            assert_eq!(url.as_str(), address);
            assert!(keys(address).is_empty() && places(address).is_empty());
        }
    }

    #[test]
    fn a_key_is_read_from_its_place() {
        // Cargo sets this for every test that it runs.
        let address = "http://h/v1?v=a%20b&api_key=env:CARGO_PKG_NAME";
        let mut url = Url::parse(address).unwrap();
        let keys = resolve(&mut url).unwrap();
        assert_eq!(url.as_str(), "http://h/v1?v=a+b&api_key=gabfest-llm");
        assert_eq!(keys.iter().map(|key| key.expose_secret()).collect::<Vec<_>>(), ["gabfest-llm"]);
        assert_eq!(places(address), [KeyRef::Env("CARGO_PKG_NAME".to_owned())]);
        let absent = resolve(&mut Url::parse("http://h?key=env:GABFEST_NO_SUCH_KEY").unwrap()).unwrap_err();
        assert_eq!(
            absent.to_string(),
            "it has no value for key in its query: the variable GABFEST_NO_SUCH_KEY is not set"
        );
    }
}
