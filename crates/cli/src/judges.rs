//! Warnings before the first trial: judges without a key, and a mock judge for a real agent.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::anyhow;
use record::{FailureKind, count::plural};
use scenario::{Asks, Plan};
use worker::Models;

use crate::{
    diagnostics,
    exit::usage,
    settings::{MOCK, Settings},
};

/// Cases of a plan that are looked at; of more, as many at even distances.
const LOOKED_AT: u64 = 10_000;
const HINT: &str = "put the key there, or name another endpoint in `roles.judge`, `models` or `scores`";

/// Warns if the built-in mock is the judge or the user of a real agent: its results mean nothing.
pub(crate) fn announce_pretence(plan: &Plan, settings: &Settings) {
    if plan.agents.iter().all(|name| is_mock_agent(settings, name)) {
        return;
    }
    let asks = asks(plan);
    let judged = asks.iter().filter(|asks| asks.judges.contains(&None)).count();
    if judged > 0 && is_mock(settings, settings.roles.judge.as_deref()) {
        diagnostics::warn(
            "the judge is the built-in mock, and the agent is not: it understands no condition and says yes, so its verdicts mean nothing\n  hint: name an endpoint in `roles.judge` of gabfest.yaml",
        );
    }
    let played = asks.iter().filter(|asks| !asks.simulators.is_empty()).count();
    if played > 0 && is_mock(settings, settings.roles.user_sim.as_deref()) {
        diagnostics::warn(
            "the user is played by the built-in mock, and the agent is not a mock: its questions are simple and always the same\n  hint: name an endpoint in `roles.user_sim` of gabfest.yaml",
        );
    }
}

/// Warns if no judge is measured, so that no judged check can decide.
pub(crate) fn announce_uncalibrated(plan: &Plan) {
    let is_empty = plan.gates.judges.as_ref().is_some_and(|gate| gate.measured.is_empty());
    if is_empty && asks(plan).iter().any(|asks| !asks.judges.is_empty()) {
        diagnostics::warn(
            "gates.judges requires calibrated judges, and none is measured: what judges find only informs\n  hint: measure yours with `gabfest judge LABELS --save`",
        );
    }
}

/// The models on servers that the cases of a plan ask, by the names of their endpoints.
pub(crate) fn needed(plan: &Plan, settings: &Settings, models: &Models) -> BTreeMap<String, Arc<dyn llm::Chat>> {
    let mut needed: BTreeMap<String, Arc<dyn llm::Chat>> = BTreeMap::new();
    for asks in asks(plan) {
        let judges = asks.judges.iter().map(|model_type| models.judge(model_type.as_deref()));
        let simulators = asks.simulators.iter().map(|model_type| models.user_sim(model_type));
        for model in judges.chain(simulators).filter(|model| model.absence().is_none()) {
            let name = model.endpoint().to_owned();
            if !is_mock(settings, Some(&name)) {
                needed.entry(name).or_insert(model);
            }
        }
    }
    needed
}

/// The model types that the cases of a plan ask for; for many cases, a sample at even distances.
fn asks(plan: &Plan) -> Vec<Asks> {
    let all = plan.case_count();
    let distance = usize::try_from(all.div_ceil(LOOKED_AT).max(1)).unwrap_or(usize::MAX);
    let cases = (0..all).step_by(distance).filter_map(|number| plan.case(number));
    cases.filter_map(|case| plan.scenario(&case, formats::ALL).ok()).map(|scenario| Asks::of(&scenario)).collect()
}

pub(crate) fn is_mock(settings: &Settings, endpoint: Option<&str>) -> bool {
    let name = endpoint.unwrap_or(MOCK);
    settings.endpoints.get(name).map_or(name == MOCK, |endpoint| endpoint.kind == llm::endpoint::Kind::Mock)
}

pub(crate) fn is_mock_agent(settings: &Settings, name: &str) -> bool {
    let Some(agent) = settings.agents.get(name) else { return name == MOCK };
    match &agent.endpoint {
        Some(endpoint) => is_mock(settings, Some(endpoint)),
        None => agent.kind == agent::settings::Kind::Mock,
    }
}

/// Warns about the cases of a plan that will be skipped.
///
/// # Errors
/// The simulated user of a case cannot be asked either: such a conversation would yield nothing.
pub(crate) fn announce(plan: &Plan, models: &Models) -> anyhow::Result<()> {
    if models.absent().is_empty() {
        return Ok(());
    }
    let all = plan.case_count();
    let distance = all.div_ceil(LOOKED_AT).max(1);
    let (mut looked_at, mut skipped) = (0_u64, BTreeMap::<String, u64>::new());
    for number in (0..all).step_by(usize::try_from(distance).unwrap_or(usize::MAX)) {
        looked_at += 1;
        let scenario = plan.case(number).and_then(|case| plan.scenario(&case, formats::ALL).ok());
        let Some(failure) = scenario.and_then(|scenario| models.missing(&Asks::of(&scenario))) else { continue };
        if failure.kind != FailureKind::JudgeMissing {
            let hint = "put the key there, or name another endpoint in `roles.user_sim` or `models`";
            return Err(usage(anyhow!("{}\nhint: {hint}", failure.message)));
        }
        *skipped.entry(failure.message).or_default() += 1;
    }
    if skipped.is_empty() {
        for absent in models.absent() {
            diagnostics::note(&format!("{absent}; no case of this run needs it for its verdict"));
        }
    }
    for (message, cases) in skipped {
        let share = if distance == 1 {
            format!("{cases} of {}", plural(all, "case", "cases"))
        } else {
            format!("about {:.0}% of {all} cases", cases as f64 / looked_at as f64 * 100.0)
        };
        diagnostics::warn(&format!(
            "{message}\n  skipped: {share}; they count as not judged, so the run cannot pass (exit code 3 at best)\n  hint: {HINT}"
        ));
    }
    Ok(())
}

/// Warns about trials that a worker will return as skipped.
///
/// # Errors
/// There is no model for the user: this worker would break conversations that another worker can play.
pub(crate) fn announce_worker(models: &Models) -> anyhow::Result<()> {
    if let Some(reason) = models.user_sim.absence() {
        let endpoint = models.user_sim.endpoint();
        return Err(usage(anyhow!("there is no model for the user: endpoint {endpoint:?} has no key, {reason}")));
    }
    for absent in models.absent() {
        diagnostics::warn(&format!("{absent}\n  trials that ask it come back as SKIPPED\n  hint: {HINT}"));
    }
    Ok(())
}
