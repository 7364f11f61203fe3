//! How well a judge agrees with the labels of people, as `gabfest judge --json` prints it.

use std::collections::{BTreeMap, BTreeSet};

use evaluate::{
    calibration::{self, Answered, Item, Label},
    question::Error,
};
use record::summary::Rate;
use serde::Serialize;
use statistics::{kappa, wilson};

/// The judge's answers about one item.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    line: u32,
    /// One for each seed.
    answers: Vec<Result<Answered, String>>,
    /// With an attack; `None`: not asked.
    attacked: Option<Option<Label>>,
}

impl Verdicts {
    pub(super) fn new(item: &Item) -> Self {
        Self { line: item.line, ..Self::default() }
    }

    pub(super) fn heard(&mut self, answer: Option<Result<Answered, Error>>) {
        self.answers.extend(answer.map(|answer| answer.map_err(|error| format!("failed to {error}"))));
    }

    pub(super) fn attacked(&mut self, answer: Option<Result<Answered, Error>>) {
        self.attacked = answer.map(|answer| answer.ok().and_then(|answered| answered.label));
    }

    /// With the first seed.
    pub(super) fn first(&self) -> Option<Label> {
        self.answers.first()?.as_ref().ok()?.label
    }

    /// Why the first seed gave no verdict.
    fn missing(&self) -> Option<String> {
        match self.answers.first()? {
            Err(reason) => Some(reason.clone()),
            Ok(answered) if answered.label.is_none() => Some("the votes tie".to_owned()),
            Ok(_) => None,
        }
    }

    /// Whether seeds gave different verdicts; `None`: fewer than two verdicts.
    fn flips(&self) -> Option<bool> {
        let labels: Vec<Label> = self.answers.iter().flatten().filter_map(|answered| answered.label).collect();
        (labels.len() > 1).then(|| labels.iter().any(|label| *label != labels[0]))
    }
}

/// The agreement on all items.
#[derive(Debug, Serialize)]
pub(super) struct Agreement {
    pub(super) models: BTreeSet<String>,
    /// As ballots name them.
    pub(super) judges: BTreeSet<String>,
    pub(super) items: u64,
    pub(super) answered: u64,
    /// Of all labels.
    pub(super) kappa: Rate,
    pub(super) accuracy: Rate,
    /// Of the items labelled not met, the share that the judge also finds not met.
    pub(super) sensitivity: Rate,
    /// Of the items labelled met, the share that the judge also finds met.
    pub(super) specificity: Rate,
    /// Of the items judged with several seeds, the share whose verdicts differ.
    pub(super) seed_flips: Rate,
    /// Of the items rightly found not met, the share that an attack turned to met.
    pub(super) attacks: Rate,
    /// As ballots name them.
    pub(super) criteria: BTreeMap<String, Group>,
    pub(super) domains: BTreeMap<String, Group>,
    pub(super) languages: BTreeMap<String, Group>,
    pub(super) verdicts: Vec<Judged>,
    pub(super) unanswered: Vec<Unanswered>,
}

#[derive(Debug, Serialize)]
pub(super) struct Group {
    pub(super) items: u64,
    pub(super) kappa: Rate,
    pub(super) accuracy: Rate,
    pub(super) sensitivity: Rate,
    pub(super) specificity: Rate,
    /// Of the group's items rightly found not met, the share that an attack turned to met.
    pub(super) attacks: Rate,
}

/// What was found of the items of one group.
#[derive(Debug, Default)]
struct Found {
    pairs: Vec<Pair>,
    /// The verdicts with an attack.
    attacked: Vec<Label>,
}

#[derive(Debug, Serialize)]
pub(super) struct Judged {
    pub(super) id: String,
    pub(super) line: u32,
    pub(super) label: Label,
    pub(super) verdict: Label,
    pub(super) reason: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Unanswered {
    pub(super) id: String,
    pub(super) line: u32,
    pub(super) reason: String,
}

type Pair = (Label, Label);

impl Agreement {
    pub(super) fn of(items: &[Item], verdicts: &[Verdicts]) -> Self {
        let (mut all, mut judged, mut unanswered) = (Found::default(), Vec::new(), Vec::new());
        let (mut domains, mut languages) = (BTreeMap::<&str, Found>::new(), BTreeMap::<&str, Found>::new());
        let mut criteria = BTreeMap::<String, Found>::new();
        for (item, verdict) in items.iter().zip(verdicts) {
            let (id, line) = (item.id.clone(), verdict.line);
            if let Some(reason) = verdict.missing() {
                unanswered.push(Unanswered { id: id.clone(), line, reason });
            }
            let Some(found) = verdict.first() else { continue };
            let of_groups = [domains.entry(&item.domain).or_default(), languages.entry(&item.language).or_default()];
            let of_criterion = criteria.entry(calibration::named(&item.criterion)).or_default();
            for group in of_groups.into_iter().chain([of_criterion, &mut all]) {
                group.pairs.push((item.label, found));
                group.attacked.extend(verdict.attacked.flatten());
            }
            let reason = verdict.answers.first().and_then(|answer| answer.as_ref().ok());
            let reason = reason.map_or_else(String::new, |answered| answered.reason.clone());
            judged.push(Judged { id, line, label: item.label, verdict: found, reason });
        }
        let answers = || verdicts.iter().flat_map(|verdict| verdict.answers.iter().flatten());
        let ballots = || answers().flat_map(|answered| &answered.ballots);
        let flips: Vec<bool> = verdicts.iter().filter_map(Verdicts::flips).collect();
        let group = |(name, found): (&str, Found)| (name.to_owned(), Group::of(&found));
        let pairs = &all.pairs;
        Self {
            models: ballots().map(|ballot| ballot.model.clone()).collect(),
            judges: ballots().map(|ballot| ballot.judge.clone()).collect(),
            items: items.len() as u64,
            answered: pairs.len() as u64,
            kappa: kappa::of(pairs),
            accuracy: accuracy(pairs),
            sensitivity: share_of(pairs, Label::NotMet),
            specificity: share_of(pairs, Label::Met),
            seed_flips: wilson::interval(count(&flips, |flip| *flip), flips.len() as u64),
            attacks: attacks(&all.attacked),
            criteria: criteria.into_iter().map(|(name, found)| (name, Group::of(&found))).collect(),
            domains: domains.into_iter().map(group).collect(),
            languages: languages.into_iter().map(group).collect(),
            verdicts: judged,
            unanswered,
        }
    }
}

impl Group {
    fn of(Found { pairs, attacked }: &Found) -> Self {
        let items = pairs.len() as u64;
        Self {
            items,
            kappa: kappa::of(pairs),
            accuracy: accuracy(pairs),
            sensitivity: share_of(pairs, Label::NotMet),
            specificity: share_of(pairs, Label::Met),
            attacks: attacks(attacked),
        }
    }
}

/// Of the verdicts with an attack, the share that is met.
fn attacks(attacked: &[Label]) -> Rate {
    wilson::interval(count(attacked, |label| *label == Label::Met), attacked.len() as u64)
}

fn accuracy(pairs: &[Pair]) -> Rate {
    wilson::interval(count(pairs, |(label, verdict)| label == verdict), pairs.len() as u64)
}

/// Of the items with this label, the share that the judge gives the same verdict.
fn share_of(pairs: &[Pair], label: Label) -> Rate {
    let labelled: Vec<Pair> = pairs.iter().copied().filter(|(given, _)| *given == label).collect();
    accuracy(&labelled)
}

fn count<T>(all: &[T], is_counted: impl Fn(&T) -> bool) -> u64 {
    all.iter().filter(|one| is_counted(one)).count() as u64
}
