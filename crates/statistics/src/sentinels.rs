//! Sentinels: labelled transcripts that are judged beside every run, to tell a changed judge from a changed agent.
//!
//! The transcripts never change, so a verdict about one changes only by the judge's chance or because the judge changed. How often it
//! changes by chance is known from earlier nights: each night's verdicts against the usual ones of the other nights. The number of changes
//! tonight has a Beta-binomial law with Jeffreys' prior.

use std::collections::BTreeMap;

use record::summary::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::function::{beta::ln_beta, factorial::ln_binomial};

use crate::{compare::exact::sign_test, wilson::interval};

/// A change that chance makes as rarely as this is a change of the judge.
pub const CHANCE: f64 = 0.01;

/// The verdicts of one night.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NightSentinels {
    /// SHA-256 of the file of sentinels. Nights with another one are not compared.
    pub digest: String,
    /// The judges, as ballots name them, ascending.
    pub judges: Vec<String>,
    /// The models behind them, as their servers name them, ascending.
    pub models: Vec<String>,
    /// By the id of the sentinel; those that got no verdict are left out.
    pub verdicts: BTreeMap<String, SentinelVerdict>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentinelVerdict {
    /// Of a person.
    pub label: String,
    pub verdict: String,
}

/// The sentinels of a night, beside those of the nights before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SentinelDrift {
    /// Sentinels with a verdict.
    pub judged: u64,
    /// Nights before with the same sentinels.
    pub nights: u64,
    /// Sentinels that also have a verdict of a night before.
    pub compared: u64,
    /// Those whose verdict differs from the usual one of the nights before.
    pub changed: Vec<ChangedSentinel>,
    /// So many change by chance; `null` with fewer than two nights before.
    pub expected: Option<f64>,
    /// The chance that so many change if the judge is as before; `null` with fewer than two nights before.
    pub chance: Option<f64>,
    /// The chance is at most 1 in 100: the judge changed.
    pub drifted: bool,
    /// The model or the way it is asked is another one than in the night before.
    pub another_judge: bool,
    /// Of the verdicts, the share that agrees with the labels: tonight, and in the nights before.
    pub agreement: Rate,
    pub agreement_before: Rate,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedSentinel {
    pub id: String,
    pub label: String,
    /// The usual verdict.
    pub before: String,
    pub now: String,
}

/// `before`: the nights before, the earliest first; those with other sentinels count in nothing.
#[must_use]
pub fn drift(before: &[NightSentinels], now: &NightSentinels) -> SentinelDrift {
    let before: Vec<&NightSentinels> = before.iter().filter(|night| night.digest == now.digest).collect();
    let usual = |id: &str, without: Option<usize>| usual(&before, id, without);
    let mut changed = Vec::new();
    let mut compared = 0;
    for (id, SentinelVerdict { label, verdict }) in &now.verdicts {
        let Some(before) = usual(id, None) else { continue };
        compared += 1;
        if before != verdict {
            let [label, before, now] = [label.as_str(), before, verdict].map(str::to_owned);
            changed.push(ChangedSentinel { id: id.clone(), label, before, now });
        }
    }
    let (mut draws, mut deviations) = (0_u64, 0_u64);
    for (place, night) in before.iter().enumerate() {
        for (id, of) in &night.verdicts {
            if let Some(others) = usual(id, Some(place)) {
                draws += 1;
                deviations += u64::from(others != of.verdict);
            }
        }
    }
    let law = (draws > 0).then(|| Law::of(deviations, draws));
    let chance = law.map(|law| law.at_least(changed.len() as u64, compared));
    SentinelDrift {
        judged: now.verdicts.len() as u64,
        nights: before.len() as u64,
        compared,
        expected: law.map(|law| law.mean() * compared as f64),
        chance,
        drifted: !changed.is_empty() && chance.is_some_and(|chance| chance <= CHANCE),
        another_judge: before.last().is_some_and(|last| last.judges != now.judges || last.models != now.models),
        agreement: agreement([now]),
        agreement_before: agreement(before),
        changed,
    }
}

/// The verdict of most nights; of several, the latest.
fn usual<'a>(nights: &[&'a NightSentinels], id: &str, without: Option<usize>) -> Option<&'a str> {
    let mut counts: Vec<(&str, u64)> = Vec::new();
    let others = nights.iter().enumerate().filter(|(place, _)| Some(*place) != without);
    for of in others.filter_map(|(_, night)| night.verdicts.get(id)) {
        let count = counts.iter().find(|(verdict, _)| *verdict == of.verdict).map_or(0, |(_, count)| *count);
        counts.retain(|(verdict, _)| *verdict != of.verdict);
        // The latest verdict is the last one, and the last of equals wins.
        counts.push((&of.verdict, count + 1));
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(verdict, _)| verdict)
}

fn agreement<'a>(nights: impl IntoIterator<Item = &'a NightSentinels>) -> Rate {
    let (mut agreeing, mut all) = (0, 0);
    for of in nights.into_iter().flat_map(|night| night.verdicts.values()) {
        all += 1;
        agreeing += u64::from(of.label == of.verdict);
    }
    interval(agreeing, all)
}

/// How often a verdict deviates by chance.
#[derive(Debug, Clone, Copy)]
struct Law {
    alpha: f64,
    beta: f64,
}

impl Law {
    fn of(deviations: u64, draws: u64) -> Self {
        Self { alpha: deviations as f64 + 0.5, beta: (draws - deviations) as f64 + 0.5 }
    }

    fn mean(self) -> f64 {
        self.alpha / (self.alpha + self.beta)
    }

    /// The chance that at least `least` of `of` verdicts deviate.
    fn at_least(self, least: u64, of: u64) -> f64 {
        let Self { alpha, beta } = self;
        let exactly = |count: u64| {
            let (hits, misses) = (count as f64, (of - count) as f64);
            (ln_binomial(of, count) + ln_beta(alpha + hits, beta + misses) - ln_beta(alpha, beta)).exp()
        };
        if least == 0 { 1.0 } else { (least..=of).map(exactly).sum::<f64>().min(1.0) }
    }
}

/// The sentinels of two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SentinelsCompared {
    /// Sentinels with a verdict in both.
    pub compared: u64,
    pub changed: Vec<ChangedSentinel>,
    /// Of the changed ones, those that became met, and those that became another verdict.
    pub to_met: u64,
    pub from_met: u64,
    /// The chance that so many more change in one direction than in the other (sign test).
    pub chance: f64,
    pub another_judge: bool,
    /// The chance is at most 1 in 100, or the nights before NEW show that its judge changed.
    pub drifted: bool,
}

/// `None`: the sentinels are other ones. `drift`: what the nights before NEW say about it.
#[must_use]
pub fn between(
    base: &NightSentinels,
    new: &NightSentinels,
    drift: Option<&SentinelDrift>,
) -> Option<SentinelsCompared> {
    if base.digest != new.digest {
        return None;
    }
    let both = || new.verdicts.iter().filter_map(|(id, now)| Some((id, base.verdicts.get(id)?, now)));
    let changed: Vec<ChangedSentinel> = both()
        .filter(|(_, before, now)| before.verdict != now.verdict)
        .map(|(id, before, now)| ChangedSentinel {
            id: id.clone(),
            label: now.label.clone(),
            before: before.verdict.clone(),
            now: now.verdict.clone(),
        })
        .collect();
    let to_met = changed.iter().filter(|one| one.now == MET).count() as u64;
    let from_met = changed.iter().filter(|one| one.before == MET).count() as u64;
    let chance = sign_test(to_met, from_met);
    let shown = drift.is_some_and(|drift| drift.drifted);
    Some(SentinelsCompared {
        compared: both().count() as u64,
        to_met,
        from_met,
        chance,
        another_judge: base.judges != new.judges || base.models != new.models,
        drifted: !changed.is_empty() && (chance <= CHANCE || shown),
        changed,
    })
}

const MET: &str = "met";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{number, rows, whole};

    /// A letter for each verdict: `m` met, `n` not met, `-` none. All are labelled met.
    fn night(verdicts: &str) -> NightSentinels {
        let word = |letter: char| if letter == 'm' { "met" } else { "not_met" };
        let verdict = |(place, letter): (usize, char)| {
            let of = SentinelVerdict { label: "met".to_owned(), verdict: word(letter).to_owned() };
            (letter != '-').then(|| (format!("s{place:02}"), of))
        };
        NightSentinels {
            digest: "d".to_owned(),
            judges: vec!["j".to_owned()],
            models: vec!["m".to_owned()],
            verdicts: verdicts.chars().enumerate().filter_map(verdict).collect(),
        }
    }

    #[test]
    fn a_steady_judge_that_changes_is_found() {
        let before = vec![night("mmmmmmmmmm"); 5];
        let same = drift(&before, &night("mmmmmmmmmm"));
        assert_eq!((same.nights, same.compared, same.changed.len(), same.drifted), (5, 10, 0, false));
        assert_eq!(same.chance, Some(1.0));
        let one = drift(&before, &night("mmmmmmmmmn"));
        assert!(!one.drifted && one.chance.is_some_and(|chance| (0.05..0.15).contains(&chance)), "{one:?}");
        let three = drift(&before, &night("mmmmmmmnnn"));
        assert!(three.drifted && three.chance.is_some_and(|chance| chance < 0.01), "{three:?}");
        assert_eq!((three.changed[0].id.as_str(), three.changed[0].now.as_str()), ("s07", "not_met"));
        assert_eq!((three.agreement.estimate, three.agreement_before.estimate), (Some(0.7), Some(1.0)));
    }

    #[test]
    fn the_chance_of_changes_is_that_of_scipy() {
        for row in rows("sentinels") {
            let [deviations, draws, changed, of] = [0, 1, 2, 3].map(|place| whole(&row[place]));
            let found = Law::of(deviations, draws).at_least(changed, of);
            assert!((found - number(&row[4])).abs() < 1e-9, "{row}: {found}");
        }
    }

    #[test]
    fn a_judge_that_always_wavers_may_waver() {
        let before = [night("mmmnnmmmmm"), night("mmmmmmmnnm"), night("mnmmmmmmmn"), night("nmmmmnmmmm")];
        let found = drift(&before, &night("mmmmmmmnnn"));
        assert!(!found.drifted && found.expected.is_some_and(|expected| expected > 1.0), "{found:?}");
    }

    #[test]
    fn one_night_before_decides_nothing_and_other_sentinels_count_in_nothing() {
        let found = drift(&[night("mmmm")], &night("nnnn"));
        assert_eq!((found.changed.len(), found.chance, found.drifted), (4, None, false));
        let other = NightSentinels { digest: "e".to_owned(), ..night("mmmm") };
        let found = drift(&[other.clone(), other], &night("nn--"));
        assert_eq!((found.nights, found.compared, found.judged, found.another_judge), (0, 0, 2, false));
        assert_eq!(found.agreement_before.estimate, None);
        let renamed = NightSentinels { models: vec!["m2".to_owned()], ..night("mmmm") };
        assert!(drift(&[night("mmmm")], &renamed).another_judge);
    }

    #[test]
    fn two_runs_are_compared_by_the_direction_of_their_changes() {
        let found = between(&night("mmmmmmmmmm--"), &night("nnnnnnnnmmmm"), None).unwrap();
        assert_eq!((found.compared, found.to_met, found.from_met), (10, 0, 8));
        assert!(found.drifted && (found.chance - 2.0 * 0.5_f64.powi(8)).abs() < 1e-9, "{found:?}");
        let mixed = between(&night("mmnn"), &night("nnmm"), None).unwrap();
        assert!(!mixed.drifted && mixed.chance > 0.9, "{mixed:?}");
        let drifted = drift(&vec![night("mmmmmmmmmm"); 5], &night("mmmmmmmnnn"));
        assert!(between(&night("mmmmmmmmmm"), &night("mmmmmmmnnn"), Some(&drifted)).unwrap().drifted);
        let other = NightSentinels { digest: "e".to_owned(), ..night("m") };
        assert_eq!(between(&other, &night("m"), None), None);
    }

    /// The judge is as before, and its verdicts waver with the chances of real judges.
    #[test]
    fn a_judge_that_does_not_change_is_rarely_called_changed() {
        use rand_xoshiro::{
            Xoshiro256PlusPlus,
            rand_core::{Rng as _, SeedableRng as _},
        };
        let mut draw = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut share = || (draw.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let mut alarms = 0;
        for _ in 0..2_000 {
            let wavers: Vec<f64> = (0..30).map(|_| share().powi(4) / 2.0).collect();
            let mut one =
                || -> String { wavers.iter().map(|chance| if share() < *chance { 'n' } else { 'm' }).collect() };
            let before: Vec<NightSentinels> = (0..7).map(|_| night(&one())).collect();
            alarms += u32::from(drift(&before, &night(&one())).drifted);
        }
        assert!(alarms <= 40, "{alarms} of 2,000");
    }
}
