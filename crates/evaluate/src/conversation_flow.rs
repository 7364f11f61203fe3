//! `conversation_flow`: the conversation shows the required patterns.

use scenario::check::{self, FlowPattern};

use crate::{
    error::Error,
    evaluator::{Behaviour, Found},
    judge_pool::JudgePool,
    outcome::Outcome,
    question::{Material, Question, yes_or_no},
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct ConversationFlow {
    patterns: Vec<FlowPattern>,
    /// 0 to 1: the share of patterns that must be seen.
    threshold: f64,
}

impl ConversationFlow {
    pub(crate) fn new(rule: &check::ConversationFlow) -> Result<Self, Error> {
        if rule.required_patterns.is_empty() {
            return Err(Error::Empty { field: "required_patterns" });
        }
        Ok(Self { patterns: rule.required_patterns.clone(), threshold: rule.flow_quality_threshold.0 })
    }

    /// Asks one question per pattern; the score is the share of patterns seen. If the judge fails, the check ends: an
    /// unjudged pattern is neither seen nor missing.
    async fn ask(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        if subject.turns.is_empty() {
            return Outcome::nothing_said();
        }
        let material = Material::of_turns(subject.turns);
        let (mut seen, mut findings, mut ballots) = (0_u32, Vec::with_capacity(self.patterns.len()), Vec::new());
        for pattern in &self.patterns {
            let (name, text) = worded(*pattern);
            let question = Question::about(subject, text, &material);
            match yes_or_no(&question, pool).await {
                Ok(answer) => {
                    seen += u32::from(answer.yes);
                    findings.push(format!("{name}: {}", if answer.yes { "yes" } else { "no" }));
                    ballots.extend(answer.ballots.into_iter().map(|ballot| ballot.about(name)));
                }
                Err(error) => return error.into(),
            }
        }
        let score = f64::from(seen) / self.patterns.len() as f64;
        let reason = format!(
            "{seen} of {} patterns seen ({:.1}%), required {:.1}%",
            self.patterns.len(),
            score * 100.0,
            self.threshold * 100.0
        );
        let outcome = Outcome::decided(score >= self.threshold, reason).with_score(score);
        outcome.with_evidence(&findings.join("; ")).with_ballots(ballots)
    }
}

impl Behaviour for ConversationFlow {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.ask(subject, pool))
    }
}

/// The name of a pattern, and the question that detects it.
fn worded(pattern: FlowPattern) -> (&'static str, &'static str) {
    match pattern {
        FlowPattern::QuestionThenAnswer => (
            "question_then_answer",
            "Is there a place where the agent asks the user something and the user then answers it?",
        ),
        FlowPattern::ProblemThenSolution => (
            "problem_then_solution",
            "Does the user describe a problem to which the agent later offers a concrete solution?",
        ),
        FlowPattern::ClarificationCycle => (
            "clarification_cycle",
            "Do the user and the agent go back and forth to make something clear, with at least one request for \
             clarification that is then answered?",
        ),
        FlowPattern::EmpathyThenSolution => (
            "empathy_then_solution",
            "Does the agent show understanding for how the user feels before it offers a solution?",
        ),
        FlowPattern::EscalationPattern => (
            "escalation_pattern",
            "Is the matter handed or offered to a person, a specialist or a higher level of support where it \
             needs to be?",
        ),
    }
}
