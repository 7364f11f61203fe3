//! What a worker counts: calls, tokens, turns, trials and named checks.

use record::{
    Blame, Call, Finding, Judgment, Role, Tokens, Trial, Turn, Verdict, call::ErrorKind, trial::Start, turn::Origin,
};

use super::{call, failed, found, lab, lines, meters, trial, turn};
use crate::names::Conventions;

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

/// An embedding has no output, and an aborted call reported nothing: neither counts as zero tokens.
#[test]
fn only_reported_tokens_are_counted() {
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
fn turns_and_trials_are_counted_under_their_labels() {
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
    worker.outbox(4_096);
    worker.messages(5);
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
         gabfest_worker_messages 5\n\
         gabfest_worker_outbox_bytes 4096\n\
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
fn response_times_waits_and_late_starts_are_counted_by_suite() {
    let (meters, page) = meters(Conventions::Usual);
    let place = lab(&meters).place("nightly", "refund", None);
    let waited = Call { wait_micros: 2_000_000, ..call(Role::Agent, "m", 90_000) };
    let answered = turn(Origin::Scripted, Some("hi"), vec![waited]);
    place.turn(&Turn { response_micros: Some(2_500_000), ..answered.clone() });
    place.turn(&Turn { response_micros: None, ..answered });
    let start = Some(Start { at_micros: 7, late_micros: 3_000 });
    place.ended(&Trial { start, epoch: 1, ..trial(Verdict::Pass, None) });
    place.ended(&Trial { start, epoch: 2, ..trial(Verdict::Pass, None) });
    let names = ["gabfest_turn_response_seconds", "gabfest_turn_wait_seconds", "gabfest_start_late_seconds"];
    let shown = lines(&page, &names.map(|name| format!("{name}_sum")).each_ref().map(String::as_str));
    assert_eq!(
        shown,
        "gabfest_start_late_seconds_sum{suite=\"nightly\"} 0.003\n\
         gabfest_turn_response_seconds_sum{suite=\"nightly\"} 2.5\n\
         gabfest_turn_wait_seconds_sum{suite=\"nightly\"} 2\n"
    );
}
