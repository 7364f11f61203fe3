//! Removes everything except the user's message from a model's answer: lead-ins, labels and quotation marks.

use std::sync::LazyLock;

use regex::Regex;

/// Lead-ins such as `As a frustrated customer, I would say:`, which are removed completely.
const LEAD_IN: &str = concat!(
    r"(?:as (?:an?|the) [^,:\n]{1,80},\s*)?",
    r"(?:i|they|he|she|the (?:simulated )?(?:user|customer|person))(?:'d|\s+would|\s+might|\s+will|\s+could)?",
    r"\s+(?:then\s+)?(?:say|says|reply|replies|respond|responds|answer|answers|write|writes)",
    r"(?:\s+(?:something\s+)?(?:like|this|that))?\s*[:,]",
);

/// `User:`, `**Customer:**`, `User response:`, `Response:`.
const LABEL: &str = concat!(
    r"\*{0,2}(?:(?:the\s+)?(?:simulated\s+)?(?:user|customer|human|client)(?:'s)?",
    r"(?:\s+(?:response|reply|message|answer|turn|says))?|response|reply)\*{0,2}\s*:\*{0,2}",
);

/// `As a frustrated customer: …`
const ROLE: &str = r"as (?:an?|the) [^,:\n]{1,80}:";

static BEFORE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(r"(?i)^(?:{LEAD_IN}|{LABEL}|{ROLE})\s*"))
        .expect("the expression is fixed, and a test compiles it")
});

/// From here on the model plays the other side too.
static OTHER_SIDE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?im)^\s*\*{0,2}(?:assistant|agent|ai|bot|chatbot|support(?: agent)?|system)\*{0,2}\s*:")
        .expect("the expression is fixed, and a test compiles it")
});

const QUOTES: [(char, char); 4] = [('"', '"'), ('“', '”'), ('„', '“'), ('«', '»')];

/// The user's message alone, on one line; empty if the model gave none.
pub(crate) fn clean(raw: &str) -> String {
    let own = OTHER_SIDE.find(raw).map_or(raw, |other| &raw[..other.start()]);
    let mut text = own.trim();
    loop {
        let shorter = unquoted(BEFORE.find(text).map_or(text, |lead| &text[lead.end()..]).trim());
        if shorter.len() == text.len() {
            break;
        }
        text = shorter;
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Removes quotation marks around the whole text. Marks around parts of it are the user's own.
fn unquoted(text: &str) -> &str {
    for (open, close) in QUOTES {
        let inner = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        if let Some(inner) = inner
            && !inner.contains([open, close])
        {
            return inner.trim();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_of_the_user_stay() {
        for (raw, expected) in [
            // The simulator rows of the ElizaOS facts.
            ("As a frustrated customer, I would say: \"This is terrible service!\"", "This is terrible service!"),
            ("The user would say: I need help with my account", "I need help with my account"),
            ("User response: \"Thank you for your help\"", "Thank you for your help"),
            ("\"I'm having trouble with the login process\"", "I'm having trouble with the login process"),
            ("  \n\n  This is a response with extra whitespace  \n  ", "This is a response with extra whitespace"),
            // Other prefixes of models.
            ("User: Hello", "Hello"),
            ("Customer: Hello", "Hello"),
            ("**User:** Hello", "Hello"),
            ("**Customer**: Hello", "Hello"),
            ("user's reply: \"Hello\"", "Hello"),
            ("Response: Hello", "Hello"),
            ("“Hello there”", "Hello there"),
            ("User: The customer would say: “Hello”", "Hello"),
            ("I'd say something like: Hello", "Hello"),
            ("As an impatient man: Hello", "Hello"),
            ("As the customer, I would respond, \"Hello\"", "Hello"),
            // Sentences that a user may write stay.
            ("As a customer, I expect a refund.", "As a customer, I expect a refund."),
            ("I say no.", "I say no."),
            ("My response: time was bad.", "My response: time was bad."),
            ("I clicked \"Save\" and \"Close\"", "I clicked \"Save\" and \"Close\""),
            ("\"Save\" does nothing when I click \"Close\"", "\"Save\" does nothing when I click \"Close\""),
            ("The agent: is he still there?", "The agent: is he still there?"),
            ("One line\n\n  and another\tone", "One line and another one"),
            // Small models go on with the script.
            ("I want a refund.\nAssistant: Of course!\nUser: Thanks", "I want a refund."),
            ("Agent: How can I help you?", ""),
            ("", ""),
            (" \n\t ", ""),
            ("\"\"", ""),
            ("\"", "\""),
            ("User:", ""),
        ] {
            assert_eq!(clean(raw), expected, "{raw:?}");
        }
    }
}
