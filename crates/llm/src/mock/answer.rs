//! From a request to what the mock says: a pure function of the seed, the role, the turn and the messages.

use crate::{
    Request, Task, Usage,
    model::{Note, ToolCall},
};

use super::{
    UNHELPFUL, agent,
    behaviour::{Behaviour, Role, Rule},
    chance::Key,
    cue, judge, measure, user, words,
};

/// All that the mock answers to a request.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) tool_calls: Vec<ToolCall>,
    pub(crate) actions: Vec<String>,
    pub(crate) notes: Vec<Note>,
    pub(crate) vectors: Vec<Vec<f32>>,
    pub(crate) labels: Vec<(String, f64)>,
    pub(crate) finish_reason: &'static str,
    pub(crate) usage: Usage,
}

/// Whom the mock plays: as the context says, else as the model's name suggests (`mock-user`), else the agent.
pub(crate) fn role_of(request: &Request, model: &str) -> Role {
    match request.context.role.as_str() {
        _ if request.task != Task::Complete => Role::Scorer,
        "agent" => Role::Agent,
        "user_sim" => Role::UserSim,
        "judge" => Role::Judge,
        _ if words::contains_ignoring_case(model, "user") => Role::UserSim,
        _ if words::contains_ignoring_case(model, "judge") => Role::Judge,
        _ => Role::Agent,
    }
}

/// The call's own key: the same for every try of it, wherever and whenever it is made.
pub(crate) fn key_of(request: &Request, role: Role) -> Key {
    let context = &request.context;
    let key = seed_of(request).text(role.name()).number(u64::from(context.turn)).number(u64::from(context.call));
    request.messages.iter().fold(key, |key, message| key.text(message.role.name()).text(&message.content))
}

pub(crate) fn answer(behaviour: &Behaviour, request: &Request, role: Role, key: Key) -> Answer {
    if request.task != Task::Complete {
        let usage = Usage { input_tokens: input_tokens(request), ..Usage::default() };
        return Answer { usage, finish_reason: "stop", ..measure::answer(request) };
    }
    let context = &request.context;
    let last = request.messages.last().map_or("", |message| message.content.as_str());
    let turn = if let Some(rule) = behaviour.rule_for(role, &context.scenario, last) {
        scripted(rule, key)
    } else {
        match role {
            Role::Agent => played(behaviour, request, key),
            Role::UserSim => say(user::speak(request, key)),
            Role::Judge | Role::Scorer => say(judge::speak(request, behaviour.judge, key)),
        }
    };
    finish(turn, request)
}

/// About four characters a token, as is usual for English.
pub(crate) fn tokens(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

fn played(behaviour: &Behaviour, request: &Request, key: Key) -> agent::Turn {
    let context = &request.context;
    let probability = behaviour.pass_probability(&context.scenario, &context.persona, context.turn);
    let drawn = seed_of(request).text("pass").number(u64::from(context.turn));
    let mut turn = match &context.cue {
        _ if !drawn.happens(probability) => say(UNHELPFUL.to_owned()),
        Some(cue) => cue::follow(cue, request, key),
        None => agent::speak(request, key),
    };
    if let Some(lengths) = behaviour.tokens {
        lengthen(&mut turn.text, u64::from(lengths.draw(key.text("length"))), key);
    }
    turn
}

fn scripted(rule: &Rule, key: Key) -> agent::Turn {
    let call = |(index, call): (usize, &super::ScriptedCall)| ToolCall {
        id: format!("call_{:016x}", key.text(&call.name).number(index as u64).value()),
        name: call.name.clone(),
        arguments: serde_json::Value::Object(call.arguments.clone()).to_string(),
        result: None,
    };
    agent::Turn {
        text: rule.reply.clone(),
        tool_calls: rule.tool_calls.iter().enumerate().map(call).collect(),
        actions: rule.actions.clone(),
        notes: Vec::new(),
    }
}

fn say(text: String) -> agent::Turn {
    agent::Turn { text, ..agent::Turn::default() }
}

/// Adds sentences that say nothing until the reply is as long as was drawn.
fn lengthen(text: &mut String, wanted: u64, key: Key) {
    const MORE: [&str; 4] = [
        " Take all the time that you need.",
        " Every point can be looked at again later.",
        " Nothing is lost if a part has to be repeated.",
        " It is fine to go one part at a time.",
    ];
    let mut round = 0;
    while tokens(text) < wanted {
        let more = key.text("more").number(round).pick(&MORE);
        let room = (wanted - tokens(text)) as usize * 4;
        text.push_str(&more[..more.len().min(room)]);
        round += 1;
    }
}

fn finish(turn: agent::Turn, request: &Request) -> Answer {
    let agent::Turn { mut text, tool_calls, actions, notes } = turn;
    let mut finish_reason = if tool_calls.is_empty() { "stop" } else { "tool_calls" };
    if let Some(most) = request.max_tokens.filter(|most| tokens(&text) > u64::from(*most)) {
        let room = most as usize * 4;
        let end = (0..=room).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        finish_reason = "length";
    }
    let called: u64 = tool_calls.iter().map(|call| tokens(&call.name) + tokens(&call.arguments)).sum();
    let usage = Usage { input_tokens: input_tokens(request), output_tokens: tokens(&text) + called, estimated: false };
    Answer { text, tool_calls, actions, notes, finish_reason, usage, ..Answer::default() }
}

/// Three tokens a message stand for its role and its marks.
fn input_tokens(request: &Request) -> u64 {
    request.messages.iter().map(|message| tokens(&message.content) + 3).sum()
}

pub(crate) fn seed_of(request: &Request) -> Key {
    // Servers get 63 bits of the seed, see `openai::request`: both ways must give one answer.
    Key::new(request.seed.unwrap_or(0) & (u64::MAX >> 1))
}
