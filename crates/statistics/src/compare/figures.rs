//! Times, tokens and cost of both runs, over the cells that both have.
//!
//! Each cell weighs the same on both sides, whatever its number of conversations: otherwise a cell that one run played more often
//! would look like a change.

use record::latency::floor_of;

use super::{
    cells::{Cells, LEAST_MOVE_MS, is_far},
    found::{Direction, Figure, FigureFound},
    played::{PlayedCell, PlayedTrial},
    quantile::{self, Cluster},
};

const ALL: [(Figure, f64); 7] = [
    (Figure::ResponseP50Ms, 0.5),
    (Figure::ResponseP95Ms, 0.95),
    (Figure::TtftP50Ms, 0.5),
    (Figure::TtftP95Ms, 0.95),
    (Figure::AgentTokensP50, 0.5),
    (Figure::CostP50Usd, 0.5),
    (Figure::CostP95Usd, 0.95),
];

/// Figures that both sides have. Tokens and costs that are 0 in every conversation were not reported.
pub(super) fn of(cells: &Cells<'_>) -> Vec<FigureFound> {
    ALL.into_iter().filter_map(|(figure, share)| found(cells, figure, share)).collect()
}

fn found(cells: &Cells<'_>, figure: Figure, share: f64) -> Option<FigureFound> {
    let (mut base, mut new) = (Vec::new(), Vec::new());
    let (mut base_unanswered, mut new_unanswered) = (0, 0);
    for (of_base, of_new) in cells.pairs.iter().filter_map(|pair| pair.both()) {
        let (before, after) = (clusters(of_base, figure)?, clusters(of_new, figure)?);
        // A cell with values on one side only would be a change of the mix.
        if before.iter().any(|one| !one.values.is_empty()) && after.iter().any(|one| !one.values.is_empty()) {
            base.extend(before);
            new.extend(after);
            base_unanswered += unanswered(of_base, figure);
            new_unanswered += unanswered(of_new, figure);
        }
    }
    let values = |side: &[Cluster]| side.iter().map(|one| one.values.len() as u64).sum();
    let is_silent = |side: &[Cluster]| side.iter().all(|one| one.values.iter().all(|value| *value == 0.0));
    if is_silent(&base) || is_silent(&new) {
        return None;
    }
    let of = quantile::difference(&base, &new, share)?;
    let finite = |value: f64| value.is_finite().then_some(value);
    let least = match figure {
        Figure::AgentTokensP50 | Figure::CostP50Usd | Figure::CostP95Usd => 0.0,
        _ => LEAST_MOVE_MS,
    };
    let (base_values, new_values) = (values(&base), values(&new));
    let floor = floor_of(share);
    if base_values < floor || new_values < floor {
        let enough = |number: u64, value: f64| finite(value).filter(|_| number >= floor);
        return Some(FigureFound {
            figure,
            base: enough(base_values, of.base.value),
            new: enough(new_values, of.new.value),
            difference: None,
            low: None,
            high: None,
            changed: None,
            too_few: true,
            base_values,
            new_values,
            base_unanswered,
            new_unanswered,
        });
    }
    let changed = if !is_far(of.base.value, of.new.value, least) {
        None
    } else if of.low > 0.0 {
        Some(Direction::Up)
    } else if of.high < 0.0 {
        Some(Direction::Down)
    } else {
        None
    };
    Some(FigureFound {
        figure,
        base: finite(of.base.value),
        new: finite(of.new.value),
        difference: of.difference.and_then(finite),
        low: finite(of.low),
        high: finite(of.high),
        changed,
        too_few: false,
        base_values,
        new_values,
        base_unanswered,
        new_unanswered,
    })
}

fn unanswered(cell: &PlayedCell, figure: Figure) -> u64 {
    match figure {
        Figure::AgentTokensP50 | Figure::CostP50Usd | Figure::CostP95Usd => 0,
        _ => cell.trials.iter().map(|trial| u64::from(trial.unanswered)).sum(),
    }
}

/// A cluster for each conversation; `None` if a value is unknown, because the rest would be a biased sample.
fn clusters(cell: &PlayedCell, figure: Figure) -> Option<Vec<Cluster>> {
    let weight = 1.0 / cell.trials.len().max(1) as f64;
    // An agent that never streams has no first token to wait for.
    let streams = cell.trials.iter().any(|trial| !trial.ttft_ms.is_empty());
    let times = |trial: &PlayedTrial, known: &[f64]| {
        known.iter().copied().chain(std::iter::repeat_n(f64::INFINITY, trial.unanswered as usize)).collect()
    };
    let values = |trial: &PlayedTrial| -> Option<Vec<f64>> {
        Some(match figure {
            Figure::ResponseP50Ms | Figure::ResponseP95Ms => times(trial, &trial.response_ms),
            Figure::TtftP50Ms | Figure::TtftP95Ms if streams => times(trial, &trial.ttft_ms),
            Figure::TtftP50Ms | Figure::TtftP95Ms => Vec::new(),
            Figure::AgentTokensP50 => vec![trial.agent_tokens as f64],
            Figure::CostP50Usd | Figure::CostP95Usd => vec![trial.cost_usd?],
        })
    };
    cell.trials.iter().map(|trial| Some(Cluster { weight, values: values(trial)? })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_that_is_shown_as_0_is_not_named() {
        assert!(!is_far(0.10, 0.13, LEAST_MOVE_MS) && !is_far(200.0, 215.0, LEAST_MOVE_MS));
        assert!(is_far(200.0, 221.0, LEAST_MOVE_MS) && is_far(200.0, f64::INFINITY, LEAST_MOVE_MS));
    }
}
