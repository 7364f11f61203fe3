//! The rows that go into a store and come out of it.

use std::{collections::BTreeMap, ops::Range};

use bytes::Bytes;
use record::{Failure, FailureKind, Trial, Usd, Verdict, call::Spend, summary::RunState, trial::Past};
use scenario::{CaseId, Digest, RunId, TrialId};

/// The longest reason why a record cannot be read.
const MOST_REASON_CHARS: usize = 300;

/// A run as it is listed.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    pub id: RunId,
    pub name: String,
    pub plan_digest: Digest,
    pub seed: u64,
    pub planned: u64,
    pub state: RunState,
    /// Unix milliseconds.
    pub started_at: i64,
    /// Unix milliseconds, once it ended; cleared when it is resumed.
    pub ended_at: Option<i64>,
    /// The version of gabfest that submitted it.
    pub version: String,
    /// A provider's quota is used up, since the run began or was resumed.
    pub exhausted: bool,
    /// What was spent before the run began, to ask whether its agents and models answer. The run's spend has it too.
    pub preflight: Spend,
}

/// A range of trials leased to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Unique among the live leases of its session.
    pub id: u64,
    pub run: RunId,
    /// Trial numbers.
    pub trials: Range<u64>,
    pub epoch: u32,
    pub session: u64,
    /// Trials below this number have begun, as far as is known: a worker begins them in order.
    pub begun: u64,
}

impl Lease {
    /// The same lease, of some of its trials.
    #[must_use]
    pub fn part(&self, trials: Range<u64>) -> Self {
        let begun = self.begun.clamp(trials.start, trials.end.max(trials.start));
        Self { trials, begun, ..self.clone() }
    }

    /// How many of its trials have begun, as far as is known.
    #[must_use]
    pub fn begun_trials(&self) -> u64 {
        self.begun.min(self.trials.end).saturating_sub(self.trials.start)
    }
}

/// Results of one batch of a session; committed whole or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    pub session: u64,
    /// From 1 without gaps; one that was committed before changes nothing.
    pub sequence: u64,
    pub run: RunId,
    pub segment: SegmentRow,
    pub ended: Vec<EndedTrial>,
    /// How often a trial of the run that our side broke is played again, as its plan says.
    pub replays: u32,
    /// Trials of the session that have begun, of any run; found by run and epoch, whatever their `id` says.
    pub begun: Vec<Lease>,
}

/// Encoded turns, stored as they came: a piece for each attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentRow {
    pub pieces: Vec<Bytes>,
    pub turns: u32,
    /// What the calls of these turns used, winning attempt or not.
    pub spend: Spend,
}

/// A trial that ended, and where its turns are in the segments of its session, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedTrial {
    pub trial: Trial,
    pub pieces: Vec<Piece>,
}

/// Which piece of a session's segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    pub sequence: u64,
    pub part: Part,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The piece at this place, counted from 0.
    At { place: u32, bytes: u32 },
    /// All of the segment: version 0.1.0 did not say where in it the turns of a trial are.
    Whole,
}

/// What became of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Committed {
    /// The session is over: nothing was written.
    pub session_over: bool,
    /// This sequence had been committed before: nothing was written.
    pub duplicate: bool,
    /// Numbers of the trials that were counted.
    pub counted: Vec<u64>,
    /// Numbers of the trials that were kept as they ended, and are to be played again.
    pub again: Vec<u64>,
    /// Numbers of the trials whose epoch is stale or that were already done: not counted.
    pub fenced: Vec<u64>,
    /// Of those that were counted and have a past: what became of their earlier attempts.
    pub pasts: BTreeMap<u64, Past>,
}

impl Committed {
    /// What became of the earlier attempts of a trial that was counted.
    #[must_use]
    pub fn past(&self, number: u64) -> Past {
        self.pasts.get(&number).copied().unwrap_or_default()
    }
}

/// The latest attempt at a trial that ended, and where its turns are.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTrial {
    /// With its past.
    pub trial: Trial,
    pub session: u64,
    pub pieces: Vec<Piece>,
    /// It is to be played again: until then this is how it ended.
    pub again: bool,
    /// Its record cannot be read: of `trial` only the number, the epoch and the reason are true.
    pub unreadable: bool,
}

impl StoredTrial {
    /// One whose record cannot be read: an error of our side, with a place in the plan and without anything else.
    #[must_use]
    pub(crate) fn unreadable(number: u64, epoch: u32, session: u64, again: bool, reason: &str) -> Self {
        let nowhere = scenario::Trial {
            number,
            id: TrialId::new(""),
            case: u64::MAX,
            case_id: CaseId::new(""),
            repeat: 0,
            seed: 0,
        };
        // It may quote what is stored.
        let reason: String = reason.chars().take(MOST_REASON_CHARS).collect();
        let failure = Failure::new(FailureKind::Unreadable, format!("its record cannot be read: {reason}"));
        let trial = Trial::unplayed(&nowhere, epoch, Verdict::Error, failure);
        Self { trial, session, pieces: Vec::new(), again, unreadable: true }
    }
}

/// How often a trial was lost with its worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Losses {
    pub number: u64,
    /// Attempts that had begun.
    pub begun: u32,
    /// All attempts, those included that had not begun.
    pub all: u32,
    /// Attempts that prove that the trial crashes its worker.
    pub proof: u32,
    /// The session with which it was lost last.
    pub session: u64,
}

/// What the scheduler needs to know about a run after a restart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recovered {
    /// Trials that are done, as disjoint ascending ranges.
    pub done: Vec<Range<u64>>,
    /// For trials that are not done and were begun: the highest epoch that was lost, was given up or ended (the next is
    /// one more).
    pub attempts: Vec<(u64, u32)>,
    /// Trials that are not done and were lost with their workers since they last ended, ascending.
    pub losses: Vec<Losses>,
    /// Leases that are live, for sessions that may come back: by session, id and first trial, whole although
    /// some of their trials may be done.
    pub leases: Vec<Lease>,
    /// When the sessions of these leases were last heard, in unix milliseconds, ascending by session.
    pub seen: Vec<(u64, i64)>,
    /// Attempts that had begun and were lost or given up so far.
    pub lost_attempts: u64,
    /// Attempts that ended, and after which the trial was played again to another end.
    pub replayed_attempts: u64,
    /// Trials that were played again so.
    pub replayed_trials: u64,
    /// Those of `replayed_attempts` that were the agent's failures, and were played again on request.
    pub replayed_failed: u64,
    /// What calls in flight of lost sessions may have cost at most.
    pub unsettled: Usd,
}
