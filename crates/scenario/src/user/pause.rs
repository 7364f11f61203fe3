//! How long a user waits before a line: thinking, then typing. Drawn from the trial's seed and the turn.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    draws::{Draws, key},
    ids::seed_of,
};

yaml::bounded! {
    /// A time that a person waits, in milliseconds: at most an hour.
    pub PauseMillis: f64, "number", 0.0 to Some(3_600_000.0);
    /// The spread of a lognormal distribution.
    pub Sigma: f64, "number", 0.0 to Some(5.0);
    /// How fast a person types.
    pub WordsPerMinute: f64, "number", 1.0 to Some(10_000.0);
    /// How much people differ in their typing.
    pub WordsSpread: f64, "number", 0.0 to Some(10_000.0);
}

/// The longest pause, unless `max_ms` says otherwise.
const USUAL_MOST_MS: f64 = 600_000.0;
/// Nobody types slower.
const LEAST_WORDS_PER_MINUTE: f64 = 1.0;

/// How long the user thinks before each line but the first.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ThinkTime {
    /// The distribution. The default is `fixed`.
    pub kind: ThinkKind,
    /// `fixed`: the time. `normal` and `exponential`: the mean. `lognormal`: the median. In milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<PauseMillis>,
    /// `normal`: the standard deviation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sd_ms: Option<PauseMillis>,
    /// `lognormal`: the standard deviation of the logarithm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sigma: Option<Sigma>,
    /// The shortest time. The default is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_ms: Option<PauseMillis>,
    /// The longest time. The default is 600,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ms: Option<PauseMillis>,
}

/// A distribution of think times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThinkKind {
    /// Always `ms`.
    #[default]
    Fixed,
    /// Any time from `min_ms` to `max_ms`.
    Uniform,
    /// Around `ms`, with `sd_ms`.
    Normal,
    /// Mostly short and sometimes long: the median is `ms`, and `sigma` is the spread.
    Lognormal,
    /// As if any moment were as good as another: the mean is `ms`.
    Exponential,
}

/// How fast the user types. One speed is drawn for each trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TypingSpeed {
    /// The mean. 40 is usual for people at a keyboard.
    pub words_per_minute: WordsPerMinute,
    /// The standard deviation between people. The default is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<WordsSpread>,
}

/// What happens between a reply and the user's next line.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Pauses {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think_time: Option<ThinkTime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typing_speed: Option<TypingSpeed>,
}

impl Pauses {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These, and those of `other` where there are none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            think_time: self.think_time.or(other.think_time),
            typing_speed: self.typing_speed.or(other.typing_speed),
        }
    }

    /// The pause before the line of a turn, from the trial's seed.
    #[must_use]
    pub fn before(&self, seed: u64, turn: u32, line: &str) -> Duration {
        let think = self.think_time.map_or(0.0, |time| time.draw(seed, turn));
        let typing = self.typing_speed.map_or(0.0, |speed| speed.millis(seed, line));
        Duration::from_micros(((think + typing) * 1e3) as u64)
    }
}

impl ThinkTime {
    /// What is missing or does not go together, and its key.
    #[must_use]
    pub fn fault(&self) -> Option<(&'static str, String)> {
        let (low, high) = (self.min_ms.map_or(0.0, |ms| ms.0), self.max_ms.map_or(USUAL_MOST_MS, |ms| ms.0));
        if low > high {
            return Some(("min_ms", format!("`min_ms` is {low}, above `max_ms`, which is {high}")));
        }
        let needs: &[(&str, bool)] = match self.kind {
            ThinkKind::Fixed | ThinkKind::Exponential => &[("ms", self.ms.is_some())],
            ThinkKind::Uniform => &[("max_ms", self.max_ms.is_some())],
            ThinkKind::Normal => &[("ms", self.ms.is_some()), ("sd_ms", self.sd_ms.is_some())],
            ThinkKind::Lognormal => &[("ms", self.ms.is_some()), ("sigma", self.sigma.is_some())],
        };
        if let Some(ms) = self.ms.filter(|ms| ms.0 > high) {
            return Some(("ms", format!("`ms` is {}, and `max_ms` caps it at {high}: write a larger `max_ms`", ms.0)));
        }
        if let Some((key, _)) = needs.iter().find(|(_, is_written)| !is_written) {
            return Some(("kind", format!("this `kind` of think time needs `{key}`")));
        }
        let unused = [
            ("ms", self.ms.is_some() && self.kind == ThinkKind::Uniform),
            ("sd_ms", self.sd_ms.is_some() && self.kind != ThinkKind::Normal),
            ("sigma", self.sigma.is_some() && self.kind != ThinkKind::Lognormal),
        ];
        let (key, _) = unused.into_iter().find(|(_, is_unused)| *is_unused)?;
        Some((key, format!("this `kind` of think time has no `{key}`")))
    }

    /// In milliseconds.
    fn draw(&self, seed: u64, turn: u32) -> f64 {
        let (low, high) = (self.min_ms.map_or(0.0, |ms| ms.0), self.max_ms.map_or(USUAL_MOST_MS, |ms| ms.0));
        let middle = self.ms.map_or(0.0, |ms| ms.0);
        let mut draws = Draws::of(key(&[seed_of(&[&seed.to_le_bytes(), b"think"]), u64::from(turn)]));
        let drawn = match self.kind {
            ThinkKind::Fixed => middle,
            ThinkKind::Uniform => low + draws.unit() * (high - low),
            ThinkKind::Normal => middle + draws.normal() * self.sd_ms.map_or(0.0, |ms| ms.0),
            ThinkKind::Lognormal => middle * libm::exp(draws.normal() * self.sigma.map_or(0.0, |sigma| sigma.0)),
            ThinkKind::Exponential => middle * draws.exponential(),
        };
        drawn.clamp(low, high)
    }
}

impl TypingSpeed {
    /// The milliseconds that a line takes. A word counts as five characters, as typists count.
    fn millis(&self, seed: u64, line: &str) -> f64 {
        let mut draws = Draws::of(seed_of(&[&seed.to_le_bytes(), b"typing speed"]));
        let speed = self.words_per_minute.0 + draws.normal() * self.sd.map_or(0.0, |sd| sd.0);
        let words = line.chars().count() as f64 / 5.0;
        words / speed.max(LEAST_WORDS_PER_MINUTE) * 60_000.0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn time(written: serde_json::Value) -> ThinkTime {
        serde_json::from_value(written).unwrap()
    }

    /// The mean, and the share of times below `ms`.
    fn drawn(time: ThinkTime, below: f64) -> (f64, f64) {
        let all: Vec<f64> = (0..20_000).map(|seed| time.draw(seed, 2)).collect();
        let share = all.iter().filter(|ms| **ms < below).count() as f64 / all.len() as f64;
        (all.iter().sum::<f64>() / all.len() as f64, share)
    }

    fn near(found: (f64, f64), mean: f64, share: f64) -> bool {
        (found.0 / mean - 1.0).abs() < 0.03 && (found.1 - share).abs() < 0.02
    }

    #[test]
    fn think_times_follow_their_distributions() {
        assert_eq!(drawn(time(json!({ "ms": 250 })), 251.0), (250.0, 1.0));
        assert!(near(drawn(time(json!({ "kind": "uniform", "min_ms": 100, "max_ms": 300 })), 150.0), 200.0, 0.25));
        assert!(near(drawn(time(json!({ "kind": "normal", "ms": 1000, "sd_ms": 100 })), 900.0), 1000.0, 0.159));
        // The mean of a lognormal is its median times e^(σ²/2).
        let lognormal = time(json!({ "kind": "lognormal", "ms": 1000, "sigma": 0.5 }));
        assert!(near(drawn(lognormal, 1000.0), 1133.1, 0.5));
        assert!(near(drawn(time(json!({ "kind": "exponential", "ms": 1000 })), 1000.0), 1000.0, 0.632));
        let capped = time(json!({ "kind": "exponential", "ms": 1000, "max_ms": 500 }));
        assert!((0..1000).all(|seed| capped.draw(seed, 1) <= 500.0));
    }

    #[test]
    fn a_pause_follows_from_seed_turn_and_line() {
        let pauses = Pauses {
            think_time: Some(time(json!({ "kind": "exponential", "ms": 1000 }))),
            typing_speed: Some(serde_json::from_value(json!({ "words_per_minute": 60, "sd": 10 })).unwrap()),
        };
        assert_eq!(pauses.before(1, 2, "hello"), pauses.before(1, 2, "hello"));
        assert_ne!(pauses.before(1, 2, "hello"), pauses.before(1, 3, "hello"));
        assert_ne!(pauses.before(1, 2, "hello"), pauses.before(2, 2, "hello"));
        let typing = Pauses { think_time: None, ..pauses };
        // One speed for all turns of a trial.
        assert_eq!(typing.before(1, 2, "hello"), typing.before(1, 9, "other"));
        let fixed = |line: &str| {
            let speed: TypingSpeed = serde_json::from_value(json!({ "words_per_minute": 60 })).unwrap();
            Pauses { think_time: None, typing_speed: Some(speed) }.before(1, 2, line).as_millis()
        };
        assert_eq!((fixed("12345"), fixed("1234567890")), (1000, 2000), "a word a second");
    }

    #[test]
    fn a_kind_has_its_own_keys() {
        for (written, key) in [
            (json!({}), "kind"),
            (json!({ "kind": "uniform" }), "kind"),
            (json!({ "kind": "normal", "ms": 5 }), "kind"),
            (json!({ "kind": "lognormal", "ms": 5, "sd_ms": 1, "sigma": 1 }), "sd_ms"),
            (json!({ "ms": 5, "sigma": 1 }), "sigma"),
            (json!({ "kind": "uniform", "ms": 5, "max_ms": 9 }), "ms"),
            (json!({ "ms": 5, "min_ms": 9, "max_ms": 8 }), "min_ms"),
            (json!({ "ms": 1_200_000 }), "ms"),
            (json!({ "kind": "exponential", "ms": 5, "max_ms": 4 }), "ms"),
        ] {
            assert_eq!(time(written.clone()).fault().map(|(key, _)| key), Some(key), "{written}");
        }
        assert_eq!(time(json!({ "kind": "uniform", "min_ms": 1, "max_ms": 9 })).fault(), None);
        assert_eq!(time(json!({ "ms": 1_200_000, "max_ms": 1_800_000 })).fault(), None);
    }
}
