//! OpenAI's chat completions, the API of most servers.
//!
//! `request` writes the body, `reply` reads a whole answer or a piece of one, and `gather` adds it to the reply.
//! [`measure`] writes and reads embeddings and moderations.

mod gather;
pub(crate) mod measure;
mod reply;
mod request;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};
use url::Url;

use crate::{
    chat::Request,
    dialect::{self, Dialect, Manner, SchemaMode},
    gather::{Gather, Trouble},
};

use self::reply::Completion;

/// The end of the address of completions.
const COMPLETIONS: &str = "/chat/completions";

/// OpenAI's chat completions.
#[derive(Debug)]
pub(crate) struct Chat;

impl Dialect for Chat {
    fn body(&self, request: &Request, manner: Manner<'_>) -> Vec<u8> {
        request::body(request, manner)
    }

    fn force_tool(&self, name: &str) -> Map<String, Value> {
        dialect::one("tool_choice", json!({ "type": "function", "function": { "name": name } }))
    }

    fn whole(&self, body: &[u8], gather: &mut Gather) -> Result<(), Trouble> {
        gather::take(gather, Completion::of_bytes(body)?)
    }

    fn event(&self, _: &[u8], data: &[u8], gather: &mut Gather) -> Result<bool, Trouble> {
        if data.trim_ascii() == b"[DONE]" {
            return Ok(true);
        }
        if let Some(text) = gather.stencil.text(data).filter(|text| !text.is_empty()) {
            gather.say(text);
            return Ok(false);
        }
        let completion = Completion::of_bytes(data)?;
        if let Some(text) = completion.says_only() {
            gather.stencil.cut(data, text);
        }
        gather::take(gather, completion)?;
        Ok(false)
    }

    fn mend(&self, parameter: &str, schema_mode: SchemaMode) -> Option<String> {
        match (parameter, schema_mode) {
            ("tools" | "tool_choice", SchemaMode::Tool) => Some("schema_mode: none".to_owned()),
            ("tools", _) => None,
            ("max_tokens", _) => Some("max_tokens_key: max_completion_tokens".to_owned()),
            ("max_completion_tokens", _) => Some("max_tokens_key: max_tokens".to_owned()),
            ("response_format", SchemaMode::Strict) => Some("schema_mode: json_schema".to_owned()),
            ("response_format", SchemaMode::JsonSchema) => Some("schema_mode: json_object".to_owned()),
            ("response_format", _) => Some("schema_mode: none".to_owned()),
            ("stream", _) => Some("stream: false".to_owned()),
            (name, _) => Some(format!("params: {{{name}: null}}")),
        }
    }
}

/// The address of chat completions below the written address; its query is kept.
pub(crate) fn completions(mut url: Url) -> Url {
    let path = url.path().trim_end_matches('/').to_owned();
    if path.ends_with(COMPLETIONS) {
        url.set_path(&path);
    } else {
        url.set_path(&format!("{path}{COMPLETIONS}"));
    }
    url
}
