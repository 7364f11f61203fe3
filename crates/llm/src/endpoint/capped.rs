//! The token cap that `params` set for every chat: limits and prices count with what is sent.

use async_trait::async_trait;

use crate::{
    Error,
    call::{Call, Failed, Named},
    chat::{Reply, Request},
};

/// The outermost layer.
#[derive(Debug)]
pub(super) struct Capped<C> {
    inner: C,
    /// `None`: the server gets no limit.
    max_tokens: Option<u32>,
}

impl<C> Capped<C> {
    pub(super) fn new(inner: C, max_tokens: Option<u32>) -> Self {
        Self { inner, max_tokens }
    }
}

impl<C: Named> Named for Capped<C> {
    fn endpoint(&self) -> &str {
        self.inner.endpoint()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }
}

#[async_trait]
impl<C: Call<Request>> Call<Request> for Capped<C> {
    async fn ask(&self, request: &Request) -> Result<Reply, Error> {
        self.call(request).await.map_err(|failed| failed.error)
    }

    async fn call(&self, request: &Request) -> Result<Reply, Failed> {
        self.inner.call(&Request { max_tokens: self.max_tokens, ..request.clone() }).await
    }
}
