//! What a call uses of its limits, and which part of it each limit counts.

use std::num::NonZeroU64;

use crate::receipt::{Allowed, Usage};

/// The tokens of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    pub input: u64,
    /// The part of the input that was not read from a cache.
    pub uncached_input: u64,
    pub output: u64,
}

/// What a limit of a minute counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    Requests,
    /// Input and output together.
    Tokens,
    /// Input that was not read from a cache, as Anthropic counts it.
    Input,
    Output,
}

impl Amount {
    /// Before a call: nothing is known to be cached.
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

    pub(super) fn of_allowed(self, allowed: &Allowed) -> Option<NonZeroU64> {
        match self {
            Self::Requests => allowed.requests,
            Self::Tokens => allowed.tokens,
            Self::Input => allowed.input_tokens,
            Self::Output => allowed.output_tokens,
        }
    }

    pub(super) fn of_allowed_mut(self, allowed: &mut Allowed) -> &mut Option<NonZeroU64> {
        match self {
            Self::Requests => &mut allowed.requests,
            Self::Tokens => &mut allowed.tokens,
            Self::Input => &mut allowed.input_tokens,
            Self::Output => &mut allowed.output_tokens,
        }
    }
}
