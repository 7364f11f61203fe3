//! Google's Gemini API: `models/MODEL:generateContent`.
//!
//! `request` writes the body, and `reply` reads a whole answer or a piece of a stream, which has the same shape.

mod reply;
mod request;

use serde_json::{Map, Value, json};
use url::Url;

use crate::{
    chat::Request,
    dialect::{self, Dialect, Manner, SchemaMode},
    gather::{Gather, Trouble},
};

/// Google's own address.
pub(crate) const ADDRESS: &str = "https://generativelanguage.googleapis.com/v1beta";

#[derive(Debug)]
pub(crate) struct GenerateContent;

impl Dialect for GenerateContent {
    fn body(&self, request: &Request, manner: Manner<'_>) -> Vec<u8> {
        dialect::bytes(&request::body(request, manner))
    }

    fn force_tool(&self, name: &str) -> Map<String, Value> {
        let config = json!({ "mode": "ANY", "allowedFunctionNames": [name] });
        dialect::one("toolConfig", json!({ "functionCallingConfig": config }))
    }

    fn whole(&self, body: &[u8], gather: &mut Gather) -> Result<(), Trouble> {
        reply::take(body, gather)
    }

    /// No event is marked as the last: the stream just ends.
    fn event(&self, _: &[u8], data: &[u8], gather: &mut Gather) -> Result<bool, Trouble> {
        reply::take(data, gather).map(|()| false)
    }

    fn groups(&self) -> &'static [&'static str] {
        &["generationConfig"]
    }

    fn mend(&self, parameter: &str, schema_mode: SchemaMode) -> Option<String> {
        match (parameter, schema_mode) {
            ("tools", _) => None,
            ("generationConfig.responseJsonSchema", _) => Some("schema_mode: json_object".to_owned()),
            ("generationConfig.responseMimeType", _) => Some("schema_mode: none".to_owned()),
            (name, _) => Some(dialect::taken_out(name)),
        }
    }
}

/// The URL of a model's answers, below the written address; the query is kept.
pub(crate) fn answers(mut url: Url, model: &str, stream: bool) -> Url {
    let path = url.path().trim_end_matches('/').to_owned();
    let model = if model.contains('/') { model.to_owned() } else { format!("models/{model}") };
    let method = if stream { "streamGenerateContent" } else { "generateContent" };
    url.set_path(&format!("{path}/{model}:{method}"));
    if stream {
        url.query_pairs_mut().append_pair("alt", "sse");
    }
    url
}

#[cfg(test)]
mod tests;
