//! Which trials of a plan an objective is about.

use std::collections::BTreeSet;

use yaml::suggest;

use super::{Count, Figure, Filter, MOST, Objective, Part, Share};
use crate::{Case, Diagnostic, Plan, load::lane_and_local};

/// The trials of one objective.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// By the place of the case in the plan; `None`: all.
    cases: Option<Vec<bool>>,
    /// Of a load; `None`: all.
    lane: Option<usize>,
    /// Every case that it is about is in quarantine.
    in_quarantine: bool,
}

impl Selection {
    #[must_use]
    pub fn has(&self, case: u64, trial: u64) -> bool {
        let chosen = |cases: &Vec<bool>| usize::try_from(case).ok().and_then(|case| cases.get(case)).copied();
        self.cases.as_ref().is_none_or(|cases| chosen(cases).unwrap_or(false))
            && self.lane.is_none_or(|lane| lane_and_local(trial).0 == lane)
    }

    /// Whether all its cases are in quarantine, so that nothing depends on it.
    #[must_use]
    pub fn is_in_quarantine(&self) -> bool {
        self.in_quarantine
    }

    /// Whether it has every trial of the run.
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

impl Objective {
    /// The trials of the plan that it is about. Cases in quarantine are left out, unless it bounds what the run uses.
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
        let about: Option<Vec<bool>> = by_case.then(|| plan.cases().map(|case| fits(&case)).collect());
        if plan.gates.quarantine.is_empty() || self.figure.bounds_use() {
            return Selection { cases: about, lane, in_quarantine: false };
        }
        let counts = |case: &Case| {
            let variant = plan.variant(case);
            let title = titles.get(case.group).map_or("", String::as_str);
            plan.quarantine(case, title, variant.as_deref()).is_none()
        };
        let counted: Vec<bool> = plan.cases().map(|case| fits(&case) && counts(&case)).collect();
        let number = |cases: &[bool]| cases.iter().filter(|has| **has).count();
        let all = about.as_deref().map_or(counted.len(), number);
        match number(&counted) {
            left if left == all => Selection { cases: about, lane, in_quarantine: false },
            left => Selection { cases: Some(counted), lane, in_quarantine: left == 0 },
        }
    }
}

impl Figure {
    /// Whether it is about what the whole run uses: its money, its tokens, and what a load did not start.
    fn bounds_use(self) -> bool {
        matches!(self, Self::Cost | Self::Count(Count::Tokens | Count::Dropped) | Self::Share(Share::Drop))
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
