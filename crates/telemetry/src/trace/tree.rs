//! A finished attempt as a tree of spans: run > trial > turn > call or tool.

mod call;
mod played;
mod shared_attributes;
mod tool;
mod turn;

use opentelemetry::{
    KeyValue,
    trace::{SpanKind, Status},
};
use record::{Judgment, Role, Scope, Turn, Verdict};
use scenario::Strategy;

pub use self::played::Played;
use self::shared_attributes::SharedAttributes;
use super::{
    content, evaluation,
    exported::Exported,
    ids,
    span::{Span, context, integer},
    texts::Texts,
};
use crate::names;

/// The limit of axes in attributes; a matrix rarely has more.
const MOST_PARAMETERS: usize = 16;
/// The limit of turns with spans, so that a very long trial does not displace all others.
const MOST_TURNS: usize = 1_000;
/// The limit of tool calls of each side of a turn with spans, for the same reason.
const MOST_TOOLS: usize = 100;

/// The time of a judgment. Records do not contain it, so it is the end of what it judges.
pub(super) fn judged_at(played: &Played<'_>, judgment: &Judgment) -> u64 {
    let turn = match judgment.scope {
        Scope::Turn { turn, .. } => played.turns.iter().find(|one| one.number == turn),
        Scope::Conversation { .. } | Scope::Step { .. } => None,
    };
    turn.map_or_else(|| played.times().to, |turn| played.times_of_turn(turn).to)
}

/// The number of spans of an attempt.
pub(super) fn size(played: &Played<'_>) -> usize {
    let of_turn = |turn: &Turn| {
        1 + turn.user_calls().len().min(MOST_TOOLS) + turn.calls.len() + turn.tool_calls.len().min(MOST_TOOLS)
    };
    let turns = played.turns.iter().take(MOST_TURNS).map(of_turn);
    2 + played.calls.len().min(MOST_TURNS) + turns.sum::<usize>()
}

/// An iterator over the spans of an attempt, parents first.
pub(super) fn spans<'a>(
    exported: &'a Exported,
    trace: u128,
    played: &'a Played<'a>,
) -> impl Iterator<Item = Span> + use<'a> {
    let common = SharedAttributes::new(&exported.texts, played);
    let first = [root(exported, trace, played, &common), self::trial(&exported.texts, trace, played, &common)];
    let shared = common.clone();
    let turns = played.turns.iter().take(MOST_TURNS).flat_map(move |turn| {
        let (of_calls, of_tools) = (shared.clone(), shared.clone());
        let calls = turn.calls.iter().enumerate();
        let tools = [(Role::UserSim, turn.user_calls()), (Role::Agent, &*turn.tool_calls)];
        let tools = tools.into_iter().flat_map(|(role, calls)| {
            calls.iter().enumerate().take(MOST_TOOLS).map(move |(index, tool)| (role, index, tool))
        });
        std::iter::once(turn::span(exported, trace, played, turn, &shared))
            .chain(calls.map(move |call| call::span(exported, trace, played, Some(turn), call, &of_calls)))
            .chain(tools.map(move |tool| tool::span(exported, trace, played, turn, tool, &of_tools)))
    });
    let calls = played.calls.iter().enumerate().take(MOST_TURNS);
    let calls = calls.map(move |call| call::span(exported, trace, played, None, call, &common));
    first.into_iter().chain(turns).chain(calls)
}

/// Represents the run in this trace, with the times of the trace's conversation.
fn root(exported: &Exported, trace: u128, played: &Played<'_>, common: &SharedAttributes) -> Span {
    let texts = &exported.texts;
    // Lists of traces and sessions show the root alone, so it names the scenario and the verdict.
    let mut attributes = vec![
        texts.name(names::SUITE, played.suite),
        texts.name(names::CASE, &played.case.scenario),
        texts.name(names::RUN, played.run.as_str()),
        common.session(),
        KeyValue::new(names::SPAN_KIND, "CHAIN"),
        KeyValue::new(names::VERDICT, played.trial.verdict.name()),
    ];
    if exported.content {
        let input = content::conversation(played.turns, texts);
        attributes.extend(input.map(|input| KeyValue::new(names::INPUT, input)));
        let answer = played.turns.last().and_then(|turn| turn.agent.as_deref());
        attributes.extend(answer.map(|answer| KeyValue::new(names::OUTPUT, texts.long_text(answer))));
    }
    Span {
        trace,
        id: ids::root_span(trace),
        parent: 0,
        kind: SpanKind::Internal,
        name: format!("run {}", texts.known(played.suite)).into(),
        times: played.times(),
        attributes,
        events: Vec::new(),
        links: vec![context(ids::run_trace(played.run), ids::run_span(played.run))],
        status: status(texts, played),
    }
}

fn status(texts: &Texts, played: &Played<'_>) -> Status {
    match (played.trial.verdict, &played.trial.failure) {
        (Verdict::Pass, _) => Status::Ok,
        (Verdict::Skipped, _) => Status::Unset,
        (_, Some(failure)) => Status::error(texts.short_text(&failure.message)),
        (verdict, None) => Status::error(verdict.name()),
    }
}

fn trial(texts: &Texts, trace: u128, played: &Played<'_>, common: &SharedAttributes) -> Span {
    let Played { case, trial, .. } = played;
    let mut attributes = vec![
        texts.name(names::SUITE, played.suite),
        texts.name(names::CASE, &case.scenario),
        texts.name(names::AGENT, &case.agent),
        common.conversation(played, None),
        common.session(),
        texts.name(names::RUN, played.run.as_str()),
        KeyValue::new(names::TRIAL, integer(trial.number)),
        texts.short(names::TRIAL_ID, trial.trial_id.as_str()),
        KeyValue::new(names::EPOCH, i64::from(trial.epoch)),
        KeyValue::new(names::REPEAT, i64::from(trial.repeat)),
        // As text, because a seed has more bits than an OTLP integer.
        KeyValue::new(names::SEED, trial.seed.to_string()),
        KeyValue::new(names::SPAN_KIND, "CHAIN"),
        KeyValue::new(names::VERDICT, trial.verdict.name()),
        KeyValue::new(names::STRATEGY, strategy(trial.strategy)),
        KeyValue::new(names::TURNS, i64::from(trial.turns)),
        KeyValue::new(names::COST, trial.spend.cost().dollars()),
    ];
    match trial.verdict {
        Verdict::Pass => attributes.push(KeyValue::new(names::CASE_STATUS, "pass")),
        Verdict::Fail => attributes.push(KeyValue::new(names::CASE_STATUS, "fail")),
        // The convention has no value for the others.
        Verdict::Inconclusive | Verdict::Error | Verdict::Skipped | Verdict::Cancelled => {}
    }
    if let Some(persona) = &case.persona {
        attributes.push(texts.name(names::PERSONA, persona));
    }
    if let Some(combination) = &case.combination {
        attributes.push(texts.name(names::COMBINATION, combination));
    }
    if let Some(reason) = &trial.termination_reason {
        attributes.push(texts.name(names::TERMINATION, reason));
    }
    for (path, value) in case.parameters.iter().take(MOST_PARAMETERS) {
        let value = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        let key = format!("{}{}", names::PARAMETER, texts.short_text(path));
        attributes.push(KeyValue::new(key, texts.known(&value)));
    }
    let status = status(texts, played);
    if let Some(failure) = &trial.failure {
        attributes.push(KeyValue::new(names::FAILURE, failure.kind.name()));
        attributes.push(KeyValue::new(names::BLAME, failure.blame.name()));
        if matches!(status, Status::Error { .. }) {
            attributes.push(KeyValue::new(names::ERROR_TYPE, failure.kind.name()));
        }
    }
    let times = played.times();
    let of_the_trial = trial.judgments.iter().filter(|one| !matches!(one.scope, Scope::Turn { .. }));
    Span {
        trace,
        id: ids::trial_span(trace),
        parent: ids::root_span(trace),
        kind: SpanKind::Internal,
        name: format!("trial {}", texts.known(&case.scenario)).into(),
        times,
        attributes,
        events: of_the_trial.map(|judgment| evaluation::event(judgment, times.to, texts)).collect(),
        links: Vec::new(),
        status,
    }
}

fn strategy(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::AllPass => "all_pass",
        Strategy::AnyPass => "any_pass",
    }
}

#[cfg(test)]
mod tests;
