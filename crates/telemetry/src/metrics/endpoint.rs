//! `--metrics-listen`: `GET /metrics` for Prometheus, `GET /livez` for liveness probes, and `GET /healthz` for readiness
//! probes.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::get,
};
use listen::{Door, Terms, descriptors};
use tokio::net::TcpListener;

use super::Page;

/// The maximum number of connections; few clients collect metrics.
const MOST_CONNECTIONS: usize = 64;

/// Whether the process is ready, or the reason why not.
#[derive(Clone)]
pub struct Health(Arc<Check>);

type Check = dyn Fn() -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync;

impl Health {
    pub fn new<F>(check: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        Self(Arc::new(move || Box::pin(check())))
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Health").finish()
    }
}

/// Serves until the runtime ends. All requests are read-only.
pub async fn serve(listener: TcpListener, page: Page, health: Health) {
    let router = Router::new()
        .route("/metrics", get(metrics).with_state(page))
        .route("/livez", get(async || "ok\n"))
        .route("/healthz", get(healthz).with_state(health));
    let terms = Terms { most: MOST_CONNECTIONS.min(descriptors::for_connections()), ..Terms::new("metrics") };
    listen::http::serve(Door::new(listener, terms), router, std::future::pending()).await;
}

async fn metrics(State(page): State<Page>) -> Response {
    // Encoding thousands of series takes milliseconds, which would block the runtime's threads.
    let text = tokio::task::spawn_blocking(move || page.text()).await;
    match text {
        Ok(Ok(text)) => ([(CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response(),
        Ok(Err(error)) => failed(&error),
        Err(error) => failed(&error),
    }
}

fn failed(error: &dyn fmt::Display) -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response()
}

async fn healthz(State(health): State<Health>) -> Response {
    match (health.0)().await {
        Ok(()) => (StatusCode::OK, "ok\n").into_response(),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{}\n", redact::redact(&why))).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry_sdk::metrics::SdkMeterProvider;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
    };

    use super::*;
    use crate::{metrics::Meters, names::Conventions};

    #[tokio::test]
    async fn the_page_and_the_health_are_served_and_nothing_else() {
        let page = Page::default();
        let builder = page.reads(SdkMeterProvider::builder()).unwrap();
        // It ends the page when it is dropped.
        let meters = Meters::new(builder, Conventions::Usual, || [0, 0]);
        let worker = meters.worker();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = worker.clone();
        let health = Health::new(move || {
            let connected = asked.is_connected();
            async move { if connected { Ok(()) } else { Err("no coordinator".to_owned()) } }
        });
        tokio::spawn(serve(listener, page, health));
        let ask = async |what: &str| {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let request = format!("{what} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            answer
        };
        let unwell = ask("GET /healthz").await;
        assert!(unwell.starts_with("HTTP/1.1 503 ") && unwell.ends_with("no coordinator\n"), "{unwell}");
        let alive = ask("GET /livez").await;
        assert!(alive.starts_with("HTTP/1.1 200 ") && alive.ends_with("ok\n"), "who waits is alive: {alive}");
        worker.connected(true);
        let well = ask("GET /healthz").await;
        assert!(well.starts_with("HTTP/1.1 200 ") && well.ends_with("ok\n"), "{well}");
        let metrics = ask("GET /metrics").await;
        assert!(metrics.starts_with("HTTP/1.1 200 "), "{metrics}");
        assert!(metrics.contains("content-type: text/plain; version=0.0.4"), "{metrics}");
        assert!(metrics.contains("\n# TYPE gabfest_worker_slots gauge\n"), "{metrics}");
        assert!(ask("GET /").await.starts_with("HTTP/1.1 404 "));
        assert!(ask("POST /metrics").await.starts_with("HTTP/1.1 405 "));
    }
}
