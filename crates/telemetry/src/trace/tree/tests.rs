//! From records to spans: complete traces.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use opentelemetry_sdk::trace::SpanData;
use record::{
    Call, Failure, FailureKind, Finding, Role, Simulated, Tokens, Trial, Turn, Usd,
    call::CallTexts,
    turn::{Origin, ToolCall},
};
use scenario::{Case, CaseId, RunId, TrialId};

use super::*;
use crate::{
    asked::Endpoint,
    trace::{exported::Exported, texts::Texts},
};

const KEY: &str = "sk-abcdefghijklmnopqrstuvwxyz";

fn exported(content: bool) -> Exported {
    let place = Endpoint {
        provider: "openai".into(),
        model: Some("small".into()),
        address: Some("127.0.0.1".into()),
        port: Some(8080),
    };
    Exported::for_tests(content, Texts::new(200), BTreeMap::from([("shop".to_owned(), place)]))
}

fn case() -> Case {
    Case {
        id: CaseId::new("c0"),
        number: 0,
        group: 0,
        scenario: "refund".into(),
        combination: Some("combo-000-59fc3c".into()),
        parameters: vec![("a.b".into(), serde_json::json!("x")), ("n".into(), serde_json::json!(2))],
        row: None,
        persona: Some("ann".into()),
        agent: "shop".into(),
    }
}

fn call(role: Role, endpoint: &str, started_micros: u64) -> Call {
    Call {
        role,
        endpoint: endpoint.into(),
        model: "small-2026".into(),
        started_micros,
        wait_micros: 0,
        connect_micros: None,
        ttft_micros: None,
        inter_token_micros: None,
        total_micros: 1_000,
        retried_micros: 0,
        tokens: Tokens { input: 12, output: 3, ..Tokens::default() },
        texts: None,
        estimated: false,
        cost: Some(Usd(2_000)),
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

fn turn(number: u32, calls: Vec<Call>) -> Turn {
    Turn {
        number,
        step: 1,
        speaker: Origin::Simulated,
        user: format!("Where is my order? My key is {KEY}"),
        agent: Some("On its way.".into()),
        messages: Vec::new(),
        exit_code: None,
        tool_calls: Vec::new(),
        actions: Vec::new(),
        started_micros: u64::from(number) * 10_000,
        duration_micros: 1_000,
        response_micros: None,
        calls,
        notes: Vec::new(),
        simulated: None,
    }
}

fn judgment(scope: Scope, finding: Finding) -> Judgment {
    Judgment {
        check: "llm_judge".into(),
        name: None,
        description: Some("is polite".into()),
        scope,
        finding,
        score: Some(0.25),
        reason: format!("it shows {KEY}"),
        evidence: None,
        failure: None,
        line: 7,
        required: true,
        weight: 1.0,
        ballots: Vec::new(),
        jury: None,
        custom: None,
    }
}

fn trial(verdict: Verdict, judgments: Vec<Judgment>) -> Trial {
    let planned = scenario::Trial {
        number: 3,
        id: TrialId::new("t3"),
        case: 0,
        case_id: CaseId::new("c0"),
        repeat: 1,
        seed: u64::MAX,
    };
    let failure = Failure::new(FailureKind::CheckFailed, format!("is polite: {KEY}"));
    let failure = Some(failure).filter(|_| verdict != Verdict::Pass);
    Trial {
        turns: 2,
        duration_ms: 60,
        judgments,
        failure,
        termination_reason: Some("max_turns".into()),
        stop: None,
        ..Trial::unplayed(&planned, 2, verdict, Failure::new(FailureKind::Panicked, ""))
    }
}

/// A span a block, indented by depth, with times in milliseconds since the trial began.
fn shown(spans: &[SpanData], began_micros: u64) -> String {
    let mut text = String::new();
    let millis = |at: std::time::SystemTime| {
        let micros = at.duration_since(std::time::UNIX_EPOCH).unwrap().as_micros() as u64;
        (micros - began_micros) as f64 / 1_000.0
    };
    for span in spans {
        let mut depth = 0;
        let mut parent = span.parent_span_id;
        while let Some(found) = spans.iter().find(|one| one.span_context.span_id() == parent) {
            parent = found.parent_span_id;
            depth += 1;
        }
        let pad = "    ".repeat(depth);
        let (from, to) = (millis(span.start_time), millis(span.end_time));
        writeln!(text, "{pad}{} [{:?}] {from}..{to} ms {:?}", span.name, span.span_kind, span.status).unwrap();
        for link in span.links.iter() {
            writeln!(text, "{pad}  -> {:?}", link.span_context.span_id()).unwrap();
        }
        for attribute in &span.attributes {
            writeln!(text, "{pad}  {} = {:?}", attribute.key, attribute.value).unwrap();
        }
        for event in span.events.iter() {
            writeln!(text, "{pad}  * {} at {} ms", event.name, millis(event.timestamp)).unwrap();
            for attribute in &event.attributes {
                writeln!(text, "{pad}      {} = {:?}", attribute.key, attribute.value).unwrap();
            }
        }
    }
    text
}

fn made(exported: &Exported, trial: &Trial, turns: &[Turn]) -> Vec<SpanData> {
    let (run, case) = (RunId::new("r1"), case());
    let played = Played {
        run: &run,
        suite: "night",
        case: &case,
        began_micros: 1_700_000_000_000_000,
        trial,
        turns,
        calls: &[],
        conversations: &[1, 5],
    };
    let made = spans(exported, ids::trace(&run, trial.number, trial.epoch), &played);
    let made: Vec<_> = made.map(|span| span.data(&exported.scope)).collect();
    assert_eq!(made.len(), size(&played));
    made
}

fn conversation() -> Vec<Turn> {
    let waited = Call {
        wait_micros: 2_000,
        connect_micros: Some(500),
        ttft_micros: Some(300),
        tries: 2,
        lost_tries: 1,
        retried_micros: 7_000,
        ..call(Role::Agent, "shop", 10_000)
    };
    let mut first = turn(1, vec![call(Role::UserSim, "user", 5_000), waited, call(Role::Judge, "judge", 20_000)]);
    first.tool_calls = vec![ToolCall {
        id: "call-1".into(),
        name: "find_order".into(),
        arguments: format!(r#"{{"key":"{KEY}"}}"#),
        result: Some("found".into()),
    }];
    first.simulated = Simulated {
        state: Some("angry".into()),
        calls: vec![ToolCall {
            id: "u1".into(),
            name: "toggle_data".into(),
            arguments: format!(r#"{{"pin":"{KEY}"}}"#),
            result: Some("off".into()),
        }],
        ..Simulated::default()
    }
    .boxed();
    first.calls[2].texts = Some(Arc::new(CallTexts {
        input: "Is it polite?".into(),
        input_messages: r#"[{"role":"user"}]"#.into(),
        output: Some(("yes".into(), r#"[{"role":"assistant"}]"#.into())),
    }));
    let failed = Call {
        error: Some(format!("401 with {KEY}")),
        error_kind: Some(record::call::ErrorKind::Refused),
        cost: None,
        tokens: Tokens::default(),
        ..call(Role::Agent, "elsewhere", 40_000)
    };
    let mut second = turn(2, vec![failed]);
    (second.agent, second.speaker) = (None, Origin::Scripted);
    second.calls.push(Call { of_trial: true, ..call(Role::Judge, "judge", 50_000) });
    vec![first, second]
}

#[test]
fn a_trace_reads_run_trial_turn_call() {
    let judgments = vec![
        judgment(Scope::Turn { step: 1, turn: 1 }, Finding::Pass),
        judgment(Scope::Step { step: 1 }, Finding::Fail),
    ];
    let spans = made(&exported(false), &trial(Verdict::Fail, judgments), &conversation());
    let text = shown(&spans, 1_700_000_000_000_000);
    assert!(!text.contains("abcdefghijkl"), "{text}");
    assert!(!text.contains("Where is my order"), "content is opt-in: {text}");
    insta::assert_snapshot!(text);
}

#[test]
fn content_is_exported_on_request() {
    let spans = made(&exported(true), &trial(Verdict::Pass, Vec::new()), &conversation());
    let text = shown(&spans, 1_700_000_000_000_000);
    assert!(!text.contains("abcdefghijkl"), "{text}");
    let messages: Vec<&str> = text
        .lines()
        .filter(|line| ["messages", "gen_ai.tool", "put.value"].iter().any(|word| line.contains(word)))
        .collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn the_ids_match_those_in_the_agents_requests() {
    let spans = made(&exported(false), &trial(Verdict::Pass, Vec::new()), &conversation());
    let trace = ids::trace(&RunId::new("r1"), 3, 2);
    let agents: Vec<u64> = spans
        .iter()
        .filter(|span| span.name.starts_with("agent chat "))
        .map(|span| u64::from_be_bytes(span.span_context.span_id().to_bytes()))
        .collect();
    assert_eq!(agents, [ids::agent_span(trace, 1), ids::agent_span(trace, 2)]);
    assert!(spans.iter().all(|span| u128::from_be_bytes(span.span_context.trace_id().to_bytes()) == trace));
}

#[test]
fn nothing_played_is_a_trial_all_the_same() {
    let spans = made(&exported(false), &trial(Verdict::Skipped, Vec::new()), &[]);
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_ref()).collect();
    assert_eq!(names, ["run night", "trial refund"]);
}

#[test]
fn calls_without_a_turn_belong_to_the_trial() {
    let (run, case, trial) = (RunId::new("r1"), case(), trial(Verdict::Error, Vec::new()));
    let lost = [1, 2].map(|second| Call { of_trial: true, ..call(Role::UserSim, "peer", second * 1_000_000) });
    let played = Played {
        run: &run,
        suite: "night",
        case: &case,
        began_micros: 0,
        trial: &trial,
        turns: &[],
        calls: &lost,
        conversations: &[],
    };
    let exported = exported(true);
    let trace = ids::trace(&run, 3, 2);
    let made: Vec<Span> = spans(&exported, trace, &played).collect();
    assert_eq!(made.len(), size(&played));
    let told: Vec<_> = made[2..].iter().map(|span| (&*span.name, span.parent)).collect();
    assert_eq!(told, [("user_sim chat small-2026", ids::trial_span(trace)); 2]);
    assert_ne!(made[2].id, made[3].id);
    assert!(made[1].times.to >= made[3].times.to, "{:?}", made[1].times);
}

#[test]
fn skipped_trials_are_not_always_exported() {
    for (verdict, expected) in [
        (Verdict::Pass, false),
        (Verdict::Skipped, false),
        (Verdict::Fail, true),
        (Verdict::Error, true),
        (Verdict::Inconclusive, true),
        (Verdict::Cancelled, true),
    ] {
        let (run, case, trial) = (RunId::new("r1"), case(), trial(verdict, Vec::new()));
        let played = Played {
            run: &run,
            suite: "night",
            case: &case,
            began_micros: 0,
            trial: &trial,
            turns: &[],
            calls: &[],
            conversations: &[],
        };
        assert_eq!(played.is_always_exported(), expected, "{verdict:?}");
    }
}

#[test]
fn a_span_names_the_conversation_that_the_agent_was_sent() {
    let turns: Vec<Turn> = (1..=6).map(|number| turn(number, vec![call(Role::Agent, "shop", 0)])).collect();
    let spans = made(&exported(false), &trial(Verdict::Pass, Vec::new()), &turns);
    let of = |span: &SpanData, name: &str| {
        let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == name);
        found.map(|attribute| attribute.value.as_str().into_owned())
    };
    let session = of(&spans[1], names::SESSION).expect("a session");
    assert!(spans.iter().all(|span| of(span, names::SESSION).as_ref() == Some(&session)));
    let conversations: Vec<_> = spans[1..].iter().filter_map(|span| of(span, names::CONVERSATION)).collect();
    let numbers: Vec<_> = conversations.iter().filter_map(|id| id.strip_prefix(&session)?.strip_prefix('-')).collect();
    // The trial, then each turn and its call.
    assert_eq!(numbers, ["1", "1", "1", "1", "1", "1", "1", "1", "1", "2", "2", "2", "2"]);
}

/// A verdict as the status of root and trial.
#[test]
fn the_root_says_how_the_trial_ended() {
    for (verdict, status, error) in [
        (Verdict::Pass, Status::Ok, None),
        (Verdict::Skipped, Status::Unset, None),
        (Verdict::Fail, Status::error("is polite: [redacted]"), Some("check_failed")),
        (Verdict::Error, Status::error("is polite: [redacted]"), Some("check_failed")),
        (Verdict::Inconclusive, Status::error("is polite: [redacted]"), Some("check_failed")),
        (Verdict::Cancelled, Status::error("is polite: [redacted]"), Some("check_failed")),
    ] {
        let spans = made(&exported(false), &trial(verdict, Vec::new()), &[]);
        let of = |span: &SpanData, name: &str| {
            let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == name);
            found.map(|attribute| attribute.value.as_str().into_owned())
        };
        for span in &spans {
            assert_eq!(span.status, status, "{verdict:?} {}", span.name);
            assert_eq!(of(span, names::VERDICT).as_deref(), Some(verdict.name()));
            assert_eq!(of(span, names::CASE).as_deref(), Some("refund"));
            assert_eq!(of(span, names::SPAN_KIND).as_deref(), Some("CHAIN"));
        }
        assert_eq!(of(&spans[1], names::ERROR_TYPE).as_deref(), error, "{verdict:?}");
    }
}

#[test]
fn an_evaluation_has_a_name_and_a_description() {
    for (name, description, expected) in [
        (Some("tone"), Some("is polite"), ("tone", Some("is polite"))),
        (None, Some("is polite"), ("is polite", Some("is polite"))),
        (None, None, ("llm_judge", None)),
    ] {
        let judged = Judgment {
            name: name.map(ToOwned::to_owned),
            description: description.map(ToOwned::to_owned),
            ..judgment(Scope::Step { step: 1 }, Finding::Pass)
        };
        let spans = made(&exported(false), &trial(Verdict::Pass, vec![judged]), &[]);
        let event = &spans[1].events.events[0];
        let of = |key: &str| {
            let found = event.attributes.iter().find(|attribute| attribute.key.as_str() == key);
            found.map(|attribute| attribute.value.as_str().into_owned())
        };
        assert_eq!(of(names::EVALUATION_NAME).as_deref(), Some(expected.0));
        assert_eq!(of(names::CHECK_DESCRIPTION).as_deref(), expected.1);
        assert_eq!(of(names::CHECK).as_deref(), Some("llm_judge"));
    }
}

#[test]
fn a_turn_with_many_tool_calls_is_cut() {
    let mut one = turn(1, Vec::new());
    let tool = |number: usize| ToolCall {
        id: String::new(),
        name: format!("tool-{number}"),
        arguments: "{}".into(),
        result: None,
    };
    one.tool_calls = (0..MOST_TOOLS + 5).map(tool).collect();
    let spans = made(&exported(false), &trial(Verdict::Pass, Vec::new()), &[one]);
    assert_eq!(spans.len(), 3 + MOST_TOOLS);
    assert_eq!(spans[3].name, "execute_tool tool-0");
    assert!(spans[3..].iter().all(|span| span.parent_span_id == spans[2].span_context.span_id()));
}

#[test]
fn a_long_conversation_is_cut_and_stays_clean() {
    let turns: Vec<Turn> = (1..=300).map(|number| turn(number, Vec::new())).collect();
    let spans = made(&exported(true), &trial(Verdict::Pass, Vec::new()), &turns);
    let input = spans[0].attributes.iter().find(|attribute| attribute.key.as_str() == names::INPUT).unwrap();
    let input = input.value.as_str();
    assert!(
        input.starts_with("User: Where is my order? My key is [redacted]\n\nAgent: On its way.\n\nUser: "),
        "{input}"
    );
    assert!(input.len() <= 200 && input.ends_with('…'), "{input}");
}

#[test]
fn a_very_long_trial_is_cut() {
    let turns: Vec<Turn> = (1..=1_500).map(|number| turn(number, Vec::new())).collect();
    assert_eq!(made(&exported(false), &trial(Verdict::Pass, Vec::new()), &turns).len(), 2 + MOST_TURNS);
}
