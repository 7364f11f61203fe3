//! A scenario that is ready to play: its checks are compiled once for all trials of a case.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use evaluate::Evaluator;
use record::{Failure, FailureKind};
use scenario::{Action, Asks, Case, Check, Plan, Scenario, Trial, plan::Trials, user::Pauses};
use serde_json::{Map, Value};

use crate::cue;

/// How many scenarios are kept. A plan's cases are played in order, so the oldest is the least likely to be needed.
const KEPT: usize = 512;

#[derive(Debug)]
pub(crate) struct CompiledScenario {
    pub(crate) case: Case,
    pub(crate) scenario: Scenario,
    /// That of the scenario, which its trials share.
    pub(crate) environment: Arc<scenario::Environment>,
    /// The models that it asks, apart from the agent.
    pub(crate) asks: Asks,
    pub(crate) steps: Vec<StepChecks>,
    /// One for each step.
    pub(crate) cues: Vec<Option<Arc<llm::Cue>>>,
    /// Those before the user's lines, one for each step. Empty where the plan plays none or the scenario has none.
    pub(crate) pauses: Vec<Pauses>,
    /// The scenario's variables; `None`: it has none.
    pub(crate) vars: Option<Arc<Map<String, Value>>>,
}

/// The compiled checks of one step, in the order of the scenario.
#[derive(Debug, Default)]
pub(crate) struct StepChecks {
    pub(crate) each_turn: Vec<Evaluator>,
    pub(crate) at_the_end: Vec<Evaluator>,
    pub(crate) of_the_step: Vec<Evaluator>,
}

/// The compiled scenarios of one plan, each made when first needed.
#[derive(Debug)]
pub(crate) struct CompiledScenarios {
    trials: Trials,
    made: Mutex<BTreeMap<u64, Arc<CompiledScenario>>>,
}

impl CompiledScenarios {
    pub(crate) fn new(plan: Arc<Plan>) -> Self {
        Self { trials: Trials::of(plan), made: Mutex::default() }
    }

    pub(crate) fn plan(&self) -> &Plan {
        self.trials.plan()
    }

    /// The trial with this number of the plan.
    pub(crate) fn trial(&self, number: u64) -> Option<Trial> {
        self.trials.get(number)
    }

    pub(crate) fn of_case(&self, number: u64) -> Result<Arc<CompiledScenario>, Failure> {
        if let Some(script) = self.lock().get(&number) {
            return Ok(Arc::clone(script));
        }
        let script = Arc::new(self.make(number)?);
        let mut made = self.lock();
        while made.len() >= KEPT {
            made.pop_first();
        }
        made.insert(number, Arc::clone(&script));
        Ok(script)
    }

    fn make(&self, number: u64) -> Result<CompiledScenario, Failure> {
        let case = self.plan().case(number).ok_or_else(|| misconfigured(format!("the plan has no case {number}")))?;
        let scenario = self.plan().scenario(&case, formats::ALL).map_err(|diagnostics| {
            let first = diagnostics.first().map(ToString::to_string).unwrap_or_default();
            misconfigured(format!("the case cannot be read: {first}"))
        })?;
        let steps = scenario
            .steps
            .iter()
            .map(|step| {
                let of_the_step = compile(&step.checks)?;
                Ok(match &step.action {
                    Action::Converse(conversation) => StepChecks {
                        each_turn: compile(&conversation.turn_checks)?,
                        at_the_end: compile(&conversation.final_checks)?,
                        of_the_step,
                    },
                    Action::Say { .. } | Action::Examine(_) | Action::Execute { .. } => {
                        StepChecks { of_the_step, ..StepChecks::default() }
                    }
                })
            })
            .collect::<Result<_, Failure>>()?;
        let cues = scenario.steps.iter().map(cue::of_step).collect();
        let asks = Asks::of(&scenario);
        let pauses = if self.plan().plays_pauses() { pauses_of(&scenario) } else { Vec::new() };
        let vars = (!scenario.vars.is_empty()).then(|| Arc::new(scenario.vars.clone()));
        let environment = Arc::new(scenario.environment.clone());
        Ok(CompiledScenario { case, scenario, environment, asks, steps, cues, pauses, vars })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Arc<CompiledScenario>>> {
        self.made.lock().expect("no panic happens while the scripts are locked")
    }
}

fn pauses_of(scenario: &Scenario) -> Vec<Pauses> {
    let all: Vec<Pauses> = scenario.steps.iter().map(|step| scenario.pauses_of(step)).collect();
    if all.iter().all(Pauses::is_empty) { Vec::new() } else { all }
}

fn compile(checks: &[Check]) -> Result<Vec<Evaluator>, Failure> {
    checks
        .iter()
        .map(|check| {
            evaluate::compile(check)
                .map_err(|error| misconfigured(format!("line {}: {}: {error}", check.line, check.rule.kind())))
        })
        .collect()
}

fn misconfigured(message: String) -> Failure {
    Failure::new(FailureKind::Misconfigured, message)
}
