//! Measures the connect time separately from the call: hyper does both in one step and reports neither.

use std::{
    cell::Cell,
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Instant, timeout};
use tower::{BoxError, Service};

tokio::task_local! {
    /// When the connection of this call was established.
    static CONNECTED_AT: Cell<Option<Instant>>;
}

/// Runs a call. Returns its result, and when its connection was established if the call had to open one.
///
/// hyper connects inside the call that needs a connection. If another connection becomes free first, the call uses that
/// one, and the connecting continues in a task that is not watched.
pub(crate) async fn watch<F: Future>(call: F) -> (F::Output, Option<Instant>) {
    CONNECTED_AT
        .scope(Cell::new(None), async {
            let outcome = call.await;
            (outcome, CONNECTED_AT.with(Cell::get))
        })
        .await
}

/// A connector with a time limit that records when it is done.
#[derive(Debug, Clone)]
pub(crate) struct Noted<S> {
    connector: S,
    within: Duration,
}

impl<S> Noted<S> {
    pub(crate) fn new(connector: S, within: Duration) -> Self {
        Self { connector, within }
    }
}

impl<S, R> Service<R> for Noted<S>
where
    S: Service<R>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, target: R) -> Self::Future {
        let within = self.within;
        let connecting = self.connector.call(target);
        Box::pin(async move {
            let Ok(connection) = timeout(within, connecting).await else {
                let message = format!("no connection within {} ms", within.as_millis());
                return Err(io::Error::new(io::ErrorKind::TimedOut, message).into());
            };
            // The error means that no call is watching.
            let _ = CONNECTED_AT.try_with(|at| at.set(Some(Instant::now())));
            connection.map_err(Into::into)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use tokio::time::sleep;

    use super::*;

    fn connector() -> impl Service<(), Response = (), Error = BoxError, Future: Send> {
        let connector = tower::service_fn(|()| async {
            sleep(Duration::from_secs(3)).await;
            Ok::<_, Infallible>(())
        });
        Noted::new(connector, Duration::from_secs(10))
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_never_answers_is_given_up() {
        let silent = tower::service_fn(|()| std::future::pending::<Result<(), Infallible>>());
        let error = Noted::new(silent, Duration::from_millis(700)).call(()).await.expect_err("no connection");
        assert_eq!(error.to_string(), "no connection within 700 ms");
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

        // A connection that is opened elsewhere belongs to no call.
        let elsewhere = async {
            tokio::spawn(async { connector().call(()).await }).await.expect("no panic").expect("connects");
        };
        let ((), connected_at) = watch(elsewhere).await;
        assert_eq!(connected_at, None);
    }
}
