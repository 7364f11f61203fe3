//! OpenAI's Responses API.
//!
//! `request` writes the body, and `reply` reads a whole response or the events of a stream.

mod reply;
mod request;

use serde_json::{Map, Value, json};
use url::Url;

use crate::{
    chat::Request,
    dialect::{self, Dialect, Manner, SchemaMode},
    gather::{Gather, Trouble},
};

#[derive(Debug)]
pub(crate) struct Responses;

impl Dialect for Responses {
    fn body(&self, request: &Request, manner: Manner<'_>) -> Vec<u8> {
        dialect::bytes(&request::body(request, manner))
    }

    fn force_tool(&self, name: &str) -> Map<String, Value> {
        dialect::one("tool_choice", json!({ "type": "function", "name": name }))
    }

    fn whole(&self, body: &[u8], gather: &mut Gather) -> Result<(), Trouble> {
        reply::whole(body, gather)
    }

    fn event(&self, _: &[u8], data: &[u8], gather: &mut Gather) -> Result<bool, Trouble> {
        reply::event(data, gather)
    }

    fn groups(&self) -> &'static [&'static str] {
        &["text", "reasoning"]
    }

    fn mend(&self, parameter: &str, schema_mode: SchemaMode) -> Option<String> {
        match (parameter, schema_mode) {
            ("tools", _) => None,
            ("text" | "text.format", SchemaMode::Strict) => Some("schema_mode: json_schema".to_owned()),
            ("text" | "text.format", SchemaMode::JsonSchema) => Some("schema_mode: json_object".to_owned()),
            ("text" | "text.format", _) => Some("schema_mode: none".to_owned()),
            ("stream", _) => Some("stream: false".to_owned()),
            (name, _) => Some(dialect::taken_out(name)),
        }
    }
}

/// The address of responses below the written address; its query is kept.
pub(crate) fn responses(mut url: Url) -> Url {
    let path = url.path().trim_end_matches('/').to_owned();
    let path = if path.ends_with("/responses") { path } else { format!("{path}/responses") };
    url.set_path(&path);
    url
}

#[cfg(test)]
mod tests;
