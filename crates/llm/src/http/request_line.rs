//! The method and address of a call for errors, without the values of its query, which may hold keys.

use std::fmt;

use ::http::{Method, Uri};
use url::Url;

/// The longest address that is shown.
const MOST_CHARS: usize = 200;

#[derive(Debug, Clone)]
pub struct RequestLine {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
}

impl RequestLine {
    pub(crate) fn host(&self) -> &str {
        self.uri.host().unwrap_or_default()
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.uri.scheme_str() == Some("https")
    }

    /// The host with its port, as a server would be listed.
    pub(crate) fn server(&self) -> String {
        let usual = if self.is_tls() { 443 } else { 80 };
        format!("{}:{}", self.host(), self.uri.port_u16().unwrap_or(usual))
    }

    /// The address that a `Location` leads to from here.
    pub(crate) fn leads_to(&self, location: &str) -> String {
        let target = Url::parse(&self.uri.to_string()).and_then(|base| base.join(location));
        target.map_or_else(|_| location.chars().take(MOST_CHARS).collect(), |url| address(&url))
    }
}

impl fmt::Display for RequestLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uri = self.uri.to_string();
        let address = Url::parse(&uri).map_or(uri, |url| address(&url));
        write!(f, "{} {address}", self.method)
    }
}

/// An address as errors show it.
#[must_use]
pub fn address(url: &Url) -> String {
    let mut shown = format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default());
    if let Some(port) = url.port() {
        shown.push_str(&format!(":{port}"));
    }
    shown.push_str(url.path());
    for (place, (name, _)) in url.query_pairs().enumerate() {
        shown.push(if place == 0 { '?' } else { '&' });
        shown.push_str(&name);
        shown.push_str("=…");
    }
    if shown.chars().count() > MOST_CHARS {
        shown = shown.chars().take(MOST_CHARS).collect();
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_of_a_query_is_shown() {
        let rows = [
            ("http://h:8080/a/b?code=sk-1&v=2", "http://h:8080/a/b?code=…&v=…"),
            ("https://h", "https://h/"),
            ("https://me:sk-1@h/x", "https://h/x"),
        ];
        for (url, expected) in rows {
            assert_eq!(address(&Url::parse(url).expect("a url")), expected);
        }
        let place = RequestLine { method: Method::POST, uri: Uri::from_static("https://h/chat?key=sk-1") };
        assert_eq!(place.to_string(), "POST https://h/chat?key=…");
        assert_eq!(
            (place.server(), place.leads_to("/login?token=sk-1")),
            ("h:443".into(), "https://h/login?token=…".into())
        );
        let long = Url::parse(&format!("http://h/{}", "x".repeat(999))).expect("a url");
        assert_eq!(address(&long).chars().count(), 201);
    }
}
