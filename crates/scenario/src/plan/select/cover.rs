//! `--cover`: of the combinations of a group as few as have every pair (or triple) of values.
//!
//! The factors are the axes, the rows of the data set, and the personas. Each agent gets its own array, so that agents with the same
//! choices play the same cases and can be compared. Combinations that a matrix adds are played as they are.

use yaml::Diagnostic;

use super::{
    cells::{self, Chooser, row_of},
    fault::fault,
};
use crate::{
    covering::{self, Exclusion, Space},
    plan::{
        Case, Choices, Cover, Group, Plan,
        choices::{MAX_CASES, MOST_COVERED, MOST_LISTED},
        names::{About, Condition},
    },
};

pub(super) fn narrow(plan: &mut Plan, choices: &Choices, strength: u32) -> Result<(), Diagnostic> {
    if !(1..=MOST_COVERED).contains(&strength) {
        return Err(fault(format!("combinations of {strength} axes cannot be covered"))
            .with_help(format!("cover those of 1 to {MOST_COVERED} axes; 2 covers every pair of values")));
    }
    cells::refuse_unknown(plan, choices)?;
    let mut chosen = Vec::with_capacity(plan.groups.len());
    for (index, group) in plan.groups.iter().enumerate() {
        chosen.push(Covering { plan, index, group }.cells(choices, strength as usize)?);
    }
    let agents = plan.agents.len() as u64;
    let all: Vec<u64> = plan.groups.iter().map(|group| plan.cells_of(group)).collect();
    for ((group, (selection, cover)), all) in plan.groups.iter_mut().zip(chosen).zip(all) {
        group.selection = Some(selection).filter(|selection| selection.len() as u64 != all);
        group.cover = (cover.played < cover.of).then_some(cover);
        cells::keep_used_rows(group, agents);
    }
    plan.groups.retain(|group| group.selection.as_ref().is_none_or(|cells| !cells.is_empty()));
    if plan.groups.is_empty() { Err(cells::nothing_left(choices)) } else { Ok(()) }
}

/// One group, and the numbers of its cells.
struct Covering<'a> {
    plan: &'a Plan,
    index: usize,
    group: &'a Group,
}

impl Covering<'_> {
    /// The cells that are played, ascending.
    fn cells(&self, choices: &Choices, strength: usize) -> Result<(Vec<u64>, Cover), Diagnostic> {
        let Self { plan, index, group } = *self;
        let agents = plan.agents.len() as u64;
        let sizes = self.sizes();
        let of = sizes.iter().fold(1_u64, |product, size| product.saturating_mul(*size as u64));
        let crossed = of.saturating_mul(agents);
        if plan.cells_of(group) == u64::MAX || crossed == u64::MAX {
            return Err(self.fault("has more combinations than can be numbered".to_owned()));
        }
        let chooser = Chooser::of(group, choices)?;
        let (mut cells, mut played) = (Vec::new(), 0);
        if cells::filter_of(choices).is_some() {
            // A text may be anywhere in a case, so the cases are listed.
            if crossed > MOST_LISTED {
                let message = format!("has {crossed} combinations, and a filter looks at {MOST_LISTED} at most");
                return Err(self.fault(message).with_help("use `--where` and `--exclude` instead of `--filter`"));
            }
            let mut kept = chooser.cells(plan, index, group, 0).kept;
            let added = kept.split_off(kept.partition_point(|cell| *cell < crossed));
            for agent in 0..agents {
                let of_agent: Vec<u64> = kept.iter().copied().filter(|cell| cell % agents == agent).collect();
                let listed: Vec<Vec<usize>> = of_agent.iter().map(|cell| values(cell / agents, &sizes)).collect();
                let places = covering::among(&sizes, &listed, strength).map_err(|why| self.unable(why))?;
                played = played.max(places.len() as u64);
                cells.extend(places.into_iter().map(|place| of_agent[place]));
            }
            cells.extend(added);
        } else {
            for agent in 0..agents {
                let Some(excluded) = self.exclusions(&chooser, &sizes, agent) else { continue };
                let rows = covering::rows(&Space::new(sizes.clone(), excluded), strength);
                let rows = rows.map_err(|why| self.unable(why))?;
                played = played.max(rows.len() as u64);
                cells.extend(rows.iter().map(|row| cell(row, &sizes) * agents + agent));
            }
            if plan.cells_of(group) - crossed > MAX_CASES {
                return Err(self.fault(format!("adds more than {MAX_CASES} combinations")));
            }
            cells.extend(chooser.cells(plan, index, group, crossed).kept);
        }
        cells.sort_unstable();
        Ok((cells, Cover { strength: strength as u32, played, of }))
    }

    /// The number of values of each factor, the last one fastest: as cells are numbered.
    fn sizes(&self) -> Vec<usize> {
        let Self { group, .. } = self;
        let mut sizes: Vec<usize> = group.axes.iter().map(|axis| axis.values.len()).collect();
        sizes.push(group.rows.as_ref().map_or(1, |rows| rows.len()));
        sizes.push(group.personas.len());
        sizes
    }

    /// What no case of this agent may have; `None`: it has no case at all.
    fn exclusions(&self, chooser: &Chooser, sizes: &[usize], agent: u64) -> Option<Vec<Exclusion>> {
        let (lists, conditions) = chooser.lists()?;
        let mut excluded = Vec::new();
        for list in lists {
            let mut exclusion = Exclusion::new();
            let mut applies = true;
            for condition in list {
                match self.values_of(condition, sizes, agent) {
                    Meant::Values(factor, values) => exclusion.push((factor, values)),
                    Meant::All(holds) => applies &= holds,
                }
            }
            if applies && exclusion.is_empty() {
                return None;
            }
            if applies {
                excluded.push(exclusion);
            }
        }
        for condition in conditions {
            match self.values_of(condition, sizes, agent) {
                Meant::Values(factor, values) => {
                    excluded.push(vec![(factor, values.into_iter().map(|holds| !holds).collect())]);
                }
                Meant::All(true) => {}
                Meant::All(false) => return None,
            }
        }
        Some(excluded)
    }

    /// For which values of its factor a condition holds.
    fn values_of(&self, condition: &Condition, sizes: &[usize], agent: u64) -> Meant {
        let axes = self.group.axes.len();
        let holds = |factor: usize, value: usize| {
            let mut row = vec![0; sizes.len()];
            if let Some(of) = row.get_mut(factor) {
                *of = value;
            }
            let cell = cell(&row, sizes) * self.plan.agents.len() as u64 + agent;
            let case: Option<Case> = self.plan.cell(0, self.index, cell);
            case.is_some_and(|case| condition.holds(&case, row_of(self.group, &case).as_ref()))
        };
        let factor = match condition.about() {
            About::Axis(index) => index,
            About::Row => axes,
            About::Persona => axes + 1,
            About::Agent | About::Scenario => return Meant::All(holds(usize::MAX, 0)),
        };
        Meant::Values(factor, (0..sizes[factor]).map(|value| holds(factor, value)).collect())
    }

    fn unable(&self, why: covering::Fault) -> Diagnostic {
        self.fault(format!("cannot be covered: {why}"))
            .with_help("cover fewer axes at once (`--cover 2` or `--cover 1`), or shorten an axis")
    }

    fn fault(&self, message: String) -> Diagnostic {
        fault(format!("`{}` {message}", self.group.key))
    }
}

/// What a condition means for one agent.
enum Meant {
    /// Of one factor: whether it holds, by value.
    Values(usize, Vec<bool>),
    /// It holds for all cases or for none.
    All(bool),
}

fn cell(row: &[usize], sizes: &[usize]) -> u64 {
    row.iter().zip(sizes).fold(0, |cell, (value, size)| cell * *size as u64 + *value as u64)
}

fn values(cell: u64, sizes: &[usize]) -> Vec<usize> {
    let mut left = cell;
    let mut values: Vec<usize> = sizes
        .iter()
        .rev()
        .map(|size| {
            let value = left % *size as u64;
            left /= *size as u64;
            value as usize
        })
        .collect();
    values.reverse();
    values
}
