//! The mock in this process: the trait [`Model`] without a socket.

use async_trait::async_trait;

use crate::{Error, Model, Reply, Request};

use super::Behaviour;

/// A model that answers by itself.
#[derive(Debug, Clone)]
pub struct Mock {
    endpoint: String,
    behaviour: Behaviour,
}

impl Mock {
    #[must_use]
    pub fn new(endpoint_name: impl Into<String>, behaviour: Behaviour) -> Self {
        Self { endpoint: endpoint_name.into(), behaviour }
    }

    #[must_use]
    pub fn behaviour(&self) -> &Behaviour {
        &self.behaviour
    }
}

#[async_trait]
impl Model for Mock {
    fn endpoint(&self) -> &str {
        &self.endpoint
    }

    async fn ask(&self, _request: &Request) -> Result<Reply, Error> {
        Ok(Reply { text: super::UNHELPFUL.to_owned(), tries: 1, ..Reply::default() })
    }
}
