//! Anthropic's Messages API.
//!
//! `request` writes the body, and `reply` reads a whole message or the events of a stream.

mod reply;
mod request;

use ::http::header::{HeaderMap, HeaderValue};
use serde_json::{Map, Value, json};
use url::Url;

use crate::{
    chat::Request,
    dialect::{self, Dialect, Manner, SchemaMode},
    gather::{Gather, Trouble},
};

/// Anthropic's own address.
pub(crate) const ADDRESS: &str = "https://api.anthropic.com/v1";

/// The version of the API that is written and read here.
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

#[derive(Debug)]
pub(crate) struct Messages {
    /// The limit of a call that sets none: the API requires one in every call.
    pub(crate) max_tokens: u32,
}

impl Dialect for Messages {
    fn headers(&self, headers: &mut HeaderMap) {
        headers.entry(VERSION.0).or_insert(HeaderValue::from_static(VERSION.1));
    }

    fn body(&self, request: &Request, manner: Manner<'_>) -> Vec<u8> {
        dialect::bytes(&request::body(request, manner, self.max_tokens))
    }

    fn force_tool(&self, name: &str) -> Map<String, Value> {
        dialect::one("tool_choice", json!({ "type": "tool", "name": name }))
    }

    fn whole(&self, body: &[u8], gather: &mut Gather) -> Result<(), Trouble> {
        reply::whole(body, gather)
    }

    fn event(&self, _: &[u8], data: &[u8], gather: &mut Gather) -> Result<bool, Trouble> {
        reply::event(data, gather)
    }

    fn groups(&self) -> &'static [&'static str] {
        &["output_config"]
    }

    fn mend(&self, parameter: &str, _: SchemaMode) -> Option<String> {
        match parameter {
            "tools" | "max_tokens" => None,
            "output_config" | "output_config.format" => Some("schema_mode: none".to_owned()),
            "stream" => Some("stream: false".to_owned()),
            name => Some(dialect::taken_out(name)),
        }
    }
}

/// The address of messages below the address that is written.
pub(crate) fn messages(mut url: Url) -> Url {
    let path = url.path().trim_end_matches('/').to_owned();
    let path = if path.ends_with("/messages") { path } else { format!("{path}/messages") };
    url.set_path(&path);
    url
}

#[cfg(test)]
mod tests;
