//! The mock's answer in a chat: a pure function of the seed, the role, the turn and the messages.

use crate::{
    Usage,
    chat::{Finish, Request},
    message::{Annotation, FunctionCall},
};

use super::{
    UNHELPFUL, agent,
    behaviour::{Behaviour, Role, Rule, ScriptedCall},
    chance::Key,
    cue, judge, tokens, user, words,
};

/// All that the mock answers to a request.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) tool_calls: Vec<FunctionCall>,
    pub(crate) actions: Vec<String>,
    pub(crate) notes: Vec<Annotation>,
    pub(crate) finish: Finish,
    pub(crate) usage: Usage,
    /// Drawn as a reply of the agent that is not a good one.
    pub(crate) is_failure: bool,
}

/// The role that the mock plays: the context's, else the one that the model's name suggests (`mock-user`), else the agent.
pub(crate) fn role_of(request: &Request, model: &str) -> Role {
    match request.context.role.as_str() {
        "agent" => Role::Agent,
        "user_sim" => Role::UserSim,
        "judge" => Role::Judge,
        _ if words::contains_ignoring_case(model, "user") => Role::UserSim,
        _ if words::contains_ignoring_case(model, "judge") => Role::Judge,
        _ => Role::Agent,
    }
}

/// The call's own key: the same for every try, at any place and time.
pub(crate) fn key_of(request: &Request, role: Role) -> Key {
    let context = &request.context;
    let key = Key::of_call(request.seed, role.name(), context);
    request.messages.iter().fold(key, |key, message| key.text(message.role.name()).text(&message.content))
}

pub(crate) fn answer(behaviour: &Behaviour, request: &Request, role: Role, key: Key) -> Answer {
    let context = &request.context;
    let last = request.messages.last().map_or("", |message| message.content.as_str());
    let mut is_failure = false;
    let turn = if let Some(rule) = behaviour.rule_for(role, &context.scenario, last) {
        scripted(rule, key)
    } else {
        match role {
            Role::Agent => {
                is_failure = fails(behaviour, request);
                played(behaviour, request, is_failure, key)
            }
            Role::UserSim => say(behaviour.user_faults.spoil(user::speak(request, key), key)),
            Role::Judge | Role::Scorer => {
                let (text, is_cut) = judge::speak(request, behaviour.judge, key);
                let mut answer = finish(say(text), request);
                if is_cut {
                    answer.finish = Finish::Length;
                }
                return answer;
            }
        }
    };
    Answer { is_failure, ..finish(turn, request) }
}

/// Whether the agent's reply in this turn is not a good one.
fn fails(behaviour: &Behaviour, request: &Request) -> bool {
    let context = &request.context;
    let probability = behaviour.pass_probability(&context.scenario, &context.persona, context.turn);
    let drawn = Key::of_seed(request.seed).text("pass").number(u64::from(context.turn));
    !drawn.happens(probability)
}

fn played(behaviour: &Behaviour, request: &Request, is_failure: bool, key: Key) -> agent::Turn {
    let mut turn = match &request.context.cue {
        _ if is_failure => say(UNHELPFUL.to_owned()),
        Some(cue) => cue::follow(cue, request, key),
        None => agent::speak(request, key),
    };
    if let Some(lengths) = behaviour.tokens {
        lengthen(&mut turn.text, u64::from(lengths.draw(key.text("length"))), key);
    }
    turn
}

fn scripted(rule: &Rule, key: Key) -> agent::Turn {
    let call = |(index, call): (usize, &ScriptedCall)| FunctionCall {
        id: format!("call_{:016x}", key.text(&call.name).number(index as u64).value()),
        name: call.name.clone(),
        arguments: serde_json::Value::Object(call.arguments.clone()).to_string(),
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

/// Adds filler sentences until the reply has the drawn length.
fn lengthen(text: &mut String, wanted: u64, key: Key) {
    const MORE: [&str; 4] = [
        " Take all the time that you need.",
        " Every point can be looked at again later.",
        " Nothing is lost if a part has to be repeated.",
        " It is fine to go one part at a time.",
    ];
    let mut round = 0;
    while tokens::of_text(text) < wanted {
        let more = key.text("more").number(round).pick(&MORE);
        let room = (wanted - tokens::of_text(text)) as usize * 4;
        text.push_str(&more[..more.len().min(room)]);
        round += 1;
    }
}

fn finish(turn: agent::Turn, request: &Request) -> Answer {
    let agent::Turn { mut text, tool_calls, actions, notes } = turn;
    let mut finish = if tool_calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
    if let Some(most) = request.max_tokens.filter(|most| tokens::of_text(&text) > u64::from(*most)) {
        let room = most as usize * 4;
        let end = (0..=room).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        finish = Finish::Length;
    }
    let called: u64 =
        tool_calls.iter().map(|call| tokens::of_text(&call.name) + tokens::of_text(&call.arguments)).sum();
    let input = tokens::of_messages(request.messages.iter().map(|message| message.content.as_str()));
    let usage = Usage { input, output: tokens::of_text(&text) + called, ..Usage::default() };
    Answer { text, tool_calls, actions, notes, finish, usage, is_failure: false }
}
