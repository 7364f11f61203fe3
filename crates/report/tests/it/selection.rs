//! Which conversations are shown: spread over the cases, worst first, and always the same.

use report::Selection;

use crate::sample::{self, Cell, End};

#[test]
fn the_first_failure_of_every_case_comes_before_the_second_of_any() {
    const TEN: &[End] = &[End::Fail; 10];
    let cells: Vec<Cell> =
        (0..6).map(|_| Cell { scenario: "s", persona: None, combination: None, parameters: &[], ends: TEN }).collect();
    let sample = sample::play("spread", &cells);
    let mut selection = Selection::with_caps(8, 0);
    for (trial, turns) in &sample.trials {
        selection.add(trial, turns);
    }
    let shown: Vec<(u64, u32)> = selection.failing().iter().map(|one| (one.trial.case, one.trial.repeat)).collect();
    assert_eq!(shown, [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (0, 1), (1, 1)]);
    assert_eq!(selection.failing_seen(), 60);
}

#[test]
fn failures_of_the_agent_come_before_ours() {
    const CASES: [&[End]; 4] = [&[End::JudgeLost], &[End::SimulatorLost], &[End::Timeout], &[End::Pass, End::Fail]];
    let cells = CASES.map(|ends| Cell { scenario: "s", persona: None, combination: None, parameters: &[], ends });
    let sample = sample::play("order", &cells);
    let mut selection = Selection::with_caps(3, 0);
    for (trial, turns) in &sample.trials {
        selection.add(trial, turns);
    }
    let shown: Vec<u64> = selection.failing().iter().map(|one| one.trial.case).collect();
    assert_eq!(shown, [3, 2, 1]);
}

#[test]
fn long_conversations_keep_their_failing_turn() {
    let sample = sample::small();
    let (trial, turns) = &sample.trials[3];
    let mut trial = trial.clone();
    let turns: Vec<record::Turn> =
        (1..=500).map(|number| record::Turn { number, user: "x".repeat(50_000), ..turns[0].clone() }).collect();
    trial.failure = trial.failure.map(|failure| failure.in_turn(250));
    let mut selection = Selection::default();
    selection.add(&trial, &turns);
    let failing = selection.failing();
    let numbers: Vec<u32> = failing[0].turns.iter().map(|turn| turn.number).collect();
    assert!(numbers.contains(&1) && numbers.contains(&250) && numbers.contains(&500), "{numbers:?}");
    assert!(numbers.len() < 50);
    assert!(failing[0].turns.iter().all(|turn| turn.user.len() < 5_000));
    let page = report::html::render(&sample.summary, &selection).unwrap();
    assert!(page.contains("231 turns not shown"), "the gap is named");
}
