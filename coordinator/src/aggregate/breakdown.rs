//! The parts of a plan, and their figures in a summary.

use record::{
    breakdown::{Breakdown, Part, Parts, Sums},
    summary::{AgentSummary, AxisSummary, CheckSummary, FailureCount, PartSummary, TagSummary},
};
use scenario::{Plan, question::QUESTION};
use statistics::success::success_rate;

/// Which agents, tags and values of axes each case belongs to.
pub(super) fn parts(plan: &Plan) -> Parts {
    let mut parts = Parts::default();
    for case in plan.cases() {
        let group = plan.groups.get(case.group);
        // The questions of a knowledge base are its cases: a row for each of them would repeat those.
        let asks = plan.question(&case).is_some();
        let values = case.parameters.into_iter().filter(|(parameter, _)| !(asks && parameter == QUESTION));
        let values = values.map(|(parameter, value)| Part::Value { parameter, value: value.to_string() });
        let tags = group.map_or(&[][..], |group| group.tags.as_slice()).iter().cloned().map(Part::Tag);
        let repeats = group.map_or(0, |group| u64::from(group.repeats));
        parts.add_case(std::iter::once(Part::Agent(case.agent)).chain(tags).chain(values), repeats);
    }
    parts
}

/// The tables of a summary.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) agents: Vec<AgentSummary>,
    pub(super) tags: Vec<TagSummary>,
    pub(super) axes: Vec<AxisSummary>,
    pub(super) checks: Vec<CheckSummary>,
}

impl Tables {
    pub(super) fn of(breakdown: &Breakdown) -> Self {
        let mut tables = Self::default();
        for (part, planned, sums) in breakdown.parts() {
            let figures = figures(planned, &sums.cloned().unwrap_or_default());
            match part {
                Part::Agent(agent) => tables.agents.push(AgentSummary { agent: agent.clone(), figures }),
                Part::Tag(tag) => tables.tags.push(TagSummary { tag: tag.clone(), figures }),
                Part::Value { parameter, value } => tables.axes.push(AxisSummary {
                    parameter: parameter.clone(),
                    value: serde_json::from_str(value).unwrap_or_default(),
                    figures,
                }),
            }
        }
        // Axes in the order in which the plan first names them, each with all its values.
        let mut parameters: Vec<String> = Vec::new();
        for row in &tables.axes {
            if !parameters.contains(&row.parameter) {
                parameters.push(row.parameter.clone());
            }
        }
        tables.axes.sort_by_key(|row| parameters.iter().position(|parameter| *parameter == row.parameter));
        tables.checks = breakdown
            .checks
            .iter()
            .map(|((check, required), findings)| CheckSummary {
                check: check.clone(),
                required: *required,
                pass: findings.pass,
                fail: findings.fail,
                not_judged: findings.not_judged,
            })
            .collect();
        tables
    }
}

fn figures(planned: u64, sums: &Sums) -> PartSummary {
    let counts = &sums.counts;
    PartSummary {
        trials: planned,
        pass: counts.pass,
        fail: counts.fail,
        agent_errors: counts.agent_errors,
        replayed_failures: counts.replayed_failures,
        doubtful: counts.doubtful,
        inconclusive: counts.inconclusive,
        error: counts.error,
        skipped: counts.skipped,
        cancelled: counts.cancelled,
        success_rate: success_rate(counts),
        latency: sums.latency.as_ref().map(record::latency::Latency::quantiles),
        unanswered_turns: sums.unanswered,
        cost_usd: sums.cost.dollars(),
        unpriced_calls: sums.unpriced_calls,
        estimated_calls: sums.estimated_calls,
        failures: sums
            .failures
            .iter()
            .map(|((kind, blame), trials)| FailureCount { kind: *kind, blame: *blame, trials: *trials })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use scenario::{
        Digest, Source,
        plan::{Axis, Gates, Group, VERSION},
    };
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_plan_has_its_agents_its_tags_and_the_values_of_its_axes() {
        let axis = |parameter: &str, values: Value| Axis {
            parameter: parameter.to_owned(),
            values: serde_json::from_value(values).unwrap(),
        };
        let group = |format: &str, axes| Group {
            key: Digest::of(b"k").to_string(),
            name: "refund".to_owned(),
            format: format.to_owned(),
            source: Source { path: "f".to_owned(), line: 1 },
            document: Value::Null,
            lines: Default::default(),
            tags: vec!["slow".to_owned(), "money".to_owned()],
            weight: 1.0,
            required_pass_rate: None,
            axes,
            personas: vec![None],
            repeats: 2,
            selection: None,
        };
        let plan = Plan {
            version: VERSION,
            name: "nightly".to_owned(),
            seed: 1,
            groups: vec![
                group("eliza", vec![axis("tone", json!(["rude", 7])), axis("language", json!(["de"]))]),
                group("qna", vec![axis(QUESTION, json!(["Hi", "Hello"]))]),
            ],
            personas: Default::default(),
            agents: vec!["a".to_owned(), "b".to_owned()],
            live: false,
            plays_on: false,
            gates: Gates::default(),
            replays: 2,
            pass_k: None,
        };
        let tables = Tables::of(&Breakdown::of(std::sync::Arc::new(parts(&plan))));
        let agents: Vec<_> = tables.agents.iter().map(|row| (row.agent.as_str(), row.figures.trials)).collect();
        assert_eq!(agents, [("a", 8), ("b", 8)]);
        let tags: Vec<_> = tables.tags.iter().map(|row| (row.tag.as_str(), row.figures.trials)).collect();
        assert_eq!(tags, [("slow", 16), ("money", 16)]);
        let axes: Vec<_> =
            tables.axes.iter().map(|row| (row.parameter.as_str(), row.value.clone(), row.figures.trials)).collect();
        assert_eq!(axes, [("tone", json!("rude"), 4), ("tone", json!(7), 4), ("language", json!("de"), 8)]);
        assert_eq!(tables.agents[0].figures.success_rate.estimate, None);
    }
}
