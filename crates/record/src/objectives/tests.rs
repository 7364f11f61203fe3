use proptest::prelude::*;
use scenario::{CaseId, TrialId};

use super::*;
use crate::{Failure, FailureKind, Role, Usd, Verdict, call::SpendLine};

fn watch(texts: &[&str]) -> Objectives {
    let watched = texts.iter().map(|text| Watched {
        objective: Objective::read(text).expect("an objective"),
        selection: Selection::default(),
    });
    let limits = Goodput { response_micros: Some(100), ..Goodput::default() };
    Objectives::of(watched.collect(), Some(limits), 1_000)
}

/// Begins this many milliseconds after the run, with these response times in microseconds.
fn trial(after_ms: u64, verdict: Verdict, micros: &[u64]) -> Trial {
    let planned =
        scenario::Trial { number: 0, id: TrialId::new("t"), case: 0, case_id: CaseId::new("c"), repeat: 0, seed: 1 };
    let turn = |(index, micros): (usize, &u64)| TurnLatency {
        total_micros: micros / 2,
        response_micros: Some(*micros),
        ended_micros: (index as u64 + 1) * 1_000_000,
        ..TurnLatency::default()
    };
    let failure = Failure::new(FailureKind::AgentFailed, "");
    Trial {
        began_at_ms: 1_000 + after_ms,
        duration_ms: micros.len() as u64 * 1_000,
        latencies: micros.iter().enumerate().map(turn).collect(),
        ..Trial::unplayed(&planned, 1, verdict, failure)
    }
}

/// Samples, marked and sum over all cells.
fn whole(sums: &Sums) -> (u64, u64, u128) {
    let mut sum = Cell::default();
    sums.cells.values().for_each(|cell| sum.merge(cell));
    (sum.samples, sum.marked, sum.sum)
}

#[test]
fn each_figure_counts_what_it_is_about() {
    let rows = [
        ("p99(response) < 100us", (7, 6, 600)),
        ("p99(response) > 100us", (7, 3, 600)),
        ("max(service) <= 100us", (7, 2, 300)),
        ("p99(wait) < 100us", (5, 0, 0)),
        ("p99(ttft) < 1s", (2, 2, 0)),
        ("p99(response_ttft) < 1s", (2, 2, 0)),
        ("pass_rate >= 0.5", (2, 1, 0)),
        ("error_rate < 0.5", (2, 1, 0)),
        ("drop_rate < 0.5", (4, 1, 0)),
        ("goodput >= 0.5", (7, 3, 0)),
        ("conversation_goodput >= 0.5", (3, 1, 0)),
        ("dropped == 0", (4, 0, 1)),
        ("errors == 0", (3, 0, 1)),
        ("unanswered == 0", (3, 0, 2)),
        ("cost < 1", (3, 4, 30)),
        ("cost_per_conversation < 1", (3, 4, 30)),
        ("cost_per_pass < 1", (1, 4, 30)),
        ("tokens < 1", (3, 0, 25)),
        ("tokens_per_conversation < 1", (3, 0, 25)),
    ];
    let mut found = watch(&rows.map(|(text, _)| text));
    let mut passed = trial(0, Verdict::Pass, &[50, 100]);
    passed.spend.add_line(Role::Judge, "m", SpendLine { cost: Usd(30), unpriced_calls: 4, ..SpendLine::default() });
    let tokens = crate::Tokens { input: 20, output: 5, ..crate::Tokens::default() };
    passed.spend.add_line(Role::Agent, "m", SpendLine { tokens, ..SpendLine::default() });
    let mut broken = trial(0, Verdict::Error, &[100, 150]);
    broken.unanswered = 2;
    let undecided =
        Trial { failure: Some(Failure::new(FailureKind::JudgeFailed, "")), ..trial(0, Verdict::Inconclusive, &[200]) };
    [&passed, &broken, &undecided].into_iter().for_each(|trial| found.add(trial));
    found.add_dropped(&trial(0, Verdict::Skipped, &[]));
    for ((watched, sums), (text, expected)) in found.iter().zip(rows) {
        assert_eq!(whole(sums), expected, "{text}");
        assert_eq!(watched.cells(), 1);
    }
}

/// Due 40 µs before its service began, the first token 30 µs later.
#[test]
fn the_first_token_after_the_turn_is_due_has_our_waits_in_it() {
    let turn =
        TurnLatency { total_micros: 60, response_micros: Some(100), ttft_micros: Some(30), ..TurnLatency::default() };
    assert_eq!((time_of(&turn, Time::ResponseTtft), time_of(&turn, Time::Ttft)), (Some(70), Some(30)));
    assert_eq!(time_of(&TurnLatency { response_micros: None, ..turn }, Time::ResponseTtft), None);
}

#[test]
fn a_window_has_six_cells_and_turns_stand_where_they_ended() {
    let mut found = watch(&["max(response) < 1s for 6s", "pass_rate > 0 for 6s", "max(response) < 1s"]);
    found.add(&trial(500, Verdict::Pass, &[1, 2, 3]));
    let places: Vec<Vec<u64>> = found.iter().map(|(_, sums)| sums.cells.keys().copied().collect()).collect();
    assert_eq!(places, [vec![1, 2, 3], vec![3], vec![0]]);
    assert_eq!(
        (found.end_micros(), found.iter().next().map(|(watched, _)| watched.step_micros())),
        (3_500_000, Some(1_000_000))
    );
    // A record that does not say when it was played has no place in time.
    found.add(&Trial { began_at_ms: 0, ..trial(0, Verdict::Pass, &[9]) });
    let samples: Vec<u64> = found.iter().map(|(_, sums)| whole(sums).0).collect();
    assert_eq!(samples, [3, 1, 4]);
}

proptest! {
    #[test]
    fn any_cuts_into_workers_give_the_same_sums(
        begun in proptest::collection::vec((0..200_000_u64, 0..300_u64, any::<bool>()), 0..60),
        owners in proptest::collection::vec(0..3_usize, 60),
    ) {
        let texts = ["p90(response) < 100us for 5s", "pass_rate > 0.5 for 10s", "dropped == 0", "mean(response) < 1s"];
        let (mut whole, mut parts) = (watch(&texts), [watch(&texts), watch(&texts), watch(&texts)]);
        for ((after, micros, passed), owner) in begun.iter().zip(&owners) {
            let verdict = if *passed { Verdict::Pass } else { Verdict::Fail };
            let trial = trial(*after, verdict, &[*micros, micros / 2]);
            whole.add(&trial);
            parts[*owner].add(&trial);
        }
        let mut merged = Objectives::default();
        parts.iter().rev().for_each(|part| merged.merge(part));
        prop_assert_eq!(merged, whole);
    }
}
