//! Polls the messages of a session for a reply, for servers that only acknowledge a message.

use std::time::Duration;

use llm::{
    Receipt, Timing,
    http::{Answer, Method},
};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::{
    request::Request,
    response::{Response, several},
};

use super::Server;

/// Of a session's messages, the latest that are looked at.
const MOST_MESSAGES: &str = "50";

/// What the agent has written since the user's message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    texts: Vec<String>,
    actions: Vec<String>,
    seen: Option<Instant>,
}

impl Server {
    /// Polls until there is an answer and the next poll finds no more of it: agents answer in several messages.
    pub(super) async fn poll(
        &self,
        request: &Request,
        session: &str,
        posted: &Answer,
        sent: &Value,
    ) -> Result<Found, llm::Error> {
        let ours = sent.pointer("/userMessage/id").or_else(|| sent.get("id")).and_then(Value::as_str);
        let Some(ours) = ours else {
            return Err(self.sender.malformed(
                posted.place(),
                "it does not say which message it took".to_owned(),
                sent.to_string().as_bytes(),
            ));
        };
        let mut url = self.url(&["api", "messaging", "sessions", session, "messages"]);
        url.query_pairs_mut().append_pair("limit", MOST_MESSAGES);
        let call = self.call(request, Method::GET, url, None);
        let mut before = Found::default();
        loop {
            sleep(Duration::from_millis(self.settings.poll_ms.max(1))).await;
            let mut answer = self.sender.send(&call).await?;
            let body = self.sender.whole(&mut answer).await?;
            let mut found = Found::since(ours, &self.json(&answer, &body)?);
            if !found.texts.is_empty() && found.texts == before.texts {
                found.seen = before.seen;
                return Ok(found);
            }
            found.seen = Some(Instant::now());
            before = found;
        }
    }
}

impl Found {
    /// The messages after ours, in a list that starts with the latest.
    fn since(ours: &str, listed: &Value) -> Self {
        let mut found = Self::default();
        let all = listed.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let newer: Vec<&Value> = all.iter().take_while(|message| message["id"] != ours).collect();
        for message in newer.into_iter().rev().filter(|message| message["isAgent"] == true) {
            found.texts.extend(message["content"].as_str().filter(|text| !text.is_empty()).map(str::to_owned));
            let actions = message.pointer("/metadata/actions").and_then(Value::as_array).into_iter().flatten();
            found.actions.extend(actions.filter_map(Value::as_str).map(str::to_owned));
        }
        found
    }

    pub(super) fn into_reply(self, sent: Instant, connect: Option<Duration>) -> Response {
        let total = self.seen.map_or(Duration::ZERO, |seen| seen - sent);
        let timing = Timing { connect, total, ..Timing::default() };
        Response {
            text: self.texts.join("\n"),
            messages: several(&self.texts),
            actions: self.actions,
            receipt: Box::new(Receipt { timing, tries: 1, ..Receipt::default() }),
            ..Response::default()
        }
    }
}
