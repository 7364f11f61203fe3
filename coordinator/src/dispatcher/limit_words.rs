//! What workers say of limits, and what they get.

use std::time::Duration;

use record::named_limits::NamedLimits;

/// What a worker says of its requests of a day. Sums of one session and one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DayWord {
    /// The limit.
    pub(crate) most: u64,
    /// Days since 1970, in UTC; 0: it has got nothing yet.
    pub(crate) day: i64,
    pub(crate) got: u64,
    pub(crate) returned: u64,
    /// All that it wants to have got.
    pub(crate) wanted: u64,
}

/// What a worker got of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DayGrant {
    pub(crate) day: i64,
    pub(crate) got: u64,
    /// How long the day lasts from now on.
    pub(crate) left: Duration,
    pub(crate) used_up: bool,
}

/// What a worker says of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Health {
    /// Episodes of throttling that it saw first.
    pub(crate) episodes: u64,
    /// The pause that the last one asked for.
    pub(crate) pause: Duration,
    /// Why the worker's circuit breaker is open; `None`: it is not.
    pub(crate) closed: Option<String>,
    /// The provider's limits that its answers have named lately.
    pub(crate) named: NamedLimits,
}
