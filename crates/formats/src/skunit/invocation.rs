//! A scenario of one question and one answer: a prompt with its parameters, the answer, and its checks.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::Regex;

use super::{
    checks, markdown,
    page::{Item, Page},
    statement::Keyword,
    values::Values,
};
use scenario::{Action, Check, Message, Step, message::Speaker};
use yaml::{Findings, Spot};

/// The parameter that replaces a missing prompt.
const INPUT: &str = "input";

static VARIABLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{\{\s*\$(\w+)\s*\}\}").expect("the pattern is written here"));

/// The one step of the scenario.
pub(super) fn read(page: &Page<'_>, values: &Values, timeout_ms: u64, findings: &mut Findings) -> Vec<Step> {
    let mut invocation =
        Invocation { page, values, prompt: None, parameters: BTreeMap::new(), answer: None, checks: Vec::new() };
    for item in &page.items {
        invocation.take(item, findings);
    }
    invocation.take_bare_input();
    let Some(asked) = invocation.asked(findings) else { return Vec::new() };
    if invocation.checks.is_empty() {
        let first = page.items.first().map_or_else(Default::default, |item| item.at);
        findings.warning(first, "the scenario has no check, so it has no verdict");
        findings
            .help("name a check after `ANSWER`, such as `## ANSWER SemanticSimilar`, or write a `### CHECK` below it");
    }
    let line =
        invocation.answer.as_ref().map_or_else(|| page.items.first().map_or(1, |item| item.at.line), |(_, at)| at.line);
    let expected = invocation.answer.map(|(text, _)| Message::text_of(Speaker::Agent, text));
    let action = Action::Say { messages: vec![Message::user(asked)], expected, timeout_ms };
    vec![Step { name: None, action, checks: invocation.checks, line }]
}

struct Invocation<'a> {
    page: &'a Page<'a>,
    values: &'a Values,
    prompt: Option<(String, Spot)>,
    parameters: BTreeMap<String, (String, Spot)>,
    answer: Option<(String, Spot)>,
    checks: Vec<Check>,
}

impl Invocation<'_> {
    fn take(&mut self, item: &Item<'_>, findings: &mut Findings) {
        let text = self.values.fill(&item.text(&self.page.source));
        match item.statement.keyword {
            Keyword::Prompt => {
                if let Some((_, at)) = self.prompt.replace((text, item.at)) {
                    findings.error(item.at, format!("there is a `PROMPT` already (line {})", at.line));
                }
            }
            Keyword::Parameter => {
                let name = item.statement.rest.to_owned();
                if name.is_empty() {
                    findings.error(item.at, "the parameter has no name");
                    findings.help("for example `## PARAMETER input`");
                } else if let Some((_, at)) = self.parameters.insert(name.clone(), (text, item.at)) {
                    findings.error(item.rest_at, format!("there is a parameter `{name}` already (line {})", at.line));
                }
            }
            Keyword::Answer => {
                if let Some((_, at)) = self.answer.replace((text, item.at)) {
                    findings.error(item.at, format!("there is an `ANSWER` already (line {})", at.line));
                    findings.help("a scenario asks one question; start a new scenario with a line of five dashes");
                }
                if !item.statement.rest.is_empty() {
                    self.check(item, findings);
                }
            }
            Keyword::Check => {
                if self.answer.is_none() && item.body.is_empty() && item.statement.rest.is_empty() {
                    findings.error(item.at, "there is no `ANSWER` before it");
                } else {
                    self.check(item, findings);
                }
            }
            Keyword::Call => {
                findings.error(item.at, "`CALL` needs a conversation, and this scenario has none");
            }
            Keyword::Scenario | Keyword::User | Keyword::Agent | Keyword::System | Keyword::Tool => {}
        }
    }

    fn check(&mut self, item: &Item<'_>, findings: &mut Findings) {
        let expected = self.answer.as_ref().map(|(text, _)| text.as_str());
        self.checks.extend(checks::read(item, item.statement.rest, expected, self.page, self.values, findings));
    }

    /// Text without a `PARAMETER` is the input, if there is nothing else.
    fn take_bare_input(&mut self) {
        if self.parameters.contains_key(INPUT) {
            return;
        }
        let source = &self.page.source;
        let scenario = self.page.items.iter().find(|item| item.statement.keyword == Keyword::Scenario);
        let bodies = [Some(&self.page.preamble), scenario.filter(|_| self.prompt.is_none()).map(|item| &item.body)];
        if let Some(body) = bodies.into_iter().flatten().find(|body| !body.is_empty()) {
            let at = source.spot(body[0].range.start);
            let text = self.values.fill(&markdown::text_of(source.text, body));
            self.parameters.insert(INPUT.to_owned(), (text, at));
        }
    }

    /// The agent's question: the prompt with its variables filled, or else the input.
    fn asked(&self, findings: &mut Findings) -> Option<String> {
        let Some((prompt, at)) = &self.prompt else {
            let input = self.parameters.get(INPUT).map(|(text, _)| text.clone());
            if input.is_none() {
                let first = self.page.items.first().map_or_else(Default::default, |item| item.at);
                findings.error(first, "the question is missing: expected `PROMPT` or `PARAMETER input`");
            }
            self.warn_of_unused(&[INPUT], findings);
            return input;
        };
        let mut used = Vec::new();
        for found in VARIABLE.captures_iter(prompt) {
            let name = found.get(1).map_or("", |name| name.as_str());
            if !self.parameters.contains_key(name) {
                findings
                    .error(*at, format!("the prompt contains `{{{{${name}}}}}`, but there is no parameter `{name}`"));
                findings.help(yaml::suggest::known_names(name, self.parameters.keys().map(String::as_str)));
            }
            used.push(name);
        }
        self.warn_of_unused(&used, findings);
        let filled = VARIABLE.replace_all(prompt, |found: &regex::Captures<'_>| {
            self.parameters.get(&found[1]).map_or_else(|| found[0].to_owned(), |(text, _)| text.clone())
        });
        Some(filled.into_owned())
    }

    fn warn_of_unused(&self, used: &[&str], findings: &mut Findings) {
        for (name, (_, at)) in self.parameters.iter().filter(|(name, _)| !used.contains(&name.as_str())) {
            findings.warning(*at, format!("the agent never sees the parameter `{name}`"));
            findings.help(format!("write `{{{{${name}}}}}` in the `PROMPT`"));
        }
    }
}
