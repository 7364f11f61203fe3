//! Questions with an answer: open ones by the content of the reply, closed ones by yes or no, and questions about the
//! chatter itself by its first answer.

use std::collections::HashMap;

use record::Ballot;
use scenario::battery::{Answer, DataSet, Part, Requirement, Test};
use serde_json::{Value, json};

use super::{closed, conversation::Conversation, row::Row};
use crate::{JudgePool, Scorer, scorer};

pub(super) async fn examine(
    conversation: &Conversation<'_>,
    requirement: Requirement,
    pool: &dyn JudgePool,
) -> Vec<Row> {
    let mut rows = Vec::new();
    // The chatter's first answers about itself, by data set.
    let mut first_answers: HashMap<u32, Value> = HashMap::new();
    for ((turn, reply), test) in conversation.replies().zip(&conversation.examination.turns) {
        let asked = |test: &&Test| test.requirement == requirement && test.part == Part::Question;
        let Some(test) = test.as_ref().filter(asked) else { continue };
        let Some(set) = conversation.examination.set(requirement, test.set) else { continue };
        let scorer = pool.scorer(conversation.scope(turn));
        let mut row = match interpret(conversation, set, reply, &*scorer).await {
            Err(error) => Row::unscored(requirement, turn, &error),
            Ok((interpretation, model, ballot)) => {
                let known = first_answers.get(&set.id).cloned();
                let compared = match (&set.answer, known) {
                    (Some(answer), _) => {
                        let right = match answer {
                            Answer::Text(text) => json!(text),
                            Answer::Yes(yes) => json!(yes),
                        };
                        compare(conversation, requirement, turn, (&right, &interpretation), &*scorer).await
                    }
                    (None, Some(first)) => {
                        compare(conversation, requirement, turn, (&first, &interpretation), &*scorer).await
                    }
                    (None, None) => Ok(first_answer(conversation, requirement, turn, &interpretation)),
                };
                if set.answer.is_none() {
                    first_answers.entry(set.id).or_insert_with(|| interpretation.clone());
                }
                let mut row = compared.unwrap_or_else(|error| Row::unscored(requirement, turn, &error));
                row.cell.interpretation = Some(interpretation);
                row.ballots.splice(0..0, ballot);
                row.cell.models.extend(model);
                row
            }
        };
        row.cell.set = Some(set.id);
        row.cell.values = test.mutation.as_ref().map(|mutation| mutation.values);
        rows.push(row);
    }
    rows
}

/// The content of a reply: yes or no, or the answering part.
async fn interpret(
    conversation: &Conversation<'_>,
    set: &DataSet,
    reply: &str,
    scorer: &dyn Scorer,
) -> Result<(Value, Option<String>, Option<Ballot>), scorer::Error> {
    let Some(question) = &set.extract else {
        return Ok((json!(closed::says_yes(reply, conversation.is_compat())), None, None));
    };
    let answer = scorer.answer(question, reply).await?;
    Ok((json!(answer.text), Some(answer.model), answer.ballot))
}

async fn compare(
    conversation: &Conversation<'_>,
    requirement: Requirement,
    turn: usize,
    (right, found): (&Value, &Value),
    scorer: &dyn Scorer,
) -> Result<Row, scorer::Error> {
    if let (Value::String(right), Value::String(found)) = (right, found) {
        let threshold = conversation.battery.thresholds.similarity;
        let score = scorer.similarity(right, found).await?;
        let reason =
            format!("{found:?} is like {right:?} by {:.3}, at least {threshold} ({})", score.value, score.model);
        let mut row = Row::new(requirement, turn, score.value >= threshold, reason);
        row.score = Some(score.value.clamp(0.0, 1.0));
        row.cell.detail = Some(json!(score.value));
        row.cell.models = vec![score.model];
        row.ballots.extend(score.ballot);
        return Ok(row);
    }
    let said = |value: &Value| if *value == Value::Bool(true) { "yes" } else { "no" };
    let same = right == found;
    let mut row = Row::new(requirement, turn, same, format!("says {}, expected {}", said(found), said(right)));
    row.cell.detail = Some(json!(same));
    Ok(row)
}

/// The first answer, with which later ones are compared. Revision 9043c93 counts it as passed.
fn first_answer(conversation: &Conversation<'_>, requirement: Requirement, turn: usize, found: &Value) -> Row {
    let mut row = Row::new(requirement, turn, true, format!("the first answer, {found}, is what later ones must be"));
    row.cell.detail = Some(if found.is_boolean() { json!(true) } else { json!(1.0) });
    if !conversation.is_compat() {
        row.cell.counted = false;
        row.cell.word = Some("First answer".to_owned());
    }
    row
}
