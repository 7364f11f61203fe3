//! AWS Signature Version 4: the headers that authenticate a call to AWS.

use std::{fmt::Write as _, time::SystemTime};

use ::http::{
    Uri,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use hmac::{Hmac, KeyInit as _, Mac as _};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use schemars::JsonSchema;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    http::written,
    key::{self, KeyRef},
};

const SCHEME: &str = "AWS4-HMAC-SHA256";
const SERVICE: &str = "bedrock";
const DATE: HeaderName = HeaderName::from_static("x-amz-date");
const TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");
/// All but these is encoded (RFC 3986, 2.3).
pub(super) const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// An AWS access key. Each part is the place where it is kept, `env:NAME` or `file:PATH`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    pub access_key_id: KeyRef,
    pub secret_access_key: KeyRef,
    /// Of temporary credentials.
    #[serde(default)]
    pub session_token: Option<KeyRef>,
    /// The region; by default that of the url: `bedrock-runtime.REGION.amazonaws.com`.
    #[serde(default)]
    pub region: Option<String>,
}

/// Signs calls with one access key.
#[derive(Debug)]
pub(crate) struct Signer {
    id: SecretString,
    secret: SecretString,
    token: Option<HeaderValue>,
    region: String,
    service: &'static str,
    /// AWS refuses a signature that is more than five minutes off.
    clock: fn() -> SystemTime,
}

impl Settings {
    /// The places of its keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &KeyRef> {
        [&self.access_key_id, &self.secret_access_key].into_iter().chain(&self.session_token)
    }

    /// The region from the settings, or from the host.
    pub(crate) fn region_of(&self, host: &str) -> Option<String> {
        let mut labels = host.split('.').skip_while(|label| !label.starts_with("bedrock-runtime"));
        let of_host = || labels.nth(1).filter(|_| host.contains(".amazonaws.com")).map(str::to_owned);
        self.region.clone().or_else(of_host)
    }
}

impl Signer {
    /// The signer, and the keys that it uses, which no message may show. `None`: a key is not printable ASCII.
    pub(crate) fn new(settings: &Settings, region: String) -> Result<Option<(Self, Vec<SecretString>)>, key::Error> {
        let (id, secret) = (settings.access_key_id.resolve()?, settings.secret_access_key.resolve()?);
        let token = settings.session_token.as_ref().map(KeyRef::resolve).transpose()?;
        let keys = [&id, &secret].into_iter().chain(&token).cloned().collect();
        let value = token.as_ref().map(|token| written::secret(token.expose_secret()));
        if value.as_ref().is_some_and(Option::is_none) || written::secret(id.expose_secret()).is_none() {
            return Ok(None);
        }
        let signer = Self { id, secret, token: value.flatten(), region, service: SERVICE, clock: wall_clock };
        Ok(Some((signer, keys)))
    }

    /// Adds the date, the session's token and the signature to the headers of a call.
    pub(crate) fn sign(&self, method: &str, uri: &Uri, headers: &mut HeaderMap, body: &[u8]) {
        let stamp = stamp((self.clock)());
        if let Ok(value) = HeaderValue::from_str(&stamp) {
            headers.insert(DATE, value);
        }
        if let Some(token) = &self.token {
            headers.insert(TOKEN, token.clone());
        }
        let host = uri.authority().map_or("", |authority| authority.as_str());
        let signed: Vec<(HeaderName, &str)> = [CONTENT_TYPE, ::http::header::HOST, DATE, TOKEN]
            .into_iter()
            .filter_map(|name| {
                let value = if name == ::http::header::HOST { Some(host) } else { text(headers, &name) };
                Some((name, value?))
            })
            .collect();
        let names = signed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(";");
        let mut request = format!("{method}\n{}\n{}\n", canonical_path(uri.path()), canonical_query(uri.query()));
        for (name, value) in &signed {
            let _ = writeln!(request, "{name}:{}", value.trim());
        }
        let _ = write!(request, "\n{names}\n{}", const_hex::encode(Sha256::digest(body)));
        let date = &stamp[..8];
        let scope = format!("{date}/{}/{}/aws4_request", self.region, self.service);
        let to_sign = format!("{SCHEME}\n{stamp}\n{scope}\n{}", const_hex::encode(Sha256::digest(request.as_bytes())));
        let secret = format!("AWS4{}", self.secret.expose_secret());
        let key = [date, &self.region, self.service, "aws4_request"]
            .into_iter()
            .fold(secret.into_bytes(), |key, part| mac(&key, part));
        let signature = const_hex::encode(mac(&key, &to_sign));
        let id = self.id.expose_secret();
        let line = format!("{SCHEME} Credential={id}/{scope}, SignedHeaders={names}, Signature={signature}");
        if let Some(value) = written::secret(&line) {
            headers.insert(AUTHORIZATION, value);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the time of a signature is no part of a run's behaviour")]
fn wall_clock() -> SystemTime {
    SystemTime::now()
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// `20150830T123600Z`. HTTP's date has every part at a fixed place: `Sun, 30 Aug 2015 12:36:00 GMT`.
fn stamp(time: SystemTime) -> String {
    let date = httpdate::fmt_http_date(time);
    let month = 1 + MONTHS.iter().position(|month| *month == &date[8..11]).unwrap_or_default();
    format!("{}{month:02}{}T{}Z", &date[12..16], &date[5..7], date[17..25].replace(':', ""))
}

/// The path of the request, encoded again.
fn canonical_path(path: &str) -> String {
    let segments = path.split('/').map(|segment| utf8_percent_encode(segment, ENCODED).to_string());
    let path = segments.collect::<Vec<_>>().join("/");
    if path.is_empty() { "/".to_owned() } else { path }
}

fn canonical_query(query: Option<&str>) -> String {
    let encoded = |text: &str| utf8_percent_encode(&percent_decode_str(text).decode_utf8_lossy(), ENCODED).to_string();
    let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    let mut pairs: Vec<(String, String)> = pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (encoded(name), encoded(value)))
        .collect();
    pairs.sort();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length will do");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// 2015-08-30 12:36:00, as in the test suite that AWS publishes.
    fn then() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_440_938_160)
    }

    fn signer(token: Option<&'static str>) -> Signer {
        Signer {
            id: SecretString::from("AKIDEXAMPLE"),
            secret: SecretString::from("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            token: token.map(HeaderValue::from_static),
            region: "us-east-1".to_owned(),
            service: "service",
            clock: then,
        }
    }

    /// The cases of AWS's suite `aws-sig-v4-test-suite` that calls to models need: a body, a query, encoded paths, a
    /// token.
    #[test]
    fn signatures_are_those_of_the_published_suite() {
        let token = "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";
        let form = "application/x-www-form-urlencoded";
        let rows = [
            ("GET", "/", "", "", None, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            ("POST", "/", "", "", None, "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
            (
                "GET",
                "/?Param2=value2&Param1=value1",
                "",
                "",
                None,
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            ),
            (
                "POST",
                "/",
                form,
                "Param1=value1",
                None,
                "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
            ),
            ("POST", "/", "", "", Some(token), "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"),
        ];
        for (method, path, kind, body, token, signature) in rows {
            let uri: Uri = format!("https://example.amazonaws.com{path}").parse().unwrap();
            let mut headers = HeaderMap::new();
            if !kind.is_empty() {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            }
            signer(token).sign(method, &uri, &mut headers, body.as_bytes());
            let line = text(&headers, &AUTHORIZATION).unwrap().to_owned();
            assert!(line.ends_with(&format!("Signature={signature}")), "{method} {path} {token:?}: {line}");
            assert!(
                line.starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, ")
            );
            assert_eq!(text(&headers, &DATE), Some("20150830T123600Z"));
            assert!(headers[AUTHORIZATION].is_sensitive());
        }
    }

    #[test]
    fn a_path_is_encoded_once_more_than_it_is_sent() {
        assert_eq!(
            canonical_path("/model/eu.amazon.nova-lite-v1%3A0/converse"),
            "/model/eu.amazon.nova-lite-v1%253A0/converse"
        );
        assert_eq!((canonical_path("/"), canonical_path("")), ("/".to_owned(), "/".to_owned()));
        assert_eq!(canonical_query(Some("b=2&a=x%20y&a=%2F&c")), "a=%2F&a=x%20y&b=2&c=");
    }

    #[test]
    fn the_region_is_that_of_the_host_or_the_one_that_is_written() {
        let settings = |region: Option<&str>| Settings {
            access_key_id: KeyRef::Env("A".into()),
            secret_access_key: KeyRef::Env("B".into()),
            session_token: None,
            region: region.map(str::to_owned),
        };
        for (host, written, region) in [
            ("bedrock-runtime.eu-central-1.amazonaws.com", None, Some("eu-central-1")),
            ("bedrock-runtime-fips.us-east-1.amazonaws.com", None, Some("us-east-1")),
            ("vpce-1.bedrock-runtime.us-west-2.vpce.amazonaws.com", None, Some("us-west-2")),
            ("bedrock-runtime.cn-north-1.amazonaws.com.cn", None, Some("cn-north-1")),
            ("bedrock-runtime.eu-central-1.amazonaws.com", Some("eu-west-1"), Some("eu-west-1")),
            ("127.0.0.1", None, None),
            ("bedrock-runtime.proxy.example", None, None),
        ] {
            assert_eq!(settings(written).region_of(host).as_deref(), region, "{host}");
        }
    }
}
