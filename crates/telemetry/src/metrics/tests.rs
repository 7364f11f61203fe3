//! Records in, Prometheus' text out. The files beside this one have the tests by subject.

mod bounds;
mod coordinator;
mod worker;

use std::collections::BTreeMap;

use opentelemetry_sdk::metrics::SdkMeterProvider;
use record::{
    Blame, Call, Failure, FailureKind, Finding, Judgment, Role, Scope, Summary, Tokens, Trial, Turn, Usd, Verdict,
    call::ErrorKind, trial::Start, turn::Origin,
};
use scenario::{CaseId, TrialId};
use serde_json::json;

use super::{Meters, Page, Queue, Worker, catalogue};
use crate::{asked::Endpoint, names::Conventions};

fn meters(conventions: Conventions) -> (Meters, Page) {
    let page = Page::default();
    let builder = page.reads(SdkMeterProvider::builder()).unwrap();
    (Meters::new(builder, conventions, || [3, 0]), page)
}

/// A worker with the endpoint of [`call`].
fn lab(meters: &Meters) -> Worker {
    let lab = Endpoint { provider: "openai".to_owned(), ..Endpoint::default() };
    meters.worker().with_endpoints(BTreeMap::from([("lab".to_owned(), lab)]))
}

/// The lines of the page that begin with one of these, without comments.
fn lines(page: &Page, names: &[&str]) -> String {
    let text = page.text().unwrap();
    let shown = text.lines().filter(|line| names.iter().any(|name| line.starts_with(name)));
    shown.map(|line| format!("{line}\n")).collect()
}

fn call(role: Role, model: &str, total_micros: u64) -> Call {
    Call {
        role,
        endpoint: "lab".to_owned(),
        model: model.to_owned(),
        started_micros: 0,
        wait_micros: 20_000,
        connect_micros: None,
        ttft_micros: Some(total_micros / 2),
        inter_token_micros: None,
        total_micros,
        retried_micros: 0,
        tokens: Tokens { input: 100, output: 7, ..Tokens::default() },
        texts: None,
        estimated: false,
        cost: Some(Usd(2_000_000)),
        plain_priced: false,
        limits: record::named_limits::NamedLimits::default(),
        reported_cost: None,
        finish: None,
        tries: 1,
        throttled_tries: 0,
        lost_tries: 0,
        error: None,
        error_kind: None,
        of_trial: false,
    }
}

fn failed(role: Role, kind: Option<ErrorKind>) -> Call {
    let lost = call(role, "m", 1_000_000);
    Call { tokens: Tokens::default(), cost: None, error: Some("broke".to_owned()), error_kind: kind, ..lost }
}

fn turn(speaker: Origin, agent: Option<&str>, calls: Vec<Call>) -> Turn {
    Turn {
        number: 1,
        step: 1,
        speaker,
        user: "hello".to_owned(),
        agent: agent.map(ToOwned::to_owned),
        messages: Vec::new(),
        exit_code: None,
        tool_calls: Vec::new(),
        actions: Vec::new(),
        started_micros: 0,
        duration_micros: 90_000,
        response_micros: None,
        calls,
        notes: Vec::new(),
        simulated: None,
    }
}

fn trial(verdict: Verdict, blame: Option<Blame>) -> Trial {
    let planned =
        scenario::Trial { number: 0, id: TrialId::new("t"), case: 0, case_id: CaseId::new("c"), repeat: 0, seed: 0 };
    let failure = Failure { blame: blame.unwrap_or(Blame::Agent), ..Failure::new(FailureKind::CheckFailed, "no") };
    let mut trial = Trial::unplayed(&planned, 1, verdict, failure);
    trial.failure = blame.and(trial.failure);
    trial.duration_ms = 4_000;
    trial.conversations = 2;
    trial.spend.add_call(&call(Role::Agent, "m", 1));
    trial
}

fn found(name: &str, finding: Finding) -> Judgment {
    Judgment {
        check: "custom".to_owned(),
        name: Some(name.to_owned()),
        description: None,
        scope: Scope::Step { step: 1 },
        finding,
        score: None,
        reason: String::new(),
        evidence: None,
        failure: None,
        line: 1,
        required: true,
        weight: 1.0,
        ballots: Vec::new(),
        jury: None,
        custom: None,
    }
}

fn summary(scenarios: &[(&str, u64, u64)]) -> Summary {
    let rate = |pass: u64, n: u64| json!({ "estimate": if n == 0 { None } else { Some(pass as f64 / n as f64) }, "low": 0.25, "high": 0.75, "method": "wilson 95%", "n": n });
    let bounds = json!({ "low": 0.0, "high": 1.0, "missing": 0 });
    let (pass, fail) = scenarios.iter().fold((0, 0), |sum, (_, pass, fail)| (sum.0 + pass, sum.1 + fail));
    let cases: Vec<_> = scenarios
        .iter()
        .enumerate()
        .map(|(number, (name, pass, fail))| {
            json!({
                "id": "c", "number": number, "scenario": name, "format": "gabfest", "source": "f", "combination": null,
                "persona": null, "agent": "mock", "parameters": {}, "trials": pass + fail, "pass": pass, "fail": fail,
                "inconclusive": 0, "error": 0, "agent_errors": 0, "skipped": 0, "cancelled": 0, "success_rate": rate(*pass, pass + fail),
                "success_bounds": bounds, "judged_pass_rate": rate(*pass, pass + fail),
                "flaky": *pass > 0 && *fail > 0, "pass_hat_k": [], "verdict": if *fail > 0 { "FAIL" } else { "PASS" }
            })
        })
        .collect();
    let quantiles = json!({ "count": 0, "p50_ms": 0.0, "p90_ms": 0.0, "p95_ms": 0.0, "p99_ms": 0.0, "p999_ms": 0.0, "max_ms": 0.0, "mean_ms": 0.0 });
    let summary = json!({
        "schema_version": 2,
        "run": {
            "id": "r", "name": "nightly", "started_at": "", "ended_at": null, "seed": 0, "plan_digest": "d",
            "gabfest_version": "0", "state": "finished"
        },
        "verdict": if fail > 0 { "FAIL" } else { "PASS" },
        "gates": [],
        "summary": {
            "trials": {
                "planned": pass + fail, "pass": pass, "fail": fail, "inconclusive": 0, "error": 0, "agent_errors": 0,
                "skipped": 0, "cancelled": 0, "not_started": 0
            },
            "completed_rate": 1.0, "conversations": 0, "turns": 0, "success_rate": rate(pass, pass + fail),
            "success_bounds": bounds, "judged_pass_rate": rate(pass, pass + fail), "weighted_success_rate": null, "flaky_cases": 0,
            "latency": { "turn": quantiles, "ttft": quantiles, "unanswered_turns": 0 },
            "tokens": {}, "cost": { "total_usd": 1.5, "complete": true, "unpriced_calls": 0 }, "llm_calls": {},
            "models": [], "attempts": { "total": 0, "lost": 0 }, "unsettled_usd": 0.0, "failures": []
        },
        "cases": cases
    });
    serde_json::from_value(summary).unwrap()
}

#[test]
fn a_handle_that_is_off_shows_nothing_and_fails_nothing() {
    let worker = super::Worker::default();
    let place = worker.place("s", "a", None);
    place.turn(&turn(Origin::Scripted, Some("hi"), vec![call(Role::Agent, "m", 1)]));
    place.ended(&trial(Verdict::Pass, None));
    worker.connected(true);
    assert!(!worker.is_connected());
    let coordinator = super::Coordinator::default();
    coordinator.counted("s", "a", &trial(Verdict::Pass, None));
    coordinator.lost(1);
    assert!(!coordinator.is_on());
}

/// The page has exactly the metrics of the catalogue.
#[test]
fn the_catalogue_is_the_page() {
    use std::collections::BTreeSet;
    let all = |conventions: Conventions| {
        let (meters, page) = meters(conventions);
        let (worker, coordinator) = (meters.worker(), meters.coordinator());
        let place = worker.place("s", "a", Some("p"));
        let answered = turn(Origin::Scripted, Some("hi"), vec![call(Role::Agent, "m", 1_000)]);
        place.turn(&Turn { response_micros: Some(1), ..answered });
        let held_up = Call { retried_micros: 1, throttled_tries: 1, estimated: true, ..call(Role::Judge, "m", 1_000) };
        place.call(&held_up);
        let (judgments, start) = (vec![found("tone", Finding::Pass)], Some(Start { at_micros: 1, late_micros: 1 }));
        place.ended(&Trial { judgments, start, epoch: 1, ..trial(Verdict::Pass, None) });
        worker.limit("judge", Some(20), true);
        coordinator.suite("s", ["a"]);
        let load = Some(super::Load::default());
        let money = Some(super::Money::default());
        coordinator.queue(
            "s",
            Queue { started_at: 0, running: true, paused: false, planned: 1, leased: 0, done: 1, load, money },
        );
        coordinator.committed(std::time::Duration::ZERO);
        coordinator.ended(&summary(&[("a", 1, 0)]), 0, 1);
        let text = page.text().unwrap();
        let typed = |line: &str| Some(line.strip_prefix("# TYPE ")?.split(' ').next()?.to_owned());
        text.lines().filter_map(typed).filter(|name| name != "target_info").collect::<BTreeSet<_>>()
    };
    let listed: BTreeSet<String> =
        [catalogue::WORKER, catalogue::COORDINATOR, catalogue::EVERY_PROCESS, catalogue::LATEST]
            .concat()
            .iter()
            .map(catalogue::Metric::prometheus_name)
            .collect();
    let shown = all(Conventions::Usual).union(&all(Conventions::Latest)).cloned().collect::<BTreeSet<_>>();
    assert_eq!(shown, listed);
}
