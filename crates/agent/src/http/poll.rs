//! An agent that accepts a message and answers later: gabfest polls its state until it is done.

use std::time::Duration;

use llm::{
    hint,
    http::{Answer, Url, shown_address},
};
use serde_json::Value;
use tokio::time::sleep;

use super::{
    Shared,
    settings::{Poll, Verb},
};
use crate::{
    kept::Kept,
    reading::{Heard, is_something},
    request::Request,
};

impl Shared {
    /// The finished answer with its body. The time limit of the call ends the polling.
    pub(super) async fn polled(
        &self,
        poll: &Poll,
        request: &Request,
        called: &Url,
        kept: &mut Kept,
        first: Answer,
    ) -> Result<(Answer, Vec<u8>), llm::Error> {
        let mut answer = first;
        let mut address = None;
        loop {
            let body = self.sender.read(&mut answer).await?;
            let value = self.state(&answer, &body)?;
            if poll.done.find("", &value).into_iter().any(is_something) {
                return Ok((answer, body));
            }
            // Any of its answers can have the ids and values that later calls need, or an error.
            let mut heard = Heard::new(&self.settings.reply);
            heard.glance(&value).map_err(|trouble| self.sender.malformed(answer.place(), trouble.0, &body))?;
            kept.take(&mut heard);
            let values = kept.values(request);
            let url = match (&poll.url, address) {
                (Some(url), _) => self.address(url, &values)?,
                (None, Some(known)) => known,
                (None, None) => self.named_address(poll, called, &answer, &value)?,
            };
            sleep(Duration::from_millis(poll.every_ms)).await;
            let call = self.call(request, &values, url.clone(), Verb::Get, None)?;
            address = Some(url);
            answer = self.sender.send(&call).await?;
            self.check(&mut answer).await?;
        }
    }

    /// The content of an answer; null if its body is empty, as that of a 202 may be.
    fn state(&self, answer: &Answer, body: &[u8]) -> Result<Value, llm::Error> {
        if body.trim_ascii().is_empty() {
            return Ok(Value::Null);
        }
        let malformed = |message: String| self.sender.malformed(answer.place(), message, body);
        llm::json::check(body).map_err(|error| malformed(error.to_string()))?;
        serde_json::from_slice(body).map_err(|error| malformed(format!("it is not JSON: {error}")))
    }

    /// The address that the first answer names for the state. Calls carry keys, so other hosts are refused.
    fn named_address(&self, poll: &Poll, called: &Url, answer: &Answer, value: &Value) -> Result<Url, llm::Error> {
        let malformed = |message: &str, mend: &str| {
            let body = value.to_string();
            self.sender.malformed(answer.place(), hint::with(message, Some(mend)), body.as_bytes())
        };
        let address = match &poll.location {
            Some(path) => path.find(value).first().and_then(|found| found.as_str()),
            None => answer.headers().get("location").and_then(|location| location.to_str().ok()),
        };
        let address = address.ok_or_else(|| {
            malformed("it is not done and does not say where to ask", "write `poll.url`, or the path `poll.location`")
        })?;
        let url = called.join(address).map_err(|_| malformed("it names no address to ask", "write `poll.url`"))?;
        if url.origin() != called.origin() {
            let message = format!("it sends questions to another host, {}", shown_address(&url));
            return Err(malformed(&message, "write that address as `poll.url`, if it may get the agent's key"));
        }
        Ok(url)
    }
}
