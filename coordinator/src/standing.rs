//! What a coordinator is at the moment, for its services, its health and its connections.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use store::Store;
use telemetry::metrics::Health;
use tokio::sync::watch;

use crate::{
    Handle,
    service::{Place, Switch},
};

/// A store that takes longer is not in good health.
const STORE_ANSWERS: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Standing<S> {
    switch: Switch,
    now: Arc<RwLock<Now<S>>>,
    isolated: watch::Sender<bool>,
}

#[derive(Debug)]
enum Now<S> {
    InCharge(Handle<S>),
    /// Why it can serve nobody, if it cannot.
    Waiting(Option<String>),
}

impl<S> Clone for Standing<S> {
    fn clone(&self) -> Self {
        Self { switch: self.switch.clone(), now: Arc::clone(&self.now), isolated: self.isolated.clone() }
    }
}

impl<S> Clone for Now<S> {
    fn clone(&self) -> Self {
        match self {
            Self::InCharge(handle) => Self::InCharge(handle.clone()),
            Self::Waiting(trouble) => Self::Waiting(trouble.clone()),
        }
    }
}

impl<S: Store> Standing<S> {
    #[must_use]
    pub fn new(switch: Switch) -> Self {
        let now = Arc::new(RwLock::new(Now::Waiting(Some("it is starting".to_owned()))));
        Self { switch, now, isolated: watch::Sender::new(false) }
    }

    /// Whether it is cut off, so that clients do better elsewhere.
    #[must_use]
    pub fn isolated(&self) -> watch::Receiver<bool> {
        self.isolated.subscribe()
    }

    pub(crate) async fn is_in_charge(&self, handle: Handle<S>, place: Place) {
        self.set(Now::InCharge(handle));
        self.switch.set(place);
        self.isolated.send_replace(false);
        self.switch.set_ready(true).await;
    }

    /// Calls go there from now on.
    pub(crate) fn sends(&self, place: Place) {
        self.switch.set(place);
    }

    /// `trouble`: why it can serve nobody. `isolated`: this is not about to end.
    pub(crate) async fn waits(&self, trouble: Option<String>, isolated: bool) {
        let ready = trouble.is_none();
        self.set(Now::Waiting(trouble));
        self.isolated.send_replace(isolated);
        self.switch.set_ready(ready).await;
    }

    fn set(&self, now: Now<S>) {
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// In charge: whether its store answers. Else: whether it reaches the store or the coordinator in charge.
    #[must_use]
    pub fn health(&self) -> Health {
        let standing = self.clone();
        Health::new(move || {
            let now = standing.now.read().unwrap_or_else(PoisonError::into_inner).clone();
            async move {
                let handle = match now {
                    Now::InCharge(handle) => handle,
                    Now::Waiting(trouble) => return trouble.map_or(Ok(()), Err),
                };
                match tokio::time::timeout(STORE_ANSWERS, handle.health()).await {
                    Ok(answer) => answer.map_err(|error| error.to_string()),
                    Err(_) => Err(format!("the store does not answer within {} s", STORE_ANSWERS.as_secs())),
                }
            }
        })
    }
}
