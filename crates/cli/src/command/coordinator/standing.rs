//! What a coordinator is at the moment, for its services, its health and its connections.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use coordinator::{
    Handle,
    service::{Place, Switch},
};
use store::Engine;
use telemetry::metrics::Health;
use tokio::sync::watch;

/// A store that takes longer is not in good health.
const STORE_ANSWERS: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub(super) struct Standing {
    switch: Switch,
    now: Arc<RwLock<Now>>,
    isolated: watch::Sender<bool>,
}

#[derive(Debug, Clone)]
enum Now {
    InCharge(Handle<Engine>),
    /// Why it can serve nobody, if it cannot.
    Waiting(Option<String>),
}

impl Standing {
    pub(super) fn new(switch: Switch) -> Self {
        let now = Arc::new(RwLock::new(Now::Waiting(Some("it is starting".to_owned()))));
        Self { switch, now, isolated: watch::Sender::new(false) }
    }

    /// Whether it is cut off, so that clients do better elsewhere.
    pub(super) fn isolated(&self) -> watch::Receiver<bool> {
        self.isolated.subscribe()
    }

    pub(super) async fn is_in_charge(&self, handle: Handle<Engine>, place: Place) {
        self.set(Now::InCharge(handle));
        self.switch.set(place);
        self.isolated.send_replace(false);
        self.switch.set_ready(true).await;
    }

    /// Calls go there from now on.
    pub(super) fn sends(&self, place: Place) {
        self.switch.set(place);
    }

    /// `trouble`: why it can serve nobody. `isolated`: this is not about to end.
    pub(super) async fn waits(&self, trouble: Option<String>, isolated: bool) {
        let ready = trouble.is_none();
        self.set(Now::Waiting(trouble));
        self.isolated.send_replace(isolated);
        self.switch.set_ready(ready).await;
    }

    fn set(&self, now: Now) {
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// In charge: whether its store answers. Else: whether it reaches the store or the coordinator in charge.
    pub(super) fn health(&self) -> Health {
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
