//! Asks the simulated user's model for the next line of the person that it plays.
//!
//! The crate `user` says what the model sees, what its answer means, and why a draft is refused. A model that fails or
//! answers nothing is our fault and ends the trial: no line is ever made up for it.

use agent::Tools;
use record::{
    Failure, FailureKind, bounds,
    turn::ToolCall,
    user_fault::{FaultKind, Severity, UserFault},
};
use scenario::{ids::seed_of, user::ReplyForm};
use user::{Draft, Prompt, Refusal, Situation, TemplateError, User, UserCall, faults::Found};

/// Drafts that go back for one line.
const MOST_SENT_BACK: u32 = 2;
/// Calls of the user's tools for one line.
const MOST_CALLS: usize = 4;
/// The longest result of a tool that the user's model sees.
const MOST_RESULT_BYTES: usize = 16 << 10;

/// Tokens that the keys and the thought of a JSON reply need in addition to the text.
const JSON_TOKENS: u32 = 200;

/// A draft and what led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Drafted {
    pub(crate) draft: Draft,
    /// The whole prompt, one block for each message.
    pub(crate) prompt_for_debug: String,
    /// Drafts that went back before this one.
    pub(crate) sent_back: u32,
    /// Turns that the model saw only in a summary.
    pub(crate) summed_up: u32,
    /// The calls of the user's own tools before this draft.
    pub(crate) calls: Vec<ToolCall>,
}

/// A refused draft that can be sent: its faults, if any, are minor.
#[derive(Debug)]
struct Spare {
    draft: Draft,
    found: Vec<Found>,
    is_doubted: bool,
}

/// Asks `model` for the person's next line. Silence, a cut answer and an objection each cost at most one more call.
///
/// A draft with a fault, or in doubt, is refused at most twice: the prompt then gives the reason ([`Refusal`]), and the temperature
/// rises. After that, the last draft is sent, or a [spare](Spare) one that is better. If all have a critical fault, the line fails.
///
/// `context`: of the first call. `debug`: keep the prompt. `tools`: the user's. `faults`: collects the faults of the
/// drafts.
pub(crate) async fn draft(
    user: &User<'_>,
    situation: &Situation<'_>,
    model: &dyn llm::Chat,
    context: llm::Context,
    debug: bool,
    tools: Option<&Tools>,
    faults: &mut Vec<UserFault>,
) -> Result<Drafted, Failure> {
    let Prompt { messages, schema, summed_up } = user.prompt(situation, None).map_err(|error| misconfigured(&error))?;
    let prompted = messages.len();
    let mut request = request(user, situation, messages, schema, context);
    let (mut was_silent, mut was_cut, mut was_objected, mut calls) = (false, false, false, 0);
    let mut refusal = Refusal::default();
    let mut spare: Option<Spare> = None;
    let mut made: Vec<ToolCall> = Vec::new();
    loop {
        let reply = model.ask(&request).await.map_err(|error| failure(&error))?;
        calls += 1;
        if reply.finish == llm::chat::Finish::Refused {
            return Err(refused(&reply.text));
        }
        let is_cut = reply.finish == llm::chat::Finish::Length;
        let draft = user.read(reply.text);
        // More room for words of the other side would only give more of them.
        let is_flipped = || is_flipped(&user.faults(&draft, instructions(&request), situation));
        if is_cut && !(refusal.drafts() < MOST_SENT_BACK && is_flipped()) {
            if was_cut {
                return Err(failed(format!(
                    "the simulated user's line was cut twice, at {} tokens at last",
                    request.max_tokens.unwrap_or_default()
                )));
            }
            was_cut = true;
            request.max_tokens = request.max_tokens.map(|most| most.saturating_mul(2));
        } else if let Some((tools, call)) = tools.zip(draft.call.as_ref()).filter(|_| made.len() < MOST_CALLS) {
            // Boxed: few users have tools, and the future of every trial would have room for them.
            let result = Box::pin(use_tool(tools, call)).await;
            let words = format!("The result of {}: {result}\nUse another tool, or write your next message.", call.tool);
            let id = format!("user_{}_{}", situation.line, made.len() + 1);
            let (name, arguments) = (call.tool.clone(), call.arguments.clone());
            made.push(ToolCall { id, name, arguments, result: Some(result) });
            request.messages.push(llm::Message::assistant(draft.raw));
            request.messages.push(llm::Message::user(words));
        } else if draft.is_empty() {
            if was_silent {
                return Err(said_nothing(calls, &draft.raw));
            }
            was_silent = true;
            if draft.call.is_some() {
                request.messages.push(llm::Message::assistant(draft.raw));
                let words = format!("You have used your tools {MOST_CALLS} times. Write your next message now.");
                request.messages.push(llm::Message::user(words));
            }
        } else {
            let situation = &Situation { calls: &made, ..*situation };
            let found = user.faults(&draft, instructions(&request), situation);
            let objection = user.objection(&draft, situation).filter(|_| !was_objected);
            let doubt = user.doubt(&draft, situation);
            if refusal.drafts() < MOST_SENT_BACK && (objection.is_some() || doubt.is_some() || !found.is_empty()) {
                was_objected |= objection.is_some();
                let is_passable = objection.is_none() && !is_critical(&found);
                refusal.add(&found, doubt.as_ref(), objection);
                faults.extend(found.iter().cloned().map(|fault| kept(fault, false)));
                let is_better = spare.as_ref().is_none_or(|spare| spare.is_doubted && doubt.is_none());
                if is_passable && is_better {
                    spare = Some(Spare { draft, found, is_doubted: doubt.is_some() });
                }
                // What the tools have said stays behind the new prompt.
                let again = user.prompt(situation, Some(&refusal)).map_err(|error| misconfigured(&error))?;
                request.messages.splice(..prompted, again.messages);
                request.temperature = Some(refusal.warmer(user.simulator().temperature));
            } else {
                let is_critical = is_critical(&found);
                let better = spare.filter(|spare| is_critical || doubt.is_some() && !spare.is_doubted);
                let (draft, found) = if is_critical || better.is_some() {
                    faults.extend(found.into_iter().map(|fault| kept(fault, false)));
                    let Spare { draft, found, .. } = better.ok_or_else(|| at_fault(refusal.drafts() + 1, faults))?;
                    (draft, found)
                } else {
                    (draft, found)
                };
                faults.extend(found.into_iter().map(|fault| kept(fault, true)));
                let prompt_for_debug = if debug { shown(&request.messages) } else { String::new() };
                let sent_back = refusal.drafts();
                return Ok(Drafted { draft, prompt_for_debug, sent_back, summed_up, calls: made });
            }
        }
        // Another call, not another try of the first: with its key and seed it would get the same answer.
        request.context.call += 1;
        request.context.idempotency_key.push_str("/again");
        request.seed = Some(seed_of(&[&situation.seed.to_le_bytes(), &calls.to_le_bytes()]));
    }
}

/// The result of a call as text. A call of an unknown tool has a result too, so that the model can continue.
async fn use_tool(tools: &Tools, call: &UserCall) -> String {
    let answer = tools.call_as_user(&call.tool, &agent::tools::read(&call.arguments)).await;
    let mut text = answer.map_or_else(|| format!("there is no tool {:?}", call.tool), |answer| answer.text());
    bounds::cut(&mut text, MOST_RESULT_BYTES);
    text
}

fn instructions(request: &llm::chat::Request) -> &str {
    request.messages.first().map_or("", |message| message.content.as_str())
}

/// Whether there are words of the other side. Thoughts and keys of a form that was cut are no words of a line yet.
fn is_flipped(found: &[Found]) -> bool {
    let has = |kind| found.iter().any(|fault| fault.kind == kind);
    has(FaultKind::RoleFlip) && !has(FaultKind::Leak)
}

fn is_critical(found: &[Found]) -> bool {
    found.iter().any(|fault| fault.severity == Severity::Critical)
}

fn kept(found: Found, sent: bool) -> UserFault {
    UserFault { kind: found.kind, severity: found.severity, sent, evidence: found.evidence }
}

fn at_fault(drafts: u32, faults: &[UserFault]) -> Failure {
    let last = faults.iter().rev().find(|fault| fault.severity == Severity::Critical);
    let why = last.map_or_else(String::new, |fault| format!(": {} ({})", fault.kind.name(), fault.evidence));
    failed(format!("the simulated user was at fault in {drafts} drafts{why}"))
}

/// The failure of a model whose answer had no text.
pub(crate) fn said_nothing(calls: u32, raw: &str) -> Failure {
    let said = if raw.trim().is_empty() { String::new() } else { format!(": it answered {raw:?}") };
    failed(format!("the simulated user said nothing, asked {calls} times{said}"))
}

/// A part of a line that a filter stopped is no line of the person.
fn refused(text: &str) -> Failure {
    let said = if text.trim().is_empty() { String::new() } else { format!(": it answered {text:?}") };
    failed(format!("the simulated user's model refused, or a filter stopped its line{said}"))
}

fn request(
    user: &User<'_>,
    situation: &Situation<'_>,
    messages: Vec<llm::Message>,
    schema: Option<serde_json::Value>,
    context: llm::Context,
) -> llm::chat::Request {
    let simulator = user.simulator();
    let more = if simulator.extras.reply == Some(ReplyForm::Json) { JSON_TOKENS } else { 0 };
    llm::chat::Request {
        messages,
        temperature: Some(simulator.temperature),
        max_tokens: Some(simulator.max_tokens + more),
        seed: Some(situation.seed),
        schema,
        context,
        ..llm::chat::Request::default()
    }
}

fn failed(message: String) -> Failure {
    Failure::new(FailureKind::SimulatorFailed, message)
}

pub(crate) fn misconfigured(error: &TemplateError) -> Failure {
    Failure::new(FailureKind::Misconfigured, error.to_string())
}

fn failure(error: &llm::Error) -> Failure {
    let kind = match error {
        llm::Error::Exhausted { .. } => FailureKind::ProviderExhausted,
        llm::Error::NoMoney { .. } => FailureKind::BudgetUsedUp,
        error if error.is_of_settings() => FailureKind::Misconfigured,
        _ => FailureKind::SimulatorFailed,
    };
    Failure::new(kind, format!("the simulated user's model failed: {error}"))
}

fn shown(messages: &[llm::Message]) -> String {
    let blocks: Vec<String> =
        messages.iter().map(|message| format!("[{}]\n{}", message.role.name(), message.content)).collect();
    blocks.join("\n\n")
}

#[cfg(test)]
mod tests;
