//! ML-A7: questions that the chatter has asked before.

use std::collections::HashMap;

use scenario::battery::Requirement;

use super::{conversation::Conversation, row::Row};

pub(super) fn examine(conversation: &Conversation<'_>) -> Vec<Row> {
    let compat = conversation.is_compat();
    let asked: Vec<Vec<String>> = conversation.replies().map(|(_, reply)| questions(reply, compat)).collect();
    let mut times: HashMap<&str, u32> = HashMap::new();
    for question in asked.iter().flatten() {
        *times.entry(question).or_default() += 1;
    }
    let rows = asked.iter().enumerate().map(|(turn, questions)| {
        let again = questions.iter().find(|question| times[question.as_str()] > 1);
        let reason = match again {
            Some(question) => format!("asked more than once: {question:?}"),
            None => "no question is asked twice".to_owned(),
        };
        Row::new(Requirement::RepeatedQuestions, turn, again.is_none(), reason)
    });
    rows.collect()
}

/// The last clause before each question mark. Empty ones are questions only in revision 9043c93.
fn questions(reply: &str, compat: bool) -> Vec<String> {
    let reply = reply.to_lowercase();
    let parts = reply.split('?').take(reply.matches('?').count());
    let clauses = parts.map(|part| {
        let clause = ['.', ',', '!'].iter().fold(part, |clause, mark| clause.rsplit(*mark).next().unwrap_or(clause));
        if compat { clause.strip_prefix(' ').unwrap_or(clause) } else { clause.trim() }.to_owned()
    });
    clauses.filter(|clause| compat || !clause.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::questions;

    #[test]
    fn a_question_is_the_clause_before_its_mark() {
        let rows = [
            ("Hi! Well, how are you? And where?", vec!["how are you", "and where"]),
            ("i like blue . what is yours ?", vec!["what is yours"]),
            ("No question.", vec![]),
            ("What??", vec!["what"]),
        ];
        for (reply, expected) in rows {
            assert_eq!(questions(reply, false), expected, "{reply}");
        }
        assert_eq!(questions("What??", true), ["what", ""]);
        assert_eq!(questions("a. b ?", true), ["b "]);
    }
}
