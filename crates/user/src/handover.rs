//! Whether the agent has handed the user over: by a call, an action, or in its message.

use record::Turn;

/// Parts of the names of tools and actions that hand somebody over, in lower case.
const CALLS: [&str; 8] = ["transfer", "handoff", "handover", "escalat", "forwardto", "tohuman", "toagent", "livechat"];

/// Phrases of an agent that hands somebody over.
const WORDS: [&str; 41] = [
    "transfer you",
    "transferring you",
    "transferred you",
    "connect you",
    "connecting you",
    "connected you",
    "put you through",
    "putting you through",
    "hand you over",
    "handing you over",
    "handed you over",
    "pass you on",
    "passing you on",
    "forwarded your",
    "forward your",
    "forwarding your",
    "escalate",
    "escalating",
    "escalated",
    "a colleague will",
    "a specialist will",
    "someone will contact you",
    "someone will get back",
    "verbinde sie",
    "verbinde dich",
    "leite sie weiter",
    "leite ihr anliegen",
    "leite dein anliegen",
    "weitergeleitet",
    "übergebe sie",
    "ein kollege wird",
    "eine kollegin wird",
    "le transfiero",
    "te transfiero",
    "le paso con",
    "te paso con",
    "le pongo en contacto",
    "un compañero",
    "vous transfère",
    "mets en relation",
    "un collègue",
];

/// Whether one of these turns shows it.
pub(crate) fn is_shown(turns: &[Turn]) -> bool {
    turns.iter().any(|turn| {
        let called =
            turn.tool_calls.iter().map(|call| call.name.as_str()).chain(turn.actions.iter().map(String::as_str));
        called.into_iter().any(passes_on) || turn.said().is_some_and(|said| says_so(&said))
    })
}

fn passes_on(name: &str) -> bool {
    let letters: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    CALLS.iter().any(|call| letters.contains(call))
}

fn says_so(words: &str) -> bool {
    let words = words.to_lowercase();
    // `connect you` is not in `connect your charger`.
    let ends = |at: usize| !words[at..].chars().next().is_some_and(char::is_alphanumeric);
    WORDS.iter().any(|known| words.match_indices(known).any(|(at, found)| ends(at + found.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_or_words_of_the_agent_pass_the_user_on() {
        for (name, expected) in
            [("transfer_to_human", true), ("support.escalateTicket", true), ("ESCALATE", true), ("get_order", false)]
        {
            assert_eq!(passes_on(name), expected, "{name}");
        }
        for (words, expected) in [
            ("I am connecting you with a specialist.", true),
            ("Ich leite Sie weiter an die Buchhaltung.", true),
            ("Le paso con un compañero.", true),
            ("Please connect your charger.", false),
            ("Your money will be refunded.", false),
        ] {
            assert_eq!(says_so(words), expected, "{words}");
        }
    }
}
