//! Faults of the mock user, drawn for each of its lines, to test the detectors.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::chance::Key;

/// How often the mock user is at fault, 0 to 1 for each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UserFaults {
    /// It offers help, as the assistant does.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub role_flip: f64,
    /// It gives an order number that nobody gave it.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub invented_fact: f64,
    /// It speaks about the role that it plays.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub leak: f64,
    /// It asks the same question each time.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub repetition: f64,
    /// It ends the conversation, whatever the agent waits for.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub premature_end: f64,
    /// It writes about 300 words.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub too_long: f64,
    /// It says thank you.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub too_polite: f64,
    /// It writes German.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub wrong_language: f64,
}

impl UserFaults {
    pub(crate) fn shares(&self) -> [(&'static str, f64); 8] {
        [
            ("user_faults.role_flip", self.role_flip),
            ("user_faults.invented_fact", self.invented_fact),
            ("user_faults.leak", self.leak),
            ("user_faults.repetition", self.repetition),
            ("user_faults.premature_end", self.premature_end),
            ("user_faults.too_long", self.too_long),
            ("user_faults.too_polite", self.too_polite),
            ("user_faults.wrong_language", self.wrong_language),
        ]
    }

    /// The line with the faults that are drawn for it.
    pub(crate) fn spoil(&self, line: String, key: Key) -> String {
        if *self == Self::default() {
            return line;
        }
        let happens = |name: &str, share: f64| key.text("user_fault").text(name).happens(share);
        if happens("role_flip", self.role_flip) {
            return "How can I help you today?".to_owned();
        }
        if happens("repetition", self.repetition) {
            return "Could you please tell me all of that once more?".to_owned();
        }
        if happens("wrong_language", self.wrong_language) {
            return "Ich weiß nicht, was ich dazu noch sagen soll, und das ist mir zu viel.".to_owned();
        }
        let mut line = line;
        if happens("invented_fact", self.invented_fact) {
            let number = key.text("invented").value() % 90_000 + 10_000;
            line.push_str(&format!(" The order number is Q-{number}."));
        }
        if happens("leak", self.leak) {
            line.push_str(" My persona is like that.");
        }
        if happens("too_polite", self.too_polite) {
            line.push_str(" Thank you.");
        }
        if happens("too_long", self.too_long) {
            line.push_str(&" And there is more that I want to tell about it.".repeat(30));
        }
        if happens("premature_end", self.premature_end) {
            line.push_str("\n###DONE###");
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_drawn_from_the_seed_as_often_as_it_is_set() {
        let faults = UserFaults { role_flip: 0.25, leak: 0.5, ..UserFaults::default() };
        let lines: Vec<String> = (0..4_000).map(|seed| faults.spoil("Hi.".to_owned(), Key::new(seed))).collect();
        let share = |part: &str| lines.iter().filter(|line| line.contains(part)).count() as f64 / 4_000.0;
        assert!((share("How can I help you") - 0.25).abs() < 0.03);
        assert!((share("persona") - 0.75 * 0.5).abs() < 0.03);
        assert_eq!(faults.spoil("Hi.".to_owned(), Key::new(7)), faults.spoil("Hi.".to_owned(), Key::new(7)));
        assert_eq!(UserFaults::default().spoil("Hi.".to_owned(), Key::new(7)), "Hi.");
    }
}
