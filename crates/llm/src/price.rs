//! What a call costs, in billionths of a dollar.

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

/// Output tokens that a call in flight makes at most, where neither its own `max_tokens` nor the endpoint's
/// `max_output_tokens` says so: the longest reply of most models. An assumption, and documented as one.
pub const ASSUMED_OUTPUT_TOKENS: u32 = 16_384;

/// In US dollars: for a million tokens, and for a call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    /// What each call costs besides its tokens; nothing where it is not written.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub per_call: f64,
    #[schemars(range(min = 0.0))]
    pub input_per_million: f64,
    #[schemars(range(min = 0.0))]
    pub output_per_million: f64,
}

/// Puts the price on every reply.
#[derive(Debug)]
pub struct Priced<C> {
    inner: C,
    /// Without one the cost of a reply stays unknown, which is not the same as nothing.
    price: Option<Price>,
    /// Output tokens of a call that says nothing of them itself.
    most_output_tokens: u32,
    in_flight: Arc<AtomicI64>,
}

/// What a call may cost at most, counted until it is answered or given up.
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
    pub const FREE: Self = Self { per_call: 0.0, input_per_million: 0.0, output_per_million: 0.0 };

    /// Whether it is an amount of money: a negative price would make a budget grow.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        [self.per_call, self.input_per_million, self.output_per_million]
            .iter()
            .all(|price| price.is_finite() && *price >= 0.0)
    }

    fn is_free(&self) -> bool {
        self.per_call == 0.0 && !self.counts_tokens()
    }

    fn counts_tokens(&self) -> bool {
        self.input_per_million > 0.0 || self.output_per_million > 0.0
    }

    /// Of one call, in nano-dollars.
    #[must_use]
    pub fn nanos(&self, usage: &Usage) -> i64 {
        self.call_nanos()
            .saturating_add(cost(usage.input_tokens, self.input_per_million))
            .saturating_add(cost(usage.output_tokens, self.output_per_million))
    }

    /// Of an answered call, in nano-dollars; `None` where tokens cost something and their number is unknown.
    fn of_answer(&self, usage: &Usage) -> Option<i64> {
        let unknown = self.counts_tokens() && *usage == Usage::default();
        (!unknown).then(|| self.nanos(usage))
    }

    fn call_nanos(&self) -> i64 {
        (self.per_call * 1e9).round() as i64
    }

    /// The most that this request can cost, in nano-dollars: what a budget sets aside while it is in flight. A request
    /// without `max_tokens` is taken to make at most `most_output_tokens`.
    ///
    /// Every byte counts as a token. It is about four times too much for English, but a guess that can be too
    /// low would let a run spend more than its cap.
    #[must_use]
    pub fn worst_case_nanos(&self, request: &impl Request, most_output_tokens: u32) -> i64 {
        let output_tokens = u64::from(request.max_output_tokens().unwrap_or(most_output_tokens));
        self.nanos(&Usage { input_tokens: request.input_bytes(), output_tokens, estimated: true })
    }
}

impl<C> Priced<C> {
    #[must_use]
    pub fn new(inner: C, price: Option<Price>) -> Self {
        Self::sharing(inner, price, Arc::default())
    }

    /// One of several that count what is in flight together.
    #[must_use]
    pub fn sharing(inner: C, price: Option<Price>, in_flight: Arc<AtomicI64>) -> Self {
        Self { inner, price, most_output_tokens: ASSUMED_OUTPUT_TOKENS, in_flight }
    }

    /// With what the model's longest reply is known to be.
    #[must_use]
    pub fn with_most_output_tokens(self, most_output_tokens: u32) -> Self {
        Self { most_output_tokens, ..self }
    }

    /// What the calls that are not answered may cost at most, in nano-dollars: a handle that outlives this layer.
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
        let price = self.price.filter(|price| !price.is_free());
        let worst = price.map_or(0, |price| price.worst_case_nanos(request, self.most_output_tokens));
        let in_flight = InFlight::new(&self.in_flight, worst);
        let mut reply = self.inner.ask(request).await?;
        drop(in_flight);
        let receipt = reply.receipt_mut();
        receipt.cost_nanos = self.price.and_then(|price| price.of_answer(&receipt.usage));
        Ok(reply)
    }
}

/// A dollar for a million tokens is a thousand nano-dollars a token.
fn cost(tokens: u64, per_million: f64) -> i64 {
    (tokens as f64 * per_million * 1_000.0).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, chat::Request};

    const PRICE: Price = Price { per_call: 0.0, input_per_million: 0.15, output_per_million: 0.6 };

    #[test]
    fn tokens_cost_what_the_price_list_says() {
        let usage = Usage { input_tokens: 1_000_000, output_tokens: 500_000, estimated: false };
        assert_eq!(PRICE.nanos(&usage), 150_000_000 + 300_000_000);
        assert_eq!(PRICE.nanos(&Usage::default()), 0);
        let each = Price { per_call: 0.002, ..PRICE };
        assert_eq!(each.nanos(&usage), 452_000_000);
        let absurd = Usage { input_tokens: u64::MAX, output_tokens: u64::MAX, estimated: false };
        assert_eq!(PRICE.nanos(&absurd), i64::MAX);
    }

    #[test]
    fn tokens_that_nobody_counted_have_no_known_cost() {
        let (said, unsaid) = (Usage { input_tokens: 1, ..Usage::default() }, Usage::default());
        let by_call = Price { per_call: 0.5, ..Price::FREE };
        let rows = [
            (PRICE, said, Some(150)),
            (PRICE, unsaid, None),
            (Price { per_call: 0.5, ..PRICE }, unsaid, None),
            (by_call, unsaid, Some(500_000_000)),
            (by_call, said, Some(500_000_000)),
            (Price::FREE, unsaid, Some(0)),
        ];
        for (price, usage, expected) in rows {
            assert_eq!(price.of_answer(&usage), expected, "{price:?} {usage:?}");
        }
    }

    #[test]
    fn the_worst_case_is_never_below_the_cost() {
        let mut request = Request { messages: vec![Message::user("a b c d e f g h")], ..Request::default() };
        let unbounded = PRICE.worst_case_nanos(&request, 1_000);
        assert!(unbounded >= PRICE.nanos(&Usage { input_tokens: 15, output_tokens: 1_000, estimated: false }));
        request.max_tokens = Some(100);
        // One token for each byte is the most that any tokenizer makes of a text.
        let most = Usage { input_tokens: 15, output_tokens: 100, estimated: false };
        assert!(PRICE.worst_case_nanos(&request, 1_000) >= PRICE.nanos(&most));
        assert!(PRICE.worst_case_nanos(&request, 1_000) < unbounded);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_in_flight_is_bounded_also_without_a_limit_of_its_own() {
        use crate::mock::{Behaviour, Mock};
        let hangs = Behaviour { hang_rate: 1.0, ..Behaviour::default() };
        let price = Price { per_call: 0.0, input_per_million: 0.0, output_per_million: 1.0 };
        for (own, of_endpoint, tokens) in [(None, None, 16_384), (None, Some(500), 500), (Some(20), Some(500), 20)] {
            let priced = Priced::new(Mock::new("m", hangs.clone()), Some(price));
            let priced = priced.with_most_output_tokens(of_endpoint.unwrap_or(ASSUMED_OUTPUT_TOKENS));
            let in_flight = priced.in_flight();
            let request = Request { messages: vec![Message::user("hi")], max_tokens: own, ..Request::default() };
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
