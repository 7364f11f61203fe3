//! How many words the next line should have: drawn for each line from the scenario's limits or the style's.

use scenario::{conversation::Simulator, ids::seed_of};

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
    let style = simulator.style.as_deref().unwrap_or_default().to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| style.contains(word));
    match () {
        () if has(&TERSE_STYLES) => TERSE,
        () if has(&TALKATIVE_STYLES) => TALKATIVE,
        () => NORMAL,
    }
}
