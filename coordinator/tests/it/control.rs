//! What is decided about a run while it plays: objectives that stop it, pauses, and slots.

use std::sync::Arc;

use coordinator::Config;
use proto::v1::{self, RunState, coordinator_message::Body as Order, worker_message::Body as Word};
use record::{Verdict, decision::Decided, summary::RunVerdict};
use scenario::{Objective, Plan, plan::Gates};
use store::Memory;

use crate::{
    fake_worker::{FakeWorker, held},
    plans::plan,
    served::{Served, pass},
};

async fn served() -> Served<Memory> {
    Served::new(Arc::new(Memory::new()), Config::default()).await
}

fn with_objective(text: &str) -> Plan {
    let objectives = vec![Objective::read(text).unwrap()];
    let plan = plan(1, 10);
    Plan { version: scenario::plan::VERSION, gates: Gates { objectives, ..plan.gates.clone() }, ..plan }
}

fn stop() -> Option<Order> {
    Some(Order::Stop(v1::Stop { run: "r1".to_owned(), drain: true, ..v1::Stop::default() }))
}

#[tokio::test(start_paused = true)]
async fn a_broken_objective_stops_the_run_and_the_reason_is_stored() {
    let mut served = served().await;
    let plan = with_objective("pass_rate == 100%, abort");
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let lease = worker.claim(4).await.remove(0);
    worker.plays(&plan, &v1::Lease { end: 1, ..lease.clone() }, Verdict::Pass).await;
    pass(3.0).await;
    assert_eq!(served.progress("r1").await.trouble, "");
    worker.plays(&plan, &v1::Lease { first: 1, end: 2, ..lease.clone() }, Verdict::Fail).await;
    pass(2.0).await;
    assert_eq!(worker.hear().await, stop());
    assert!(worker.claim(4).await.is_empty());
    worker.say(Word::Release(v1::Release { trials: vec![held(&lease, 3, 4)], begun: false })).await;
    worker.plays(&plan, &v1::Lease { first: 2, end: 3, ..lease }, Verdict::Pass).await;
    let end = served.watch("r1").await.pop().unwrap();
    let reason = "the objective `pass_rate == 100%, abort` is broken: 1 of 2 conversations (50.00 %), required == 100%";
    assert_eq!((end.state(), end.pass, end.fail, end.trouble.as_str()), (RunState::Interrupted, 2, 1, reason));
    let summary = served.summary("r1").await;
    assert_eq!(summary.run.stopped.as_deref(), Some(reason));
    let gate = summary.gates.last().unwrap();
    assert_eq!((gate.name.as_str(), gate.verdict), ("pass_rate == 100%, abort", RunVerdict::Fail));
    assert!(gate.reason.ends_with("in the end: 2 of 3 conversations (66.67 %), required == 100%"), "{}", gate.reason);
    assert_eq!(summary.verdict, RunVerdict::Fail);
    let store = served.killed();
    let again = coordinator::aggregate::summarize(&*store, &scenario::RunId::new("r1")).await.unwrap();
    assert_eq!(again, summary, "the store alone has it");

    // Somebody resumes it all the same: the objective does not stop it again, and stays broken.
    let mut served = Served::new(store, Config::default()).await;
    served.resume("r1").await;
    let mut worker = FakeWorker::join(&mut served).await;
    let lease = worker.claim(1).await.remove(0);
    worker.plays(&plan, &lease, Verdict::Pass).await;
    pass(3.0).await;
    worker.plays_all(&plan).await;
    let end = served.watch("r1").await.pop().unwrap();
    assert_eq!((end.state(), end.pass, end.fail), (RunState::Finished, 9, 1));
    let summary = served.summary("r1").await;
    assert_eq!((summary.run.stopped, summary.verdict), (None, RunVerdict::Fail));
    let decided: Vec<Decided> = summary.run.decisions.into_iter().map(|decision| decision.what).collect();
    assert!(
        matches!(decided.as_slice(), [Decided::Stopped { objective: Some(_), .. }, Decided::Resumed]),
        "{decided:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_objective_without_abort_is_judged_at_the_end() {
    let mut served = served().await;
    let plan = with_objective("pass_rate >= 95%");
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    for number in 0..10 {
        let lease = worker.claim(1).await.remove(0);
        worker.plays(&plan, &lease, if number < 5 { Verdict::Fail } else { Verdict::Pass }).await;
        pass(1.5).await;
    }
    let summary = served.summary("r1").await;
    assert_eq!((summary.run.stopped, summary.run.decisions.len()), (None, 0));
    let gate = summary.gates.last().unwrap();
    assert_eq!(
        (gate.verdict, gate.reason.as_str()),
        (RunVerdict::Fail, "5 of 10 conversations (50.00 %), required >= 95%")
    );
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_was_stored_is_carried_out_after_a_restart() {
    let mut served = served().await;
    let plan = with_objective("pass_rate == 100%, abort");
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let lease = worker.claim(2).await.remove(0);
    worker.plays(&plan, &v1::Lease { end: 1, ..lease.clone() }, Verdict::Fail).await;
    pass(2.0).await;
    assert_eq!(worker.hear().await, stop());
    let mut served = Served::new(served.killed(), Config::default()).await;
    let mut worker = worker.again(&mut served).await;
    assert!(matches!(worker.hear().await, Some(Order::Welcome(_))));
    assert_eq!(worker.hear().await, stop(), "the worker may have lost the first one");
    worker.sequence = 1;
    worker.plays(&plan, &v1::Lease { first: 1, ..lease }, Verdict::Pass).await;
    let end = served.watch("r1").await.pop().unwrap();
    assert_eq!(end.state(), RunState::Interrupted);
    assert!(end.trouble.starts_with("the objective"), "{}", end.trouble);
}

#[tokio::test(start_paused = true)]
async fn a_paused_run_starts_nothing_until_it_is_resumed() {
    let mut served = served().await;
    let plan = plan(1, 4);
    served.submit("r1", &plan).await;
    let mut worker = FakeWorker::join(&mut served).await;
    let lease = worker.claim(2).await.remove(0);
    let request = v1::PauseRequest { run: "r1".to_owned() };
    for _ in 0..2 {
        served.people.pause(request.clone()).await.unwrap();
    }
    assert!(worker.claim(4).await.is_empty());
    worker.plays(&plan, &lease, Verdict::Pass).await;
    let now = served.progress("r1").await;
    assert_eq!((now.state(), now.pass), (RunState::Running, 2), "what a worker holds, it plays");
    assert_eq!(now.waiting_for, "the run is paused, and `gabfest resume r1` lets it continue");

    let mut served = Served::new(served.killed(), Config::default()).await;
    let mut worker = FakeWorker::join(&mut served).await;
    assert!(worker.claim(4).await.is_empty(), "a restart lets nothing start");
    assert_eq!(served.resume("r1").await.done, 2);
    worker.plays_all(&plan).await;
    let summary = served.summary("r1").await;
    assert_eq!((summary.verdict, summary.summary.trials.pass), (RunVerdict::Pass, 4));
    let decided: Vec<Decided> = summary.run.decisions.into_iter().map(|decision| decision.what).collect();
    assert_eq!(decided, [Decided::Paused, Decided::Resumed]);
    let refused = served.people.pause(request).await.unwrap_err();
    assert_eq!(refused.message(), "run r1 is finished, so it cannot be paused");
}

#[tokio::test(start_paused = true)]
async fn slots_are_those_of_closed_paces_and_rates_those_of_open_ones() {
    use scenario::load::{LoadGroup, Pace, Profile, Share, Spacing};
    let mut served = served().await;
    let plain = plan(1, 4);
    let group = |name: &str, pace| LoadGroup {
        name: name.to_owned(),
        pace,
        mix: vec![Share { group: 0, weight: 1, cases: None }],
    };
    let minute = 60_000_000;
    let slots = Pace::Slots { slots: Profile::constant(2.0, minute), trials: Some(50), ends_micros: None };
    let rate = Pace::Arrivals { spacing: Spacing::Even, rate: Profile::constant(1.0, minute) };
    let groups = vec![group("team", slots), group("public", rate)];
    let load = Some(scenario::Load { groups, warm_up_micros: 0, drop_after_micros: 1_000_000, search: None });
    served.submit("plain", &plain).await;
    served.submit("load", &Plan { version: scenario::plan::VERSION, load, ..plan(1, 1) }).await;
    for (run, group, slots, expected) in [
        ("plain", "", 4, "run plain plays no load, so it has no slots of its own"),
        ("load", "crew", 4, "run load has no group \"crew\"; it has team, public"),
        ("load", "public", 4, "run load plays at a rate, not in slots (public)"),
        ("load", "team", 0, "0 slots are not possible; 1 to 100000 are"),
        ("none", "", 4, "run none is unknown"),
    ] {
        let request = v1::SetSlotsRequest { run: run.to_owned(), group: group.to_owned(), slots };
        let refused = served.people.set_slots(request).await.unwrap_err();
        assert_eq!(refused.message(), expected);
    }
    let request = v1::SetSlotsRequest { run: "load".to_owned(), group: String::new(), slots: 7 };
    served.people.set_slots(request).await.unwrap();
    let decisions = served.summary("load").await.run.decisions;
    assert_eq!(decisions[0].what, Decided::Slots { group: None, slots: 7, from_micros: 0 });
    let set = |run: &str, group: &str, rate| v1::SetRateRequest { run: run.to_owned(), group: group.to_owned(), rate };
    for (run, group, rate, expected) in [
        ("plain", "", 5.0, "run plain plays no load, so it has no rate of its own"),
        ("load", "crew", 5.0, "run load has no group \"crew\"; it has team, public"),
        ("load", "team", 5.0, "the rate of run load cannot be set: team: it plays in slots, not at a rate"),
        (
            "load",
            "",
            0.0,
            "the rate of run load cannot be set: public: a rate of 0/s is not possible; more than 0/s and at most 1000000/s is; `--group` sets the rate of one group",
        ),
        ("load", "public", 1e6, "until its end run load would have 60000050 trials; at most 10000000 are played"),
        ("none", "", 5.0, "run none is unknown"),
    ] {
        assert_eq!(served.people.set_rate(set(run, group, rate)).await.unwrap_err().message(), expected);
    }
    assert_eq!(served.progress("load").await.planned, 50 + 60);
    let reply = served.people.set_rate(set("load", "", 5.0)).await.unwrap().into_inner();
    assert_eq!(reply.after_millis, 0, "nothing was leased");
    let decisions = served.summary("load").await.run.decisions;
    assert_eq!(decisions[1].what, Decided::Rate { group: None, rate: 5.0, from_micros: 0 });
    assert_eq!(served.progress("load").await.planned, 50 + 300);
    served.cancel("plain", false).await;
    let mut served = Served::new(served.killed(), Config::default()).await;
    let mut worker = FakeWorker::join(&mut served).await;
    worker.say(Word::Claim(v1::Claim { number: 1, want: 20, idle: 20, ahead: 500 })).await;
    let Some(Order::Grant(grant)) = worker.hear().await else { panic!("a grant was due") };
    let count = |open: bool| {
        let leases = grant.leases.iter().filter(|lease| open == (lease.first >> 40 == 1));
        leases.map(|lease| lease.end - lease.first).sum::<u64>()
    };
    // 3.75 s are in view, since arrivals begin a moment after the first claim.
    assert_eq!((count(false), count(true)), (7, 19), "also after a restart");
    for lease in &grant.leases {
        let expected: &[v1::RateChange] =
            if lease.first >> 40 == 1 { &[v1::RateChange { from_micros: 0, rate: 5.0 }] } else { &[] };
        assert_eq!(lease.rates, expected, "a worker needs it to know when they are due");
    }
    assert_eq!(served.progress("load").await.planned, 50 + 300);
}
