//! The cells of both runs side by side, and what changed in each.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    discoveries::adjusted,
    exact::{fisher, sign_test},
    found::{CaseFound, Direction, Moved, Outcome, SideFound},
    played::{CellName, Played, PlayedCell, PlayedTrial},
    rank_sum::rank_sum,
    rate::Stratum,
};

/// The share of a list's findings that may be false.
pub(super) const FALSE_SHARE: f64 = 0.05;
/// Smaller changes of times and costs are not listed, and of times none below 10 ms, which nobody who talks to an agent notices.
const LEAST_MOVE: f64 = 0.10;
pub(super) const LEAST_MOVE_MS: f64 = 10.0;

#[derive(Debug)]
pub(super) struct Cells<'a> {
    pub(super) pairs: Vec<Pair<'a>>,
    several_agents: bool,
}

/// A cell with its case in each run. At least one side is there.
#[derive(Debug)]
pub(super) struct Pair<'a> {
    pub(super) base: Option<&'a PlayedCell>,
    pub(super) new: Option<&'a PlayedCell>,
    pub(super) differs: Vec<&'static str>,
    /// The trials of both sides are one to one, with the same seeds.
    pub(super) paired: bool,
    /// Cells of the same scenario have the same number.
    pub(super) scenario: usize,
}

impl<'a> Cells<'a> {
    pub(super) fn of(base: &'a Played, new: &'a Played) -> Self {
        // Two runs of one agent each are compared whatever it is called. With several, an agent meets its own name.
        let several_agents = base.agents.len() > 1 || new.agents.len() > 1;
        let mut left = by_name(base, several_agents);
        let mut pairs = Vec::new();
        let mut scenarios: BTreeMap<&str, usize> = BTreeMap::new();
        let mut number = |cell: &'a PlayedCell| {
            let next = scenarios.len();
            *scenarios.entry(cell.cell.scenario.as_str()).or_insert(next)
        };
        for (name, cell) in by_name_in_order(new, several_agents) {
            let other = left.remove(&name);
            pairs.push(Pair {
                base: other,
                new: Some(cell),
                differs: other.map_or_else(Vec::new, |_| differs(&cell.cell, base, new)),
                paired: other.is_some_and(|other| are_paired(other, cell)),
                scenario: number(cell),
            });
        }
        for (_, cell) in by_name_in_order(base, several_agents).into_iter().filter(|(name, _)| left.contains_key(name))
        {
            pairs.push(Pair {
                base: Some(cell),
                new: None,
                differs: Vec::new(),
                paired: false,
                scenario: number(cell),
            });
        }
        Self { pairs, several_agents }
    }

    /// Without those in quarantine.
    pub(super) fn strata(&self) -> Vec<Stratum> {
        self.pairs.iter().filter(|pair| !pair.is_quarantined()).filter_map(Pair::stratum).collect()
    }

    /// Cells of both runs that are in quarantine.
    pub(super) fn quarantined(&self) -> u64 {
        self.pairs.iter().filter(|pair| pair.is_quarantined() && pair.both().is_some()).count() as u64
    }

    /// Every case, with the lists of findings made over all of them.
    pub(super) fn found(&self) -> Vec<CaseFound> {
        // A case in quarantine neither adds to the length of the list nor makes others easier to find.
        let of = |quarantined: bool| {
            let chance = move |pair: &Pair<'_>| pair.chance().filter(|_| pair.is_quarantined() == quarantined);
            listed(self.pairs.iter().map(chance).collect())
        };
        let chances = of(false).into_iter().zip(of(true)).map(|(counted, quarantined)| counted.or(quarantined));
        let times = listed(self.pairs.iter().map(|pair| pair.moved(response)).collect());
        let costs = listed(self.pairs.iter().map(|pair| pair.moved(cost)).collect());
        let rest = chances.zip(times).zip(costs);
        self.pairs.iter().zip(rest).map(|(pair, ((chance, time), cost))| self.case(pair, chance, time, cost)).collect()
    }

    fn case(&self, pair: &Pair<'_>, chance: Listed<f64>, time: Listed<Raw>, cost: Listed<Raw>) -> CaseFound {
        let any = pair.new.or(pair.base).expect("a pair has a side");
        CaseFound {
            title: any.title.clone(),
            variant: any.variant.clone(),
            persona: any.cell.persona.clone(),
            parameters: any.cell.parameters.iter().cloned().collect(),
            agent: self.several_agents.then(|| any.agent.clone()),
            base: pair.base.map(side),
            new: pair.new.map(side),
            outcome: pair.outcome(chance.as_ref().map(|(_, adjusted)| *adjusted)),
            paired: pair.paired,
            chance: chance.as_ref().map(|(chance, _)| *chance),
            adjusted: chance.map(|(_, adjusted)| adjusted),
            response_ms: time.map(|time| moved(time, LEAST_MOVE_MS)),
            cost_usd: cost.map(|cost| moved(cost, 0.0)),
            differs: pair.differs.iter().map(|part| (*part).to_owned()).collect(),
            quarantined: pair.is_quarantined(),
        }
    }
}

type Named<'a> = (CellName, Option<&'a str>, usize);

/// Two cases of one name (files of one name in different folders) meet in the order of the plan.
fn by_name_in_order(played: &Played, several_agents: bool) -> Vec<(Named<'_>, &PlayedCell)> {
    let mut seen: BTreeMap<(&CellName, Option<&str>), usize> = BTreeMap::new();
    let cells = played.cells.iter().map(|cell| {
        let agent = several_agents.then_some(cell.agent.as_str());
        let nth = seen.entry((&cell.cell, agent)).or_default();
        *nth += 1;
        ((cell.cell.clone(), agent, *nth), cell)
    });
    cells.collect()
}

fn by_name(played: &Played, several_agents: bool) -> BTreeMap<Named<'_>, &PlayedCell> {
    by_name_in_order(played, several_agents).into_iter().collect()
}

fn differs(cell: &CellName, base: &Played, new: &Played) -> Vec<&'static str> {
    let (Some(base), Some(new)) = (&base.contents, &new.contents) else { return Vec::new() };
    let mut differs = Vec::new();
    let scenario = |of: &record::summary::Contents| of.scenarios.get(&cell.scenario).map(|one| one.digest.clone());
    if scenario(base) != scenario(new) {
        differs.push("scenario");
    }
    if let Some(persona) = &cell.persona
        && base.personas.get(persona) != new.personas.get(persona)
    {
        differs.push("persona");
    }
    differs
}

/// Whether each trial with a result has a partner with its seed.
fn are_paired(base: &PlayedCell, new: &PlayedCell) -> bool {
    let seeds = |cell: &PlayedCell| -> Vec<u64> {
        let mut seeds: Vec<u64> = cell.trials.iter().map(|trial| trial.seed).collect();
        seeds.sort_unstable();
        seeds
    };
    let decided = |cell: &PlayedCell| cell.trials.iter().all(|trial| trial.passed.is_some());
    !base.trials.is_empty() && decided(base) && decided(new) && seeds(base) == seeds(new)
}

fn side(cell: &PlayedCell) -> SideFound {
    let (pass, trials) = cell.counts();
    SideFound { pass, fail: trials - pass, undecided: cell.planned.saturating_sub(trials) }
}

impl Pair<'_> {
    pub(super) fn both(&self) -> Option<(&PlayedCell, &PlayedCell)> {
        self.base.zip(self.new)
    }

    /// What NEW says counts: an entry of an earlier run may be over.
    pub(super) fn is_quarantined(&self) -> bool {
        self.new.is_some_and(|new| new.quarantined)
    }

    pub(super) fn stratum(&self) -> Option<Stratum> {
        let (base, new) = self.both()?;
        let ((base_pass, base_trials), (new_pass, new_trials)) = (base.counts(), new.counts());
        Some(Stratum {
            scenario: self.scenario,
            base_pass,
            base_trials,
            new_pass,
            new_trials,
            undecided_base: base.planned.saturating_sub(base_trials),
            undecided_new: new.planned.saturating_sub(new_trials),
            pairs: self.changed(),
        })
    }

    /// Of paired trials, those that fell and those that rose.
    fn changed(&self) -> Option<(u64, u64)> {
        let (base, new) = self.both().filter(|_| self.paired)?;
        let before: BTreeSet<u64> = passed(base);
        let after: BTreeSet<u64> = passed(new);
        Some((before.difference(&after).count() as u64, after.difference(&before).count() as u64))
    }

    /// `None` if a side has no result. Trials without a result count against the finding, so that it holds whatever they would have said.
    fn chance(&self) -> Option<f64> {
        let stratum = self.stratum().filter(|stratum| stratum.base_trials > 0 && stratum.new_trials > 0)?;
        let of = |at: &Stratum| match at.pairs {
            Some((fell, rose)) => sign_test(fell, rose),
            None => fisher(at.base_pass, at.base_trials, at.new_pass, at.new_trials),
        };
        let found = of(&stratum);
        if stratum.undecided_base + stratum.undecided_new == 0 {
            return Some(found);
        }
        let fell = fell(&stratum);
        let against = if fell { stratum.best_of_new() } else { stratum.worst_of_new() };
        // If they turn the finding round, it says nothing.
        let turned = self::fell(&against) != fell;
        Some(if turned { 1.0 } else { found.max(of(&against)) })
    }

    fn outcome(&self, adjusted: Option<f64>) -> Outcome {
        let (base, new) = match (self.base, self.new) {
            (None, _) => return Outcome::New,
            (_, None) => return Outcome::Gone,
            (Some(base), Some(new)) => (base.counts(), new.counts()),
        };
        let Some(adjusted) = adjusted else { return Outcome::Undecided };
        let is_stable = |(pass, trials): (u64, u64)| pass == 0 || pass == trials;
        let (before, after) = (base.0 * new.1, new.0 * base.1);
        match (adjusted <= FALSE_SHARE, before.cmp(&after)) {
            (true, std::cmp::Ordering::Greater) => Outcome::Worse,
            (true, std::cmp::Ordering::Less) => Outcome::Better,
            _ if is_stable(base) && !is_stable(new) => Outcome::Flakier,
            _ if !is_stable(base) && is_stable(new) => Outcome::MoreStable,
            (_, std::cmp::Ordering::Greater) if is_stable(base) => Outcome::NewlyFailing,
            (_, std::cmp::Ordering::Less) if is_stable(base) => Outcome::Fixed,
            _ => Outcome::Same,
        }
    }

    /// A figure of the conversations of both sides; `None` where a conversation has none.
    fn moved(&self, of: fn(&PlayedTrial) -> Option<f64>) -> Option<Raw> {
        let (base, new) = self.both()?;
        let values = |cell: &PlayedCell| cell.trials.iter().map(of).collect::<Option<Vec<f64>>>();
        let (base, new) = (values(base)?, values(new)?);
        let (of_base, of_new) = (median(base.clone())?, median(new.clone())?);
        Some(Raw { base: of_base, new: of_new, chance: rank_sum(&base, &new) })
    }
}

fn passed(cell: &PlayedCell) -> BTreeSet<u64> {
    cell.trials.iter().filter(|trial| trial.passed == Some(true)).map(|trial| trial.seed).collect()
}

fn fell(of: &Stratum) -> bool {
    of.new_pass * of.base_trials < of.base_pass * of.new_trials
}

/// The time of a conversation's median turn.
fn response(trial: &PlayedTrial) -> Option<f64> {
    let unanswered = std::iter::repeat_n(f64::INFINITY, trial.unanswered as usize);
    median(trial.response_ms.iter().copied().chain(unanswered).collect())
}

fn cost(trial: &PlayedTrial) -> Option<f64> {
    trial.cost_usd
}

/// The lower of two middle values, which is one that occurred.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().checked_sub(1)? / 2).copied()
}

#[derive(Debug, Clone, Copy)]
struct Raw {
    base: f64,
    new: f64,
    chance: f64,
}

/// With the chance adjusted for the length of the list.
type Listed<T> = Option<(T, f64)>;

trait Chance {
    fn chance(&self) -> f64;
}

impl Chance for f64 {
    fn chance(&self) -> f64 {
        *self
    }
}

impl Chance for Raw {
    fn chance(&self) -> f64 {
        self.chance
    }
}

fn listed<T: Chance>(found: Vec<Option<T>>) -> Vec<Listed<T>> {
    let chances: Vec<f64> = found.iter().flatten().map(Chance::chance).collect();
    let mut adjusted = adjusted(&chances).into_iter();
    found.into_iter().map(|one| one.and_then(|one| Some((one, adjusted.next()?)))).collect()
}

/// Whether a difference is large enough to be named.
pub(super) fn is_far(base: f64, new: f64, least: f64) -> bool {
    let by = (new - base).abs();
    base != new && by >= least && by >= LEAST_MOVE * base.min(new)
}

fn moved((raw, adjusted): (Raw, f64), least: f64) -> Moved {
    let finite = |value: f64| value.is_finite().then_some(value);
    // No answer at all is a change from any time: the difference is infinite.
    let far = is_far(raw.base, raw.new, least);
    let direction = if raw.new > raw.base { Direction::Up } else { Direction::Down };
    let changed = (far && adjusted <= FALSE_SHARE).then_some(direction);
    Moved { base: finite(raw.base), new: finite(raw.new), chance: raw.chance, adjusted, changed }
}
