//! Whether a message asks, consents or says goodbye: by punctuation and short word lists.

/// The other side asks only out of courtesy whether there is more, which keeps no conversation open.
const COURTESIES: [&str; 14] = [
    "anything else",
    "something else",
    "else i can",
    "further questions",
    "more questions",
    "noch etwas",
    "sonst noch",
    "weitere fragen",
    "noch fragen",
    "algo más",
    "otra cosa",
    "más preguntas",
    "autre chose",
    "d'autres questions",
];

/// Word prefixes of a line that consents.
const CONSENTS: [&str; 30] = [
    "yes",
    "yeah",
    "yep",
    "sure",
    "ok",
    "okay",
    "agreed",
    "please do",
    "go ahead",
    "do it",
    "that works",
    "sounds good",
    "fine",
    "confirmed",
    "i confirm",
    "ja",
    "klar",
    "gerne",
    "bitte",
    "einverstanden",
    "in ordnung",
    "sí",
    "si",
    "vale",
    "de acuerdo",
    "claro",
    "adelante",
    "oui",
    "d'accord",
    "bien sûr",
];

/// Whether the message ends with a question that needs an answer.
pub(crate) fn asks(text: &str) -> bool {
    let text = text.trim_end_matches(|c: char| c.is_whitespace() || "\"')*_”»".contains(c));
    if !text.ends_with(['?', '？']) {
        return false;
    }
    let last = text.trim_end_matches(['?', '？']).rsplit(['.', '!', '?', '\n', '？']).next().unwrap_or_default();
    let last = last.to_lowercase();
    !COURTESIES.iter().any(|courtesy| last.contains(courtesy))
}

/// Whether the message starts with a consent.
pub(crate) fn consents(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    CONSENTS.iter().any(|consent| {
        text.strip_prefix(consent).is_some_and(|rest| !rest.chars().next().is_some_and(char::is_alphanumeric))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_needs_an_answer_unless_it_is_a_courtesy() {
        for (text, expected) in [
            ("Shall I refund it?", true),
            ("Soll ich das so buchen? ", true),
            ("Do you agree?\"", true),
            ("¿Quiere que lo reserve?", true),
            ("Is it done? It is.", false),
            ("Done. Is there anything else I can help you with?", false),
            ("Erledigt! Kann ich sonst noch etwas für Sie tun?", false),
            ("¿Necesita algo más?", false),
            ("Thanks!", false),
            ("", false),
        ] {
            assert_eq!(asks(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_consent_is_at_the_beginning() {
        for (text, expected) in [
            ("Yes, please refund it.", true),
            ("OK", true),
            ("Ja bitte.", true),
            ("Sí, adelante", true),
            ("Yesterday it broke.", false),
            ("Thank you, that is all.", false),
            ("It is okay.", false),
            ("", false),
        ] {
            assert_eq!(consents(text), expected, "{text:?}");
        }
    }
}
