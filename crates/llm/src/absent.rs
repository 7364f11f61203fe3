//! A model that nobody can ask, because the key of its endpoint is not there.

use async_trait::async_trait;

use crate::{Error, Model, Reply, Request};

/// Stands where a model would: who looks at [`Model::absence`] first never needs to ask it.
#[derive(Debug, Clone)]
pub struct Absent {
    endpoint: String,
    reason: String,
}

impl Absent {
    /// `reason` says which key is missing, and where it was looked for.
    #[must_use]
    pub fn new(endpoint: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { endpoint: endpoint.into(), reason: reason.into() }
    }
}

#[async_trait]
impl Model for Absent {
    fn endpoint(&self) -> &str {
        &self.endpoint
    }

    fn absence(&self) -> Option<&str> {
        Some(&self.reason)
    }

    async fn ask(&self, _: &Request) -> Result<Reply, Error> {
        Err(Error::NoKey { endpoint: self.endpoint.clone(), reason: self.reason.clone() })
    }
}
