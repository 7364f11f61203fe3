//! Whether the objectives of a run hold.
//!
//! - No samples, or too few for a percentile: undecided (INCONCLUSIVE), never a pass.
//! - Over the whole run, the figure itself decides when the run is over. While the run plays, and in each stretch of `for`, a share
//!   is broken only if its 95 % bound says so, because few conversations prove nothing.
//! - A turn without an answer has an infinite response, service and first-token time, so an agent that stops answering never looks
//!   faster. Means are of the turns that were answered.
//! - Trials of cases in quarantine are left out, except of what bounds the use of the run. An objective without other cases holds.
//! - An objective that stopped the run stays broken, whatever the conversations that ended later say.

mod cell;

use std::collections::BTreeSet;

use record::{
    Role,
    call::Spend,
    count::{digits, plural},
    objectives::{Cell, Objectives, Sums, Watched},
    summary::{Gate, RunVerdict},
};
use scenario::{
    Objective,
    objective::{Count, Figure, Statistic},
    time,
};

use self::cell::{Found, millis, of_cell, rank, share_of, turns_of};

/// When a run is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// So many microseconds after its start.
    Playing(u64),
    Over,
}

/// What the calls of a run used.
#[derive(Debug, Clone, Copy)]
pub struct Used<'a> {
    /// In all attempts, and in the preflight.
    pub all: &'a Spend,
    /// Those of `all` that conversations of the warm-up of a load used, in winning attempts; `None` without a load.
    pub warm_up: Option<&'a Spend>,
}

impl<'a> From<&'a Spend> for Used<'a> {
    fn from(all: &'a Spend) -> Self {
        Self { all, warm_up: None }
    }
}

impl Used<'_> {
    /// `of` all, without that of the warm-up.
    fn measured(self, of: impl Fn(&Spend) -> u64) -> u64 {
        of(self.all).saturating_sub(self.warm_up.map_or(0, of))
    }
}

/// A gate for each objective. `stopped`: the texts of those that stopped the run, with the reasons.
#[must_use]
pub fn gates<'a>(
    objectives: &Objectives,
    used: impl Into<Used<'a>>,
    when: When,
    stopped: &[(String, String)],
) -> Vec<Gate> {
    let used = used.into();
    let gate = |(watched, sums): (&Watched, &Sums)| {
        let name = watched.objective.to_string();
        let (mut verdict, mut reason) = judged(watched, sums, used, when, objectives.end_micros());
        if let Some((_, why)) = stopped.iter().find(|(objective, _)| *objective == name) {
            (verdict, reason) = (RunVerdict::Fail, format!("it stopped the run: {why}; in the end: {reason}"));
        }
        Gate { name, verdict, reason }
    };
    objectives.iter().map(gate).collect()
}

/// The first objective with `abort` that is broken by now, and why. `stopped` ones do not stop the run again.
#[must_use]
pub fn breaks<'a>(
    objectives: &Objectives,
    used: impl Into<Used<'a>>,
    elapsed_micros: u64,
    stopped: &BTreeSet<String>,
) -> Option<(String, String)> {
    let used = used.into();
    let aborts = objectives.iter().filter(|(watched, _)| watched.objective.abort);
    aborts.map(|(watched, sums)| (watched.objective.to_string(), watched, sums)).find_map(|(name, watched, sums)| {
        if stopped.contains(&name) {
            return None;
        }
        let (verdict, reason) = judged(watched, sums, used, When::Playing(elapsed_micros), objectives.end_micros());
        (verdict == RunVerdict::Fail).then_some((name, reason))
    })
}

fn judged(watched: &Watched, sums: &Sums, used: Used<'_>, when: When, end_micros: u64) -> (RunVerdict, String) {
    let objective = &watched.objective;
    if watched.selection.is_in_quarantine() {
        return (RunVerdict::Pass, "all its cases are in quarantine, so nothing depends on it".to_owned());
    }
    if let Some(window) = objective.window_micros {
        return in_windows(watched, sums, window, when, end_micros);
    }
    if let When::Playing(elapsed) = when
        && elapsed < objective.delay_micros
    {
        let delay = time::show(objective.delay_micros);
        return (RunVerdict::Inconclusive, format!("it is judged after the first {delay}"));
    }
    let mut cell = sums.cells.get(&0).copied().unwrap_or_default();
    if watched.selection.is_all() {
        count_all_attempts(&mut cell, objective.figure, used);
    }
    let found = of_cell(objective, &cell, when == When::Over, false);
    let value = match objective.figure {
        Figure::Time { of: _, statistic: Statistic::Percentile(share) }
            if sums.times.count() > 0 && found.verdict != RunVerdict::Inconclusive =>
        {
            // Among the answered turns it is a higher percentile; beyond them it is infinite.
            let (rank, answered) = (rank(share, cell.samples), cell.samples.saturating_sub(cell.lost));
            let turns = turns_of(&cell);
            match rank <= answered {
                true if cell.lost == 0 => format!("{} of {turns}", millis(sums.times.quantile(share_of(share)) as f64)),
                true => format!("{} of {turns}", millis(sums.times.quantile(rank as f64 / answered as f64) as f64)),
                false => format!("no answer, of {turns}"),
            }
        }
        _ => found.value,
    };
    (found.verdict, format!("{value}, required {}", required(objective)))
}

/// Money and tokens count in all attempts and in the preflight. What is divided by conversations leaves those of the warm-up out
/// of both.
fn count_all_attempts(cell: &mut Cell, figure: Figure, used: Used<'_>) {
    let cost = |spend: &Spend| u64::try_from(spend.cost().0).unwrap_or(0);
    let tokens = |spend: &Spend| {
        let tokens = spend.of(Role::Agent).tokens;
        tokens.input.saturating_add(tokens.output)
    };
    match figure {
        Figure::Cost => (cell.sum, cell.marked) = (u128::from(cost(used.all)), used.all.unpriced_calls()),
        Figure::CostPer(_) => {
            (cell.sum, cell.marked) = (u128::from(used.measured(cost)), used.measured(Spend::unpriced_calls));
        }
        Figure::Count(Count::Tokens) => cell.sum = u128::from(tokens(used.all)),
        Figure::TokensPerConversation => cell.sum = u128::from(used.measured(tokens)),
        Figure::Time { .. } | Figure::Share(_) | Figure::Count(_) => {}
    }
    if matches!(figure, Figure::Cost | Figure::Count(Count::Tokens)) {
        cell.samples = used.all.lines.values().map(|line| line.calls).sum();
    }
}

/// Every complete stretch of the objective's length must hold. A run that is over and shorter is one stretch.
fn in_windows(watched: &Watched, sums: &Sums, window: u64, when: When, end_micros: u64) -> (RunVerdict, String) {
    let (objective, step, cells) = (&watched.objective, watched.step_micros(), watched.cells());
    let starts: BTreeSet<u64> = sums.cells.keys().flat_map(|place| place.saturating_sub(cells - 1)..=*place).collect();
    let is_complete = |start: &u64| start.saturating_add(cells).saturating_mul(step) <= end_micros;
    let is_late = |start: &u64| start.saturating_mul(step) >= objective.delay_micros;
    let mut judged: Vec<u64> = starts.iter().copied().filter(|start| is_complete(start) && is_late(start)).collect();
    let is_short = judged.is_empty() && when == When::Over && end_micros < window && objective.delay_micros == 0;
    if is_short && !starts.is_empty() {
        judged.push(0);
    }
    let (mut decided, mut broken, mut worst): (u64, u64, Option<(u64, Found)>) = (0, 0, None);
    let mut undecided = None;
    for start in &judged {
        let mut sum = Cell::default();
        sums.cells.range(*start..start + cells).for_each(|(_, cell)| sum.merge(cell));
        let found = of_cell(objective, &sum, true, true);
        if found.verdict == RunVerdict::Inconclusive {
            undecided.get_or_insert(found.value);
            continue;
        }
        decided += 1;
        broken += u64::from(found.verdict == RunVerdict::Fail);
        let is_worse = |worst: &(u64, Found)| {
            (found.verdict == RunVerdict::Fail, found.badness) > (worst.1.verdict == RunVerdict::Fail, worst.1.badness)
        };
        if worst.as_ref().is_none_or(is_worse) {
            worst = Some((*start, found));
        }
    }
    let all = judged.len() as u64;
    let length = time::show(window);
    let Some((start, worst)) = worst else {
        let why = match undecided {
            Some(why) => format!("no stretch of {length} has enough to be judged: {why}"),
            None => format!("the run has no stretch of {length} to judge"),
        };
        return (RunVerdict::Inconclusive, format!("{why}, required {}", required(objective)));
    };
    let from = time::show(start * step / 1_000_000 * 1_000_000);
    let few = match all - decided {
        0 => String::new(),
        few => format!("; {} had too few", digits(few)),
    };
    let (verdict, text) = match broken {
        0 => (RunVerdict::Pass, format!("it held in {} of {length}", plural(decided, "stretch", "stretches"))),
        broken => (
            RunVerdict::Fail,
            format!("it broke in {} of {} of {length}", digits(broken), plural(decided, "stretch", "stretches")),
        ),
    };
    (verdict, format!("{text}{few}; the worst, from {from}: {}, required {}", worst.value, required(objective)))
}

fn required(objective: &Objective) -> String {
    format!("{} {}", objective.comparison.sign(), objective.figure.show(objective.bound))
}

#[cfg(test)]
mod tests;
