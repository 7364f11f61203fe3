//! How many words the next line should have: drawn for each line from the scenario's limits, else from the style's.

use scenario::{
    conversation::Simulator,
    ids::seed_of,
    user::{Length, WordRange},
};

const TERSE: (u32, u32) = (1, 15);
const NORMAL: (u32, u32) = (5, 40);
const TALKATIVE: (u32, u32) = (25, 120);

/// Beginnings of words in a style that ask for short or long lines.
const TERSE_STYLES: [&str; 8] = ["terse", "curt", "brief", "short", "laconic", "concise", "to the point", "monosyllab"];
const TALKATIVE_STYLES: [&str; 7] = ["talkative", "chatty", "verbose", "wordy", "rambl", "long-winded", "detailed"];

/// The number of words for the line with this seed.
pub(crate) fn words(simulator: &Simulator, seed: u64) -> u32 {
    let (low, high) = limits(simulator);
    let drawn = seed_of(&[&seed.to_le_bytes(), b"words"]);
    low + u32::try_from(drawn % u64::from(high - low + 1)).unwrap_or(0)
}

/// The fewest and the most words.
pub(crate) fn limits(simulator: &Simulator) -> (u32, u32) {
    if let Some(Length { words: WordRange(low, high) }) = simulator.extras.length {
        return (low, high);
    }
    let style = simulator.style.as_deref().unwrap_or_default().to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| style.contains(word));
    match () {
        () if has(&TERSE_STYLES) => TERSE,
        () if has(&TALKATIVE_STYLES) => TALKATIVE,
        () => NORMAL,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn simulator(style: &str, extras: Value) -> Simulator {
        serde_json::from_value(json!({
            "model_type": "large", "temperature": 0.7, "max_tokens": 200, "persona": "p", "objective": "o", "style": style,
            "constraints": [], "emotional_state": null, "knowledge_level": "beginner", "gabfest": extras,
        }))
        .unwrap()
    }

    #[test]
    fn the_scenario_sets_the_limits_and_else_the_style() {
        let own = json!({ "length": { "words": [3, 9] } });
        for (style, extras, expected) in [
            ("Curt and rude", json!({}), TERSE),
            ("chatty", json!({}), TALKATIVE),
            ("casual", json!({}), NORMAL),
            ("chatty", own.clone(), (3, 9)),
        ] {
            assert_eq!(limits(&simulator(style, extras)), expected, "{style}");
        }
        let drawn: std::collections::BTreeSet<u32> =
            (0..200).map(|seed| words(&simulator("", own.clone()), seed)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), (3..=9).collect::<Vec<_>>());
    }
}
