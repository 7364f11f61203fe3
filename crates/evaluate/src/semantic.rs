//! Asks a judge about the meaning of a text, without its conversation.

use crate::{
    excerpt::{SHORT_BYTES, excerpt},
    judge_pool::JudgePool,
    outcome::Outcome,
    question::{Answer, Material, Question, how_sure, yes_or_no},
    subject::Subject,
};

/// Whether the answer is yes, and the answer. `by_threshold`: an unsure yes is below the threshold, not a contradiction.
pub(crate) async fn ask(
    question: &str,
    text: &str,
    subject: &Subject<'_>,
    pool: &dyn JudgePool,
    by_threshold: bool,
) -> Result<(bool, Answer), Outcome> {
    let material = Material::of_texts(&[("text", text)]);
    let question = Question::about(subject, question, &material);
    let answer = if by_threshold { how_sure(&question, pool).await } else { yes_or_no(&question, pool).await };
    let answer = answer?;
    match answer.said {
        Ok(yes) => Ok((yes, answer)),
        Err(open) => Err(Outcome::open_with(open, &answer.reasoning, answer.ballots)),
    }
}

pub(crate) fn decide(holds: bool, what: String, answer: &Answer) -> Outcome {
    let reason = format!("the judge finds that {what}: {}", excerpt(&answer.reasoning, 8 * SHORT_BYTES));
    Outcome::decided(holds, reason).with_score(answer.confidence).with_ballots(answer.ballots.clone())
}
