//! The trace of one conversation, as a reviewer sees it in a session view.

use std::fmt::Write as _;

use serde_json::Value;

use super::{
    playing::{ended, exporting},
    receiver::{Receiver, attribute},
};
use crate::process::Place;

const REFUND: &str = "
name: refund
description: the agent looks an order up
run:
  - name: ask
    conversation:
      max_turns: 2
      user_simulator: { persona: a customer, objective: learn where the order is }
      turn_evaluations:
        - { type: llm_judge, prompt: Is it polite?, expected: 'yes', description: stays polite, name: tone }
      final_evaluations:
        - { type: string_contains, value: never, description: promises nothing }
judgment: { strategy: all_pass }
";

const SETTINGS: &str = "
endpoints:
  mock:
    kind: mock
    mock:
      rules:
        - when: order
          role: agent
          reply: It is on its way.
          tool_calls: [{ name: find_order, arguments: { id: 7 } }]
        - { when: '', role: user_sim, reply: Where is my order? }
";

/// Attributes that a reviewer looks at, in the order in which they are shown.
const SHOWN: [&str; 13] = [
    "test.case.name",
    "gabfest.verdict",
    "gabfest.turn",
    "gabfest.role",
    "gen_ai.operation.name",
    "gen_ai.tool.name",
    "input.value",
    "output.value",
    "gen_ai.evaluation.name",
    "gen_ai.evaluation.score.label",
    "gabfest.check",
    "gabfest.check.description",
    "error.type",
];

const MOST_SHOWN_CHARS: usize = 40;

/// A span and the spans below it, in the order in which they were sent.
fn show(spans: &[Value], parent: &str, depth: usize, text: &mut String) {
    for span in spans.iter().filter(|span| span["parentSpanId"].as_str().unwrap_or_default() == parent) {
        let pad = "  ".repeat(depth);
        let kind = if span["kind"] == 3 { "client" } else { "internal" };
        let status = ["unset", "ok", "error"][span["status"]["code"].as_u64().unwrap_or(0) as usize];
        let shown = attribute(span, "openinference.span.kind").unwrap_or_default();
        writeln!(text, "{pad}{} [{kind}, {shown}, {status}]", span["name"].as_str().unwrap()).unwrap();
        attributes(span, &pad, text);
        for event in span["events"].as_array().into_iter().flatten() {
            writeln!(text, "{pad}  * {}", event["name"].as_str().unwrap()).unwrap();
            attributes(event, &format!("{pad}  "), text);
        }
        show(spans, span["spanId"].as_str().unwrap(), depth + 1, text);
    }
}

fn attributes(of: &Value, pad: &str, text: &mut String) {
    for key in SHOWN {
        if let Some(mut value) = attribute(of, key) {
            // The rest of a prompt is tested in its own module.
            if let Some((end, _)) = value.char_indices().nth(MOST_SHOWN_CHARS) {
                value.replace_range(end.., "…");
            }
            writeln!(text, "{pad}  {key} = {value:?}").unwrap();
        }
    }
}

#[test]
fn a_conversation_reads_as_a_tree() {
    let place = Place::new();
    place.write("refund.scenario.yaml", REFUND);
    place.write("gabfest.yaml", SETTINGS);
    let receiver = Receiver::speaking("http/json", None);
    let mut command = place.gabfest(&["run", "refund.scenario.yaml", "--seed", "7", "--out", "out", "--quiet"]);
    let ended = ended(
        exporting(&mut command, &receiver.address, "http/json")
            .env("OTEL_TRACES_SAMPLER", "always_on")
            .env("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true"),
    );
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let mut spans = receiver.spans();
    // The span of the run's end is in a separate trace.
    spans.retain(|span| attribute(span, "test.suite.run.status").is_none());
    let sessions: Vec<_> = spans.iter().map(|span| attribute(span, "session.id")).collect();
    assert!(sessions[0].is_some() && sessions.iter().all(|session| *session == sessions[0]), "{sessions:?}");
    let mut text = String::new();
    show(&spans, "", 0, &mut text);
    insta::assert_snapshot!(text);
}
