//! A WebSocket agent as it is written in `gabfest.yaml`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    access::with_access,
    reading::Reading,
    template::{Template, Text},
};

with_access! {
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct Settings {
        /// `ws://…` or `wss://…`. Placeholders in it are percent-encoded.
        pub url: Text,
        /// Sent first, on every new connection.
        #[serde(default)]
        pub hello: Option<Template>,
        /// The message to send: JSON, or a text. Without it, the user's text as it is.
        #[serde(default)]
        pub message: Option<Template>,
        /// Where the parts of the reply are in what the agent sends. Without it, the next text message is the reply.
        #[serde(default)]
        pub reply: Reading,
        /// The value of `{{ session }}` until a message names another one.
        #[serde(default)]
        pub session: Option<Text>,
    }
}

impl Settings {
    /// What is wrong with the settings: the key, and why.
    pub(super) fn vet(&self) -> Option<(&'static str, String)> {
        let address = || match self.url.sample_address(self.reply.remember.keys()) {
            Ok(sample) => plain_address(&sample).err(),
            Err(error) => Some(self.url.misremembered(&self.reply.remember).unwrap_or_else(|| error.to_string())),
        };
        if let Some(reason) = address() {
            return Some(("url", reason));
        }
        if let Some(fault) = self.reply.fault() {
            return Some(("reply", format!("cannot be used: {fault}")));
        }
        if self.is_endless() {
            return Some(("reply", "would never end: `delta` needs `done` or `text`".to_owned()));
        }
        let remember = &self.reply.remember;
        let misremembered = |key, template: &Option<Template>| {
            template.as_ref().and_then(|template| Some((key, template.misremembered(remember)?)))
        };
        let session = || self.session.as_ref().and_then(|text| Some(("session", text.misremembered(remember)?)));
        self.access()
            .fault(true)
            .or_else(|| misremembered("hello", &self.hello))
            .or_else(|| misremembered("message", &self.message))
            .or_else(session)
            .or_else(|| self.access().misremembered(remember))
    }

    fn is_endless(&self) -> bool {
        let reading = &self.reply;
        reading.delta.is_some() && reading.text.is_none() && reading.done.is_none()
    }
}

/// An address of a WebSocket is one of HTTP with another scheme.
fn plain_address(written: &str) -> Result<(), String> {
    let plain = written.strip_prefix("ws").map(|rest| format!("http{rest}"));
    let plain = plain.ok_or("is neither ws:// nor wss://")?;
    llm::http::address(&plain)?;
    Ok(())
}
