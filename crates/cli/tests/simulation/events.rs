//! Everything that the store and the agent were asked, and why sessions ended, in order: two plays of one seed must not differ.

use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use crate::process;

#[derive(Debug, Default)]
pub(crate) struct Events(Mutex<Vec<String>>);

impl Events {
    pub(crate) fn add(&self, event: &impl Debug) {
        let at = process::now().as_secs_f64();
        self.0.lock().unwrap().push(format!("{at:>9.3} {event:?}"));
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Hears in the log why coordinators end sessions.
#[derive(Debug)]
pub(crate) struct Listener(pub(crate) Arc<Events>);

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.fields().field("reason").is_some()
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Reason(&self.0));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

struct Reason<'a>(&'a Events);

impl Visit for Reason<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "reason" {
            self.0.add(&("reason", value));
        }
    }
}
