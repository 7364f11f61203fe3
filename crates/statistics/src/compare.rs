//! What changed between two runs: case by case, over the whole run, and in times, tokens and cost.
//!
//! Cases that NEW has in quarantine are compared by themselves: no verdict, and no other case's chance, depends on them.
//!
//! A case is compared with the same *cell* of the other run: scenario, parameters and persona, without the agent. Two trials
//! with the same seed are a pair. Two runs alone cannot tell a change of the agent from a difference between two nights, so
//! every word here is about the runs.
//!
//! - [`played`]: the two runs, as they are compared.
//! - [`found`]: what the comparison finds: the shape of `gabfest compare --json`.
//! - [`exact`]: the sign test of pairs, and Fisher's test.
//! - [`rank_sum`]: whether the values of one side are larger.
//! - [`discoveries`]: a list with few false entries, by Benjamini and Hochberg.
//! - [`rate`]: the difference of the success rates, and whether it is within the margin.
//! - [`power`]: how often the test of `rate` finds a fall.
//! - [`quantile`]: the difference of a quantile, with its interval.
//! - [`nights`]: whether the difference is larger than those between nights.
//! - [`stratified`]: the exact tests over many cells.
//! - `cells`, `groups`, `checks`, `figures`, `contract`: the parts of a comparison.

mod cells;
mod checks;
mod contract;
pub mod discoveries;
pub mod exact;
mod figures;
pub mod found;
mod groups;
pub mod nights;
pub mod played;
pub mod power;
pub mod quantile;
pub mod rank_sum;
pub mod rate;
pub mod stratified;

#[cfg(test)]
mod tests;

use self::{
    cells::Cells,
    found::{CompareVerdict, Comparison, RateFound, SCHEMA_VERSION},
    played::Played,
    rate::{Difference, Within},
};

/// By how much the success rate may fall, unless the user sets it.
pub const MARGIN: f64 = 0.03;

/// Compares NEW with BASE. `margin`: by how much the success rate may fall.
#[must_use]
pub fn compare(base: &Played, new: &Played, margin: f64) -> Comparison {
    let cells = Cells::of(base, new);
    let rate = run_rate(&cells, margin);
    let cases = cells.found();
    let worse_cases = cases.iter().filter(|case| case.is_worse()).count() as u64;
    let verdict = match (worse_cases, rate.within) {
        (1.., _) | (_, Within::Worse) => CompareVerdict::Worse,
        (0, Within::NotWorse) if rate.rose => CompareVerdict::Better,
        (0, Within::NotWorse) => CompareVerdict::NotWorse,
        (0, Within::CannotTell) => CompareVerdict::CannotTell,
    };
    Comparison {
        schema_version: SCHEMA_VERSION,
        base: base.run.clone(),
        new: new.run.clone(),
        verdict,
        worse_cases,
        rate,
        figures: figures::of(&cells),
        nights: None,
        sentinels: None,
        groups: groups::of(&cells, &cases),
        checks: checks::of(&cells),
        cases,
        contract: contract::of(base, new, &cells),
    }
}

/// The success rate over all cells that both runs have, without those in quarantine.
fn run_rate(cells: &Cells<'_>, margin: f64) -> RateFound {
    let strata = cells.strata();
    let found = rate::difference(&strata);
    let main = found.as_ref().map_or(Within::CannotTell, |found| found.within(margin));
    // Trials without a result must not decide: what is concluded has to hold whatever they would have said.
    let imputed = |of: fn(&rate::Stratum) -> rate::Stratum| {
        let imputed: Vec<rate::Stratum> = strata.iter().map(of).collect();
        rate::difference(&imputed)
    };
    let holds = |of| imputed(of).is_some_and(|found| found.within(margin) == main);
    let undecided = strata.iter().any(|stratum| stratum.undecided_base + stratum.undecided_new > 0);
    let robust = match main {
        Within::NotWorse => !undecided || holds(rate::Stratum::worst_of_new),
        Within::Worse => !undecided || holds(rate::Stratum::best_of_new),
        Within::CannotTell => true,
    };
    let within = if robust { main } else { Within::CannotTell };
    let rises = |found: Option<&Difference>| found.is_some_and(Difference::rose);
    let rose = rises(found.as_ref()) && (!undecided || rises(imputed(rate::Stratum::worst_of_new).as_ref()));
    let bound = |of: fn(&rate::Stratum) -> rate::Stratum| {
        let imputed: Vec<rate::Stratum> = strata.iter().filter(|_| undecided).map(of).collect();
        rate::difference(&imputed).map(|found| found.difference)
    };
    let sum = |of: fn(&rate::Stratum) -> u64| strata.iter().map(of).sum();
    let all_agree = strata.iter().all(|of| {
        let (pass, trials) = (of.base_pass + of.new_pass, of.base_trials + of.new_trials);
        pass == trials
    }) || strata.iter().all(|of| of.base_pass + of.new_pass == 0);
    RateFound {
        margin,
        within,
        rose,
        cells: strata.len() as u64,
        quarantined: cells.quarantined(),
        scenarios: found.as_ref().map_or(0, |found| found.scenarios),
        clustered: found.as_ref().is_some_and(|found| found.clustered),
        base_pass: sum(|stratum| stratum.base_pass),
        base_trials: sum(|stratum| stratum.base_trials),
        new_pass: sum(|stratum| stratum.new_pass),
        new_trials: sum(|stratum| stratum.new_trials),
        base_undecided: sum(|stratum| stratum.undecided_base),
        new_undecided: sum(|stratum| stratum.undecided_new),
        least_difference: bound(rate::Stratum::worst_of_new),
        most_difference: bound(rate::Stratum::best_of_new),
        decided_by_undecided: !robust,
        base_rate: found.as_ref().map(|found| found.base),
        new_rate: found.as_ref().map(|found| found.new),
        difference: found.as_ref().map(|found| found.difference),
        low: found.as_ref().map(|found| found.low),
        high: found.as_ref().map(|found| found.high),
        chance_if_equal: found.as_ref().map(Difference::chance_if_equal),
        chance_if_worse_by_margin: found
            .as_ref()
            .filter(|found| !all_agree && found.knows_spread())
            .map(|found| found.chance_if_worse_by(margin)),
    }
}
