//! The body of an answer: whole, or a stream whose pieces are sent at their times.

use std::{
    cell::RefCell,
    convert::Infallible,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use serde_json::json;
use tokio::time::{Instant, Sleep, sleep_until};

use super::{Pace, Stats};

/// The pieces of a streamed answer.
const PIECES: u32 = 16;

pub(super) enum TimedBody {
    Whole(Option<Bytes>),
    Stream(Box<Pieces>),
}

pub(super) struct Pieces {
    turn: usize,
    pace: Pace,
    began: Instant,
    stats: Rc<RefCell<Stats>>,
    sent: u32,
    first_token: Option<Duration>,
    timer: Option<Pin<Box<Sleep>>>,
    ended: bool,
}

impl TimedBody {
    pub(super) fn whole(text: Bytes) -> Self {
        Self::Whole(Some(text))
    }

    pub(super) fn stream(turn: usize, pace: Pace, began: Instant, stats: Rc<RefCell<Stats>>) -> Self {
        Self::Stream(Box::new(Pieces {
            turn,
            pace,
            began,
            stats,
            sent: 0,
            first_token: None,
            timer: None,
            ended: false,
        }))
    }
}

/// The words of the answer to this turn: `turn=N` shows whether the client sent its history.
fn piece(turn: usize, number: u32) -> String {
    if number == 0 { format!("turn={turn}") } else { format!(" word{number}") }
}

/// A chat completion.
pub(super) fn completion(turn: usize) -> Bytes {
    let text: String = (0..PIECES).map(|number| piece(turn, number)).collect();
    let body = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_790_000_000, "model": "bench",
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
        "usage": usage(turn),
    });
    body.to_string().into()
}

fn usage(turn: usize) -> serde_json::Value {
    json!({ "prompt_tokens": 20 * turn, "completion_tokens": PIECES, "total_tokens": 20 * turn + PIECES as usize })
}

impl Pieces {
    /// Each piece is timed from the start, so that a timer's lateness does not add up.
    fn due(&self, number: u32) -> Instant {
        self.began + self.pace.first + self.pace.between * number
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let due = self.due(self.sent);
        if due > Instant::now() {
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
            if timer.deadline() != due {
                timer.as_mut().reset(due);
            }
            ready!(timer.as_mut().poll(context));
        }
        let now = Instant::now();
        let mut events = Vec::with_capacity(256);
        while self.sent < PIECES && self.due(self.sent) <= now {
            self.first_token.get_or_insert_with(|| self.began.elapsed());
            let delta = json!({ "content": piece(self.turn, self.sent) });
            event(&mut events, &json!([{ "index": 0, "delta": delta, "finish_reason": null }]), None);
            self.sent += 1;
        }
        if self.sent == PIECES {
            event(&mut events, &json!([{ "index": 0, "delta": {}, "finish_reason": "stop" }]), None);
            event(&mut events, &json!([]), Some(usage(self.turn)));
            events.extend_from_slice(b"data: [DONE]\n\n");
            self.ended = true;
            self.stats.borrow_mut().answered(self.began, self.first_token);
        }
        Poll::Ready(Some(events.into()))
    }
}

fn event(events: &mut Vec<u8>, choices: &serde_json::Value, usage: Option<serde_json::Value>) {
    let chunk = json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_790_000_000, "model": "bench",
        "choices": choices, "usage": usage,
    });
    events.extend_from_slice(b"data: ");
    events.extend_from_slice(chunk.to_string().as_bytes());
    events.extend_from_slice(b"\n\n");
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match self.get_mut() {
            Self::Whole(text) => text.take(),
            Self::Stream(pieces) => ready!(pieces.poll(context)),
        };
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(text) => text.is_none(),
            Self::Stream(pieces) => pieces.ended,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}
