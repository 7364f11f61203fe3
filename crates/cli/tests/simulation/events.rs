//! Everything that the store and the agent were asked, in order: two plays of one seed must not differ.

use std::{
    fmt::Debug,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Mutex,
};

#[derive(Debug, Default)]
pub(crate) struct Events(Mutex<Vec<String>>);

impl Events {
    pub(crate) fn add(&self, event: &impl Debug) {
        let at = turmoil::sim_elapsed().unwrap_or_default().as_secs_f64();
        self.0.lock().unwrap().push(format!("{at:>9.3} {event:?}"));
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.lock().unwrap().hash(&mut hasher);
        hasher.finish()
    }
}
