//! A check behind HTTP: the transcript is posted, and the answer is the body.

use std::{fmt, time::Duration};

use reqwest::{StatusCode, header};
use tokio::time::{sleep, timeout};

use super::answer::{Error, MOST_BYTES, excerpt};
use crate::http::{self, Service};

/// How long to wait before each repeated try. There are as many of them.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(400)];

pub(super) struct HttpCheck {
    service: Service,
    timeout: Duration,
}

impl HttpCheck {
    pub(super) fn new(url: &str, key: Option<&llm::key::KeyRef>, timeout: Duration) -> Result<Self, http::SetupError> {
        Ok(Self { service: Service::new(url, key)?, timeout })
    }

    /// Tries again after a lost connection, a 429 and a status of 500 or above. A check that takes too long once would do so
    /// again.
    pub(super) async fn ask(&self, id: &str, transcript: &str) -> Result<String, Error> {
        let mut pauses = PAUSES.iter();
        loop {
            let failure = match self.try_once(id, transcript).await? {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            match pauses.next() {
                Some(pause) => sleep(*pause).await,
                None => return Err(Error::Failed(format!("{failure}, in {} tries", PAUSES.len() + 1))),
            }
        }
    }

    /// The inner error can pass by itself.
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

/// An address may hold a token, so only its host is shown.
impl fmt::Debug for HttpCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpCheck").field("host", &self.service.host()).finish_non_exhaustive()
    }
}
