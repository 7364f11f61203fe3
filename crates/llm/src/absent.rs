//! A model that cannot be asked because its endpoint's key is missing.

use async_trait::async_trait;

use crate::{
    Error,
    call::{Call, Named, Request},
};

/// Takes the place of a model. A caller that checks [`Named::absence`] first never needs to ask it.
#[derive(Debug, Clone)]
pub struct Absent {
    endpoint: String,
    reason: String,
}

impl Absent {
    /// `reason` says which key is missing, and where gabfest expected it.
    #[must_use]
    pub fn new(endpoint: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { endpoint: endpoint.into(), reason: reason.into() }
    }

    /// Which key is missing.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl Named for Absent {
    fn endpoint(&self) -> &str {
        &self.endpoint
    }

    fn absence(&self) -> Option<&str> {
        Some(&self.reason)
    }
}

#[async_trait]
impl<R: Request> Call<R> for Absent {
    async fn ask(&self, _: &R) -> Result<R::Reply, Error> {
        Err(Error::NoKey { endpoint: self.endpoint.clone(), reason: self.reason.clone() })
    }
}
