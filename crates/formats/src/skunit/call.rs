//! `## CALL Plugin.Function`: a question about the conversation, and checks of its result.

use serde_json::Value;

use super::{
    json::Json,
    page::{Item, Page},
    values::Values,
};
use scenario::{Check, Message, Rule, check::CallRule, message::Speaker};
use yaml::{Findings, Spot};

/// `spoken`: the conversation so far.
pub(super) fn read(
    item: &Item<'_>,
    spoken: &[Message],
    page: &Page<'_>,
    values: &Values,
    findings: &mut Findings,
) -> Option<Check> {
    let name = values.fill(item.statement.rest);
    let parts: Vec<&str> = name.split('.').map(str::trim).collect();
    let [plugin, function] = parts[..] else { return refuse(&name, item, findings) };
    if plugin.is_empty() || function.is_empty() {
        return refuse(&name, item, findings);
    }
    let said = Said::of(spoken);
    let mut arguments = vec![("input".to_owned(), said.input.clone()), ("history".to_owned(), said.history.clone())];
    if !item.body.is_empty() {
        let json = Json::read(item, page, values, findings)?;
        for (name, part) in json.root().entries() {
            let at = json.spot(part.spot());
            match part.value() {
                Value::String(text) => {
                    let Some(text) = said.value(text, at, findings) else { continue };
                    arguments.retain(|(known, _)| known != name);
                    arguments.push((name.to_owned(), text));
                }
                other => findings.error(at, format!("expected a text for the argument `{name}`, found {other}")),
            }
        }
    }
    let rule = CallRule { plugin: plugin.to_owned(), function: function.to_owned(), arguments, checks: Vec::new() };
    let check = Check::new(Rule::Call(rule), item.at.line);
    Some(Check { description: Some(name), ..check })
}

fn refuse(name: &str, item: &Item<'_>, findings: &mut Findings) -> Option<Check> {
    findings.error(item.rest_at, format!("`{name}` is not a function: expected a plugin, a dot and a function"));
    findings.help("for example `## CALL MyPlugin.GetIntent`");
    None
}

pub(super) fn add_check(call: &mut Check, check: Check) {
    if let Rule::Call(rule) = &mut call.rule {
        rule.checks.push(check);
    }
}

/// A call without checks of its result is not worth making.
pub(super) fn survey(check: &Check, findings: &mut Findings) {
    if let Rule::Call(rule) = &check.rule
        && rule.checks.is_empty()
    {
        let at = Spot::at(check.line, 0);
        findings.error(at, format!("the result of `{}.{}` is not checked", rule.plugin, rule.function));
        findings.help("write a `### CHECK` below the `CALL`, or remove the `CALL`");
    }
}

/// The values of variables in arguments.
struct Said {
    /// The last message of the user.
    input: String,
    /// The messages before that one.
    history: String,
    chat: String,
}

impl Said {
    fn of(spoken: &[Message]) -> Self {
        let last = spoken.iter().rposition(|message| message.speaker == Speaker::User);
        Self {
            input: last.map_or_else(String::new, |at| spoken[at].text()),
            history: lines(&spoken[..last.unwrap_or(0)]),
            chat: lines(spoken),
        }
    }

    fn value(&self, text: &str, at: Spot, findings: &mut Findings) -> Option<String> {
        match text {
            "$input" => Some(self.input.clone()),
            "$history" => Some(self.history.clone()),
            "$chat" => Some(self.chat.clone()),
            other if other.starts_with('$') => {
                findings.error(at, format!("unknown variable `{other}`"));
                findings.help("known: $input, $history, $chat");
                None
            }
            literal => Some(literal.to_owned()),
        }
    }
}

fn lines(messages: &[Message]) -> String {
    let name = |speaker: Speaker| if speaker == Speaker::Agent { "assistant" } else { speaker.name() };
    let lines: Vec<String> =
        messages.iter().map(|message| format!("[{}]: {}", name(message.speaker), message.text())).collect();
    lines.join("\n")
}
