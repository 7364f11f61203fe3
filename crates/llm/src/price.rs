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
mod tests {
    use super::*;
    use crate::{Message, chat::Request};

    const PRICE: Price = Price {
        per_call: 0.0,
        input_per_million: 0.15,
        output_per_million: 0.6,
        cached_input_per_million: None,
        cache_write_per_million: None,
        above: Vec::new(),
    };

    #[test]
    fn tokens_cost_the_listed_price() {
        let usage = Usage { input: 1_000_000, output: 500_000, ..Usage::default() };
        assert_eq!(PRICE.nanos(&usage), 150_000_000 + 300_000_000);
        assert_eq!(PRICE.nanos(&Usage::default()), 0);
        let each = Price { per_call: 0.002, ..PRICE };
        assert_eq!(each.nanos(&usage), 452_000_000);
        let absurd = Usage { input: u64::MAX, output: u64::MAX, ..Usage::default() };
        assert_eq!(PRICE.nanos(&absurd), i64::MAX);
    }

    #[test]
    fn uncounted_tokens_have_no_known_cost() {
        let (said, unsaid) = (Usage { input: 1, ..Usage::default() }, Usage::default());
        let by_call = Price { per_call: 0.5, ..Price::FREE };
        let rows = [
            (PRICE, said, Some(150)),
            (PRICE, unsaid, None),
            (Price { per_call: 0.5, ..PRICE }, unsaid, None),
            (by_call.clone(), unsaid, Some(500_000_000)),
            (by_call, said, Some(500_000_000)),
            (Price::FREE, unsaid, Some(0)),
        ];
        for (price, usage, expected) in rows {
            assert_eq!(price.of_answer(&usage), expected, "{price:?} {usage:?}");
        }
    }

    fn tiered() -> Price {
        Price {
            input_per_million: 1.25,
            output_per_million: 10.0,
            cached_input_per_million: Some(0.125),
            cache_write_per_million: Some(1.5),
            above: vec![
                Above { tokens: 200_000, input_per_million: Some(2.5), ..Above::default() },
                Above {
                    tokens: 500_000,
                    input_per_million: Some(5.0),
                    output_per_million: Some(20.0),
                    ..Above::default()
                },
            ],
            ..Price::FREE
        }
    }

    /// Each sum is made by hand from the price list, in nano-dollars.
    #[test]
    fn every_part_of_the_usage_has_its_price() {
        let usage = |input, cached_input, cache_write, output, reasoning| Usage {
            input,
            cached_input,
            cache_write,
            output,
            reasoning,
            estimated: false,
        };
        let plain = Price { cached_input_per_million: None, cache_write_per_million: None, above: vec![], ..tiered() };
        let rows = [
            // 400 plain at 1,250, 500 cached at 125, 100 written at 1,500, 50 out (40 of them reasoning) at 10,000.
            (tiered(), usage(1_000, 500, 100, 50, 40), 500_000 + 62_500 + 150_000 + 500_000, false),
            // The same at a price without these parts: all input at 1,250.
            (plain.clone(), usage(1_000, 500, 100, 50, 40), 1_250_000 + 500_000, true),
            (plain.clone(), usage(1_000, 0, 0, 50, 40), 1_250_000 + 500_000, false),
            // Exactly the tier's tokens are not above it; all tokens of a longer call cost more.
            (tiered(), usage(200_000, 0, 0, 1, 0), 250_000_000 + 10_000, false),
            (tiered(), usage(200_001, 1, 0, 1, 0), 500_000_000 + 125 + 10_000, false),
            (tiered(), usage(600_000, 0, 0, 1, 1), 3_000_000_000 + 20_000, false),
            (Price { per_call: 0.5, ..Price::FREE }, usage(9, 9, 0, 9, 0), 500_000_000, false),
        ];
        for (price, usage, nanos, plain_priced) in rows {
            assert_eq!((price.nanos(&usage), price.leaves_out(&usage)), (nanos, plain_priced), "{price:?} {usage:?}");
        }
        let odd =
            Price { above: vec![Above { tokens: 1, output_per_million: Some(f64::NAN), ..Above::default() }], ..plain };
        assert!(tiered().is_valid() && !odd.is_valid());
        assert!(!Price { cached_input_per_million: Some(-1.0), ..Price::FREE }.is_valid());
    }

    #[test]
    fn the_worst_case_is_the_dearest_tier_with_nothing_cached() {
        let request: Request =
            Request { messages: vec![Message::user("x".repeat(84))], max_tokens: Some(10), ..Request::default() };
        let bytes = crate::call::Request::input_bytes(&request);
        // 5 dollars a million in, 20 out.
        assert_eq!(tiered().worst_case_nanos(&request, 99), bytes as i64 * 5_000 + 10 * 20_000);
        let dear_cache = Price { cache_write_per_million: Some(7.0), ..tiered() };
        assert_eq!(dear_cache.worst_case_nanos(&request, 99), bytes as i64 * 7_000 + 10 * 20_000);
    }

    #[test]
    fn the_worst_case_is_never_below_the_cost() {
        let mut request: Request = Request { messages: vec![Message::user("a b c d e f g h")], ..Request::default() };
        let unbounded = PRICE.worst_case_nanos(&request, 1_000);
        assert!(unbounded >= PRICE.nanos(&Usage { input: 15, output: 1_000, ..Usage::default() }));
        request.max_tokens = Some(100);
        // One token for each byte is the most that any tokenizer makes of a text.
        let most = Usage { input: 15, output: 100, ..Usage::default() };
        assert!(PRICE.worst_case_nanos(&request, 1_000) >= PRICE.nanos(&most));
        assert!(PRICE.worst_case_nanos(&request, 1_000) < unbounded);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_in_flight_is_bounded_also_without_a_limit_of_its_own() {
        use crate::mock::{Behaviour, Mock};
        let hangs = Behaviour { hang_rate: 1.0, ..Behaviour::default() };
        let price = Price { output_per_million: 1.0, ..Price::FREE };
        for (own, of_endpoint, tokens) in [(None, None, 16_384), (None, Some(500), 500), (Some(20), Some(500), 20)] {
            let priced = Priced::new(Mock::new("m", hangs.clone()), Some(price.clone()));
            let priced = priced.with_most_output_tokens(of_endpoint.unwrap_or(ASSUMED_OUTPUT_TOKENS));
            let in_flight = priced.in_flight();
            let request: Request =
                Request { messages: vec![Message::user("hi")], max_tokens: own, ..Request::default() };
            let meanwhile = async {
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                in_flight.load(Ordering::Relaxed)
            };
            let nanos = tokio::select! {
                reply = priced.ask(&request) => panic!("{reply:?}"),
                nanos = meanwhile => nanos,
            };
            assert_eq!(nanos, tokens * 1_000);
            assert_eq!(in_flight.load(Ordering::Relaxed), 0, "it was given up");
        }
    }

    #[test]
    fn only_amounts_of_money_are_prices() {
        for (input_per_million, valid) in
            [(0.0, true), (3.0, true), (-1.0, false), (f64::NAN, false), (f64::INFINITY, false)]
        {
            let [one, other] = [Price { input_per_million, ..PRICE }, Price { per_call: input_per_million, ..PRICE }]
                .map(|p| p.is_valid());
            assert_eq!((one, other), (valid, valid), "{input_per_million}");
        }
    }
}
