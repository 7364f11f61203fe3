//! Batches without transcripts, as the store takes them.

use record::{Failure, FailureKind, Trial, Verdict, call::Spend, call_times::CallTimes};
use scenario::{CaseId, RunId, Strategy, TrialId};
use store::{Commit, EndedTrial, SegmentRow};

/// As the plans of all runs say.
const REPLAYS: u32 = 2;

pub(super) fn commit(session: u64, sequence: u64, run: &RunId, ended: Vec<(u64, u32, Option<FailureKind>)>) -> Commit {
    let ended = ended
        .into_iter()
        .map(|(number, epoch, failure)| EndedTrial {
            trial: trial(number, epoch, failure),
            pieces: Vec::new(),
            kept: true,
        })
        .collect();
    let segment = SegmentRow { pieces: Vec::new(), turns: 0, spend: Spend::default() };
    Commit { session, sequence, run: run.clone(), segment, ended, replays: REPLAYS, begun: Vec::new(), account: None }
}

fn trial(number: u64, epoch: u32, failure: Option<FailureKind>) -> Trial {
    Trial {
        number,
        trial_id: TrialId::new(""),
        case_id: CaseId::new(""),
        case: 0,
        repeat: 0,
        epoch,
        seed: 0,
        verdict: if failure.is_some() { Verdict::Error } else { Verdict::Pass },
        failure: failure.map(|kind| Failure::new(kind, "")),
        strategy: Strategy::AllPass,
        termination_reason: None,
        stop: None,
        turns: 0,
        conversations: 0,
        duration_ms: 0,
        began_at_ms: 0,
        latencies: Vec::new(),
        unanswered: 0,
        spend: Spend::default(),
        call_times: CallTimes::default(),
        start: None,
        judgments: Vec::new(),
        keep_transcript: false,
        exhausted: false,
        user: None,
        examined: None,
        past: record::trial::Past::default(),
    }
}
