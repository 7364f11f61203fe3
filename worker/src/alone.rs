//! Plays a plan without a coordinator or a store, with the same executor and the same outbox.
//!
//! For unit tests of agents (`gabfest::expect`). Each trial has one attempt; all results are held in memory.

use std::{collections::BTreeMap, sync::Arc};

use proto::v1;
use record::{Trial, Turn};
use scenario::{Plan, RunId};

use crate::{Resources, admission::Admission, executor::Executor, outbox::Outbox};

/// The fencing token of the only attempt.
const EPOCH: u32 = 1;

/// A played trial with its turns.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    pub trial: Trial,
    pub turns: Vec<Turn>,
}

/// Plays all trials of a plan, `slots` at a time, and returns them in the plan's order.
pub async fn play(plan: Plan, run: &RunId, resources: Resources, slots: u32) -> Vec<Played> {
    let admission = Admission::new();
    let outbox = Outbox::new(admission.clone());
    let mut executor = Executor::new(slots.max(1), Arc::new(resources), outbox.clone(), admission);
    let (digest, end) = (plan.digest(), plan.planned().expect("a unit test has no load"));
    executor.keep(digest.clone(), plan);
    let plan_digest = digest.as_str().to_owned();
    let lease =
        v1::Lease { run: run.as_str().to_owned(), plan_digest, first: 0, end, epoch: EPOCH, ..v1::Lease::default() };
    executor.accept(&lease, None).expect("the plan was just kept, and it has as many trials as it says");
    executor.start_ready();
    let mut kept = Kept::default();
    while !executor.is_idle() {
        tokio::select! {
            () = executor.finished() => executor.start_ready(),
            // Also when all slots are busy: a full outbox admits no more calls.
            () = outbox.wait() => kept.take(&outbox),
        }
    }
    kept.take(&outbox);
    kept.in_order()
}

#[derive(Default)]
struct Kept {
    turns: BTreeMap<u64, Vec<Turn>>,
    ended: BTreeMap<u64, Trial>,
}

impl Kept {
    fn take(&mut self, outbox: &Outbox) {
        const OWN: &str = "this process wrote it";
        while let Some(batch) = outbox.next() {
            for (trial, _, turns) in proto::segment::attempts(batch.segment).expect(OWN) {
                let turns = turns.into_iter().map(|turn| proto::turn::from_wire(turn).expect(OWN));
                self.turns.entry(trial).or_default().extend(turns);
            }
            for trial in batch.ended {
                let trial = proto::trial::from_wire(trial).expect(OWN);
                self.ended.insert(trial.number, trial);
            }
            outbox.acknowledged(batch.sequence);
        }
    }

    fn in_order(mut self) -> Vec<Played> {
        let played = |(number, trial)| Played { turns: self.turns.remove(&number).unwrap_or_default(), trial };
        self.ended.into_iter().map(played).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use record::{FailureKind, Verdict};
    use serde_json::json;

    use super::*;
    use crate::fakes::{self, Cast, Does, FakeAgent};

    async fn played(agent: Arc<FakeAgent>, repeats: u32, slots: u32) -> Vec<Played> {
        let steps = json!([
            { "input": "How is it?", "evaluations": [{ "type": "string_contains", "value": "sunny" }] },
            { "input": "And tomorrow?", "evaluations": [{ "type": "string_contains", "value": "rain" }] },
        ]);
        let plan = Arc::unwrap_or_clone(fakes::plan(&fakes::scenario(steps, json!({})), repeats));
        let agent: Arc<dyn agent::Agent> = agent;
        let cast = Cast::plain().resources();
        let resources = fakes::resources(agent, cast.models.clone(), crate::environment::Execution::Off);
        play(plan, &RunId::new("r"), resources, slots).await
    }

    #[tokio::test(start_paused = true)]
    async fn every_trial_comes_back_once_in_the_plan_s_order_with_its_words() {
        let agent =
            FakeAgent::new(|_, _| Does::SaysAfter(Duration::ZERO, Duration::from_secs(1), "sunny, rain".into()));
        let began = tokio::time::Instant::now();
        let all = played(agent, 10, 4).await;
        // Two turns of a second, four at a time.
        assert_eq!(began.elapsed(), Duration::from_secs(6));
        let numbers: Vec<u64> = all.iter().map(|one| one.trial.number).collect();
        assert_eq!(numbers, (0..10).collect::<Vec<_>>());
        for one in all {
            let words: Vec<&str> = one.turns.iter().map(|turn| turn.user.as_str()).collect();
            assert_eq!((one.trial.verdict, words), (Verdict::Pass, vec!["How is it?", "And tomorrow?"]));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn failures_are_records_too() {
        let all = played(FakeAgent::new(|_, _| Does::Panics), 3, 0).await;
        let kinds: Vec<_> = all.iter().map(|one| one.trial.failure.as_ref().map(|failure| failure.kind)).collect();
        assert_eq!(kinds, [Some(FailureKind::Panicked); 3]);
        let all = played(FakeAgent::new(|_, _| Does::Fails(FailureKind::AgentTimeout)), 1, 1).await;
        assert_eq!((all[0].trial.verdict, all[0].turns.len()), (Verdict::Error, 1));
    }
}
