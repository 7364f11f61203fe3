//! One call for a chat in any API: reads it, plays it, waits, and answers whole or as a stream.

use std::{iter, time::Duration};

use axum::{
    body::Body as ResponseBody,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};
use bytes::Bytes;
use futures_util::stream;
use tokio::time::Instant;

use crate::{
    Usage,
    chat::Finish,
    mock::{
        answer::Answer,
        model::{Outcome, pieces, until},
        weather::{Pace, Trouble},
    },
};

use super::{
    reply::Heading,
    served::Served,
    spoken::{Asked, Refusal, Spoken},
    stats::Call,
};

const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");
pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");
const HTML: HeaderValue = HeaderValue::from_static("text/html");

/// Plays a call of one API.
pub(super) async fn complete(served: &Served, spoken: &dyn Spoken, sent: &HeaderMap, bytes: &Bytes) -> Response {
    let start = Instant::now();
    let Asked { request, model, stream, wants_usage } = match spoken.read(sent, bytes) {
        Ok(asked) => asked,
        Err(Refusal { status, message }) => {
            served.stats.refused();
            return answer_with(status, JSON, spoken.error(status, &message));
        }
    };
    let Outcome { role, pace, result, id } = served.mock.chat(&request, &model);
    let mut call = served.stats.begin(role, start, &request.context);
    let heading = Heading { id, model, fingerprint: served.mock.fingerprint() };
    match result {
        Err(Trouble::Hang) => {
            call.hangs();
            std::future::pending().await
        }
        Err(trouble) => {
            until(start, pace.first).await;
            troubled(trouble, spoken, &heading, stream, call)
        }
        Ok(answer) => {
            call.says(&answer.text);
            until(start, pace.first).await;
            if stream {
                let events = spoken.events(&heading, &answer, wants_usage);
                return streamed(events, spoken.stream_type(), answer.usage, pace, start, call);
            }
            until(start, pace.last(pieces(&answer.text).count())).await;
            let body = spoken.whole(&heading, &answer);
            call.answered(StatusCode::OK, answer.usage);
            answer_with(StatusCode::OK, JSON, body)
        }
    }
}

fn streamed(
    events: Vec<Vec<u8>>,
    kind: HeaderValue,
    usage: Usage,
    pace: Pace<'_>,
    start: Instant,
    mut call: Call,
) -> Response {
    call.streams();
    if pace.is_burst() {
        // One write for all events: the client reads the same, and neither side pays for wake-ups.
        call.answered(StatusCode::OK, usage);
        return answer_with(StatusCode::OK, kind, events.concat());
    }
    let timed = pace.due().zip(events);
    let pieces = stream::unfold((timed, Some(call)), move |(mut timed, call)| async move {
        let mut call = call?;
        let Some((due, event)) = timed.next() else {
            call.answered(StatusCode::OK, usage);
            return None;
        };
        until(start, due).await;
        call.said_something();
        Some((Ok::<_, std::convert::Infallible>(Bytes::from(event)), (timed, Some(call))))
    });
    answer_with(StatusCode::OK, kind, ResponseBody::from_stream(pieces))
}

pub(super) fn troubled(trouble: Trouble, spoken: &dyn Spoken, heading: &Heading, stream: bool, call: Call) -> Response {
    match trouble {
        Trouble::Throttled { after } => {
            call.failed(StatusCode::TOO_MANY_REQUESTS);
            let body = spoken.error(StatusCode::TOO_MANY_REQUESTS, "the mock throttles this call");
            let mut response = answer_with(StatusCode::TOO_MANY_REQUESTS, JSON, body);
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(after)));
            let ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
            response.headers_mut().insert(RETRY_AFTER_MS, HeaderValue::from(ms));
            response
        }
        Trouble::Malformed if stream => {
            call.malformed();
            let half =
                Answer { text: "This reply breaks off in the".to_owned(), finish: Finish::Stop, ..Answer::default() };
            let first = spoken.events(heading, &half, false).into_iter().next().unwrap_or_default();
            answer_with(
                StatusCode::OK,
                spoken.stream_type(),
                ResponseBody::from_stream(stream::iter(iter::once(Ok::<_, std::convert::Infallible>(Bytes::from(
                    first,
                ))))),
            )
        }
        Trouble::Malformed => {
            call.malformed();
            answer_with(StatusCode::OK, HTML, &b"<!doctype html><title>Welcome</title><h1>It works!</h1>\n"[..])
        }
        Trouble::Failed | Trouble::Hang => {
            call.failed(StatusCode::INTERNAL_SERVER_ERROR);
            let body = spoken.error(StatusCode::INTERNAL_SERVER_ERROR, "the mock fails this call");
            answer_with(StatusCode::INTERNAL_SERVER_ERROR, JSON, body)
        }
    }
}

pub(super) fn answer_with(status: StatusCode, content_type: HeaderValue, body: impl Into<ResponseBody>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

/// `Retry-After` has no fractions; rounding down would make the retry too early.
fn whole_seconds(after: Duration) -> u64 {
    after.as_secs() + u64::from(after.subsec_nanos() > 0)
}
