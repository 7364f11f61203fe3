//! The routes of each provider's chat API.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, RawQuery, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
    routing::post,
};
use bytes::Bytes;

use super::{
    anthropic::Anthropic,
    bedrock::Bedrock,
    complete::complete,
    gemini::Gemini,
    openai::{Azure, Openai},
    responses::Responses,
    served::Served,
};

type Shared = State<Arc<Served>>;

pub(super) fn chats() -> Router<Arc<Served>> {
    Router::new()
        .without_v07_checks()
        .route("/v1/chat/completions", post(chat_completions))
        .route("/openai/v1/chat/completions", post(azure_v1))
        .route("/openai/deployments/{deployment}/chat/completions", post(azure_deployment))
        .route("/v1/responses", post(responses))
        .route("/v1/messages", post(messages))
        .route("/v1beta/models/{call}", post(gemini))
        .route("/v1/models/{call}", post(gemini))
        .route("/model/{model}/converse", post(converse))
        .route("/model/{model}/converse-stream", post(converse_stream))
}

async fn chat_completions(State(served): Shared, sent: HeaderMap, body: Bytes) -> Response {
    complete(&served, &Openai, &sent, &body).await
}

async fn azure_v1(State(served): Shared, sent: HeaderMap, body: Bytes) -> Response {
    complete(&served, &Azure { has_version: true }, &sent, &body).await
}

async fn azure_deployment(State(served): Shared, RawQuery(query): RawQuery, sent: HeaderMap, body: Bytes) -> Response {
    let azure = Azure { has_version: names(query.as_deref(), "api-version") };
    complete(&served, &azure, &sent, &body).await
}

async fn responses(State(served): Shared, sent: HeaderMap, body: Bytes) -> Response {
    complete(&served, &Responses, &sent, &body).await
}

async fn messages(State(served): Shared, sent: HeaderMap, body: Bytes) -> Response {
    complete(&served, &Anthropic, &sent, &body).await
}

async fn converse(State(served): Shared, Path(model): Path<String>, sent: HeaderMap, body: Bytes) -> Response {
    complete(&served, &Bedrock { model, stream: false }, &sent, &body).await
}

async fn converse_stream(State(served): Shared, Path(model): Path<String>, sent: HeaderMap, body: Bytes) -> Response {
    complete(&served, &Bedrock { model, stream: true }, &sent, &body).await
}

/// `MODEL:METHOD` is one part of the path.
async fn gemini(
    State(served): Shared,
    Path(call): Path<String>,
    RawQuery(query): RawQuery,
    sent: HeaderMap,
    body: Bytes,
) -> Response {
    let (model, stream) = match call.rsplit_once(':') {
        Some((model, "generateContent")) => (model, false),
        Some((model, "streamGenerateContent")) => (model, true),
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    let gemini = Gemini { model: model.to_owned(), stream, has_key: names(query.as_deref(), "key") };
    complete(&served, &gemini, &sent, &body).await
}

fn names(query: Option<&str>, name: &str) -> bool {
    let pairs = query.unwrap_or_default().split('&');
    pairs.filter_map(|pair| pair.split_once('=')).any(|(key, value)| key == name && !value.is_empty())
}
