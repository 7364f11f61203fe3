//! One complete span: its place in a trace, its times and its attributes.

use std::{
    borrow::Cow,
    time::{Duration, SystemTime},
};

use opentelemetry::{
    InstrumentationScope, KeyValue,
    trace::{Event, Link, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState},
};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

/// Start and end, in microseconds of Unix time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Times {
    /// The smallest interval that covers both.
    pub(super) fn with(self, other: Self) -> Self {
        Self { from: self.from.min(other.from), to: self.to.max(other.to) }
    }
}

pub(super) fn at(micros: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(micros)
}

pub(super) struct Span {
    pub(super) trace: u128,
    pub(super) id: u64,
    /// 0 for a root.
    pub(super) parent: u64,
    pub(super) kind: SpanKind,
    pub(super) name: Cow<'static, str>,
    pub(super) times: Times,
    pub(super) attributes: Vec<KeyValue>,
    pub(super) events: Vec<Event>,
    pub(super) links: Vec<SpanContext>,
    pub(super) status: Status,
}

impl Span {
    pub(super) fn data(self, scope: &InstrumentationScope) -> SpanData {
        let mut events = SpanEvents::default();
        events.events = self.events;
        let mut links = SpanLinks::default();
        links.links = self.links.into_iter().map(Link::with_context).collect();
        SpanData {
            span_context: context(self.trace, self.id),
            parent_span_id: SpanId::from(self.parent),
            parent_span_is_remote: false,
            span_kind: self.kind,
            name: self.name,
            start_time: at(self.times.from),
            end_time: at(self.times.to),
            attributes: self.attributes,
            dropped_attributes_count: 0,
            events,
            links,
            status: self.status,
            instrumentation_scope: scope.clone(),
        }
    }
}

pub(super) fn context(trace: u128, span: u64) -> SpanContext {
    // Exported spans are sampled, even if only because of a failure.
    SpanContext::new(TraceId::from(trace), SpanId::from(span), TraceFlags::SAMPLED, false, TraceState::NONE)
}

pub(super) fn seconds(micros: u64) -> f64 {
    micros as f64 / 1_000_000.0
}

pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
