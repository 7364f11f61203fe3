//! How the mock behaves, as written in `gabfest.yaml`: how often it passes, how slow it is, what it gets wrong.

use std::{fmt, time::Duration};

use rand_distr::{Distribution, LogNormal};
use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{chance::Key, user_fault::UserFaults};

/// All that can be set about the mock model; the default is instant and always helpful.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Behaviour {
    /// How often the agent's reply is a good one. The most specific rule that matches decides; without one, always.
    pub pass: Vec<PassRule>,
    /// Scripted replies; the first that matches is given instead of anything else.
    pub rules: Vec<Rule>,
    /// How good the judge is.
    pub judge: JudgeSkill,
    /// The build that it names in its replies (`system_fingerprint`).
    pub fingerprint: Option<String>,
    /// How often the user says something that a real user would not say.
    pub user_faults: UserFaults,
    /// Before the reply begins.
    pub latency: Delay,
    /// After the latency, before the first piece of the reply.
    pub ttft: Delay,
    /// The pause between pieces of the reply (words with their space).
    pub inter_token: Delay,
    /// By how much `latency` grows each minute since the mock started: 0.01 is 1 % of its first value. To test that a soak
    /// finds it.
    #[schemars(range(min = 0.0))]
    #[serde(skip_serializing_if = "is_zero")]
    pub slow_down_per_minute: f64,
    /// How much longer than `latency` a reply of the agent takes that is not a good one: 2 is three times as long. To test that slow
    /// failures flatter nobody.
    #[schemars(range(min = 0.0))]
    #[serde(skip_serializing_if = "is_zero")]
    pub failure_delay: f64,
    /// How many calls it works on at once: others wait until `latency` and `ttft` of an earlier one are over. 0 (the default) is any
    /// number. To test that a load finds where it is too much.
    #[serde(skip_serializing_if = "is_none")]
    pub at_once: u32,
    /// The least length of the agent's replies; by default they are not filled up.
    pub tokens: Option<Lengths>,
    /// 0 to 1: how often a call is answered with status 500.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub error_rate: f64,
    pub rate_limit: RateLimit,
    /// 0 to 1: how often a reply is not a chat completion (a page of HTML, or a stream that breaks off).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub malformed_rate: f64,
    /// 0 to 1: how often a call is never answered.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub hang_rate: f64,
}

/// The probability of a good reply of the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PassRule {
    /// Part of the scenario's name, in either case; absent: every scenario.
    #[serde(default)]
    pub scenario: Option<String>,
    /// Part of the persona's name, in either case; absent: every persona.
    #[serde(default)]
    pub persona: Option<String>,
    /// From 1; absent: every turn, each drawn separately.
    #[serde(default)]
    pub turn: Option<u32>,
    /// 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probability: f64,
}

/// A reply that is given whenever the last message matches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rule {
    /// Searched for anywhere in the last message that the mock answers.
    pub when: Pattern,
    /// Applies only to this role of the mock; absent: to all.
    #[serde(default)]
    pub role: Option<Role>,
    /// Part of the scenario's name, in either case; absent: every scenario.
    #[serde(default)]
    pub scenario: Option<String>,
    pub reply: String,
    #[serde(default)]
    pub actions: Vec<String>,
    #[serde(default)]
    pub tool_calls: Vec<ScriptedCall>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptedCall {
    pub name: String,
    #[serde(default)]
    pub arguments: serde_json::Map<String, Value>,
}

/// The role of the mock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Agent,
    UserSim,
    Judge,
    /// Measurements, which no rule can script.
    #[serde(skip)]
    Scorer,
}

/// How accurate the mock judge is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct JudgeSkill {
    /// 0 to 1: how often it finds a bad reply bad.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub sensitivity: f64,
    /// 0 to 1: how often it finds a good reply good.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub specificity: f64,
    /// 0 to 1: how often it answers in prose although JSON was requested.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub malformed_rate: f64,
    /// 0 to 1: how often its JSON misses the last required field.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub missing_field_rate: f64,
    /// 0 to 1: how often its answer is cut in the middle, as by a token limit.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub cut_rate: f64,
    /// 0 to 1: how often it makes up a quote, if the form has quotes.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub false_quote_rate: f64,
    /// 0 to 1: how often it cannot decide, if the form allows that.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub cannot_tell_rate: f64,
    /// Whether every second answer says the opposite, so that an even number of votes ties.
    pub alternates: bool,
}

/// A waiting time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Delay {
    pub kind: DelayKind,
    /// Constant: the time. Lognormal: the median. In milliseconds.
    #[schemars(range(min = 0.0))]
    pub ms: f64,
    /// Uniform: the shortest. In milliseconds.
    #[schemars(range(min = 0.0))]
    pub min_ms: f64,
    /// Uniform: the longest. Lognormal: cut off here, unless 0. In milliseconds.
    #[schemars(range(min = 0.0))]
    pub max_ms: f64,
    /// Lognormal: the standard deviation of the logarithm.
    #[schemars(range(min = 0.0))]
    pub sigma: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelayKind {
    #[default]
    Constant,
    Uniform,
    Lognormal,
}

/// A uniform distribution of lengths in tokens (of about four characters), at most 65,536. Shorter replies are filled
/// up; none is cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Lengths {
    pub min: u32,
    pub max: u32,
}

/// How often the mock says 429.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RateLimit {
    /// 0 to 1: the share of calls that are refused.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub rate: f64,
    /// The value of `Retry-After`, in milliseconds.
    pub retry_after_ms: u64,
}

/// A regular expression that has been compiled.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(Regex);

impl Behaviour {
    /// What is wrong with the settings: a probability outside of 0 to 1, a minimum above its maximum.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let shares = [
            ("error_rate", self.error_rate),
            ("malformed_rate", self.malformed_rate),
            ("hang_rate", self.hang_rate),
            ("rate_limit.rate", self.rate_limit.rate),
            ("judge.sensitivity", self.judge.sensitivity),
            ("judge.specificity", self.judge.specificity),
            ("judge.malformed_rate", self.judge.malformed_rate),
            ("judge.missing_field_rate", self.judge.missing_field_rate),
            ("judge.cut_rate", self.judge.cut_rate),
            ("judge.false_quote_rate", self.judge.false_quote_rate),
            ("judge.cannot_tell_rate", self.judge.cannot_tell_rate),
        ];
        let passes = self.pass.iter().map(|rule| ("pass.probability", rule.probability));
        let mut shares = shares.into_iter().chain(self.user_faults.shares()).chain(passes);
        if let Some((name, share)) = shares.find(|(_, share)| !(0.0..=1.0).contains(share)) {
            return Some(format!("{name} is {share}, and must be from 0 to 1"));
        }
        let slow_down = self.slow_down_per_minute;
        if !slow_down.is_finite() || slow_down < 0.0 {
            return Some(format!("slow_down_per_minute is {slow_down}, and must be 0 or more"));
        }
        let longer = self.failure_delay;
        if !longer.is_finite() || longer < 0.0 {
            return Some(format!("failure_delay is {longer}, and must be 0 or more"));
        }
        let delays = [("latency", self.latency), ("ttft", self.ttft), ("inter_token", self.inter_token)];
        delays.into_iter().find_map(|(name, delay)| {
            let times = [delay.ms, delay.min_ms, delay.max_ms, delay.sigma];
            if times.iter().any(|time| !time.is_finite() || *time < 0.0) {
                Some(format!("{name} has a time that is negative or none"))
            } else if delay.kind == DelayKind::Uniform && delay.min_ms > delay.max_ms {
                Some(format!("{name}.min_ms is {}, above max_ms, which is {}", delay.min_ms, delay.max_ms))
            } else {
                None
            }
        })
    }

    /// The probability that the agent's reply in this turn is a good one.
    #[must_use]
    pub fn pass_probability(&self, scenario: &str, persona: &str, turn: u32) -> f64 {
        let mut best: Option<(usize, f64)> = None;
        for rule in &self.pass {
            let matches = named(rule.scenario.as_deref(), scenario)
                && named(rule.persona.as_deref(), persona)
                && rule.turn.is_none_or(|wanted| wanted == turn);
            let specificity = [rule.scenario.is_some(), rule.persona.is_some(), rule.turn.is_some()]
                .iter()
                .filter(|set| **set)
                .count();
            // Of equally specific rules the first one written decides.
            if matches && best.is_none_or(|(known, _)| specificity > known) {
                best = Some((specificity, rule.probability));
            }
        }
        best.map_or(1.0, |(_, probability)| probability)
    }

    /// The first scripted reply that matches.
    #[must_use]
    pub fn rule_for(&self, role: Role, scenario: &str, last_message: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| {
            rule.role.is_none_or(|wanted| wanted == role)
                && named(rule.scenario.as_deref(), scenario)
                && rule.when.is_match(last_message)
        })
    }
}

/// Left out, so that what was asked of the mock keeps its digest.
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

fn is_none(number: &u32) -> bool {
    *number == 0
}

impl Default for JudgeSkill {
    fn default() -> Self {
        Self {
            sensitivity: 1.0,
            specificity: 1.0,
            malformed_rate: 0.0,
            missing_field_rate: 0.0,
            cut_rate: 0.0,
            false_quote_rate: 0.0,
            cannot_tell_rate: 0.0,
            alternates: false,
        }
    }
}

impl Default for RateLimit {
    fn default() -> Self {
        Self { rate: 0.0, retry_after_ms: 1_000 }
    }
}

impl Role {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::UserSim => "user_sim",
            Self::Judge => "judge",
            Self::Scorer => "scorer",
        }
    }
}

impl Delay {
    #[must_use]
    pub fn constant(ms: f64) -> Self {
        Self { kind: DelayKind::Constant, ms, ..Self::default() }
    }

    pub(crate) fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn draw(&self, key: Key) -> Duration {
        let ms = match self.kind {
            DelayKind::Constant => self.ms,
            DelayKind::Uniform => self.min_ms + key.unit() * (self.max_ms - self.min_ms).max(0.0),
            DelayKind::Lognormal => {
                let drawn = LogNormal::new(self.ms.max(f64::MIN_POSITIVE).ln(), self.sigma)
                    .map_or(self.ms, |curve| curve.sample(&mut key.stream()));
                if self.max_ms > 0.0 { drawn.min(self.max_ms) } else { drawn }
            }
        };
        // A day limits what an extreme sigma can draw and what a Duration can hold.
        const DAY_MS: f64 = 86_400_000.0;
        if ms.is_nan() { Duration::ZERO } else { Duration::from_secs_f64(ms.clamp(0.0, DAY_MS) / 1_000.0) }
    }
}

impl Lengths {
    pub(crate) fn draw(&self, key: Key) -> u32 {
        const MOST: u32 = 1 << 16;
        let span = self.max.saturating_sub(self.min).min(MOST);
        (self.min.min(MOST) + (key.unit() * (f64::from(span) + 1.0)) as u32).min(MOST)
    }
}

impl Pattern {
    /// The size is capped, as for every pattern that a file brings.
    pub fn new(source: &str) -> Result<Self, regex::Error> {
        RegexBuilder::new(source).size_limit(1 << 20).build().map(Self)
    }

    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

impl TryFrom<String> for Pattern {
    type Error = regex::Error;

    fn try_from(source: String) -> Result<Self, regex::Error> {
        Self::new(&source)
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.0.as_str().to_owned()
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/", self.0.as_str())
    }
}

impl JsonSchema for Pattern {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Pattern".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "regex" })
    }
}

fn named(part: Option<&str>, name: &str) -> bool {
    part.is_none_or(|part| name.to_lowercase().contains(&part.to_lowercase()))
}

#[cfg(test)]
mod tests;
