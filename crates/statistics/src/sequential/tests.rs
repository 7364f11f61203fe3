//! The rules against SciPy, their chances of error, and suites whose trials end in any order.

use proptest::prelude::*;
use serde_json::Value;

use super::{
    characteristic::characteristic,
    mixture::{ln_against_at_least, ln_against_at_most},
    ratio::ln_ratio,
    rule::{Error, Found, Rule, Seen},
    suite::{Outcome, Required, Suite, Verdict},
};

/// Made by `reference/sequential.py`.
fn reference(name: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../../reference/sequential.json")).unwrap();
    all[name].as_array().unwrap().clone()
}

fn close(found: f64, right: f64, row: &Value) {
    assert!((found - right).abs() <= 1e-8 * right.abs().max(1.0), "{found} instead of {right}: {row}");
}

fn rule(of: &Value) -> Rule {
    let at = |index: usize| of[index].as_f64().unwrap();
    Rule::new(at(0), at(1), at(2), at(3)).unwrap()
}

#[test]
fn evidence_is_that_of_scipy() {
    for row in reference("mixtures") {
        let (bound, passes, failures) = (row[0].as_f64().unwrap(), row[1].as_u64().unwrap(), row[2].as_u64().unwrap());
        close(ln_against_at_least(bound, passes, failures), row[3].as_f64().unwrap(), &row);
        close(ln_against_at_most(1.0 - bound, failures, passes), row[3].as_f64().unwrap(), &row);
    }
    for row in reference("ratios") {
        let (bad, good) = (row[0].as_f64().unwrap(), row[1].as_f64().unwrap());
        close(ln_ratio(bad, good, row[2].as_u64().unwrap(), row[3].as_u64().unwrap()), row[4].as_f64().unwrap(), &row);
    }
}

#[test]
fn rules_decide_as_often_as_scipy_says() {
    for row in reference("characteristics") {
        let of = |index: usize| row[index].as_u64().unwrap();
        let found = characteristic(&rule(&row[0]), of(1), of(2), row[3].as_f64().unwrap());
        for (found, right) in
            [found.pass, found.fail, found.undecided, found.mean_trials].into_iter().zip(row[4].as_array().unwrap())
        {
            close(found, right.as_f64().unwrap(), &row);
        }
    }
    for row in reference("least") {
        let rule = rule(&row[0]);
        assert_eq!(
            (Some(rule.least_to_pass()), Some(rule.least_to_fail())),
            (row[1].as_u64(), row[2].as_u64()),
            "{row}"
        );
    }
}

#[test]
fn a_false_verdict_is_as_rare_as_the_rule_says() {
    for (bad, good) in [(0.8, 0.8), (0.95, 0.95), (0.5, 0.5), (0.75, 0.9), (0.9, 0.95)] {
        let rule = Rule::new(bad, good, 0.05, 0.10).unwrap();
        for round in [1, 7] {
            let rounds = 300 / round;
            for below in [0.0, 0.05] {
                let found = characteristic(&rule, round, rounds, bad - below);
                assert!(found.pass <= 0.05, "{rule:?} in rounds of {round}: {found:?}");
            }
            let found = characteristic(&rule, round, rounds, good);
            assert!(found.fail <= 0.10, "{rule:?} in rounds of {round}: {found:?}");
            assert!((found.pass + found.fail + found.undecided - 1.0).abs() < 1e-9);
        }
    }
}

#[test]
fn impossible_rules_are_refused() {
    let of = |bad, good, chance| Rule::new(bad, good, chance, 0.05);
    assert_eq!(of(0.0, 0.5, 0.05), Err(Error::Rate(0.0)));
    assert_eq!(of(0.5, 1.0, 0.05), Err(Error::Rate(1.0)));
    assert_eq!(of(0.9, 0.8, 0.05), Err(Error::Order { bad: 0.9, good: 0.8 }));
    assert_eq!(of(0.8, 0.9, 0.5), Err(Error::Chance(0.5)));
    assert!(of(f64::NAN, 0.9, 0.05).is_err() && of(0.8, 0.9, f64::NAN).is_err());
}

#[test]
fn trials_without_an_outcome_never_help() {
    let rule = Rule::new(0.8, 0.8, 0.05, 0.05).unwrap();
    let unknown = Seen { trials: 500, passes: 0, failures: 0 };
    assert_eq!(rule.judge(unknown), None);
    assert_eq!(rule.judge(Seen { trials: 25, passes: 20, failures: 0 }), None, "20 of 20 pass, and 20 of 25 do not");
    assert_eq!(rule.judge(Seen { trials: 20, passes: 20, failures: 0 }), Some(Found::Pass));
    assert_eq!(rule.judge(Seen { trials: 3, passes: 0, failures: 3 }), Some(Found::Fail));
}

fn suite(floor: Option<f64>, cases: usize, most_repeats: u32) -> Suite {
    Suite::new(Required::new((0.8, 0.8), &vec![floor; cases], (0.05, 0.05), most_repeats).unwrap())
}

#[test]
fn a_suite_stops_when_the_mean_and_every_floor_are_decided() {
    // 20 straight passes decide a mean of 0.8.
    let mut plain = suite(None, 4, 10);
    for repeat in 0..5 {
        assert_eq!(plain.verdict(), None);
        for case in 0..4 {
            plain.add(case, repeat, Outcome::Pass);
        }
    }
    assert_eq!((plain.verdict(), plain.rounds(), plain.consumed()), (Some(Verdict::Pass), 5, 20));

    let required = Required::new((0.5, 0.5), &[Some(0.4); 4], (0.05, 0.05), 30).unwrap();
    let least = u32::try_from(required.least_repeats_to_pass()).unwrap();
    let mut floors = Suite::new(required);
    // Case 3 fails once, so it plays on alone.
    for repeat in 0..least {
        for case in 0..4 {
            floors.add(case, repeat, if (case, repeat) == (3, 1) { Outcome::Fail } else { Outcome::Pass });
        }
    }
    assert_eq!((floors.verdict(), floors.playing()), (None, &[3][..]));
    assert!(!floors.is_wanted(0, least) && floors.is_wanted(3, least));
    let mut repeat = least;
    while floors.verdict().is_none() {
        assert!(floors.add(3, repeat, Outcome::Pass));
        repeat += 1;
    }
    assert_eq!(floors.verdict(), Some(Verdict::Pass));
    assert!((least + 1..15).contains(&repeat), "{repeat}");
    assert_eq!(floors.consumed(), u64::from(3 * least + repeat));
    assert!(floors.playing().is_empty() && !floors.is_wanted(3, repeat));
}

#[test]
fn a_case_below_its_floor_fails_the_suite() {
    let mut suite = suite(Some(0.4), 50, 60);
    let mut repeat = 0;
    while suite.verdict().is_none() {
        for case in 0..50 {
            suite.add(case, repeat, if case == 7 { Outcome::Fail } else { Outcome::Pass });
        }
        repeat += 1;
    }
    assert_eq!(suite.verdict(), Some(Verdict::CaseFails(7)));
    assert_eq!(suite.mean().1, Some(Found::Pass), "the mean alone hides it");
    let states = suite.cases();
    assert!(states[7].seen.trials > states[8].seen.trials, "the other cases stopped earlier");
}

#[test]
fn used_up_repeats_decide_nothing() {
    let mut suite = suite(None, 1, 4);
    let rounds: Vec<bool> = (0..4).map(|repeat| suite.add(0, repeat, Outcome::Pass)).collect();
    assert_eq!((rounds, suite.verdict(), suite.rounds()), (vec![true; 4], Some(Verdict::Undecided), 4));
    assert!(!suite.add(0, 4, Outcome::Pass), "it is over");
    assert_eq!(self::suite(None, 0, 4).verdict(), Some(Verdict::Undecided));
}

#[test]
fn the_least_repeats_count_cases_and_floors() {
    let of = |floor, cases| Required::new((0.95, 0.95), &vec![floor; cases], (0.05, 0.05), 1).unwrap();
    assert_eq!(of(None, 1).least_repeats_to_pass(), 88);
    assert_eq!(of(None, 40).least_repeats_to_pass(), 3);
    assert_eq!(of(Some(0.475), 40).least_repeats_to_pass(), 6);
    assert_eq!(of(None, 1).least_repeats_to_fail(), 2);
}

fn outcomes() -> impl Strategy<Value = Vec<Outcome>> {
    let outcome = prop_oneof![6 => Just(Outcome::Pass), 3 => Just(Outcome::Fail), 1 => Just(Outcome::Unknown)];
    proptest::collection::vec(outcome, 36)
}

proptest! {
    #[test]
    fn evidence_keeps_its_expectation_at_the_bound(bound in 0.05_f64..0.95, passes in 0_u64..60, failures in 0_u64..60) {
        let now = ln_against_at_least(bound, passes, failures);
        let after = |pass: u64| (ln_against_at_least(bound, passes + pass, failures + 1 - pass) - now).exp();
        let at = |rate: f64| rate * after(1) + (1.0 - rate) * after(0);
        prop_assert!((at(bound) - 1.0).abs() < 1e-6, "{}", at(bound));
        prop_assert!(at(bound + 0.04) < 1.0);
    }

    #[test]
    fn the_order_of_ends_changes_nothing(outcomes in outcomes(), order in Just((0..36_usize).collect::<Vec<_>>()).prop_shuffle()) {
        let play = |order: &[usize]| {
            let mut suite = suite(Some(0.3), 3, 12);
            for number in order {
                suite.add(number % 3, u32::try_from(number / 3).unwrap(), outcomes[*number]);
            }
            (suite.verdict(), suite.rounds(), suite.consumed(), suite.mean(), suite.cases().to_vec())
        };
        let in_order: Vec<usize> = (0..36).collect();
        prop_assert!(play(&in_order).0.is_some());
        prop_assert_eq!(play(&in_order), play(&order));
    }

    #[test]
    fn an_outcome_that_is_not_wanted_changes_nothing(outcomes in outcomes()) {
        let mut all = suite(Some(0.3), 3, 12);
        let mut wanted = all.clone();
        for (number, outcome) in outcomes.into_iter().enumerate() {
            let (case, repeat) = (number % 3, u32::try_from(number / 3).unwrap());
            if wanted.is_wanted(case, repeat) {
                wanted.add(case, repeat, outcome);
            }
            all.add(case, repeat, outcome);
        }
        prop_assert_eq!((all.verdict(), all.cases(), all.mean()), (wanted.verdict(), wanted.cases(), wanted.mean()));
    }

    #[test]
    fn cases_of_different_rates_keep_the_chance_of_error(first in 0.6_f64..1.0) {
        // Two cases whose mean is 0.8: the evidence after a round, whatever was before, is expected to be no more.
        let rates = [first, 1.6 - first];
        for (passes, failures) in [(0_u64, 0_u64), (5, 1), (20, 2), (9, 9)] {
            for sign in [ln_against_at_least, ln_against_at_most] {
                let now = sign(0.8, passes, failures);
                let mut expected = 0.0;
                for outcome in 0_u64..4 {
                    let (a, b) = (outcome & 1, outcome >> 1);
                    let chance = |pass: u64, rate: f64| if pass == 1 { rate } else { 1.0 - rate };
                    let after = sign(0.8, passes + a + b, failures + 2 - a - b);
                    expected += chance(a, rates[0]) * chance(b, rates[1]) * (after - now).exp();
                }
                prop_assert!(expected <= 1.0 + 1e-6, "{expected}");
            }
        }
    }
}
