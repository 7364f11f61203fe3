//! Runs that stop when they are decided: the same decision for any number of workers, and how often it is wrong.

use record::{
    Trial, Verdict,
    summary::{RunVerdict, Sequential},
};
use scenario::{
    Plan,
    plan::{Decide, Group, VERSION},
};
use serde_json::json;
use statistics::sequential::{
    rule::{Found, Rule, Seen},
    suite::{Outcome, Required, Suite},
};

use super::{
    house::{self, House},
    mock,
};

const SLOTS: u32 = 40;

fn decide(bad: f64, good: f64, floor: Option<f64>, most_repeats: u32) -> Decide {
    Decide { bad, good, floor, false_pass: 0.05, false_fail: 0.05, most_repeats }
}

/// So many scenarios with one message. The agent's reply is good if it greets.
fn plan(scenarios: usize, decide: Decide, seed: u64) -> Plan {
    let greets = json!([{ "type": "string_contains", "value": "hello" }]);
    let plan = house::plan(&json!([{ "name": "greets", "input": "Hi!", "evaluations": greets }]), decide.most_repeats);
    let named = |number: usize| {
        let group = plan.groups[0].clone();
        Group { key: format!("night/{number}"), name: format!("greets {number}"), ..group }
    };
    Plan { version: VERSION, decide: Some(decide), seed, groups: (0..scenarios).map(named).collect(), ..plan.clone() }
}

/// An agent whose failures take three times as long as its successes.
fn agent(rate: f64) -> llm::endpoint::Settings {
    mock(json!({
        "pass": [{ "probability": rate }],
        "latency": { "kind": "lognormal", "ms": 1_000, "sigma": 0.5 },
        "failure_delay": 2.0,
    }))
}

#[tokio::test(start_paused = true)]
async fn one_worker_and_five_give_the_same_decision() {
    let plan = plan(4, decide(0.75, 0.9, Some(0.4), 60), 11);
    for (rate, right) in [(0.97, RunVerdict::Pass), (0.6, RunVerdict::Fail)] {
        let mut decisions: Vec<Sequential> = Vec::new();
        for slots in [vec![8], vec![1; 5], vec![30, 2]] {
            let mut house = House::open().await;
            let workers: Vec<_> = slots.iter().map(|slots| house.hire(&agent(rate), *slots)).collect();
            let run = house.submit(&plan).await;
            let end = house.followed(&run).await;
            let summary = house.summary(&run).await;
            assert_eq!((summary.verdict, summary.gates.len()), (right, 1), "{:?}", summary.gates);
            let sequential = summary.sequential.expect("it decides");
            assert!(sequential.consumed <= end.planned && end.planned < 240, "{sequential:?} {end:?}");
            assert_eq!(house.trials(&run).await.len() as u64, end.planned, "nothing else was played");
            decisions.push(sequential);
            for worker in workers {
                worker.drained().await;
            }
            house.close().await;
        }
        assert!(decisions.iter().all(|other| *other == decisions[0]), "{decisions:?}");
    }
}

/// `cargo xtask calibrate` sets the number of experiments and reads the last line.
#[tokio::test(start_paused = true)]
async fn slow_failures_do_not_make_a_bad_agent_pass() {
    let experiments = std::env::var("GABFEST_EXPERIMENTS").map_or(6, |number| number.parse().unwrap());
    let (rate, most) = (0.8, 200);
    let (mut launched, mut completed, mut played) = (0, 0, 0);
    let mut house = House::open().await;
    let worker = house.hire(&agent(rate), SLOTS);
    for seed in 0..experiments {
        let early = plan(1, decide(rate, rate, None, most), seed);
        let run = house.submit(&early).await;
        house.followed(&run).await;
        let summary = house.summary(&run).await;
        let sequential = summary.sequential.expect("it decides");
        played += summary.summary.trials.planned;
        launched += u64::from(summary.verdict == RunVerdict::Pass);

        // The same trials, all of them.
        let whole = house.submit(&Plan { decide: None, version: 1, ..early.clone() }).await;
        house.followed(&whole).await;
        let trials = house.trials(&whole).await;
        let mut suite = Suite::new(Required::of_plan(&early).unwrap());
        for trial in &trials {
            suite.add(0, trial.repeat, Outcome::of(trial));
        }
        assert_eq!(statistics::sequential::reason::summary(&suite), sequential, "seed {seed}");
        completed += u64::from(in_order_of_completion(rate, &trials) == Some(Found::Pass));
    }
    worker.drained().await;
    house.close().await;
    // At a chance of 5 %, more than this happens in fewer than one of a thousand sheets.
    let most_false = (0.05 * experiments as f64 + 3.1 * (0.05 * 0.95 * experiments as f64).sqrt()).ceil() as u64;
    assert!(launched <= most_false, "{launched} of {experiments}");
    println!("calibrated: {experiments} {launched} {completed} {played}");
}

/// The slots take the trials in the plan's order.
fn in_order_of_completion(rate: f64, trials: &[Trial]) -> Option<Found> {
    let mut free = vec![0; SLOTS as usize];
    let mut ended: Vec<(u64, bool)> = Vec::new();
    for trial in trials {
        let slot = free.iter_mut().min().expect("there are slots");
        *slot += trial.duration_ms;
        ended.push((*slot, trial.verdict == Verdict::Pass));
    }
    ended.sort_unstable();
    let rule = Rule::new(rate, rate, 0.05, 0.05).unwrap();
    let mut seen = Seen::default();
    ended.into_iter().find_map(|(_, passed)| {
        seen.trials += 1;
        seen.passes += u64::from(passed);
        seen.failures += u64::from(!passed);
        rule.judge(seen)
    })
}
