//! Batches without words, as the store takes them.

use record::{Trial, Verdict, call::Spend, pace::Pace};
use scenario::{CaseId, RunId, Strategy, TrialId};
use store::{Commit, EndedTrial, SegmentRow};

pub(super) fn commit(session: u64, sequence: u64, run: &RunId, ended: Vec<(u64, u32, Verdict)>) -> Commit {
    let ended = ended
        .into_iter()
        .map(|(number, epoch, verdict)| EndedTrial { trial: trial(number, epoch, verdict), pieces: Vec::new() })
        .collect();
    let segment = SegmentRow { pieces: Vec::new(), turns: 0, spend: Spend::default() };
    Commit { session, sequence, run: run.clone(), segment, ended }
}

fn trial(number: u64, epoch: u32, verdict: Verdict) -> Trial {
    Trial {
        number,
        trial_id: TrialId::new(""),
        case_id: CaseId::new(""),
        case: 0,
        repeat: 0,
        epoch,
        seed: 0,
        verdict,
        failure: None,
        strategy: Strategy::AllPass,
        termination_reason: None,
        turns: 0,
        conversations: 0,
        duration_ms: 0,
        latencies: Vec::new(),
        unanswered: 0,
        spend: Spend::default(),
        pace: Pace::default(),
        judgments: Vec::new(),
        keep_transcript: false,
    }
}
