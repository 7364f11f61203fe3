//! An answer as it arrives: its head, then its body, each with its time.

use std::time::Duration;

use ::http::{
    Response, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap},
};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use tokio::time::{Instant, timeout};

use super::{
    connections::{Head, Taken},
    request_line::RequestLine,
};

/// A body that is not streamed.
pub(crate) const MOST_BODY_BYTES: usize = 1 << 20;
/// A stream, wrapping and all: the pieces of a long reply are some three hundred bytes for one token.
pub(crate) const MOST_STREAM_BYTES: usize = 64 << 20;
/// How long to wait for the end of a stream after its last event, so that the connection can be reused.
const LINGER: Duration = Duration::from_millis(100);

/// The head of an answer, and when the call that it answers was on a warm connection.
#[derive(Debug)]
pub struct Answer {
    place: RequestLine,
    response: Response<Incoming>,
    sent: Instant,
    connect: Option<Duration>,
    /// Until the body is read. Dropping it closes the connection.
    connection: Option<Taken>,
}

/// How a body ends.
pub(crate) enum Ending {
    Whole,
    TooLong,
    Broken(hyper::Error),
}

impl Answer {
    /// `began`: when the call was begun. Its latency begins later if it had to connect first.
    pub(super) fn new(place: RequestLine, head: Head, began: Instant) -> Self {
        let Head { response, connection, connected_at } = head;
        let (sent, connect) = (connected_at.unwrap_or(began), connected_at.map(|at| at - began));
        let mut answer = Self { place, response, sent, connect, connection: Some(connection) };
        if answer.response.body().is_end_stream() {
            answer.give_back();
        }
        answer
    }

    fn give_back(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.give_back();
        }
    }

    /// The address of the call.
    #[must_use]
    pub fn place(&self) -> &RequestLine {
        &self.place
    }

    /// When the call began or, if it had to connect, when its connection was established.
    #[must_use]
    pub fn sent(&self) -> Instant {
        self.sent
    }

    /// How long connecting took; `None` if the connection was open already.
    #[must_use]
    pub fn connect(&self) -> Option<Duration> {
        self.connect
    }

    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    #[must_use]
    pub fn is_success(&self) -> bool {
        self.response.status().is_success()
    }

    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The media type in lower case, without parameters; `None` if the server names none.
    #[must_use]
    pub fn media_type(&self) -> Option<String> {
        let value = self.response.headers().get(CONTENT_TYPE)?;
        let text = value.to_str().unwrap_or("not text");
        Some(text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
    }

    /// A compression. No call asks for one, and its expanded size would be unbounded.
    #[must_use]
    pub fn encoding(&self) -> Option<String> {
        let value = self.response.headers().get(CONTENT_ENCODING)?;
        let text = value.to_str().unwrap_or("not text").trim().to_ascii_lowercase();
        (!text.is_empty() && text != "identity").then_some(text)
    }

    /// The next piece of the body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, hyper::Error> {
        // Without its connection, the body is at its end.
        while let Some(connection) = &mut self.connection
            && let Some(frame) = connection.working(self.response.body_mut().frame()).await
        {
            // A frame without data is a trailer, which is ignored.
            if let Ok(data) = frame?.into_data() {
                return Ok(Some(data));
            }
        }
        self.give_back();
        Ok(None)
    }

    /// Up to `most` bytes of a body, and how it ended.
    pub(crate) async fn body(&mut self, most: usize) -> (Vec<u8>, Ending) {
        let expected =
            self.response.body().size_hint().exact().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
        let mut body = Vec::with_capacity(expected.min(most));
        loop {
            match self.chunk().await {
                Ok(Some(chunk)) => {
                    body.extend_from_slice(&chunk[..chunk.len().min(most - body.len())]);
                    if body.len() == most {
                        return (body, Ending::TooLong);
                    }
                }
                Ok(None) => return (body, Ending::Whole),
                Err(error) => return (body, Ending::Broken(error)),
            }
        }
    }

    /// Waits for a moment for the end of the stream, without which the connection could not be reused.
    pub(crate) async fn linger(&mut self) {
        let rest = async { while let Ok(Some(_)) = self.chunk().await {} };
        let _ = timeout(LINGER, rest).await;
    }
}
