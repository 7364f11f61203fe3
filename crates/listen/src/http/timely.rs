//! A time limit for the body of a request: a client that sends it too slowly gets 408, and its connection ends.

use std::{
    convert::Infallible,
    error::Error,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use http::{HeaderValue, Request, Response, StatusCode, header::CONNECTION};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::time::{Sleep, sleep};
use tower::Service;

/// The body of a request. It fails if the rest of it does not come in time.
#[derive(Debug)]
pub struct TimelyBody {
    body: Incoming,
    /// Of the whole body, since its head came. A limit between two pieces would let a client send one byte at a time.
    within: Pin<Box<Sleep>>,
    is_late: Arc<AtomicBool>,
}

#[derive(Debug, thiserror::Error)]
#[error("the body of the request did not come in time")]
struct Late;

impl Body for TimelyBody {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        ready!(self.within.as_mut().poll(cx));
        self.is_late.store(true, Ordering::Relaxed);
        Poll::Ready(Some(Err(Late.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Gives each request that a service answers a time limit for its body.
#[derive(Debug, Clone)]
pub(super) struct Timely<S> {
    service: S,
    within: Duration,
}

impl<S> Timely<S> {
    pub(super) fn new(service: S, within: Duration) -> Self {
        Self { service, within }
    }
}

impl<S, B> Service<Request<Incoming>> for Timely<S>
where
    S: Service<Request<TimelyBody>, Response = Response<B>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<B>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<B>, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let is_late = Arc::new(AtomicBool::new(false));
        let within = Box::pin(sleep(self.within));
        let request = request.map(|body| TimelyBody { body, within, is_late: Arc::clone(&is_late) });
        let answer = self.service.call(request);
        Box::pin(async move {
            let mut response = answer.await?;
            // The service only knows that the body broke off, which it takes for a bad request.
            if is_late.load(Ordering::Relaxed) {
                *response.status_mut() = StatusCode::REQUEST_TIMEOUT;
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok(response)
        })
    }
}
