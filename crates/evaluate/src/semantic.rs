//! Asks a judge about the meaning of a text that it sees alone.

use crate::{
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    question::{Answer, Material, Question, how_sure, yes_or_no},
    subject::Subject,
};

/// `by_threshold`: an unsure yes is below the threshold, not a contradiction.
pub(crate) async fn ask(
    question: &str,
    text: &str,
    subject: &Subject<'_>,
    pool: &dyn JudgePool,
    by_threshold: bool,
) -> Result<Answer, Outcome> {
    let material = Material::of_texts(&[("text", text)]);
    let question = Question::about(subject, question, &material);
    let answer = if by_threshold { how_sure(&question, pool).await } else { yes_or_no(&question, pool).await };
    answer.map_err(Outcome::from)
}

pub(crate) fn decide(holds: bool, what: String, answer: &Answer) -> Outcome {
    let mut reason = format!("the judge finds that {what}");
    if !answer.reasoning.is_empty() {
        reason.push_str(": ");
        reason.push_str(&excerpt(&answer.reasoning, 8 * SHORT_BYTES));
    }
    Outcome::decided(holds, reason).with_score(answer.confidence).with_ballots(answer.ballots.clone())
}
