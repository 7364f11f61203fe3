//! The mock behind a socket: `gabfest mock`, an OpenAI-compatible server that also tells what it served.

mod body;
mod complete;
mod reply;
mod stats;

use std::{future::Future, io, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, State},
    routing::{get, post},
    serve::ListenerExt,
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot};

use super::{Behaviour, Mock};
use crate::Model;
use stats::Stats;

/// The longest body, in bytes; a long conversation with images is smaller.
const MOST_BODY: usize = 16 << 20;
/// How long a shutdown waits for calls that are being answered; those that hang would wait for ever.
const GRACE: Duration = Duration::from_secs(2);

/// What the handlers share.
#[derive(Debug)]
struct Served {
    /// Never empty; the first answers for models that nobody has named.
    mocks: Vec<Mock>,
    stats: Arc<Stats>,
}

/// Serves until `shutdown` is ready. Each mock answers for the model of its endpoint's name, the first one for
/// all other names; a name with `user` or `judge` in it asks for that role where the headers name none.
///
/// # Errors
/// When the listener fails.
pub async fn serve(
    listener: TcpListener,
    mocks: Vec<Mock>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let mocks = if mocks.is_empty() { vec![Mock::new("mock", Behaviour::default())] } else { mocks };
    let served = Arc::new(Served { mocks, stats: Arc::new(Stats::default()) });
    let routes = Router::new()
        .route("/v1/chat/completions", post(complete::complete))
        .route("/v1/models", get(models))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/stats", get(stats_page))
        .layer(DefaultBodyLimit::max(MOST_BODY))
        .with_state(served);
    let (stop, stopping) = oneshot::channel();
    // Nagle's algorithm would hold small pieces of a stream back for 40 ms.
    let listener = listener.tap_io(|socket| {
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "no nodelay on this socket");
        }
    });
    let server = axum::serve(listener, routes).with_graceful_shutdown(async move {
        shutdown.await;
        // Nobody listens any more when the server has failed already.
        let _ = stop.send(());
    });
    let grace = async {
        if stopping.await.is_err() {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        ended = server => ended,
        () = grace => Ok(()),
    }
}

async fn models(State(served): State<Arc<Served>>) -> Json<Value> {
    let roles = ["mock-agent", "mock-user", "mock-judge"];
    let names = served.mocks.iter().map(Mock::endpoint);
    let names = names.chain(roles.into_iter().filter(|role| !served.mocks.iter().any(|mock| mock.endpoint() == *role)));
    let list: Vec<Value> =
        names.map(|name| json!({ "id": name, "object": "model", "created": 0, "owned_by": "gabfest" })).collect();
    Json(json!({ "object": "list", "data": list }))
}

async fn stats_page(State(served): State<Arc<Served>>) -> Json<Value> {
    Json(served.stats.page())
}

impl Served {
    fn mock_for(&self, model: &str) -> &Mock {
        self.mocks.iter().find(|mock| mock.endpoint() == model).unwrap_or(&self.mocks[0])
    }
}
