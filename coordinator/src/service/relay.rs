//! Relays a call to the coordinator in charge.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body::{Frame, SizeHint};
use tokio_util::sync::WaitForCancellationFutureOwned;
use tonic::{Status, body::Body};
use tower::{Service as _, ServiceExt as _};

use super::relayed;
use crate::{gate::Visitor, line::Elsewhere};

/// Relays a call and its answer, whatever they are.
pub(super) async fn relay(there: Arc<Elsewhere>, mut request: http::Request<Body>) -> http::Response<Body> {
    let visitor = request.extensions().get::<Visitor>().cloned();
    relayed::pass_on(visitor.as_ref(), request.headers_mut());
    let mut channel = visitor.map(|visitor| visitor.line).unwrap_or_default().to(&there);
    let answered = async {
        channel.ready().await?;
        channel.call(request).await
    };
    let answer = tokio::select! {
        answer = answered => answer,
        () = there.over().cancelled() => return there.lost().into_http(),
    };
    match answer {
        Ok(answer) => answer.map(|body| {
            let over = Box::pin(there.over().clone().cancelled_owned());
            Body::new(Answer { body, there, over, ended: false })
        }),
        Err(error) => {
            tracing::debug!(%error, ?there, "a call cannot be relayed");
            there.lost().into_http()
        }
    }
}

/// An answer that ends with a status if the coordinator in charge is lost, and not with a broken stream: clients repeat a call
/// that was unavailable.
struct Answer {
    body: Body,
    there: Arc<Elsewhere>,
    over: Pin<Box<WaitForCancellationFutureOwned>>,
    ended: bool,
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                self.ended = frame.is_trailers();
                return Poll::Ready(Some(Ok(frame)));
            }
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Ready(Some(Err(_))) => {}
            Poll::Pending if self.over.poll_unpin(cx).is_ready() => {}
            Poll::Pending => return Poll::Pending,
        }
        self.ended = true;
        let mut trailers = http::HeaderMap::new();
        self.there.lost().add_header(&mut trailers)?;
        Poll::Ready(Some(Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.ended || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
