//! The outbox: order, numbers, places, money, and its bounds.

use record::{
    Judgment, Verdict,
    turn::{Note, Origin, Said, ToolCall},
};
use scenario::{CaseId, Strategy, TrialId};

use super::*;

fn turn(number: u32) -> Turn {
    Turn {
        number,
        step: 1,
        speaker: Origin::Scripted,
        user: "hello".into(),
        agent: Some("hi".into()),
        messages: Vec::new(),
        exit_code: None,
        tool_calls: vec![],
        actions: vec![],
        started_micros: 0,
        duration_micros: 0,
        response_micros: None,
        calls: vec![],
        notes: vec![],
        simulated: None,
    }
}

fn trial(number: u64) -> Trial {
    Trial {
        number,
        trial_id: TrialId::new("t"),
        case_id: CaseId::new("c"),
        case: 0,
        repeat: 0,
        epoch: 1,
        seed: 0,
        verdict: Verdict::Pass,
        failure: None,
        strategy: Strategy::AllPass,
        termination_reason: None,
        stop: None,
        turns: 2,
        conversations: 0,
        duration_ms: 0,
        began_at_ms: 0,
        latencies: vec![],
        unanswered: 0,
        spend: Spend::default(),
        call_times: Default::default(),
        start: None,
        judgments: vec![],
        keep_transcript: true,
        exhausted: false,
        user: None,
        examined: None,
        past: record::trial::Past::default(),
    }
}

fn attempt(trial: u64) -> Attempt {
    Attempt { run: RunId::new("r"), trial, epoch: 1 }
}

fn sequences(outbox: &Outbox) -> Vec<u64> {
    std::iter::from_fn(|| outbox.next()).map(|batch| batch.sequence).collect()
}

#[test]
fn an_ended_trial_lists_the_places_of_its_turns() {
    let outbox = Outbox::new(Admission::new());
    outbox.turn(&attempt(7), turn(1));
    assert_eq!(sequences(&outbox), [1]);
    outbox.turn(&attempt(7), turn(2));
    outbox.turn(&attempt(5), turn(1));
    outbox.ended(&RunId::new("r"), trial(7));
    assert_eq!(outbox.unacknowledged_attempts(), [attempt(7)]);
    let batch = outbox.next().unwrap();
    let places: Vec<_> = batch.ended[0].pieces.iter().map(|piece| (piece.sequence, piece.place)).collect();
    assert_eq!(places, [(1, 0), (2, 1)]);
    let words = proto::segment::pieces(batch.segment).unwrap().remove(1);
    assert_eq!(batch.ended[0].pieces[1].bytes as usize, words.len());
    let turn = proto::segment::turns_of(words, 7, 1).unwrap().remove(0);
    assert_eq!(proto::turn::from_bytes(turn).unwrap().number, 2);
    assert_eq!(outbox.unacknowledged_attempts(), [attempt(7)]);
    outbox.acknowledged(1);
    assert_eq!(outbox.unacknowledged_attempts(), [attempt(7)]);
    outbox.acknowledged(2);
    assert!(outbox.is_empty() && outbox.next().is_none());
}

#[test]
fn a_new_stream_gets_unacknowledged_batches() {
    let outbox = Outbox::new(Admission::new());
    for number in 1..=2 {
        outbox.turn(&attempt(7), turn(number));
        assert_eq!(sequences(&outbox), [u64::from(number)]);
    }
    outbox.acknowledged(1);
    outbox.rewind();
    outbox.turn(&attempt(7), turn(3));
    assert_eq!(sequences(&outbox), [2, 3]);
    // The next stream's welcome says what was committed before the last one broke.
    outbox.rewind();
    outbox.acknowledged(2);
    assert_eq!(sequences(&outbox), [3]);
    outbox.acknowledged(3);
    outbox.rewind();
    assert!(outbox.next().is_none() && !outbox.has_something());
    outbox.turn(&attempt(7), turn(4));
    assert_eq!(sequences(&outbox), [4]);
}

#[tokio::test(start_paused = true)]
async fn results_wait_for_a_larger_batch_while_the_store_is_slow() {
    let outbox = Outbox::new(Admission::new());
    for number in 1..=4 {
        outbox.turn(&attempt(7), turn(number));
        let sent = if number <= 2 { vec![u64::from(number)] } else { Vec::new() };
        assert_eq!(sequences(&outbox), sent, "turn {number}");
    }
    assert!(!outbox.has_something() && !outbox.is_empty());
    let (acknowledged, ()) =
        tokio::join!(tokio::time::timeout(std::time::Duration::from_secs(1), outbox.wait()), async {
            outbox.acknowledged(1)
        },);
    acknowledged.expect("there is room for a batch again");
    let batch = outbox.next().unwrap();
    assert_eq!((batch.sequence, batch.turns), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn leftovers_of_a_broken_stream_are_sent_at_once() {
    let outbox = Outbox::new(Admission::new());
    outbox.turn(&attempt(7), turn(1));
    outbox.wait().await;
    // The stream broke here: the outbox was drained, but nothing was sent.
    outbox.wait().await;
    outbox.next().unwrap();
    outbox.rewind();
    outbox.wait().await;
}

#[test]
fn costs_are_owed_until_acknowledged() {
    let outbox = Outbox::new(Admission::new());
    let costs = |nanos| record::Call { cost: Some(Usd(nanos)), ..crate::fakes::call() };
    for (number, nanos) in [(1, 100), (2, 20), (3, 3)] {
        outbox.owed().add(&costs(nanos));
        outbox.turn(&attempt(7), Turn { calls: vec![costs(nanos)], ..turn(number) });
        sequences(&outbox);
    }
    outbox.owed().add(&costs(4_000));
    assert_eq!(outbox.owed().nanos(), 4_123);
    outbox.acknowledged(2);
    assert_eq!(outbox.owed().nanos(), 4_003);
    // The session is over. What the worker plays from now on belongs to the next one.
    outbox.clear();
    assert_eq!(outbox.owed().nanos(), 4_000);
    outbox.spent(&RunId::new("r"), vec![costs(4_000)]);
    sequences(&outbox);
    outbox.acknowledged(1);
    assert_eq!(outbox.owed().nanos(), 0);
}

#[test]
fn a_batch_has_a_bound() {
    let outbox = Outbox::new(Admission::new());
    let long = Turn { user: "x".repeat(BATCH_BYTES / 3), ..turn(1) };
    for number in 0..30 {
        outbox.turn(&attempt(number), long.clone());
        outbox.ended(&RunId::new("r"), trial(number));
    }
    // Nothing is acknowledged, so the rest would wait for more.
    outbox.lock().close_all();
    let batches: Vec<v1::Batch> = std::iter::from_fn(|| outbox.next()).collect();
    assert!((10..=11).contains(&batches.len()), "{}", batches.len());
    assert!(batches.iter().all(|batch| batch.segment.len() < 2 * BATCH_BYTES));
    assert_eq!(batches.iter().map(|batch| batch.ended.len()).sum::<usize>(), 30);
    assert!(batches.iter().flat_map(|batch| &batch.ended).all(|end| end.pieces.len() == 1));
}

#[test]
fn batches_are_larger_on_a_quick_link_until_the_next_stream() {
    let outbox = Outbox::new(Admission::new());
    let long = Turn { user: "x".repeat(BATCH_BYTES / 3), ..turn(1) };
    let closed_at = || {
        let mut turns = 0;
        while !outbox.is_heavy() {
            turns += 1;
            outbox.turn(&attempt(turns), long.clone());
        }
        while outbox.next().is_some() {}
        turns
    };
    assert_eq!(closed_at(), 3);
    outbox.set_quick(true);
    assert_eq!(closed_at(), 12);
    outbox.rewind();
    while outbox.next().is_some() {}
    assert_eq!(closed_at(), 3);
}

#[test]
fn an_attempt_that_is_gone_does_not_end_but_costs() {
    let outbox = Outbox::new(Admission::new());
    outbox.turn(&attempt(7), turn(1));
    sequences(&outbox);
    outbox.turn(&attempt(7), turn(2));
    outbox.ended(&RunId::new("r"), trial(7));
    outbox.ended(&RunId::new("r"), trial(8));
    outbox.forget(|attempt| attempt.trial == 7);
    let batch = outbox.next().unwrap();
    assert_eq!((batch.turns, batch.ended.len(), batch.ended[0].number), (1, 1, 8));
    assert!(outbox.lock().pieces.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_full_buffer_closes_the_gate_until_it_is_acknowledged() {
    let admission = Admission::new();
    let outbox = Outbox::new(admission.clone());
    let mib = Turn { user: "x".repeat(1 << 20), ..turn(1) };
    for number in 0..=FULL_BYTES as u64 >> 20 {
        outbox.turn(&attempt(number), mib.clone());
        outbox.next();
    }
    let closed = tokio::time::timeout(std::time::Duration::from_secs(1), admission.pass()).await;
    assert!(closed.is_err(), "no turn may start while the buffer is full");
    outbox.acknowledged(2);
    admission.pass().await;
}

#[test]
fn refused_parts_are_removed_and_the_rest_stays() {
    let outbox = Outbox::new(Admission::new());
    let (run, cost) = (RunId::new("r"), |nanos| record::Call { cost: Some(Usd(nanos)), ..crate::fakes::call() });
    for number in 5..8 {
        outbox.turn(&attempt(number), Turn { calls: vec![cost(10)], ..turn(1) });
    }
    let first = outbox.next().unwrap();
    for number in 5..8 {
        outbox.turn(&attempt(number), turn(2));
        outbox.ended(&run, trial(number));
    }
    assert_eq!(outbox.next().unwrap().sequence, 2);
    let at_fault = v1::Held { run: "r".to_owned(), first: 6, end: 7, epoch: 1 };
    let refused = v1::Refused { sequence: 1, reason: "no".to_owned(), trials: vec![at_fault] };
    assert_eq!(outbox.refused(&refused), [], "it had ended");
    let again = [outbox.next().unwrap(), outbox.next().unwrap()];
    assert!(outbox.next().is_none());
    assert_eq!((again[0].sequence, again[0].turns, &again[0].spend), (1, 2, &first.spend));
    for (at, number) in (5..8).enumerate() {
        let end = &again[1].ended[at];
        if number == 6 {
            let failure = end.failure.as_ref().unwrap();
            assert_eq!((end.verdict.as_str(), failure.kind.as_str(), end.pieces.len()), ("ERROR", "record_refused", 0));
            continue;
        }
        assert_eq!((end.verdict.as_str(), end.pieces.len()), ("PASS", 2));
        for (piece, batch) in end.pieces.iter().zip(&again) {
            let words = proto::segment::pieces(batch.segment.clone()).unwrap().remove(piece.place as usize);
            assert_eq!(words.len(), piece.bytes as usize);
            assert_eq!(proto::segment::turns_of(words, number, 1).unwrap().len(), 1);
        }
    }
    assert_eq!(proto::segment::turns_of(again[0].segment.clone(), 6, 1).unwrap().len(), 0);
}

/// Every part as large as it can come, and larger.
#[test]
fn no_batch_is_larger_than_a_message() {
    let outbox = Outbox::new(Admission::new());
    let huge = || "é".repeat(1 << 20);
    let call = |n: u32| ToolCall { id: huge(), name: huge(), arguments: huge(), result: (n > 0).then(huge) };
    let note = || Note { kind: huge(), text: huge() };
    let said = || Said { text: huge(), tool_calls_before: 1 };
    let judgment = Judgment { reason: huge(), evidence: Some(huge()), ..judgment() };
    let full = Turn {
        user: huge(),
        agent: Some(huge()),
        messages: vec![said(); 2],
        tool_calls: vec![call(0), call(1)],
        actions: vec![huge(); 2],
        calls: vec![record::Call { model: huge(), error: Some(huge()), ..crate::fakes::call() }],
        notes: vec![note(); 2],
        ..turn(1)
    };
    let many =
        Turn { tool_calls: vec![ToolCall { result: Some("x".repeat(6_000)), ..short_call() }; 2_000], ..turn(1) };
    let failure = record::Failure::new(record::FailureKind::AgentRefused, huge());
    for (number, turn) in [(0, full), (1, many)] {
        outbox.turn(&attempt(number), turn);
        let end = Trial { judgments: vec![judgment.clone(); 3], failure: Some(failure.clone()), ..trial(number) };
        outbox.ended(&RunId::new("r"), end);
    }
    let endless =
        Trial { judgments: vec![Judgment { check: "c".repeat(200), ..self::judgment() }; 60_000], ..trial(2) };
    outbox.ended(&RunId::new("r"), endless);
    // Nothing is acknowledged, so the rest would wait for more.
    outbox.lock().close_all();
    let batches: Vec<v1::Batch> = std::iter::from_fn(|| outbox.next()).collect();
    for batch in &batches {
        let bytes = proto::size_of_batch(batch);
        assert!(bytes < proto::MAX_MESSAGE_BYTES / 4, "{bytes}");
        assert!(bytes <= outbox_bytes(&outbox, batch.sequence), "an estimate is never too small: {bytes}");
    }
    let ended: Vec<&v1::Trial> = batches.iter().flat_map(|batch| &batch.ended).collect();
    assert_eq!(ended.iter().map(|end| end.verdict.as_str()).collect::<Vec<_>>(), ["PASS", "PASS", "ERROR"]);
    assert!(ended[0].judgments[0].reason.ends_with(" bytes]"), "a cut is marked");
    let turn = proto::segment::turns_of(batches[0].segment.clone(), 0, 1).unwrap().remove(0);
    let agent = proto::turn::from_bytes(turn).unwrap().agent.unwrap();
    assert!(agent.len() > 200_000 && agent.ends_with(" bytes]"), "{} bytes", agent.len());
}

fn outbox_bytes(outbox: &Outbox, sequence: u64) -> usize {
    let state = outbox.lock();
    let closed = state.closed.iter().find(|closed| closed.batch.sequence == sequence).unwrap();
    closed.bytes + 1_000
}

fn short_call() -> ToolCall {
    ToolCall { id: "1".to_owned(), name: "look".to_owned(), arguments: "{}".to_owned(), result: None }
}

fn judgment() -> Judgment {
    Judgment {
        check: "equals".to_owned(),
        name: None,
        description: None,
        scope: record::Scope::Step { step: 1 },
        finding: record::Finding::Pass,
        score: None,
        reason: String::new(),
        evidence: None,
        failure: None,
        line: 1,
        required: true,
        weight: 1.0,
        ballots: Vec::new(),
        jury: None,
        custom: None,
    }
}
