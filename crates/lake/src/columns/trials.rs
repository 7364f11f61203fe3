//! The attempts that count: one row for each trial that ended.

use record::{Trial, Verdict};

use super::table::time;
use crate::{
    Case, Facts, Played,
    value::{Unsigned, Value, name},
};

struct It<'a> {
    facts: &'a Facts,
    case: &'a Case,
    played: &'a Played<'a>,
    trial: &'a Trial,
}

super::table::columns! { row(it: It<'_>);
    "run" Text "The run's id." it.facts.id.as_str();
    "trial" Int "The trial's place in the plan, from 0." it.trial.number;
    "trial_id" Text "The trial's id." &it.trial.trial_id;
    "case_number" Int "The case's place in the plan, from 0." it.trial.case;
    "case_id" Text "The case's id, the same in every run of the same files." &it.trial.case_id;
    "scenario" Text "The scenario's name; with its file where another scenario has the same name." it.case.scenario.as_str();
    "source" Text "The scenario's file." it.case.source.as_str();
    "format" Text "The scenario's format." it.case.format.as_str();
    "variant" Text "The question of a knowledge base, or the row of a data set." it.case.variant.as_deref();
    "combination" Text "The combination of axis values, if there are several." it.case.combination.as_deref();
    "persona" Text "The simulated user." it.case.persona.as_deref();
    "agent" Text "The agent under test, as the settings name it." it.case.agent.as_str();
    "axes" Map "Values of axes by path; values that are no text are JSON." it.case.axes.as_slice();
    "quarantined" Bool "No gate depends on the case." it.case.quarantined;
    "repeat" Int "The repeat of the case, from 0." it.trial.repeat;
    "seed" Unsigned "The trial's seed." Unsigned(it.trial.seed);
    "epoch" Int "The number of the attempt that counts." it.trial.epoch;
    "attempts" Int "Attempts at the trial, with the one that counts." it.played.others.len() as u64 + 1;
    "verdict" Text "PASS, FAIL, INCONCLUSIVE, ERROR, SKIPPED or CANCELLED, of the attempt that counts." it.trial.verdict.name();
    "success" Bool "How the success rate counts it; null: it does not." success(it.trial);
    "doubtful" Bool "It counts as failed, and our side broke an earlier attempt." it.trial.is_doubtful();
    "past_failures" Int "Earlier attempts that failed and were played again on request." it.trial.past.failed;
    "past_breaks" Int "Earlier attempts that our side broke." it.trial.past.broken;
    "failure_kind" Text "Why it did not pass: `check_failed`, `agent_timeout`, …" it.trial.failure.as_ref().map(|it| name(&it.kind));
    "failure_blame" Text "Whose fault that is: `agent`, `user_sim`, `judge`, …" it.trial.failure.as_ref().map(|it| name(&it.blame));
    "failure_message" Text "The same for people." it.trial.failure.as_ref().map(|it| it.message.as_str());
    "failure_step" Int "The step in which it happened, from 1." it.trial.failure.as_ref().and_then(|it| it.step);
    "failure_turn" Int "The turn in which it happened, from 1." it.trial.failure.as_ref().and_then(|it| it.turn);
    "termination_reason" Text "The condition that ended the last conversation." it.trial.termination_reason.as_deref();
    "started_at" Time "When it began, by the worker's clock." time(it.trial.began_at_ms);
    "duration_ms" Int "How long it took, in milliseconds." it.trial.duration_ms;
    "due_micros" Int "Of a load: when it began, from the start of the load." it.trial.start.map(|it| it.at_micros);
    "late_micros" Int "Of a load: how much later than its arrival was due." it.trial.start.map(|it| it.late_micros);
    "turns" Int "Its turns." it.trial.turns;
    "unanswered" Int "Turns in which the agent gave no answer." it.trial.unanswered;
    "conversations" Int "Conversations held." it.trial.conversations;
    "calls" Int "Calls of all roles." sum(it.trial, |line| line.calls);
    "input_tokens" Int "Tokens that all models read." sum(it.trial, |line| line.tokens.input);
    "output_tokens" Int "Tokens that all models wrote." sum(it.trial, |line| line.tokens.output);
    "cost_nanos" Int "What its calls cost, in billionths of a dollar; a lower bound if there are unpriced calls." it.trial.spend.cost().0;
    "unpriced_calls" Int "Calls without a price." it.trial.spend.unpriced_calls();
    "unreadable" Text "Why its words cannot be read." it.played.unreadable;
}

pub(crate) fn trial(facts: &Facts, case: &Case, played: &Played<'_>) -> Vec<Value> {
    row(&It { facts, case, played, trial: played.trial })
}

/// As [`record::tally::Counts`] counts it.
fn success(trial: &Trial) -> Option<bool> {
    if trial.is_replayed_failure() || trial.is_held_against_agent() {
        return Some(false);
    }
    (trial.verdict == Verdict::Pass).then_some(true)
}

fn sum(trial: &Trial, of: impl Fn(&record::call::SpendLine) -> u64) -> u64 {
    trial.spend.lines.values().map(of).fold(0, u64::saturating_add)
}
