use record::{Role, Tokens, Trial, Usd, Verdict, call::SpendLine, trial::TurnLatency};
use scenario::{CaseId, TrialId, objective::Selection};

use super::*;

/// A trial of one turn that begins so many seconds after the run and takes so many milliseconds.
fn trial(second: u64, millis: u64, verdict: Verdict) -> Trial {
    let (id, case_id) = (TrialId::new("t"), CaseId::new("c"));
    let planned = scenario::Trial { number: 0, id, case: 0, case_id, repeat: 0, seed: 1 };
    let failure = record::Failure::new(record::FailureKind::AgentFailed, "");
    let turn =
        TurnLatency { total_micros: millis * 1_000, response_micros: Some(millis * 1_000), ..TurnLatency::default() };
    Trial { began_at_ms: 1 + second * 1_000, latencies: vec![turn], ..Trial::unplayed(&planned, 1, verdict, failure) }
}

fn fold(text: &str, trials: impl IntoIterator<Item = Trial>) -> Objectives {
    let watched = Watched { objective: Objective::read(text).expect(text), selection: Selection::default() };
    let mut fold = Objectives::of(vec![watched], None, 1);
    trials.into_iter().for_each(|trial| fold.add(&trial));
    fold
}

fn gate(text: &str, when: When, trials: impl IntoIterator<Item = Trial>) -> (RunVerdict, String) {
    let found = gates(&fold(text, trials), &Spend::default(), when, &[]);
    let [Gate { name, verdict, reason }] = found.try_into().expect("one");
    assert_eq!(name, Objective::read(text).expect(text).to_string());
    (verdict, reason)
}

/// So many trials of one second with this time.
fn turns(many: u64, millis: u64) -> impl Iterator<Item = Trial> {
    (0..many).map(move |_| trial(1, millis, Verdict::Pass))
}

#[test]
fn times_of_a_whole_run() {
    use RunVerdict::{Fail, Inconclusive, Pass};
    for (text, fast, slow, expected, reason) in [
        ("p99(response) < 2s", 0, 0, Inconclusive, "no turn has this time, required < 2s"),
        ("p99(response) < 2s", 655, 7, Fail, "3.00 s of 662 turns, required < 2s"),
        ("p99(response) < 2s", 656, 6, Pass, "100 ms of 662 turns, required < 2s"),
        ("p99(response) < 2s", 661, 0, Inconclusive, "too few: 661 turns, p99 needs 662, required < 2s"),
        // More than half are too slow, so p99 is too, however few there are.
        ("p99(response) < 2s", 1, 2, Fail, "3.00 s of 3 turns, required < 2s"),
        ("p99(response) < 2s", 57, 7, Fail, "3.00 s of 64 turns, required < 2s"),
        ("p99(response) < 2s", 58, 6, Inconclusive, "too few: 64 turns, p99 needs 662, required < 2s"),
        ("p90(response) > 2s", 57, 7, Pass, "3.00 s of 64 turns, required > 2s"),
        ("p90(response) > 2s", 58, 6, Fail, "100 ms of 64 turns, required > 2s"),
        ("p50(response) < 2s", 11, 0, Pass, "100 ms of 11 turns, required < 2s"),
        ("max(response) < 3s", 1_000, 1, Fail, "3.00 s of 1,001 turns, required < 3s"),
        ("max(response) <= 3s", 1_000, 1, Pass, "3.00 s of 1,001 turns, required <= 3s"),
        ("mean(response) < 1s", 3, 1, Pass, "825 ms of 4 turns, required < 1s"),
        ("mean(response) < 500ms", 3, 1, Fail, "825 ms of 4 turns, required < 500ms"),
        ("max(ttft) < 1s", 3, 0, Inconclusive, "no turn has this time, required < 1s"),
    ] {
        let found = gate(text, When::Over, turns(fast, 100).chain(turns(slow, 3_000)));
        assert_eq!(found, (expected, reason.to_owned()), "{text}, {fast} fast and {slow} slow");
    }
}

#[test]
fn shares_need_evidence_while_the_run_plays() {
    use RunVerdict::{Fail, Inconclusive, Pass};
    for (text, pass, fail, playing, over) in [
        ("pass_rate >= 0.95", 0, 0, Inconclusive, Inconclusive),
        ("pass_rate >= 0.9", 0, 1, Inconclusive, Fail),
        ("pass_rate >= 0.95", 0, 2, Fail, Fail),
        ("pass_rate >= 0.95", 19, 1, Pass, Pass),
        ("pass_rate >= 0.95", 18, 1, Inconclusive, Fail),
        ("pass_rate >= 0.95", 180, 20, Fail, Fail),
        ("pass_rate == 100%", 99, 1, Fail, Fail),
        ("pass_rate == 100%", 99, 0, Pass, Pass),
        ("error_rate < 1%", 99, 0, Pass, Pass),
    ] {
        let trials = || {
            let of = |many: u64, verdict| (0..many).map(move |_| trial(1, 5, verdict));
            of(pass, Verdict::Pass).chain(of(fail, Verdict::Fail))
        };
        assert_eq!(
            gate(text, When::Playing(5_000_000), trials()).0,
            playing,
            "{text} playing, {pass} of {}",
            pass + fail
        );
        assert_eq!(gate(text, When::Over, trials()).0, over, "{text} over, {pass} of {}", pass + fail);
    }
    let errors = (0..3).map(|_| trial(1, 5, Verdict::Error));
    let (verdict, reason) = gate("error_rate < 1%", When::Playing(1), errors);
    assert_eq!((verdict, reason.as_str()), (Fail, "3 of 3 conversations (100.00 %), required < 1%"));
}

#[test]
fn counts_and_costs_only_grow_while_the_run_plays() {
    use RunVerdict::{Fail, Inconclusive, Pass};
    for (text, errors, playing, over) in [
        ("errors == 0", 0, Inconclusive, Pass),
        ("errors == 0", 1, Fail, Fail),
        ("errors <= 2", 2, Inconclusive, Pass),
        ("errors <= 2", 3, Fail, Fail),
        ("errors >= 2", 1, Inconclusive, Fail),
        ("errors != 1", 1, Inconclusive, Fail),
    ] {
        let trials = || (0..5).map(|number| trial(1, 5, if number < errors { Verdict::Error } else { Verdict::Pass }));
        assert_eq!(gate(text, When::Playing(1), trials()).0, playing, "{text} playing, {errors}");
        assert_eq!(gate(text, When::Over, trials()).0, over, "{text} over, {errors}");
    }
    assert_eq!(gate("dropped == 0", When::Over, []).0, Inconclusive, "nothing was played");
    let spent = |dollars: f64, unpriced_calls: u64, text: &str, when| {
        let mut spend = Spend::default();
        let line = SpendLine { calls: 9, cost: Usd((dollars * 1e9) as i64), unpriced_calls, ..SpendLine::default() };
        spend.add_line(Role::Agent, "m", line);
        gates(&fold(text, []), &spend, when, &[])[0].verdict
    };
    let over = When::Over;
    assert_eq!([spent(19.5, 0, "cost < 20", over), spent(20.0, 0, "cost < 20", over)], [Pass, Fail]);
    assert_eq!([spent(19.5, 1, "cost < 20", over), spent(20.0, 1, "cost < 20", over)], [Inconclusive, Fail]);
    assert_eq!(spent(20.0, 0, "cost < 20", When::Playing(1)), Fail);
    assert_eq!(spent(1.0, 0, "cost < 20", When::Playing(1)), Inconclusive);
}

#[test]
fn what_is_for_each_conversation_leaves_the_warm_up_out() {
    let spend = |calls: u64| {
        let mut spend = Spend::default();
        let tokens = Tokens { input: 20 * calls, output: 10 * calls, ..Tokens::default() };
        let cost = Usd(i64::try_from(calls).expect("few") * 1_000_000_000);
        spend.add_line(Role::Agent, "m", SpendLine { calls, tokens, cost, ..SpendLine::default() });
        spend
    };
    let (all, warm_up) = (spend(10), spend(6));
    let reason = |text: &str, used: Used<'_>| {
        let [gate] = gates(&fold(text, turns(2, 100)), used, When::Over, &[]).try_into().expect("one");
        gate.reason
    };
    for (text, with, without) in [
        ("tokens_per_conversation < 99", "150", "60.0"),
        ("cost_per_conversation < 9", "5.0000", "2.0000"),
        ("cost_per_pass < 9", "5.0000", "2.0000"),
        ("cost < 99", "10.0000", "10.0000"),
        ("tokens < 999", "300", "300"),
    ] {
        let starts = |reason: String, figure: &str| assert!(reason.starts_with(figure), "{text}: {reason}");
        starts(reason(text, Used::from(&all)), with);
        starts(reason(text, Used { all: &all, warm_up: Some(&warm_up) }), without);
    }
}

#[test]
fn a_turn_without_an_answer_takes_for_ever() {
    use RunVerdict::{Fail, Inconclusive, Pass};
    for (text, answered, lost, expected, reason) in [
        ("p95(response) < 2s", 124, 6, Pass, "100 ms of 130 turns, 6 without an answer, required < 2s"),
        ("p95(response) < 2s", 123, 7, Fail, "no answer, of 130 turns, 7 without an answer, required < 2s"),
        ("p95(service) < 2s", 123, 7, Fail, "no answer, of 130 turns, 7 without an answer, required < 2s"),
        ("p95(response) > 2s", 123, 7, Pass, "no answer, of 130 turns, 7 without an answer, required > 2s"),
        (
            "p95(response) < 2s",
            100,
            1,
            Inconclusive,
            "too few: 101 turns, 1 without an answer, p95 needs 130, required < 2s",
        ),
        ("p95(response) < 2s", 1, 2, Fail, "no answer, of 3 turns, 2 without an answer, required < 2s"),
        ("max(response) < 2s", 9, 1, Fail, "no answer, of 10 turns, 1 without an answer, required < 2s"),
        ("mean(response) < 2s", 9, 1, Pass, "100 ms of 10 turns, 1 without an answer, required < 2s"),
        ("p50(wait) < 2s", 9, 5, Pass, "0.00 ms of 9 turns, required < 2s"),
    ] {
        let silent = (0..lost).map(|_| Trial { latencies: vec![], unanswered: 1, ..trial(1, 5, Verdict::Error) });
        let found = gate(text, When::Over, turns(answered, 100).chain(silent));
        assert_eq!(found, (expected, reason.to_owned()), "{text}, {answered} answered and {lost} not");
    }
}

#[test]
fn costs_and_tokens_are_divided_by_conversations() {
    use RunVerdict::{Fail, Inconclusive, Pass};
    let spent = |verdict, dollars: f64, tokens: u64, unpriced_calls| {
        let mut trial = trial(1, 5, verdict);
        let tokens = record::Tokens { input: tokens, ..record::Tokens::default() };
        let line =
            SpendLine { calls: 1, cost: Usd((dollars * 1e9) as i64), tokens, unpriced_calls, ..SpendLine::default() };
        trial.spend.add_line(Role::Agent, "m", line);
        trial
    };
    let of = |text: &str, trials: Vec<Trial>| {
        let mut spend = Spend::default();
        trials.iter().for_each(|trial| spend.add(&trial.spend));
        let [Gate { verdict, reason, .. }] =
            gates(&fold(text, trials), &spend, When::Over, &[]).try_into().expect("one");
        (verdict, reason)
    };
    let two = || vec![spent(Verdict::Pass, 0.01, 100, 0), spent(Verdict::Fail, 0.03, 301, 0)];
    for (text, verdict, reason) in [
        ("cost_per_conversation < 0.02", Fail, "0.0200 US dollars for each of 2 conversations, required < 0.02"),
        ("cost_per_conversation <= 0.02", Pass, "0.0200 US dollars for each of 2 conversations, required <= 0.02"),
        ("cost_per_pass <= 0.03", Fail, "0.0400 US dollars for each of 1 passed conversation, required <= 0.03"),
        ("tokens < 401", Fail, "401 tokens of the agent, required < 401"),
        ("tokens_per_conversation <= 200", Fail, "200.5 tokens for each of 2 conversations, required <= 200"),
    ] {
        assert_eq!(of(text, two()), (verdict, reason.to_owned()), "{text}");
    }
    let failed = vec![spent(Verdict::Fail, 0.01, 1, 0)];
    assert_eq!(of("cost_per_pass < 9", failed), (Fail, "none of 1 conversation passed, required < 9".to_owned()));
    assert_eq!(of("cost_per_pass < 9", vec![]).0, Inconclusive);
    assert_eq!(of("tokens_per_conversation < 9", vec![]).0, Inconclusive);
    let unpriced = vec![spent(Verdict::Pass, 0.01, 1, 1)];
    let (verdict, reason) = of("cost_per_conversation < 9", unpriced);
    assert_eq!(verdict, Inconclusive);
    assert!(reason.contains("at least, with 1 call without a price"), "{reason}");
}

#[test]
fn every_complete_stretch_must_hold() {
    use RunVerdict::{Fail, Inconclusive, Pass};
    // A turn each second for two minutes, slow between these seconds.
    let run = |slow: std::ops::Range<u64>| {
        (0..=120).map(move |second| trial(second, if slow.contains(&second) { 3_000 } else { 100 }, Verdict::Pass))
    };
    let text = "p50(response) < 2s for 30s";
    assert_eq!(gate(text, When::Over, run(0..0)).0, Pass);
    let (verdict, reason) = gate(text, When::Over, run(40..60));
    assert_eq!(verdict, Fail);
    assert_eq!(
        reason,
        "it broke in 3 of 19 stretches of 30s; the worst, from 30s: 20 of 30 turns missed it (66.67 %), required < 2s"
    );
    assert_eq!(gate("p50(response) < 2s", When::Over, run(40..60)).0, Pass, "over the whole run");
    assert_eq!(gate(text, When::Over, run(40..54)).0, Pass, "at most 14 of 30");
    assert_eq!(gate(text, When::Playing(1), run(40..60)).0, Fail);
    // Stretches that begin in the delay are not judged.
    assert_eq!(gate("p50(response) < 2s for 30s, delay 45s", When::Over, run(40..60)).0, Pass);
    // The last stretch is not complete.
    assert_eq!(gate(text, When::Over, run(110..121)).0, Pass);
    assert_eq!(gate("p50(response) < 2s for 1h", When::Over, run(0..99)).0, Fail, "a shorter run is one stretch");
    assert_eq!(gate("p50(response) < 2s for 1h", When::Playing(1), run(0..99)).0, Inconclusive, "or becomes one");
    let (verdict, reason) = gate("p99(response) < 2s for 30s", When::Over, run(0..0));
    assert_eq!(verdict, Inconclusive);
    assert!(reason.starts_with("no stretch of 30s has enough to be judged: too few: 30 turns"), "{reason}");
    let (verdict, reason) = gate(text, When::Over, []);
    assert_eq!((verdict, reason.as_str()), (Inconclusive, "the run has no stretch of 30s to judge, required < 2s"));
}

#[test]
fn only_an_objective_with_abort_stops_the_run_and_it_stays_broken() {
    let (none, spend) = (BTreeSet::new(), Spend::default());
    let slow = || turns(3, 3_000);
    assert_eq!(breaks(&fold("max(response) < 1s", slow()), &spend, 9, &none), None);
    let aborting = fold("max(response) < 1s, delay 10s, abort", slow());
    assert_eq!(breaks(&aborting, &spend, 9_999_999, &none), None, "too early");
    let (name, reason) = breaks(&aborting, &spend, 10_000_000, &none).expect("it is broken");
    assert_eq!(reason, "3.00 s of 3 turns, required < 1s");
    assert_eq!(breaks(&aborting, &spend, 10_000_000, &BTreeSet::from([name])), None, "somebody resumed the run");
    let held = fold("pass_rate >= 0.5, abort", turns(9, 1));
    let stopped = [("pass_rate >= 50%, abort".to_owned(), "0 of 9".to_owned())];
    let [gate] = gates(&held, &spend, When::Over, &stopped).try_into().expect("one");
    assert_eq!(gate.verdict, RunVerdict::Fail);
    assert!(gate.reason.starts_with("it stopped the run: 0 of 9; in the end: 9 of 9"), "{}", gate.reason);
}
