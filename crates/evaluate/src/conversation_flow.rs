//! `conversation_flow`: the conversation shows the required patterns.

use scenario::check::{self, FlowPattern};

use crate::{
    error::Error,
    evaluator::{Behaviour, Found},
    judge_pool::JudgePool,
    outcome::Outcome,
    question::{Material, Open, Question, yes_or_no},
    share::Share,
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

    /// Asks one question per pattern; the score is the share of patterns seen. A pattern that the judge cannot tell makes it
    /// a range. If the judge fails, the check ends: an unjudged pattern is neither seen nor missing.
    async fn ask(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        if subject.turns.is_empty() {
            return Outcome::nothing_said();
        }
        let material = Material::of_turns(subject.turns, subject.steps);
        let (mut seen, mut counted, mut share) = (0_u32, 0_u32, Share::default());
        let (mut findings, mut ballots) = (Vec::with_capacity(self.patterns.len()), Vec::new());
        for pattern in &self.patterns {
            let (name, text) = worded(*pattern);
            let question = Question::about(subject, text, &material);
            match yes_or_no(&question, pool).await {
                Ok(answer) => {
                    share.add_answer(answer.said);
                    seen += u32::from(answer.said == Ok(true));
                    counted += u32::from(answer.said != Err(Open::NotApplicable));
                    findings.push(format!("{name}: {}", word_of(answer.said)));
                    ballots.extend(answer.ballots.into_iter().map(|ballot| ballot.about(name)));
                }
                Err(error) => return Outcome::from(error).about(name).after(ballots),
            }
        }
        let outcome = match share.bounds() {
            None => Outcome::not_applicable("no pattern applies to this conversation"),
            Some(_) => {
                let required = self.threshold * 100.0;
                let reason = format!("{seen} of {counted} patterns seen ({share}), required {required:.1}%");
                share.outcome(self.threshold, reason)
            }
        };
        outcome.with_evidence(&findings.join("; ")).with_ballots(ballots)
    }
}

impl Behaviour for ConversationFlow {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.ask(subject, pool))
    }
}

fn word_of(said: Result<bool, Open>) -> &'static str {
    match said {
        Ok(true) => "yes",
        Ok(false) => "no",
        Err(Open::NotApplicable) => "not applicable",
        Err(Open::CannotTell) => "cannot tell",
    }
}

/// The name of a pattern, and the question that detects it.
fn worded(pattern: FlowPattern) -> (&'static str, &'static str) {
    match pattern {
        FlowPattern::QuestionThenAnswer => (
            "question_then_answer",
            "Is there a place where the agent asks the user something and the user then answers it? If there is none, \
             the answer is no.",
        ),
        FlowPattern::ProblemThenSolution => (
            "problem_then_solution",
            "Does the user describe a problem to which the agent later offers a concrete solution? If the user \
             describes none, the answer is no.",
        ),
        FlowPattern::ClarificationCycle => (
            "clarification_cycle",
            "Do the user and the agent go back and forth to make something clear, with at least one request for \
             clarification that is then answered? If nothing is made clear, the answer is no.",
        ),
        FlowPattern::EmpathyThenSolution => (
            "empathy_then_solution",
            "Does the agent show understanding for how the user feels before it offers a solution? If it offers none, \
             the answer is no.",
        ),
        FlowPattern::EscalationPattern => (
            "escalation_pattern",
            "Is the matter handed or offered to a person, a specialist or a higher level of support where it \
             needs to be?",
        ),
    }
}
