//! What a call uses of its limits, and which part of it counts for each limit.

use crate::{named_limits::ByLimit, receipt::Usage};

/// The tokens of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    pub input: u64,
    /// The part of the input that was not read from a cache.
    pub uncached_input: u64,
    pub output: u64,
}

/// What a limit per minute counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    Requests,
    /// Input and output together.
    Tokens,
    /// Input without cache reads, as Anthropic counts it.
    Input,
    Output,
}

impl Amount {
    /// Before a call, nothing is known to be cached.
    pub(super) fn estimate((input, output): (u64, u64)) -> Self {
        Self { input, uncached_input: input, output }
    }
}

impl From<Usage> for Amount {
    fn from(usage: Usage) -> Self {
        let uncached_input = usage.input.saturating_sub(usage.cached_input);
        Self { input: usage.input, uncached_input, output: usage.output }
    }
}

impl Counted {
    pub(super) const ALL: [Self; 4] = [Self::Requests, Self::Tokens, Self::Input, Self::Output];

    pub(super) fn of(self, amount: &Amount) -> u64 {
        match self {
            Self::Requests => 1,
            Self::Tokens => amount.input.saturating_add(amount.output),
            Self::Input => amount.uncached_input,
            Self::Output => amount.output,
        }
    }

    pub(super) fn named<T: Copy>(self, by_limit: &ByLimit<T>) -> Option<T> {
        match self {
            Self::Requests => by_limit.requests,
            Self::Tokens => by_limit.tokens,
            Self::Input => by_limit.input_tokens,
            Self::Output => by_limit.output_tokens,
        }
    }

    pub(super) fn named_mut<T>(self, by_limit: &mut ByLimit<T>) -> &mut Option<T> {
        match self {
            Self::Requests => &mut by_limit.requests,
            Self::Tokens => &mut by_limit.tokens,
            Self::Input => &mut by_limit.input_tokens,
            Self::Output => &mut by_limit.output_tokens,
        }
    }
}
