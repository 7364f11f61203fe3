//! Expected conversations line by line, `*.conversation.json` or `.yaml`: user turns and the agent's expected answers.

mod document;
mod pattern;
mod tools;

use scenario::{
    Action, Check, Environment, Format, History, Message, OnFailure, Rule, Scenario, Source, Step, Strategy, check,
    format::{Script, stem},
    message::Speaker,
    user::Pauses,
};
use serde_json::Value;
use yaml::{Diagnostic, Document, Findings, Part, schema};

use self::document::{LineDocument, TurnDocument};
use crate::conditions;

/// The default time limit of an answer, in milliseconds.
const TURN_TIMEOUT_MS: u64 = 90_000;

pub const FORMAT: &dyn Format = &Line;

#[derive(Debug)]
struct Line;

impl Format for Line {
    fn name(&self) -> &'static str {
        "line"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".conversation.yaml", ".conversation.yml", ".conversation.json"]
    }

    fn translate(&self, document: &Document) -> (Option<Script>, Vec<Diagnostic>) {
        let mut findings = Findings::new(&document.path);
        let script = script(document, &mut findings);
        let script = if findings.has_errors() { None } else { script };
        (script, findings.into_sorted())
    }

    fn schema(&self) -> Value {
        schema::of::<LineDocument>()
    }
}

/// A file is a mapping, or the bare list of its turns.
fn script(document: &Document, findings: &mut Findings) -> Option<Script> {
    let root = document.root();
    let is_list = root.value().is_array();
    let written = if is_list { Some(LineDocument::default()) } else { root.decode::<LineDocument>(findings) };
    let parts = if is_list { root.items() } else { root.items_of("conversation") };
    if !parts.is_empty() && parts.iter().all(|part| part.get("role").is_none()) {
        let spot = if is_list { root.spot() } else { root.spot_of("conversation") };
        findings.error(spot, "this list is not a conversation: none of its items has a `role`");
        findings.help("a turn is `{role: user, text: Hello}` or `{role: assistant, text: Hi}`");
        return None;
    }
    let turns: Vec<Turn<'_>> = parts.iter().filter_map(|part| Turn::read(part, findings)).collect();
    // The order of turns can only be checked if all of them are valid.
    let complete = turns.len() == parts.len();
    if complete && (is_list || root.value().is_object()) {
        check_order(&root, &turns, findings);
    }
    // With a fault in its keys there is no scenario, but the turns are still checked.
    let written = written.unwrap_or_default();
    let timeout_ms = written.timeout_per_turn_ms.map_or(TURN_TIMEOUT_MS, |timeout| timeout.0);
    let greeting = turns.first().filter(|turn| complete && turn.is_agent());
    let opening = greeting.and_then(|turn| greet(turn, written.initial_agent_message.as_deref(), findings));
    if let (None, Some(_)) = (greeting, &written.initial_agent_message) {
        findings.warning(root.key_spot("initial_agent_message"), "the conversation does not begin with the agent");
    }
    let exchanges = &turns[usize::from(greeting.is_some()).min(turns.len())..];
    let mut steps = Vec::new();
    for pair in exchanges.chunks(2) {
        let [user, agent] = pair else { break };
        let mut checks = agent.checks(findings);
        for check in &mut checks {
            check.description.clone_from(&written.test_note);
        }
        let expected = pattern::literal(&agent.texts).map(|text| Message::text_of(Speaker::Agent, text));
        let said = user.texts.first().cloned().unwrap_or_default();
        let action = Action::Say { messages: vec![Message::user(said)], expected, timeout_ms };
        steps.push(Step { name: None, action, checks, line: user.part.line() });
    }
    let scenario = Scenario {
        name: written.name.map_or_else(|| stem(&document.path, FORMAT).to_owned(), |name| name.0),
        description: written.description.unwrap_or_default(),
        format: FORMAT.name().to_owned(),
        source: Source { path: document.path.clone(), line: 1 },
        tags: written.tags,
        weight: 1.0,
        required_pass_rate: written.required_pass_rate.map(|share| share.0),
        plugins: Vec::new(),
        environment: Environment::default(),
        mocks: Vec::new(),
        opening: opening.into_iter().collect(),
        steps,
        required_score: None,
        strategy: Strategy::AllPass,
        history: written.history.unwrap_or(History::Actual),
        on_failure: written.on_failure.unwrap_or(OnFailure::Stop),
        expect_failure: written.expect_failure,
        pauses: Pauses::default(),
        vars: serde_json::Map::new(),
    };
    Some(Script { scenario, personas: Vec::new(), repeats: written.repeats.map(|repeats| repeats.0) })
}

/// One written turn.
struct Turn<'a> {
    part: &'a Part<'a>,
    role: document::Role,
    /// The alternatives; empty if nothing is said.
    texts: Vec<String>,
    events: Vec<String>,
    partial: bool,
}

impl<'a> Turn<'a> {
    fn read(part: &'a Part<'a>, findings: &mut Findings) -> Option<Self> {
        let written = part.decode_without::<TurnDocument>(&["text", "tool_calls", "telephony_events"], findings)?;
        let texts = document::texts(part, findings);
        let says_one = texts.as_ref().is_none_or(|texts| texts.len() == 1);
        // A faulty turn stays a turn, so that its other faults and the following turns are checked too.
        let events = part.items_of("telephony_events");
        let events = events.iter().filter_map(|event| document::event(event, findings)).collect();
        let turn =
            Self { part, role: written.role, texts: texts.unwrap_or_default(), events, partial: written.partial };
        if !turn.is_agent() {
            if !says_one {
                findings.error(part.spot_of("text"), "a user turn has exactly one text");
            }
            for key in ["tool_calls", "telephony_events", "partial"] {
                if part.get(key).is_some() {
                    findings.warning(part.key_spot(key), format!("`{key}` has no effect in a user turn"));
                }
            }
        }
        Some(turn)
    }

    fn is_agent(&self) -> bool {
        self.role == document::Role::Assistant
    }

    fn checks(&self, findings: &mut Findings) -> Vec<Check> {
        let spot = self.part.spot_of("text");
        let mut checks: Vec<Check> = pattern::check(&self.texts, spot.line).into_iter().collect();
        checks.iter().for_each(|check| conditions::check_wording(check, spot, findings));
        let calls = self.part.items_of("tool_calls");
        checks.extend(tools::check(&calls, self.partial, self.part.key_spot("tool_calls").line, findings));
        let line = self.part.key_spot("telephony_events").line;
        checks.push(Check::new(Rule::TelephonyEvents(check::TelephonyEvents { expected: self.events.clone() }), line));
        checks
    }
}

/// The agent's greeting is not requested: it is part of the history.
fn greet(turn: &Turn<'_>, message: Option<&str>, findings: &mut Findings) -> Option<Message> {
    if turn.part.get("tool_calls").is_some() || !turn.events.is_empty() {
        findings.warning(turn.part.spot(), "gabfest does not check what the agent does before the user speaks");
    }
    let text = match message {
        Some(message) => Some(message.to_owned()),
        None => pattern::literal(&turn.texts),
    };
    if text.is_none() {
        findings.error(
            turn.part.spot_of("text"),
            "the agent's first words are a pattern, but gabfest needs the words themselves",
        );
        findings.help("write the words here or as `initial_agent_message`");
    }
    if let Some(message) = message
        && pattern::literal(&turn.texts).is_some()
        && !turn.texts.iter().any(|text| pattern::alike(text, message))
    {
        findings.warning(turn.part.spot_of("text"), "`initial_agent_message` differs from the first turn");
    }
    text.map(|text| Message::text_of(Speaker::Agent, text))
}

fn check_order(root: &Part<'_>, turns: &[Turn<'_>], findings: &mut Findings) {
    let Some(last) = turns.last() else {
        findings.error(root.spot_of("conversation"), "the conversation has no turns, so nothing would be judged");
        return;
    };
    for pair in turns.windows(2) {
        if pair[0].role == pair[1].role {
            let name = pair[1].role.name();
            findings.error(pair[1].part.spot(), format!("two turns of the {name} follow each other"));
            findings.help("turns of user and assistant alternate; join the texts, or add the turn between them");
        }
    }
    if !last.is_agent() {
        findings.error(last.part.spot(), "the conversation ends with the user, so the expected answer is missing");
        findings.help("end with a turn of the assistant; `\"*\"` accepts any answer");
    } else if turns.len() == 1 {
        findings.error(last.part.spot(), "there is no user turn, so nothing would be judged");
    }
}
