//! Which trials of a plan an objective is about.

use std::collections::BTreeSet;

use yaml::suggest;

use super::{Filter, MOST, Objective, Part};
use crate::{Case, Diagnostic, Plan, load::lane_and_local};

/// The trials of one objective.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// By the place of the case in the plan; `None`: all.
    cases: Option<Vec<bool>>,
    /// Of a load; `None`: all.
    lane: Option<usize>,
}

impl Selection {
    #[must_use]
    pub fn has(&self, case: u64, trial: u64) -> bool {
        let chosen = |cases: &Vec<bool>| usize::try_from(case).ok().and_then(|case| cases.get(case)).copied();
        self.cases.as_ref().is_none_or(|cases| chosen(cases).unwrap_or(false))
            && self.lane.is_none_or(|lane| lane_and_local(trial).0 == lane)
    }

    /// Whether it has every trial of the run.
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

impl Objective {
    /// The trials of the plan that it is about.
    #[must_use]
    pub fn selection(&self, plan: &Plan) -> Selection {
        let of = |part: Part| self.filters.iter().filter(move |filter| filter.part == part);
        let by_case = self.filters.iter().any(|filter| filter.part != Part::Group);
        let titles = plan.titles();
        let fits = |case: &Case| self.filters.iter().all(|filter| fits(filter, plan, &titles, case));
        let groups = plan.load.iter().flat_map(|load| load.groups.iter().map(|group| &group.name));
        // Two groups at once, or one that the load does not have: no lane has this number.
        let lane = |name: &String| groups.clone().position(|group| group == name);
        let lanes: BTreeSet<Option<usize>> = of(Part::Group).map(|filter| lane(&filter.value)).collect();
        let lane = match lanes.len() {
            0 => None,
            1 => lanes.into_iter().flatten().next().or(Some(usize::MAX)),
            _ => Some(usize::MAX),
        };
        Selection { cases: by_case.then(|| plan.cases().map(|case| fits(&case)).collect()), lane }
    }
}

fn fits(filter: &Filter, plan: &Plan, titles: &[String], case: &Case) -> bool {
    let value = filter.value.as_str();
    match filter.part {
        Part::Scenario => case.scenario == value || titles.get(case.group).is_some_and(|title| title == value),
        Part::Persona => case.persona.as_deref() == Some(value),
        Part::Tag => plan.groups.get(case.group).is_some_and(|group| group.tags.iter().any(|tag| tag == value)),
        Part::Agent => case.agent == value,
        Part::Group => true,
    }
}

/// Objectives of a plan that are about none of its trials, and too many of them.
#[must_use]
pub fn faults(plan: &Plan) -> Vec<Diagnostic> {
    let objectives = &plan.gates.objectives;
    let mut found = Vec::new();
    if objectives.len() > MOST {
        let message = format!("there are {} objectives; a run has at most {MOST}", objectives.len());
        found.push(Diagnostic::error(String::new(), 0, 0, message));
    }
    for objective in objectives {
        for filter in &objective.filters {
            let known = known(filter.part, plan);
            if !known.contains(&filter.value) {
                let message = format!("no conversation of this run has `{filter}`, so `{objective}` cannot be decided");
                let help = suggest::known_names(&filter.value, known.iter().map(String::as_str).collect::<Vec<_>>());
                found.push(Diagnostic::warning(String::new(), 0, 0, message).with_help(help));
            }
        }
    }
    found
}

fn known(part: Part, plan: &Plan) -> BTreeSet<String> {
    match part {
        Part::Scenario => plan.titles().into_iter().chain(plan.groups.iter().map(|group| group.name.clone())).collect(),
        Part::Persona => plan.personas.keys().cloned().collect(),
        Part::Tag => plan.groups.iter().flat_map(|group| group.tags.iter().cloned()).collect(),
        Part::Agent => plan.agents.iter().cloned().collect(),
        Part::Group => plan.load.iter().flat_map(|load| load.groups.iter().map(|group| group.name.clone())).collect(),
    }
}
