//! The variables of scenarios that requests to agents use: `{{ vars.NAME }}` in gabfest.yaml needs `gabfest: {vars: …}`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use record::count::plural;
use scenario::{Diagnostic, Plan, Scenario};

use crate::{probe::Vars, settings::Settings};

/// Cases of a plan that are looked at; of more, as many at even distances.
const LOOKED_AT: u64 = 10_000;

/// One error for each agent of the plan and each variable that its requests use and some of its cases lack.
pub(crate) fn faults(plan: &Plan, settings: &Settings) -> Vec<Diagnostic> {
    let used = plan.agents.iter().filter_map(|name| Some((name.as_str(), settings.agents.get(name)?.variables())));
    let used: BTreeMap<&str, BTreeSet<String>> = used.filter(|(_, names)| !names.is_empty()).collect();
    if used.is_empty() {
        return Vec::new();
    }
    let mut lacking: BTreeMap<(&str, &str), (Scenario, u64)> = BTreeMap::new();
    let distance = usize::try_from(plan.case_count().div_ceil(LOOKED_AT).max(1)).unwrap_or(usize::MAX);
    for number in (0..plan.case_count()).step_by(distance) {
        let Some(case) = plan.case(number) else { continue };
        let Some((agent, names)) = used.get_key_value(case.agent.as_str()) else { continue };
        let Ok(scenario) = plan.scenario(&case, formats::ALL) else { continue };
        for name in names.iter().filter(|name| !scenario.vars.contains_key(*name)) {
            lacking.entry((*agent, name.as_str())).or_insert_with(|| (scenario.clone(), 0)).1 += 1;
        }
    }
    lacking.into_iter().map(|((agent, name), (first, cases))| fault(agent, name, &first, cases)).collect()
}

fn fault(agent: &str, name: &str, first: &Scenario, cases: u64) -> Diagnostic {
    let cases = plural(cases, "case lacks", "cases lack");
    let message = format!("the agent `{agent}` uses `{{{{ vars.{name} }}}}`, and {cases} the variable `{name}`");
    let line = first.source.line;
    Diagnostic::error(first.source.path.clone(), line, 0, message)
        .with_help(format!("write `gabfest: {{ vars: {{ {name}: … }} }}` in the scenario"))
}

/// Those of the first case of a plan, with which its agents are asked before the run.
pub(crate) fn of_first_case(plan: &Plan) -> Vars {
    let scenario = plan.case(0).and_then(|case| plan.scenario(&case, formats::ALL).ok())?;
    Some(Arc::new(scenario.vars))
}

/// An empty text for each that the requests of an agent use, without a scenario.
pub(crate) fn empty(agent: &str, settings: &Settings) -> Vars {
    Some(Arc::new(settings.agents.get(agent)?.empty_variables()))
}
