//! Embeddings and moderations: other addresses of the same server, with their own bodies.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use crate::{
    Receipt, Usage,
    call::Request as _,
    dialect::written,
    estimate,
    gather::Trouble,
    http::rejection::Fault,
    measure::{Embed, Measurement, Moderate, Reply, Request},
};

use super::{
    COMPLETIONS,
    reply::{Few, Text},
};

/// Of a vector: the largest of today's models have 4,096.
const MOST_DIMENSIONS: usize = 16_384;

/// A measurement that servers have an address for.
pub(crate) trait Served: Measurement {
    /// The end of the address.
    const ADDRESS: &'static str;
    /// Some servers send base64 unless the body asks for numbers.
    const ENCODING_FORMAT: Option<&'static str>;

    fn value(&self, answer: Answer<'_>) -> Result<Self::Value, String>;
}

impl Served for Embed {
    const ADDRESS: &'static str = "/embeddings";
    const ENCODING_FORMAT: Option<&'static str> = Some("float");

    fn value(&self, answer: Answer<'_>) -> Result<Vec<Vec<f32>>, String> {
        vectors(answer.data.0, self.texts.len())
    }
}

impl Served for Moderate {
    const ADDRESS: &'static str = "/moderations";
    const ENCODING_FORMAT: Option<&'static str> = None;

    fn value(&self, answer: Answer<'_>) -> Result<Vec<(String, f64)>, String> {
        labels(answer.results.0)
    }
}

/// The address of the measurement, on the server that answers completions at `completions`.
pub(crate) fn address<M: Served>(completions: &Url) -> Url {
    let mut url = completions.clone();
    let above = url.path().strip_suffix(COMPLETIONS).unwrap_or_else(|| url.path());
    let path = format!("{above}{}", M::ADDRESS);
    url.set_path(&path);
    url
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    model: &'a str,
    input: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding_format: Option<&'static str>,
    #[serde(flatten)]
    params: BTreeMap<&'a String, &'a Value>,
}

pub(crate) fn body<M: Served>(request: &Request<M>, model: &str, params: &Map<String, Value>) -> Vec<u8> {
    let encoding_format = M::ENCODING_FORMAT.filter(|_| !params.contains_key("encoding_format"));
    let body = Body { model, input: request.of.texts(), encoding_format, params: written(params).collect() };
    serde_json::to_vec(&body).expect("writing to memory does not fail")
}

#[derive(Debug, Deserialize)]
pub(crate) struct Answer<'a> {
    #[serde(borrow)]
    model: Option<Text<'a>>,
    #[serde(default)]
    data: Few<Embedding>,
    #[serde(borrow, default)]
    results: Few<Moderation<'a>>,
    usage: Option<Counts>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Embedding {
    /// Absent: in the order of the list.
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Debug, Deserialize)]
struct Moderation<'a> {
    #[serde(borrow)]
    category_scores: BTreeMap<Cow<'a, str>, f64>,
}

#[derive(Debug, Deserialize)]
struct Counts {
    prompt_tokens: Option<u64>,
}

pub(crate) fn read<M: Served>(request: &Request<M>, model: &str, body: &[u8]) -> Result<Reply<M::Value>, Trouble> {
    let mut answer: Answer<'_> = serde_json::from_slice(body).map_err(|error| Trouble::Malformed(error.to_string()))?;
    if let Some(error) = &answer.error {
        return Err(Fault::of(error).trouble());
    }
    let usage = usage(request, answer.usage.take());
    let model = answer.model.take().map_or_else(|| model.to_owned(), |name| name.0.into_owned());
    let value = request.of.value(answer).map_err(Trouble::Malformed)?;
    Ok(Reply { value, receipt: Receipt { usage, model, tries: 1, ..Receipt::default() } })
}

/// One for each text, in the order of the texts.
fn vectors(data: Vec<Embedding>, texts: usize) -> Result<Vec<Vec<f32>>, String> {
    let mut vectors = vec![Vec::new(); texts];
    if data.len() != texts {
        return Err(format!("{} embeddings for {texts} texts", data.len()));
    }
    let dimensions = data.first().map_or(0, |first| first.embedding.len());
    for (place, Embedding { index, embedding }) in data.into_iter().enumerate() {
        if embedding.is_empty() || embedding.len() != dimensions || dimensions > MOST_DIMENSIONS {
            return Err(format!("an embedding of {} numbers", embedding.len()));
        }
        if !embedding.iter().all(|number| number.is_finite()) {
            return Err("an embedding that is not of numbers".to_owned());
        }
        match vectors.get_mut(index.unwrap_or(place)) {
            Some(vector) if vector.is_empty() => *vector = embedding,
            _ => return Err("embeddings that are not numbered from 0".to_owned()),
        }
    }
    Ok(vectors)
}

fn labels(results: Vec<Moderation<'_>>) -> Result<Vec<(String, f64)>, String> {
    let [Moderation { category_scores }] =
        <[_; 1]>::try_from(results).map_err(|list: Vec<_>| format!("{} results for one text", list.len()))?;
    category_scores
        .into_iter()
        .map(|(name, score)| {
            if (0.0..=1.0).contains(&score) {
                Ok((name.into_owned(), score))
            } else {
                Err(format!("the score {score}, which is not between 0 and 1"))
            }
        })
        .collect()
}

fn usage<M: Measurement>(request: &Request<M>, counts: Option<Counts>) -> Usage {
    match counts.and_then(|counts| counts.prompt_tokens) {
        Some(input) => Usage { input: input.min(1 << 40), ..Usage::default() },
        None => {
            let input = estimate::tokens_of_bytes(request.input_bytes());
            Usage { input, estimated: true, ..Usage::default() }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn two_texts() -> Request<Embed> {
        Request::new(Embed { texts: vec!["a".to_owned(), "b".to_owned()] })
    }

    fn one_text() -> Request<Moderate> {
        Request::new(Moderate { text: "a".to_owned() })
    }

    fn embed(body: &str) -> Result<Reply<Vec<Vec<f32>>>, Trouble> {
        read(&two_texts(), "m", body.as_bytes())
    }

    fn moderate(body: &str) -> Result<Reply<Vec<(String, f64)>>, Trouble> {
        read(&one_text(), "m", body.as_bytes())
    }

    #[test]
    fn each_measurement_has_its_address() {
        let rows = [
            ("http://h/v1/chat/completions", "http://h/v1/embeddings", "http://h/v1/moderations"),
            (
                "http://h/v1/chat/completions?api-version=1",
                "http://h/v1/embeddings?api-version=1",
                "http://h/v1/moderations?api-version=1",
            ),
            ("http://h/chat/completions", "http://h/embeddings", "http://h/moderations"),
        ];
        for (url, embeddings, moderations) in rows {
            let url = Url::parse(url).expect("a url");
            assert_eq!(address::<Embed>(&url).as_str(), embeddings);
            assert_eq!(address::<Moderate>(&url).as_str(), moderations);
        }
    }

    #[test]
    fn bodies_are_as_servers_read_them() {
        fn text<M: Served>(request: &Request<M>, model: &str, params: Value) -> String {
            let params = params.as_object().expect("an object").clone();
            String::from_utf8(body(request, model, &params)).expect("text")
        }
        assert_eq!(text(&two_texts(), "m", json!({})), r#"{"model":"m","input":["a","b"],"encoding_format":"float"}"#);
        assert_eq!(text(&one_text(), "", json!({})), r#"{"input":["a"]}"#);
        let params = json!({ "encoding_format": null, "dimensions": 64 });
        assert_eq!(text(&two_texts(), "m", params), r#"{"model":"m","input":["a","b"],"dimensions":64}"#);
    }

    #[test]
    fn vectors_come_in_the_order_of_the_texts() {
        let reply = embed(
            r#"{"object":"list","model":"e","usage":{"prompt_tokens":7,"total_tokens":7},"data":[
               {"object":"embedding","index":1,"embedding":[0,1]},{"index":0,"embedding":[1.5,-2e-3]}]}"#,
        )
        .expect("reads");
        assert_eq!(reply.value, [vec![1.5, -2e-3], vec![0.0, 1.0]]);
        assert_eq!((reply.receipt.usage.input, reply.receipt.usage.estimated, &*reply.receipt.model), (7, false, "e"));
        let unnumbered = embed(r#"{"data":[{"embedding":[1]},{"embedding":[2]}]}"#).expect("reads");
        assert_eq!(unnumbered.value, [[1.0], [2.0]]);
        assert!(unnumbered.receipt.usage.estimated && unnumbered.receipt.model == "m");
    }

    #[test]
    fn invalid_embeddings_are_malformed() {
        for body in [
            "",
            "{}",
            "[]",
            r#"{"data":null}"#,
            r#"{"data":[{"embedding":[1]}]}"#,
            r#"{"data":[{"embedding":[1]},{"embedding":[1,2]}]}"#,
            r#"{"data":[{"embedding":[]},{"embedding":[]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":9,"embedding":[1]}]}"#,
            r#"{"data":[{"embedding":[1]},{"embedding":[1e60]}]}"#,
            r#"{"data":[{"embedding":"AAAA"},{"embedding":"AAAA"}]}"#,
        ] {
            assert!(matches!(embed(body), Err(Trouble::Malformed(_))), "{body}");
        }
        let poor = r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#;
        assert_eq!(embed(poor).expect_err("an error"), Trouble::Exhausted("pay".to_owned()));
    }

    #[test]
    fn categories_become_labels() {
        let reply = moderate(
            r#"{"id":"x","model":"omni","results":[{"flagged":true,"categories":{"hate":false},
               "category_scores":{"violence":0.9,"hate":1e-7}}]}"#,
        )
        .expect("reads");
        assert_eq!(reply.value, [("hate".to_owned(), 1e-7), ("violence".to_owned(), 0.9)]);
        for body in [
            r#"{"results":[]}"#,
            r#"{"results":[{"category_scores":{"hate":2}}]}"#,
            r#"{"results":[{"category_scores":{"hate":"high"}}]}"#,
            r#"{"results":[{"flagged":true}]}"#,
        ] {
            assert!(matches!(moderate(body), Err(Trouble::Malformed(_))), "{body}");
        }
    }
}
