//! The mock behind a socket: `gabfest mock`, a server with every provider's API that counts its calls.

mod anthropic;
mod bedrock;
mod body;
mod calls;
mod complete;
mod gemini;
mod measure;
mod openai;
mod qna;
mod reply;
mod responses;
mod routes;
mod served;
mod spoken;
mod stats;

use std::{fs::File, future::Future, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, State},
    routing::{get, post},
};
use listen::{Door, Terms};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot};

use super::{behaviour::Behaviour, model::Mock, qna::Service};

use self::{calls::Calls, served::Served, stats::Stats};

/// The longest body, in bytes; a long conversation with images is smaller.
const MOST_BODY: usize = 16 << 20;
/// How long a shutdown waits for calls in flight; a hanging call would block it for ever.
const GRACE: Duration = Duration::from_secs(2);

/// What a server has besides its model.
#[derive(Debug, Default)]
pub struct Extras {
    /// A knowledge base.
    pub qna: Option<Service>,
    /// Gets a line of JSON for each chat, embedding and moderation. With the time now, in Unix microseconds.
    pub calls: Option<(File, u64)>,
}

/// Serves until `shutdown` is ready. Accepts any model's name; a name with
/// `user` or `judge` in it selects that role if the headers name none.
pub async fn serve(
    listener: TcpListener,
    behaviour: Behaviour,
    Extras { qna, calls }: Extras,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    let qna = qna.map(|service| Arc::new(qna::Served::new(service)));
    let mock = Mock::new("mock", behaviour);
    let served = Arc::new(Served { mock, stats: Arc::new(Stats::new(calls.map(Calls::new))), qna: qna.clone() });
    let routes = Router::new()
        // A route of custom question answering begins with a colon.
        .without_v07_checks()
        .merge(routes::chats())
        .route("/v1/embeddings", post(measure::embeddings))
        .route("/v1/moderations", post(measure::moderations))
        .route("/v1/models", get(models))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/stats", get(stats_page))
        .with_state(served)
        .merge(qna.map(qna::routes).unwrap_or_default())
        .layer(DefaultBodyLimit::max(MOST_BODY));
    let (stop, stopping) = oneshot::channel();
    let server = listen::http::serve(Door::new(listener, Terms::new("mock model")), routes, async move {
        shutdown.await;
        // The receiver is alive in this function.
        let _ = stop.send(());
    });
    let grace = async {
        if stopping.await.is_err() {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        () = server => {}
        () = grace => {}
    }
}

async fn models() -> Json<Value> {
    let names = ["mock", "mock-agent", "mock-user", "mock-judge"];
    let list = names.map(|name| json!({ "id": name, "object": "model", "created": 0, "owned_by": "gabfest" }));
    Json(json!({ "object": "list", "data": list }))
}

async fn stats_page(State(served): State<Arc<Served>>) -> Json<Value> {
    let mut page = served.stats.page();
    if let Some(qna) = &served.qna {
        page["qna"] = qna.page();
    }
    Json(page)
}
