//! Reads a batch from the wire, and refuses one that cannot be stored.

use proto::v1;
use record::{Usd, call::Spend};
use scenario::RunId;
use store::{Commit, EndedTrial, Part, Piece, SegmentRow};

use super::readable;
use crate::{dispatcher::command::Refusal, scheduler::Held};

/// The longest reason of a refusal.
const MOST_REASON_CHARS: usize = 500;

/// Reads a batch. Refuses what cannot be stored: an error of the store would interrupt every run.
pub(super) fn read(session: u64, batch: v1::Batch) -> Result<Commit, Refusal> {
    let v1::Batch { sequence, run, segment, turns, ended, spend } = batch;
    let run = RunId::new(run);
    let of_any = |reason: String| Refusal { reason: shown(&reason), trials: Vec::new() };
    let ended = ended.into_iter().map(|trial| {
        let trials = trial.number..trial.number.saturating_add(1);
        let at_fault = Held { run: run.clone(), trials, epoch: trial.epoch };
        ended_trial(sequence, trial).map_err(|reason| Refusal { reason: shown(&reason), trials: vec![at_fault] })
    });
    let ended: Vec<EndedTrial> = ended.collect::<Result<_, _>>()?;
    check_numbers([sequence]).map_err(of_any)?;
    let spend = proto::trial::spend_from_wire(spend).map_err(|error| of_any(error.to_string()))?;
    check_spend(&spend).map_err(of_any)?;
    let pieces = proto::segment::pieces(segment).map_err(|error| of_any(error.to_string()))?;
    readable::check(sequence, &pieces, &ended).map_err(|readable::Unreadable { reason, attempt }| {
        let at_fault = |(number, epoch): (u64, u32)| {
            let trials = number..number.saturating_add(1);
            Held { run: run.clone(), trials, epoch }
        };
        Refusal { reason: shown(&reason), trials: attempt.map(at_fault).into_iter().collect() }
    })?;
    let segment = SegmentRow { pieces, turns, spend };
    Ok(Commit { session, sequence, run, segment, ended, replays: 0, begun: Vec::new() })
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
    Ok(EndedTrial { trial, pieces })
}

/// The beginning of a reason, which may quote what was sent.
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
