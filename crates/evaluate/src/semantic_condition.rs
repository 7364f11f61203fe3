//! `semantic_condition`: a judge finds that the text meets a condition.

use scenario::check;

use crate::{
    error::Error,
    evaluator::{Behaviour, Found},
    judge_pool::JudgePool,
    outcome::Outcome,
    semantic::{ask, decide},
    subject::Subject,
};

#[derive(Debug)]
pub(crate) struct SemanticCondition {
    question: String,
}

impl SemanticCondition {
    pub(crate) fn new(rule: &check::SemanticCondition) -> Result<Self, Error> {
        let condition = rule.condition.trim();
        if condition.is_empty() {
            return Err(Error::Empty { field: "condition" });
        }
        let question = format!(
            "Does `text` meet this condition, by its meaning and not by its exact words? A text without what the condition \
             asks for does not meet it. The condition: {condition}"
        );
        Ok(Self { question })
    }

    async fn ask(&self, subject: &Subject<'_>, pool: &dyn JudgePool) -> Outcome {
        match ask(&self.question, subject.said, subject, pool, false).await {
            Ok((yes, answer)) => {
                let verb = if yes { "meets" } else { "does not meet" };
                decide(yes, format!("the text {verb} the condition"), &answer)
            }
            Err(outcome) => outcome,
        }
    }
}

impl Behaviour for SemanticCondition {
    fn find<'a>(&'a self, subject: &'a Subject<'a>, pool: &'a dyn JudgePool) -> Found<'a> {
        Found::asking(self.ask(subject, pool))
    }
}
