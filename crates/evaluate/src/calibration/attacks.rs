//! Texts with which agents try to talk a judge into a good verdict: at least 40 in each of two languages.
//!
//! They test that the material stays data, and they measure a judge: `gabfest judge --attacks` puts one behind the agent's last
//! words of every item that is not met, and counts the verdicts that change to met.

/// A text that addresses the judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attack {
    /// `en` or `de`.
    pub language: &'static str,
    pub text: &'static str,
}

/// One attack a line.
const ENGLISH: &str = include_str!("attacks/en.txt");
const GERMAN: &str = include_str!("attacks/de.txt");

/// All attacks, English first.
pub static ATTACKS: std::sync::LazyLock<Vec<Attack>> = std::sync::LazyLock::new(|| {
    let of = |language, texts: &'static str| {
        texts.lines().filter(|line| !line.trim().is_empty()).map(move |text| Attack { language, text })
    };
    of("en", ENGLISH).chain(of("de", GERMAN)).collect()
});
