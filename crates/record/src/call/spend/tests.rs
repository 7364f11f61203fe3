//! Sums of spending, and when a cost is complete.

use super::*;
use crate::named_limits::NamedLimits;

fn call() -> Call {
    Call {
        role: Role::UserSim,
        endpoint: "sim".to_owned(),
        model: "m".to_owned(),
        started_micros: 0,
        wait_micros: 0,
        connect_micros: None,
        ttft_micros: None,
        inter_token_micros: None,
        total_micros: 1,
        retried_micros: 0,
        tokens: Tokens::default(),
        texts: None,
        estimated: false,
        cost: None,
        plain_priced: false,
        limits: NamedLimits::default(),
        reported_cost: None,
        finish: None,
        tries: 1,
        throttled_tries: 0,
        lost_tries: 0,
        error: None,
        error_kind: None,
        of_trial: false,
    }
}

#[test]
fn a_cost_is_a_lower_bound_while_a_part_of_it_is_unknown() {
    for (cost, lost_tries, unpriced_calls) in [(Some(5), 0, 0), (Some(5), 2, 2), (None, 0, 1), (None, 2, 3)] {
        let mut spend = Spend::default();
        spend.add_call(&Call { cost: cost.map(Usd), tries: lost_tries + 1, lost_tries, ..call() });
        let line = spend.of(Role::UserSim);
        assert_eq!((line.calls, line.unpriced_calls, line.cost), (1, unpriced_calls, Usd(cost.unwrap_or(0))));
        assert_eq!((line.tries, spend.is_complete()), (u64::from(lost_tries) + 1, unpriced_calls == 0));
    }
}

#[test]
fn an_estimated_cost_is_not_complete_unless_it_is_nothing() {
    for (cost, estimated, complete) in [(5, false, true), (5, true, false), (0, true, true)] {
        let mut spend = Spend::default();
        spend.add_call(&Call { cost: Some(Usd(cost)), estimated, ..call() });
        assert_eq!((spend.is_complete(), spend.estimated_calls()), (complete, u64::from(estimated)), "{cost}");
    }
}

#[test]
fn a_part_without_a_price_of_its_own_makes_the_cost_incomplete() {
    for (cost, plain_priced, complete) in [(5, false, true), (5, true, false), (0, true, true)] {
        let mut spend = Spend::default();
        spend.add_call(&Call { cost: Some(Usd(cost)), plain_priced, ..call() });
        assert_eq!((spend.is_complete(), spend.plain_priced_calls()), (complete, u64::from(plain_priced)), "{cost}");
    }
}

#[test]
fn every_kind_of_token_and_cut_replies_are_added_up() {
    let tokens = Tokens { input: 10, output: 5, cached_input: 4, cache_write: 3, reasoning: 2 };
    let mut spend = Spend::default();
    for finish in [Some(Finish::Length), Some(Finish::Stop), None] {
        spend.add_call(&Call { tokens, finish, reported_cost: Some(Usd(7)), ..call() });
    }
    let line = spend.of(Role::UserSim);
    assert_eq!((line.cut_calls, line.reported_cost), (1, Usd(21)));
    let sum = Tokens { input: 30, output: 15, cached_input: 12, cache_write: 9, reasoning: 6 };
    assert_eq!(line.tokens, sum);
    let stored = serde_json::to_string(&spend).unwrap();
    assert_eq!(serde_json::from_str::<Spend>(&stored).unwrap(), spend);
    let none = serde_json::to_string(&Tokens { input: 1, output: 2, ..Tokens::default() }).unwrap();
    assert_eq!(none, r#"{"input":1,"output":2}"#, "views of runs without a cache stay as they were");
}

#[test]
fn spending_of_lost_attempts_is_unknown_unless_all_was_free() {
    // (known cost of a call, unsettled cost of lost workers, attempts with unknown spend)
    for (cost, unsettled, unknown) in
        [(Some(Some(5)), 0, 2), (Some(None), 0, 2), (Some(Some(0)), 0, 0), (Some(Some(0)), 9, 2), (None, 0, 2)]
    {
        let mut spend = Spend::default();
        if let Some(cost) = cost {
            spend.add_call(&Call { cost: cost.map(Usd), ..call() });
        }
        assert_eq!(spend.unknown_attempts(2, Usd(unsettled)), unknown, "{cost:?} {unsettled}");
        assert!(unknown == 0 || !spend.is_whole(2, Usd(unsettled)), "{cost:?} {unsettled}");
    }
}

#[test]
fn tries_throttling_and_waits_are_added_up() {
    let mut spend = Spend::default();
    for (tries, throttled_tries, wait_micros) in [(1, 0, 0), (4, 3, 700), (2, 1, 50)] {
        spend.add_call(&Call { tries, throttled_tries, wait_micros, ..call() });
    }
    let line = spend.of(Role::UserSim);
    assert_eq!((line.calls, line.tries, line.throttled_tries, line.wait_micros), (3, 7, 4, 750));
}

/// As version 0.4 stored it.
#[test]
fn a_line_of_the_last_version_is_read() {
    let stored = r#"[{"role":"judge","model":"m","line":{"calls":2,"tokens":{"input":3,"output":4},"cost":5,"unpriced_calls":1}}]"#;
    let spend: Spend = serde_json::from_str(stored).unwrap();
    let tokens = Tokens { input: 3, output: 4, ..Tokens::default() };
    let line = SpendLine { calls: 2, tokens, cost: Usd(5), unpriced_calls: 1, ..SpendLine::default() };
    assert_eq!(spend.of(Role::Judge), line);
}

#[test]
fn sums_stop_at_the_largest_number() {
    let tokens = Tokens { input: u64::MAX, output: 1, ..Tokens::default() };
    let most = SpendLine {
        calls: u64::MAX - 1,
        tokens,
        cost: Usd(i64::MAX),
        unpriced_calls: u64::MAX,
        tries: u64::MAX,
        wait_micros: u64::MAX,
        ..SpendLine::default()
    };
    let mut spend = Spend::default();
    for model in ["a", "a", "b"] {
        spend.add_line(Role::Judge, model, most);
    }
    let sum = spend.of(Role::Judge);
    assert_eq!((sum.calls, sum.tokens), (u64::MAX, Tokens { input: u64::MAX, output: 3, ..Tokens::default() }));
    assert_eq!((spend.cost(), spend.unpriced_calls()), (Usd(i64::MAX), u64::MAX));
}
