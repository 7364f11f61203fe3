//! Stops a run early if the first trials of an agent all fail in the same way: a wrong address or a missing key would fail
//! all others too. If several workers play the run, two of them must have seen it: one may be cut off.

use std::collections::{BTreeMap, BTreeSet};

use record::{Blame, FailureKind, Trial, Verdict};

/// How many of an agent's first trials must all fail in the same way.
const FIRST: u64 = 20;
/// How many cases they must belong to, if the plan has as many: a broken scenario is no evidence about others.
const CASES: usize = 2;
/// How many workers must have played them, if as many play the run.
const WORKERS: usize = 2;

/// By agent; `None` for an agent that has answered, or fails in more than one way.
#[derive(Debug, Default)]
pub(super) struct EarlyStop(BTreeMap<String, Option<Alike>>);

#[derive(Debug)]
struct Alike {
    kind: FailureKind,
    /// The message of the first one.
    message: String,
    trials: u64,
    cases: BTreeSet<u64>,
    /// By session.
    workers: BTreeSet<u64>,
}

/// Who played a trial.
#[derive(Debug, Clone, Copy)]
pub(super) struct Player {
    pub(super) session: u64,
    /// How many workers may get trials of the run.
    pub(super) of: usize,
}

impl EarlyStop {
    /// Whether no agent can stop the run any longer.
    pub(super) fn is_over(&self, agents: usize) -> bool {
        self.0.len() >= agents && self.0.values().all(Option::is_none)
    }

    /// Takes a trial that has ended. Returns why the run should stop, if it should. `cases`: how many the agent has.
    pub(super) fn add(&mut self, agent: &str, cases: u64, by: Player, trial: &Trial) -> Option<String> {
        let failure = trial.failure.as_ref().filter(|failure| {
            // Wrong settings stay wrong, whatever the agent answers later.
            let hopeless = match failure.blame {
                Blame::Agent => trial.latencies.is_empty(),
                Blame::Config => failure.kind == FailureKind::Misconfigured,
                _ => false,
            };
            trial.verdict == Verdict::Error && hopeless
        });
        let Some(failure) = failure else {
            self.0.insert(agent.to_owned(), None);
            return None;
        };
        let alike = self.0.entry(agent.to_owned()).or_insert_with(|| {
            let (kind, message) = (failure.kind, failure.message.clone());
            Some(Alike { kind, message, trials: 0, cases: BTreeSet::new(), workers: BTreeSet::new() })
        });
        if alike.as_ref().is_some_and(|alike| alike.kind != failure.kind) {
            *alike = None;
        }
        let found = alike.as_mut()?;
        found.trials += 1;
        if found.cases.len() < CASES {
            found.cases.insert(trial.case);
        }
        if found.workers.len() < WORKERS {
            found.workers.insert(by.session);
        }
        let enough = u64::try_from(CASES).unwrap_or(u64::MAX).min(cases);
        if found.trials < FIRST || (found.cases.len() as u64) < enough || found.workers.len() < WORKERS.min(by.of) {
            return None;
        }
        let reason = format!(
            "the first {} trials of agent {agent:?} all failed in the same way ({}): {}",
            found.trials,
            found.kind.name(),
            found.message
        );
        // Returned once: running trials may still fail in the same way.
        *alike = None;
        Some(reason)
    }
}

#[cfg(test)]
mod tests {
    use record::Failure;
    use scenario::Plan;

    use super::*;

    const ALONE: Player = Player { session: 1, of: 1 };

    fn trial(plan: &Plan, number: u64, verdict: Verdict, failure: Failure) -> Trial {
        Trial::unplayed(&plan.trial(number).expect("a trial"), 1, verdict, failure)
    }

    fn plan(cases: u32, repeats: u32) -> Plan {
        let choices = scenario::plan::Choices { repeats: Some(repeats), ..Default::default() };
        let mut reading = scenario::Reading::default();
        for case in 0..cases {
            let text = format!(
                "name: c{case}\ndescription: d\nrun: [{{input: hi, evaluations: [{{type: string_contains, value: hi}}]}}]\njudgment: {{strategy: all_pass}}\n"
            );
            let path = format!("c{case}.scenario.yaml");
            let (documents, _) = formats::eliza::FORMAT.open(&text, &path);
            for document in documents {
                let file = formats::scenario_file(formats::eliza::FORMAT, document).0.expect("a scenario");
                reading.scenarios.push(file);
            }
        }
        scenario::plan::build(&reading, &choices).expect("a plan")
    }

    /// After how many trials the run stops, if it does.
    fn stops(plan: &Plan, of: impl Fn(u64) -> (Verdict, Failure)) -> Option<usize> {
        stops_in(plan, 0..plan.planned().expect("no load"), of)
    }

    /// The same for trials that end in this order.
    fn stops_in(
        plan: &Plan,
        order: impl IntoIterator<Item = u64>,
        of: impl Fn(u64) -> (Verdict, Failure),
    ) -> Option<usize> {
        let mut beginnings = EarlyStop::default();
        let ended = order.into_iter().position(|number| {
            let (verdict, failure) = of(number);
            beginnings.add("shop", plan.case_count(), ALONE, &trial(plan, number, verdict, failure)).is_some()
        });
        ended.map(|index| index + 1)
    }

    fn unreachable(_: u64) -> (Verdict, Failure) {
        (Verdict::Error, Failure::new(FailureKind::AgentUnreachable, "nothing listens"))
    }

    #[test]
    fn a_run_stops_only_if_every_first_trial_failed_alike() {
        let one = plan(1, 100);
        assert_eq!(stops(&one, unreachable), Some(20));
        assert_eq!(stops(&plan(1, 19), unreachable), None, "it is over anyway");
        let three = plan(3, 30);
        let case_by_case = (0..3).flat_map(|case| (0..30).map(move |repeat| repeat * 3 + case));
        assert_eq!(stops_in(&three, case_by_case, unreachable), Some(31), "two cases must have been seen");
        assert_eq!(stops(&three, unreachable), Some(20), "repeats come after each other, so all cases were seen");
        let misfit = |_| (Verdict::Error, Failure::new(FailureKind::Misconfigured, "no such parameter"));
        assert_eq!(stops(&one, misfit), Some(20));
        // Partly down: one other outcome is enough to play on.
        let kinds = |number| match number {
            7 => (Verdict::Error, Failure::new(FailureKind::AgentRefused, "no")),
            _ => unreachable(number),
        };
        assert_eq!(stops(&one, kinds), None);
        let judged = |number| match number {
            19 => (Verdict::Fail, Failure::new(FailureKind::CheckFailed, "no")),
            _ => unreachable(number),
        };
        assert_eq!(stops(&one, judged), None);
        let judge = |_| (Verdict::Error, Failure::new(FailureKind::JudgeFailed, "no"));
        assert_eq!(stops(&one, judge), None, "the agent did nothing wrong");
    }

    #[test]
    fn one_of_several_workers_may_be_cut_off() {
        let (plan, mut beginnings) = (plan(1, 100), EarlyStop::default());
        let mut add = |number, session, (verdict, failure): (Verdict, Failure)| {
            let by = Player { session, of: 3 };
            beginnings.add("shop", 1, by, &trial(&plan, number, verdict, failure)).is_some()
        };
        assert!((0..40).all(|number| !add(number, 1, unreachable(number))), "others have not played yet");
        assert!(add(40, 2, unreachable(40)), "the second worker does not reach the agent either");
    }

    #[test]
    fn an_agent_that_has_answered_is_never_hopeless() {
        let plan = plan(1, 100);
        let mut beginnings = EarlyStop::default();
        for number in 0..100 {
            let (verdict, failure) = unreachable(number);
            let mut trial = trial(&plan, number, verdict, failure);
            trial.latencies = vec![record::trial::TurnLatency { total_micros: 1, ..Default::default() }];
            assert_eq!(beginnings.add("shop", 1, ALONE, &trial), None);
        }
    }
}
