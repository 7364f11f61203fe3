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
            Above { tokens: 500_000, input_per_million: Some(5.0), output_per_million: Some(20.0), ..Above::default() },
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
        let request: Request = Request { messages: vec![Message::user("hi")], max_tokens: own, ..Request::default() };
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
