//! Embeddings and moderations, with the same faults and delays as completions.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Response,
};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::{
    Usage,
    http::headers,
    measure::{Embed, Moderate, Request},
    mock::{
        measure::Mocked,
        model::{Measured, Outcome, until},
        weather::Trouble,
    },
};

use super::{
    complete::{JSON, answer_with, troubled},
    openai::Openai,
    reply::{self, Heading},
    served::Served,
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
    match texts(&bytes, MOST_TEXTS) {
        Ok((model, texts)) => measure(&served, Embed { texts }, &sent, model).await,
        Err(fault) => refused(&served, &fault),
    }
}

/// One text only: gabfest's own client does not send more.
pub(super) async fn moderations(State(served): State<Arc<Served>>, sent: HeaderMap, bytes: Bytes) -> Response {
    match texts(&bytes, 1) {
        Ok((model, texts)) => measure(&served, Moderate { text: texts.concat() }, &sent, model).await,
        Err(fault) => refused(&served, &fault),
    }
}

/// The model's name and 1 to `most` texts.
fn texts(bytes: &Bytes, most: usize) -> Result<(String, Vec<String>), String> {
    match serde_json::from_slice::<Body>(bytes) {
        Ok(body) if (1..=most).contains(&body.input.len()) => Ok((body.model.unwrap_or_default(), body.input)),
        Ok(_) => Err(format!("`input` is not 1 to {most} texts")),
        Err(error) => Err(error.to_string()),
    }
}

fn refused(served: &Served, fault: &str) -> Response {
    served.stats.refused();
    answer_with(StatusCode::BAD_REQUEST, JSON, reply::error(fault, "invalid_request_error"))
}

async fn measure<M: Written>(served: &Served, of: M, sent: &HeaderMap, model: String) -> Response {
    let start = Instant::now();
    let request = Request { context: headers::read(sent), ..Request::new(of) };
    let Outcome { role, pace, result, id } = served.mock.measure(&request);
    let mut call = served.stats.begin(role, start, &request.context);
    match result {
        Err(Trouble::Hang) => {
            call.hangs();
            std::future::pending().await
        }
        Err(trouble) => {
            until(start, pace.first).await;
            troubled(trouble, &Openai, &Heading { id, model, fingerprint: served.mock.fingerprint() }, false, call)
        }
        Ok(Measured { value, usage }) => {
            until(start, pace.first).await;
            call.answered(StatusCode::OK, usage);
            answer_with(StatusCode::OK, JSON, M::written(&model, &value, usage).to_string())
        }
    }
}

/// A measurement with a body of an answer.
trait Written: Mocked {
    fn written(model: &str, value: &Self::Value, usage: Usage) -> Value;
}

impl Written for Embed {
    fn written(model: &str, vectors: &Vec<Vec<f32>>, usage: Usage) -> Value {
        let embedding =
            |(index, vector): (usize, &Vec<f32>)| json!({ "object": "embedding", "index": index, "embedding": vector });
        let data: Vec<Value> = vectors.iter().enumerate().map(embedding).collect();
        let tokens = usage.input;
        json!({
            "object": "list", "model": model, "data": data,
            "usage": { "prompt_tokens": tokens, "total_tokens": tokens },
        })
    }
}

impl Written for Moderate {
    fn written(model: &str, categories: &Vec<(String, f64)>, _: Usage) -> Value {
        let flags: Map<_, _> =
            categories.iter().map(|(name, score)| (name.clone(), Value::from(*score > 0.5))).collect();
        let scores: Map<_, _> = categories.iter().map(|(name, score)| (name.clone(), Value::from(*score))).collect();
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
