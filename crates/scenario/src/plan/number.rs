//! Maps the nth trial of a plan to its case and repeat by arithmetic alone, without a list of trials.
//!
//! Cases are numbered group by group; within a group the first axis is outermost, then the rows of the data set, then the
//! personas, and the agents change fastest. Trials are numbered with the repeats outermost: every case once, then every case's
//! second repeat, so that a run that stops early has seen each case about equally often.

use serde_json::Value;

use super::{Case, Group, Plan, ROW, Trial};
use crate::{CaseId, TrialId, ids, matrix};

/// The first version of plans whose seeds do not depend on the agent.
pub(super) const SEEDS_WITHOUT_AGENT: u32 = 4;
/// In the place of the agent's name. Trials of the built-in agent have the same seeds in all versions.
pub(super) const ANY_AGENT: &str = "mock";

impl Plan {
    /// The number of cases.
    #[must_use]
    pub fn case_count(&self) -> u64 {
        self.groups.iter().fold(0, |sum, group| sum.saturating_add(self.cases_of(group)))
    }

    /// The number of trials: every case as often as its group repeats it, or those of the load; `None`: the load plays as many as
    /// fit until [`Schedule::ends`](crate::load::Schedule::ends).
    #[must_use]
    pub fn planned(&self) -> Option<u64> {
        match self.schedule() {
            Some(schedule) => schedule.count(),
            None => Some(self.repeated()),
        }
    }

    /// The number of trials of every case as often as its group repeats it; saturates.
    pub(super) fn repeated(&self) -> u64 {
        self.groups
            .iter()
            .fold(0, |sum, group| sum.saturating_add(self.cases_of(group).saturating_mul(u64::from(group.repeats))))
    }

    /// The case with this number; `None` at and past [`Plan::case_count`].
    #[must_use]
    pub fn case(&self, number: u64) -> Option<Case> {
        let mut left = number;
        for (index, group) in self.groups.iter().enumerate() {
            let cases = self.cases_of(group);
            if left < cases {
                let cell = match &group.selection {
                    Some(selection) => *selection.get(usize::try_from(left).ok()?)?,
                    None => left,
                };
                return self.cell(number, index, cell);
            }
            left -= cases;
        }
        None
    }

    /// Every case, in order.
    pub fn cases(&self) -> impl Iterator<Item = Case> {
        let first = self.groups.iter().scan(0_u64, move |next, group| {
            let first = *next;
            *next = first.saturating_add(self.cases_of(group));
            Some(first)
        });
        self.groups.iter().enumerate().zip(first).flat_map(move |((index, group), first)| {
            (0..self.cases_of(group)).map_while(move |left| {
                let cell = match &group.selection {
                    Some(selection) => *selection.get(index_of(left)?)?,
                    None => left,
                };
                self.cell(first + left, index, cell)
            })
        })
    }

    /// The trial with this number; `None` at and past [`Plan::planned`]. With a load, numbers are those of
    /// [`load::trial_number`](crate::load::trial_number), and each lane has trials without an end: its schedule says how many are played.
    #[must_use]
    pub fn trial(&self, number: u64) -> Option<Trial> {
        let (case, repeat) = self.place_of(number)?;
        Some(self.named(number, (case, repeat), &self.case_ids(case)?))
    }

    /// The number of the case, and the repeat.
    pub(super) fn place_of(&self, number: u64) -> Option<(u64, u32)> {
        match &self.load {
            Some(load) => load.case_and_repeat(self, number),
            None => self.case_and_repeat(number),
        }
    }

    /// The ids of a case; `None` at and past [`Plan::case_count`].
    pub(super) fn case_ids(&self, case: u64) -> Option<CaseIds> {
        let case = self.case(case)?;
        let group = self.groups.get(case.group).filter(|_| self.version >= SEEDS_WITHOUT_AGENT);
        let cell = group.map(|group| case_id(&group.key, &case.parameters, case.persona.as_deref(), ANY_AGENT));
        Some(CaseIds { cell: cell.filter(|cell| *cell != case.id), own: case.id })
    }

    /// The trial at this place, whose case has these ids.
    pub(super) fn named(&self, number: u64, (case, repeat): (u64, u32), ids: &CaseIds) -> Trial {
        let id = trial_id(&ids.own, repeat);
        let of_cell = ids.cell.as_ref().map(|cell| trial_id(cell, repeat));
        let name = of_cell.as_ref().unwrap_or(&id);
        let seed = ids::seed_of(&[&self.seed.to_le_bytes(), name.as_str().as_bytes()]);
        Trial { number, id, case, case_id: ids.own.clone(), repeat, seed }
    }

    /// The case in this cell of a group, selected or not.
    pub(super) fn cell(&self, number: u64, group_index: usize, cell: u64) -> Option<Case> {
        let group = self.groups.get(group_index)?;
        let agents = self.agents.len() as u64;
        let personas = group.personas.len() as u64;
        let agent = self.agents.get(index_of(cell.checked_rem(agents)?)?)?;
        let above = cell / agents;
        let persona = group.personas.get(index_of(above.checked_rem(personas)?)?)?;
        let above = above / personas;
        let (combination, row) = match &group.rows {
            Some(rows) => {
                let rows = rows.len() as u64;
                (above.checked_div(rows)?, Some(above.checked_rem(rows)?))
            }
            None => (above, None),
        };
        let mut parameters = group.parameters(combination)?;
        let label = (group.combinations() > 1).then(|| matrix::combination::id(combination, &parameters));
        if let (Some(rows), Some(row)) = (&group.rows, row) {
            parameters.push((ROW.to_owned(), rows.id(index_of(row)?)?.into()));
        }
        Some(Case {
            id: case_id(&group.key, &parameters, persona.as_deref(), agent),
            number,
            group: group_index,
            scenario: group.name.clone(),
            combination: label,
            parameters,
            row,
            persona: persona.clone(),
            agent: agent.clone(),
        })
    }

    /// All cells of a group, selected or not; saturates.
    pub(super) fn cells_of(&self, group: &Group) -> u64 {
        let combinations = group.combinations().saturating_mul(group.row_count());
        combinations.saturating_mul(group.personas.len() as u64).saturating_mul(self.agents.len() as u64)
    }

    pub(crate) fn cases_of(&self, group: &Group) -> u64 {
        match &group.selection {
            Some(selection) => selection.len() as u64,
            None => self.cells_of(group),
        }
    }

    /// Groups may have different numbers of repeats, so the trials form bands: between two adjacent numbers of repeats
    /// the same groups take part, and within a band each round has the same length.
    fn case_and_repeat(&self, number: u64) -> Option<(u64, u32)> {
        let mut levels: Vec<u32> = self.groups.iter().map(|group| group.repeats).collect();
        levels.sort_unstable();
        levels.dedup();
        let (mut left, mut done) = (number, 0_u32);
        for level in levels {
            let takes_part = |group: &&Group| group.repeats >= level;
            let round = self
                .groups
                .iter()
                .filter(takes_part)
                .fold(0_u64, |sum, group| sum.saturating_add(self.cases_of(group)));
            let band = round.saturating_mul(u64::from(level - done));
            if left < band {
                let repeat = done + u32::try_from(left / round).ok()?;
                return Some((self.nth_case_among(left % round, level)?, repeat));
            }
            left -= band;
            done = level;
        }
        None
    }

    /// The number of the nth case among the groups that repeat at least `level` times.
    fn nth_case_among(&self, nth: u64, level: u32) -> Option<u64> {
        let (mut left, mut before) = (nth, 0_u64);
        for group in &self.groups {
            let cases = self.cases_of(group);
            if group.repeats >= level {
                if left < cases {
                    return Some(before + left);
                }
                left -= cases;
            }
            before = before.saturating_add(cases);
        }
        None
    }
}

/// The ids of a case. Each takes a digest, and neither depends on the repeat.
#[derive(Debug, Clone)]
pub(super) struct CaseIds {
    own: CaseId,
    /// What the seeds of its trials derive from, if it is another one: its cell without the agent, so that two agents meet the
    /// same users and the same chance, and can be compared pair by pair. Plans of earlier versions keep the seeds with which
    /// they began.
    cell: Option<CaseId>,
}

impl Group {
    /// The number of combinations of the axes' values (1 without axes) plus the added ones; saturates.
    #[must_use]
    pub fn combinations(&self) -> u64 {
        self.crossed().saturating_add(self.extra.len() as u64)
    }

    /// The number of combinations of the axes' values alone.
    pub(super) fn crossed(&self) -> u64 {
        self.axes.iter().fold(1, |product: u64, axis| product.saturating_mul(axis.values.len() as u64))
    }

    /// The number of rows of the data set; 1 without one.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.rows.as_ref().map_or(1, |rows| rows.len() as u64)
    }

    /// One combination, in the order of the axes; the last axis changes fastest, and added combinations come last.
    fn parameters(&self, combination: u64) -> Option<Vec<(String, Value)>> {
        if let Some(added) = combination.checked_sub(self.crossed()) {
            let values = self.extra.get(index_of(added)?)?;
            return Some(self.axes.iter().map(|axis| axis.parameter.clone()).zip(values.iter().cloned()).collect());
        }
        let mut left = combination;
        let mut parameters = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            let values = axis.values.len() as u64;
            let value = axis.values.get(index_of(left.checked_rem(values)?)?)?;
            parameters.push((axis.parameter.clone(), value.clone()));
            left /= values;
        }
        parameters.reverse();
        (left == 0).then_some(parameters)
    }
}

fn trial_id(case: &CaseId, repeat: u32) -> TrialId {
    TrialId::new(ids::name_of(&[case.as_str().as_bytes(), &repeat.to_le_bytes()]))
}

fn index_of(number: u64) -> Option<usize> {
    usize::try_from(number).ok()
}

/// Independent of the order of the axes, so that rearranging a matrix keeps its history.
fn case_id(key: &str, parameters: &[(String, Value)], persona: Option<&str>, agent: &str) -> CaseId {
    let mut sorted: Vec<(&str, String)> =
        parameters.iter().map(|(name, value)| (name.as_str(), crate::Digest::of_json(value).to_string())).collect();
    sorted.sort();
    let mut parts: Vec<&[u8]> = vec![key.as_bytes()];
    for (name, value) in &sorted {
        parts.extend([name.as_bytes(), value.as_bytes()]);
    }
    // The scenario's own persona and one without a name must not meet.
    parts.push(if persona.is_some() { b"persona" } else { b"own" });
    parts.extend([persona.unwrap_or_default().as_bytes(), agent.as_bytes()]);
    CaseId::new(ids::name_of(&parts))
}
