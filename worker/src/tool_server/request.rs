//! What requests by HTTP and by the Model Context Protocol share: their bounds, their body, and their refusals.

use std::sync::Arc;

use axum::{
    Json,
    body::Bytes,
    extract::{FromRequest as _, Request},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde_json::json;

use super::{handler::Handler, registration::Registry};

/// The most bytes of a call's arguments.
pub(super) const MOST_BYTES: usize = record::bounds::MOST_TOOL_BYTES;
/// The longest id of a call.
pub(super) const LONGEST_ID: usize = 128;

/// What all requests share.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) registry: Arc<Registry>,
    /// The hosts that MCP requests may name.
    pub(super) hosts: Vec<String>,
}

/// Reads the body of a request. Refuses one that is too large; the listener ends one that takes too long.
pub(super) async fn body_of(handler: &Handler, request: Request) -> Result<Bytes, Response> {
    let _permit = handler.reads().await;
    let body = Bytes::from_request(request, &())
        .await
        .map_err(|rejection| failed(rejection.status(), &rejection.body_text()))?;
    match llm::json::check(&body) {
        Ok(()) => Ok(body),
        Err(error) => Err(failed(StatusCode::PAYLOAD_TOO_LARGE, &format!("the arguments are {error}"))),
    }
}

/// The answer for a conversation that is over, or a path that was guessed.
pub(super) fn nobody_there() -> Response {
    failed(StatusCode::NOT_FOUND, "there is no such conversation, or it is over")
}

pub(super) fn failed(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "error": message }))).into_response()
}
