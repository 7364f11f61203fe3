//! Sets the token cap of a chat before the layers that use it for limits and prices.

use async_trait::async_trait;

use crate::{
    Error,
    call::{Call, Failed, Named},
    chat::{Reply, Request},
};

/// How the settings change a chat's cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cap {
    /// The cap from `params`; `None`: no limit is sent.
    Own(Option<u32>),
    /// The chat's cap plus this much for reasoning.
    More(u32),
}

impl Cap {
    /// `None`: the chat's own cap is sent.
    pub(super) fn of(own: Option<Option<u32>>, reserve: u32) -> Option<Self> {
        own.map(Self::Own).or((reserve > 0).then_some(Self::More(reserve)))
    }

    fn sent(self, max_tokens: Option<u32>) -> Option<u32> {
        match self {
            Self::Own(own) => own,
            Self::More(reserve) => max_tokens.map(|most| most.saturating_add(reserve)),
        }
    }
}

/// The outermost layer, so that all others use the cap that is sent.
#[derive(Debug)]
pub(super) struct Capped<C> {
    inner: C,
    cap: Cap,
}

impl<C> Capped<C> {
    pub(super) fn new(inner: C, cap: Cap) -> Self {
        Self { inner, cap }
    }
}

impl<C: Named> Named for Capped<C> {
    fn endpoint(&self) -> &str {
        self.inner.endpoint()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn most_input_bytes(&self, max_tokens: Option<u32>) -> Option<u64> {
        self.inner.most_input_bytes(self.cap.sent(max_tokens))
    }
}

#[async_trait]
impl<C: Call<Request>> Call<Request> for Capped<C> {
    async fn ask(&self, request: &Request) -> Result<Reply, Error> {
        self.call(request).await.map_err(|failed| failed.error)
    }

    async fn call(&self, request: &Request) -> Result<Reply, Failed> {
        self.inner.call(&Request { max_tokens: self.cap.sent(request.max_tokens), ..request.clone() }).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_comes_on_top_of_a_cap_and_makes_none() {
        let rows = [
            (None, 0, Some(500), Some(500)),
            (None, 4_096, Some(500), Some(4_596)),
            (None, 4_096, None, None),
            (None, u32::MAX, Some(500), Some(u32::MAX)),
            (Some(Some(9_000)), 4_096, Some(500), Some(9_000)),
            (Some(None), 4_096, Some(500), None),
        ];
        for (own, reserve, asked, sent) in rows {
            let cap = Cap::of(own, reserve).map_or(asked, |cap| cap.sent(asked));
            assert_eq!(cap, sent, "{own:?} {reserve} {asked:?}");
        }
    }
}
