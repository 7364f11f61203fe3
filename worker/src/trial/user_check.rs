//! `self_check: model`: a judge reads each line of the simulated user once the conversation is over.
//!
//! A line that the judge cannot judge is unknown, never clean.

use evaluate::question::{Material, Open, Question, yes_or_no};
use record::{
    Scope, Turn,
    user_fault::{FaultKind, Severity, UserFault},
};
use scenario::{conversation::Simulator, user::SelfCheck};

use super::{stage::Stage, user_conduct::BY_JUDGE};

/// What a line must be, as a question to which the good answer is yes.
#[derive(Debug, PartialEq, Eq)]
struct Rule {
    kind: FaultKind,
    severity: Severity,
    question: String,
}

/// Reads the lines of the conversation that began with the turn at `first_turn`.
pub(super) async fn check(stage: &mut Stage, step: u32, simulator: &Simulator, first_turn: usize) {
    if simulator.extras.self_check() != SelfCheck::Model {
        return;
    }
    let rules = rules(simulator);
    for index in 0..stage.progress.user_lines.len() {
        let number = stage.progress.user_lines[index].turn;
        let at = number as usize - 1;
        // A line that ended the talk was not sent.
        if at < first_turn || at >= stage.transcript.len() {
            continue;
        }
        let material = Material::of_turns(&stage.transcript.turns()[first_turn..=at], &[]);
        let told = results_of_tools(&stage.transcript.turns()[first_turn..=at]);
        // Turns are numbered from 1 in the material.
        let shown = at - first_turn + 1;
        let mut found = Vec::new();
        let mut unknown = false;
        for rule in &rules {
            let mut text = rule.question.replace(TURN, &shown.to_string());
            if rule.kind == FaultKind::InventedFact {
                text.push_str(&told);
            }
            let scope = Scope::Turn { step, turn: number };
            let question = Question::new(&text, &material, scope);
            match yes_or_no(&question, &stage.judges()).await {
                Ok(answer) => match is_clean(rule.kind, answer.said) {
                    Some(true) => {}
                    Some(false) => found.push(fault(rule, &answer.reasoning)),
                    None => unknown = true,
                },
                Err(_) => unknown = true,
            }
        }
        for fault in &found {
            stage.transcript.note("user_fault", format!("turn {number}: {}: {}", fault.kind.name(), fault.evidence));
        }
        let line = &mut stage.progress.user_lines[index];
        line.unknown |= unknown;
        // A fault that a rule has found counts once.
        found.retain(|fault| !line.faults.iter().any(|known| known.kind == fault.kind && known.sent));
        line.faults.append(&mut found);
    }
    stage.settle();
}

/// What an answer says of a line; `None`: nothing. A line without any number invents none, but every line is written from
/// some side, so a judge that finds the question not applicable has not judged it.
fn is_clean(kind: FaultKind, said: Result<bool, Open>) -> Option<bool> {
    match said {
        Ok(holds) => Some(holds),
        Err(Open::NotApplicable) => matches!(kind, FaultKind::InventedFact | FaultKind::Violation).then_some(true),
        Err(Open::CannotTell) => None,
    }
}

/// The results of the user's own tools. The material does not show them: the agent has not seen them.
fn results_of_tools(turns: &[Turn]) -> String {
    let results = turns.iter().flat_map(Turn::user_calls).filter_map(|call| call.result.as_deref());
    let results: Vec<&str> = results.collect();
    if results.is_empty() { String::new() } else { format!(" The user's tools said: {}.", results.join("; ")) }
}

fn fault(rule: &Rule, reason: &str) -> UserFault {
    let evidence = format!("{BY_JUDGE}{reason}");
    UserFault { kind: rule.kind, severity: rule.severity, sent: true, evidence }
}

/// The place of the turn's number in a question.
const TURN: &str = "{turn}";

fn rules(simulator: &Simulator) -> Vec<Rule> {
    let extras = &simulator.extras;
    let agent = extras.agent_is();
    let mut given = format!("{}; {}", simulator.persona, simulator.objective);
    for text in simulator.constraints.iter().map(String::as_str) {
        given.push_str(&format!("; {text}"));
    }
    for (name, fact) in extras.facts.iter() {
        given.push_str(&format!("; {name}: {}", fact.value));
    }
    for part in &extras.goal {
        given.push_str(&format!("; {}", part.text));
    }
    let of = |kind, severity, question: String| Rule { kind, severity, question };
    let mut rules = vec![
        of(
            FaultKind::RoleFlip,
            Severity::Critical,
            format!(
                "The user talks to {agent}. Is the user's message in turn {TURN} written from the user's side, so that it \
                 does not offer help, explain, teach or answer in the agent's place?"
            ),
        ),
        of(
            FaultKind::InventedFact,
            Severity::Minor,
            format!(
                "Is each number, date, amount, name and address in the user's message of turn {TURN} given to the user or \
                 said before that message? The user was given: {given}."
            ),
        ),
        of(
            FaultKind::Leak,
            Severity::Critical,
            format!(
                "Is the user's message in turn {TURN} free of instructions to a model, of thoughts about what to say, and of \
                 words about a role that is played?"
            ),
        ),
    ];
    rules.extend(extras.violations.iter().map(|violation| {
        let severity = if violation.critical { Severity::Critical } else { Severity::Minor };
        let text = violation.text.trim_end_matches('.');
        of(
            FaultKind::Violation,
            severity,
            format!("Is the user's message in turn {TURN} free of this: the user {text}?"),
        )
    }));
    rules
}

#[cfg(test)]
mod tests {
    use record::{
        Simulated,
        turn::{Origin, ToolCall},
    };

    use super::*;

    /// `--dry-run` counts them.
    #[test]
    fn there_are_as_many_rules_as_the_estimate_says() {
        let simulator: Simulator = serde_json::from_value(serde_json::json!({
            "model_type": "TEXT_LARGE", "temperature": 0.7, "max_tokens": 200, "persona": "p", "objective": "o",
            "style": null, "constraints": [], "emotional_state": null, "knowledge_level": "expert",
            "gabfest": { "self_check": "model", "violations": [{ "id": "rude", "text": "shouts" }] },
        }))
        .unwrap();
        assert_eq!(rules(&simulator).len() as u64, simulator.extras.self_check_questions());
    }

    #[test]
    fn a_line_that_is_not_judged_is_not_clean() {
        let said = [Ok(true), Ok(false), Err(Open::NotApplicable), Err(Open::CannotTell)];
        let of = |kind| said.map(|said| is_clean(kind, said));
        for kind in [FaultKind::InventedFact, FaultKind::Violation] {
            assert_eq!(of(kind), [Some(true), Some(false), Some(true), None], "{kind:?}");
        }
        for kind in [FaultKind::RoleFlip, FaultKind::Leak] {
            assert_eq!(of(kind), [Some(true), Some(false), None, None], "{kind:?}");
        }
    }

    #[test]
    fn a_judge_sees_the_results_of_the_users_tools() {
        let call = |result: &str| ToolCall {
            id: String::new(),
            name: "signal".to_owned(),
            arguments: "{}".to_owned(),
            result: Some(result.to_owned()),
        };
        let simulated = Simulated { calls: vec![call("code Q-1"), call("off")], ..Simulated::default() };
        let plain = Turn::new(1, 1, Origin::Scripted, "Hi.".to_owned(), 0);
        let with_calls = Turn { simulated: Some(Box::new(simulated)), ..plain.clone() };
        assert_eq!(results_of_tools(&[plain.clone(), with_calls]), " The user's tools said: code Q-1; off.");
        assert_eq!(results_of_tools(&[plain]), "");
    }
}
