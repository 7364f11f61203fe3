//! Emely: a chatbot behind HTTP that gets the last messages as one text and answers with one.

use std::sync::Arc;

use async_trait::async_trait;
use llm::{
    Call, Named, hint,
    http::{HeaderMap, HttpRequest, Method, Sender, Url, headers, shown_address},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    Error, Start,
    access::{self, CONNECT_WITHIN},
    connection::Connection,
    history::History,
    request::Request,
    response::Response,
    section::{Connecting, Section, address_fault},
    surroundings::Surroundings,
};

/// How many messages are sent before the current one unless the settings say otherwise: three in all.
const USUAL_HISTORY: History = History::Last(2);
/// The characters of a reply that count; Emely's own test framework cuts replies in the same way.
const USUAL_MAX_CHARACTERS: usize = 128;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// The URL for messages, such as `http://localhost:8086/inference`.
    pub url: String,
    /// Longer replies are cut; 128 by default.
    #[serde(default)]
    pub max_characters: Option<usize>,
}

/// The agent and its connections.
#[derive(Debug, Clone)]
pub(crate) struct Emely(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    sender: Sender,
    url: Url,
    max_characters: usize,
}

impl Section for Settings {
    fn name(&self) -> &'static str {
        "emely"
    }

    fn usual_history(&self) -> History {
        USUAL_HISTORY
    }

    fn fault(&self) -> Option<(&'static str, String)> {
        address_fault("url", &self.url)
    }

    fn connect(&self, name: &str, _: &Surroundings) -> Connecting {
        Ok(Box::new(Emely::new(name, self)?))
    }
}

impl Emely {
    pub(crate) fn new(name: &str, settings: &Settings) -> Result<Self, access::Error> {
        let url = llm::http::address(&settings.url)
            .map_err(|reason| access::Error::Client(format!("url {} {reason}", settings.url)))?;
        let sender = Sender::new(name, Vec::new(), CONNECT_WITHIN);
        let max_characters = settings.max_characters.unwrap_or(USUAL_MAX_CHARACTERS);
        Ok(Self(Arc::new(Shared { sender, url, max_characters })))
    }
}

impl Connection for Emely {
    fn open(&self, _: &Start) -> Result<Arc<dyn Call<Request>>, Error> {
        Ok(Arc::new(self.clone()))
    }
}

impl Named for Emely {
    fn endpoint(&self) -> &str {
        self.0.sender.name()
    }

    fn place(&self) -> String {
        format!("POST {}", shown_address(&self.0.url))
    }
}

#[async_trait]
impl Call<Request> for Emely {
    async fn ask(&self, request: &Request) -> Result<Response, llm::Error> {
        let Shared { sender, url, max_characters } = &*self.0;
        let mut headers = HeaderMap::new();
        headers::write(&request.context, &mut headers);
        let body = body(request).to_string().into_bytes().into();
        let call = HttpRequest { method: Method::POST, url: url.clone(), headers, body: Some(body) };
        let mut answer = sender.send(&call).await?;
        let body = sender.whole(&mut answer).await?;
        let ended = Instant::now();
        let value = llm::json::check(&body).ok().and_then(|()| serde_json::from_slice::<Value>(&body).ok());
        let text = value.and_then(|value| Some(value["text"].as_str()?.to_owned()));
        let Some(text) = text else {
            return Err(sender.malformed(
                answer.place(),
                hint::with("an answer without a `text`", Some("write the address of Emely's inference in `url`")),
                &body,
            ));
        };
        let mut reply = Response { text: text.chars().take(*max_characters).collect(), ..Response::default() };
        reply.receipt.timing.total = ended.saturating_duration_since(answer.sent());
        reply.receipt.timing.connect = answer.connect();
        reply.receipt.tries = 1;
        Ok(reply)
    }
}

/// The service expects two of the headers in the body. Each message except the first starts with a space.
fn body(request: &Request) -> Value {
    let lines: Vec<&str> = request.messages.iter().map(|message| message.content.as_str()).collect();
    json!({ "accept": "application/json", "Content-Type": "application/json", "text": lines.join("\n ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_messages_are_one_text() {
        let messages = ["hi", "hello", "how are you?"].map(llm::Message::user).to_vec();
        let request = Request { messages, ..Request::default() };
        assert_eq!(body(&request)["text"], "hi\n hello\n how are you?");
        assert_eq!(body(&Request::default())["text"], "");
    }
}
