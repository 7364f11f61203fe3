//! Connecting, told apart from asking: reqwest does both in one call and says nothing of the first.

use std::{
    cell::Cell,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::time::Instant;
use tower::{Layer, Service};

tokio::task_local! {
    /// When the connection that this call waited for was there.
    static CONNECTED_AT: Cell<Option<Instant>>;
}

/// Runs a call; with its outcome, when it had a connection to use, if it had to make one.
///
/// hyper connects inside the call that needs a connection. Where another one falls free first, that one is used
/// and connecting goes on in a task of its own, which is not watched.
pub(crate) async fn watch<F: Future>(call: F) -> (F::Output, Option<Instant>) {
    CONNECTED_AT
        .scope(Cell::new(None), async {
            let outcome = call.await;
            (outcome, CONNECTED_AT.with(Cell::get))
        })
        .await
}

/// The layer round reqwest's connector that notes when it is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Note;

#[derive(Debug, Clone)]
pub(crate) struct Noted<S>(S);

impl<S> Layer<S> for Note {
    type Service = Noted<S>;

    fn layer(&self, connector: S) -> Noted<S> {
        Noted(connector)
    }
}

impl<S, R> Service<R> for Noted<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, target: R) -> Self::Future {
        let connecting = self.0.call(target);
        Box::pin(async move {
            let connection = connecting.await;
            // An error means that nobody watches.
            let _ = CONNECTED_AT.try_with(|at| at.set(Some(Instant::now())));
            connection
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, time::Duration};

    use tokio::time::sleep;

    use super::*;

    fn connector() -> impl Service<(), Response = (), Error = Infallible, Future: Send> {
        Note.layer(tower::service_fn(|()| async {
            sleep(Duration::from_secs(3)).await;
            Ok::<_, Infallible>(())
        }))
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_knows_when_it_was_connected() {
        let began = Instant::now();
        let cold = async {
            let _ = connector().call(()).await;
            sleep(Duration::from_secs(5)).await;
        };
        let ((), connected_at) = watch(cold).await;
        assert_eq!(connected_at.map(|at| at - began), Some(Duration::from_secs(3)));
        assert_eq!(began.elapsed(), Duration::from_secs(8));

        let ((), connected_at) = watch(sleep(Duration::from_secs(5))).await;
        assert_eq!(connected_at, None, "a warm connection");

        // Connecting that goes on elsewhere is nobody's.
        let elsewhere = async {
            tokio::spawn(async { connector().call(()).await }).await.expect("no panic").expect("connects");
        };
        let ((), connected_at) = watch(elsewhere).await;
        assert_eq!(connected_at, None);
    }
}
