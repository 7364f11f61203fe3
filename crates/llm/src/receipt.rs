//! What a call used, of any kind: tokens, time, tries and money.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::named_limits::{Allowed, Windows};

/// What an answered call used and cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Receipt {
    pub usage: Usage,
    /// The model that answered, as the server names it.
    pub model: String,
    /// The build of the model, as the server names it (`system_fingerprint`); empty if it names none.
    pub fingerprint: String,
    /// The parameters that the endpoint's settings add to each call, as text; `None` if there are no such settings.
    /// Replies to calls with different texts are not comparable.
    pub asked_with: Option<Arc<str>>,
    pub timing: Timing,
    /// 1 unless the call was retried.
    pub tries: u32,
    /// Tries that the server answered with 429.
    pub throttled_tries: u32,
    /// Earlier tries that the server may have charged for an unknown amount; 0 where calls are free.
    pub lost_tries: u32,
    /// In nano-dollars; `None` if the endpoint has no price.
    pub cost_nanos: Option<i64>,
    /// The price does not cover a part of the tokens, so that part costs as much as other input.
    pub plain_priced: bool,
    /// How long the server accepts no more calls: a rate-limit window is used up.
    pub used_up_for: Option<Duration>,
    /// The cost that the provider itself reports, in nano-dollars.
    pub reported_cost_nanos: Option<i64>,
    /// The rate-limit windows that the answer reports.
    #[serde(skip)]
    pub windows: Windows,
    /// The provider's limits that the endpoint has learned by now, from this answer and earlier ones.
    #[serde(skip)]
    pub learned: Allowed,
}

/// What a failed call used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Effort {
    /// 0 if nothing was sent.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Everything that the model read, including `cached_input` and `cache_write`.
    pub input: u64,
    /// Everything that the model wrote, including `reasoning`.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Timing {
    /// The rate-limit wait.
    pub wait: Duration,
    /// Opening the connection before the request was sent; `None` if one was already open. Not part of `total`.
    pub connect: Option<Duration>,
    /// From the request to the first byte of content; `None` if the reply was not streamed.
    pub first_token: Option<Duration>,
    /// The mean gap between pieces of content of a streamed reply.
    pub inter_token: Option<Duration>,
    /// To the last byte, of the last try.
    pub total: Duration,
    /// Earlier tries and the pauses after them, without rate-limit waits. No part of `total`.
    pub retried: Duration,
}
