use scenario::{CaseId, TrialId};

use super::*;
use crate::{Failure, Judgment, Scope, Tally, Verdict, call::SpendLine, trial::TurnLatency};

fn parts() -> Arc<Parts> {
    let mut parts = Parts::default();
    let value = |value: &str| Part::Value { parameter: "tone".to_owned(), value: value.to_owned() };
    let tag = |tag: &str| Part::Tag(tag.to_owned());
    parts.add_case([Part::Agent("a".to_owned()), tag("slow"), tag("slow"), value("1")], 2);
    parts.add_case([Part::Agent("b".to_owned()), tag("slow"), value("2")], 2);
    parts.add_case([Part::Agent("a".to_owned())], 3);
    Arc::new(parts)
}

fn trial(case: u64, verdict: Verdict, millis: u64) -> Trial {
    let planned =
        scenario::Trial { number: case, id: TrialId::new("t"), case, case_id: CaseId::new("c"), repeat: 0, seed: 1 };
    let failure = Failure::new(FailureKind::AgentTimeout, "no reply");
    let mut trial = Trial::unplayed(&planned, 1, verdict, failure);
    trial.failure = trial.failure.filter(|_| verdict != Verdict::Pass);
    trial.latencies.push(TurnLatency { total_micros: millis * 1_000, ..TurnLatency::default() });
    trial.spend.add_line(
        crate::Role::Agent,
        "m",
        SpendLine { cost: Usd(7), unpriced_calls: 1, ..SpendLine::default() },
    );
    trial.judgments.push(Judgment {
        check: "equals".to_owned(),
        name: None,
        description: None,
        scope: Scope::Step { step: 1 },
        finding: if verdict == Verdict::Pass { Finding::Pass } else { Finding::Inconclusive },
        score: None,
        reason: String::new(),
        evidence: None,
        failure: None,
        line: 1,
        required: case != 2,
        weight: 1.0,
        ballots: Vec::new(),
        jury: None,
        custom: None,
    });
    trial
}

#[test]
fn each_part_has_the_figures_of_its_trials() {
    let mut breakdown = Breakdown::of(parts());
    for (case, verdict, millis) in
        [(0, Verdict::Pass, 10), (0, Verdict::Error, 20), (1, Verdict::Pass, 30), (2, Verdict::Pass, 40)]
    {
        breakdown.add(&trial(case, verdict, millis));
    }
    breakdown.add(&trial(99, Verdict::Pass, 50));
    let found: Vec<_> = breakdown
        .parts()
        .map(|(part, planned, sums)| {
            let sums = sums.unwrap();
            let name = match part {
                Part::Agent(name) | Part::Scenario(name) | Part::Persona(name) | Part::Tag(name) => name.as_str(),
                Part::Value { value, .. } => value.as_str(),
            };
            let latency = &sums.times.as_ref().unwrap().service;
            (name, planned, sums.counts.pass, sums.counts.agent_errors, latency.count(), sums.cost, sums.unpriced_calls)
        })
        .collect();
    assert_eq!(
        found,
        [
            ("a", 5, 2, 1, 3, Usd(21), 3),
            ("slow", 4, 2, 1, 3, Usd(21), 3),
            ("1", 2, 1, 1, 2, Usd(14), 2),
            ("b", 2, 1, 0, 1, Usd(7), 1),
            ("2", 2, 1, 0, 1, Usd(7), 1),
        ]
    );
    let (_, _, sums) = breakdown.parts().next().unwrap();
    let sums = sums.unwrap();
    assert_eq!(sums.failures, [((FailureKind::AgentTimeout, Blame::Agent), 1)].into());
    assert_eq!(sums.times.as_ref().unwrap().service.highest(), 40_000);
    let checks: Vec<_> = breakdown.checks.into_iter().collect();
    let key = |required| ("equals".to_owned(), required);
    assert_eq!(
        checks,
        [
            (key(false), Findings { pass: 1, ..Findings::default() }),
            (key(true), Findings { pass: 3, fail: 0, not_judged: 1 }),
        ]
    );
}

#[test]
fn parts_of_a_tally_merge_in_any_order_and_with_nothing() {
    let trials = [(0, Verdict::Pass, 10), (1, Verdict::Error, 20), (2, Verdict::Fail, 30), (0, Verdict::Pass, 40)];
    let nothing = || Tally { breakdown: Breakdown::of(parts()), ..Tally::default() };
    let mut whole = nothing();
    let (mut first, mut last) = (nothing(), nothing());
    for (index, (case, verdict, millis)) in trials.into_iter().enumerate() {
        let trial = trial(case, verdict, millis);
        whole.add(&trial);
        if index < 2 { first.add(&trial) } else { last.add(&trial) }
    }
    let mut merged = last.clone();
    merged.merge(&first);
    assert_eq!(merged, whole);
    first.merge(&last);
    assert_eq!(first, whole);
    let mut empty = Tally::default();
    empty.merge(&whole);
    assert_eq!(empty, whole);
}

#[test]
fn the_first_parts_of_each_kind_have_their_own_times_and_the_others_share_one_series() {
    let mut parts = Parts::default();
    for number in 0..MEASURED as u64 + 3 {
        parts.add_case([Part::Tag(number.to_string()), Part::Agent("a".to_owned())], 1);
    }
    let parts = Arc::new(parts);
    let (mut breakdown, mut later) = (Breakdown::of(Arc::clone(&parts)), Breakdown::of(parts));
    for case in 0..MEASURED as u64 + 3 {
        let half = if case % 2 == 0 { &mut breakdown } else { &mut later };
        half.add(&trial(case, Verdict::Pass, 10));
    }
    breakdown.merge(&later);
    let measured = breakdown.parts().filter(|(_, _, sums)| sums.unwrap().times.is_some()).count();
    assert_eq!((measured, breakdown.parts().count()), (MEASURED + 1, MEASURED + 4));
    let others: Vec<_> =
        breakdown.others().map(|(kind, parts, times)| (kind, parts, times.unwrap().service.count())).collect();
    assert_eq!(others, [(PartKind::Tag, 3, 3)]);
}
