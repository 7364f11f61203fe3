//! Whole trials, played by fakes on a paused clock: their messages, their ends and their verdicts.

use std::{sync::Arc, time::Duration};

use ::scenario::{Plan, RunId};
use record::{Blame, FailureKind, Finding, Role, Trial, Turn, Verdict, call::Spend, turn::Origin};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Ticket, play, stage::Stage, steps};
use crate::{
    Resources,
    admission::Admission,
    compiled::CompiledScenarios,
    fakes::{Cast, Does, FakeAgent, FakeModel, NO, YES, plan, scenario, talk},
    outbox::{Attempt, Outbox},
};

mod bookkeeping;
mod breakage;
mod conversations;
mod custom_checks;
#[cfg(feature = "databases")]
mod end_states;
mod ends;
mod escapes;
mod judge_material;
mod messages;
mod pauses;
mod remote_tools;
mod steps_besides;
mod user_faults;
mod user_states;
mod user_tools;

const SECOND: Duration = Duration::from_secs(1);

/// Everything that a worker would send of a trial.
#[derive(Debug)]
struct Played {
    trial: Trial,
    turns: Vec<Turn>,
    /// The cost that its batches report.
    sent: Spend,
    took: Duration,
}

impl Played {
    /// The verdict, the blame and the turn of the end.
    fn end(&self) -> (Verdict, Option<(FailureKind, Blame, Option<u32>)>) {
        let failure = self.trial.failure.as_ref();
        (self.trial.verdict, failure.map(|failure| (failure.kind, failure.blame, failure.turn)))
    }

    fn findings(&self) -> Vec<Finding> {
        self.trial.judgments.iter().map(|judgment| judgment.finding).collect()
    }

    fn notes(&self, kind: &str) -> Vec<&str> {
        let notes = self.turns.iter().flat_map(|turn| &turn.notes);
        notes.filter(|note| note.kind == kind).map(|note| note.text.as_str()).collect()
    }
}

/// The first trial of a scenario.
async fn first(scenario: &Value, cast: &Cast) -> Played {
    play_one(&plan(scenario, 1), 0, 1, cast.resources()).await
}

async fn play_one(plan: &Arc<Plan>, number: u64, epoch: u32, resources: Arc<Resources>) -> Played {
    play_behind(Admission::new(), plan, number, epoch, resources).await
}

fn ticket(plan: &Arc<Plan>, number: u64, epoch: u32) -> Ticket {
    let attempt = Attempt { run: RunId::new("run"), trial: number, epoch };
    Ticket::new(attempt, plan.trial(number).unwrap(), Arc::new(CompiledScenarios::new(Arc::clone(plan))))
}

/// Ten thousand of them wait at once.
#[test]
fn a_waiting_trial_is_small() {
    let script = scenario(json!([{ "input": "hello" }]), json!({}));
    let (admission, outbox) = (Admission::new(), Outbox::new(Admission::new()));
    let trial = play(ticket(&plan(&script, 1), 0, 1), Cast::plain().resources(), outbox, admission);
    let bytes = size_of_val(&trial);
    assert!(bytes <= 2_600, "{bytes} bytes");
}

async fn play_behind(
    admission: Admission,
    plan: &Arc<Plan>,
    number: u64,
    epoch: u32,
    resources: Arc<Resources>,
) -> Played {
    let outbox = Outbox::new(admission.clone());
    let began = Instant::now();
    play(ticket(plan, number, epoch), resources, outbox.clone(), admission).await;
    let took = began.elapsed();
    let (mut turns, mut ended, mut sent) = (Vec::new(), Vec::new(), Spend::default());
    while let Some(batch) = outbox.next() {
        let own = proto::segment::turns_of(batch.segment, number, epoch).unwrap();
        turns.extend(own.into_iter().map(|turn| proto::turn::from_bytes(turn).unwrap()));
        ended.extend(batch.ended.into_iter().map(|trial| proto::trial::from_wire(trial).unwrap()));
        sent.add(&proto::trial::spend_from_wire(batch.spend).unwrap());
    }
    assert_eq!(ended.len(), 1, "a trial ends once");
    let trial = ended.remove(0);
    assert_eq!(trial.turns as usize, turns.len());
    Played { trial, turns, sent, took }
}

fn contains(text: &str) -> Value {
    json!({ "type": "string_contains", "value": text })
}

fn judged(prompt: &str) -> Value {
    json!({ "type": "llm_judge", "prompt": prompt, "expected": "yes" })
}
