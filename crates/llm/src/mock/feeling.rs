//! The user's feelings, and a kind agent's answers to them.

use super::words;

/// How the user feels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feeling {
    Stressed,
    Frustrated,
    Confused,
    Worried,
    Sad,
}

impl Feeling {
    pub(crate) fn of(text: &str) -> Option<Self> {
        const SIGNS: [(&[&str], Feeling); 5] = [
            (&["stress", "panic", "deadline", "urgent", "overwhelm", "hurry"], Feeling::Stressed),
            (&["frustrat", "annoy", "ridiculous", "unacceptable", "angry", "furious", "terrible"], Feeling::Frustrated),
            (&["confus", "lost", "puzzl"], Feeling::Confused),
            (&["worr", "afraid", "scared", "nervous", "anxious"], Feeling::Worried),
            (&["upset", "sad", "disappoint"], Feeling::Sad),
        ];
        SIGNS.iter().find(|(starts, _)| words::mentions(text, starts)).map(|(_, feeling)| *feeling)
    }

    pub(crate) fn sympathy(self, again: bool) -> &'static str {
        match (self, again) {
            (Self::Stressed, false) => "I'm sorry, I understand how stressful this is. Let us get it out of the way.",
            (Self::Stressed, true) => "I understand that time is short.",
            (Self::Frustrated, false) => {
                "I'm sorry, I understand how frustrating this is, and I will stay with you until it works."
            }
            (Self::Frustrated, true) => "I understand that this is still frustrating.",
            (Self::Confused, false) => "I understand that this is confusing at first, so let us take it slowly.",
            (Self::Confused, true) => "I understand, one thing at a time.",
            (Self::Worried, false) => "I understand that this is worrying, but nothing is lost.",
            (Self::Worried, true) => "I understand, and you are nearly there.",
            (Self::Sad, false) => "I'm sorry, I understand that this is upsetting.",
            (Self::Sad, true) => "I understand how you feel.",
        }
    }
}
