//! Records in, Prometheus' text out.

use std::collections::BTreeMap;

use opentelemetry_sdk::metrics::SdkMeterProvider;
use record::{
    Blame, Call, Failure, FailureKind, Finding, Judgment, Role, Scope, Summary, Tokens, Trial, Turn, Usd, Verdict,
    call::ErrorKind, summary::RunState, turn::Origin,
};
use scenario::{CaseId, TrialId};
use serde_json::json;

use super::{Fleet, Meters, Page, Queue, Worker, catalogue};
use crate::{asked::Endpoint, names::Conventions};

fn meters(conventions: Conventions) -> (Meters, Page) {
    let page = Page::default();
    let builder = page.reads(SdkMeterProvider::builder()).unwrap();
    (Meters::new(builder, conventions, || [3, 0]), page)
}

/// A worker that knows the endpoint of [`call`].
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
        estimated: false,
        cost: Some(Usd(2_000_000)),
        plain_priced: false,
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
    }
}

#[test]
fn checks_with_a_name_are_counted_under_it_and_those_beyond_the_limit_under_other() {
    let (meters, page) = meters(Conventions::Usual);
    let place = lab(&meters).place("nightly", "refund", None);
    let end = |judgments: Vec<Judgment>| place.ended(&Trial { judgments, ..trial(Verdict::Fail, None) });
    let unnamed = Judgment { name: None, ..found("", Finding::Pass) };
    end(vec![found("tone", Finding::Pass), found("tone", Finding::Fail), unnamed]);
    end(vec![found("tone", Finding::Pass)]);
    assert_eq!(
        lines(&page, &["gabfest_checks_total{"]),
        "gabfest_checks_total{check=\"tone\",finding=\"fail\"} 1\n\
         gabfest_checks_total{check=\"tone\",finding=\"pass\"} 2\n"
    );
    end((0..250).map(|number| found(&format!("n{number}"), Finding::Pass)).collect());
    let shown = lines(&page, &["gabfest_checks_total{"]);
    assert_eq!(shown.lines().count(), 2 + 199 + 1);
    assert!(shown.contains("gabfest_checks_total{check=\"other\",finding=\"pass\"} 51\n"), "{shown}");
}

#[test]
fn calls_are_counted_by_role_and_model_and_failures_by_their_kind() {
    let (meters, page) = meters(Conventions::Usual);
    let place = lab(&meters).place("nightly", "refund", Some("calm"));
    let user = call(Role::UserSim, "small", 300_000);
    place.turn(&turn(Origin::Simulated, Some("hi"), vec![call(Role::Agent, "m", 90_000), user]));
    let lost = vec![failed(Role::Agent, Some(ErrorKind::TimedOut)), failed(Role::Judge, None)];
    place.turn(&turn(Origin::Scripted, None, lost));
    let shown = lines(&page, &["gabfest_calls", "gabfest_cost", "gen_ai_client_token_usage_sum"]);
    assert_eq!(
        shown,
        "gabfest_calls_total{model=\"m\",outcome=\"error\",role=\"agent\"} 1\n\
         gabfest_calls_total{model=\"m\",outcome=\"error\",role=\"judge\"} 1\n\
         gabfest_calls_total{model=\"m\",outcome=\"ok\",role=\"agent\"} 1\n\
         gabfest_calls_total{model=\"small\",outcome=\"ok\",role=\"user_sim\"} 1\n\
         gabfest_cost_usd_total{model=\"m\",role=\"agent\"} 0.002\n\
         gabfest_cost_usd_total{model=\"m\",role=\"judge\"} 0\n\
         gabfest_cost_usd_total{model=\"small\",role=\"user_sim\"} 0.002\n\
         gen_ai_client_token_usage_sum{gabfest_role=\"agent\",gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"openai\",gen_ai_request_model=\"m\",gen_ai_response_model=\"m\",gen_ai_token_type=\"input\"} 100\n\
         gen_ai_client_token_usage_sum{gabfest_role=\"agent\",gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"openai\",gen_ai_request_model=\"m\",gen_ai_response_model=\"m\",gen_ai_token_type=\"output\"} 7\n\
         gen_ai_client_token_usage_sum{gabfest_role=\"user_sim\",gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"openai\",gen_ai_request_model=\"small\",gen_ai_response_model=\"small\",gen_ai_token_type=\"input\"} 100\n\
         gen_ai_client_token_usage_sum{gabfest_role=\"user_sim\",gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"openai\",gen_ai_request_model=\"small\",gen_ai_response_model=\"small\",gen_ai_token_type=\"output\"} 7\n"
    );
    let shown = lines(&page, &["gen_ai_client_operation_duration_seconds_sum", "gabfest_limit_wait_seconds_sum"]);
    assert_eq!(
        shown,
        "gabfest_limit_wait_seconds_sum{endpoint=\"lab\"} 0.08\n\
         gen_ai_client_operation_duration_seconds_sum{gabfest_role=\"agent\",gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"openai\",gen_ai_request_model=\"m\",gen_ai_response_model=\"m\"} 0.09\n\
         gen_ai_client_operation_duration_seconds_sum{error_type=\"other\",gabfest_role=\"judge\",gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"openai\",gen_ai_request_model=\"m\"} 1\n\
         gen_ai_client_operation_duration_seconds_sum{error_type=\"timed_out\",gabfest_role=\"agent\",gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"openai\",gen_ai_request_model=\"m\"} 1\n\
         gen_ai_client_operation_duration_seconds_sum{gabfest_role=\"user_sim\",gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"openai\",gen_ai_request_model=\"small\",gen_ai_response_model=\"small\"} 0.3\n"
    );
    let first = lines(&page, &["gen_ai_client_operation_time_to_first_chunk_seconds_count"]);
    assert_eq!(first.lines().count(), 2, "{first}");
    assert_eq!(lines(&page, &["gabfest_call_retried_seconds_count"]), "");
    place.call(&Call { retried_micros: 500_000, tokens: Tokens::default(), ..call(Role::Scorer, "m", 1) });
    let held_up = ["gabfest_call_throttled_tries_total", "gabfest_calls_estimated_total"];
    assert_eq!(lines(&page, &held_up), "", "nothing was throttled and nothing is estimated");
    place.call(&Call { throttled_tries: 3, tries: 4, estimated: true, ..call(Role::Judge, "m", 1) });
    let lines_of = lines(&page, &held_up);
    assert!(lines_of.contains("gabfest_call_throttled_tries_total{model=\"m\",role=\"judge\"} 3"), "{lines_of}");
    assert!(lines_of.contains("gabfest_calls_estimated_total{model=\"m\",role=\"judge\"} 1"), "{lines_of}");
    let retried = lines(&page, &["gabfest_call_retried_seconds_sum"]);
    assert_eq!(retried, "gabfest_call_retried_seconds_sum{endpoint=\"lab\"} 0.5\n");
}

/// An embedding has no output, and a call that broke off told nothing: neither is an answer of no tokens.
#[test]
fn only_tokens_that_were_told_are_counted() {
    for (conventions, input, output) in [
        (
            Conventions::Usual,
            "gen_ai_client_token_usage_count{gabfest_role=\"scorer\",gen_ai_operation_name=\"embeddings\",gen_ai_provider_name=\"_OTHER\",gen_ai_request_model=\"e\",gen_ai_response_model=\"e\",gen_ai_token_type=\"input\"",
            "gen_ai_token_type=\"output\"",
        ),
        (
            Conventions::Latest,
            "gen_ai_client_inference_operation_input_tokens_count{gabfest_role=\"scorer\",gen_ai_operation_name=\"embeddings\",gen_ai_provider_name=\"_OTHER\",gen_ai_request_model=\"e\",gen_ai_response_model=\"e\"",
            "output_tokens",
        ),
    ] {
        let (meters, page) = meters(conventions);
        let place = meters.worker().place("nightly", "refund", None);
        let embedded =
            Call { tokens: Tokens { input: 12, output: 0, ..Tokens::default() }, ..call(Role::Scorer, "e", 1_000) };
        place.turn(&turn(Origin::Scripted, None, vec![embedded, failed(Role::Agent, None)]));
        assert!(lines(&page, &[input]).ends_with("} 1\n"), "{}", page.text().unwrap());
        let counted = lines(&page, &["gen_ai_client_token", "gen_ai_client_inference"]);
        assert!(!counted.contains(output) && !counted.contains("\"agent\""), "{counted}");
    }
}

#[test]
fn turns_and_trials_are_counted_where_they_belong() {
    let (meters, page) = meters(Conventions::Usual);
    let worker = meters.worker();
    let calm = worker.place("nightly", "refund", Some("calm"));
    let none = worker.place("nightly", "refund", None);
    calm.turn(&turn(Origin::Simulated, Some("hi"), vec![call(Role::Agent, "m", 90_000)]));
    calm.turn(&turn(Origin::Program, Some("42"), Vec::new()));
    none.turn(&turn(Origin::Scripted, None, vec![failed(Role::Agent, Some(ErrorKind::Refused))]));
    calm.ended(&trial(Verdict::Pass, None));
    none.ended(&trial(Verdict::Error, Some(Blame::Agent)));
    worker.slots(3, 32);
    worker.unacknowledged(2);
    let names = [
        "gabfest_turns",
        "gabfest_turn_duration_seconds_bucket{persona=\"calm\",scenario=\"refund\",suite=\"nightly\",le=\"0.08\"",
        "gabfest_turn_duration_seconds_bucket{persona=\"calm\",scenario=\"refund\",suite=\"nightly\",le=\"0.16\"",
        "gabfest_turn_duration_seconds_count",
        "gabfest_turn_time_to_first_token_seconds_sum",
        "gabfest_conversation_duration_seconds_sum",
        "gabfest_conversation_cost",
        "gabfest_conversations",
        "gabfest_worker",
        "gabfest_telemetry",
    ];
    assert_eq!(
        lines(&page, &names),
        "gabfest_conversation_cost_usd_total{scenario=\"refund\",suite=\"nightly\",verdict=\"ERROR\"} 0.002\n\
         gabfest_conversation_cost_usd_total{scenario=\"refund\",suite=\"nightly\",verdict=\"FAIL\"} 0\n\
         gabfest_conversation_cost_usd_total{scenario=\"refund\",suite=\"nightly\",verdict=\"PASS\"} 0.002\n\
         gabfest_conversation_duration_seconds_sum{scenario=\"refund\",suite=\"nightly\"} 8\n\
         gabfest_conversations_total{persona=\"\",scenario=\"refund\",suite=\"nightly\",verdict=\"ERROR\"} 2\n\
         gabfest_conversations_total{persona=\"\",scenario=\"refund\",suite=\"nightly\",verdict=\"FAIL\"} 0\n\
         gabfest_conversations_total{persona=\"\",scenario=\"refund\",suite=\"nightly\",verdict=\"PASS\"} 0\n\
         gabfest_conversations_total{persona=\"calm\",scenario=\"refund\",suite=\"nightly\",verdict=\"FAIL\"} 0\n\
         gabfest_conversations_total{persona=\"calm\",scenario=\"refund\",suite=\"nightly\",verdict=\"PASS\"} 2\n\
         gabfest_telemetry_dropped_total{signal=\"logs\"} 0\n\
         gabfest_telemetry_dropped_total{signal=\"spans\"} 3\n\
         gabfest_turn_duration_seconds_bucket{persona=\"calm\",scenario=\"refund\",suite=\"nightly\",le=\"0.08\"} 0\n\
         gabfest_turn_duration_seconds_bucket{persona=\"calm\",scenario=\"refund\",suite=\"nightly\",le=\"0.16\"} 1\n\
         gabfest_turn_duration_seconds_count{persona=\"calm\",scenario=\"refund\",suite=\"nightly\"} 1\n\
         gabfest_turn_time_to_first_token_seconds_sum{persona=\"calm\",scenario=\"refund\",suite=\"nightly\"} 0.045\n\
         gabfest_turns_total{persona=\"\",scenario=\"refund\",suite=\"nightly\"} 1\n\
         gabfest_turns_total{persona=\"calm\",scenario=\"refund\",suite=\"nightly\"} 2\n\
         gabfest_worker_slots{state=\"busy\"} 3\n\
         gabfest_worker_slots{state=\"free\"} 29\n\
         gabfest_worker_unacknowledged 2\n"
    );
}

#[test]
fn the_newest_names_come_in_the_place_of_the_usual_ones() {
    let (meters, page) = meters(Conventions::Latest);
    let place = lab(&meters).place("s", "a", None);
    place.turn(&turn(Origin::Scripted, Some("hi"), vec![call(Role::Agent, "m", 90_000)]));
    assert_eq!(lines(&page, &["gen_ai_client_token_usage"]), "");
    let names = ["gen_ai_client_inference_usage", "gen_ai_client_inference_operation_output_tokens_sum"];
    assert_eq!(
        lines(&page, &names),
        "gen_ai_client_inference_operation_output_tokens_sum{gabfest_role=\"agent\",gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"openai\",gen_ai_request_model=\"m\",gen_ai_response_model=\"m\"} 7\n\
         gen_ai_client_inference_usage_input_tokens_total{gabfest_role=\"agent\",gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"openai\",gen_ai_request_model=\"m\",gen_ai_response_model=\"m\"} 100\n\
         gen_ai_client_inference_usage_output_tokens_total{gabfest_role=\"agent\",gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"openai\",gen_ai_request_model=\"m\",gen_ai_response_model=\"m\"} 7\n"
    );
}

#[test]
fn a_coordinator_shows_its_fleet_its_queue_and_what_it_counted() {
    let (meters, page) = meters(Conventions::Usual);
    let coordinator = meters.coordinator();
    coordinator.suite("nightly", ["refund"]);
    coordinator.fleet(Fleet { workers: 2, busy_slots: 5, free_slots: 3 });
    let queue = Queue { started_at: 7, running: true, planned: 100, lent: 8, done: 12 };
    coordinator.queue("nightly", queue);
    coordinator.queue("nightly", Queue { started_at: 6, running: false, planned: 1, lent: 0, done: 1 });
    coordinator.granted(20);
    coordinator.lost(4);
    coordinator.committed(std::time::Duration::from_millis(3));
    coordinator.counted("nightly", "refund", &trial(Verdict::Pass, None));
    coordinator.counted("nightly", "refund", &trial(Verdict::Error, Some(Blame::Infra)));
    let names = [
        "gabfest_workers",
        "gabfest_slots",
        "gabfest_queue",
        "gabfest_trials",
        "gabfest_leases",
        "gabfest_store_commit_duration_seconds_bucket{le=\"0.0025\"}",
        "gabfest_store_commit_duration_seconds_bucket{le=\"0.005\"}",
        "gabfest_verdicts",
        "gabfest_errors_total{blame=\"infra\"",
        "gabfest_errors_total{blame=\"judge\"",
        "gabfest_runs",
    ];
    assert_eq!(
        lines(&page, &names),
        "gabfest_errors_total{blame=\"infra\",suite=\"nightly\"} 1\n\
         gabfest_errors_total{blame=\"judge\",suite=\"nightly\"} 0\n\
         gabfest_leases_granted_total 20\n\
         gabfest_leases_lost_total 4\n\
         gabfest_queue_depth{suite=\"nightly\"} 80\n\
         gabfest_runs_total{status=\"aborted\",suite=\"nightly\"} 0\n\
         gabfest_runs_total{status=\"failure\",suite=\"nightly\"} 0\n\
         gabfest_runs_total{status=\"success\",suite=\"nightly\"} 0\n\
         gabfest_slots{state=\"busy\"} 5\n\
         gabfest_slots{state=\"free\"} 3\n\
         gabfest_store_commit_duration_seconds_bucket{le=\"0.0025\"} 0\n\
         gabfest_store_commit_duration_seconds_bucket{le=\"0.005\"} 1\n\
         gabfest_trials_done{suite=\"nightly\"} 12\n\
         gabfest_trials_lent{suite=\"nightly\"} 8\n\
         gabfest_trials_planned{suite=\"nightly\"} 100\n\
         gabfest_verdicts_total{scenario=\"refund\",suite=\"nightly\",verdict=\"CANCELLED\"} 0\n\
         gabfest_verdicts_total{scenario=\"refund\",suite=\"nightly\",verdict=\"ERROR\"} 1\n\
         gabfest_verdicts_total{scenario=\"refund\",suite=\"nightly\",verdict=\"FAIL\"} 0\n\
         gabfest_verdicts_total{scenario=\"refund\",suite=\"nightly\",verdict=\"INCONCLUSIVE\"} 0\n\
         gabfest_verdicts_total{scenario=\"refund\",suite=\"nightly\",verdict=\"PASS\"} 1\n\
         gabfest_verdicts_total{scenario=\"refund\",suite=\"nightly\",verdict=\"SKIPPED\"} 0\n\
         gabfest_workers 2\n"
    );
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
fn an_ended_run_shows_the_figures_of_its_report_until_the_next_one_ends() {
    let (meters, page) = meters(Conventions::Usual);
    let coordinator = meters.coordinator();
    coordinator.ended(&summary(&[("refund", 3, 1), ("refund", 4, 0), ("order", 0, 2)]), 1_000, 61_000);
    let names = ["gabfest_success_rate", "gabfest_cases", "gabfest_run_", "gabfest_runs"];
    assert_eq!(
        lines(&page, &names),
        "gabfest_cases_failing{scenario=\"order\",suite=\"nightly\"} 1\n\
         gabfest_cases_failing{scenario=\"refund\",suite=\"nightly\"} 1\n\
         gabfest_cases_flaky{scenario=\"order\",suite=\"nightly\"} 0\n\
         gabfest_cases_flaky{scenario=\"refund\",suite=\"nightly\"} 1\n\
         gabfest_run_cost_usd{suite=\"nightly\"} 1.5\n\
         gabfest_run_duration_seconds{suite=\"nightly\"} 60\n\
         gabfest_run_finished_timestamp_seconds{suite=\"nightly\"} 61\n\
         gabfest_run_trials{suite=\"nightly\",verdict=\"CANCELLED\"} 0\n\
         gabfest_run_trials{suite=\"nightly\",verdict=\"ERROR\"} 0\n\
         gabfest_run_trials{suite=\"nightly\",verdict=\"FAIL\"} 3\n\
         gabfest_run_trials{suite=\"nightly\",verdict=\"INCONCLUSIVE\"} 0\n\
         gabfest_run_trials{suite=\"nightly\",verdict=\"PASS\"} 7\n\
         gabfest_run_trials{suite=\"nightly\",verdict=\"SKIPPED\"} 0\n\
         gabfest_runs_total{status=\"aborted\",suite=\"nightly\"} 0\n\
         gabfest_runs_total{status=\"failure\",suite=\"nightly\"} 1\n\
         gabfest_runs_total{status=\"success\",suite=\"nightly\"} 0\n\
         gabfest_success_rate{suite=\"nightly\"} 0.7\n\
         gabfest_success_rate{scenario=\"order\",suite=\"nightly\"} 0\n\
         gabfest_success_rate{scenario=\"refund\",suite=\"nightly\"} 0.875\n\
         gabfest_success_rate_high{suite=\"nightly\"} 0.75\n\
         gabfest_success_rate_low{suite=\"nightly\"} 0.25\n"
    );
    // A scenario that is not played any more goes away, and a run of before changes nothing.
    coordinator.ended(&summary(&[("order", 2, 0)]), 100_000, 200_000);
    coordinator.restored(&summary(&[("refund", 0, 9)]), 2_000, 62_000);
    let shown = lines(&page, &["gabfest_success_rate{", "gabfest_cases_failing", "gabfest_runs_total"]);
    assert_eq!(
        shown,
        "gabfest_cases_failing{scenario=\"order\",suite=\"nightly\"} 0\n\
         gabfest_runs_total{status=\"aborted\",suite=\"nightly\"} 0\n\
         gabfest_runs_total{status=\"failure\",suite=\"nightly\"} 1\n\
         gabfest_runs_total{status=\"success\",suite=\"nightly\"} 1\n\
         gabfest_success_rate{suite=\"nightly\"} 1\n\
         gabfest_success_rate{scenario=\"order\",suite=\"nightly\"} 1\n"
    );
}

/// A night that somebody stopped after three trials says nothing about the agent.
#[test]
fn a_run_that_was_stopped_is_counted_and_changes_no_figure() {
    let (meters, page) = meters(Conventions::Usual);
    let coordinator = meters.coordinator();
    coordinator.ended(&summary(&[("refund", 9, 1)]), 1_000, 61_000);
    let names = ["gabfest_success_rate", "gabfest_cases", "gabfest_run_"];
    let whole = lines(&page, &names);
    assert!(whole.contains("gabfest_success_rate{suite=\"nightly\"} 0.9\n"), "{whole}");
    for (state, ended_at) in [(RunState::Cancelled, 100_000), (RunState::Interrupted, 200_000)] {
        let mut stopped = summary(&[("refund", 0, 3)]);
        stopped.run.state = state;
        coordinator.ended(&stopped, 90_000, ended_at);
        coordinator.restored(&stopped, 90_000, ended_at);
        assert_eq!(lines(&page, &names), whole, "{state:?}");
    }
    assert_eq!(
        lines(&page, &["gabfest_runs_total"]),
        "gabfest_runs_total{status=\"aborted\",suite=\"nightly\"} 2\n\
         gabfest_runs_total{status=\"failure\",suite=\"nightly\"} 1\n\
         gabfest_runs_total{status=\"success\",suite=\"nightly\"} 0\n"
    );
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

/// However many models an endpoint invents and however a key gets into their names.
#[test]
fn series_are_few_and_hold_no_key() {
    let (meters, page) = meters(Conventions::Usual);
    assert!(redact::register("canary-of-the-metrics-1"));
    let worker = meters.worker();
    let place = worker.place("canary-of-the-metrics-1", "sk-abcdefghijklmnopqrstuv", Some("canary-of-the-metrics-1"));
    for number in 0..1_000 {
        let name = format!("canary-of-the-metrics-1-{number}");
        let asked = Call { endpoint: name.clone(), ..call(Role::Agent, &name, 1_000) };
        place.turn(&turn(Origin::Scripted, Some("hi"), vec![asked]));
    }
    let text = page.text().unwrap();
    assert!(!text.contains("canary") && !text.contains("abcdefgh"), "a key is on the page");
    let calls = lines(&page, &["gabfest_calls_total"]);
    assert_eq!(calls.lines().count(), 201, "two hundred and the others");
    assert!(calls.contains("gabfest_calls_total{model=\"other\",outcome=\"ok\",role=\"agent\"} 800\n"), "{calls}");
    assert_eq!(lines(&page, &["gabfest_limit_wait_seconds_count"]).lines().count(), 201);
}

fn sum(lines: &str) -> f64 {
    lines.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

/// The library's own bound would drop all labels of what lies beyond it, and say nothing.
#[test]
fn beyond_two_thousand_combinations_nothing_is_lost_and_suites_keep_their_name() {
    let (meters, page) = meters(Conventions::Usual);
    let (worker, coordinator) = (meters.worker(), meters.coordinator());
    let (scenarios, personas, suites) = (190_u32, 12_u32, ["nightly", "hourly"]);
    for suite in suites {
        let names: Vec<String> = (0..scenarios).map(|number| format!("scenario {number}")).collect();
        coordinator.suite(suite, names.iter().map(String::as_str));
        for (scenario, persona) in (0..personas).flat_map(|persona| names.iter().map(move |name| (name, persona))) {
            let place = worker.place(suite, scenario, Some(&format!("persona {persona}")));
            place.turn(&turn(Origin::Simulated, Some("hi"), vec![call(Role::Agent, "m", 90_000)]));
            for verdict in Verdict::ALL {
                place.ended(&trial(verdict, None));
                coordinator.counted(suite, scenario, &trial(verdict, None));
            }
        }
        let cases: Vec<_> = names.iter().map(|name| (name.as_str(), 1, 1)).collect();
        let mut ended = summary(&cases);
        ended.run.name = suite.to_owned();
        coordinator.ended(&ended, 0, 1);
    }
    let text = page.text().unwrap();
    assert!(!text.contains("otel_metric_overflow"), "labels are dropped");
    let places = f64::from(2 * scenarios * personas);
    for (counter, most, all) in [
        ("gabfest_turns_total{", 2_000, places),
        ("gabfest_turn_duration_seconds_count{", 2_000, places),
        ("gabfest_turn_time_to_first_token_seconds_count{", 2_000, places),
        ("gabfest_conversations_total{", 12_000, 12.0 * places),
        ("gabfest_trials_played_total{", 12_000, 6.0 * places),
        ("gabfest_conversation_duration_seconds_count{", 2_000, 6.0 * places),
        ("gabfest_verdicts_total{", 12_000, 6.0 * places),
    ] {
        let shown = lines(&page, &[counter]);
        assert!((380..=most).contains(&shown.lines().count()), "{counter} {}", shown.lines().count());
        assert_eq!(sum(&shown), all, "{counter}");
        for suite in suites {
            let of_suite: String =
                shown.split_inclusive('\n').filter(|line| line.contains(&format!("suite=\"{suite}\""))).collect();
            assert_eq!(sum(&of_suite), all / 2.0, "{counter} {suite}");
        }
    }
    let turns = lines(&page, &["gabfest_turns_total{"]);
    assert!(turns.contains("gabfest_turns_total{persona=\"persona 0\",scenario=\"scenario 0\",suite=\"nightly\"} 1\n"));
    // There was no room any more for the personas of the second suite, but for its scenarios.
    assert!(turns.contains("gabfest_turns_total{persona=\"other\",scenario=\"scenario 0\",suite=\"hourly\"} 12\n"));
    // The coordinator has no personas, so it has room for every scenario.
    assert_eq!(lines(&page, &["gabfest_verdicts_total{"]).lines().count(), 2 * 190 * 6);
    assert_eq!(lines(&page, &["gabfest_success_rate{"]).lines().count(), 2 * 190 + 2);
}

/// Months of nights whose scenarios change.
#[test]
fn a_coordinator_forgets_scenarios_that_nobody_plays_any_more() {
    let (meters, page) = meters(Conventions::Usual);
    let coordinator = meters.coordinator();
    for night in 0..60 {
        let names: Vec<String> = (0..40).map(|number| format!("scenario {}", night * 20 + number)).collect();
        coordinator.suite("nightly", names.iter().map(String::as_str));
        for name in &names {
            coordinator.counted("nightly", name, &trial(Verdict::Pass, None));
        }
        let cases: Vec<_> = names.iter().map(|name| (name.as_str(), 1, 0)).collect();
        coordinator.ended(&summary(&cases), night * 1_000, night * 1_000 + 500);
    }
    let shown = lines(&page, &["gabfest_verdicts_total{"]);
    assert_eq!(shown.lines().count(), 200 * 6);
    assert!(!shown.contains("other") && !shown.contains("scenario 0\""), "{shown}");
    for number in 1_180..1_220 {
        let one =
            format!("gabfest_verdicts_total{{scenario=\"scenario {number}\",suite=\"nightly\",verdict=\"PASS\"}}");
        assert!(shown.contains(&one), "{one}");
    }
    assert_eq!(lines(&page, &["gabfest_success_rate{"]).lines().count(), 41, "the latest night and its whole");
    assert!(lines(&page, &["gabfest_runs_total{status=\"success\""]).ends_with(" 60\n"));
}

/// Nothing is on the page that the catalogue does not list, nothing is listed that is not there.
#[test]
fn the_catalogue_is_the_page() {
    use std::collections::BTreeSet;
    let all = |conventions: Conventions| {
        let (meters, page) = meters(conventions);
        let (worker, coordinator) = (meters.worker(), meters.coordinator());
        let place = worker.place("s", "a", Some("p"));
        place.turn(&turn(Origin::Scripted, Some("hi"), vec![call(Role::Agent, "m", 1_000)]));
        let held_up = Call { retried_micros: 1, throttled_tries: 1, estimated: true, ..call(Role::Judge, "m", 1_000) };
        place.call(&held_up);
        place.ended(&Trial { judgments: vec![found("tone", Finding::Pass)], ..trial(Verdict::Pass, None) });
        coordinator.suite("s", ["a"]);
        coordinator.queue("s", Queue { started_at: 0, running: true, planned: 1, lent: 0, done: 1 });
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

/// The rates of the page are those of the report: an error of the agent is no success.
#[test]
fn the_success_rate_is_that_of_the_report() {
    use statistics::success::{judged_pass_rate, success_rate};
    let (meters, page) = meters(Conventions::Usual);
    let coordinator = meters.coordinator();
    let mut ended = summary(&[("refund", 3, 1), ("order", 2, 0)]);
    ended.cases[0].agent_errors = 4;
    ended.cases[0].error = 5;
    ended.summary.trials.agent_errors = 4;
    ended.summary.trials.error = 5;
    let counts = ended.summary.trials.counts();
    (ended.summary.success_rate, ended.summary.judged_pass_rate) = (success_rate(&counts), judged_pass_rate(&counts));
    coordinator.ended(&ended, 0, 1);
    let text = page.text().unwrap();
    for (series, value) in [
        ("gabfest_success_rate{suite=\"nightly\"}", 0.5),
        ("gabfest_judged_pass_rate{suite=\"nightly\"}", 5.0 / 6.0),
        ("gabfest_success_rate{scenario=\"refund\",suite=\"nightly\"}", 3.0 / 8.0),
        ("gabfest_success_rate{scenario=\"order\",suite=\"nightly\"}", 1.0),
    ] {
        let line = text.lines().find_map(|line| line.strip_prefix(series)).unwrap();
        assert_eq!(line.trim().parse::<f64>().unwrap(), value, "{series}");
    }
}
