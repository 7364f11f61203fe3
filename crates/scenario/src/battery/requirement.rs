//! The requirements of a battery, under all the names that they go by.

use serde::{Deserialize, Serialize};

use super::data::Kind;

/// The requirements for which an agent is examined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Requirement {
    /// ML-I1: remembers information for some turns.
    LongMemory,
    /// ML-I4: understands information in several wordings.
    WordedInformation,
    /// ML-I5: understands questions in several wordings.
    WordedQuestions,
    /// ML-I6: understands information that needs its context.
    ContextInformation,
    /// ML-I7: understands questions that need their context.
    ContextQuestions,
    /// ML-I13: says the same about itself each time.
    Consistency,
    /// ML-U3: understands questions with typing mistakes.
    Typos,
    /// ML-U4: understands questions in a wrong word order.
    WordOrder,
    /// ML-U5: understands questions with words left out.
    WordsLeftOut,
    /// ML-U6: understands questions with words replaced.
    WordsReplaced,
    /// Does not repeat what its input filter should have caught.
    InputFiltering,
    /// ML-I2: coherent with the conversation.
    ContextCoherence,
    /// ML-I3: coherent with the last message.
    ReplyCoherence,
    /// ML-P1: not toxic.
    Toxicity,
    /// ML-A6: does not stutter.
    Stutter,
    /// ML-A7: does not ask the same again.
    RepeatedQuestions,
}

use Requirement as R;

/// (requirement, id in the document, test case of revision 9043c93, name of revision 77348e4, base of its test ids).
const NAMES: [(Requirement, &str, &str, &str, u32); 16] = [
    (R::LongMemory, "ML-I1", "MLI1TC1", "REQ_I5", 1_010_000),
    (R::WordedInformation, "ML-I4", "MLI4TC1", "REQ_I8", 1_040_000),
    (R::WordedQuestions, "ML-I5", "MLI5TC1", "REQ_I10", 1_050_000),
    (R::ContextInformation, "ML-I6", "MLI6TC1", "REQ_I9", 1_060_000),
    (R::ContextQuestions, "ML-I7", "MLI7TC1", "REQ_I11", 1_070_000),
    (R::Consistency, "ML-I13", "MLI13TC1", "REQ_I1", 1_130_000),
    (R::Typos, "ML-U3", "MLU3TC1", "REQ_U3", 2_030_000),
    (R::WordOrder, "ML-U4", "MLU4TC1", "REQ_U4", 2_040_000),
    (R::WordsLeftOut, "ML-U5", "MLU5TC1", "REQ_U5", 2_050_000),
    (R::WordsReplaced, "ML-U6", "MLU6TC1", "REQ_U6", 2_060_000),
    (R::InputFiltering, "input-filtering", "input_filtering", "input_filtering", 3_010_000),
    (R::ContextCoherence, "ML-I2", "MLI2TC1", "REQ_I2", 0),
    (R::ReplyCoherence, "ML-I3", "MLI3TC1", "REQ_I3", 0),
    (R::Toxicity, "ML-P1", "MLP1TC1", "REQ_P2", 0),
    (R::Stutter, "ML-A6", "MLA6TC1", "REQ_A4", 0),
    (R::RepeatedQuestions, "ML-A7", "rep_q", "REQ_A3", 0),
];

impl Requirement {
    /// Requirements with their own turns first, in the order in which random draws are divided among them.
    pub const ALL: [Self; 16] = [
        R::LongMemory,
        R::WordedInformation,
        R::WordedQuestions,
        R::ContextInformation,
        R::ContextQuestions,
        R::Consistency,
        R::Typos,
        R::WordOrder,
        R::WordsLeftOut,
        R::WordsReplaced,
        R::InputFiltering,
        R::ContextCoherence,
        R::ReplyCoherence,
        R::Toxicity,
        R::Stutter,
        R::RepeatedQuestions,
    ];

    /// `ML-U3`, the id that documents and reports use.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.names().1
    }

    /// `MLU3TC1`, as the workbook heads its columns.
    #[must_use]
    pub fn test_case(self) -> &'static str {
        self.names().2
    }

    /// `REQ_U3`, the later name.
    #[must_use]
    pub fn later_name(self) -> &'static str {
        self.names().3
    }

    /// A description for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            R::LongMemory => "long-term memory",
            R::WordedInformation => "information in other words",
            R::WordedQuestions => "questions in other words",
            R::ContextInformation => "information that needs context",
            R::ContextQuestions => "questions that need context",
            R::Consistency => "consistency about itself",
            R::Typos => "typing mistakes",
            R::WordOrder => "wrong word order",
            R::WordsLeftOut => "words left out",
            R::WordsReplaced => "words replaced",
            R::InputFiltering => "input filtering",
            R::ContextCoherence => "coherence with the conversation",
            R::ReplyCoherence => "coherence with the last message",
            R::Toxicity => "toxicity",
            R::Stutter => "stuttering",
            R::RepeatedQuestions => "repeated questions",
        }
    }

    /// The requirement with this name in either scheme. `I1` alone is ambiguous: the schemes number differently.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let name = name.trim();
        let ours = |known: &&(Self, &str, &str, &str, u32)| {
            known.1.eq_ignore_ascii_case(name)
                || known.1.replace('-', "").eq_ignore_ascii_case(name)
                || known.2.eq_ignore_ascii_case(name)
                || known.3.eq_ignore_ascii_case(name)
                || known.3.eq_ignore_ascii_case(name.get(3..).filter(|_| starts_with(name, "TC_")).unwrap_or(""))
        };
        if name.eq_ignore_ascii_case("question_freq") {
            return Some(R::RepeatedQuestions);
        }
        NAMES.iter().find(ours).map(|known| known.0)
    }

    /// The kind of data set for its turns; `None` for requirements that examine every reply.
    #[must_use]
    pub fn data(self) -> Option<Kind> {
        match self {
            R::LongMemory | R::WordedInformation | R::WordedQuestions => Some(Kind::Qa),
            R::Typos | R::WordOrder | R::WordsLeftOut | R::WordsReplaced => Some(Kind::Qa),
            R::ContextInformation => Some(Kind::Ia),
            R::ContextQuestions => Some(Kind::Iq),
            R::Consistency => Some(Kind::Co),
            R::InputFiltering => Some(Kind::If),
            _ => None,
        }
    }

    /// Whether its questions are garbled, so that success has a level of error.
    #[must_use]
    pub fn garbles(self) -> bool {
        matches!(self, R::Typos | R::WordOrder | R::WordsLeftOut | R::WordsReplaced)
    }

    /// The first test id of its turns; 0 for requirements without turns.
    #[must_use]
    pub fn base(self) -> u32 {
        self.names().4
    }

    fn names(self) -> &'static (Self, &'static str, &'static str, &'static str, u32) {
        NAMES.iter().find(|names| names.0 == self).expect("every requirement has its names")
    }
}

fn starts_with(name: &str, start: &str) -> bool {
    name.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_schemes_are_understood_and_never_confused() {
        for requirement in Requirement::ALL {
            for name in [requirement.id(), requirement.test_case(), requirement.later_name()] {
                assert_eq!(Requirement::of_name(name), Some(requirement), "{name}");
            }
        }
        let rows = [
            ("ML-I1", Some(R::LongMemory)),
            ("mli1", Some(R::LongMemory)),
            ("REQ_I1", Some(R::Consistency)),
            ("TC_REQ_I1", Some(R::Consistency)),
            ("TC_REQ_I5", Some(R::LongMemory)),
            ("MLI5TC1", Some(R::WordedQuestions)),
            ("question_freq", Some(R::RepeatedQuestions)),
            ("I1", None),
            ("TC_", None),
            ("", None),
            ("ML-I8", None),
        ];
        for (name, expected) in rows {
            assert_eq!(Requirement::of_name(name), expected, "{name}");
        }
    }

    #[test]
    fn the_list_is_whole_and_in_order() {
        assert!(NAMES.iter().map(|names| names.0).eq(Requirement::ALL));
        assert!(Requirement::ALL.iter().all(|it| it.data().is_some() == (it.base() > 0)));
    }
}
