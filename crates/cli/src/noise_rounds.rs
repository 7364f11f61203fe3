//! The rounds of `gabfest noise` as scores of conversations, and what the layers of a run cost.

use std::collections::BTreeMap;

use record::{Role, Trial, call::SpendLine};
use statistics::{
    compare::played::PlayedTrial,
    noise::{
        Case, Conversation,
        found::{CostUnit, LeftOut, NoiseCosts},
    },
};

use crate::rejudged::Again;

/// Trials with verdicts of every round, by case in the order of the plan. A judging without a verdict about the agent counts in nothing.
pub(crate) fn cases(judged: &Again, replayed: Option<&Again>) -> Vec<Case> {
    let judgings = by_number(judged);
    let replays = replayed.map(by_number).unwrap_or_default();
    let mut cases: BTreeMap<u64, Case> = BTreeMap::new();
    for trial in &judged.recorded {
        let Some(scores) = judgings.get(&trial.number).filter(|scores| !scores.is_empty()) else { continue };
        let answered = replays.get(&trial.number).into_iter().flatten();
        let conversation =
            Conversation { judged: scores.clone(), replays: answered.map(|score| vec![*score]).collect() };
        let case = cases.entry(trial.case).or_default();
        case.name = trial.case_id.to_string();
        case.conversations.push(conversation);
    }
    cases.into_values().collect()
}

/// The scores of each trial, round by round.
fn by_number(again: &Again) -> BTreeMap<u64, Vec<f64>> {
    let mut scores: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for trial in again.trials.iter().flatten() {
        scores.entry(trial.number).or_default().extend(score(trial));
    }
    scores
}

fn score(trial: &Trial) -> Option<f64> {
    let blame = trial.failure.as_ref().map(|failure| failure.blame);
    PlayedTrial::outcome(trial.verdict, blame, 0).map(|passed| f64::from(u8::from(passed)))
}

/// Trials that were not judged or played again, and those without a verdict in any round.
pub(crate) fn left_out(judged: &Again, replayed: Option<&Again>) -> Vec<LeftOut> {
    let mut found: BTreeMap<u64, String> = judged.left_out.iter().cloned().collect();
    for again in std::iter::once(judged).chain(replayed) {
        let silent = by_number(again).into_iter().filter(|(_, scores)| scores.is_empty());
        for (trial, _) in silent {
            found.entry(trial).or_insert_with(|| "no round gave a verdict about the agent".to_owned());
        }
    }
    found.into_iter().map(|(trial, reason)| LeftOut { trial, reason: redact::redact(&reason).into_owned() }).collect()
}

/// The mean cost of a conversation, as recorded: in money if every call has a price, otherwise in tokens, or in calls.
pub(crate) fn costs(recorded: &[Trial]) -> NoiseCosts {
    let sum = |roles: &[Role]| {
        let mut sum = SpendLine::default();
        let lines = recorded.iter().flat_map(|trial| &trial.spend.lines);
        lines.filter(|((role, _), _)| roles.contains(role)).for_each(|(_, line)| sum.add(*line));
        sum
    };
    let layers = [sum(&[Role::UserSim]), sum(&[Role::Agent]), sum(&[Role::Judge, Role::Scorer])];
    let is_priced = layers.iter().all(|line| line.unpriced_calls == 0) && layers.iter().any(|line| line.cost.0 > 0);
    let has_tokens = layers.iter().any(|line| line.tokens.input + line.tokens.output > 0);
    let unit = if is_priced {
        CostUnit::Usd
    } else if has_tokens {
        CostUnit::Tokens
    } else {
        CostUnit::Calls
    };
    let conversations = recorded.len().max(1) as f64;
    let [user, agent, judge] = layers.map(|line| {
        let cost = match unit {
            CostUnit::Usd => line.cost.dollars(),
            CostUnit::Tokens => (line.tokens.input + line.tokens.output) as f64,
            CostUnit::Calls => line.calls as f64,
        };
        cost / conversations
    });
    NoiseCosts { unit, user, agent, judge }
}
