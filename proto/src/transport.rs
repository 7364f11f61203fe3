//! How clients reach the services: over connections, or in their own process.

use std::{
    panic::AssertUnwindSafe,
    task::{Context, Poll},
};

use futures_util::FutureExt as _;
use tonic::{
    Status,
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
    /// The services answer in this process, and live as long as this does. Messages are encoded in the same way, but not cut into
    /// the frames of HTTP/2.
    Process(Routes),
}

impl From<Channel> for Transport {
    fn from(channel: Channel) -> Self {
        Self::Connections(channel)
    }
}

impl From<Routes> for Transport {
    fn from(routes: Routes) -> Self {
        Self::Process(routes.prepare())
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
                // A service that panics fails its call, as over a connection, and not its caller.
                let answer = AssertUnwindSafe(answer).catch_unwind();
                let failed = |_| Status::internal("the service failed").into_http();
                Box::pin(answer.map(move |answer| Ok(answer.map_or_else(failed, |Ok(response)| response))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, pin::Pin};

    use tonic::{Code, server::NamedService};

    use super::*;
    use crate::v1::{ListRequest, runs_client::RunsClient};

    #[derive(Clone)]
    struct Broken;

    impl NamedService for Broken {
        const NAME: &'static str = "gabfest.v1.Runs";
    }

    impl Service<http::Request<Body>> for Broken {
        type Response = http::Response<Body>;
        type Error = Infallible;
        type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: http::Request<Body>) -> Self::Future {
            Box::pin(async { panic!("a fault in the service") })
        }
    }

    #[tokio::test]
    async fn a_service_that_panics_fails_its_call_only() {
        let mut runs = RunsClient::new(Transport::from(Routes::new(Broken)));
        for _ in 0..2 {
            assert_eq!(runs.list(ListRequest {}).await.unwrap_err().code(), Code::Internal);
        }
    }
}
