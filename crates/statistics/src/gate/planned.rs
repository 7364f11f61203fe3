//! The gates of a plan: what they require, which parts of the run they are about, and how many trials each part has.

use std::collections::BTreeMap;

use scenario::{
    Case, Plan,
    plan::{Gates, Group, RateBy, RateGate, RatePer},
};

use super::{
    Asked, CaseParts, CaseResult, Decision, Planned, Required, Unforgivable, decide, flaky_cases, success_rate,
};

/// What the gates require of the run and of each case.
///
/// `success_rate` replaces the requirement that every trial passes, as `pass_rate` does: the floor of a case is half of the lowest
/// rate that is required.
#[must_use]
pub fn required(gates: &Gates) -> Required {
    let Gates { pass_rate, case_pass_rate, max_unjudged, max_unjudged_cases, .. } = *gates;
    let lowest = gates.success_rates.iter().map(|gate| gate.min).chain(pass_rate).reduce(f64::min);
    let case_pass_rate = case_pass_rate.or(lowest.map(|lowest| lowest / 2.0));
    Required { pass_rate, case_pass_rate, max_unjudged, max_unjudged_cases }
}

/// The gates on trials and cases, with their verdicts. `parts` has an entry for each of `results`.
#[must_use]
pub fn decide_all(gates: &Gates, results: &[CaseResult], parts: &[CaseParts], never: Unforgivable) -> Decision {
    let required = required(gates);
    let forgiven = required.forgives(results, never);
    and_rates(decide(required, results, never), gates, results, parts, forgiven)
}

/// The decision with the gates on success rates and flaky cases. `forgiven`: missing trials are tolerated.
#[must_use]
pub fn and_rates(
    decision: Decision,
    gates: &Gates,
    results: &[CaseResult],
    parts: &[CaseParts],
    forgiven: bool,
) -> Decision {
    let decision = gates.success_rates.iter().fold(decision, |decision, asked| {
        let (gate, of_cases) = success_rate(asked, results, parts, forgiven);
        decision.and_of_cases(gate, &of_cases)
    });
    match gates.max_flaky_cases {
        Some(allowed) => decision.and(flaky_cases(allowed, results)),
        None => decision,
    }
}

impl CaseParts {
    /// `title`: the name of the scenario on pages.
    #[must_use]
    pub fn of(case: &Case, group: &Group, title: &str) -> Self {
        Self {
            scenario: title.to_owned(),
            suite: suite_of(&group.source.path),
            tags: group.tags.clone(),
            persona: case.persona.clone(),
            agent: case.agent.clone(),
        }
    }

    /// The names of the parts of this kind that the case belongs to.
    pub(super) fn named(&self, per: RatePer) -> Vec<String> {
        match per {
            RatePer::Run | RatePer::Case => vec![String::new()],
            RatePer::Scenario => vec![self.scenario.clone()],
            RatePer::Tag => self.tags.clone(),
            RatePer::Persona => self.persona.iter().cloned().collect(),
            RatePer::Suite => vec![self.suite.clone()],
            RatePer::Agent => vec![self.agent.clone()],
        }
    }
}

/// A gate of a plan with the trials that it will judge.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedGate {
    pub name: String,
    pub per: RatePer,
    /// The least rate: that of the gate, or the floor of a case.
    pub least: f64,
    pub by: RateBy,
    /// A floor fails a case that is clearly below it, and passes the others.
    pub is_floor: bool,
    pub planned: Vec<Planned>,
}

/// The gates on success rates of a plan without a load, in the order of reports.
#[must_use]
pub fn planned_gates(plan: &Plan) -> Vec<PlannedGate> {
    let required = required(&plan.gates);
    let titles = plan.titles();
    let cases: Vec<(u64, CaseParts, Option<f64>)> = plan
        .cases()
        .filter_map(|case| {
            let group = plan.groups.get(case.group)?;
            let title = titles.get(case.group).unwrap_or(&group.name);
            Some((u64::from(group.repeats), CaseParts::of(&case, group, title), group.required_pass_rate))
        })
        .collect();
    let of_rate = |name: String, asked: &RateGate| PlannedGate {
        name,
        per: asked.per,
        least: asked.min,
        by: asked.by,
        is_floor: false,
        planned: grouped(trials_of(asked.per, &cases).into_iter().map(|trials| (Asked::from(*asked), trials))),
    };
    let mut gates = Vec::new();
    if let Some(min) = required.pass_rate {
        let asked = RateGate { min, by: RateBy::Point, per: RatePer::Run };
        gates.push(of_rate(format!("pass_rate >= {}", super::percent(min)), &asked));
    }
    let floor = required.case_pass_rate;
    let of_case = floor.map_or(Asked::Rate(1.0), Asked::Floor);
    gates.push(PlannedGate {
        name: if floor.is_some() { "case_pass_rate" } else { "every_case_passes" }.to_owned(),
        per: RatePer::Case,
        least: floor.unwrap_or(1.0),
        by: RateBy::Point,
        is_floor: floor.is_some(),
        planned: grouped(cases.iter().map(|(trials, _, own)| (own.map_or(of_case, Asked::Rate), *trials))),
    });
    gates.extend(plan.gates.success_rates.iter().map(|asked| of_rate(asked.to_string(), asked)));
    gates
}

/// The trials of each part.
fn trials_of(per: RatePer, cases: &[(u64, CaseParts, Option<f64>)]) -> Vec<u64> {
    if per == RatePer::Case {
        return cases.iter().map(|(trials, ..)| *trials).collect();
    }
    let mut parts: BTreeMap<String, u64> = BTreeMap::new();
    for (trials, of, _) in cases {
        for name in of.named(per) {
            *parts.entry(name).or_default() += trials;
        }
    }
    parts.into_values().collect()
}

/// Equal parts counted together, the smallest first.
fn grouped(parts: impl Iterator<Item = (Asked, u64)>) -> Vec<Planned> {
    let mut found: Vec<Planned> = Vec::new();
    for (asked, trials) in parts {
        match found.iter_mut().find(|known| known.asked == asked && known.trials == trials) {
            Some(known) => known.parts += 1,
            None => found.push(Planned { asked, trials, parts: 1 }),
        }
    }
    found.sort_by_key(|planned| planned.trials);
    found
}

/// The folder of a scenario's file, as it was named; `.` for files without one.
fn suite_of(path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    match path.rsplit_once(['/', '\\']) {
        Some((folder, _)) if !folder.is_empty() => folder.to_owned(),
        _ => ".".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_is_the_folder_of_a_file() {
        for (path, suite) in [
            ("shop/refund.scenario.yaml", "shop"),
            ("a/b/c.yaml", "a/b"),
            ("./shop/c.yaml", "shop"),
            ("c.yaml", "."),
            ("/c.yaml", "."),
        ] {
            assert_eq!(suite_of(path), suite, "{path}");
        }
    }

    #[test]
    fn the_floor_of_a_case_is_half_of_the_lowest_rate() {
        let gate = |min| RateGate { min, by: RateBy::Bound(0.95), per: RatePer::Run };
        let of = |pass_rate, case_pass_rate, success_rates| {
            required(&Gates { pass_rate, case_pass_rate, success_rates, ..Gates::default() }).case_pass_rate
        };
        assert_eq!(of(None, None, vec![]), None, "every trial must pass");
        assert_eq!(of(Some(0.8), None, vec![]), Some(0.4));
        assert_eq!(of(Some(0.8), None, vec![gate(0.9), gate(0.6)]), Some(0.3));
        assert_eq!(of(None, Some(0.0), vec![gate(0.9)]), Some(0.0));
    }

    #[test]
    fn equal_parts_are_counted_together() {
        let part = |name: &str, tags: &[&str]| CaseParts {
            scenario: name.to_owned(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..CaseParts::default()
        };
        let cases = [
            (10, part("refund", &["shop", "slow"]), None),
            (10, part("refund", &["shop"]), None),
            (5, part("hours", &[]), None),
        ];
        let of = |per| trials_of(per, &cases);
        assert_eq!(
            [of(RatePer::Run), of(RatePer::Case), of(RatePer::Scenario), of(RatePer::Tag), of(RatePer::Persona)],
            [vec![25], vec![10, 10, 5], vec![5, 20], vec![20, 10], vec![]]
        );
        let asked = Asked::Rate(0.9);
        let planned = grouped(of(RatePer::Case).into_iter().map(|trials| (asked, trials)));
        assert_eq!(planned, [Planned { asked, trials: 5, parts: 1 }, Planned { asked, trials: 10, parts: 2 }]);
    }
}
