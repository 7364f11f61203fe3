//! A search for the highest rate that still meets the objectives: which rate it tries next, and when it is over.
//!
//! The rate is multiplied until a step does not hold. Then the search halves the distance between the highest rate that held and the
//! lowest that did not. A step that is undecided did not hold.

use std::{fmt, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::profile::MOST_VALUE;

/// The most steps of a search. Each lease of a worker lists the changes of its rate, and a step has two.
pub const MOST_SEARCH_STEPS: u32 = 40;
/// The longest step: a day.
const MOST_MICROS: u64 = 86_400_000_000;

/// How a search chooses the rates of its steps. Rates are starts a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// The rate of the first step, and between steps.
    pub from: f64,
    /// No step has a higher rate.
    pub to: f64,
    /// What the rate is multiplied by as long as steps hold; above 1.
    pub factor: f64,
    /// The search is over when the lowest rate that did not hold is at most this share above the highest that held.
    pub precision: f64,
    pub max_steps: u32,
    /// How long a step is measured.
    pub every_micros: u64,
    /// A step is measured longer if its rate starts fewer conversations than these in that time.
    pub conversations: u64,
    /// How long a rate is played before the step is measured.
    pub settle_micros: u64,
}

/// What a search found of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepVerdict {
    /// Every requirement is met with 95 % confidence.
    Held,
    /// A requirement is broken with 95 % confidence.
    Broke,
    /// Neither: too few conversations, or the agent did not get this load.
    Undecided,
}

/// A step that was played.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tried {
    pub rate: f64,
    pub verdict: StepVerdict,
}

/// A step of a search in the schedule. Times count from the start of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchStep {
    pub rate: f64,
    /// From then on the rate is played.
    pub from: Duration,
    /// From then on it is measured.
    pub measured_from: Duration,
    /// Until then.
    pub until: Duration,
}

/// Why a search has no further step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SearchEnd {
    /// The first rate did not hold, so a lower one would have to be tried.
    FirstDidNotHold,
    /// The highest rate of the settings held.
    HighestHeld,
    Precise {
        precision: f64,
    },
    MostSteps(u32),
}

impl Search {
    /// The rate of the step after these.
    ///
    /// # Errors
    /// Why the search is over.
    pub fn next(&self, tried: &[Tried]) -> Result<f64, SearchEnd> {
        if tried.is_empty() {
            return Ok(self.from);
        }
        let Some(held) = highest_held(tried) else { return Err(SearchEnd::FirstDidNotHold) };
        let many = u32::try_from(tried.len()).unwrap_or(u32::MAX);
        match lowest_not_held(tried) {
            None if held >= self.to => Err(SearchEnd::HighestHeld),
            Some(limit) if limit / held - 1.0 <= self.precision + 1e-9 => {
                Err(SearchEnd::Precise { precision: self.precision })
            }
            _ if many >= self.max_steps => Err(SearchEnd::MostSteps(self.max_steps)),
            None => Ok((held * self.factor).min(self.to)),
            Some(limit) => Ok(between(held, limit)),
        }
    }

    /// When a step is measured whose rate is played from a time on.
    #[must_use]
    pub fn step(&self, rate: f64, from: Duration) -> SearchStep {
        let measured_from = from + Duration::from_micros(self.settle_micros);
        SearchStep { rate, from, measured_from, until: measured_from + self.length(rate) }
    }

    /// How long a step is measured.
    fn length(&self, rate: f64) -> Duration {
        let for_conversations = Duration::try_from_secs_f64(self.conversations as f64 / rate).unwrap_or(Duration::MAX);
        Duration::from_micros(self.every_micros).max(for_conversations).min(Duration::from_micros(MOST_MICROS))
    }

    /// How many conversations start while a step is measured, on average.
    #[must_use]
    pub fn conversations_of(&self, rate: f64) -> u64 {
        (rate * self.length(rate).as_secs_f64()).round() as u64
    }

    /// Enough time for all steps and for what they wait for in between. No step is longer than the first.
    #[must_use]
    pub fn usual_micros(&self) -> u64 {
        let step = self.step(self.from, Duration::from_secs(10)).until;
        u64::try_from(step.as_micros()).unwrap_or(u64::MAX).saturating_mul(u64::from(self.max_steps) * 2)
    }

    pub(super) fn consistent(&self) -> Result<(), String> {
        let Self { from, to, factor, precision, max_steps, every_micros, conversations, settle_micros } = *self;
        if !(from > 0.0 && from <= to && to <= MOST_VALUE) {
            return Err(format!(
                "it searches from {from}/s to {to}/s; above 0/s to {MOST_VALUE}/s, upwards, is possible"
            ));
        }
        if !(1.01..=100.0).contains(&factor) {
            return Err(format!("its rate is multiplied by {factor}; 1.01 to 100 are possible"));
        }
        if !(0.001..=1.0).contains(&precision) {
            return Err(format!("its precision is {precision}; 0.001 to 1 are possible"));
        }
        if !(1..=MOST_SEARCH_STEPS).contains(&max_steps) {
            return Err(format!("it has {max_steps} steps; 1 to {MOST_SEARCH_STEPS} are possible"));
        }
        let for_first = conversations as f64 / from * 1e6;
        if every_micros == 0 || every_micros.max(settle_micros) > MOST_MICROS || for_first > MOST_MICROS as f64 {
            return Err("one of its steps has no duration, or one above a day".to_owned());
        }
        Ok(())
    }
}

/// The fewest conversations of which a share can be shown to be good with 95 % confidence, if all of them are.
#[must_use]
pub fn least_to_hold(share: f64) -> u64 {
    // The low end of Wilson's interval is n / (n + z²) where all are good.
    const Z2: f64 = 3.841_458_820_694_124;
    (Z2 * share / (1.0 - share) - 1e-9).ceil() as u64
}

/// The highest rate that held below every rate that did not.
#[must_use]
pub fn highest_held(tried: &[Tried]) -> Option<f64> {
    let limit = lowest_not_held(tried).unwrap_or(f64::INFINITY);
    rates(tried, |verdict| verdict == StepVerdict::Held).filter(|rate| *rate < limit).reduce(f64::max)
}

fn lowest_not_held(tried: &[Tried]) -> Option<f64> {
    rates(tried, |verdict| verdict != StepVerdict::Held).reduce(f64::min)
}

fn rates(tried: &[Tried], wanted: fn(StepVerdict) -> bool) -> impl Iterator<Item = f64> {
    tried.iter().filter(move |step| wanted(step.verdict)).map(|step| step.rate)
}

/// The middle with as few digits as tell it from both.
fn between(low: f64, high: f64) -> f64 {
    let middle = low + (high - low) / 2.0;
    let unit = 10_f64.powf((high - low).log10().floor() - 1.0);
    let rounded = (middle / unit).round() * unit;
    // Away from what the product adds to the last digits.
    let rounded = (rounded * 1e9).round() / 1e9;
    if low < rounded && rounded < high { rounded } else { middle }
}

impl fmt::Display for SearchEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FirstDidNotHold => f.write_str("the first rate did not hold"),
            Self::HighestHeld => f.write_str("the highest rate that it may try held"),
            Self::Precise { precision } => {
                write!(f, "the rate is known to {} %", (precision * 1e4).round() / 1e2)
            }
            Self::MostSteps(steps) => write!(f, "it has played its {steps} steps"),
        }
    }
}

/// A search, and its steps so far.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Searching {
    pub(super) search: Search,
    pub(super) steps: Vec<SearchStep>,
    pub(super) over: bool,
}

impl Searching {
    /// With its first step, which the plan has already.
    pub(super) fn from(search: Search, warm_up: Duration) -> Self {
        Self { search, steps: vec![search.step(search.from, warm_up)], over: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEARCH: Search = Search {
        from: 5.0,
        to: 100.0,
        factor: 2.0,
        precision: 0.05,
        max_steps: 20,
        every_micros: 30_000_000,
        conversations: 100,
        settle_micros: 5_000_000,
    };

    /// The rates that are tried if the agent bears so much, and why the search ends.
    fn tried(search: &Search, bears: f64) -> (Vec<f64>, SearchEnd) {
        let mut tried = Vec::new();
        loop {
            match search.next(&tried) {
                Ok(rate) => {
                    let verdict = if rate <= bears { StepVerdict::Held } else { StepVerdict::Broke };
                    tried.push(Tried { rate, verdict });
                }
                Err(end) => return (tried.iter().map(|step| step.rate).collect(), end),
            }
        }
    }

    #[test]
    fn it_grows_until_a_step_breaks_and_then_halves_the_distance() {
        let precise = SearchEnd::Precise { precision: 0.05 };
        assert_eq!(tried(&SEARCH, 43.0), (vec![5.0, 10.0, 20.0, 40.0, 80.0, 60.0, 50.0, 45.0, 42.5, 43.8], precise));
        assert_eq!(tried(&SEARCH, 1e9), (vec![5.0, 10.0, 20.0, 40.0, 80.0, 100.0], SearchEnd::HighestHeld));
        assert_eq!(tried(&SEARCH, 1.0), (vec![5.0], SearchEnd::FirstDidNotHold));
        let few = Search { max_steps: 3, ..SEARCH };
        assert_eq!(tried(&few, 13.0), (vec![5.0, 10.0, 20.0], SearchEnd::MostSteps(3)));
        let once = Search { to: 5.0, ..SEARCH };
        assert_eq!(tried(&once, 13.0), (vec![5.0], SearchEnd::HighestHeld));
    }

    #[test]
    fn what_it_claims_is_near_what_the_agent_bears() {
        for bears in [5.0, 5.01, 7.3, 19.999, 20.0, 63.2, 99.9] {
            let (rates, _) = tried(&SEARCH, bears);
            let verdict = |rate: f64| if rate <= bears { StepVerdict::Held } else { StepVerdict::Broke };
            let all: Vec<Tried> = rates.iter().map(|rate| Tried { rate: *rate, verdict: verdict(*rate) }).collect();
            let held = highest_held(&all).expect("the first rate holds");
            assert!(held <= bears && bears < held * 1.05 + 1e-9, "{bears}: {held} of {rates:?}");
        }
    }

    #[test]
    fn an_undecided_step_did_not_hold() {
        let step = |rate, verdict| Tried { rate, verdict };
        let all = [step(5.0, StepVerdict::Held), step(10.0, StepVerdict::Undecided)];
        assert_eq!(SEARCH.next(&all), Ok(7.5));
        assert_eq!(SEARCH.next(&[step(5.0, StepVerdict::Undecided)]), Err(SearchEnd::FirstDidNotHold));
        // What holds above a rate that did not is no claim.
        let odd = [step(5.0, StepVerdict::Held), step(10.0, StepVerdict::Broke), step(20.0, StepVerdict::Held)];
        assert_eq!(highest_held(&odd), Some(5.0));
    }

    #[test]
    fn few_conversations_cannot_show_much() {
        assert_eq!([0.5, 0.9, 0.95, 0.98, 0.99].map(least_to_hold), [4, 35, 73, 189, 381]);
        assert_eq!((SEARCH.conversations_of(5.0), SEARCH.conversations_of(1.0)), (150, 100));
    }

    #[test]
    fn a_slow_step_is_longer_so_that_it_has_enough_conversations() {
        let seconds = |rate| {
            let step = SEARCH.step(rate, Duration::from_secs(7));
            (step.measured_from.as_secs(), step.until.as_secs())
        };
        assert_eq!((seconds(1.0), seconds(50.0)), ((12, 112), (12, 42)));
        assert!(Search { from: 0.0001, ..SEARCH }.consistent().is_err(), "its first step would last for days");
    }
}
