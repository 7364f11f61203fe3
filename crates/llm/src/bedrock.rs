//! Amazon Bedrock's Converse API, with an API key as bearer or calls that are signed with an AWS access key.
//!
//! `request` writes the body, and `reply` reads a whole answer or the messages of an event stream. [`sign`] signs.

mod reply;
mod request;
pub(crate) mod sign;

use percent_encoding::utf8_percent_encode;
use serde_json::{Map, Value, json};
use url::Url;

use crate::{
    chat::Request,
    dialect::{self, Dialect, Manner, SchemaMode, turns::Image},
    gather::{Gather, Trouble},
};

#[derive(Debug)]
pub(crate) struct Converse;

impl Dialect for Converse {
    fn cannot_carry(&self, request: &Request) -> Option<String> {
        let images = request.messages.iter().flat_map(|message| &message.images);
        let address = images.into_iter().find(|address| format_of(address).is_none())?;
        let shown: String = address.chars().take(60).collect();
        Some(format!(
            "Bedrock takes images as bytes, and this one is an address: {shown}; hint: write it as `data:image/png;base64,…`"
        ))
    }

    fn body(&self, request: &Request, manner: Manner<'_>) -> Vec<u8> {
        dialect::bytes(&request::body(request, manner))
    }

    fn force_tool(&self, name: &str) -> Map<String, Value> {
        dialect::one("toolConfig", json!({ "toolChoice": { "tool": { "name": name } } }))
    }

    fn whole(&self, body: &[u8], gather: &mut Gather) -> Result<(), Trouble> {
        reply::whole(body, gather)
    }

    fn event(&self, name: &[u8], data: &[u8], gather: &mut Gather) -> Result<bool, Trouble> {
        reply::event(name, data, gather)
    }

    fn groups(&self) -> &'static [&'static str] {
        &["inferenceConfig", "additionalModelRequestFields"]
    }

    fn mend(&self, parameter: &str, _: SchemaMode) -> Option<String> {
        match parameter {
            "toolConfig" => None,
            "outputConfig" => Some("schema_mode: none".to_owned()),
            name => Some(dialect::taken_out(name)),
        }
    }
}

/// The address of a model's answers below the address that is written.
pub(crate) fn answers(mut url: Url, model: &str, stream: bool) -> Url {
    let method = if stream { "converse-stream" } else { "converse" };
    // The name of a model may be an ARN with slashes. Colons are encoded too, as in AWS's own clients: the signature
    // covers the encoded path.
    let model = utf8_percent_encode(model, sign::ENCODED);
    let path = format!("{}/model/{model}/{method}", url.path().trim_end_matches('/'));
    url.set_path(&path);
    url
}

/// The format of an image that comes as bytes.
fn format_of(address: &str) -> Option<&str> {
    match Image::of(address) {
        Image::Inline { media_type, .. } => media_type.strip_prefix("image/"),
        Image::Address(_) => None,
    }
}

#[cfg(test)]
mod tests;
