//! Embeddings and moderations over the wire, with the same weather as completions.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Response,
};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, de};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    Message, Request, Task,
    http::headers,
    mock::{
        answer::Answer,
        model::{Outcome, until},
        weather::Trouble,
    },
};

use super::{
    Served,
    complete::{JSON, answer_with, troubled},
    reply::{self, Heading},
};

/// Texts of one call, as OpenAI bounds them.
const MOST_TEXTS: usize = 2_048;

#[derive(Debug, Deserialize)]
struct Body {
    #[serde(default)]
    model: Option<String>,
    #[serde(deserialize_with = "one_or_many")]
    input: Vec<String>,
}

pub(super) async fn embeddings(State(served): State<Arc<Served>>, sent: HeaderMap, bytes: Bytes) -> Response {
    measure(&served, Task::Embed, &sent, &bytes).await
}

/// One text only: gabfest's own client sends no more.
pub(super) async fn moderations(State(served): State<Arc<Served>>, sent: HeaderMap, bytes: Bytes) -> Response {
    measure(&served, Task::Moderate, &sent, &bytes).await
}

async fn measure(served: &Served, task: Task, sent: &HeaderMap, bytes: &Bytes) -> Response {
    let start = Instant::now();
    let most = if task == Task::Moderate { 1 } else { MOST_TEXTS };
    let body = match serde_json::from_slice::<Body>(bytes) {
        Ok(body) if (1..=most).contains(&body.input.len()) => body,
        other => {
            served.stats.refused();
            let fault = other.map_or_else(|error| error.to_string(), |_| format!("`input` is not 1 to {most} texts"));
            return answer_with(StatusCode::BAD_REQUEST, JSON, reply::error(&fault, "invalid_request_error"));
        }
    };
    let model = body.model.unwrap_or_default();
    let messages = body.input.into_iter().map(Message::user).collect();
    let request = Request { task, messages, context: headers::read(sent), ..Request::default() };
    let Outcome { role, pace, result, id } = served.mock.play(&request, &model);
    let mut call = served.stats.begin(role, start);
    match result {
        Err(Trouble::Hang) => {
            call.hangs();
            std::future::pending().await
        }
        Err(trouble) => {
            until(start, pace.first).await;
            troubled(trouble, &Heading { id, model }, false, call)
        }
        Ok(answer) => {
            until(start, pace.first).await;
            call.answered(StatusCode::OK, answer.usage);
            answer_with(StatusCode::OK, JSON, written(task, &model, &answer).to_string())
        }
    }
}

fn written(task: Task, model: &str, answer: &Answer) -> Value {
    if task == Task::Embed {
        let embedding =
            |(index, vector): (usize, &Vec<f32>)| json!({ "object": "embedding", "index": index, "embedding": vector });
        let data: Vec<Value> = answer.vectors.iter().enumerate().map(embedding).collect();
        let tokens = answer.usage.input_tokens;
        json!({
            "object": "list", "model": model, "data": data,
            "usage": { "prompt_tokens": tokens, "total_tokens": tokens },
        })
    } else {
        let flags: serde_json::Map<_, _> =
            answer.labels.iter().map(|(name, score)| (name.clone(), Value::from(*score > 0.5))).collect();
        let scores: serde_json::Map<_, _> =
            answer.labels.iter().map(|(name, score)| (name.clone(), Value::from(*score))).collect();
        let flagged = flags.values().any(|flag| *flag == Value::Bool(true));
        json!({
            "id": "modr-mock", "model": model,
            "results": [{ "flagged": flagged, "categories": flags, "category_scores": scores }],
        })
    }
}

fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(vec![text]),
        Value::Array(list) => list
            .into_iter()
            .map(|item| match item {
                Value::String(text) => Ok(text),
                _ => Err(de::Error::custom("`input` is neither a text nor a list of texts")),
            })
            .collect(),
        _ => Err(de::Error::custom("`input` is neither a text nor a list of texts")),
    }
}
