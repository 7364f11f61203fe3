//! What a call took, whatever it asked for: tokens, time, tries and money.

use std::{num::NonZeroU64, sync::Arc, time::Duration};

/// What an answered call took and cost.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Receipt {
    pub usage: Usage,
    /// The model that answered, as the server names it.
    pub model: String,
    /// The build of the model, as the server names it (`system_fingerprint`); empty if it names none.
    pub fingerprint: String,
    /// What the settings of the endpoint add to each call, as text; `None` for what has no such settings. Replies to
    /// calls with different texts are not comparable.
    pub asked_with: Option<Arc<str>>,
    pub timing: Timing,
    /// 1 unless the call was retried.
    pub tries: u32,
    /// Tries that the server answered with 429.
    pub throttled_tries: u32,
    /// Earlier tries that the server may have charged for an unknown amount; 0 where calls are free.
    pub lost_tries: u32,
    /// In nano-dollars; `None` where the endpoint has no price.
    pub cost_nanos: Option<i64>,
    /// The price says nothing of a part of the tokens, so that part costs as much as other input.
    pub plain_priced: bool,
    /// How long the server takes no more calls: a rate-limit window of it is used up.
    pub used_up_for: Option<Duration>,
    /// What the provider itself says that the call cost, in nano-dollars.
    pub reported_cost_nanos: Option<i64>,
    /// What the provider says that it allows in a minute.
    pub allowed: Allowed,
}

/// A provider's limits of a minute; `None` where it names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Allowed {
    pub requests: Option<NonZeroU64>,
    /// Input and output together.
    pub tokens: Option<NonZeroU64>,
    /// Without what was read from a cache.
    pub input_tokens: Option<NonZeroU64>,
    pub output_tokens: Option<NonZeroU64>,
}

/// What a failed call took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effort {
    /// 0 where nothing was sent.
    pub tries: u32,
    /// Tries that the server answered with 429.
    pub throttled_tries: u32,
    /// Tries before the last one that the server may have charged for.
    pub lost_tries: u32,
    /// The rate-limit waits of all tries.
    pub waited: Duration,
    /// Earlier tries and the pauses after them, without rate-limit waits.
    pub retried: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// All that the model read: `cached_input` and `cache_write` are a part of it.
    pub input: u64,
    /// All that the model wrote: `reasoning` is a part of it.
    pub output: u64,
    /// Read from the provider's cache.
    pub cached_input: u64,
    /// Written to the provider's cache.
    pub cache_write: u64,
    /// Written before the answer.
    pub reasoning: u64,
    /// The server gave no count, so gabfest estimated it from the text.
    pub estimated: bool,
}

/// Measured on the monotonic clock, from the moment the request goes to an open connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timing {
    /// The rate-limit wait.
    pub wait: Duration,
    /// Opening the connection before the request went out; `None` where one was already open. No part of `total`.
    pub connect: Option<Duration>,
    /// From the request to the first byte of content; `None` when the reply was not streamed.
    pub first_token: Option<Duration>,
    /// The mean gap between pieces of content of a streamed reply.
    pub inter_token: Option<Duration>,
    /// To the last byte, of the last try.
    pub total: Duration,
    /// Earlier tries and the pauses after them, without rate-limit waits. No part of `total`.
    pub retried: Duration,
}
