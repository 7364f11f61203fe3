//! All attempts: those that count, those that a later one replaced, and those that were lost.

use record::{Trial, call::SpendLine};
use scenario::CaseId;

use super::table::time;
use crate::{
    Attempt, Case, Ending, Facts,
    value::{Value, name},
};

struct It<'a> {
    facts: &'a Facts,
    case: &'a Case,
    number: u64,
    case_id: &'a CaseId,
    epoch: u32,
    ending: &'static str,
    /// How the attempt ended, unless it was lost.
    ended: Option<&'a Trial>,
    lost_at: Option<i64>,
}

super::table::columns! { row(it: It<'_>);
    "run" Text "The run's id." it.facts.id.as_str();
    "trial" Int "The trial's place in the plan, from 0." it.number;
    "case_id" Text "The case's id." it.case_id;
    "scenario" Text "The scenario's name." it.case.scenario.as_str();
    "persona" Text "The simulated user." it.case.persona.as_deref();
    "agent" Text "The agent under test." it.case.agent.as_str();
    "epoch" Int "The number of the attempt." it.epoch;
    "ending" Text "`counts`, `replaced` by a later attempt, `lost` with its worker, `given_up` by its worker, `not_begun`." it.ending;
    "started_at" Time "When it began, by the worker's clock; null of lost attempts." it.ended.and_then(|it| time(it.began_at_ms));
    "lost_at" Time "When it was lost or given up." it.lost_at;
    "duration_ms" Int "How long it took, in milliseconds." it.ended.map(|it| it.duration_ms);
    "verdict" Text "Its verdict; null of lost attempts." it.ended.map(|it| it.verdict.name());
    "failure_kind" Text "Why it did not pass." it.ended.and_then(|it| it.failure.as_ref()).map(|it| name(&it.kind));
    "failure_blame" Text "Whose fault that is." it.ended.and_then(|it| it.failure.as_ref()).map(|it| name(&it.blame));
    "failure_message" Text "The same for people." it.ended.and_then(|it| it.failure.as_ref()).map(|it| it.message.as_str());
    "turns" Int "Its turns." it.ended.map(|it| it.turns);
    "calls" Int "Calls of all roles." it.ended.map(|it| sum(it, |line| line.calls));
    "input_tokens" Int "Tokens that all models read." it.ended.map(|it| sum(it, |line| line.tokens.input));
    "output_tokens" Int "Tokens that all models wrote." it.ended.map(|it| sum(it, |line| line.tokens.output));
    "cost_nanos" Int "What its calls cost, in billionths of a dollar; of lost attempts only the table `spend` knows." it.ended.map(|it| it.spend.cost().0);
}

/// The attempts at a trial, by epoch. `counts`: none of a trial that did not end.
pub(crate) fn attempts(
    facts: &Facts,
    case: &Case,
    (number, case_id): (u64, &CaseId),
    counts: Option<&Trial>,
    others: &[Attempt],
) -> Vec<Vec<Value>> {
    let make = |epoch, ending, ended: Option<&Trial>, lost_at| {
        row(&It { facts, case, number, case_id, epoch, ending, ended, lost_at })
    };
    let other = |attempt: &Attempt| match &attempt.ending {
        Ending::Replaced(ended) => make(attempt.epoch, "replaced", Some(&**ended), None),
        Ending::Lost { begun, given_up, at } => {
            let ending = match (begun, given_up) {
                (_, true) => "given_up",
                (true, false) => "lost",
                (false, false) => "not_begun",
            };
            make(attempt.epoch, ending, None, (*at > 0).then(|| at.saturating_mul(1_000)))
        }
    };
    let mut rows: Vec<(u32, Vec<Value>)> = others.iter().map(|attempt| (attempt.epoch, other(attempt))).collect();
    rows.extend(counts.map(|trial| (trial.epoch, make(trial.epoch, "counts", Some(trial), None))));
    rows.sort_by_key(|(epoch, _)| *epoch);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn sum(trial: &Trial, of: impl Fn(&SpendLine) -> u64) -> u64 {
    trial.spend.lines.values().map(of).fold(0, u64::saturating_add)
}
