//! Finds keywords in a text as whole words: "greater" does not contain "great".

use scenario::conversation::Condition;

/// Keywords as they are looked for.
#[derive(Debug, Clone, Copy)]
pub(super) enum List<'a> {
    Written(&'a [String]),
    /// The condition's own list, for scenarios without one.
    Usual(&'static [&'static str]),
}

/// ElizaOS's own lists.
pub(super) fn usual(condition: Condition) -> Option<List<'static>> {
    let words: &[&str] = match condition {
        Condition::UserExpressesSatisfaction => {
            &["thank you", "thanks", "perfect", "great", "that works", "solved", "fixed", "resolved"]
        }
        Condition::AgentProvidesSolution => {
            &["solution", "try this", "follow these steps", "here's how", "you can", "to fix this"]
        }
        Condition::EscalationNeeded => &["escalate", "supervisor", "manager", "specialist", "human agent", "transfer"],
        Condition::GoalAchieved => &["done", "complete", "finished", "accomplished", "achieved"],
        Condition::MaxTurnsReached | Condition::ConversationStuck | Condition::CustomCondition => return None,
    };
    Some(List::Usual(words))
}

/// The first keyword of the list in `text`, as the list spells it. Case, the kind of apostrophe and the kind of space
/// make no difference.
pub(super) fn first_in<'a>(text: &str, list: List<'a>) -> Option<&'a str> {
    let text = plain(text);
    let is_found = |keyword: &&str| contains(&text, &plain(keyword));
    match list {
        List::Written(words) => words.iter().map(String::as_str).find(is_found),
        List::Usual(words) => words.iter().copied().find(is_found),
    }
}

fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.extend(
            word.chars().map(|character| if character == '’' { '\'' } else { character }).flat_map(char::to_lowercase),
        );
    }
    plain
}

fn contains(text: &str, keyword: &str) -> bool {
    let (Some(first), Some(last)) = (keyword.chars().next(), keyword.chars().next_back()) else { return false };
    text.match_indices(keyword).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        let goes_on = joins(first) && before.is_some_and(joins) || joins(last) && after.is_some_and(joins);
        !goes_on
    })
}

fn joins(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_whole_words_whatever_their_case() {
        for (text, keyword, said) in [
            ("That is GREAT!", "great", true),
            ("A greater problem", "great", false),
            ("The grea", "great", false),
            ("ungreat", "great", false),
            ("greatgreat great", "great", true),
            ("Thank\n  you so much", "thank you", true),
            ("thank-you note", "thank you", false),
            ("Here’s how to do it", "here's how", true),
            ("RESOLVED.", "Resolved", true),
            ("it is unresolved", "resolved", false),
            ("Größe passt", "größe", true),
            ("GRÖSSE", "größe", false),
            ("that's it (done)", "done", true),
            ("abandoned", "done", false),
            ("pay $5 now", "$5", true),
            ("pay US$50", "$5", false),
            ("anything", "", false),
            ("anything", "  ", false),
            ("", "great", false),
        ] {
            let words = [keyword.to_owned()];
            assert_eq!(first_in(text, List::Written(&words)).is_some(), said, "{keyword:?} in {text:?}");
        }
    }

    #[test]
    fn every_usual_word_is_found() {
        for condition in [
            Condition::UserExpressesSatisfaction,
            Condition::AgentProvidesSolution,
            Condition::EscalationNeeded,
            Condition::GoalAchieved,
        ] {
            let Some(List::Usual(words)) = usual(condition) else { panic!("{condition:?} has a list") };
            for &word in words {
                let text = format!("Well, {}!", word.to_uppercase());
                assert_eq!(first_in(&text, List::Usual(words)), Some(word), "{condition:?}");
            }
        }
        assert!(usual(Condition::ConversationStuck).is_none());
    }
}
