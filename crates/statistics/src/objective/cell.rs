//! What the counters of an objective say: over the whole run, or in one stretch of it.

use record::{
    count::{digits, plural},
    latency::{FLOORS, floor_of},
    objectives::Cell,
    summary::RunVerdict,
};
use scenario::{
    Objective,
    objective::{Comparison, CostPer, Count, Figure, Share, Statistic},
};

use crate::clopper_pearson::upper_bound;

/// While a run plays, and in a stretch of it, a mean of fewer times says nothing.
const LEAST_OF_MEAN: u64 = FLOORS[0].1;

/// The finding on an objective or on one stretch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) verdict: RunVerdict,
    /// What was found, in words.
    pub(super) value: String,
    /// How bad it is among other stretches, the higher the worse.
    pub(super) badness: u64,
}

/// What a cell says. `is_final`: nothing more comes. `is_part`: it is a stretch, so a share needs evidence.
pub(super) fn of_cell(objective: &Objective, cell: &Cell, is_final: bool, is_part: bool) -> Found {
    let (comparison, bound) = (objective.comparison, objective.bound);
    let needs_evidence = is_part || !is_final;
    match objective.figure {
        Figure::Time { statistic, .. } => times(statistic, comparison, bound, cell, needs_evidence),
        Figure::Share(of) => share(of, comparison, bound, cell, needs_evidence),
        Figure::Count(of) => {
            let value = cell.sum as f64;
            let what = match of {
                Count::Dropped => plural(whole(cell.sum), "conversation dropped", "conversations dropped"),
                Count::Errors => plural(whole(cell.sum), "error of the agent", "errors of the agent"),
                Count::Unanswered => plural(whole(cell.sum), "turn without an answer", "turns without an answer"),
                Count::Tokens => plural(whole(cell.sum), "token of the agent", "tokens of the agent"),
            };
            let verdict = growing(comparison, value, bound, cell.samples > 0, is_final);
            Found { verdict, value: what, badness: badness(comparison, value * 1e3) }
        }
        Figure::Cost => {
            let dollars = cell.sum as f64 / 1e9;
            let verdict = growing(comparison, dollars, bound, cell.samples > 0, is_final);
            priced(comparison, cell, dollars, format!("{dollars:.4} US dollars"), verdict)
        }
        Figure::CostPer(of) => {
            let dollars = cell.sum as f64 / 1e9 / cell.samples as f64;
            let (one, many) = match of {
                CostPer::Conversation => ("conversation", "conversations"),
                CostPer::Pass => ("passed conversation", "passed conversations"),
            };
            if cell.samples == 0 && cell.lost > 0 {
                // Money was spent on conversations, and none of them passed.
                let holds = comparison.holds(f64::INFINITY, bound);
                let verdict = if needs_evidence { RunVerdict::Inconclusive } else { decided(holds) };
                let none = format!("none of {} passed", plural(cell.lost, "conversation", "conversations"));
                return Found { verdict, value: none, badness: u64::MAX };
            }
            let found = mean(comparison, bound, dollars, cell.samples, (one, many), needs_evidence);
            let text = format!("{dollars:.4} US dollars for each of {}", plural(cell.samples, one, many));
            match found {
                Ok(verdict) => priced(comparison, cell, dollars, text, verdict),
                Err(open) => open,
            }
        }
        Figure::TokensPerConversation => {
            let tokens = cell.sum as f64 / cell.samples as f64;
            let (one, many) = ("conversation", "conversations");
            let value = format!("{tokens:.1} tokens for each of {}", plural(cell.samples, one, many));
            match mean(comparison, bound, tokens, cell.samples, (one, many), needs_evidence) {
                Ok(verdict) => Found { verdict, value, badness: badness(comparison, tokens * 1e3) },
                Err(open) => open,
            }
        }
    }
}

/// With calls without a price, only what is spent already is sure.
fn priced(comparison: Comparison, cell: &Cell, dollars: f64, mut value: String, mut verdict: RunVerdict) -> Found {
    if cell.marked > 0 {
        value.push_str(&format!(" at least, with {} without a price", plural(cell.marked, "call", "calls")));
        let is_sure = (comparison.is_upper() && verdict == RunVerdict::Fail)
            || (matches!(comparison, Comparison::More | Comparison::AtLeast) && verdict == RunVerdict::Pass);
        verdict = if is_sure { verdict } else { RunVerdict::Inconclusive };
    }
    Found { verdict, value, badness: badness(comparison, dollars * 1e6) }
}

/// Whether a mean holds; `Err`: there are too few samples to say.
fn mean(
    comparison: Comparison,
    bound: f64,
    value: f64,
    samples: u64,
    (one, many): (&str, &str),
    needs_evidence: bool,
) -> Result<RunVerdict, Found> {
    let open = |value: String| Found { verdict: RunVerdict::Inconclusive, value, badness: 0 };
    match samples {
        0 => Err(open(format!("there are no {many} to judge"))),
        few if needs_evidence && few < LEAST_OF_MEAN => {
            Err(open(format!("too few: {}, a mean needs {LEAST_OF_MEAN}", plural(few, one, many))))
        }
        _ => Ok(decided(comparison.holds(value, bound))),
    }
}

/// `662 turns`, `662 turns, 3 without an answer`.
pub(super) fn turns_of(cell: &Cell) -> String {
    format!("{}{}", plural(cell.samples, "turn", "turns"), unanswered(cell))
}

fn unanswered(cell: &Cell) -> String {
    if cell.lost == 0 { String::new() } else { format!(", {} without an answer", digits(cell.lost)) }
}

/// A value that only grows while the run plays.
fn growing(comparison: Comparison, value: f64, bound: f64, has_samples: bool, is_final: bool) -> RunVerdict {
    let holds = comparison.holds(value, bound);
    match (holds, is_final) {
        (_, true) if !has_samples => RunVerdict::Inconclusive,
        (holds, true) => decided(holds),
        (false, false) if comparison.is_upper() => RunVerdict::Fail,
        (_, false) if comparison == Comparison::Equal && value > bound => RunVerdict::Fail,
        _ => RunVerdict::Inconclusive,
    }
}

fn times(statistic: Statistic, comparison: Comparison, bound: f64, cell: &Cell, needs_evidence: bool) -> Found {
    let turns = turns_of(cell);
    let of_turns = |micros: f64| format!("{} of {turns}", millis(micros));
    if cell.samples == 0 {
        return Found { verdict: RunVerdict::Inconclusive, value: "no turn has this time".to_owned(), badness: 0 };
    }
    let by = |value: f64, verdict: RunVerdict| Found {
        verdict,
        value: of_turns(value),
        badness: badness(comparison, value),
    };
    match statistic {
        Statistic::Max if cell.lost > 0 => {
            let is_open = needs_evidence && !comparison.is_upper();
            let verdict = if is_open { RunVerdict::Inconclusive } else { decided(!comparison.is_upper()) };
            Found { verdict, value: format!("no answer, of {turns}"), badness: u64::MAX }
        }
        Statistic::Max => {
            let highest = cell.highest as f64;
            let holds = comparison.holds(highest, bound);
            // A longer time may come.
            let is_open = needs_evidence && !comparison.is_upper() && !holds;
            by(highest, if is_open { RunVerdict::Inconclusive } else { decided(holds) })
        }
        Statistic::Mean => {
            let answered = cell.samples.saturating_sub(cell.lost);
            let value = cell.sum as f64 / answered as f64;
            match mean(comparison, bound, value, answered, ("answered turn", "answered turns"), needs_evidence) {
                Ok(verdict) => by(value, verdict),
                Err(open) => open,
            }
        }
        Statistic::Percentile(thousandths) => {
            let (all, share) = (plural(cell.samples, "turn", "turns"), percent(cell.marked, cell.samples));
            let missed = format!("{} of {all} missed it ({share}){}", digits(cell.marked), unanswered(cell));
            let floor = floor_of(share_of(thousandths));
            let few = || format!("too few: {turns}, {statistic} needs {}", digits(floor));
            let verdict = match comparison.is_upper() {
                true if cell.samples >= floor => decided(meets(thousandths, cell)),
                // A percentile below it is known, and no higher one is less.
                true => {
                    let lower = [99_900, 99_000, 95_000, 90_000, 50_000].into_iter().find(|lower| {
                        *lower < thousandths && (*lower == 50_000 || cell.samples >= floor_of(share_of(*lower)))
                    });
                    match lower {
                        Some(lower) if !meets(lower, cell) => RunVerdict::Fail,
                        _ => RunVerdict::Inconclusive,
                    }
                }
                // `missed` are the times up to the bound.
                false if cell.samples >= floor => decided(cell.marked < rank(thousandths, cell.samples)),
                false => RunVerdict::Inconclusive,
            };
            let value = if verdict == RunVerdict::Inconclusive { few() } else { missed };
            Found { verdict, value, badness: cell.marked.saturating_mul(1_000_000) / cell.samples }
        }
    }
}

/// Whether enough times are within an upper bound for this percentile to be within it.
fn meets(thousandths: u32, cell: &Cell) -> bool {
    cell.samples - cell.marked >= rank(thousandths, cell.samples)
}

/// The rank of the percentile among so many samples, from 1.
pub(super) fn rank(thousandths: u32, samples: u64) -> u64 {
    let rank = (u128::from(samples) * u128::from(thousandths)).div_ceil(100_000);
    whole(rank).max(1)
}

fn share(of: Share, comparison: Comparison, bound: f64, cell: &Cell, needs_evidence: bool) -> Found {
    let (one, many) = match of {
        Share::Goodput => ("turn", "turns"),
        Share::Pass | Share::Error | Share::ConversationGoodput => ("conversation", "conversations"),
        Share::Drop => ("start", "starts"),
    };
    if cell.samples == 0 {
        let value = format!("there are no {many} to judge");
        return Found { verdict: RunVerdict::Inconclusive, value, badness: 0 };
    }
    let (part, all) = (cell.marked, cell.samples);
    let value = part as f64 / all as f64;
    let holds = comparison.holds(value, bound);
    let is_proved = match comparison {
        Comparison::AtLeast | Comparison::More => !comparison.holds(upper_bound(part, all), bound),
        Comparison::AtMost | Comparison::Less => !comparison.holds(1.0 - upper_bound(all - part, all), bound),
        Comparison::Equal | Comparison::NotEqual => !needs_evidence || bound == 0.0 || bound == 1.0,
    };
    let verdict = match holds {
        true => RunVerdict::Pass,
        false if needs_evidence && !is_proved => RunVerdict::Inconclusive,
        false => RunVerdict::Fail,
    };
    let text = format!("{} of {} ({})", digits(part), plural(all, one, many), percent(part, all));
    let text = if verdict == RunVerdict::Inconclusive { format!("too few: {text}") } else { text };
    Found { verdict, value: text, badness: badness(comparison, value * 1e9) }
}

/// How bad a value is: with a lower bound, small ones are worse.
fn badness(comparison: Comparison, value: f64) -> u64 {
    let value = value.max(0.0) as u64;
    if matches!(comparison, Comparison::More | Comparison::AtLeast) { u64::MAX - value } else { value }
}

fn decided(holds: bool) -> RunVerdict {
    if holds { RunVerdict::Pass } else { RunVerdict::Fail }
}

pub(super) fn share_of(thousandths: u32) -> f64 {
    f64::from(thousandths) / 100_000.0
}

fn whole(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// `812 ms`, `2.41 s`.
pub(super) fn millis(micros: f64) -> String {
    let millis = micros / 1_000.0;
    match millis {
        millis if millis >= 1_000.0 => format!("{:.2} s", millis / 1_000.0),
        millis if millis >= 10.0 => format!("{millis:.0} ms"),
        millis => format!("{millis:.2} ms"),
    }
}

fn percent(part: u64, all: u64) -> String {
    format!("{:.2} %", part as f64 / all as f64 * 100.0)
}
