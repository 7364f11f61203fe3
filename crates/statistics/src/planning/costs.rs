//! What conversations cost and how long runs took in earlier nights, with how much nights differ in it.

use std::collections::{BTreeMap, BTreeSet};

use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::Wanted;
use crate::{
    compare::played::CellName,
    nights::{Night, NightCell},
};

/// Fewer nights say too little about how much nights differ.
const LEAST_NIGHTS: usize = 3;
/// Each end of an interval is wrong with this chance.
const CHANCE: f64 = 0.05;

/// A figure of one more night, with a 90 % prediction interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
    /// Nights that it comes from.
    pub nights: u64,
}

/// What one repeat of every wanted cell uses, as the history has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// In US dollars; `None` with too few nights, or if a call had no price.
    pub usd: Option<Spread>,
    /// The time of a run for each of its conversations, in seconds, with the slots that it had.
    pub seconds: Option<Spread>,
}

impl Costs {
    #[must_use]
    pub fn of(wanted: &[Wanted], nights: &[Night]) -> Self {
        let nights: Vec<&Night> = nights.iter().filter(|night| night.run.is_whole_night()).collect();
        Self { usd: usd(wanted, &nights), seconds: seconds(wanted, &nights) }
    }
}

fn usd(wanted: &[Wanted], nights: &[&Night]) -> Option<Spread> {
    let is_priced = |night: &&&Night| night.run.cost_complete && night.cells.iter().all(|cell| cell.cost_usd.is_some());
    let of: BTreeSet<(&CellName, &str)> = wanted.iter().map(|one| (&one.cell, one.agent.as_str())).collect();
    let is_wanted = |cell: &&NightCell| of.contains(&(&cell.cell, cell.agent.as_str()));
    // Attempts that were lost and the preflight are in the run's cost and in no cell's.
    let priced: Vec<(&&Night, f64)> = nights
        .iter()
        .filter(is_priced)
        .filter(|night| night.cells.iter().any(|cell| is_wanted(&cell)))
        .map(|night| {
            let cells: f64 = night.cells.iter().filter_map(|cell| cell.cost_usd).sum();
            (night, if cells > 0.0 { night.run.cost_usd / cells } else { 1.0 })
        })
        .collect();
    let mut per_cell: BTreeMap<(&CellName, &str), (f64, f64)> = BTreeMap::new();
    for (night, besides) in &priced {
        for cell in night.cells.iter().filter(is_wanted) {
            let (usd, trials) = per_cell.entry((&cell.cell, cell.agent.as_str())).or_default();
            *usd += cell.cost_usd.unwrap_or_default() * besides;
            *trials += cell.planned as f64;
        }
    }
    let mean = |key: &(&CellName, &str)| {
        per_cell.get(key).filter(|(_, trials)| *trials > 0.0).map(|(usd, trials)| usd / trials)
    };
    // What the night cost beside what its cells cost on average.
    let factors: Vec<f64> = priced
        .iter()
        .filter_map(|(night, besides)| {
            let cells = || night.cells.iter().filter(is_wanted);
            let usual: f64 =
                cells().filter_map(|cell| Some(mean(&(&cell.cell, cell.agent.as_str()))? * cell.planned as f64)).sum();
            let was: f64 = cells().filter_map(|cell| cell.cost_usd).sum::<f64>() * besides;
            (usual > 0.0).then(|| was / usual)
        })
        .collect();
    let known: Vec<f64> = wanted.iter().filter_map(|one| mean(&(&one.cell, one.agent.as_str()))).collect();
    let all = known.iter().sum::<f64>() / known.len().max(1) as f64 * wanted.len() as f64;
    let spread = spread(&factors)?;
    Some(Spread { mean: all, low: all * spread.low, high: all * spread.high, nights: spread.nights })
}

/// The time of a run grows with its conversations, so nights of very different sizes are compared by the time of one.
fn seconds(wanted: &[Wanted], nights: &[&Night]) -> Option<Spread> {
    let of: BTreeSet<(&CellName, &str)> = wanted.iter().map(|one| (&one.cell, one.agent.as_str())).collect();
    let has_one = |night: &&&Night| night.cells.iter().any(|cell| of.contains(&(&cell.cell, cell.agent.as_str())));
    let of_one = |night: &&Night| {
        let trials = night.cells.iter().map(|cell| cell.planned).sum::<u64>();
        night.run.duration_ms.filter(|_| trials > 0).map(|millis| millis as f64 / 1_000.0 / trials as f64)
    };
    let seconds: Vec<f64> = nights.iter().filter(has_one).filter_map(of_one).collect();
    spread(&seconds)
}

/// The mean of some values and where one more is expected. `None` with too few.
fn spread(values: &[f64]) -> Option<Spread> {
    if values.len() < LEAST_NIGHTS {
        return None;
    }
    let number = values.len() as f64;
    let mean = values.iter().sum::<f64>() / number;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (number - 1.0);
    let law = StudentsT::new(0.0, 1.0, number - 1.0).ok()?;
    let half = law.inverse_cdf(1.0 - CHANCE) * (variance * (1.0 + 1.0 / number)).sqrt();
    Some(Spread { mean, low: (mean - half).max(0.0), high: mean + half, nights: values.len() as u64 })
}

#[cfg(test)]
mod tests {
    use record::summary::RunState;

    use super::*;
    use crate::trends::tests::{cell, night};

    fn wanted(scenario: &str) -> Wanted {
        let cell = CellName { scenario: format!("f/{scenario}"), parameters: Vec::new(), persona: None };
        Wanted { cell, agent: "bot".to_owned(), content: None }
    }

    #[test]
    fn a_cost_is_that_of_the_nights_with_lost_attempts_and_new_cells() {
        let of = |id: &str, usd: f64| {
            let mut refund = cell("refund", 10, 0, "a");
            refund.cost_usd = Some(usd);
            let mut night = night(id, RunState::Finished, vec![refund]);
            (night.run.cost_usd, night.run.cost_complete, night.run.duration_ms) = (usd * 1.1, true, Some(20_000));
            night
        };
        let nights = [of("1", 1.0), of("2", 1.2), of("3", 0.8)];
        let found = Costs::of(&[wanted("refund"), wanted("new")], &nights);
        let usd = found.usd.unwrap();
        // Each trial of refund costs 0.11, and a case without a history as much.
        assert!((usd.mean - 0.22).abs() < 1e-9 && usd.low < 0.18 && usd.high > 0.26 && usd.nights == 3, "{usd:?}");
        assert_eq!(found.seconds.map(|spread| (spread.mean, spread.high)), Some((2.0, 2.0)));
        assert_eq!(Costs::of(&[wanted("refund")], &nights[..2]), Costs { usd: None, seconds: None });
        let mut unpriced = nights;
        unpriced[0].run.cost_complete = false;
        assert_eq!(Costs::of(&[wanted("refund")], &unpriced).usd, None);
    }

    /// Of nights whose cost differs, 90 % are within the interval of those before.
    #[test]
    fn nine_of_ten_nights_cost_what_is_predicted() {
        let mut state = 3_u64;
        let mut share = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut normal = || (0..12).map(|_| share()).sum::<f64>() - 6.0;
        let mut inside = 0;
        for _ in 0..2_000 {
            let values: Vec<f64> = (0..8).map(|_| 10.0 + normal()).collect();
            let found = spread(&values[..7]).unwrap();
            inside += u32::from((found.low..=found.high).contains(&values[7]));
        }
        assert!((1_750..=1_850).contains(&inside), "{inside} of 2,000");
    }
}
