//! Handles a refused batch: the trials at fault end as errors, without their turns, and the rest is sent again under the
//! same number.

use std::collections::BTreeSet;

use proto::{ended::Ended, v1};
use record::{Failure, FailureKind, Verdict};

use super::{Attempt, Closed, Outbox, State};

impl Outbox {
    /// Removes from a batch the part that the coordinator refused. Returns the trials at fault that still run: there is
    /// no point in playing them further.
    pub(crate) fn refused(&self, refused: &v1::Refused) -> Vec<Attempt> {
        let mut state = self.lock();
        let unfinished = state.refuse(refused);
        drop(state);
        self.something.notify_one();
        unfinished
    }
}

impl State {
    fn refuse(&mut self, refused: &v1::Refused) -> Vec<Attempt> {
        let Some(index) = self.closed.iter().position(|closed| closed.batch.sequence == refused.sequence) else {
            return Vec::new();
        };
        self.given = refused.sequence - 1;
        let closed = &mut self.closed[index];
        let is_named = |attempt: &Attempt| {
            refused.trials.iter().any(|held| {
                held.run == attempt.run.as_str()
                    && held.epoch == attempt.epoch
                    && (held.first..held.end).contains(&attempt.trial)
            })
        };
        let all = || closed.said().chain(closed.ended());
        let named = all().filter(is_named).filter(|attempt| !closed.silent.contains(attempt));
        let mut at_fault: BTreeSet<Attempt> = named.collect();
        if at_fault.is_empty() {
            // The coordinator names no trial. Then all trials of the batch end as errors, and the batch keeps only its
            // cost.
            at_fault = all().collect();
            closed.refusals += 1;
        }
        closed.silence(&at_fault);
        if closed.refusals > 1 {
            // After a second refusal nothing is kept. The batch's trials are leased again, because heartbeats no longer
            // list them.
            (closed.batch.spend, closed.ended) = (Vec::new(), Vec::new());
        }
        let reason = &refused.reason;
        let mut ended = BTreeSet::new();
        for closed in &mut self.closed {
            let attempts: Vec<Attempt> = closed.ended().collect();
            for (attempt, trial) in attempts.into_iter().zip(&mut closed.ended) {
                if at_fault.contains(&attempt) {
                    *trial = unrecorded(trial, reason);
                    ended.insert(attempt);
                }
            }
        }
        for (run, pending) in &self.pending {
            let pending = pending.ended.iter().map(|trial| super::attempt_of(run, trial));
            ended.extend(pending.filter(|attempt| at_fault.contains(attempt)));
        }
        at_fault.iter().for_each(|attempt| drop(self.pieces.remove(attempt)));
        let unfinished: Vec<Attempt> = at_fault.difference(&ended).cloned().collect();
        // Pending ends become errors when their batch closes. Running trials end a moment later.
        let of_closed: BTreeSet<Attempt> = self.closed.iter().flat_map(Closed::ended).collect();
        let later: Vec<Attempt> = at_fault.into_iter().filter(|attempt| !of_closed.contains(attempt)).collect();
        self.refused.extend(later.into_iter().map(|attempt| (attempt, reason.clone())));
        unfinished
    }
}

impl Closed {
    /// Empties the pieces of these attempts. The pieces keep their places, since other pieces are found by place.
    fn silence(&mut self, attempts: &BTreeSet<Attempt>) {
        let silent: Vec<bool> = self.said().map(|attempt| attempts.contains(&attempt)).collect();
        for (piece, _) in self.turns.iter_mut().zip(silent).filter(|(_, silent)| *silent) {
            self.batch.turns = self.batch.turns.saturating_sub(piece.silence());
        }
        self.silent.extend(attempts.iter().cloned());
    }
}

/// The end of a trial whose record is refused. Its cost is in the batch.
pub(super) fn unrecorded(trial: &Ended, reason: &str) -> Ended {
    let trial = trial.decoded();
    let message = format!("the coordinator refused the record of this trial: {reason}");
    let Failure { kind, blame, message, .. } = Failure::new(FailureKind::RecordRefused, message);
    let unrecorded = v1::Trial {
        number: trial.number,
        trial_id: trial.trial_id,
        case_id: trial.case_id,
        case: trial.case,
        repeat: trial.repeat,
        epoch: trial.epoch,
        seed: trial.seed,
        verdict: Verdict::Error.name().to_owned(),
        failure: Some(v1::Failure {
            kind: kind.name().to_owned(),
            blame: blame.name().to_owned(),
            message,
            turn: None,
            step: None,
        }),
        strategy: trial.strategy,
        duration_millis: trial.duration_millis,
        keep_transcript: true,
        exhausted: trial.exhausted,
        ..v1::Trial::default()
    };
    unrecorded.into()
}
