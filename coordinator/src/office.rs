//! Being in charge: the coordinator on its store, until it is asked to stop or another one has taken over.

use std::{fmt, pin::pin, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use store::{Held, duty};
use tokio::time::{sleep, timeout};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{
    Clock, Config, Coordinator, Gate, Observers, Standing,
    dispatcher::Error as DispatcherError,
    service::{self, Place},
};

/// Between two looks whether another coordinator has taken over.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);
/// A holder that could not renew its hold for so long cannot know whether it is still in charge. What it leaves, the next one
/// takes up.
const STEPS_DOWN: Duration = Duration::from_secs(2 * duty::TTL.as_secs());
/// What one that was replaced may take to end: what it writes is refused anyway.
const ENDS_WITHIN: Duration = Duration::from_secs(1);
/// A store that does not answer lets its hold expire instead.
const HANDS_OVER_WITHIN: Duration = Duration::from_secs(5);

/// What every term in charge needs.
#[derive(Debug)]
pub struct Office<S> {
    pub standing: Standing<S>,
    pub gate: Gate,
    pub clock: Clock,
    pub observers: Observers,
    pub chores: Chores<S>,
    /// Asks it to stop.
    pub drain: CancellationToken,
}

type Chore<S> = dyn Fn(Arc<S>, CancellationToken) -> BoxFuture<'static, ()> + Send + Sync;

/// What else is done with the store while in charge, until the token is cancelled. It is dropped when the term ends.
pub struct Chores<S>(Box<Chore<S>>);

impl<S> Chores<S> {
    pub fn new(chores: impl Fn(Arc<S>, CancellationToken) -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        Self(Box::new(chores))
    }
}

impl<S> fmt::Debug for Chores<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chores")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was asked to stop; the store is free.
    Drained,
    /// Another one is in charge, or may be.
    Replaced,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("failed to open the store")]
    Take(#[source] store::Error),
    #[error("failed to start the coordinator")]
    Start(#[source] DispatcherError),
    #[error("failed to hand the store over")]
    HandOver(#[source] store::Error),
}

impl<S: Held> Office<S> {
    /// Serves until the end of the term.
    pub async fn hold(&self, store: S) -> Result<Ended, Error> {
        let store = Arc::new(store);
        fail::fail_point!("duty-taken");
        let opened =
            Coordinator::open(Arc::clone(&store), Config::default(), self.clock.clone(), self.observers.clone()).await;
        let (coordinator, handle) = match opened {
            Ok(opened) => opened,
            Err(error) => match lost(&*store).await {
                Some(reason) => {
                    tracing::warn!(%error, reason, "the runs could not be continued here");
                    return Ok(Ended::Replaced);
                }
                None => return Err(Error::Start(error)),
            },
        };
        let routes = service::routes(handle.clone(), &self.gate).prepare();
        self.standing.is_in_charge(handle, Place::Here(routes)).await;
        let stop = CancellationToken::new();
        // What is not done is done again by the next coordinator.
        let chores = AbortOnDropHandle::new(tokio::spawn((self.chores.0)(Arc::clone(&store), stop.clone())));
        let mut running = pin!(coordinator.run(stop.clone()));
        let reason = tokio::select! {
            () = &mut running => Some("the coordinator has ended".to_owned()),
            () = self.drain.cancelled() => None,
            reason = watched(&*store) => Some(reason),
        };
        let why = reason.as_deref().unwrap_or("this coordinator is stopping");
        self.standing.sends(Place::Nowhere(why.to_owned()));
        stop.cancel();
        drop(chores);
        let Some(reason) = reason else {
            running.await;
            fail::fail_point!("duty-unreleased");
            let handed = timeout(HANDS_OVER_WITHIN, store.hand_over()).await;
            fail::fail_point!("duty-released");
            handed.unwrap_or(Ok(())).map_err(Error::HandOver)?;
            return Ok(Ended::Drained);
        };
        tracing::warn!(reason, "this coordinator is no longer in charge");
        let _ = timeout(ENDS_WITHIN, running).await;
        // If nobody has it yet, nobody has to wait for its end.
        let _ = timeout(ENDS_WITHIN, store.hand_over()).await;
        Ok(Ended::Replaced)
    }
}

/// Returns when the store is lost, with the reason.
async fn watched(store: &impl Held) -> String {
    loop {
        sleep(BETWEEN_LOOKS).await;
        if let Some(reason) = lost(store).await {
            return reason;
        }
    }
}

/// A store that nobody else can take is never lost. A folder that is gone is reported by the runs that cannot be kept.
async fn lost(store: &impl Held) -> Option<String> {
    let silent = store.silent_for()?;
    if silent > STEPS_DOWN {
        return Some(format!("the store has not answered for {} s", silent.as_secs()));
    }
    match store.check().await {
        Err(error @ (store::Error::Gone(_) | store::Error::TakenOver)) => Some(error.to_string()),
        _ => None,
    }
}
