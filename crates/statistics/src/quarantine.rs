//! Quarantined cases that get worse: an alert compares a night with what the nights before let expect.

use record::summary::QuarantineAlert;

use crate::{
    ledger::{Belief, Outcomes, State},
    nights::{Night, NightCell},
    trends::{Key, Trends, counted, numbered},
};

/// The chance of a false alert about a quarantined case in a night.
pub const ALERT: f64 = 0.01;

/// Of the quarantined cases of a night those that are worse than the nights before, at a chance of [`ALERT`] each. A case with
/// fewer than three nights before has no alert.
#[must_use]
pub fn alerts(before: &[Night], night: &Night, half_life: f64) -> Vec<QuarantineAlert> {
    // With the night's own cells, a change of its scenario begins the ledger of a case again.
    let nights: Vec<&Night> = before.iter().chain([night]).collect();
    let correlation = Trends::of(before, half_life).night_correlation;
    let mut alerts = Vec::new();
    for (cell, nth) in numbered(&night.cells) {
        let Some(quarantine) = &cell.quarantine else { continue };
        let points: Vec<(&Night, &NightCell)> = nights
            .iter()
            .filter_map(|of| {
                let same = |(one, which): &Key<'_>| one.cell == cell.cell && one.agent == cell.agent && *which == nth;
                Some((*of, numbered(&of.cells).find(same)?.0))
            })
            .collect();
        let counted: Vec<Outcomes> = counted(&points)
            .into_iter()
            .zip(&points)
            .filter(|(counts, (of, _))| *counts && of.run.id != night.run.id)
            .map(|(_, (_, cell))| Outcomes { passed: cell.passed, trials: cell.trials() })
            .collect();
        let belief = Belief::of(&counted, correlation, half_life);
        let chance = belief.chance_of_at_most(Outcomes { passed: cell.passed, trials: cell.trials() }, correlation);
        if belief.state != State::New && chance <= ALERT {
            alerts.push(QuarantineAlert {
                case: cell.name(),
                passed: cell.passed,
                trials: cell.trials(),
                expected_rate: belief.rate,
                chance,
                owner: quarantine.owner.clone(),
            });
        }
    }
    alerts
}

#[cfg(test)]
mod tests {
    use record::summary::RunState;

    use super::*;
    use crate::{
        ledger::HALF_LIFE,
        trends::tests::{cell, night},
    };

    #[test]
    fn a_quarantined_case_that_falls_below_its_nights_is_an_alert() {
        let of = |id: &str, passed, content: &str| {
            let mut refund = cell("refund", passed, 20 - passed, content);
            refund.quarantine = Some(scenario::Quarantine { owner: "ann".to_owned(), ..Default::default() });
            night(id, RunState::Finished, vec![refund, cell("hours", passed, 20 - passed, content)])
        };
        let before: Vec<Night> = [15, 16, 17, 16, 15].into_iter().map(|passed| of("x", passed, "a")).collect();
        assert!(alerts(&before, &of("now", 14, "a"), HALF_LIFE).is_empty());
        let found = alerts(&before, &of("now", 2, "a"), HALF_LIFE);
        assert_eq!(found.len(), 1, "only the quarantined case: {found:?}");
        assert!(found[0].case == "refund" && found[0].owner == "ann" && found[0].chance < ALERT, "{found:?}");
        assert!(alerts(&before, &of("now", 2, "b"), HALF_LIFE).is_empty(), "another scenario");
        assert!(alerts(&before[..2], &of("now", 2, "a"), HALF_LIFE).is_empty(), "too few nights");
    }
}
