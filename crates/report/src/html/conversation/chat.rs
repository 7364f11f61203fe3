//! One conversation turn by turn: messages, tool calls, judgments.

mod json_text;

use record::{
    Role, Scope, Tokens,
    call::Finish,
    turn::{
        Origin,
        Part::{Called, Said},
    },
};
use serde::Serialize;

use crate::{
    Selected,
    figures::{self, count, micros},
};

#[derive(Serialize)]
pub(super) struct Turn {
    anchor: String,
    number: u32,
    step: u32,
    /// How many turns before it are not shown.
    gap: Option<String>,
    failing: bool,
    speaker: &'static str,
    program: bool,
    /// The simulated user's state in which it said the line.
    state: Option<String>,
    /// What the simulated user did with its own tools before it said the line.
    used: Vec<Tool>,
    user: String,
    /// Messages and tool calls before the answer, in order.
    before: Vec<Part>,
    agent: Option<String>,
    /// A token limit cut the answer.
    cut: bool,
    /// Tool calls after it.
    after: Vec<Tool>,
    exit_code: Option<i32>,
    actions: Vec<String>,
    took: String,
    ttft: Option<String>,
    calls: Vec<Call>,
    notes: Vec<ShownNote>,
    findings: Vec<Finding>,
}

#[derive(Serialize)]
struct Part {
    said: Option<String>,
    tool: Option<Tool>,
}

#[derive(Serialize)]
struct Tool {
    name: String,
    arguments: String,
    result: Option<String>,
}

#[derive(Serialize)]
struct Call {
    role: &'static str,
    model: String,
    endpoint: String,
    wait: Option<String>,
    ttft: Option<String>,
    total: String,
    tokens: String,
    tries: Option<String>,
    cut: bool,
    error: Option<String>,
}

#[derive(Serialize)]
struct ShownNote {
    kind: String,
    text: String,
}

/// A judgment, shown with its turn.
#[derive(Serialize)]
pub(super) struct Finding {
    class: &'static str,
    icon: &'static str,
    word: &'static str,
    scope: Option<String>,
    check: String,
    description: Option<String>,
    score: Option<String>,
    reason: String,
    evidence: Option<String>,
    line: Option<u32>,
    /// It has no part in the verdict.
    informs: bool,
    /// Set if it is not the default.
    weight: Option<String>,
    /// Why the whole trial failed, if that was not in a turn.
    pub(super) decisive: bool,
}

impl Finding {
    /// Whether a failure's message, `check: reason`, is about it. Long texts are cut, the two at different places.
    pub(super) fn is_told_by(&self, message: &str) -> bool {
        const TELLING_CHARS: usize = 1_000;
        let reason = message.strip_prefix(&self.check).and_then(|rest| rest.strip_prefix(": "));
        self.class != "pass"
            && reason.is_some_and(|of| of.chars().take(TELLING_CHARS).eq(self.reason.chars().take(TELLING_CHARS)))
    }
}

pub(super) fn turns(selected: &Selected, anchor: &str, failing_turn: Option<u32>) -> Vec<Turn> {
    let mut before_number = 0;
    let mut turns = Vec::with_capacity(selected.turns.len());
    for turn in &selected.turns {
        let missing = u64::from(turn.number.saturating_sub(before_number + 1));
        before_number = turn.number;
        let (before, agent, after) = parts(turn);
        turns.push(Turn {
            anchor: format!("{anchor}-turn-{}", turn.number),
            number: turn.number,
            step: turn.step,
            gap: (missing > 0).then(|| figures::plural(missing, "turn", "turns")),
            failing: failing_turn == Some(turn.number),
            speaker: match turn.speaker {
                Origin::Scripted => "user, scripted",
                Origin::Simulated => "user, simulated",
                Origin::Program => "program",
            },
            program: turn.speaker == Origin::Program,
            state: turn.simulated.as_ref().and_then(|simulated| simulated.state.clone()),
            used: turn.user_calls().iter().map(tool).collect(),
            user: turn.user.clone(),
            before,
            agent,
            cut: turn.calls.iter().rfind(|call| call.role == Role::Agent).is_some_and(is_cut),
            after,
            exit_code: turn.exit_code,
            actions: turn.actions.clone(),
            took: micros(turn.duration_micros),
            ttft: turn.first_token_micros().map(micros),
            calls: turn.calls.iter().map(call).collect(),
            notes: turn
                .notes
                .iter()
                .map(|note| ShownNote { kind: note.kind.clone(), text: note.text.clone() })
                .collect(),
            findings: findings(selected, |scope| turn_of(selected, scope) == Some(turn.number)),
        });
    }
    turns
}

/// The agent's messages and calls before its last message, that message, and the calls after it.
fn parts(turn: &record::Turn) -> (Vec<Part>, Option<String>, Vec<Tool>) {
    let all = turn.parts();
    let last_words = all.iter().rposition(|part| matches!(part, Said(_)));
    // Without an answer there is no last message.
    let last_words = last_words.filter(|_| turn.agent.is_some());
    let mut before = Vec::new();
    let (mut agent, mut after) = (None, Vec::new());
    for (index, part) in all.into_iter().enumerate() {
        match part {
            Said(text) if last_words == Some(index) => agent = Some(text.to_owned()),
            Said(text) => before.push(Part { said: Some(text.to_owned()), tool: None }),
            Called(call) if last_words.is_some_and(|words| words < index) => after.push(tool(call)),
            Called(call) => before.push(Part { said: None, tool: Some(tool(call)) }),
        }
    }
    (before, agent, after)
}

/// Judgments about steps, the conversation, and turns that are not shown.
pub(super) fn after(selected: &Selected) -> Vec<Finding> {
    findings(selected, |scope| turn_of(selected, scope).is_none())
}

/// The turn beside which something is shown. A step of one turn is that turn.
fn turn_of(selected: &Selected, scope: Scope) -> Option<u32> {
    let mut about = selected.turns.iter().filter(|turn| match scope {
        Scope::Turn { turn: number, .. } => turn.number == number,
        Scope::Step { step } => turn.step == step,
        Scope::Conversation { .. } => false,
    });
    let first = about.next()?;
    about.next().is_none().then_some(first.number)
}

fn findings(selected: &Selected, about: impl Fn(Scope) -> bool) -> Vec<Finding> {
    let judgments = selected.trial.judgments.iter().filter(|judgment| about(judgment.scope));
    judgments
        .map(|judgment| {
            let (class, icon) = match judgment.finding {
                record::Finding::Pass => ("pass", "✓"),
                record::Finding::Fail => ("fail", "✗"),
                record::Finding::Inconclusive => ("inconclusive", "?"),
                record::Finding::Error => ("error", "!"),
                record::Finding::NotApplicable => ("not_applicable", "–"),
            };
            Finding {
                class,
                icon,
                word: judgment.finding.name(),
                scope: match judgment.scope {
                    Scope::Turn { turn, .. } if selected.turns.iter().any(|shown| shown.number == turn) => None,
                    Scope::Turn { turn, .. } => Some(format!("turn {turn}")),
                    Scope::Step { step } => Some(format!("step {step}")),
                    Scope::Conversation { step } => Some(format!("conversation, step {step}")),
                },
                check: judgment.check.clone(),
                description: judgment.description.clone().filter(|text| !text.is_empty()),
                score: judgment.score.map(|score| format!("{score:.2}")),
                reason: judgment.reason.clone(),
                evidence: judgment.evidence.clone().filter(|text| !text.is_empty()),
                line: (judgment.line > 0).then_some(judgment.line),
                informs: !judgment.required,
                weight: (judgment.required && judgment.weight != 1.0).then(|| judgment.weight.to_string()),
                decisive: false,
            }
        })
        .collect()
}

fn tool(call: &record::turn::ToolCall) -> Tool {
    Tool {
        name: call.name.clone(),
        arguments: json_text::indented(&call.arguments),
        result: call.result.as_deref().map(json_text::indented),
    }
}

fn tries(of: &record::Call) -> String {
    let tries = figures::plural(u64::from(of.tries), "try", "tries");
    let tries = if of.throttled_tries == 0 { tries } else { format!("{tries} ({} met a 429)", of.throttled_tries) };
    if of.retried_micros == 0 { tries } else { format!("{tries}, {} before the last", micros(of.retried_micros)) }
}

fn is_cut(call: &record::Call) -> bool {
    call.finish == Some(Finish::Length)
}

fn tokens(of: &record::Call) -> String {
    let Tokens { input, output, cached_input, cache_write, reasoning } = of.tokens;
    let kinds = [(cached_input, "cached"), (cache_write, "written to the cache"), (reasoning, "reasoning")];
    let kinds = kinds.into_iter().filter(|(tokens, _)| *tokens > 0);
    let kinds = kinds.map(|(tokens, what)| format!("{} {what}", count(tokens)));
    let kinds: Vec<String> = kinds.chain(of.estimated.then(|| "estimated".to_owned())).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    format!("{} in, {} out{kinds}", count(input), count(output))
}

fn call(of: &record::Call) -> Call {
    Call {
        role: of.role.name(),
        model: of.model.clone(),
        endpoint: of.endpoint.clone(),
        wait: (of.wait_micros > 0).then(|| micros(of.wait_micros)),
        ttft: of.ttft_micros.map(micros),
        total: micros(of.total_micros),
        tokens: tokens(of),
        cut: is_cut(of),
        tries: (of.tries > 1).then(|| tries(of)),
        error: of.error.clone(),
    }
}

#[cfg(test)]
mod tests {
    use record::turn::{Said as Message, ToolCall};

    use super::*;

    fn turn(agent: Option<&str>, messages: &[(&str, u32)], tools: &[&str]) -> record::Turn {
        let call = |name: &&str| ToolCall {
            id: String::new(),
            name: (*name).to_owned(),
            arguments: "{}".to_owned(),
            result: None,
        };
        let message = |(text, before): &(&str, u32)| Message { text: (*text).to_owned(), tool_calls_before: *before };
        record::Turn {
            number: 1,
            step: 1,
            speaker: Origin::Scripted,
            user: "Hi".to_owned(),
            agent: agent.map(str::to_owned),
            messages: messages.iter().map(message).collect(),
            exit_code: None,
            tool_calls: tools.iter().map(call).collect(),
            actions: Vec::new(),
            started_micros: 0,
            duration_micros: 0,
            response_micros: None,
            calls: Vec::new(),
            notes: Vec::new(),
            simulated: None,
        }
    }

    /// The text of a turn on the page, from top to bottom.
    fn shown(turn: &record::Turn) -> String {
        let (before, agent, after) = parts(turn);
        let part = |part: Part| part.said.or(part.tool.map(|tool| format!("[{}]", tool.name))).unwrap_or_default();
        let mut shown: Vec<String> = before.into_iter().map(part).collect();
        shown.push(agent.map_or_else(|| "nothing".to_owned(), |text| format!("agent: {text}")));
        shown.extend(after.into_iter().map(|tool| format!("[{}]", tool.name)));
        shown.join(" ")
    }

    #[test]
    fn every_message_and_call_is_shown_in_order() {
        assert_eq!(shown(&turn(Some("Done."), &[("Wait.", 0), ("Done.", 1)], &["a"])), "Wait. [a] agent: Done.");
        assert_eq!(shown(&turn(Some("Wait."), &[("Wait.", 0)], &["a", "b"])), "agent: Wait. [a] [b]");
        assert_eq!(shown(&turn(Some("Hello"), &[], &["a"])), "[a] agent: Hello");
        assert_eq!(shown(&turn(None, &[("Wait.", 0)], &["a"])), "Wait. [a] nothing");
        assert_eq!(shown(&turn(Some(""), &[], &["a"])), "[a] nothing");
    }
}
