//! The mock's version of OpenAI's chat completions, and of Azure's variant.

use axum::http::{HeaderMap, StatusCode};

use crate::{http::headers, mock::answer::Answer};

use super::{
    body::Body,
    reply::{self, Heading},
    spoken::{Asked, Refusal, Spoken},
};

#[derive(Debug)]
pub(super) struct Openai;

/// Azure expects its key in another header and the version of the API in the address, and it starts a stream with the
/// filter's result for the prompt.
#[derive(Debug)]
pub(super) struct Azure {
    pub(super) has_version: bool,
}

impl Spoken for Openai {
    fn read(&self, sent: &HeaderMap, body: &[u8]) -> Result<Asked, Refusal> {
        let body = Body::read(body).map_err(|error| Refusal::bad(error.to_string()))?;
        let (stream, wants_usage) = (body.stream == Some(true), body.wants_usage());
        let model = body.model.clone().unwrap_or_default();
        Ok(Asked { request: body.into_request(headers::read(sent)), model, stream, wants_usage })
    }

    fn whole(&self, heading: &Heading, answer: &Answer) -> Vec<u8> {
        reply::whole(heading, answer)
    }

    fn events(&self, heading: &Heading, answer: &Answer, wants_usage: bool) -> Vec<Vec<u8>> {
        reply::events(heading, answer, wants_usage)
    }

    fn error(&self, status: StatusCode, message: &str) -> Vec<u8> {
        let kind = match status.as_u16() {
            429 => "rate_limit_exceeded",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        reply::error(message, kind)
    }
}

impl Spoken for Azure {
    fn read(&self, sent: &HeaderMap, body: &[u8]) -> Result<Asked, Refusal> {
        if !sent.contains_key("api-key") {
            return Err(Refusal::new(401, "Access denied due to missing subscription key."));
        }
        if !self.has_version {
            return Err(Refusal::new(404, "Resource not found"));
        }
        Openai.read(sent, body)
    }

    fn whole(&self, heading: &Heading, answer: &Answer) -> Vec<u8> {
        Openai.whole(heading, answer)
    }

    fn events(&self, heading: &Heading, answer: &Answer, wants_usage: bool) -> Vec<Vec<u8>> {
        let mut events = Openai.events(heading, answer, wants_usage);
        let filtered = "data: {\"choices\":[],\"created\":0,\"id\":\"\",\"model\":\"\",\"object\":\"\",\"prompt_filter_results\":[]}\n\n";
        if let Some(first) = events.first_mut() {
            first.splice(0..0, filtered.bytes());
        }
        events
    }

    fn error(&self, status: StatusCode, message: &str) -> Vec<u8> {
        Openai.error(status, message)
    }
}
