//! Tools over plain HTTP: a list of them, and a POST of JSON arguments to each.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Path, Request, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
    routing::{any, get, post},
};
use scenario::mock::{Answer, MockError, Tool};
use serde_json::{Map, Value, json};

use super::{
    handler::{Handler, Outcome},
    mcp,
    registration::Registry,
    request::{LONGEST_ID, MOST_BYTES, Served, body_of, failed, nobody_there},
};

/// The header by which an agent says which call of its reply this one is.
const CALL_ID: &str = "x-tool-call-id";

pub(super) fn routes(registry: Arc<Registry>, hosts: Vec<String>) -> Router {
    Router::new()
        .route("/t/{token}/tools", get(list))
        .route("/t/{token}/tools/{*name}", post(call))
        .route("/t/{token}/mcp", any(mcp::serve))
        .fallback(|| async { failed(StatusCode::NOT_FOUND, "nothing is served there") })
        .method_not_allowed_fallback(|| async {
            failed(StatusCode::METHOD_NOT_ALLOWED, "tools are listed by GET and called by POST")
        })
        .layer(DefaultBodyLimit::max(MOST_BYTES))
        .with_state(Arc::new(Served { registry, hosts }))
}

async fn list(State(served): State<Arc<Served>>, Path(token): Path<String>) -> Response {
    let Some(handler) = served.registry.find(&token) else { return nobody_there() };
    let tools: Vec<Value> = handler.offered().iter().map(Tool::to_openai).collect();
    Json(json!({ "tools": tools })).into_response()
}

async fn call(
    State(served): State<Arc<Served>>,
    Path((token, name)): Path<(String, String)>,
    headers: HeaderMap,
    request: Request,
) -> Response {
    let Some(handler) = served.registry.find(&token) else { return nobody_there() };
    let body = match body_of(&handler, request).await {
        Ok(body) => body,
        Err(refused) => return refused,
    };
    let (arguments, written) = match read(&body) {
        Ok(read) => read,
        Err(reason) => return failed(StatusCode::BAD_REQUEST, &reason),
    };
    let id = headers.get(CALL_ID).and_then(|id| id.to_str().ok()).filter(|id| id.len() <= LONGEST_ID);
    match handler.call(id.unwrap_or_default(), &name, arguments, written).await {
        Outcome::Answered(answer) => answered(&answer),
        Outcome::Unknown => unknown(&handler, &name),
        Outcome::TooMany => failed(StatusCode::TOO_MANY_REQUESTS, "too many calls in one turn"),
        Outcome::Over => failed(StatusCode::GONE, "the conversation is over"),
    }
}

/// The arguments, parsed and as written. An empty body means no arguments.
fn read(body: &[u8]) -> Result<(Value, String), String> {
    let text = std::str::from_utf8(body).map_err(|_| "the arguments are not UTF-8".to_owned())?.trim();
    if text.is_empty() {
        return Ok((Value::Object(Map::new()), "{}".to_owned()));
    }
    // serde_json reads at most 128 levels.
    let value = serde_json::from_str(text).map_err(|error| format!("the arguments are not JSON: {error}"))?;
    Ok((value, text.to_owned()))
}

fn answered(answer: &Answer) -> Response {
    match &answer.result {
        Ok(value) => Json(value).into_response(),
        Err(MockError { status, .. }) => {
            let status = status.and_then(|status| StatusCode::from_u16(status).ok());
            let status = status.filter(|status| status.is_client_error() || status.is_server_error());
            let kind = [(axum::http::header::CONTENT_TYPE, "application/json")];
            (status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), kind, answer.text()).into_response()
        }
    }
}

fn unknown(handler: &Handler, name: &str) -> Response {
    let names: Vec<String> = handler.offered().into_iter().map(|tool| tool.name).collect();
    (StatusCode::NOT_FOUND, Json(json!({ "error": handler.no_such_tool(name), "tools": names }))).into_response()
}
