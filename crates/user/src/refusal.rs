//! Refused drafts: what the model reads before it writes the line again.
//!
//! It gets the same card with the reasons, without the draft. If the draft had words of the other side or words that were said
//! before, the card asks for a short line and names a wish, or after words of the other side gives [lines](plain_lines) to choose
//! from; the second time it leaves out the history. Of the new drafts of a model with 1.5 billion parameters, 3 of 16 were the user's
//! own words with the draft in sight, 2 of 10 without it, and 6 of 10 with the wish and the short line.

use record::user_fault::FaultKind;

use crate::{
    faults::{Doubt, Found},
    history::one_line,
    length::Limits,
    objection::Objection,
    plain_lines,
    prompt::Sheet,
};

/// How much the temperature rises with each refused draft.
const WARMER: f64 = 0.3;
/// A temperature above it makes small models write nonsense.
const WARMEST: f64 = 1.0;

/// A line that people write when they do not know what to say.
const FEW_WORDS: u32 = 8;

/// The refused drafts of one line, and the reasons for the last refusal.
#[derive(Debug, Clone, Default)]
pub struct Refusal {
    drafts: u32,
    reasons: Vec<String>,
    /// The last draft had the words of the other side, or words that were said before.
    is_echo: bool,
    /// The last draft had the words of the other side.
    is_flip: bool,
}

impl Refusal {
    /// One more draft is refused.
    pub fn add(&mut self, found: &[Found], doubt: Option<&Doubt>, objection: Option<Objection>) {
        self.drafts += 1;
        self.reasons = objection.into_iter().map(|objection| objection.reason).collect();
        self.reasons.extend(found.iter().map(Found::reason));
        self.reasons.extend(doubt.filter(|_| found.is_empty()).map(Doubt::reason));
        let has = |kind| found.iter().any(|fault| fault.kind == kind);
        self.is_flip = doubt.is_some() || has(FaultKind::RoleFlip);
        self.is_echo = self.is_flip || has(FaultKind::Repetition);
    }

    #[must_use]
    pub fn drafts(&self) -> u32 {
        self.drafts
    }

    /// The temperature for the next draft. At a low one, a model writes the same again.
    #[must_use]
    pub fn warmer(&self, temperature: f64) -> f64 {
        (temperature + WARMER * f64::from(self.drafts)).min(WARMEST).max(temperature)
    }

    /// How many words the next draft should have instead of `words`. Short lines leave no room for the words of the other side.
    pub(crate) fn words(&self, words: u32, limits: Limits) -> u32 {
        let (fewest, _) = limits.words;
        if self.is_echo { words.min(fewest.max(FEW_WORDS)) } else { words }
    }

    /// Whether the next draft gets neither the history nor more than the last sentence of the other side: what a small model sees,
    /// it says again.
    pub(crate) fn hides_history(&self) -> bool {
        self.drafts > 1 && self.is_echo
    }

    /// The end of the card.
    pub(crate) fn write(&self, text: &mut String, sheet: &Sheet<'_>) {
        text.push_str("Your last draft was refused. ");
        text.push_str(&self.reasons.join(" "));
        text.push('\n');
        if !self.is_echo {
            return;
        }
        let parts = &sheet.simulator.extras.goal;
        let wish = sheet.goal.next(parts).map_or(&*sheet.simulator.objective, |part| &part.text);
        let (verb, wish) = match sheet.state.and_then(|state| state.say.as_deref()) {
            Some(say) => ("do this", say),
            None if self.is_flip || self.drafts > 1 => {
                text.push_str("Choose the one line that answers best, and write it in your own words:\n");
                for line in plain_lines::lines(sheet.simulator, sheet.situation.turns, wish) {
                    text.push_str(&format!("- {line}\n"));
                }
                return;
            }
            None => ("ask for this", wish),
        };
        text.push_str(&format!(
            "Do one of these in your own words: answer with what you know, say what you do not understand, or {verb}: {}.\n",
            one_line(wish).trim_end_matches('.')
        ));
    }
}
