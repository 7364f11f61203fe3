//! A call of any kind: its interface, its request and its reply.
//!
//! The layers ([`crate::limit`], [`crate::retry`], [`crate::price`], the time limit) use only this file. So a chat, an
//! embedding and an agent behind a WebSocket share them.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;

use crate::{
    Error,
    chat::Finish,
    context::Context,
    message::{FunctionCall, Message},
    receipt::{Effort, Receipt},
};

/// The target of calls, as errors and reports name it.
pub trait Named: Send + Sync + fmt::Debug {
    /// The endpoint's name in the settings.
    fn endpoint(&self) -> &str;

    /// The requested model, as the settings name it. A server may answer under a longer name.
    fn name(&self) -> &str {
        self.endpoint()
    }

    /// Method and address for errors; empty if it is not reached by HTTP.
    fn place(&self) -> String {
        String::new()
    }

    /// The missing key of its endpoint, and where gabfest expected it; `None` if it can be called.
    fn absence(&self) -> Option<&str> {
        None
    }

    /// How many bytes of text fit into its context window for certain, beside a reply of this many tokens. `None`: the
    /// settings name no window.
    fn most_input_bytes(&self, _max_tokens: Option<u32>) -> Option<u64> {
        None
    }
}

/// Something that answers requests of one kind. Layers wrap it and implement the same trait.
#[async_trait]
pub trait Call<R: Request>: Named {
    async fn ask(&self, request: &R) -> Result<R::Reply, Error>;

    /// Like [`Self::ask`], but a failed call reports its effort. A layer that retries counts its tries; everything else
    /// makes one.
    async fn call(&self, request: &R) -> Result<R::Reply, Failed> {
        self.ask(request).await.map_err(Failed::once)
    }

    /// The most that one try can cost, in nano-dollars; `None` without a price.
    fn worst_case_nanos(&self, _request: &R) -> Option<i64> {
        None
    }
}

/// The request, as far as layers read it.
pub trait Request: Clone + Send + Sync + 'static {
    type Reply: Reply;

    fn context(&self) -> &Context;

    fn seed(&self) -> Option<u64>;

    /// For the whole call with its retries, without rate-limit waits. The endpoint's own limit also applies to each
    /// try.
    fn timeout(&self) -> Option<Duration>;

    /// The same request for a later try, with what is left of its time.
    #[must_use]
    fn again(&self, try_number: u32, timeout: Option<Duration>) -> Self;

    /// The bytes that a model reads.
    fn input_bytes(&self) -> u64;

    /// `None`: the request sets no bound.
    fn max_output_tokens(&self) -> Option<u32>;

    /// The messages of a chat, for traces.
    fn messages(&self) -> &[Message] {
        &[]
    }
}

/// The reply, as far as layers read and complete it.
pub trait Reply: Send + Sync + 'static {
    fn receipt(&self) -> &Receipt;

    fn receipt_mut(&mut self) -> &mut Receipt;

    /// Why a chat's reply ended; `None` for other calls.
    fn finish(&self) -> Option<Finish> {
        None
    }

    /// What a chat's reply says and calls, for traces.
    fn answer(&self) -> Option<(&str, &[FunctionCall])> {
        None
    }
}

/// A call without a reply, and its effort: the numbers that a [`Receipt`] has too.
#[derive(Debug, Clone)]
pub struct Failed {
    /// Of the last try.
    pub error: Error,
    pub effort: Effort,
}

impl Failed {
    /// In its only try.
    #[must_use]
    pub fn once(error: Error) -> Self {
        let throttled_tries = u32::from(matches!(error, Error::Throttled { .. }));
        let is_sent = !matches!(
            error,
            Error::NoMoney { .. } | Error::Unwritable { .. } | Error::NoKey { .. } | Error::NotRecorded { .. }
        );
        let tries = u32::from(is_sent);
        Self { error, effort: Effort { tries, throttled_tries, ..Effort::default() } }
    }
}

impl<N: Named + ?Sized> Named for Arc<N> {
    fn endpoint(&self) -> &str {
        (**self).endpoint()
    }

    fn name(&self) -> &str {
        (**self).name()
    }

    fn place(&self) -> String {
        (**self).place()
    }

    fn absence(&self) -> Option<&str> {
        (**self).absence()
    }

    fn most_input_bytes(&self, max_tokens: Option<u32>) -> Option<u64> {
        (**self).most_input_bytes(max_tokens)
    }
}

#[async_trait]
impl<R: Request, C: Call<R> + ?Sized> Call<R> for Arc<C> {
    async fn ask(&self, request: &R) -> Result<R::Reply, Error> {
        (**self).ask(request).await
    }

    async fn call(&self, request: &R) -> Result<R::Reply, Failed> {
        (**self).call(request).await
    }

    fn worst_case_nanos(&self, request: &R) -> Option<i64> {
        (**self).worst_case_nanos(request)
    }
}
