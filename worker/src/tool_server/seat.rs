//! What a trial holds of the tool server. Where it is dropped, nobody finds the trial's tools any more.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use super::{desk::Desk, journal::Journal};

/// The desks of all trials that are being played, by their tokens.
#[derive(Debug, Default)]
pub(super) struct Desks(RwLock<HashMap<String, Arc<Desk>>>);

#[derive(Debug)]
pub(crate) struct Seat {
    desks: Arc<Desks>,
    desk: Arc<Desk>,
    token: String,
    /// What agents put before a path.
    base: String,
}

impl Desks {
    pub(super) fn find(&self, token: &str) -> Option<Arc<Desk>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(token).cloned()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(super) fn take(self: &Arc<Self>, token: String, desk: Desk, base: String) -> Seat {
        let desk = Arc::new(desk);
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(token.clone(), Arc::clone(&desk));
        Seat { desks: Arc::clone(self), desk, token, base }
    }
}

impl Seat {
    /// Its tools are listed there, and called below it by their names.
    pub(crate) fn tools_url(&self) -> String {
        format!("{}/t/{}/tools", self.base, self.token)
    }

    pub(crate) fn mcp_url(&self) -> String {
        format!("{}/t/{}/mcp", self.base, self.token)
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.desk.journal
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.desks.0.write().unwrap_or_else(PoisonError::into_inner).remove(&self.token);
        self.desk.over.cancel();
    }
}
