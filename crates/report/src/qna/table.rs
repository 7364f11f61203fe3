//! The table of QnA Maker's batch tester: one line for each question.

use formats::qna::Asked;
use record::Verdict;

use super::batch::{Batch, Outcome, one_line, put};
use crate::form::{Form, Make};

pub const FORM: Form = Form {
    name: "qna-tsv",
    about: "The results of questions with expected ids, as a table",
    file: Some("report.qna.tsv"),
    make: Make::Questions(render),
};

const HEAD: &str = "Line\tKbId\tQuery\tAnswer\tScore\tMetadata\tAnswerId\tExpectedAnswerId\tLabel\n";

/// Unlike the tester's own, it keeps the rows that could not be answered.
fn render(batch: &Batch) -> Option<String> {
    let mut text = HEAD.to_owned();
    let mut number = 0_u32;
    for (index, asked) in batch.asked.iter().enumerate().filter(|(_, asked)| asked.answer.is_none()) {
        for question in &asked.questions {
            for outcome in batch.found(index, question).into_iter().flat_map(|results| &results.first) {
                number += 1;
                row(&mut text, number, asked, question, outcome);
            }
        }
    }
    (number > 0).then_some(text)
}

fn row(text: &mut String, number: u32, asked: &Asked, question: &str, outcome: &Outcome) {
    let knowledge_base = asked.knowledge_base.as_deref().unwrap_or_default();
    let metadata: Vec<String> =
        asked.filters.iter().map(|filter| format!("{}:{}", filter.name, filter.value)).collect();
    let said = outcome.said.as_deref().map(one_line).unwrap_or_default();
    let answer = outcome.answer;
    let score = answer.map(|answer| ((answer.score * 100.0).round() / 100.0).to_string()).unwrap_or_default();
    let id = answer.map(|answer| answer.id.to_string()).unwrap_or_default();
    let expected = asked.id.map(|id| id.to_string()).unwrap_or_default();
    let label = match outcome.verdict {
        Verdict::Error => format!("Error: {}", one_line(&outcome.reason)),
        _ if asked.id.is_none() => String::new(),
        Verdict::Pass => "Correct".to_owned(),
        _ => "Incorrect".to_owned(),
    };
    let question = one_line(question);
    put(
        text,
        format_args!(
            "{number}\t{}\t{}\t{}\t{score}\t{}\t{id}\t{expected}\t{}\n",
            cell(knowledge_base),
            cell(&question),
            cell(&said),
            cell(&metadata.join("|")),
            cell(&label)
        ),
    );
}

/// On one line and in one cell. A spreadsheet takes a cell that begins so for a formula.
pub(crate) fn cell(text: &str) -> String {
    let text = one_line(text);
    if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text }
}
