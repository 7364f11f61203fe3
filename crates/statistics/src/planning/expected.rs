//! What the history lets expect of the cells of a plan: their success rates, and how much nights differ.

use std::collections::BTreeMap;

use record::summary::{Contents, scenario_key};
use scenario::Plan;

use crate::{
    compare::{
        nights::{LEAST_DIFFERENCES, differences},
        played::CellName,
        power::{Expected, Nights},
    },
    ledger::{Belief, Outcomes},
    nights::{self, Night, NightCell},
    trends::Trends,
};

/// A cell that is to be played.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wanted {
    pub cell: CellName,
    /// As the history calls it.
    pub agent: String,
    /// The digests of its scenario and persona.
    pub content: Option<String>,
}

/// What is expected of the cells, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// In the order of the plan.
    pub cells: Vec<Expected>,
    /// Cells with a result in the history.
    pub known: u64,
    /// Nights with one of the cells.
    pub nights: u64,
    pub variance: Nights,
    /// The root mean square difference of the success rate from one night to the next; `None`: too few nights.
    pub usual: Option<f64>,
    /// The success rate of cells without a result.
    pub assumed: f64,
}

impl Wanted {
    /// The cells of a plan without those in quarantine, which a comparison leaves out.
    #[must_use]
    pub fn of(plan: &Plan, contents: &Contents) -> Vec<Self> {
        let titles = plan.titles();
        let counted = plan.cases().filter(|case| {
            let variant = plan.variant(case);
            let title = titles.get(case.group).map_or("", String::as_str);
            plan.quarantine(case, title, variant.as_deref()).is_none()
        });
        counted
            .filter_map(|case| {
                let source = &plan.groups.get(case.group)?.source.path;
                let mut parameters: Vec<(String, String)> =
                    case.parameters.iter().map(|(path, value)| (path.clone(), value.to_string())).collect();
                parameters.sort();
                let cell =
                    CellName { scenario: scenario_key(source, &case.scenario), parameters, persona: case.persona };
                let content = nights::content(Some(contents), &cell);
                Some(Self { cell, agent: nights::agent(&case.agent), content })
            })
            .collect()
    }

    /// A case whose scenario changed since is another case.
    fn is(&self, cell: &NightCell) -> bool {
        self.cell == cell.cell && self.agent == cell.agent && (self.content.is_none() || self.content == cell.content)
    }
}

impl Facts {
    /// `nights`: the earliest first; those that are no nights do not count. `assumed`: the success rate of cells without a result, if
    /// no cell has one.
    #[must_use]
    pub fn of(wanted: &[Wanted], nights: &[Night], half_life: f64, assumed: f64) -> Self {
        let nights: Vec<Night> = nights.iter().filter_map(|night| only(wanted, night)).collect();
        let trends = Trends::of(&nights, half_life);
        let believed: BTreeMap<(CellName, &str), &Belief> = trends
            .cases
            .iter()
            .map(|case| {
                let cell = CellName {
                    scenario: case.scenario.clone(),
                    parameters: case.parameters.clone(),
                    persona: case.persona.clone(),
                };
                ((cell, case.agent.as_str()), &case.belief)
            })
            .filter(|(_, belief)| belief.trials > 0)
            .collect();
        let of =
            |wanted: &Wanted| believed.get(&(wanted.cell.clone(), wanted.agent.as_str())).map(|belief| belief.rate);
        let rates: Vec<Option<f64>> = wanted.iter().map(of).collect();
        let known: Vec<f64> = rates.iter().flatten().copied().collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        let assumed = if known.is_empty() { assumed } else { mean };
        let mut scenarios: BTreeMap<&str, usize> = BTreeMap::new();
        let mut cells = Vec::with_capacity(wanted.len());
        for (wanted, rate) in wanted.iter().zip(&rates) {
            let next = scenarios.len();
            let scenario = *scenarios.entry(&wanted.cell.scenario).or_insert(next);
            cells.push(Expected { scenario, rate: rate.unwrap_or(assumed) });
        }
        let borrowed: Vec<&Night> = nights.iter().collect();
        let moved = differences(&borrowed);
        let square = moved.iter().map(|one| one * one).sum::<f64>() / moved.len().max(1) as f64;
        let is_enough = moved.len() >= LEAST_DIFFERENCES;
        let correlation = trends.night_correlation;
        let common = if is_enough { common(&nights, square, correlation) } else { 0.0 };
        Self {
            cells,
            known: known.len() as u64,
            nights: nights.len() as u64,
            variance: Nights { correlation, common },
            usual: is_enough.then(|| square.sqrt()),
            assumed,
        }
    }
}

/// The wanted cells of a night, if it is one and has any.
fn only(wanted: &[Wanted], night: &Night) -> Option<Night> {
    if !night.run.is_whole_night() {
        return None;
    }
    let mut by_cell: BTreeMap<(&CellName, &str), &Wanted> = BTreeMap::new();
    wanted.iter().for_each(|one| {
        by_cell.insert((&one.cell, one.agent.as_str()), one);
    });
    let is_wanted =
        |cell: &&NightCell| by_cell.get(&(&cell.cell, cell.agent.as_str())).is_some_and(|wanted| wanted.is(cell));
    let cells: Vec<NightCell> =
        night.cells.iter().filter(is_wanted).filter(|cell| cell.trials() > 0).cloned().collect();
    (!cells.is_empty()).then(|| Night { run: night.run.clone(), cells, failures: Vec::new() })
}

/// The variance that all cells share in a night: of the mean square difference from night to night, what is left after the chance of the
/// trials and after what nights do to single scenarios. The correlation has both kinds of nights in it, so the two unknowns follow from
/// the two figures.
fn common(nights: &[Night], square: f64, correlation: f64) -> f64 {
    let variance = |of: Outcomes| {
        let (passed, trials) = (of.passed as f64, of.trials as f64);
        // Unbiased; one trial says nothing about its variance.
        if of.trials < 2 { 0.25 } else { passed * (trials - passed) / (trials * (trials - 1.0)) }
    };
    let (mut chance, mut shared, mut explained) = (0.0, 0.0, 0.0);
    for night in nights {
        let cells = night.cells.len() as f64;
        let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
        for cell in &night.cells {
            let of = variance(Outcomes { passed: cell.passed, trials: cell.trials() });
            chance += of / cell.trials() as f64 / (cells * cells);
            explained += correlation / (1.0 - correlation).max(0.05) * of / cells;
            *sizes.entry(&cell.cell.scenario).or_default() += 1.0;
        }
        shared += sizes.values().map(|size| size * size).sum::<f64>() / (cells * cells);
    }
    let number = nights.len().max(1) as f64;
    let (chance, shared, explained) = (chance / number, shared / number, explained / number);
    // square / 2 = chance + common + shared (explained - common)
    let left = square / 2.0 - chance - shared * explained;
    if shared >= 1.0 { explained } else { (left / (1.0 - shared)).clamp(0.0, explained) }
}

#[cfg(test)]
mod tests {
    use record::summary::RunState;

    use super::*;
    use crate::{
        ledger::HALF_LIFE,
        trends::tests::{cell, night},
    };

    fn wanted(scenario: &str, content: &str) -> Wanted {
        let cell = CellName { scenario: format!("f/{scenario}"), parameters: Vec::new(), persona: None };
        Wanted { cell, agent: "bot".to_owned(), content: Some(content.to_owned()) }
    }

    #[test]
    fn a_case_has_its_rate_and_a_new_or_changed_one_that_of_the_others() {
        let of = |id: &str| {
            night(
                id,
                RunState::Finished,
                vec![cell("refund", 12, 8, "a"), cell("hours", 20, 0, "b"), cell("old", 0, 20, "c")],
            )
        };
        let nights = [of("1"), of("2"), of("3")];
        let all = [wanted("refund", "a"), wanted("hours", "b"), wanted("old", "changed"), wanted("new", "d")];
        let facts = Facts::of(&all, &nights, HALF_LIFE, 0.5);
        let rates: Vec<f64> = facts.cells.iter().map(|cell| cell.rate).collect();
        assert!((rates[0] - 0.6).abs() < 0.02 && rates[1] > 0.97, "{rates:?}");
        let mean = f64::midpoint(rates[0], rates[1]);
        assert!((rates[2] - mean).abs() < 1e-9 && (rates[3] - mean).abs() < 1e-9, "{rates:?}");
        assert_eq!((facts.known, facts.nights, facts.usual), (2, 3, None));
        let nothing = Facts::of(&all, &[], HALF_LIFE, 0.5);
        assert_eq!((nothing.known, nothing.cells[0].rate, nothing.assumed), (0, 0.5, 0.5));
        let interrupted = night("4", RunState::Interrupted, vec![cell("refund", 12, 8, "a")]);
        assert_eq!(Facts::of(&all, &[interrupted], HALF_LIFE, 0.5).nights, 0);
    }

    /// Nights that move all cells, nights that move each scenario, and both are told apart.
    #[test]
    fn planted_variances_of_nights_are_found() {
        let mut state = 5_u64;
        let mut share = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for (all, own) in [(0.0, 0.0), (0.06, 0.0), (0.0, 0.08), (0.05, 0.05)] {
            let mut normal = || (0..12).map(|_| share()).sum::<f64>() - 6.0;
            let effects: Vec<Vec<f64>> = (0..60)
                .map(|_| {
                    let both = all * normal();
                    (0..30).map(|_| 0.75 + both + own * normal()).collect()
                })
                .collect();
            let nights: Vec<Night> = effects
                .iter()
                .enumerate()
                .map(|(number, rates)| {
                    let cells = rates
                        .iter()
                        .enumerate()
                        .map(|(at, rate)| {
                            let passed = (0..20).filter(|_| share() < *rate).count() as u64;
                            cell(&format!("s{at:02}"), passed, 20 - passed, "x")
                        })
                        .collect();
                    night(&format!("{number:03}"), RunState::Finished, cells)
                })
                .collect();
            let wanted: Vec<Wanted> = (0..30).map(|at| wanted(&format!("s{at:02}"), "x")).collect();
            let facts = Facts::of(&wanted, &nights, 1_000.0, 0.5);
            let (found, planted) = (facts.variance.common, all * all);
            assert!(
                (found - planted).abs() < 0.0008 + 0.35 * planted,
                "{found} instead of {planted}; {:?}",
                facts.variance
            );
            let explained = facts.variance.correlation * 0.1875;
            let both = all * all + own * own;
            assert!((explained - both).abs() < 0.001 + 0.3 * both, "{explained} instead of {both}");
        }
    }
}
