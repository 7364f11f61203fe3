//! The rate limits that a provider names in its answers: what one answer reports, and what is known to hold for a minute.

use std::{num::NonZeroU64, ops::RangeInclusive, time::Duration};

/// Lengths that pass for a minute: times and shares in headers are rounded.
const MINUTE_SECONDS: RangeInclusive<f64> = 40.0..=90.0;

/// One value for each kind of limit; `None` where the provider names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByLimit<T> {
    pub requests: Option<T>,
    /// Input and output together.
    pub tokens: Option<T>,
    /// Without what was read from a cache.
    pub input_tokens: Option<T>,
    pub output_tokens: Option<T>,
}

/// A provider's limits of a minute.
pub type Allowed = ByLimit<NonZeroU64>;

/// The windows that one answer reports.
pub type Windows = ByLimit<Window>;

/// A rate-limit window, as one answer reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// The provider documents that it lasts a minute.
    Minute(NonZeroU64),
    /// No answer names its length.
    Unnamed(Filling),
}

/// How full a window is whose length no answer names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filling {
    pub limit: NonZeroU64,
    pub used: NonZeroU64,
    /// Until nothing of the limit is used.
    pub empty_in: Duration,
}

impl<T> Default for ByLimit<T> {
    fn default() -> Self {
        Self { requests: None, tokens: None, input_tokens: None, output_tokens: None }
    }
}

impl<T: Copy> ByLimit<T> {
    #[must_use]
    pub fn and_then<U>(self, of: impl Fn(T) -> Option<U>) -> ByLimit<U> {
        ByLimit {
            requests: self.requests.and_then(&of),
            tokens: self.tokens.and_then(&of),
            input_tokens: self.input_tokens.and_then(&of),
            output_tokens: self.output_tokens.and_then(&of),
        }
    }
}

impl Windows {
    /// The limits of those windows that last about a minute if they empty steadily. One answer cannot prove that.
    #[must_use]
    pub fn of_about_a_minute(self) -> Allowed {
        self.and_then(|window| match window {
            Window::Minute(limit) => Some(limit),
            Window::Unnamed(filling) => filling.is_about_a_minute().then_some(filling.limit),
        })
    }
}

impl Filling {
    /// The length of the window if it empties steadily.
    #[must_use]
    pub fn seconds_if_steady(&self) -> f64 {
        self.empty_in.as_secs_f64() * self.limit.get() as f64 / self.used.get() as f64
    }

    #[must_use]
    pub fn is_about_a_minute(&self) -> bool {
        MINUTE_SECONDS.contains(&self.seconds_if_steady())
    }
}
