//! A search for the highest load on a paused clock, against a mock that works on few calls at once.

use std::time::Duration;

use proto::v1::RunState;
use record::{
    decision::Decided,
    summary::{Load, RunVerdict, Summary},
};
use scenario::{
    Objective, Plan,
    load::{LoadGroup, Pace, Profile, Search, Share, Spacing, StepVerdict, USUAL_DROP_AFTER_MICROS},
    plan::{Gates, VERSION},
};
use serde_json::json;
use tokio::time::sleep;

use super::house::{self, House};

const SECOND: u64 = 1_000_000;
const SEARCH: Search = Search {
    from: 10.0,
    to: 200.0,
    factor: 2.0,
    precision: 0.1,
    max_steps: 12,
    every_micros: 10 * SECOND,
    conversations: 1,
    settle_micros: 2 * SECOND,
};

fn plan(search: Search, seconds: u64, objective: &str) -> Plan {
    let mix = vec![Share { group: 0, weight: 1, cases: None }];
    let pace = Pace::Arrivals { spacing: Spacing::Even, rate: Profile::constant(search.from, seconds * SECOND) };
    let groups = vec![LoadGroup { name: "all".to_owned(), pace, mix }];
    let drop_after_micros = USUAL_DROP_AFTER_MICROS;
    let load = Some(scenario::Load { groups, warm_up_micros: 0, drop_after_micros, search: Some(search) });
    let says_hello = json!([{ "type": "string_contains", "value": "hello" }]);
    let plan = house::plan(&json!([{ "name": "greets", "input": "Hi!", "evaluations": says_hello }]), 1);
    let gates = Gates { objectives: vec![Objective::read(objective).unwrap()], ..plan.gates.clone() };
    Plan { version: VERSION, load, gates, ..plan }
}

/// It answers 40 calls a second, each after half a second.
fn agent() -> llm::endpoint::Settings {
    let mock = json!({ "rules": [{ "when": ".", "reply": "hello" }], "latency": { "ms": 500 }, "at_once": 20 });
    serde_json::from_value(json!({ "kind": "mock", "mock": mock })).unwrap()
}

async fn searched(house: &mut House, run: &str) -> (Summary, Load) {
    assert_eq!(house.followed(run).await.state(), RunState::Finished);
    let summary = house.summary(run).await;
    let load = summary.load.clone().expect("it has a load");
    (summary, load)
}

#[tokio::test(start_paused = true)]
async fn it_finds_what_the_agent_bears_also_if_the_coordinator_is_killed() {
    let mut found = Vec::new();
    for restarts in [false, true] {
        let mut house = House::open().await;
        let worker = house.hire(&agent(), 2_000);
        let run = house.submit(&plan(SEARCH, 600, "p95(response) < 1s")).await;
        if restarts {
            // In the middle of a step, and between two.
            for seconds in [26, 14] {
                sleep(Duration::from_secs(seconds)).await;
                house.restart().await;
            }
        }
        let (summary, load) = searched(&mut house, &run).await;
        let search = load.search.clone().expect("it searched");
        let steps: Vec<(f64, StepVerdict)> =
            search.steps.iter().map(|step| (step.rate, step.verdict.expect("it was judged"))).collect();
        use StepVerdict::{Broke, Held};
        let expected = [
            (10.0, Held),
            (20.0, Held),
            (40.0, Held),
            (80.0, Broke),
            (60.0, Broke),
            (50.0, Broke),
            (45.0, Broke),
            (42.5, Broke),
        ];
        assert_eq!(steps, expected, "{:?}", search.steps);
        assert_eq!((search.held, search.broke), (Some(40.0), Some(42.5)));
        assert!(search.result.starts_with("held at 40/s, broke at 42.5/s: p95(response) 1."), "{}", search.result);
        assert_eq!(search.ended.as_deref(), Some("the rate is known to 10 %"));

        let ends: Vec<(Option<f64>, u64)> =
            load.steps.iter().map(|step| (step.rate, step.ends + step.dropped)).collect();
        let rates: Vec<(Option<f64>, u64)> =
            expected.iter().map(|(rate, _)| (Some(*rate), (*rate * 10.0) as u64)).collect();
        if !restarts {
            assert_eq!(ends, rates, "each step has the starts of its ten seconds, and no others");
        }
        assert_eq!(load.scheduled, load.sent + load.dropped + load.lost);
        assert_eq!((load.invalid.clone(), load.lost), (None, 0));
        let gate = summary.gates.iter().find(|gate| gate.name == "search").expect("a gate");
        assert_eq!((summary.verdict, gate.verdict, &gate.reason), (RunVerdict::Pass, RunVerdict::Pass, &search.result));
        let objectives = summary.gates.iter().filter(|gate| gate.name.contains("p95")).count();
        assert_eq!(objectives, 0, "the whole run goes beyond what the agent bears");
        let decided = |wanted: fn(&Decided) -> bool| {
            summary.run.decisions.iter().filter(|decision| wanted(&decision.what)).count()
        };
        assert_eq!(decided(|what| matches!(what, Decided::SearchStep { .. })), 7, "the first is in the plan");
        assert_eq!(decided(|what| matches!(what, Decided::SearchFound { .. })), 8);
        assert_eq!(decided(|what| matches!(what, Decided::SearchEnded { .. })), 1);
        found.push(search.held);
        worker.drained().await;
        house.close().await;
    }
    assert_eq!(found[0], found[1]);
}

#[tokio::test(start_paused = true)]
async fn a_search_that_cannot_decide_claims_nothing() {
    let rows = [
        // 100 turns do not show that 99 % are within a second.
        ("p99(response) < 1s", SEARCH, 2_000, RunVerdict::Inconclusive, "undecided at 10/s: 100 of 100 turns had"),
        // The first rate breaks what is asked for.
        (
            "p95(response) < 100ms",
            SEARCH,
            2_000,
            RunVerdict::Fail,
            "broke at 10/s: 0 of 100 turns had a response time within 100ms",
        ),
        // gabfest itself has too few slots: 10 at once, for half a second each.
        ("p95(response) < 5s", Search { from: 30.0, ..SEARCH }, 10, RunVerdict::Inconclusive, "undecided at 30/s: "),
    ];
    for (objective, search, slots, verdict, result) in rows {
        let mut house = House::open().await;
        let worker = house.hire(&agent(), slots);
        let run = house.submit(&plan(search, 600, objective)).await;
        let (summary, load) = searched(&mut house, &run).await;
        let found = load.search.expect("it searched");
        assert_eq!((found.held, found.steps.len()), (None, 1));
        assert!(found.result.starts_with(result), "{objective}: {}", found.result);
        assert_eq!(found.ended.as_deref(), Some("the first rate did not hold"));
        assert_eq!(summary.verdict, verdict, "{objective}: {:?}", summary.gates);
        worker.drained().await;
        house.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_search_ends_with_its_time_and_at_its_highest_rate() {
    let rows = [
        (Search { to: 20.0, ..SEARCH }, 600, Some(20.0), "the highest rate that it may try held"),
        (SEARCH, 40, Some(20.0), "the duration of the pace leaves no time for another step"),
    ];
    for (search, seconds, held, why) in rows {
        let mut house = House::open().await;
        let worker = house.hire(&agent(), 2_000);
        let run = house.submit(&plan(search, seconds, "p95(response) < 1s")).await;
        let (summary, load) = searched(&mut house, &run).await;
        let found = load.search.expect("it searched");
        assert_eq!((found.held, found.broke, found.ended.as_deref()), (held, None, Some(why)));
        assert_eq!(found.result, "held at 20/s");
        assert_eq!(summary.verdict, RunVerdict::Pass);
        worker.drained().await;
        house.close().await;
    }
}
