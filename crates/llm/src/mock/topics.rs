//! The mock agent's knowledge: a little about common questions to a help desk or a teacher.

use super::words::mentions;

/// A subject with a helper's questions and advice about it.
#[derive(Debug)]
pub(crate) struct Topic {
    /// Word prefixes, in lower case.
    triggers: &'static [&'static str],
    /// Its name in a sentence: "your …".
    pub(crate) name: &'static str,
    /// A good helper's first question.
    pub(crate) question: &'static str,
    pub(crate) steps: [&'static str; 3],
    /// Something to be understood rather than repaired.
    pub(crate) is_taught: bool,
    /// Said later in the conversation, when the steps are known.
    pub(crate) detail: &'static str,
}

/// The topic of a text; the general one if none matches.
pub(crate) fn topic_of(text: &str) -> &'static Topic {
    TOPICS.iter().find(|topic| mentions(text, topic.triggers)).unwrap_or(&GENERAL)
}

impl Topic {
    /// Whether more is known than that it is a request.
    pub(crate) fn is_known(&self) -> bool {
        !self.triggers.is_empty()
    }
}

/// Whether the user would rather understand something than have it repaired.
pub(crate) fn wants_to_learn(text: &str) -> bool {
    mentions(text, &["explain", "learn", "teach", "understand", "concept", "lesson", "study", "tutor", "beginner"])
}

const TOPICS: [Topic; 9] = [
    Topic {
        triggers: &["password", "login", "log-in", "locked", "sign-in", "signin", "2fa", "credential"],
        name: "password and login",
        is_taught: false,
        question: "Which email address is on the account, and what message appears when the login fails?",
        steps: [
            "open the login page and choose \"Forgot password\"",
            "open the reset link that arrives by email within five minutes, and look in the spam folder too",
            "set a new password of at least twelve characters and log in again",
        ],
        detail: "The reset link is valid for thirty minutes, and logging in from a private window rules out an old session.",
    },
    Topic {
        triggers: &["refund", "charge", "billing", "bill", "invoice", "payment", "paid", "money"],
        name: "billing and refund",
        is_taught: false,
        question: "Which order or invoice number is it, and on which date was the charge made?",
        steps: [
            "open Billing in the account and select the charge in question",
            "choose \"Request a refund\" and give the reason for the charge",
            "wait for the confirmation by email: the refund reaches the card within three to five working days",
        ],
        detail: "The refund goes back to the card that was charged, and the billing page shows its state from today on.",
    },
    Topic {
        triggers: &["order", "deliver", "shipping", "shipment", "package", "parcel", "tracking", "courier"],
        name: "order and delivery",
        is_taught: false,
        question: "What is the order number, and which address should the delivery go to?",
        steps: [
            "open \"My orders\" and select the order",
            "follow the tracking link to see where the package is today",
            "if the delivery date has passed, choose \"Report a late delivery\" so that we send the order again",
        ],
        detail: "The order left our warehouse, and the tracking page is brought up to date every four hours.",
    },
    Topic {
        triggers: &["cancel", "subscription", "renew", "plan", "membership"],
        name: "subscription",
        is_taught: false,
        question: "Which subscription is it, and from which day should the change hold?",
        steps: [
            "open Settings and then Subscription",
            "choose \"Change or cancel\" and pick the day on which it should end",
            "keep the confirmation email: it states the last day of the subscription",
        ],
        detail: "Until the last day everything keeps working, and nothing is charged after it.",
    },
    Topic {
        triggers: &["book", "appointment", "reserv", "flight", "hotel", "table", "schedule", "meeting"],
        name: "booking",
        is_taught: false,
        question: "For which day, at what time, and for how many people?",
        steps: [
            "choose the day and the time in the calendar",
            "enter the names and a phone number for the booking",
            "confirm it: the booking appears in your calendar at once",
        ],
        detail: "The booking can be moved free of charge until the evening before.",
    },
    Topic {
        triggers: &["crash", "error", "bug", "freez", "broken", "software", "install", "update", "slow", "wifi", "app"],
        name: "software problem",
        is_taught: false,
        question: "Which version do you use, on which system, and what were the last words of the error message?",
        steps: [
            "save a copy of your work, then close the software and start it again",
            "install the latest update from Help, About",
            "if the error comes back, start in safe mode and switch extensions on one by one",
        ],
        detail: "Your work is kept in the autosave folder, so nothing should be lost by a restart.",
    },
    Topic {
        triggers: &["python", "code", "program", "function", "loop", "variable", "recursion"],
        name: "programming",
        is_taught: true,
        question: "Which language do you use, and what have you tried so far?",
        steps: [
            "begin with the smallest example that runs, for example one function with one line",
            "change one thing at a time, and say before each run what you expect to see",
            "when it differs from what you expected, print the values on the way",
        ],
        detail: "Think of a function as a recipe: the ingredients go in, and the dish comes out.",
    },
    Topic {
        triggers: &["machine", "neural", "training", "statistic"],
        name: "machine learning",
        is_taught: true,
        question: "Do you want the idea first, or an example from your own work?",
        steps: [
            "start with examples: many pictures with the right answer beside each",
            "let the model guess, compare the guess with the answer, and move it a little; that is training",
            "then test it on examples that it has never seen",
        ],
        detail: "Think of it as learning to ride a bicycle: nobody writes down the rules, practice finds them.",
    },
    Topic {
        triggers: &["issue", "repository", "github", "contribut", "pull"],
        name: "repository",
        is_taught: false,
        question: "Which repository is it, and should closed issues be included?",
        steps: [
            "read the contribution guide and the open issues",
            "pick an issue with the label \"good first issue\" and say there that you take it",
            "open a pull request that names the issue and adds a test and documentation",
        ],
        detail: "The oldest open issues concern the documentation, the newest ones the plugins.",
    },
];

/// Advice that helps with anything.
pub(crate) const GENERAL: Topic = Topic {
    triggers: &[],
    name: "request",
    is_taught: false,
    question: "What exactly would you like to reach, and what have you tried so far?",
    steps: [
        "write down in one sentence what should happen",
        "try the smallest part of it first and note what you see",
        "tell me the result, and we take the next part together",
    ],
    detail: "It often goes faster to look at one concrete case together.",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_find_their_topic() {
        let rows = [
            ("I forgot my Password", "password and login"),
            ("You charged me twice", "billing and refund"),
            ("Where is my order?", "order and delivery"),
            ("Explain machine learning", "machine learning"),
            ("List open issues for elizaOS/eliza", "repository"),
            ("Hello, I need help.", "request"),
            ("", "request"),
        ];
        for (text, name) in rows {
            assert_eq!(topic_of(text).name, name, "{text}");
        }
    }
}
