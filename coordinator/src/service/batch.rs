//! Reads a batch from the wire, and refuses one that cannot be stored.

use proto::{ended::Batch, v1};
use record::{Usd, call::Spend};
use scenario::RunId;
use store::{Account, Commit, EndedTrial, Part, Piece, SegmentRow};

use super::readable;
use crate::{dispatcher::command::Refusal, give_way, scheduler::Held};

/// The longest reason of a refusal.
const MOST_REASON_CHARS: usize = 500;

/// Reads a batch. Refuses what cannot be stored: an error of the store would interrupt every run.
pub(super) async fn read(session: u64, batch: Batch) -> Result<Commit, Refusal> {
    let Batch { sequence, run, segment, turns, ended, spend, purse } = batch;
    let run = RunId::new(run);
    let of_any = |reason: String| Refusal { reason: shown(&reason), trials: Vec::new() };
    let mut trials = Vec::with_capacity(ended.len());
    for trial in ended {
        give_way::after(trials.len()).await;
        let trial = proto::ended::trial(trial).map_err(|error| of_any(error.to_string()))?;
        let (number, epoch) = (trial.number, trial.epoch);
        trials.push(ended_trial(sequence, trial).map_err(|reason| {
            let at_fault = Held { run: run.clone(), trials: number..number.saturating_add(1), epoch };
            Refusal { reason: shown(&reason), trials: vec![at_fault] }
        })?);
    }
    let ended: Vec<EndedTrial> = trials;
    check_numbers([sequence]).map_err(of_any)?;
    let spend = proto::trial::spend_from_wire(spend).map_err(|error| of_any(error.to_string()))?;
    check_spend(&spend).map_err(of_any)?;
    let pieces = proto::segment::pieces(segment).map_err(|error| of_any(error.to_string()))?;
    readable::check(sequence, &pieces, &ended).await.map_err(|readable::Unreadable { reason, attempt }| {
        let at_fault = |(number, epoch): (u64, u32)| {
            let trials = number..number.saturating_add(1);
            Held { run: run.clone(), trials, epoch }
        };
        Refusal { reason: shown(&reason), trials: attempt.map(at_fault).into_iter().collect() }
    })?;
    let segment = SegmentRow { pieces, turns, spend };
    Ok(Commit { session, sequence, run, segment, ended, replays: 0, begun: Vec::new(), account: purse.map(account) })
}

/// What a worker says of its slice of a run's money.
pub(super) fn account(purse: v1::Purse) -> Account {
    Account { returned: Usd(purse.returned.max(0)), charged: Usd(purse.charged.max(0)) }
}

fn ended_trial(sequence: u64, trial: v1::Trial) -> Result<EndedTrial, String> {
    let number = trial.number;
    if let Some(piece) = trial.pieces.iter().find(|piece| !(1..=sequence).contains(&piece.sequence)) {
        let wrong = format!("the turns of trial {number} are in batch {}", piece.sequence);
        return Err(format!("batch {sequence} says that {wrong}"));
    }
    if trial.turns > 0 && trial.pieces.is_empty() {
        return Err(format!("batch {sequence} does not say where the turns of trial {number} are"));
    }
    let pieces = trial.pieces.iter().map(piece).collect();
    let trial = proto::trial::from_wire(trial).map_err(|error| error.to_string())?;
    check_numbers([number, trial.case])?;
    check_spend(&trial.spend)?;
    // Its plan says later whether its turns are kept.
    Ok(EndedTrial { trial, pieces, kept: true })
}

/// The start of a reason, which may quote what was sent.
fn shown(reason: &str) -> String {
    reason.chars().take(MOST_REASON_CHARS).collect()
}

fn piece(piece: &v1::Piece) -> Piece {
    Piece { sequence: piece.sequence, part: Part::At { place: piece.place, bytes: piece.bytes } }
}

/// Fails if a figure cannot be stored.
pub(super) fn check_spend(spend: &Spend) -> Result<(), String> {
    for line in spend.lines.values() {
        check_numbers([line.calls, line.tokens.input, line.tokens.output, line.unpriced_calls, line.estimated_calls])?;
        check_numbers([line.tries, line.throttled_tries, line.wait_micros, line.plain_priced_calls, line.cut_calls])?;
        check_numbers([line.tokens.cached_input, line.tokens.cache_write, line.tokens.reasoning])?;
        if let Some(cost) = [line.cost, line.reported_cost].into_iter().find(|cost| *cost < Usd::default()) {
            return Err(format!("calls cannot have cost {cost}"));
        }
    }
    Ok(())
}

/// Stores have signed integers.
fn check_numbers(numbers: impl IntoIterator<Item = u64>) -> Result<(), String> {
    match numbers.into_iter().find(|number| i64::try_from(*number).is_err()) {
        Some(number) => Err(format!("{number} is not a number that can be kept")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use record::{Failure, FailureKind, Trial, Verdict};
    use scenario::{CaseId, TrialId};

    use super::*;

    #[tokio::test]
    async fn a_long_batch_lets_other_tasks_run_while_it_is_read() {
        let trial = |number: u64| {
            let (id, case_id) = (TrialId::new(number.to_string()), CaseId::new("c"));
            let planned = scenario::Trial { number, id, case: 0, case_id, repeat: 0, seed: 0 };
            let failure = Failure::new(FailureKind::Dropped, "");
            proto::trial::to_wire(Trial::unplayed(&planned, 1, Verdict::Skipped, failure), Vec::new())
        };
        let batch =
            v1::Batch { sequence: 1, run: "r".to_owned(), ended: (0..64).map(trial).collect(), ..v1::Batch::default() };
        let ran = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&ran);
        let other = tokio::spawn(async move {
            loop {
                seen.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
        let commit = read(7, batch.into()).await.expect("it can be stored");
        other.abort();
        assert_eq!(commit.ended.len(), 64);
        assert_eq!(ran.load(Ordering::Relaxed), 15, "after each four of 64 trials but the last");
    }

    #[tokio::test]
    async fn bytes_that_are_no_trial_are_refused_with_the_whole_batch() {
        let batch = Batch { sequence: 1, ended: vec![b"\xff"[..].into()], ..Batch::default() };
        let refusal = read(7, batch).await.unwrap_err();
        assert!(refusal.trials.is_empty() && !refusal.reason.is_empty(), "{}", refusal.reason);
    }
}
