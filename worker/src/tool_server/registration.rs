//! A trial's registration at the tool server: its tools are served until it is dropped.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use super::{handler::Handler, journal::Journal};

/// The handlers of all running trials, by their tokens.
#[derive(Debug, Default)]
pub(super) struct Registry(RwLock<HashMap<String, Arc<Handler>>>);

#[derive(Debug)]
pub(crate) struct Registration {
    registry: Arc<Registry>,
    handler: Arc<Handler>,
    token: String,
    /// The address that agents put before a path.
    base: String,
}

impl Registry {
    pub(super) fn find(&self, token: &str) -> Option<Arc<Handler>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(token).cloned()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(super) fn register(self: &Arc<Self>, token: String, handler: Handler, base: String) -> Registration {
        let handler = Arc::new(handler);
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(token.clone(), Arc::clone(&handler));
        Registration { registry: Arc::clone(self), handler, token, base }
    }
}

impl Registration {
    /// Lists the tools; each is called by its name below it.
    pub(crate) fn tools_url(&self) -> String {
        format!("{}/t/{}/tools", self.base, self.token)
    }

    pub(crate) fn mcp_url(&self) -> String {
        format!("{}/t/{}/mcp", self.base, self.token)
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.handler.journal
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.registry.0.write().unwrap_or_else(PoisonError::into_inner).remove(&self.token);
        self.handler.over.cancel();
    }
}
