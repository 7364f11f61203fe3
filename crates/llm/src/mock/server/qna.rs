//! A knowledge base behind the APIs of QnA Maker and of custom question answering.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Json, Router,
    extract::{Query as Parameters, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::mock::qna::{Pair, Query, Service};

/// QnA Maker's answer if nothing matches.
const NO_MATCH: &str = "No good match found in KB.";
/// The answer of its successor.
const NO_ANSWER: &str = "No answer found";
/// Different questions that are counted one by one.
const MOST_COUNTED: usize = 1_000_000;

/// A service and its received requests.
#[derive(Debug)]
pub(super) struct Served {
    service: Service,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    requests: u64,
    /// Without a key, or without a question.
    refused: u64,
    exact: u64,
    near: u64,
    unmatched: u64,
    questions: BTreeMap<String, u64>,
}

/// QnA Maker's `generateAnswer`. Unknown keys are ignored.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GenerateAnswer {
    question: String,
    #[serde(default)]
    top: Option<usize>,
    /// 0 to 100.
    #[serde(default)]
    score_threshold: Option<f64>,
    #[serde(default)]
    strict_filters: Vec<NameValue>,
}

#[derive(Debug, Deserialize)]
struct NameValue {
    name: String,
    value: String,
}

/// The successor's `:query-knowledgebases`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct QueryKnowledgebases {
    question: String,
    #[serde(default)]
    top: Option<usize>,
    /// 0 to 1.
    #[serde(default)]
    confidence_score_threshold: Option<f64>,
    #[serde(default)]
    filters: Option<Filters>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Filters {
    #[serde(default)]
    metadata_filter: Option<MetadataFilter>,
}

#[derive(Debug, Deserialize)]
struct MetadataFilter {
    #[serde(default)]
    metadata: Vec<KeyValue>,
}

#[derive(Debug, Deserialize)]
struct KeyValue {
    key: String,
    value: String,
}

impl Served {
    pub(super) fn new(service: Service) -> Self {
        Self { service, counts: Mutex::default() }
    }

    /// Its part of the page `/stats`.
    pub(super) fn page(&self) -> Value {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        json!({
            "requests": counts.requests,
            "refused": counts.refused,
            "questions": counts.questions.len(),
            "most_asked": counts.questions.values().max().copied().unwrap_or(0),
            "exact": counts.exact,
            "near": counts.near,
            "no_match": counts.unmatched,
        })
    }

    fn count(&self, count: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.requests += 1;
        count(&mut counts);
    }

    fn ask(&self, query: &Query) -> Vec<(&Pair, f64)> {
        let answers = self.service.answers(query);
        self.count(|counts| {
            match answers.first() {
                None => counts.unmatched += 1,
                Some((_, score)) if *score >= 100.0 => counts.exact += 1,
                Some(_) => counts.near += 1,
            }
            if counts.questions.len() < MOST_COUNTED {
                *counts.questions.entry(query.question.clone()).or_default() += 1;
            }
        });
        answers
    }

    fn refuse(&self, status: StatusCode, code: &str, message: &str) -> Response {
        self.count(|counts| counts.refused += 1);
        (status, Json(json!({ "error": { "code": code, "message": message } }))).into_response()
    }
}

pub(super) fn routes(served: Arc<Served>) -> Router {
    Router::new()
        .without_v07_checks()
        .route("/qnamaker/knowledgebases/{kb}/generateAnswer", post(generate_answer))
        .route("/language/:query-knowledgebases", post(query_knowledgebases))
        .with_state(served)
}

async fn generate_answer(State(served): State<Arc<Served>>, headers: HeaderMap, body: String) -> Response {
    let key = headers.get("authorization").and_then(|value| value.to_str().ok());
    if key.and_then(|key| key.strip_prefix("EndpointKey ")).is_none_or(|key| key.trim().is_empty()) {
        return served.refuse(StatusCode::UNAUTHORIZED, "Unauthorized", "Endpoint key is missing or wrong.");
    }
    let asked: GenerateAnswer = match serde_json::from_str(&body) {
        Ok(asked) => asked,
        Err(error) => return served.refuse(StatusCode::BAD_REQUEST, "BadArgument", &error.to_string()),
    };
    let query = Query {
        question: asked.question,
        filters: asked.strict_filters.into_iter().map(|filter| (filter.name, filter.value)).collect(),
        threshold: asked.score_threshold.unwrap_or(0.0),
        top: asked.top.unwrap_or(1),
    };
    let found = served.ask(&query);
    let mut answers: Vec<Value> = found
        .iter()
        .map(|(pair, score)| {
            let metadata: Vec<Value> =
                pair.metadata.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
            json!({
                "questions": pair.questions, "answer": pair.answer, "score": score, "id": pair.id,
                "source": pair.source, "isDocumentText": false, "metadata": metadata, "context": context(pair),
            })
        })
        .collect();
    if answers.is_empty() {
        answers.push(json!({ "questions": [], "answer": NO_MATCH, "score": 0.0, "id": -1, "metadata": [] }));
    }
    Json(json!({ "answers": answers, "activeLearningEnabled": false })).into_response()
}

async fn query_knowledgebases(
    State(served): State<Arc<Served>>,
    Parameters(parameters): Parameters<BTreeMap<String, String>>,
    headers: HeaderMap,
    body: String,
) -> Response {
    if headers.get("ocp-apim-subscription-key").is_none_or(|key| key.as_bytes().trim_ascii().is_empty()) {
        return served.refuse(StatusCode::UNAUTHORIZED, "401", "Access denied due to invalid subscription key.");
    }
    for name in ["projectName", "deploymentName", "api-version"] {
        if !parameters.contains_key(name) {
            let message = format!("The query parameter {name} is missing.");
            return served.refuse(StatusCode::BAD_REQUEST, "InvalidArgument", &message);
        }
    }
    let asked: QueryKnowledgebases = match serde_json::from_str(&body) {
        Ok(asked) => asked,
        Err(error) => return served.refuse(StatusCode::BAD_REQUEST, "InvalidArgument", &error.to_string()),
    };
    let filters = asked.filters.and_then(|filters| filters.metadata_filter).map(|filter| filter.metadata);
    let query = Query {
        question: asked.question,
        filters: filters.into_iter().flatten().map(|entry| (entry.key, entry.value)).collect(),
        threshold: asked.confidence_score_threshold.unwrap_or(0.0) * 100.0,
        top: asked.top.unwrap_or(1),
    };
    let found = served.ask(&query);
    let mut answers: Vec<Value> = found
        .iter()
        .map(|(pair, score)| {
            let metadata: Map<String, Value> =
                pair.metadata.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
            json!({
                "questions": pair.questions, "answer": pair.answer, "confidenceScore": score / 100.0, "id": pair.id,
                "source": pair.source, "metadata": metadata, "dialog": context(pair),
            })
        })
        .collect();
    if answers.is_empty() {
        answers.push(json!({ "questions": [], "answer": NO_ANSWER, "confidenceScore": 0.0, "id": -1, "metadata": {} }));
    }
    Json(json!({ "answers": answers })).into_response()
}

fn context(pair: &Pair) -> Value {
    let prompts: Vec<Value> = (0_u32..)
        .zip(&pair.prompts)
        .map(|(order, prompt)| json!({ "displayOrder": order, "qnaId": prompt.id, "displayText": prompt.display }))
        .collect();
    json!({ "isContextOnly": pair.is_context_only, "prompts": prompts })
}
