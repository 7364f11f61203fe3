//! What a call costs, in billionths of a dollar.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Model, Reply, Request, Usage, estimate};

/// In US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    #[schemars(range(min = 0.0))]
    pub input_per_million: f64,
    #[schemars(range(min = 0.0))]
    pub output_per_million: f64,
}

/// Puts the price on every reply.
#[derive(Debug)]
pub struct Priced<M> {
    inner: M,
    /// Without one the cost of a reply stays unknown, which is not the same as nothing.
    price: Option<Price>,
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
    /// Whether it is an amount of money: a negative price would make a budget grow.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        [self.input_per_million, self.output_per_million].iter().all(|price| price.is_finite() && *price >= 0.0)
    }

    fn is_free(&self) -> bool {
        self.input_per_million == 0.0 && self.output_per_million == 0.0
    }

    /// In nano-dollars.
    #[must_use]
    pub fn nanos(&self, usage: &Usage) -> i64 {
        cost(usage.input_tokens, self.input_per_million)
            .saturating_add(cost(usage.output_tokens, self.output_per_million))
    }

    /// The most that this request can cost, in nano-dollars: what a budget sets aside while it is in flight.
    /// `None` where the reply is not bounded by `max_tokens`.
    ///
    /// Every byte counts as a token. It is about four times too much for English, but a guess that can be too
    /// low would let a run spend more than its cap.
    #[must_use]
    pub fn worst_case_nanos(&self, request: &Request) -> Option<i64> {
        let output_tokens = u64::from(request.max_tokens?);
        let usage = Usage { input_tokens: estimate::request_bytes(request), output_tokens, estimated: true };
        Some(self.nanos(&usage))
    }
}

impl<M: Model> Priced<M> {
    #[must_use]
    pub fn new(inner: M, price: Option<Price>) -> Self {
        Self { inner, price, in_flight: Arc::default() }
    }

    /// What the calls that are not answered may cost at most, in nano-dollars: a handle that outlives this layer.
    #[must_use]
    pub fn in_flight(&self) -> Arc<AtomicI64> {
        Arc::clone(&self.in_flight)
    }
}

#[async_trait]
impl<M: Model> Model for Priced<M> {
    fn endpoint(&self) -> &str {
        self.inner.endpoint()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn ask(&self, request: &Request) -> Result<Reply, Error> {
        // What is free need not be counted, which takes a look at every message.
        let price = self.price.filter(|price| !price.is_free());
        let worst = price.and_then(|price| price.worst_case_nanos(request)).unwrap_or(0);
        let in_flight = InFlight::new(&self.in_flight, worst);
        let mut reply = self.inner.ask(request).await?;
        drop(in_flight);
        reply.cost_nanos = self.price.map(|price| price.nanos(&reply.usage));
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
    use crate::Message;

    const PRICE: Price = Price { input_per_million: 0.15, output_per_million: 0.6 };

    #[test]
    fn tokens_cost_what_the_price_list_says() {
        let usage = Usage { input_tokens: 1_000_000, output_tokens: 500_000, estimated: false };
        assert_eq!(PRICE.nanos(&usage), 150_000_000 + 300_000_000);
        assert_eq!(PRICE.nanos(&Usage::default()), 0);
        let absurd = Usage { input_tokens: u64::MAX, output_tokens: u64::MAX, estimated: false };
        assert_eq!(PRICE.nanos(&absurd), i64::MAX);
    }

    #[test]
    fn the_worst_case_is_never_below_the_cost() {
        let mut request = Request { messages: vec![Message::user("a b c d e f g h")], ..Request::default() };
        assert_eq!(PRICE.worst_case_nanos(&request), None);
        request.max_tokens = Some(100);
        // One token for each byte is the most that any tokenizer makes of a text.
        let most = Usage { input_tokens: 15, output_tokens: 100, estimated: false };
        assert!(PRICE.worst_case_nanos(&request).expect("bounded") >= PRICE.nanos(&most));
    }

    #[test]
    fn only_amounts_of_money_are_prices() {
        for (input_per_million, valid) in
            [(0.0, true), (3.0, true), (-1.0, false), (f64::NAN, false), (f64::INFINITY, false)]
        {
            assert_eq!(Price { input_per_million, output_per_million: 1.0 }.is_valid(), valid, "{input_per_million}");
        }
    }
}
