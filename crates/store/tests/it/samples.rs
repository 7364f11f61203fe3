//! Minimal runs, leases and results.

use std::ops::Range;

use bytes::Bytes;
use record::{
    Failure, FailureKind, Finding, Judgment, Role, Scope, Tokens, Trial, Usd, Verdict,
    call::{Spend, SpendLine},
    call_times::CallTimes,
    summary::RunState,
    trial::{Start, TurnLatency},
};
use scenario::{CaseId, Digest, RunId, Strategy, TrialId};
use store::{Commit, EndedTrial, Lease, Losses, Part, Piece, RunRow, SegmentRow, Store};

pub(crate) const PLAN: &[u8] = br#"{"cases":[]}"#;

pub(crate) fn id(name: &str) -> RunId {
    RunId::new(name)
}

pub(crate) fn run(name: &str) -> RunRow {
    RunRow {
        id: id(name),
        name: format!("{name} of the night"),
        plan_digest: Digest::of(PLAN),
        // Beyond the range of a signed number, as seeds are.
        seed: u64::MAX - 7,
        planned: u64::MAX,
        state: RunState::Running,
        started_at: 1_000,
        ended_at: None,
        version: "0.1.0".into(),
        exhausted: false,
        max_cost: None,
        preflight: Spend::default(),
    }
}

pub(crate) fn lease(lease: u64, session: u64, run: &str, trials: Range<u64>, epoch: u32) -> Lease {
    // All of them are being played.
    let begun = trials.end;
    Lease { id: lease, run: id(run), trials, epoch, session, begun }
}

/// Of the secret of every session.
pub(crate) fn token() -> Digest {
    Digest::of(b"a secret")
}

/// A trial that was lost so often with its workers after it had begun, and with which of them last.
pub(crate) fn lost(number: u64, begun: u32, session: u64) -> Losses {
    Losses { number, begun, all: begun, proof: 0, session }
}

pub(crate) fn trial(number: u64, epoch: u32) -> Trial {
    Trial {
        number,
        trial_id: TrialId::new(format!("trial-{number}")),
        case_id: CaseId::new(format!("case-{}", number / 3)),
        case: number / 3,
        repeat: (number % 3) as u32,
        epoch,
        seed: u64::MAX - number,
        verdict: Verdict::Pass,
        failure: None,
        strategy: Strategy::AllPass,
        termination_reason: Some("l'utilisateur a dit « merci » 🙂 \"\\\u{0}".into()),
        stop: None,
        turns: 4,
        conversations: 1,
        duration_ms: 12_345,
        began_at_ms: 1_790_000_000_123,
        latencies: vec![TurnLatency { total_micros: 812_345, ttft_micros: Some(91_000), ..TurnLatency::default() }],
        unanswered: 1,
        spend: spend(Role::Agent, "a", 3),
        call_times: CallTimes::default(),
        start: Some(Start { at_micros: 5_000_123, late_micros: 123 }),
        judgments: vec![Judgment {
            check: "string_contains".into(),
            name: None,
            description: None,
            scope: Scope::Turn { step: 1, turn: 2 },
            finding: Finding::Pass,
            score: Some(0.5),
            reason: "it says so".into(),
            evidence: Some("merci".into()),
            failure: None,
            line: 12,
            required: true,
            weight: 1.0,
            ballots: Vec::new(),
            jury: None,
            custom: None,
        }],
        keep_transcript: false,
        exhausted: false,
        user: None,
        examined: None,
        past: record::trial::Past::default(),
    }
}

/// What our side broke, and what is played again because of it.
pub(crate) fn broken(number: u64, epoch: u32) -> Trial {
    let failure = Failure::new(FailureKind::JudgeFailed, "the judge is away");
    Trial { verdict: Verdict::Error, failure: Some(failure), ..trial(number, epoch) }
}

pub(crate) fn spend(role: Role, model: &str, calls: u64) -> Spend {
    let mut spend = Spend::default();
    let tokens = Tokens {
        input: 100 * calls,
        output: 10 * calls,
        cached_input: 30 * calls,
        cache_write: 20 * calls,
        reasoning: 5 * calls,
    };
    let line = SpendLine {
        calls,
        tokens,
        cost: Usd(50 * calls as i64),
        unpriced_calls: calls / 2,
        estimated_calls: calls,
        tries: 3 * calls,
        throttled_tries: 2 * calls,
        wait_micros: 1_000 * calls,
        plain_priced_calls: 2 * calls,
        cut_calls: calls,
        reported_cost: Usd(40 * calls as i64),
    };
    spend.add_line(role, model, line);
    spend
}

/// One to three pieces; the second has no bytes.
pub(crate) fn pieces(session: u64, sequence: u64) -> Vec<Bytes> {
    let words = |place: u64| match place {
        1 => Bytes::new(),
        _ => Bytes::from(format!("\u{0}turns of {session}/{sequence}, {place}")),
    };
    (0..=sequence % 3).map(words).collect()
}

/// All turns of a segment.
pub(crate) async fn words(store: &impl Store, run: &str, session: u64, sequence: u64) -> Bytes {
    let whole = Piece { sequence, part: Part::Whole };
    store.pieces(&id(run), &[(session, whole)]).await.unwrap().remove(0)
}

/// How many segments the session has in a row from 1 on, all as [`batch`] makes them.
pub(crate) async fn whole_segments(store: &impl Store, run: &str, session: u64) -> u64 {
    let mut sequence = 1;
    while words(store, run, session, sequence).await == pieces(session, sequence).concat() {
        sequence += 1;
    }
    sequence - 1
}

pub(crate) fn piece(sequence: u64, place: u32) -> Piece {
    Piece { sequence, part: Part::At { place, bytes: 30 } }
}

/// A batch of turns in which the given trials ended, by number and epoch.
pub(crate) fn batch(session: u64, sequence: u64, run: &str, ended: &[(u64, u32)]) -> Commit {
    let ended = ended.iter().map(|(number, epoch)| EndedTrial {
        trial: trial(*number, *epoch),
        kept: true,
        pieces: (sequence.saturating_sub(1).max(1)..=sequence).map(|sequence| piece(sequence, 0)).collect(),
    });
    Commit {
        session,
        sequence,
        run: id(run),
        segment: SegmentRow { pieces: pieces(session, sequence), turns: 4, spend: spend(Role::Agent, "a", sequence) },
        ended: ended.collect(),
        replays: 1,
        begun: Vec::new(),
        account: None,
    }
}
