//! The rows that a store writes and reads.

use std::{collections::BTreeMap, ops::Range};

use bytes::Bytes;
use record::{
    Failure, FailureKind, Trial, Usd, Verdict, call::Spend, decision::Decision, runner::Runner, summary::RunState,
    trial::Past,
};
use scenario::{CaseId, Digest, RunId, TrialId};

use crate::{Account, Ledger};

/// The longest reason why a record cannot be read.
const MOST_REASON_CHARS: usize = 300;

/// A run in a list.
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
    /// The most that it may cost; it may be raised, since it is no part of the plan.
    pub max_cost: Option<Usd>,
    /// Spending before the run began, to check that its agents and models answer. The run's spend includes it.
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

/// The results of one batch of a session; committed completely or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    pub session: u64,
    /// From 1 without gaps; a sequence that was committed before changes nothing.
    pub sequence: u64,
    pub run: RunId,
    pub segment: SegmentRow,
    pub ended: Vec<EndedTrial>,
    /// How often a trial of the run that our side broke is played again, as its plan says.
    pub replays: u32,
    /// Trials of the session that have begun, of any run; matched by run and epoch, not by `id`.
    pub begun: Vec<Lease>,
    /// What the session says about its slice of the run's money; `None` of runs without a budget.
    pub account: Option<Account>,
}

/// Encoded turns, stored as they came: a piece for each attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentRow {
    pub pieces: Vec<Bytes>,
    pub turns: u32,
    /// The usage of these turns' calls, in winning and other attempts.
    pub spend: Spend,
}

/// A trial that ended, and the places of its turns in the segments of its session, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedTrial {
    pub trial: Trial,
    pub pieces: Vec<Piece>,
    /// Whether its turns are kept; otherwise the store forgets their bytes.
    pub kept: bool,
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
    /// The whole segment: version 0.1.0 did not record where in it the turns of a trial are.
    Whole,
}

/// The result of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Committed {
    /// The session is over: nothing was written.
    pub session_over: bool,
    /// This sequence had been committed before: nothing was written.
    pub duplicate: bool,
    /// Numbers of the counted trials.
    pub counted: Vec<u64>,
    /// Numbers of the trials whose end was stored and which will be replayed.
    pub again: Vec<u64>,
    /// Numbers of the trials whose epoch is stale or that were already done: not counted.
    pub fenced: Vec<u64>,
    /// The earlier attempts of counted trials that have some.
    pub pasts: BTreeMap<u64, Past>,
}

impl Committed {
    /// The earlier attempts of a counted trial.
    #[must_use]
    pub fn past(&self, number: u64) -> Past {
        self.pasts.get(&number).copied().unwrap_or_default()
    }
}

/// The latest ended attempt of a trial, and the places of its turns.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTrial {
    /// With its past.
    pub trial: Trial,
    pub session: u64,
    pub pieces: Vec<Piece>,
    /// It will be replayed: until then this is its end.
    pub again: bool,
    /// Its record cannot be read: of `trial` only the number, the epoch and the reason are true.
    pub unreadable: bool,
}

impl StoredTrial {
    /// A trial whose record cannot be read: an error on our side that has only a place in the plan.
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
        // It may quote stored data.
        let reason: String = reason.chars().take(MOST_REASON_CHARS).collect();
        let failure = Failure::new(FailureKind::Unreadable, format!("its record cannot be read: {reason}"));
        let trial = Trial::unplayed(&nowhere, epoch, Verdict::Error, failure);
        Self { trial, session, pieces: Vec::new(), again, unreadable: true }
    }
}

/// An attempt at a trial that does not count.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredAttempt {
    pub number: u64,
    pub epoch: u32,
    pub session: u64,
    pub end: AttemptEnd,
}

/// What became of an attempt that does not count.
#[derive(Debug, Clone, PartialEq)]
pub enum AttemptEnd {
    /// It was lost with its session, or given up by its worker.
    Lost {
        /// It had begun.
        begun: bool,
        /// Its worker gave it up, and did not crash.
        given_up: bool,
        /// Unix milliseconds.
        at: i64,
    },
    /// It ended, and a later attempt replaced it. Without its past.
    Replaced(Box<Trial>),
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

/// What a decision about a run changes of it; `None` leaves a part as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    /// Its load began then, in Unix milliseconds: a pause moves the schedule.
    pub load_began_at: Option<i64>,
    /// So many trials are planned: another rate of a load makes more or fewer.
    pub planned: Option<u64>,
    /// It may cost so much in all.
    pub max_cost: Option<Usd>,
}

/// The state of a run that the scheduler needs after a restart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recovered {
    /// Trials that are done, as disjoint ascending ranges.
    pub done: Vec<Range<u64>>,
    /// For trials that are not done and have begun: the highest epoch that was lost, released or ended. The next one is
    /// higher by one.
    pub attempts: Vec<(u64, u32)>,
    /// Trials that are not done and were lost with their workers since they last ended, ascending.
    pub losses: Vec<Losses>,
    /// Live leases of sessions that may come back: by session, id and first trial. They are complete, although some of
    /// their trials may be done.
    pub leases: Vec<Lease>,
    /// The time of the last heartbeat of these leases' sessions, in unix milliseconds, ascending by session.
    pub seen: Vec<(u64, i64)>,
    /// Attempts that had begun and were lost or released so far.
    pub lost_attempts: u64,
    /// Attempts that ended and were replaced by a replay.
    pub replayed_attempts: u64,
    /// The replayed trials.
    pub replayed_trials: u64,
    /// How many of `replayed_attempts` were the agent's failures, replayed on request.
    pub replayed_failed: u64,
    /// The most that calls in flight of lost sessions may have cost. Of sessions with a slice of the run's money, what the
    /// slice had left.
    pub unsettled: Usd,
    pub ledger: Ledger,
    /// When the load of the run began, in unix milliseconds.
    pub load_began_at: Option<i64>,
    /// How loaded the machines of workers were.
    pub runner: Runner,
    /// What was decided while it played, in order.
    pub decisions: Vec<Decision>,
}
