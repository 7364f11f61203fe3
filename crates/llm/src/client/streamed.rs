//! Hears a streamed reply, in a task of its own.
//!
//! A piece wakes this task alone. Without it, each piece would poll the futures of the whole conversation, more than ten
//! deep, whose memory is not in the processor's cache after a pause of some milliseconds.

use std::{
    future::poll_fn,
    panic::resume_unwind,
    sync::Arc,
    task::{Poll, ready},
};

use tokio::{task::JoinSet, time::Instant};

use crate::{
    dialect::Dialect,
    gather::{Gather, Trouble},
    http::{Answer, answer::MOST_STREAM_BYTES, causes::chain, frames::Frames},
};

/// A stream that was heard to its end.
pub(super) struct Heard {
    pub(super) answer: Answer,
    pub(super) gather: Gather,
    /// When its last piece arrived, or what is wrong with it.
    pub(super) outcome: Result<Instant, Trouble>,
}

/// Dropping the future ends the task, and with it the connection.
pub(super) fn hear(dialect: Arc<dyn Dialect>, answer: Answer) -> impl Future<Output = Heard> {
    let mut task = JoinSet::new();
    task.spawn(heard(dialect, answer));
    poll_fn(move |context| match ready!(task.poll_join_next(context)) {
        Some(Ok(heard)) => Poll::Ready(heard),
        Some(Err(error)) if error.is_panic() => resume_unwind(error.into_panic()),
        // The runtime ends, and this future with it.
        _ => Poll::Pending,
    })
}

#[expect(clippy::manual_async_fn, reason = "a block holds what it is given once, an `async fn` twice")]
fn heard(dialect: Arc<dyn Dialect>, mut answer: Answer) -> impl Future<Output = Heard> {
    async move {
        let mut gather = Gather::default();
        let outcome = pieces(&*dialect, &mut answer, &mut gather).await;
        Heard { answer, gather, outcome }
    }
}

async fn pieces(dialect: &dyn Dialect, answer: &mut Answer, gather: &mut Gather) -> Result<Instant, Trouble> {
    let mut frames = Frames::of(answer.media_type().as_deref());
    let mut bytes = 0;
    loop {
        let chunk = answer.chunk().await;
        let chunk = chunk.map_err(|error| Trouble::Malformed(format!("the stream breaks off: {}", chain(&error))))?;
        let at = Instant::now();
        match &chunk {
            Some(chunk) => frames.feed(chunk),
            None => frames.end(),
        }
        if take_events(dialect, &mut frames, gather, at)? {
            answer.linger().await;
            return Ok(at);
        }
        match chunk {
            Some(chunk) => bytes += chunk.len(),
            None if gather.is_finished() => return Ok(at),
            None => return Err(Trouble::Malformed("the stream ends before the reply does".to_owned())),
        }
        if bytes > MOST_STREAM_BYTES {
            return Err(Trouble::Malformed(format!("a stream of more than {MOST_STREAM_BYTES} bytes")));
        }
    }
}

/// Takes all events received so far. Returns whether the last of the stream was among them.
pub(crate) fn take_events(
    dialect: &dyn Dialect,
    frames: &mut Frames,
    gather: &mut Gather,
    at: Instant,
) -> Result<bool, Trouble> {
    while let Some((name, data)) = frames.next_event().map_err(Trouble::Malformed)? {
        if !data.trim_ascii().is_empty() && gather.take(at, |gather| dialect.event(name, data, gather))? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests;
