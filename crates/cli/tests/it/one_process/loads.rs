//! Loads on a paused clock: arrivals on time, dropped and lost ones, slots and their end.

use std::time::Duration;

use proto::v1::RunState;
use record::{
    FailureKind, Trial, Verdict,
    decision::Decided,
    summary::{DriftName, RunVerdict},
};
use scenario::{
    Load, Plan,
    load::{LoadGroup, Pace, Profile, Share, Spacing, USUAL_DROP_AFTER_MICROS},
    plan::VERSION,
};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{
    house::{self, Asked, House},
    limits,
    limits::{BEFORE_MIDNIGHT, MIDNIGHT},
};

const SECOND: u64 = 1_000_000;

fn load(pace: Pace) -> Plan {
    let mix = vec![Share { group: 0, weight: 1, cases: None }];
    let groups = vec![LoadGroup { name: "all".to_owned(), pace, mix }];
    let load = Some(Load { groups, warm_up_micros: 0, drop_after_micros: USUAL_DROP_AFTER_MICROS, search: None });
    let says_hello = json!([{ "type": "string_contains", "value": "hello" }]);
    let plan = house::plan(&json!([{ "name": "greets", "input": "Hi!", "evaluations": says_hello }]), 1);
    Plan { version: VERSION, load, ..plan }
}

fn even(rate: f64, seconds: u64) -> Pace {
    Pace::Arrivals { spacing: Spacing::Even, rate: Profile::constant(rate, seconds * SECOND) }
}

fn dropped(trials: &[Trial]) -> usize {
    let is_dropped =
        |trial: &&Trial| trial.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Dropped);
    trials.iter().filter(is_dropped).inspect(|trial| assert_eq!(trial.verdict, Verdict::Skipped)).count()
}

#[tokio::test(start_paused = true)]
async fn two_thousand_arrivals_of_two_workers_start_on_time() {
    let mut house = House::open().await;
    let asked = Asked::default();
    let workers = [300, 250].map(|slots| house.hire_counted(&Default::default(), slots, &asked));
    let run = house.submit(&load(even(200.0, 10))).await;
    let last = house.followed(&run).await;
    assert_eq!((last.state(), last.pass, last.lost_attempts), (RunState::Finished, 2_000, 0));
    let times = asked.times();
    let first = times[0];
    for (number, time) in (0_u32..).zip(&times) {
        let due = first + number * Duration::from_millis(5);
        let off = due.max(*time) - due.min(*time);
        assert!(off <= Duration::from_millis(2), "arrival {number} is off by {off:?}");
    }
    let trials = house.trials(&run).await;
    let late = trials.iter().map(|trial| trial.start.expect("it started").late_micros).max();
    assert!(late <= Some(2_000), "{late:?}");
    assert_eq!(dropped(&trials), 0);
    let summary = house.summary(&run).await;
    let load = summary.load.expect("it has a load");
    assert_eq!((load.scheduled, load.sent, load.dropped, load.lost, load.invalid), (2_000, 2_000, 0, 0, None));
    assert_eq!(load.slices.iter().map(|slice| (slice.offered, slice.started)).collect::<Vec<_>>(), [(200, 200); 10]);
    assert_eq!((summary.verdict, summary.summary.trials.planned), (RunVerdict::Pass, 2_000));
    for worker in workers {
        worker.drained().await;
    }
    house.close().await;
}

/// The test of omission: who waits for the agent before the next start sees one slow reply.
#[tokio::test(start_paused = true)]
async fn a_stalled_agent_makes_nobody_wait_to_start() {
    let mut house = House::open().await;
    let asked = Asked::frozen_for(Duration::from_secs(2));
    let workers = [(); 2].map(|()| house.hire_counted(&Default::default(), 500, &asked));
    let run = house.submit(&load(even(200.0, 10))).await;
    assert_eq!(house.followed(&run).await.state(), RunState::Finished);
    let load = house.summary(&run).await.load.expect("it has a load");
    assert_eq!((load.scheduled, load.sent, load.dropped, load.invalid), (2_000, 2_000, 0, None));
    let trials = house.trials(&run).await;
    let response = |trial: &Trial| trial.latencies[0].response_micros.expect("it was answered");
    let mut responses: Vec<u64> = trials.iter().map(response).collect();
    responses.sort_unstable();
    // A fifth waits for 0 to 2 s, evenly: the slowest 1 % for more than 1.90 s.
    let p99 = responses[1_979] as f64 / 1e6;
    assert!((p99 / 1.90 - 1.0).abs() < 0.03, "{p99} s");
    for worker in workers {
        worker.drained().await;
    }
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn arrivals_without_a_slot_are_dropped_and_counted() {
    let mut house = House::open().await;
    // A conversation takes a second, so 10 slots play half of 20 arrivals a second.
    let worker = house.hire_counted(&Default::default(), 10, &Asked::default());
    let run = house.submit(&load(even(20.0, 10))).await;
    let last = house.followed(&run).await;
    assert_eq!(last.state(), RunState::Finished);
    let trials = house.trials(&run).await;
    let (sent, dropped) = (trials.iter().filter(|trial| trial.start.is_some()).count(), dropped(&trials));
    assert_eq!(sent + dropped, 200, "all that were scheduled");
    assert!((100..=120).contains(&sent), "10 a second, and those that wait at the end: {sent}");
    let late = trials.iter().filter_map(|trial| Some(trial.start?.late_micros)).max();
    assert!(late <= Some(1_002_000), "none starts more than a second late: {late:?}");
    // The user waits from the time of the arrival on, so a stall shows also in the replies that had to wait for a slot.
    for trial in trials.iter().filter(|trial| trial.start.is_some()) {
        let (first, late) = (trial.latencies[0], trial.start.unwrap().late_micros);
        let waited = first.response_micros.unwrap();
        assert!(waited.abs_diff(1_000_000 + late) <= 1_000, "late by {late}: {first:?}");
        let later = trial.latencies[1..].iter().filter(|turn| turn.response_micros > Some(1_001_000));
        assert_eq!(later.count(), 0, "{trial:?}");
    }
    assert_eq!(trials.iter().filter(|trial| trial.verdict == Verdict::Pass).count(), sent);
    let summary = house.summary(&run).await;
    let load = summary.load.expect("it has a load");
    assert_eq!((load.scheduled, load.sent, load.dropped), (200, sent as u64, dropped as u64));
    let totals = summary.summary.trials;
    assert_eq!(
        (totals.planned, totals.pass, totals.skipped),
        (sent as u64, sent as u64, 0),
        "dropped ones say nothing"
    );
    let reason = load.invalid.expect("half of the starts waited for a slot");
    let gate = summary.gates.iter().find(|gate| gate.name == "load_is_valid").expect("a gate");
    assert_eq!(
        (summary.verdict, gate.verdict, &gate.reason),
        (RunVerdict::Inconclusive, RunVerdict::Inconclusive, &reason)
    );
    worker.drained().await;
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn arrivals_of_a_killed_worker_are_played_by_another() {
    let mut house = House::open().await;
    let workers = [(); 2].map(|()| house.hire_counted(&Default::default(), 100, &Asked::default()));
    let run = house.submit(&load(even(20.0, 20))).await;
    sleep(Duration::from_secs(8)).await;
    let [killed, other] = workers;
    killed.killed();
    let last = house.followed(&run).await;
    assert_eq!(last.state(), RunState::Finished);
    let trials = house.trials(&run).await;
    let rescheduled = trials.iter().filter(|trial| trial.epoch > 1).count();
    assert_eq!((trials.len(), dropped(&trials)), (400, 0));
    // It held arrivals of up to 4 s, and played those of a second.
    assert!((10..=80).contains(&rescheduled), "{rescheduled}");
    assert!(trials.iter().all(|trial| trial.verdict == Verdict::Pass));
    let summary = house.summary(&run).await;
    let load = summary.load.expect("it has a load");
    assert_eq!((load.scheduled, load.sent, load.dropped, load.lost), (400, 400, 0, 0));
    assert_eq!(load.rescheduled, rescheduled as u64);
    assert_eq!(
        summary.summary.latency.times.turn.count,
        400 - rescheduled as u64,
        "no latency of what was rescheduled"
    );
    let late = trials.iter().filter(|trial| trial.epoch == 1).filter_map(|trial| Some(trial.start?.late_micros)).max();
    assert!(late <= Some(2_000), "all others are on time: {late:?}");
    other.drained().await;
    house.close().await;
}

/// The mock slows down by 1 % of 200 ms a minute, and the coordinator is killed half way.
#[tokio::test(start_paused = true)]
async fn a_soak_finds_a_slow_down_and_survives_a_restart_of_the_coordinator() {
    let mut house = House::open().await;
    let mock: llm::endpoint::Settings = serde_json::from_value(json!({
        "kind": "mock",
        "mock": {
            "rules": [{ "when": ".", "reply": "hello" }],
            "latency": { "kind": "lognormal", "ms": 200, "sigma": 0.2 },
            "slow_down_per_minute": 0.01,
        },
    }))
    .unwrap();
    let workers = [(); 2].map(|()| house.hire(&mock, 20));
    let run = house.submit(&load(even(2.0, 1_800))).await;
    sleep(Duration::from_secs(900)).await;
    house.restart().await;
    assert_eq!(house.followed(&run).await.state(), RunState::Finished);
    let summary = house.summary(&run).await;
    let load = summary.load.expect("it has a load");
    assert_eq!((load.scheduled, load.sent + load.dropped, load.lost), (3_600, 3_600, 0));
    assert!(load.dropped <= 4 && load.rescheduled <= 40, "{load:?}");
    let drift = load.drift.expect("it was watched");
    let of = |name| drift.figures.iter().find(|figure| figure.name == name).expect("it has slices");
    let response = of(DriftName::ResponseP50Ms);
    assert!(response.drifts && (response.slope_per_hour - 120.0).abs() < 20.0, "{response:?}");
    assert!(response.low_per_hour < 120.0 && 120.0 < response.high_per_hour, "{response:?}");
    let pass_rate = of(DriftName::PassRate);
    assert!(!pass_rate.drifts && pass_rate.median == 1.0, "{pass_rate:?}");
    if cfg!(target_os = "linux") {
        // This process is both, and its memory is that of all tests: only that it was measured over the whole load.
        let memory = &load.runner.expect("it was measured").memory;
        let measured = memory.slices.iter().filter(|slice| slice.worker_bytes > 1 << 20).count();
        assert!(measured >= 28 && memory.slices[0].coordinator_bytes == 0, "{memory:?}");
    }
    for worker in workers {
        worker.drained().await;
    }
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn poisson_arrivals_of_two_workers_are_those_of_one() {
    let pace = Pace::Arrivals { spacing: Spacing::Poisson, rate: Profile::constant(50.0, 10 * SECOND) };
    let mut starts = Vec::new();
    for workers in [1, 2] {
        let mut house = House::open().await;
        let workers: Vec<_> =
            (0..workers).map(|_| house.hire_counted(&Default::default(), 200, &Asked::default())).collect();
        let run = house.submit(&load(pace.clone())).await;
        assert_eq!(house.followed(&run).await.state(), RunState::Finished);
        let trials = house.trials(&run).await;
        let due = |trial: &Trial| {
            let start = trial.start.expect("it started");
            (trial.number, trial.seed, start.at_micros - start.late_micros)
        };
        starts.push(trials.iter().map(due).collect::<Vec<_>>());
        for worker in workers {
            worker.drained().await;
        }
        house.close().await;
    }
    assert!(starts[0].len() > 400 && starts[0] == starts[1]);
}

#[tokio::test(start_paused = true)]
async fn slots_play_until_the_time_of_their_lane_is_over() {
    let mut house = House::open().await;
    let asked = Asked::default();
    let workers = [(); 2].map(|()| house.hire_counted(&Default::default(), 50, &asked));
    let (slots, ends_micros) = (Profile::constant(4.0, 20 * SECOND), Some(20 * SECOND));
    let began = Instant::now();
    let run = house.submit(&load(Pace::Slots { slots, trials: None, ends_micros })).await;
    let last = house.followed(&run).await;
    let took = began.elapsed().as_secs_f64();
    assert_eq!(last.state(), RunState::Finished, "and not interrupted");
    assert!((20.0..24.0).contains(&took), "{took} s");
    assert_eq!(asked.most_at_once(), 4);
    let played = house.trials(&run).await.len() as u64;
    assert!((60..=84).contains(&played), "{played} conversations of a second");
    assert_eq!((last.pass, last.planned), (played, played), "the number is known at the end");
    for worker in workers {
        worker.drained().await;
    }
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_load_that_is_stopped_goes_on_where_it_was() {
    let mut house = House::open().await;
    let worker = house.hire_counted(&Default::default(), 100, &Asked::default());
    let run = house.submit(&load(even(10.0, 20))).await;
    sleep(Duration::from_secs(8)).await;
    // Ten starts are due in the second in which running conversations end.
    house.cancel(&run, true).await;
    assert_eq!(house.followed(&run).await.state(), RunState::Interrupted);
    let load = house.summary(&run).await.load.expect("it has a load");
    assert_eq!((load.dropped, load.lost), (0, 0), "nothing is due after the stop");
    sleep(Duration::from_secs(60)).await;
    house.resume(&run).await;
    sleep(Duration::from_secs(4)).await;
    // This time nobody waits for the end of what is running.
    house.cancel(&run, true).await;
    sleep(Duration::from_millis(700)).await;
    house.resume(&run).await;
    assert_eq!(house.followed(&run).await.state(), RunState::Finished);
    let summary = house.summary(&run).await;
    let load = summary.load.expect("it has a load");
    assert_eq!((load.scheduled, load.sent, load.dropped, load.invalid), (200, 200, 0, None));
    assert!(load.late.as_ref().is_some_and(|late| late.max_ms < 300.0), "{:?}", load.late);
    assert_eq!(summary.verdict, RunVerdict::Pass);
    let decided: Vec<&Decided> = summary.run.decisions.iter().map(|decision| &decision.what).collect();
    let [stopped, resumed] = [&Decided::Interrupted, &Decided::Resumed];
    assert_eq!(decided, [stopped, resumed, stopped, resumed]);
    let wall = summary.wall.expect("the run has ended");
    let stood_still = wall.stood_still_ms.expect("it stood still twice");
    assert!((61_000..63_500).contains(&stood_still), "{stood_still} ms");
    assert_eq!(wall.measured_ms, Some(wall.duration_ms - stood_still), "the rates leave that out");
    let rate = wall.conversations_per_minute.expect("some were played");
    assert!((520.0..=600.0).contains(&rate), "{rate} a minute, at 10 starts a second");
    worker.drained().await;
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_plays_an_interrupted_load_on_from_where_it_stood_still() {
    let mut house = House::open().await;
    let worker = house.hire_counted(&Default::default(), 100, &Asked::default());
    let run = house.submit(&load(even(10.0, 20))).await;
    sleep(Duration::from_secs(8)).await;
    house.cancel(&run, true).await;
    sleep(Duration::from_millis(500)).await;
    house.restart().await;
    assert_eq!(house.followed(&run).await.state(), RunState::Finished);
    let summary = house.summary(&run).await;
    let load = summary.load.expect("it has a load");
    assert_eq!((load.scheduled, load.sent, load.dropped), (200, 200, 0));
    let decided: Vec<&Decided> = summary.run.decisions.iter().map(|decision| &decision.what).collect();
    assert_eq!(decided, [&Decided::Interrupted, &Decided::Restarted]);
    worker.drained().await;
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_load_whose_quota_is_used_up_goes_on_the_next_day() {
    let limited = limits(json!({ "requests_per_day": 150 }));
    let mut house = House::open_at(BEFORE_MIDNIGHT).await;
    let worker = house.hire_counted(&limited, 100, &Asked::default());
    let run = house.submit(&load(even(10.0, 20))).await;
    let last = house.followed(&run).await;
    assert_eq!(last.state(), RunState::Interrupted);
    let summary = house.summary(&run).await;
    assert!(summary.run.exhausted);
    let reason = summary.run.stopped.expect("gabfest stopped it");
    assert!(reason.contains("quota"), "{reason}");
    sleep(MIDNIGHT).await;
    house.resume(&run).await;
    assert_eq!(house.followed(&run).await.state(), RunState::Finished);
    let summary = house.summary(&run).await;
    let load = summary.load.expect("it has a load");
    assert_eq!((load.scheduled, load.sent, load.dropped), (200, 200, 0));
    assert_eq!(summary.verdict, RunVerdict::Pass);
    worker.drained().await;
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_load_of_more_slots_than_its_workers_have_is_invalid() {
    let mut house = House::open().await;
    let worker = house.hire_counted(&Default::default(), 3, &Asked::default());
    let slots = |slots| Pace::Slots {
        slots: Profile::constant(slots, 20 * SECOND),
        trials: None,
        ends_micros: Some(20 * SECOND),
    };
    for (asked, why) in
        [(3.0, None), (4.0, Some("the pace asked for 4 conversations at once, and the workers had 3 slots"))]
    {
        let run = house.submit(&load(slots(asked))).await;
        assert_eq!(house.followed(&run).await.state(), RunState::Finished);
        let summary = house.summary(&run).await;
        let invalid = summary.load.expect("it has a load").invalid;
        match why {
            None => assert_eq!((invalid, summary.verdict), (None, RunVerdict::Pass)),
            Some(why) => {
                assert!(invalid.as_deref().is_some_and(|invalid| invalid.starts_with(why)), "{invalid:?}");
                assert_eq!(summary.verdict, RunVerdict::Inconclusive);
            }
        }
    }
    worker.drained().await;
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn the_warm_up_is_played_and_counted_apart() {
    let mut house = House::open().await;
    let worker = house.hire_counted(&Default::default(), 100, &Asked::default());
    let mut plan = load(even(10.0, 10));
    if let Some(load) = &mut plan.load {
        load.warm_up_micros = 3 * SECOND;
    }
    let run = house.submit(&plan).await;
    let last = house.followed(&run).await;
    assert_eq!((last.state(), last.planned, last.pass, last.skipped), (RunState::Finished, 100, 70, 30));
    let summary = house.summary(&run).await;
    let load = summary.load.expect("it has a load");
    assert_eq!((load.scheduled, load.sent, load.warm_up), (100, 100, 30));
    assert_eq!((summary.summary.trials.planned, summary.summary.trials.pass, summary.summary.turns), (70, 70, 70));
    assert_eq!((load.late.map(|late| late.count), summary.summary.latency.times.turn.count), (Some(70), 70));
    // 70 turns in the 7 s after the warm-up, and what the last conversation and the beginning take.
    let wall = summary.wall.expect("it has ended");
    assert_eq!(wall.measured_ms, Some(wall.duration_ms - 3_000));
    let turns = wall.turns_per_second.expect("time has passed");
    assert!((7.5..10.0).contains(&turns), "{turns}");
    worker.drained().await;
    house.close().await;
}
