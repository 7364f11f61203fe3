//! What an answer means that is no reply: the status and the body, as one of the errors a caller can act on.

use ::http::{StatusCode, header::HeaderMap};
use serde_json::Value;

use crate::Error;

use super::{secrets::Secrets, wait};

/// Of a message: enough to know what is wrong.
const MOST_CHARS: usize = 500;

/// A code or type in the body which says that there is no money left, under whatever status.
const NO_MONEY: [&str; 3] = ["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"];

/// What a server says of an error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) message: String,
    pub(crate) no_money: bool,
}

impl Fault {
    /// From the `error` of a body, or from a body that is one.
    pub(crate) fn of(value: &Value) -> Self {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let message = value
            .as_str()
            .or_else(|| text("message"))
            .or_else(|| text("detail"))
            .map_or_else(|| value.to_string(), str::to_owned);
        let no_money = ["code", "type"].into_iter().filter_map(text).any(|code| NO_MONEY.contains(&code));
        Self { message, no_money }
    }

    /// From a whole body: OpenAI's `{"error": {…}}`, the lists of some gateways, or no JSON at all.
    pub(crate) fn of_body(body: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(body) {
            Ok(Value::Array(list)) if !list.is_empty() => Self::of(list[0].get("error").unwrap_or(&list[0])),
            Ok(value) => Self::of(value.get("error").unwrap_or(&value)),
            Err(_) => Self { message: String::from_utf8_lossy(body).into_owned(), no_money: false },
        }
    }
}

/// The error for an answer whose status is not success.
pub(crate) fn error(endpoint: &str, status: StatusCode, headers: &HeaderMap, body: &[u8], secrets: &Secrets) -> Error {
    let endpoint = endpoint.to_owned();
    let Fault { message, no_money } = Fault::of_body(body);
    let message = short(secrets.hide(message), status);
    let status = status.as_u16();
    match status {
        402 => Error::Exhausted { endpoint, message },
        400..=499 if no_money => Error::Exhausted { endpoint, message },
        429 => Error::Throttled { endpoint, after: wait::asked(headers), message },
        500.. => Error::Unreachable { endpoint, status: Some(status), message, sent: true },
        _ => Error::Refused { endpoint, status, message },
    }
}

/// On one line and not too long; the status' own words where the server says nothing.
fn short(message: String, status: StatusCode) -> String {
    let mut line = message.split(|letter: char| letter.is_control() || letter == ' ').filter(|word| !word.is_empty());
    let mut short = String::new();
    for word in &mut line {
        if !short.is_empty() {
            short.push(' ');
        }
        short.extend(word.chars().take(MOST_CHARS));
        if short.len() >= MOST_CHARS {
            short.truncate(short.floor_char_boundary(MOST_CHARS));
            short.push('…');
            return short;
        }
    }
    if short.is_empty() { format!("status {status}") } else { short }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use secrecy::SecretString;

    use super::*;

    fn named(status: u16, body: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", 3.into());
        let status = StatusCode::from_u16(status).expect("a status");
        let secrets = Secrets::new(vec![SecretString::from("sk-secret")]);
        match error("x", status, &headers, body.as_bytes(), &secrets) {
            Error::Refused { status, message, .. } => format!("refused {status}: {message}"),
            Error::Throttled { after, message, .. } => format!("throttled {after:?}: {message}"),
            Error::Unreachable { status, message, sent, .. } => format!("unreachable {status:?} {sent}: {message}"),
            Error::Exhausted { message, .. } => format!("exhausted: {message}"),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_status_has_its_class() {
        let after = Some(Duration::from_secs(3));
        let rows = [
            (400, r#"{"error":{"message":"no such field","code":null}}"#, "refused 400: no such field".to_owned()),
            (401, r#"{"error":"bad key sk-secret"}"#, "refused 401: bad key [key]".to_owned()),
            (403, r#"{"detail":"not yours"}"#, "refused 403: not yours".to_owned()),
            (404, "", "refused 404: status 404 Not Found".to_owned()),
            (302, "moved", "refused 302: moved".to_owned()),
            (422, r#"{"detail":[{"loc":1}]}"#, r#"refused 422: {"detail":[{"loc":1}]}"#.to_owned()),
            (429, r#"{"error":{"message":"slow down","type":"requests"}}"#, format!("throttled {after:?}: slow down")),
            (429, r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#, "exhausted: pay".to_owned()),
            (429, r#"{"error":{"message":"pay","type":"insufficient_quota"}}"#, "exhausted: pay".to_owned()),
            (403, r#"[{"error":{"message":"pay","code":"billing_not_active"}}]"#, "exhausted: pay".to_owned()),
            (402, "<html>\n\tno\u{1b}[31m</html>", "exhausted: <html> no [31m</html>".to_owned()),
            (
                500,
                r#"{"error":{"code":"insufficient_quota"}}"#,
                r#"unreachable Some(500) true: {"code":"insufficient_quota"}"#.to_owned(),
            ),
            (503, "", "unreachable Some(503) true: status 503 Service Unavailable".to_owned()),
            (
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#,
                "unreachable Some(529) true: busy".to_owned(),
            ),
        ];
        for (status, body, expected) in rows {
            assert_eq!(named(status, body), expected, "{status} {body}");
        }
    }

    #[test]
    fn a_long_message_is_cut() {
        for body in ["é".repeat(9_999), "word ".repeat(9_999)] {
            let message = named(400, &body);
            assert!(message.len() < 600 && message.ends_with('…'), "{message}");
        }
    }
}
