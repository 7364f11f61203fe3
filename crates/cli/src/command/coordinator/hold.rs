//! Being in charge: the coordinator on its store, until it is asked to stop or another one has taken over.

use std::{pin::pin, sync::Arc, time::Duration};

use anyhow::Context as _;
use coordinator::{Clock, Config, Coordinator, Gate, Observers, service};
use store::{Engine, Error, Postgres, Store as _};
use tokio::time::{sleep, timeout};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    keeper::{self, EndedRuns},
    standing::Standing,
};
use crate::clock;

/// Between two looks whether another coordinator has taken over.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);
/// A holder that could not renew its hold for so long cannot know whether it is still in charge. What it leaves, the next one
/// takes up.
const STEPS_DOWN: Duration = Duration::from_secs(2 * Postgres::TTL.as_secs());
/// What one that was replaced may take to end: what it writes is refused anyway.
const ENDS_WITHIN: Duration = Duration::from_secs(1);
/// A database that does not answer lets its hold expire instead.
const HANDS_OVER_WITHIN: Duration = Duration::from_secs(5);

/// What every term in charge needs.
#[derive(Debug, Clone)]
pub(super) struct Office {
    pub(super) standing: Standing,
    pub(super) gate: Gate,
    pub(super) observers: Observers,
    /// What happens to runs that ended.
    pub(super) keeper: EndedRuns,
    /// SIGTERM.
    pub(super) drain: CancellationToken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// It was asked to stop; the store is free.
    Drained,
    /// Another one is in charge, or may be.
    Replaced,
}

impl Office {
    /// Serves until the end of the term.
    pub(super) async fn hold(&self, store: Engine) -> anyhow::Result<Ended> {
        let store = Arc::new(store);
        let clock = Clock::new(clock::now_millis);
        let opened = Coordinator::open(Arc::clone(&store), Config::default(), clock, self.observers.clone()).await;
        let (coordinator, handle) = match opened {
            Ok(opened) => opened,
            Err(error) => match lost(&store).await {
                Some(reason) => {
                    tracing::warn!(%error, reason, "the runs could not be continued here");
                    return Ok(Ended::Replaced);
                }
                None => return Err(error).context("failed to start the coordinator"),
            },
        };
        let routes = service::routes(handle.clone(), &self.gate).prepare();
        self.standing.is_in_charge(handle, service::Place::Here(routes)).await;
        let stop = CancellationToken::new();
        // An export that is not whole is made again by the next coordinator.
        let keeper =
            AbortOnDropHandle::new(tokio::spawn(keeper::keep(Arc::clone(&store), self.keeper.clone(), stop.clone())));
        let mut running = pin!(coordinator.run(stop.clone()));
        let reason = tokio::select! {
            () = &mut running => Some("the coordinator has ended".to_owned()),
            () = self.drain.cancelled() => None,
            reason = watched(&store) => Some(reason),
        };
        let why = if reason.is_some() { "another coordinator is in charge" } else { "this coordinator is stopping" };
        self.standing.sends(service::Place::Nowhere(why.to_owned()));
        stop.cancel();
        drop(keeper);
        let Some(reason) = reason else {
            running.await;
            let handed = timeout(HANDS_OVER_WITHIN, store.hand_over()).await;
            handed.unwrap_or(Ok(())).context("failed to hand the store over")?;
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
async fn watched(store: &Engine) -> String {
    loop {
        sleep(BETWEEN_LOOKS).await;
        if let Some(reason) = lost(store).await {
            return reason;
        }
    }
}

/// A folder that is gone is reported by the runs that cannot be kept.
async fn lost(store: &Engine) -> Option<String> {
    if matches!(store, Engine::Sqlite(_)) {
        return None;
    }
    let silent = store.silent_for();
    if silent > STEPS_DOWN {
        return Some(format!("the store has not answered for {} s", silent.as_secs()));
    }
    match store.check().await {
        Err(error @ Error::Gone(_)) => Some(error.to_string()),
        _ => None,
    }
}
