//! The price of a call, in billionths of a dollar.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Error, Usage,
    call::{Call, Named, Reply, Request},
};

/// The assumed output of a call in flight, if neither its own `max_tokens` nor the endpoint's `max_output_tokens` is
/// set: the longest reply of most models. An assumption, and documented as one.
pub const ASSUMED_OUTPUT_TOKENS: u32 = 16_384;

/// In US dollars: for a million tokens, and for a call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    /// The cost of each call in addition to its tokens; nothing by default.
    #[serde(default, skip_serializing_if = "is_nothing")]
    #[schemars(range(min = 0.0))]
    pub per_call: f64,
    #[schemars(range(min = 0.0))]
    pub input_per_million: f64,
    #[schemars(range(min = 0.0))]
    pub output_per_million: f64,
    /// Input that the provider's cache held; absent: as much as other input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub cached_input_per_million: Option<f64>,
    /// Input that is written to the provider's cache; absent: as much as other input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub cache_write_per_million: Option<f64>,
    /// Other prices of calls with long inputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub above: Vec<Above>,
}

/// The prices of a call whose input is longer than this; absent prices are those of shorter calls.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Above {
    /// Tokens of the input. If several limits are exceeded, the highest counts.
    pub tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub input_per_million: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub output_per_million: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub cached_input_per_million: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub cache_write_per_million: Option<f64>,
}

/// The prices of a million tokens that hold for one call.
#[derive(Debug, Clone, Copy)]
struct Rates {
    input: f64,
    output: f64,
    cached_input: Option<f64>,
    cache_write: Option<f64>,
}

/// Puts the price on every reply.
#[derive(Debug)]
pub struct Priced<C> {
    inner: C,
    /// Without a price, the cost of a reply is unknown, which is not the same as zero.
    price: Option<Price>,
    /// The assumed output of a call that sets no limit itself.
    most_output_tokens: u32,
    in_flight: Arc<AtomicI64>,
}

/// The most that a call may cost, counted until it is answered or dropped.
struct InFlight<'a> {
    sum: &'a AtomicI64,
    nanos: i64,
}

impl<'a> InFlight<'a> {
    fn new(sum: &'a AtomicI64, nanos: i64) -> Self {
        sum.fetch_add(nanos, Ordering::Relaxed);
        Self { sum, nanos }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.sum.fetch_sub(self.nanos, Ordering::Relaxed);
    }
}

impl Price {
    pub const FREE: Self = Self {
        per_call: 0.0,
        input_per_million: 0.0,
        output_per_million: 0.0,
        cached_input_per_million: None,
        cache_write_per_million: None,
        above: Vec::new(),
    };

    /// Whether it is an amount of money: a negative price would make a budget grow.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let of_tokens = self.all_rates().flat_map(Rates::all);
        of_tokens.chain([self.per_call]).all(|price| price.is_finite() && price >= 0.0)
    }

    fn is_free(&self) -> bool {
        self.per_call == 0.0 && !self.counts_tokens()
    }

    fn counts_tokens(&self) -> bool {
        self.all_rates().flat_map(Rates::all).any(|price| price > 0.0)
    }

    fn plain_rates(&self) -> Rates {
        Rates {
            input: self.input_per_million,
            output: self.output_per_million,
            cached_input: self.cached_input_per_million,
            cache_write: self.cache_write_per_million,
        }
    }

    fn all_rates(&self) -> impl Iterator<Item = Rates> {
        let plain = self.plain_rates();
        self.above.iter().map(move |above| plain.above(above)).chain([plain])
    }

    /// The rates of a call with this many tokens of input.
    fn rates(&self, input: u64) -> Rates {
        let plain = self.plain_rates();
        let exceeded = self.above.iter().filter(|above| input > above.tokens);
        exceeded.max_by_key(|above| above.tokens).map_or(plain, |above| plain.above(above))
    }

    /// Of one call, in nano-dollars.
    #[must_use]
    pub fn nanos(&self, usage: &Usage) -> i64 {
        let rates = self.rates(usage.input);
        let plain = usage.input.saturating_sub(usage.cached_input).saturating_sub(usage.cache_write);
        let parts = [
            (plain, rates.input),
            (usage.cached_input, rates.cached_input.unwrap_or(rates.input)),
            (usage.cache_write, rates.cache_write.unwrap_or(rates.input)),
            (usage.output, rates.output),
        ];
        parts.iter().fold(self.call_nanos(), |sum, (tokens, price)| sum.saturating_add(cost(*tokens, *price)))
    }

    /// Whether a part of the tokens has no price of its own and costs as much as other input.
    #[must_use]
    pub fn leaves_out(&self, usage: &Usage) -> bool {
        let rates = self.rates(usage.input);
        self.counts_tokens()
            && ((usage.cached_input > 0 && rates.cached_input.is_none())
                || (usage.cache_write > 0 && rates.cache_write.is_none()))
    }

    /// The cost of an answered call, in nano-dollars; `None` if tokens cost something and their number is unknown.
    fn of_answer(&self, usage: &Usage) -> Option<i64> {
        let unknown = self.counts_tokens() && *usage == Usage::default();
        (!unknown).then(|| self.nanos(usage))
    }

    fn call_nanos(&self) -> i64 {
        (self.per_call * 1e9).round() as i64
    }

    /// The most that this request can cost, in nano-dollars, which a budget reserves while it is in flight. A request
    /// without `max_tokens` is assumed to produce `most_output_tokens`.
    ///
    /// Every byte counts as a token, nothing comes from a cache, and the highest price of each kind applies. It is
    /// about four times too much for English, but an estimate that can be too low would let a run spend more than its
    /// cap.
    #[must_use]
    pub fn worst_case_nanos(&self, request: &impl Request, most_output_tokens: u32) -> i64 {
        let output_tokens = u64::from(request.max_output_tokens().unwrap_or(most_output_tokens));
        let dearest = |of: fn(Rates) -> f64| self.all_rates().map(of).fold(0.0, f64::max);
        self.call_nanos()
            .saturating_add(cost(
                request.input_bytes(),
                dearest(|rates| rates.input.max(rates.cache_write.unwrap_or(0.0))),
            ))
            .saturating_add(cost(output_tokens, dearest(|rates| rates.output)))
    }
}

impl Rates {
    fn above(self, above: &Above) -> Self {
        Self {
            input: above.input_per_million.unwrap_or(self.input),
            output: above.output_per_million.unwrap_or(self.output),
            cached_input: above.cached_input_per_million.or(self.cached_input),
            cache_write: above.cache_write_per_million.or(self.cache_write),
        }
    }

    fn all(self) -> impl Iterator<Item = f64> {
        [Some(self.input), Some(self.output), self.cached_input, self.cache_write].into_iter().flatten()
    }
}

impl<C> Priced<C> {
    #[must_use]
    pub fn new(inner: C, price: Option<Price>) -> Self {
        Self::sharing(inner, price, Arc::default())
    }

    /// One of several layers that count their calls in flight together.
    #[must_use]
    pub fn sharing(inner: C, price: Option<Price>, in_flight: Arc<AtomicI64>) -> Self {
        Self { inner, price, most_output_tokens: ASSUMED_OUTPUT_TOKENS, in_flight }
    }

    /// Sets the known length of the model's longest reply.
    #[must_use]
    pub fn with_most_output_tokens(self, most_output_tokens: u32) -> Self {
        Self { most_output_tokens, ..self }
    }

    /// The most that unanswered calls may cost, in nano-dollars: a handle that outlives this layer.
    #[must_use]
    pub fn in_flight(&self) -> Arc<AtomicI64> {
        Arc::clone(&self.in_flight)
    }
}

impl<C: Named> Named for Priced<C> {
    fn endpoint(&self) -> &str {
        self.inner.endpoint()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }
}

#[async_trait]
impl<R: Request, C: Call<R>> Call<R> for Priced<C> {
    fn worst_case_nanos(&self, request: &R) -> Option<i64> {
        let price = self.price.as_ref()?;
        Some(if price.is_free() { 0 } else { price.worst_case_nanos(request, self.most_output_tokens) })
    }

    async fn ask(&self, request: &R) -> Result<R::Reply, Error> {
        // A free call skips the count, which reads every message.
        let price = self.price.as_ref().filter(|price| !price.is_free());
        let worst = price.map_or(0, |price| price.worst_case_nanos(request, self.most_output_tokens));
        let in_flight = InFlight::new(&self.in_flight, worst);
        let mut reply = self.inner.ask(request).await?;
        drop(in_flight);
        let receipt = reply.receipt_mut();
        if let Some(price) = &self.price {
            receipt.cost_nanos = price.of_answer(&receipt.usage);
            receipt.plain_priced = price.leaves_out(&receipt.usage);
        }
        Ok(reply)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_nothing(price: &f64) -> bool {
    *price == 0.0
}

/// A dollar for a million tokens is a thousand nano-dollars a token.
fn cost(tokens: u64, per_million: f64) -> i64 {
    (tokens as f64 * per_million * 1_000.0).round() as i64
}

#[cfg(test)]
mod tests;
