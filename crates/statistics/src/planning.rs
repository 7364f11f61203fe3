//! A comparison before it is played: what the history says about its cases, how many repeats find a fall, what they cost, and how long
//! they take. The power is that of [`compare::power`](crate::compare::power).

mod costs;
mod expected;
mod found;

pub use self::{
    costs::{Costs, Spread},
    expected::{Facts, Wanted},
    found::{Affordable, Basis, Chosen, Cost, CostSource, PastTime, Planning, SCHEMA_VERSION, Wall},
};
use crate::compare::power::Design;

/// More repeats are not looked at.
pub const MOST_REPEATS: u32 = 10_000;
/// The success rate of cases without a history, unless the user says another one.
pub const ASSUMED_RATE: f64 = 0.9;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question {
    /// The fall that is to be found, as a share.
    pub detect: f64,
    /// With this chance.
    pub power: f64,
    /// In US dollars, for one run.
    pub budget: Option<f64>,
    /// The repeats to plan, instead of the fewest that suffice.
    pub repeats: Option<u32>,
}

/// How many repeats there may and must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// The fewest repeats that find the fall; `None`: no number does.
    pub needed: Option<u32>,
    /// The most that the budget pays; `None` without a budget or a price.
    pub affordable: Option<u32>,
    /// Those that are planned; `None`: no number finds the fall, or the budget pays none.
    pub chosen: Option<u32>,
    /// The smallest fall that any number of repeats finds.
    pub limit: Option<f64>,
}

/// `cost_of_one`: what one repeat of every case may cost at most; `None` if it is unknown.
#[must_use]
pub fn answer(design: &Design, question: Question, cost_of_one: Option<f64>) -> Answer {
    let Question { detect, power, budget, repeats } = question;
    let needed = design.least_repeats(detect, power, MOST_REPEATS);
    // A budget of exactly n repeats pays n of them, and what costs nothing is paid as often as wanted.
    let pays = |budget: f64, cost: f64| (budget / cost * (1.0 + 1e-9)).floor().min(f64::from(MOST_REPEATS)) as u32;
    let affordable = budget.zip(cost_of_one).map(|(budget, cost)| pays(budget, cost));
    let wanted = repeats.or(needed).or(affordable);
    let chosen = match (wanted, affordable) {
        (wanted, Some(most)) => wanted.map(|wanted| wanted.min(most)).filter(|repeats| *repeats > 0),
        (wanted, None) => wanted,
    };
    Answer { needed, affordable, chosen, limit: design.least_fall(MOST_REPEATS, power) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::power::{Expected, Nights};

    fn design(nights: Nights) -> Design {
        let cells = (0..40).map(|scenario| Expected { scenario, rate: 0.9 }).collect();
        Design::new(cells, nights, 0.03).unwrap()
    }

    #[test]
    fn a_budget_that_is_too_small_bounds_the_repeats() {
        let question = Question { detect: 0.05, power: 0.9, budget: None, repeats: None };
        let free = answer(&design(Nights::default()), question, Some(0.4));
        let needed = free.needed.unwrap();
        assert_eq!((free.chosen, free.affordable), (Some(needed), None));
        let tight = answer(&design(Nights::default()), Question { budget: Some(0.4 * 5.0), ..question }, Some(0.4));
        assert_eq!((tight.needed, tight.affordable, tight.chosen), (Some(needed), Some(5), Some(5)));
        assert!(needed > 5);
        let none = answer(&design(Nights::default()), Question { budget: Some(0.1), ..question }, Some(0.4));
        assert_eq!((none.affordable, none.chosen), (Some(0), None));
        let rich = answer(&design(Nights::default()), Question { budget: Some(1e9), ..question }, Some(0.4));
        assert_eq!(rich.chosen, Some(needed));
        let written = answer(&design(Nights::default()), Question { repeats: Some(3), ..question }, None);
        assert_eq!((written.chosen, written.needed), (Some(3), Some(needed)));
    }

    #[test]
    fn nights_that_differ_more_than_the_fall_have_a_limit() {
        let question = Question { detect: 0.04, power: 0.9, budget: None, repeats: None };
        let found = answer(&design(Nights { correlation: 0.2, common: 0.01 }), question, None);
        assert_eq!((found.needed, found.chosen), (None, None));
        assert!(found.limit.is_some_and(|limit| limit > 0.04), "{found:?}");
    }
}
