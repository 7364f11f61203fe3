//! A check behind HTTP: the transcript is posted, and the answer is the body.

use std::{fmt, time::Duration};

use reqwest::{StatusCode, header};
use tokio::time::{sleep, timeout};

use super::answer::{Answered, Error, MOST_BYTES, excerpt};
use crate::http::{self, Service};

/// The pauses before retries, one for each retry.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(400)];

pub(super) struct HttpCheck {
    service: Service,
    timeout: Duration,
    /// Names its address.
    digest: String,
}

impl HttpCheck {
    pub(super) fn new(url: &str, key: Option<&llm::key::KeyRef>, timeout: Duration) -> Result<Self, http::SetupError> {
        let service = Service::new(url, key)?;
        // The query may hold a token, and can change with each start of the worker.
        let mut address = service.url.clone();
        address.set_query(None);
        let digest = scenario::Digest::of(address.as_str().as_bytes()).short().to_owned();
        Ok(Self { service, timeout, digest })
    }

    /// Retries after a lost connection, a 429 and a status of 500 or above. A timeout is not retried: it would repeat.
    pub(super) async fn ask(&self, id: &str, transcript: &str) -> Result<Answered, Error> {
        let mut pauses = PAUSES.iter();
        loop {
            let failure = match self.try_once(id, transcript).await? {
                Ok(text) => return Ok(Answered { text, program: self.digest.clone() }),
                Err(failure) => failure,
            };
            match pauses.next() {
                Some(pause) => sleep(*pause).await,
                None => return Err(Error::Failed(format!("{failure}, in {} tries", PAUSES.len() + 1))),
            }
        }
    }

    /// A retry may help with the inner error.
    async fn try_once(&self, id: &str, transcript: &str) -> Result<Result<String, String>, Error> {
        let request = self.service.post().header(header::CONTENT_TYPE, "application/json");
        let request = request.header("Idempotency-Key", id).body(transcript.to_owned());
        let received = timeout(self.timeout, http::receive(request, MOST_BYTES)).await;
        let (status, body) = match received.map_err(|_| Error::TimedOut(self.timeout))? {
            Ok(answer) => answer,
            Err(error @ http::Error::Unreachable(_)) => return Ok(Err(format!("it cannot {error}"))),
            Err(error @ http::Error::TooLarge(_)) => return Err(Error::Malformed(format!("it does not {error}"))),
        };
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            return Ok(Err(format!("it answers with the status {status}: {}", excerpt(&body))));
        }
        if !status.is_success() {
            return Err(Error::Failed(format!("it answers with the status {status}: {}", excerpt(&body))));
        }
        String::from_utf8(body).map(Ok).map_err(|_| Error::Malformed("its answer is not UTF-8".to_owned()))
    }
}

/// Shows only the host, because an address may hold a token.
impl fmt::Debug for HttpCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpCheck").field("host", &self.service.host()).finish_non_exhaustive()
    }
}
