//! Patterns of a text: anything (`*`), something of which a statement is true (`<…>`), or something similar to these
//! words.

use scenario::{Check, Rule, check};

const ANYTHING: &str = "*";

/// `None` if any answer is right.
pub(super) fn check(texts: &[String], line: u32) -> Option<Check> {
    if texts.iter().any(|text| text.trim() == ANYTHING) {
        return None;
    }
    let words: Vec<String> = texts.iter().filter(|text| statement(text).is_none()).cloned().collect();
    let mut rules = Vec::new();
    // Words first: a literal match needs no judge.
    if !words.is_empty() {
        rules.push(Rule::SemanticSimilar(check::SemanticSimilar { expected: words, threshold: None }));
    }
    rules.extend(texts.iter().filter_map(|text| statement(text)).map(condition));
    let mut checks: Vec<Check> = rules.into_iter().map(|rule| Check::new(rule, line)).collect();
    match checks.len() {
        0 => Some(Check::new(Rule::Empty(check::Empty {}), line)),
        1 => checks.pop(),
        _ => Some(Check::new(Rule::AnyOf(check::AnyOf { checks }), line)),
    }
}

/// The first alternative that is no pattern.
pub(super) fn literal(texts: &[String]) -> Option<String> {
    texts.iter().find(|text| text.trim() != ANYTHING && statement(text).is_none()).cloned()
}

/// Equal apart from case and surrounding white space.
pub(super) fn alike(one: &str, other: &str) -> bool {
    one.trim().to_lowercase() == other.trim().to_lowercase()
}

/// The text between `<` and `>`.
fn statement(text: &str) -> Option<&str> {
    text.trim().strip_prefix('<')?.strip_suffix('>').map(str::trim).filter(|inner| !inner.is_empty())
}

fn condition(statement: &str) -> Rule {
    Rule::SemanticCondition(check::SemanticCondition { condition: statement.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(texts: &[&str]) -> Option<Rule> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        check(&texts, 1).map(|check| check.rule)
    }

    #[test]
    fn a_text_is_anything_a_statement_or_words() {
        let similar = |words: &[&str]| {
            Rule::SemanticSimilar(check::SemanticSimilar {
                expected: words.iter().map(|word| (*word).to_owned()).collect(),
                threshold: None,
            })
        };
        assert_eq!(rule(&["*"]), None);
        assert_eq!(rule(&["Hello", " * "]), None);
        assert_eq!(rule(&[]), Some(Rule::Empty(check::Empty {})));
        assert_eq!(rule(&["Hello"]), Some(similar(&["Hello"])));
        assert_eq!(rule(&["Hello", "Hi"]), Some(similar(&["Hello", "Hi"])));
        assert_eq!(rule(&[" <greets> "]), Some(condition("greets")));
        assert_eq!(rule(&["<>"]), Some(similar(&["<>"])));
        let both = vec![Check::new(similar(&["Hello"]), 1), Check::new(condition("greets"), 1)];
        assert_eq!(rule(&["Hello", "<greets>"]), Some(Rule::AnyOf(check::AnyOf { checks: both })));
        assert_eq!(literal(&["*".to_owned(), "<greets>".to_owned(), "Hi".to_owned()]).as_deref(), Some("Hi"));
    }
}
