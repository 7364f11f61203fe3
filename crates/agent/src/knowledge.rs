//! Agents that look up answers in a knowledge base: what QnA Maker and its successor share.

use std::sync::Arc;

use async_trait::async_trait;
use llm::{
    Call, Named, Receipt, Timing,
    http::{HeaderMap, HeaderName, HttpRequest, Method, Sender, Url, headers, shown_address, written},
};
use record::{FailureKind, answer::Answer};
use scenario::question;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    Error, Start,
    access::CONNECT_WITHIN,
    connection::{Connection, last_words},
    request::Request,
    response::Response,
};

/// The reply of a service that returns no answer.
const NO_MATCH: &str = "No good match found in KB.";

/// How a service is asked and how it answers.
pub(crate) trait Service: Send + Sync + std::fmt::Debug + 'static {
    /// The address and the body of a question.
    fn ask(&self, question: &str, request: &question::Request) -> (Url, Value);

    /// The answers in the body that came, with scores from 0 to 100.
    fn answers(&self, body: &[u8]) -> Result<Vec<Found>, serde_json::Error>;
}

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    pub(crate) text: String,
    pub(crate) answer: Answer,
}

/// An agent that looks answers up, with its connections.
#[derive(Debug)]
pub(crate) struct Knowledge<S>(Arc<Shared<S>>);

#[derive(Debug)]
struct Shared<S> {
    service: S,
    sender: Sender,
    /// With the key, which is marked as sensitive.
    headers: HeaderMap,
}

/// One conversation. Each question is independent.
#[derive(Debug)]
struct Conversation<S> {
    shared: Arc<Shared<S>>,
    request: question::Request,
}

/// What is wrong with an agent's settings.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("its url {0}")]
    Url(&'static str),
    #[error("its key cannot be found")]
    Key(#[source] llm::key::Error),
    #[error("it has no key: write `key: env:NAME` or `key: file:PATH`")]
    NoKey,
    #[error("its key is not printable ASCII")]
    KeyText,
}

impl<S: Service> Knowledge<S> {
    /// `key` is sent in the header, behind `before`.
    pub(crate) fn new(
        name: &str,
        service: S,
        header: HeaderName,
        before: &str,
        key: SecretString,
    ) -> Result<Self, Fault> {
        let value = written::secret(&format!("{before}{}", key.expose_secret())).ok_or(Fault::KeyText)?;
        let headers = HeaderMap::from_iter([(header, value)]);
        let sender = Sender::new(name, vec![key], CONNECT_WITHIN);
        Ok(Self(Arc::new(Shared { service, sender, headers })))
    }
}

impl<S: Service> Connection for Knowledge<S> {
    fn open(&self, start: &Start) -> Result<Arc<dyn Call<Request>>, Error> {
        let plugin = start.plugins.iter().find(|plugin| plugin.name == question::REQUEST);
        let request =
            plugin.map_or(Ok(question::Request::default()), |plugin| question::Request::deserialize(&plugin.config));
        let request = request.map_err(|error| {
            let message = format!("the plugin `{}` is not a valid request of a question: {error}", question::REQUEST);
            Error::before(FailureKind::Misconfigured, message)
        })?;
        Ok(Arc::new(Conversation { shared: Arc::clone(&self.0), request }))
    }

    fn understands_plugins(&self) -> bool {
        true
    }
}

impl<S: Service> Named for Conversation<S> {
    fn endpoint(&self) -> &str {
        self.shared.sender.name()
    }

    fn place(&self) -> String {
        let (url, _) = self.shared.service.ask("", &self.request);
        format!("POST {}", shown_address(&url))
    }
}

#[async_trait]
impl<S: Service> Call<Request> for Conversation<S> {
    async fn ask(&self, request: &Request) -> Result<Response, llm::Error> {
        let Shared { service, sender, headers: ours } = &*self.shared;
        let (url, body) = service.ask(last_words(&request.messages), &self.request);
        let mut headers = ours.clone();
        headers::write(&request.context, &mut headers);
        let body = Some(body.to_string().into_bytes().into());
        let mut answer = sender.send(&HttpRequest { method: Method::POST, url, headers, body }).await?;
        let body = sender.whole(&mut answer).await?;
        let ended = Instant::now();
        llm::json::check(&body).map_err(|error| sender.malformed(answer.place(), error.to_string(), &body))?;
        let found = service
            .answers(&body)
            .map_err(|error| sender.malformed(answer.place(), format!("its body has no answers: {error}"), &body))?;
        let best =
            found.into_iter().reduce(|best, next| if next.answer.score > best.answer.score { next } else { best });
        let best = best.unwrap_or_else(|| Found { text: NO_MATCH.to_owned(), answer: Answer { id: -1, score: 0.0 } });
        let timing = Timing { connect: answer.connect(), total: ended - answer.sent(), ..Timing::default() };
        Ok(Response {
            text: best.text,
            notes: vec![best.answer.note()],
            receipt: Box::new(Receipt { timing, tries: 1, ..Receipt::default() }),
            ..Response::default()
        })
    }
}
