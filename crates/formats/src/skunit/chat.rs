//! A conversation: turns in order, and the checks of the agent's turns.

use super::{
    call, checks,
    page::{Item, Page},
    speech,
    statement::Keyword,
    values::Values,
};
use scenario::{Action, Check, Message, Step, message::Speaker};
use yaml::Findings;

/// The steps of a conversation; each ends with an `[AGENT]` turn.
pub(super) fn read(page: &Page<'_>, values: &Values, timeout_ms: u64, findings: &mut Findings) -> Vec<Step> {
    let mut chat = Chat {
        page,
        values,
        timeout_ms,
        steps: Vec::new(),
        said: Vec::new(),
        waiting: Vec::new(),
        under: Under::Nothing,
    };
    for item in &page.items {
        chat.take(item, findings);
    }
    chat.finish(findings)
}

struct Chat<'a> {
    page: &'a Page<'a>,
    values: &'a Values,
    timeout_ms: u64,
    steps: Vec<Step>,
    /// The messages since the agent's last turn, each with its heading.
    said: Vec<(&'a Item<'a>, Message)>,
    /// Calls since the agent's last turn, to be judged with the next.
    waiting: Vec<Check>,
    under: Under<'a>,
}

/// The parent of a check.
enum Under<'a> {
    Nothing,
    Agent,
    /// Another turn, by its heading.
    Other(&'a Item<'a>),
    Call,
}

impl<'a> Chat<'a> {
    fn take(&mut self, item: &'a Item<'a>, findings: &mut Findings) {
        let speaker = match item.statement.keyword {
            Keyword::Agent => Speaker::Agent,
            Keyword::User => Speaker::User,
            Keyword::System => Speaker::System,
            Keyword::Tool => Speaker::Tool,
            Keyword::Check => return self.check(item, findings),
            Keyword::Call => return self.call(item, findings),
            Keyword::Scenario | Keyword::Prompt | Keyword::Parameter | Keyword::Answer => return,
        };
        let word = item.statement.word;
        if !item.statement.rest.is_empty() {
            findings
                .warning(item.rest_at, format!("`{}` is on the line of `{word}`, and is ignored", item.statement.rest));
            findings.help("the message begins on the next line");
        }
        let message = speech::message(item, speaker, self.page, self.values, findings);
        if speaker == Speaker::Agent {
            let messages = std::mem::take(&mut self.said).into_iter().map(|(_, message)| message).collect();
            self.steps.push(Step {
                name: None,
                action: Action::Say { messages, expected: Some(message), timeout_ms: self.timeout_ms },
                checks: std::mem::take(&mut self.waiting),
                line: item.at.line,
            });
            self.under = Under::Agent;
            return;
        }
        if item.body.is_empty() {
            findings.warning(item.at, format!("there is no text below `{word}`: gabfest sends an empty message"));
        }
        self.said.push((item, message));
        self.under = Under::Other(item);
    }

    fn check(&mut self, item: &Item<'_>, findings: &mut Findings) {
        let word = item.statement.word;
        let expected = match (&self.under, self.steps.last()) {
            (Under::Agent, Some(Step { action: Action::Say { expected: Some(expected), .. }, .. })) => {
                Some(expected.text())
            }
            _ => None,
        };
        let check = checks::read(item, item.statement.rest, expected.as_deref(), self.page, self.values, findings);
        match self.under {
            Under::Nothing => {
                findings.error(item.at, format!("`{word}` is before the first turn"));
                findings.help(format!("write `{word}` below the `[AGENT]` turn that it checks"));
            }
            Under::Other(turn) => {
                let (turn, line) = (turn.statement.word, turn.at.line);
                findings.error(
                    item.at,
                    format!("`{word}` is below `{turn}` (line {line}), and only what the agent says is checked"),
                );
                findings.help(format!("write `{word}` below an `[AGENT]` turn"));
            }
            Under::Agent => self.steps.last_mut().into_iter().for_each(|step| step.checks.extend(check.clone())),
            Under::Call => {
                if let (Some(call), Some(check)) = (self.last_call(), check) {
                    call::add_check(call, check);
                }
            }
        }
    }

    /// The call that checks belong to: it waits for an `[AGENT]` turn, or follows the last one.
    fn last_call(&mut self) -> Option<&mut Check> {
        let waits = !self.waiting.is_empty();
        if waits { self.waiting.last_mut() } else { self.steps.last_mut()?.checks.last_mut() }
    }

    fn call(&mut self, item: &Item<'_>, findings: &mut Findings) {
        let spoken = self.spoken();
        if let Some(check) = call::read(item, &spoken, self.page, self.values, findings) {
            // There is no message since the agent's last turn: the call is about that turn.
            match self.steps.last_mut().filter(|_| self.said.is_empty()) {
                Some(step) => step.checks.push(check),
                None => self.waiting.push(check),
            }
            self.under = Under::Call;
        }
    }

    /// All messages of the file so far, as written.
    fn spoken(&self) -> Vec<Message> {
        let before = self.steps.iter().flat_map(|step| {
            let Action::Say { messages, expected, .. } = &step.action else { return Vec::new() };
            messages.iter().chain(expected).cloned().collect()
        });
        before.chain(self.said.iter().map(|(_, message)| message.clone())).collect()
    }

    fn finish(self, findings: &mut Findings) -> Vec<Step> {
        if let Some((item, _)) = self.said.first() {
            let word = item.statement.word;
            findings.warning(item.at, format!("this `{word}` is never sent, because no `[AGENT]` turn follows"));
            findings.help("add an `[AGENT]` turn; it can be empty");
        }
        if !self.steps.is_empty() && self.steps.iter().all(|step| step.checks.is_empty()) {
            let first = self.page.items.first().map_or_else(Default::default, |item| item.at);
            findings.warning(first, "the scenario has no check, so it has no verdict");
            findings.help(
                "write `### CHECK SemanticSimilar` below an `[AGENT]` turn to compare its answer with the text there",
            );
        }
        for check in self.steps.iter().flat_map(|step| &step.checks).chain(&self.waiting) {
            call::survey(check, findings);
        }
        self.steps
    }
}
