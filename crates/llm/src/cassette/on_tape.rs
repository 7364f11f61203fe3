//! The layer that records calls, or answers them from a recording.

use std::{fmt, sync::Arc};

use async_trait::async_trait;

use crate::{
    Error,
    call::{Call, Failed, Named, Reply as _},
    cassette::{Cache, Recorder, Recording, Taped},
    chat::Chat,
    measure::{Measurement, Measures, Request},
};

/// What happens to calls.
#[derive(Debug, Clone, Default)]
pub enum Tape {
    /// They are made.
    #[default]
    Off,
    /// They are made and recorded.
    Record(Arc<Recorder>),
    /// They are answered from the recording, and none is made.
    Replay(Arc<Recording>),
    /// Those without an earlier answer are made.
    Cache(Arc<Cache>),
}

impl Tape {
    #[must_use]
    pub fn is_replay(&self) -> bool {
        matches!(self, Self::Replay(_))
    }

    /// A chat model with this tape as its outermost layer.
    #[must_use]
    pub fn chat(&self, model: Arc<dyn Chat>) -> Arc<dyn Chat> {
        match self {
            Self::Off => model,
            tape => Arc::new(OnTape { inner: model, tape: tape.clone() }),
        }
    }

    /// A measuring model with this tape as its outermost layer.
    #[must_use]
    pub fn measures<M: Measurement>(&self, model: Arc<dyn Measures<M>>) -> Arc<dyn Measures<M>>
    where
        Request<M>: Taped,
    {
        match self {
            Self::Off => model,
            tape => Arc::new(OnTape { inner: model, tape: tape.clone() }),
        }
    }

    /// Any call with this tape as its outermost layer.
    #[must_use]
    pub fn around<R: Taped>(&self, call: Arc<dyn Call<R>>) -> Arc<dyn Call<R>> {
        match self {
            Self::Off => call,
            tape => Arc::new(OnTape { inner: call, tape: tape.clone() }),
        }
    }
}

/// A call with a [`Tape`] around all other layers: an answer is recorded as its caller gets it.
pub struct OnTape<C: ?Sized> {
    inner: Arc<C>,
    tape: Tape,
}

impl<C: Named + ?Sized> fmt::Debug for OnTape<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnTape").field("endpoint", &self.inner.endpoint()).field("tape", &self.tape).finish()
    }
}

impl<C: Named + ?Sized> Named for OnTape<C> {
    fn endpoint(&self) -> &str {
        self.inner.endpoint()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn place(&self) -> String {
        self.inner.place()
    }

    /// A recording needs no key.
    fn absence(&self) -> Option<&str> {
        self.inner.absence().filter(|_| !self.tape.is_replay())
    }

    fn most_input_bytes(&self, max_tokens: Option<u32>) -> Option<u64> {
        self.inner.most_input_bytes(max_tokens)
    }
}

#[async_trait]
impl<R: Taped, C: Call<R> + ?Sized> Call<R> for OnTape<C> {
    async fn ask(&self, request: &R) -> Result<R::Reply, Error> {
        self.call(request).await.map_err(|failed| failed.error)
    }

    async fn call(&self, request: &R) -> Result<R::Reply, Failed> {
        let inner = &*self.inner;
        match &self.tape {
            Tape::Off => inner.call(request).await,
            Tape::Record(recorder) => {
                let answer = inner.call(request).await;
                recorder.keep(inner.name(), request, &answer);
                answer
            }
            Tape::Replay(recording) => recording.answer(inner.endpoint(), inner.name(), request),
            Tape::Cache(cache) => {
                if let Some(mut reply) = cache.find(inner.name(), request) {
                    let receipt = reply.receipt_mut();
                    // It was paid when it was asked.
                    (receipt.cost_nanos, receipt.reported_cost_nanos) = (Some(0), None);
                    (receipt.usage, receipt.timing) = Default::default();
                    return Ok(reply);
                }
                let answer = inner.call(request).await;
                cache.keep(inner.name(), request, &answer);
                answer
            }
        }
    }
}
