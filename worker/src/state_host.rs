//! Services whose state checks read: one GET at a path. The operator's settings have the address; a scenario has the path.

use std::{fmt, time::Duration};

use reqwest::{StatusCode, Url};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::timeout;

use crate::http::{self, Service};

/// The largest answer.
const MOST_BYTES: usize = 1 << 20;

/// A host as `gabfest.yaml` describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// The address that the paths of checks are added to. Redirects are not followed.
    pub url: String,
    /// Sent as a bearer token.
    pub key: Option<llm::key::KeyRef>,
    /// The time limit of one answer, in milliseconds.
    #[serde(default = "default_timeout_ms")]
    #[schemars(range(min = 1))]
    pub timeout_ms: u64,
}

fn default_timeout_ms() -> u64 {
    5_000
}

impl Settings {
    /// What is wrong with the settings: the key and the reason.
    #[must_use]
    pub fn fault(&self) -> Option<(&'static str, String)> {
        http::fault(&self.url, self.timeout_ms)
    }
}

/// A host that can be asked.
pub struct StateHost {
    service: Service,
    timeout: Duration,
}

impl StateHost {
    /// # Errors
    /// The address is no HTTP one, or the key cannot be read.
    pub fn new(settings: &Settings) -> Result<Self, http::SetupError> {
        let service = Service::new(&settings.url, settings.key.as_ref())?;
        Ok(Self { service, timeout: Duration::from_millis(settings.timeout_ms) })
    }

    /// JSON, or a text that is not JSON; `None` if there is nothing (404 or 410).
    pub(crate) async fn read(&self, path: &str) -> Result<Option<Value>, String> {
        let url = self.at(path)?;
        let received = timeout(self.timeout, http::receive(self.service.get(url), MOST_BYTES)).await;
        let received = received.map_err(|_| format!("it does not answer within {} ms", self.timeout.as_millis()))?;
        let (status, body) = received.map_err(|error| format!("it cannot {error}"))?;
        match status {
            StatusCode::NOT_FOUND | StatusCode::GONE => Ok(None),
            status if status.is_success() => {
                let text = || Value::from(String::from_utf8_lossy(&body).into_owned());
                Ok(Some(serde_json::from_slice(&body).unwrap_or_else(|_| text())))
            }
            status => Err(format!("it answers with the status {status}")),
        }
    }

    /// The path behind the path of the address. It never leads to another server.
    fn at(&self, path: &str) -> Result<Url, String> {
        let base = &self.service.url;
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        let mut url = base.clone();
        url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
        // A token in the query of the address stays.
        let queries: Vec<&str> = [base.query(), query].into_iter().flatten().collect();
        url.set_query((!queries.is_empty()).then(|| queries.join("&")).as_deref());
        if url.origin() == base.origin() { Ok(url) } else { Err("the path leads to another server".to_owned()) }
    }
}

/// Shows only the host, because an address may hold a token.
impl fmt::Debug for StateHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateHost").field("host", &self.service.host()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    fn host(url: &str) -> StateHost {
        // Another test may have installed the provider.
        drop(rustls::crypto::ring::default_provider().install_default());
        let key = Some(llm::key::KeyRef::parse("env:CARGO_PKG_NAME").unwrap());
        StateHost::new(&Settings { url: url.to_owned(), key, timeout_ms: 5_000 }).unwrap()
    }

    #[test]
    fn a_path_stays_at_its_host() {
        for (base, path, expected) in [
            ("http://shop.example", "/orders/7", "http://shop.example/orders/7"),
            ("http://shop.example/api/", "/orders/7?full=1", "http://shop.example/api/orders/7?full=1"),
            ("http://shop.example/api?t=1", "/orders", "http://shop.example/api/orders?t=1"),
            ("http://shop.example", "/a b/../@other.example/", "http://shop.example/@other.example/"),
        ] {
            let found = host(base).at(path).unwrap();
            assert_eq!(found.host_str(), Some("shop.example"), "{path}: {found}");
            assert_eq!(found.as_str(), expected, "{path}");
        }
        let found = host("http://shop.example").at("/\\other.example/x").unwrap();
        assert_eq!(found.host_str(), Some("shop.example"));
    }

    #[tokio::test]
    async fn a_state_is_read_with_get() {
        for (answer, expected) in [
            ("200 OK\r\nContent-Length: 16\r\n\r\n{\"status\":\"open\"", Ok(Some(Value::from("{\"status\":\"open\"")))),
            ("200 OK\r\nContent-Length: 2\r\n\r\n30", Ok(Some(Value::from(30)))),
            ("404 None\r\nContent-Length: 0\r\n\r\n", Ok(None)),
            ("410 Gone\r\nContent-Length: 0\r\n\r\n", Ok(None)),
            ("500 Oops\r\nContent-Length: 0\r\n\r\n", Err("it answers with the status 500 Internal Server Error")),
            (
                "302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
                Err("it answers with the status 302 Found"),
            ),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let host = host(&format!("http://{}/api", listener.local_addr().unwrap()));
            let server = tokio::spawn(async move {
                let (mut socket, _) = listener.accept().await.unwrap();
                let (mut asked, mut buffer) = (String::new(), [0; 1024]);
                while !asked.ends_with("\r\n\r\n") {
                    let read = socket.read(&mut buffer).await.unwrap();
                    asked.push_str(&String::from_utf8_lossy(&buffer[..read]));
                }
                socket.write_all(format!("HTTP/1.1 {answer}").as_bytes()).await.unwrap();
                asked
            });
            let found = host.read("/orders/7").await;
            assert_eq!(found, expected.map_err(str::to_owned), "{answer}");
            let asked = server.await.unwrap().to_lowercase();
            assert!(asked.starts_with("get /api/orders/7 http/1.1\r\n"), "{asked}");
            assert!(asked.contains("authorization: bearer gabfest-worker"), "{asked}");
        }
        let nobody = host("http://127.0.0.1:1").read("/orders").await.unwrap_err();
        assert!(nobody.starts_with("it cannot be reached"), "{nobody}");
    }
}
