//! What checks found in the attempts that count.

use record::{Judgment, Scope, Trial};

use crate::{
    Case, Facts,
    value::{Value, json, name},
};

struct It<'a> {
    facts: &'a Facts,
    case: &'a Case,
    trial: &'a Trial,
    place: u64,
    judgment: &'a Judgment,
}

super::table::columns! { row(it: It<'_>);
    "run" Text "The run's id." it.facts.id.as_str();
    "trial" Int "The trial's place in the plan, from 0." it.trial.number;
    "case_id" Text "The case's id." &it.trial.case_id;
    "scenario" Text "The scenario's name." it.case.scenario.as_str();
    "persona" Text "The simulated user." it.case.persona.as_deref();
    "agent" Text "The agent under test." it.case.agent.as_str();
    "place" Int "Its place among the judgments of the trial, from 0." it.place;
    "check" Text "The check's kind: `string_contains`, `llm_judge`, …" it.judgment.check.as_str();
    "name" Text "The metric that it counts for." it.judgment.name.as_deref();
    "description" Text "The description in the scenario." it.judgment.description.as_deref();
    "step" Int "The step that was judged, from 1." it.judgment.scope.step();
    "turn" Int "The turn that was judged, from 1; null: not a single turn." turn(it.judgment.scope);
    "finding" Text "`pass`, `fail`, `inconclusive`, `error` or `not_applicable`." name(&it.judgment.finding);
    "score" Double "0 to 1, where the check measures." it.judgment.score;
    "required" Bool "Whether it counts for the verdict." it.judgment.required;
    "weight" Double "Its weight in the trial's score." it.judgment.weight;
    "reason" Text "Why." it.judgment.reason.as_str();
    "evidence" Text "The matched text, the judge's reply, …" it.judgment.evidence.as_deref();
    "failure" Text "What went wrong where the finding is inconclusive or an error." it.judgment.failure.as_ref().map(name);
    "line" Int "The check's line in the scenario's file; 0 where there is none." it.judgment.line;
    "ballots" Json "The answers of judges: criterion, model, digest, verdict, confidence, reason." json(&it.judgment.ballots);
}

pub(crate) fn judgment(facts: &Facts, case: &Case, trial: &Trial, place: usize, judgment: &Judgment) -> Vec<Value> {
    row(&It { facts, case, trial, place: place as u64, judgment })
}

fn turn(scope: Scope) -> Option<u32> {
    match scope {
        Scope::Turn { turn, .. } => Some(turn),
        Scope::Conversation { .. } | Scope::Step { .. } => None,
    }
}
