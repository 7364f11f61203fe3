//! `--log skunit`: every message and finding of a run, under the headings of skUnit.

use std::collections::BTreeMap;

use record::{
    Finding, Judgment, Trial, Turn, Verdict,
    turn::{self, Origin},
};
use scenario::{Action, Case, Check, Message, Plan, Rule, Scenario, Step, check, message::Part};

use crate::form::{Form, Make};

pub const FORM: Form = Form {
    name: "skunit",
    about: "Every message and finding, under the headings of skUnit",
    file: None,
    make: Make::SkunitLog,
};

const BETWEEN_SCENARIOS: &str = "----------------------------------\n\n";

/// The log so far: trials are added in the plan's order, and each gives its lines.
#[derive(Debug)]
pub struct Log {
    plan: Plan,
    /// The case that was added last.
    case: Option<(Case, Option<Scenario>)>,
    /// Cases that have not ended: the plan plays the first round of all cases first.
    open: BTreeMap<u64, Rounds>,
}

/// Rounds of one case.
#[derive(Debug, Clone, Copy, Default)]
struct Rounds {
    played: u32,
    passed: u64,
    /// They failed, or the agent broke.
    failed: u64,
}

impl Log {
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Self { plan, case: None, open: BTreeMap::new() }
    }

    /// The lines of one trial, without terminal control characters.
    #[must_use]
    pub fn add(&mut self, trial: &Trial, turns: &[Turn]) -> String {
        let mut page = String::new();
        if self.case.as_ref().is_none_or(|(case, _)| case.number != trial.case) {
            if self.case.is_some() {
                page.push_str(BETWEEN_SCENARIOS);
            }
            let Some(case) = self.plan.case(trial.case) else { return page };
            let scenario = self.plan.scenario(&case, formats::ALL).ok();
            heading(&mut page, &case, scenario.as_ref());
            self.case = Some((case, scenario));
        }
        let Some((case, scenario)) = &self.case else { return page };
        let group = self.plan.groups.get(case.group);
        let rounds = group.map_or(1, |group| group.repeats);
        if rounds > 1 {
            page.push_str(&format!("# ROUND {}\n\n", trial.repeat + 1));
        }
        let steps = scenario.as_ref().map_or(&[][..], |scenario| &scenario.steps);
        for (step, number) in steps.iter().zip(1..) {
            round_of_step(&mut page, step, number, trial, turns);
        }
        if let Some(failure) = trial.failure.as_ref().filter(|_| trial.verdict != Verdict::Fail) {
            page.push_str(&format!("❌ Exception: {}\n\n", failure.message));
        }
        let of = self.open.entry(trial.case).or_default();
        of.played += 1;
        let failed = trial.is_held_against_agent() || trial.is_replayed_failure();
        of.failed += u64::from(failed);
        of.passed += u64::from(trial.verdict == Verdict::Pass && !failed);
        let of = *of;
        if of.played == rounds {
            self.open.remove(&trial.case);
            if rounds > 1 {
                page.push_str(&of.line());
            }
        }
        page.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
    }
}

impl Rounds {
    /// A count without a verdict: whether the case passed is decided by the gates of the run, which see all cases.
    fn line(self) -> String {
        let Self { played, passed, failed } = self;
        let open = u64::from(played).saturating_sub(passed + failed);
        let open = match open {
            0 => String::new(),
            1 => ", 1 says nothing about the agent".to_owned(),
            more => format!(", {more} say nothing about the agent"),
        };
        format!("{passed} of {played} rounds passed{open}\n\n")
    }
}

fn heading(page: &mut String, case: &Case, scenario: Option<&Scenario>) {
    let name = scenario.map_or(case.scenario.as_str(), |scenario| &scenario.name);
    page.push_str(&format!("# SCENARIO {name}\n\n"));
    if scenario.is_some_and(|scenario| scenario.expect_failure) {
        page.push_str("Expected to fail.\n\n");
    }
    for (parameter, value) in &case.parameters {
        page.push_str(&format!("{parameter}: {value}\n"));
    }
    if !case.parameters.is_empty() {
        page.push('\n');
    }
}

fn round_of_step(page: &mut String, step: &Step, number: u32, trial: &Trial, turns: &[Turn]) {
    for turn in turns.iter().filter(|turn| turn.step == number) {
        let said = match &step.action {
            Action::Say { messages, .. } => messages.as_slice(),
            _ => &[],
        };
        for message in said {
            section(page, &format!("## [{}]", message.speaker.name().to_uppercase()), &shown(message));
        }
        if said.is_empty() && !turn.user.is_empty() {
            let who = if turn.speaker == Origin::Program { "PROGRAM" } else { "USER" };
            section(page, &format!("## [{who}]"), &turn.user);
        }
        if let Action::Say { expected: Some(expected), .. } = &step.action {
            section(page, "## [EXPECTED ANSWER]", &shown(expected));
        }
        if let (Some(answer), true) = (&turn.agent, turn.messages.is_empty()) {
            section(page, "### [ACTUAL ANSWER]", answer);
        }
        for part in turn.parts() {
            match part {
                turn::Part::Called(call) => section(page, &format!("### [TOOL CALL] {}", call.name), &call.arguments),
                turn::Part::Said(text) if !turn.messages.is_empty() => section(page, "### [ACTUAL ANSWER]", text),
                turn::Part::Said(_) => {}
            }
        }
    }
    let judgments = trial.judgments.iter().filter(|judgment| judgment.scope.step() == number);
    let mut checks = step.checks.iter();
    for judgment in judgments {
        let check = match judgment.scope {
            record::Scope::Step { .. } => checks.next(),
            record::Scope::Turn { .. } | record::Scope::Conversation { .. } => None,
        };
        verdict(page, judgment, check);
    }
}

fn section(page: &mut String, heading: &str, text: &str) {
    page.push_str(heading);
    page.push('\n');
    if !text.is_empty() {
        page.push_str(text);
        page.push('\n');
    }
    page.push('\n');
}

fn verdict(page: &mut String, judgment: &Judgment, check: Option<&Check>) {
    page.push_str(&match check.map(|check| &check.rule) {
        Some(Rule::Call(rule)) => format!("### CALL {}.{}\n", rule.plugin, rule.function),
        _ => format!("### CHECK {}\n", check.map_or(judgment.check.as_str(), kind)),
    });
    if let Some(description) = judgment.description.as_deref().filter(|text| !text.is_empty()) {
        page.push_str(description);
        page.push('\n');
    }
    match judgment.finding {
        Finding::Pass => page.push_str("✅ OK\n\n"),
        Finding::Fail => page.push_str(&format!("❌ FAIL\nReason:\n{}\n\n", judgment.reason)),
        Finding::Inconclusive | Finding::Error => {
            page.push_str(&format!("❌ Exception: {}\n\n", judgment.reason));
        }
        Finding::NotApplicable => page.push_str(&format!("Not applicable: {}\n\n", judgment.reason)),
    }
}

/// The kinds as the logs of skUnit call them.
fn kind(check: &Check) -> &str {
    match &check.rule {
        Rule::SemanticCondition(_) => "Condition",
        Rule::SemanticSimilar(_) => "Similar",
        Rule::Contains(check::Contains { any: false, .. }) => "ContainsAll",
        Rule::Contains(check::Contains { any: true, .. }) => "ContainsAny",
        Rule::Equals(check::Equals { values, .. }) if values.len() > 1 => "IsAnyOf",
        Rule::Equals(_) => "Equals",
        Rule::Empty(_) if check.negated => "NotEmpty",
        Rule::Empty(_) => "Empty",
        Rule::JsonCheck(_) => "JsonCheck",
        Rule::ToolCalls(check::ToolCallsRule { .. }) => "FunctionCall",
        other => other.kind(),
    }
}

fn shown(message: &Message) -> String {
    let parts: Vec<String> = message
        .parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Image(address) => format!("![image]({address})"),
        })
        .collect();
    parts.join("\n")
}
