//! How a client reaches the services: over connections, or in its own process.

use std::task::{Context, Poll};

use tonic::{
    body::Body,
    codegen::{BoxFuture, Service, http},
    service::Routes,
    transport::{Channel, Error},
};

/// What the generated clients send their calls over.
#[derive(Debug, Clone)]
pub enum Transport {
    /// HTTP/2.
    Connections(Channel),
    /// The services answer in this process. Messages are encoded as they are for connections, but nothing cuts them into frames.
    Process(Routes),
}

impl From<Channel> for Transport {
    fn from(channel: Channel) -> Self {
        Self::Connections(channel)
    }
}

impl Service<http::Request<Body>> for Transport {
    type Response = http::Response<Body>;
    type Error = Error;
    type Future = BoxFuture<Self::Response, Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        match self {
            Self::Connections(channel) => channel.poll_ready(context),
            // They are always ready.
            Self::Process(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        match self {
            Self::Connections(channel) => Box::pin(channel.call(request)),
            Self::Process(routes) => {
                let answer = routes.call(request);
                Box::pin(async move {
                    let Ok(response) = answer.await;
                    Ok(response)
                })
            }
        }
    }
}
