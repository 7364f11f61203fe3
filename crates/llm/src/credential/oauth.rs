//! Access tokens by OAuth's client credentials grant (RFC 6749, section 4.4).
//!
//! A token is kept until shortly before it expires. One call at a time requests the next one; the others continue with
//! the valid token, or wait.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ::http::{
    Method,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};
use url::{Url, form_urlencoded};

use crate::{
    Error, hint,
    http::{self, HttpRequest, Sender, written},
    key::{self, KeyRef},
};

/// How long before its end a token is renewed; a token with a shorter life is renewed halfway.
const EARLIER: Duration = Duration::from_secs(60);
/// Of a token that no longer can be renewed, but still holds.
const ASKED_AGAIN_AFTER: Duration = Duration::from_secs(5);
/// For one request to the token server.
const PATIENCE: Duration = Duration::from_secs(10);
const TRIES: u32 = 3;
/// Before the second try; doubled before the third.
const PAUSE: Duration = Duration::from_millis(200);
/// Longer than any run. Longer lifetimes are cut to it, so that sums fit an instant.
const LONGEST_LIFE: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Parameters that the grant itself sets.
const RESERVED: [&str; 4] = ["grant_type", "client_id", "client_secret", "scope"];

/// The client of an OAuth server that issues access tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// The URL that issues tokens: `https://login.example/oauth2/token`.
    pub token_url: String,
    pub client_id: String,
    /// Where the client's secret is kept, `env:NAME` or `file:PATH`; never the secret. A file is read again for each token.
    pub client_secret: KeyRef,
    /// Scopes with spaces between them.
    #[serde(default)]
    pub scope: Option<String>,
    /// Further parameters that the server asks for, such as `audience` or `resource`.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
}

/// Why settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("its `oauth.token_url` {0}")]
    Url(&'static str),
    #[error("its `oauth.client_secret` cannot be found")]
    Secret(#[source] key::Error),
    #[error("its `oauth.{0}`")]
    Misfit(String),
    #[error("the client of its `oauth.token_url` cannot be set up: {0}")]
    Client(String),
}

impl Settings {
    /// What is wrong with the settings.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        if let Err(reason) = http::address(&self.token_url) {
            return Some(format!("token_url {reason}"));
        }
        if self.client_id.trim().is_empty() {
            return Some("client_id is empty".to_owned());
        }
        let reserved = self.params.keys().find(|name| RESERVED.contains(&name.as_str()));
        reserved.map(|name| format!("params cannot hold `{name}`: gabfest writes it from the other settings"))
    }
}

#[derive(Debug)]
pub(super) struct Oauth {
    endpoint: String,
    url: Url,
    settings: Settings,
    known: Mutex<Option<Token>>,
    /// Held by the call that asks for the next token.
    turn: tokio::sync::Mutex<()>,
    /// The server takes the client's secret only in the body. RFC 6749 requires the header, which some servers do not
    /// support.
    in_body: AtomicBool,
}

#[derive(Debug, Clone)]
struct Token {
    key: SecretString,
    /// `None`: valid until it is refused.
    life: Option<Life>,
}

#[derive(Debug, Clone, Copy)]
struct Life {
    renewed_at: Instant,
    ends_at: Instant,
}

impl Token {
    fn is_fresh(&self) -> bool {
        self.life.is_none_or(|life| Instant::now() < life.renewed_at)
    }

    fn holds(&self) -> bool {
        self.life.is_none_or(|life| Instant::now() < life.ends_at)
    }
}

impl Oauth {
    pub(super) fn new(endpoint: &str, settings: &Settings) -> Result<Self, Fault> {
        if let Some(misfit) = settings.fault() {
            return Err(Fault::Misfit(misfit));
        }
        let url = http::address(&settings.token_url).map_err(Fault::Url)?;
        settings.client_secret.resolve().map_err(Fault::Secret)?;
        Ok(Self {
            endpoint: endpoint.to_owned(),
            url,
            settings: settings.clone(),
            known: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            in_body: AtomicBool::new(false),
        })
    }

    /// A token that holds.
    pub(super) async fn token(&self) -> Result<SecretString, Error> {
        let known = self.known();
        if let Some(token) = known.as_ref().filter(|token| token.is_fresh()) {
            return Ok(token.key.clone());
        }
        let still = known.filter(Token::holds);
        let _turn = match (&still, self.turn.try_lock()) {
            (_, Ok(turn)) => turn,
            (Some(token), Err(_)) => return Ok(token.key.clone()),
            (None, Err(_)) => self.turn.lock().await,
        };
        // Another call may have renewed it meanwhile.
        if let Some(token) = self.known().filter(Token::is_fresh) {
            return Ok(token.key);
        }
        match (Box::pin(self.ask()).await, still) {
            (Ok(key), _) => Ok(key),
            (Err(_), Some(mut token)) => {
                if let Some(life) = &mut token.life {
                    life.renewed_at = Instant::now() + ASKED_AGAIN_AFTER;
                }
                let key = token.key.clone();
                self.keep(token);
                Ok(key)
            }
            (Err(error), None) => Err(error),
        }
    }

    /// The next token, after one that was refused.
    pub(super) async fn another(&self, refused: &SecretString) -> Result<SecretString, Error> {
        let _turn = self.turn.lock().await;
        if let Some(token) = self.known().filter(Token::is_fresh)
            && token.key.expose_secret() != refused.expose_secret()
        {
            return Ok(token.key);
        }
        Box::pin(self.ask()).await
    }

    fn known(&self) -> Option<Token> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, token: Token) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(token);
    }

    /// Asks the server, again after passing faults. The caller has the turn.
    async fn ask(&self) -> Result<SecretString, Error> {
        let mut tries = 1;
        loop {
            let asked_at = Instant::now();
            let error = match self.request().await {
                Ok(body) => {
                    let token = read(&body, asked_at).map_err(|reason| self.useless(&reason))?;
                    let key = token.key.clone();
                    self.keep(token);
                    return Ok(key);
                }
                Err(error) => error,
            };
            let passes = matches!(error, Error::Throttled { .. } | Error::Unreachable { .. } | Error::TimedOut { .. });
            if matches!(error, Error::OutOfResources { .. }) {
                return Err(error);
            }
            if !passes || tries == TRIES {
                return Err(self.useless(hint::split(&error.to_string()).0));
            }
            sleep(PAUSE * tries).await;
            tries += 1;
        }
    }

    /// The body of a successful answer. The secret is sent in the header, and in the body if the server requires that.
    async fn request(&self) -> Result<Vec<u8>, Error> {
        let secret = self.settings.client_secret.resolve().map_err(|error| self.useless(&error.to_string()))?;
        redact::register(secret.expose_secret());
        let written = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let pair = format!("{}:{}", written(&self.settings.client_id), written(secret.expose_secret()));
        let basic = STANDARD.encode(pair);
        let keys = vec![
            secret.clone(),
            SecretString::from(written(secret.expose_secret())),
            SecretString::from(basic.as_str()),
        ];
        let sender = Sender::new(&self.endpoint, keys, PATIENCE);
        let in_body = self.in_body.load(Ordering::Relaxed);
        let answer = self.post(&sender, (!in_body).then_some(&basic), &secret).await;
        match answer {
            Err(Error::Refused { status: 400 | 401, .. }) if !in_body => {
                let body = self.post(&sender, None, &secret).await?;
                self.in_body.store(true, Ordering::Relaxed);
                Ok(body)
            }
            answer => answer,
        }
    }

    async fn post(&self, sender: &Sender, basic: Option<&String>, secret: &SecretString) -> Result<Vec<u8>, Error> {
        let call = self.call(basic, secret);
        let asked = async {
            let mut answer = sender.send(&call).await?;
            sender.whole(&mut answer).await
        };
        timeout(PATIENCE, asked).await.unwrap_or_else(|_| {
            let place = format!("POST {}", http::shown_address(&self.url));
            Err(Error::TimedOut { endpoint: self.endpoint.clone(), place, limit: PATIENCE })
        })
    }

    fn call(&self, basic: Option<&String>, secret: &SecretString) -> HttpRequest {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        match basic.and_then(|basic| written::secret(&format!("Basic {basic}"))) {
            Some(value) => {
                headers.insert(AUTHORIZATION, value);
            }
            None => {
                form.append_pair("client_id", &self.settings.client_id);
                form.append_pair("client_secret", secret.expose_secret());
            }
        }
        if let Some(scope) = &self.settings.scope {
            form.append_pair("scope", scope);
        }
        form.extend_pairs(&self.settings.params);
        HttpRequest { method: Method::POST, url: self.url.clone(), headers, body: Some(form.finish().into()) }
    }

    /// The error of the call: only the settings can help, whatever the token server answered.
    fn useless(&self, reason: &str) -> Error {
        let message = hint::with(
            &format!("it gets no access token: {reason}"),
            Some("check `oauth`: token_url, client_id, client_secret and scope"),
        );
        Error::Unwritable { endpoint: self.endpoint.clone(), message }
    }
}

/// The token of an answer. The reason of an error reveals nothing of it.
fn read(body: &[u8], asked_at: Instant) -> Result<Token, String> {
    let answer: Value =
        serde_json::from_slice(body).map_err(|_| "the answer of the token server is not JSON".to_owned())?;
    let key = answer["access_token"].as_str().filter(|key| !key.is_empty());
    let key = key.ok_or("the answer of the token server has no `access_token`")?;
    if let Some(kind) = answer["token_type"].as_str().filter(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        let kind: String = kind.chars().take(20).collect();
        return Err(format!("the token server issues tokens of type {kind:?}, and gabfest sends bearer tokens"));
    }
    // Some servers write the number as a text.
    let seconds = match &answer["expires_in"] {
        Value::String(text) => text.parse().ok(),
        other => other.as_f64(),
    };
    let life = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).map(|life| {
        let life = life.min(LONGEST_LIFE);
        Life { renewed_at: asked_at + life.saturating_sub(EARLIER).max(life / 2), ends_at: asked_at + life }
    });
    Ok(Token { key: SecretString::from(key), life })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds until a token is renewed and until it ends, or a part of the error.
    type Expected = Result<Option<(u64, u64)>, &'static str>;

    #[tokio::test(start_paused = true)]
    async fn a_token_is_renewed_before_it_expires() {
        let now = Instant::now();
        let life = |answer: &str| {
            let life = read(answer.as_bytes(), now)?.life;
            Ok(life.map(|life| ((life.renewed_at - now).as_secs(), (life.ends_at - now).as_secs())))
        };
        let rows: [(&str, Expected); 10] = [
            (r#"{"access_token":"a","token_type":"Bearer","expires_in":3600}"#, Ok(Some((3_540, 3_600)))),
            (r#"{"access_token":"a","token_type":"bearer","expires_in":"3600"}"#, Ok(Some((3_540, 3_600)))),
            (r#"{"access_token":"a","expires_in":100}"#, Ok(Some((50, 100)))),
            (r#"{"access_token":"a","expires_in":1e30}"#, Ok(None)),
            (r#"{"access_token":"a","expires_in":9e15}"#, Ok(Some((2_591_940, 2_592_000)))),
            (r#"{"access_token":"a"}"#, Ok(None)),
            (r#"{"access_token":"","expires_in":100}"#, Err("no `access_token`")),
            (r#"{"error":"invalid_client"}"#, Err("no `access_token`")),
            (r#"{"access_token":"a","token_type":"mac"}"#, Err("type \"mac\"")),
            ("<html>", Err("not JSON")),
        ];
        for (answer, expected) in rows {
            match (life(answer), expected) {
                (Ok(life), Ok(expected)) => assert_eq!(life, expected, "{answer}"),
                (Err(reason), Err(says)) => {
                    let reason: String = reason;
                    assert!(reason.contains(says), "{answer}: {reason}");
                }
                (life, _) => panic!("{answer}: {life:?}"),
            }
        }
    }

    #[test]
    fn settings_that_cannot_be_meant_are_found() {
        let settings = |more: Value| {
            let mut all =
                serde_json::json!({ "token_url": "https://h/token", "client_id": "c", "client_secret": "env:S" });
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            serde_json::from_value::<Settings>(all).expect("settings").fault()
        };
        assert_eq!(settings(serde_json::json!({ "params": { "audience": "a" }, "scope": "x y" })), None);
        for (more, says) in [
            (serde_json::json!({ "token_url": "h/token" }), "token_url cannot be read"),
            (serde_json::json!({ "token_url": "ftp://h/token" }), "token_url is neither http"),
            (serde_json::json!({ "client_id": " " }), "client_id is empty"),
            (serde_json::json!({ "params": { "scope": "x" } }), "params cannot hold `scope`"),
        ] {
            let fault = settings(more).expect("a fault");
            assert!(fault.contains(says), "{fault}");
        }
    }
}
