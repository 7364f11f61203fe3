//! Turns a status that is no success, and its body, into an error that the caller can act on.

use std::time::Duration;

use ::http::{
    StatusCode,
    header::{HeaderMap, LOCATION},
};
use serde_json::Value;

use crate::{Error, gather::Trouble, hint};

use super::{google, request_line::RequestLine, retry_after, secrets::Secrets};

/// How much of a body is quoted: enough to see what is wrong.
const MOST_CHARS: usize = 200;

/// The hint for an answer that is a web page.
pub const PAGE: &str = "this is a web page: write the address of the API in `url`";

/// Codes and types in the body that mean an empty account, under any status.
const NO_MONEY: [&str; 3] = ["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"];

const NO_REDIRECTS: &str = "gabfest follows no redirects";

const CREDIT: &str = "add credit or raise the quota at the provider";

/// Overrides the status: whether the server wants a retry.
const SHOULD_RETRY: &str = "x-should-retry";

/// The HTTP statuses of error codes, for errors inside an answer that started with success.
const WORDS: [(&str, u16); 16] = [
    ("rate_limit", 429),
    ("too_many_requests", 429),
    ("resource_exhausted", 429),
    ("overloaded", 529),
    ("unavailable", 503),
    ("server_error", 500),
    ("internal_error", 500),
    ("api_error", 500),
    ("timeout", 408),
    ("authentication", 401),
    ("invalid_api_key", 401),
    ("permission", 403),
    ("not_found", 404),
    ("context_length_exceeded", 400),
    ("content_filter", 400),
    ("invalid_request", 400),
];

/// What a server says about an error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) message: String,
    pub(crate) no_money: bool,
    /// The pause that the body asks for.
    pub(crate) after: Option<Duration>,
    /// The matching HTTP status, if its code or type has one.
    pub(crate) status: Option<u16>,
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
        let mut codes = ["code", "type", "status"].into_iter().filter_map(text);
        let no_money =
            codes.clone().any(|code| NO_MONEY.contains(&code)) || google::is_daily(value) || is_of_a_day(&message);
        let number = value.get("code").and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()));
        let number = number.and_then(|number| u16::try_from(number).ok()).filter(|number| (400..600).contains(number));
        let status = number.or_else(|| codes.find_map(status_of));
        Self { message, no_money, after: google::retry_delay(value), status }
    }

    /// Of an error inside an answer that began with success.
    pub(crate) fn trouble(self) -> Trouble {
        match self {
            Self { message, no_money: true, .. } => Trouble::Exhausted(message),
            Self { message, status: Some(status), .. } => Trouble::Status(status, message),
            Self { message, status: None, .. } => Trouble::Malformed(message),
        }
    }

    fn of_text(message: String) -> Self {
        Self { message, no_money: false, after: None, status: None }
    }

    /// From a whole body: OpenAI's `{"error": {…}}`, the lists of some gateways, or text that is not JSON.
    pub(crate) fn of_body(body: &[u8]) -> Self {
        if crate::json::check(body).is_err() {
            return Self::of_text(String::from_utf8_lossy(body).into_owned());
        }
        match serde_json::from_slice::<Value>(body) {
            Ok(Value::Array(list)) if !list.is_empty() => Self::of(list[0].get("error").unwrap_or(&list[0])),
            Ok(value) => Self::of(value.get("error").unwrap_or(&value)),
            Err(_) => Self::of_text(String::from_utf8_lossy(body).into_owned()),
        }
    }
}

/// The status of a code such as `rate_limit_error`.
fn status_of(word: &str) -> Option<u16> {
    let word = word.to_ascii_lowercase();
    WORDS.iter().find(|(part, _)| word.contains(part)).map(|(_, status)| *status)
}

/// Whether a daily quota is used up, by OpenAI's message: no run waits until tomorrow.
fn is_of_a_day(message: &str) -> bool {
    message.contains(" per day (")
}

/// The error for an unsuccessful answer: the address, the status, and the start of the body.
pub(crate) fn error(
    endpoint: &str,
    place: &RequestLine,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    secrets: &Secrets,
) -> Error {
    let endpoint = endpoint.to_owned();
    let Fault { no_money, after, .. } = Fault::of_body(body);
    let text = secrets.hide(String::from_utf8_lossy(body).into_owned());
    let body = excerpt(&text).unwrap_or_else(|| format!("status {status}"));
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok()).filter(|_| status.is_redirection());
    let message = match location.map(|location| (location, place.leads_to(location))) {
        // Not even a part of it is shown, because a server may encode a key in an address in many ways.
        Some((location, _)) if secrets.are_in(location) => {
            hint::with(&format!("{place} redirects to an address with a key in it: {body}"), Some(NO_REDIRECTS))
        }
        Some((_, target)) => hint::with(
            &format!("{place} redirects to {target}: {body}"),
            Some(&format!("{NO_REDIRECTS}: write {target} in `url`")),
        ),
        None => hint::with(
            &format!("{place}: {body}"),
            if no_money || status == 402 { Some(CREDIT) } else { mend(status, &text) },
        ),
    };
    let message = secrets.hide(message);
    match status.as_u16() {
        400..=499 if no_money => Error::Exhausted { endpoint, message },
        status => {
            let wants_it_again = headers.get(SHOULD_RETRY).and_then(|value| match value.as_bytes() {
                b"true" => Some(true),
                b"false" => Some(false),
                _ => None,
            });
            match (of_status(endpoint, status, retry_after::asked(headers).or(after), message), wants_it_again) {
                (Error::Refused { endpoint, status, message }, Some(true)) => {
                    Error::Unreachable { endpoint, status: Some(status), message, sent: true }
                }
                (
                    Error::Throttled { endpoint, message, .. } | Error::Unreachable { endpoint, message, .. },
                    Some(false),
                ) => Error::Refused { endpoint, status, message },
                (error, _) => error,
            }
        }
    }
}

/// The class that a status has. Servers also give it to errors inside an answer that began with success.
pub(crate) fn of_status(endpoint: String, status: u16, after: Option<Duration>, message: String) -> Error {
    match status {
        402 => Error::Exhausted { endpoint, message },
        429 => Error::Throttled { endpoint, after, message },
        408 | 409 | 424 | 500.. => Error::Unreachable { endpoint, status: Some(status), message, sent: true },
        _ => Error::Refused { endpoint, status, message },
    }
}

/// The usual fix for an answer with this status.
fn mend(status: StatusCode, body: &str) -> Option<&'static str> {
    match status.as_u16() {
        400 if body.contains("HTTPS port") => Some("write https:// in `url`"),
        400 | 422 => Some("compare the request with the server's documentation"),
        401 => Some("check `key` and the variable or file that it names"),
        403 => Some("check what the key is allowed to do"),
        404 if body.contains("model") && !is_page(body) => Some("check `model` and the path of `url`"),
        404 => Some("check the path of `url`"),
        405 => Some("check `method` and the path of `url`"),
        407 => Some("gabfest uses no proxy: name the server itself in `url`"),
        413 => Some("send less: `history` limits the messages of a request"),
        415 => Some("check the header content-type"),
        429 => Some("lower `limits` of the endpoint or agent"),
        502..=504 => Some("the gateway answers, and the server behind it does not: check that server"),
        500 | 501 | 505.. => Some("look into the log of the server"),
        _ => None,
    }
}

pub(crate) fn is_page(body: &str) -> bool {
    let begin: String = body.trim_start().chars().take(64).flat_map(char::to_lowercase).collect();
    begin.starts_with("<!doctype html") || begin.starts_with("<html")
}

/// The start of a body on one line; `None` if it is blank.
pub(crate) fn excerpt(body: &str) -> Option<String> {
    let mut line = String::new();
    for word in body.split(|letter: char| letter.is_control() || letter == ' ').filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if let Some((end, _)) = line.char_indices().nth(MOST_CHARS) {
            line.truncate(end);
            line.push('…');
            break;
        }
    }
    Some(line).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;

    fn named(status: u16, body: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", 3.into());
        let status = StatusCode::from_u16(status).expect("a status");
        let secrets = Secrets::new(vec![SecretString::from("sk-secret")]);
        let place = RequestLine { method: ::http::Method::POST, uri: ::http::Uri::from_static("http://h/chat?key=1") };
        match error("x", &place, status, &headers, body.as_bytes(), &secrets) {
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
        let at = "POST http://h/chat?key=…";
        let rows = [
            (
                400,
                r#"{"error":{"message":"no such field","code":null}}"#,
                format!(
                    r#"refused 400: {at}: {{"error":{{"message":"no such field","code":null}}}}; hint: compare the request with the server's documentation"#
                ),
            ),
            (
                401,
                r#"{"error":"bad key sk-secret"}"#,
                format!(
                    r#"refused 401: {at}: {{"error":"bad key [key]"}}; hint: check `key` and the variable or file that it names"#
                ),
            ),
            (404, "", format!("refused 404: {at}: status 404 Not Found; hint: check the path of `url`")),
            (302, "moved", format!("refused 302: {at}: moved")),
            (
                429,
                "slow down",
                format!("throttled {after:?}: {at}: slow down; hint: lower `limits` of the endpoint or agent"),
            ),
            (
                429,
                r#"{"error":{"code":"insufficient_quota"}}"#,
                format!(
                    r#"exhausted: {at}: {{"error":{{"code":"insufficient_quota"}}}}; hint: add credit or raise the quota at the provider"#
                ),
            ),
            (
                403,
                r#"[{"error":{"code":"billing_not_active"}}]"#,
                format!(
                    r#"exhausted: {at}: [{{"error":{{"code":"billing_not_active"}}}}]; hint: add credit or raise the quota at the provider"#
                ),
            ),
            (
                402,
                "<html>\n\tno\u{1b}[31m</html>",
                format!("exhausted: {at}: <html> no [31m</html>; hint: add credit or raise the quota at the provider"),
            ),
            (
                503,
                "",
                format!(
                    "unreachable Some(503) true: {at}: status 503 Service Unavailable; hint: the gateway answers, and the server behind it does not: check that server"
                ),
            ),
            (
                429,
                r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"x/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]}]}}"#,
                format!(
                    r#"exhausted: {at}: {{"error":{{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{{"@type":"x/google.rpc.QuotaFailure","violations":[{{"quotaId":"GenerateRequestsPerDayPerProject"}}]}}]}}}}; hint: add credit or raise the quota at the provider"#
                ),
            ),
            (
                429,
                r#"{"error":{"message":"Rate limit reached on requests per day (RPD)"}}"#,
                format!(
                    r#"exhausted: {at}: {{"error":{{"message":"Rate limit reached on requests per day (RPD)"}}}}; hint: add credit or raise the quota at the provider"#
                ),
            ),
            (408, "late", format!("unreachable Some(408) true: {at}: late")),
            (409, "locked", format!("unreachable Some(409) true: {at}: locked")),
            (424, "dependency", format!("unreachable Some(424) true: {at}: dependency")),
            (529, "busy", format!("unreachable Some(529) true: {at}: busy; hint: look into the log of the server")),
        ];
        for (status, body, expected) in rows {
            assert_eq!(named(status, body), expected, "{status} {body}");
        }
    }

    #[test]
    fn the_servers_wish_overrides_the_status() {
        let class = |status: u16, wanted: &'static str| {
            let headers = HeaderMap::from_iter([(
                ::http::HeaderName::from_static(SHOULD_RETRY),
                ::http::HeaderValue::from_static(wanted),
            )]);
            let place = RequestLine { method: ::http::Method::POST, uri: ::http::Uri::from_static("http://h/chat") };
            let status = StatusCode::from_u16(status).expect("a status");
            match error("x", &place, status, &headers, b"", &Secrets::default()) {
                Error::Refused { status, .. } => format!("refused {status}"),
                Error::Throttled { .. } => "throttled".to_owned(),
                Error::Unreachable { status, sent, .. } => format!("unreachable {status:?} {sent}"),
                other => format!("{other:?}"),
            }
        };
        let rows = [
            (400, "true", "unreachable Some(400) true"),
            (400, "false", "refused 400"),
            (500, "false", "refused 500"),
            (429, "false", "refused 429"),
            (429, "true", "throttled"),
            (503, "maybe", "unreachable Some(503) true"),
        ];
        for (status, wanted, expected) in rows {
            assert_eq!(class(status, wanted), expected, "{status} {wanted}");
        }
    }

    #[test]
    fn an_error_inside_an_answer_has_the_class_of_its_status() {
        let rows = [
            (r#"{"code":502,"message":"m"}"#, Trouble::Status(502, "m".into())),
            (r#"{"code":"429","message":"m"}"#, Trouble::Status(429, "m".into())),
            (r#"{"type":"overloaded_error","message":"m"}"#, Trouble::Status(529, "m".into())),
            (r#"{"type":"server_error","code":null,"message":"m"}"#, Trouble::Status(500, "m".into())),
            (r#"{"code":"rate_limit_exceeded","type":"tokens","message":"m"}"#, Trouble::Status(429, "m".into())),
            (r#"{"type":"invalid_request_error","message":"m"}"#, Trouble::Status(400, "m".into())),
            (r#"{"status":"UNAVAILABLE","message":"m"}"#, Trouble::Status(503, "m".into())),
            (r#"{"code":"insufficient_quota","message":"m"}"#, Trouble::Exhausted("m".into())),
            (r#"{"code":7,"message":"m"}"#, Trouble::Malformed("m".into())),
            (r#""broken""#, Trouble::Malformed("broken".into())),
        ];
        for (body, expected) in rows {
            assert_eq!(Fault::of(&serde_json::from_str(body).expect("JSON")).trouble(), expected, "{body}");
        }
    }

    #[test]
    fn a_redirect_shows_no_key() {
        let place = RequestLine { method: ::http::Method::POST, uri: ::http::Uri::from_static("http://h/chat") };
        let secrets = Secrets::new(vec![SecretString::from("sk/\"secret")]);
        let long = format!("/{}sk/%22secret", "x".repeat(190));
        for location in ["/in?k=sk%2F%22secret", "http://other/sk/%22secret/more", long.as_str(), "/sk/\"secret"] {
            let mut headers = HeaderMap::new();
            headers.insert(LOCATION, location.parse().expect("a header"));
            let error = error("x", &place, StatusCode::FOUND, &headers, b"", &secrets).to_string();
            assert!(error.contains("redirects to an address with a key in it"), "{error}");
            assert!(!error.contains("secret") && !error.contains("sk"), "{error}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, "/login".parse().expect("a header"));
        let error = error("x", &place, StatusCode::FOUND, &headers, b"", &secrets).to_string();
        assert!(error.contains("redirects to http://h/login"), "{error}");
    }

    #[test]
    fn a_long_message_is_cut() {
        for body in ["é".repeat(9_999), "word ".repeat(9_999)] {
            let message = named(400, &body);
            assert!(message.contains('…') && message.chars().count() < 200 + 150, "{message}");
        }
    }
}
