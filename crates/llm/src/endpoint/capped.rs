//! The most tokens of a reply as `params` say it: limits and prices count with what is sent, not with what was asked.

use async_trait::async_trait;

use crate::{Error, Failed, Model, Reply, Request, Task};

/// It stands outside all other layers.
#[derive(Debug)]
pub(super) struct Capped<M> {
    inner: M,
    /// `None`: the server is told no limit.
    max_tokens: Option<u32>,
}

impl<M: Model> Capped<M> {
    pub(super) fn new(inner: M, max_tokens: Option<u32>) -> Self {
        Self { inner, max_tokens }
    }
}

#[async_trait]
impl<M: Model> Model for Capped<M> {
    fn endpoint(&self) -> &str {
        self.inner.endpoint()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn ask(&self, request: &Request) -> Result<Reply, Error> {
        self.call(request).await.map_err(|failed| failed.error)
    }

    async fn call(&self, request: &Request) -> Result<Reply, Failed> {
        if request.task != Task::Complete {
            return self.inner.call(request).await;
        }
        self.inner.call(&Request { max_tokens: self.max_tokens, ..request.clone() }).await
    }
}
