//! The parts of a plan, and their figures in a summary.

use std::collections::BTreeSet;

use record::{
    breakdown::{Breakdown, Part, Parts, Sums},
    summary::{
        AgentSummary, AxisSummary, CheckSummary, FailureCount, MetricSummary, OtherParts, PartSummary, PersonaSummary,
        ScenarioSummary, TagSummary,
    },
    turn_times::TurnTimes,
};
use scenario::{
    Case, Plan,
    plan::{Group, ROW},
    question::QUESTION,
    rows::text_of,
};
use serde_json::Value;
use statistics::{goodput, success::success_rate};

/// The most scenarios that get their own figures. A plan may have as many scenarios as cases, and a summary has a line for
/// each case already.
const MOST_SCENARIOS: usize = 1_000;

/// The most values of a column that get their own figures.
const MOST_VALUES: usize = 20;

/// Which agents, scenarios, personas, tags and values of axes each case belongs to.
pub(super) fn parts(plan: &Plan) -> Parts {
    let mut parts = Parts::default();
    parts.set_goodput(plan.goodput);
    let titles = plan.titles();
    let columns: Vec<Columns> = plan.groups.iter().map(Columns::of_group).collect();
    for case in plan.cases() {
        let group = plan.groups.get(case.group);
        // The questions of a knowledge base are its cases: a row for each of them would repeat those.
        let asks = plan.question(&case).is_some();
        let is_case = |name: &str| (asks && name == QUESTION) || (case.row.is_some() && name == ROW);
        let values = case.parameters.iter().filter(|(name, _)| !is_case(name)).cloned();
        let columns = columns.get(case.group).into_iter().flat_map(|columns| columns.of(group, &case));
        let values = values.chain(columns);
        let values = values.map(|(parameter, value)| Part::Value { parameter, value: value.to_string() });
        let tags = group.map_or(&[][..], |group| group.tags.as_slice()).iter().cloned().map(Part::Tag);
        let plays_all = plan.load.is_none() && plan.decide.is_none();
        let repeats = group.filter(|_| plays_all).map_or(0, |group| u64::from(group.repeats));
        let scenario = titles.get(case.group).filter(|_| case.group < MOST_SCENARIOS).cloned().map(Part::Scenario);
        let persona = case.persona.clone().map(Part::Persona);
        let own = [Some(Part::Agent(case.agent.clone())), scenario, persona];
        parts.add_case(own.into_iter().flatten().chain(tags).chain(values), repeats);
    }
    parts
}

/// The columns of a data set that divide its rows: with few values, and not another one in each row.
struct Columns(Vec<(usize, String)>);

impl Columns {
    fn of_group(group: &Group) -> Self {
        let Some(rows) = &group.rows else { return Self(Vec::new()) };
        let mut values = vec![BTreeSet::new(); rows.columns().len()];
        for row in (0..rows.len()).filter_map(|index| rows.get(index)) {
            for (column, value) in values.iter_mut().zip(&row.values) {
                if column.len() <= MOST_VALUES {
                    column.insert(text_of(value));
                }
            }
        }
        let few = rows
            .columns()
            .iter()
            .enumerate()
            .zip(&values)
            .filter(|(_, values)| (2..=MOST_VALUES).contains(&values.len()) && values.len() < rows.len());
        Self(few.map(|((index, name), _)| (index, name.clone())).collect())
    }

    /// The values of a case.
    fn of(&self, group: Option<&Group>, case: &Case) -> Vec<(String, Value)> {
        let row = case.row.and_then(|row| usize::try_from(row).ok()).filter(|_| !self.0.is_empty());
        let row = group.and_then(|group| group.rows.as_ref()).zip(row).and_then(|(rows, row)| rows.get(row));
        let Some(row) = row else { return Vec::new() };
        self.0.iter().filter_map(|(index, name)| Some((name.clone(), row.values.get(*index)?.clone()))).collect()
    }
}

/// The tables of a summary.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) agents: Vec<AgentSummary>,
    pub(super) scenarios: Vec<ScenarioSummary>,
    pub(super) personas: Vec<PersonaSummary>,
    pub(super) tags: Vec<TagSummary>,
    pub(super) axes: Vec<AxisSummary>,
    pub(super) checks: Vec<CheckSummary>,
    pub(super) metrics: Vec<MetricSummary>,
    pub(super) others: Vec<OtherParts>,
}

impl Tables {
    pub(super) fn of(breakdown: &Breakdown) -> Self {
        let mut tables = Self::default();
        for (part, planned, sums) in breakdown.parts() {
            let figures = figures(planned, &sums.cloned().unwrap_or_default(), breakdown.goodput().is_some());
            match part {
                Part::Agent(agent) => tables.agents.push(AgentSummary { agent: agent.clone(), figures }),
                Part::Scenario(scenario) => {
                    tables.scenarios.push(ScenarioSummary { scenario: scenario.clone(), figures });
                }
                Part::Persona(persona) => tables.personas.push(PersonaSummary { persona: persona.clone(), figures }),
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
        tables.metrics = breakdown
            .metrics
            .iter()
            .map(|(name, metric)| MetricSummary {
                name: name.to_owned(),
                pass: metric.pass,
                fail: metric.fail,
                not_judged: metric.not_judged,
                not_applicable: metric.not_applicable,
                rate: statistics::interval(metric.pass, metric.pass + metric.fail),
                mean_score: metric.mean_score(),
                scores: metric.scores,
            })
            .collect();
        let others = breakdown.others().map(|(kind, parts, times)| OtherParts {
            kind,
            parts: parts as u64,
            latency: times.map(TurnTimes::figures).unwrap_or_default(),
        });
        tables.others = others.collect();
        tables
    }
}

fn figures(planned: u64, sums: &Sums, has_goodput: bool) -> PartSummary {
    let counts = &sums.counts;
    PartSummary {
        // Of a load the trials that ended: its pace draws the cases. So too if a decision ends the run.
        trials: planned.max(counts.ended()),
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
        latency: sums.times.as_ref().map(TurnTimes::figures),
        unanswered_turns: sums.unanswered,
        goodput: has_goodput.then(|| goodput::figures(&sums.goodput)),
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
        plan::{Axis, Gates, VERSION},
        rows::{Builder, Row},
    };
    use serde_json::json;

    use super::*;

    /// Ids, a plan with two values, and a name that differs in each row.
    fn rows() -> scenario::Rows {
        let mut builder = Builder::default();
        for index in 0..30 {
            let plan = if index % 3 == 0 { "pro" } else { "free" };
            let values = vec![json!(plan), json!(format!("name {index}"))];
            builder.push(&Row { id: format!("r{index}"), line: 1, values }).unwrap();
        }
        builder.build("x.csv".to_owned(), vec!["plan".to_owned(), "name".to_owned()], Vec::new())
    }

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
            extra: Vec::new(),
            exclude: Vec::new(),
            excluded: 0,
            cover: None,
            environment: Default::default(),
            rows: None,
        };
        let plan = Plan {
            version: VERSION,
            name: "nightly".to_owned(),
            seed: 1,
            groups: vec![
                Group { rows: Some(rows()), ..group("eliza", Vec::new()) },
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
            endpoints: std::collections::BTreeMap::new(),
            transcripts: scenario::plan::Transcripts::All,
            think_time: false,
            load: None,
            decide: None,
            origin: None,
            goodput: None,
        };
        let tables = Tables::of(&Breakdown::of(std::sync::Arc::new(parts(&plan))));
        let agents: Vec<_> = tables.agents.iter().map(|row| (row.agent.as_str(), row.figures.trials)).collect();
        assert_eq!(agents, [("a", 68), ("b", 68)]);
        let tags: Vec<_> = tables.tags.iter().map(|row| (row.tag.as_str(), row.figures.trials)).collect();
        assert_eq!(tags, [("slow", 136), ("money", 136)]);
        let axes: Vec<_> =
            tables.axes.iter().map(|row| (row.parameter.as_str(), row.value.clone(), row.figures.trials)).collect();
        // A row with its own id or name has only the figures of its case.
        assert_eq!(axes[..2], [("plan", json!("pro"), 40), ("plan", json!("free"), 80)]);
        assert_eq!(axes[2..], [("tone", json!("rude"), 4), ("tone", json!(7), 4), ("language", json!("de"), 8)]);
        assert_eq!(tables.agents[0].figures.success_rate.estimate, None);
        let scenarios: Vec<_> = tables.scenarios.iter().map(|row| row.figures.trials).collect();
        assert_eq!((scenarios.iter().sum::<u64>(), tables.personas.len(), tables.others.len()), (136, 0, 0));
    }
}
