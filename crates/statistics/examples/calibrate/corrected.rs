//! Success rates that are corrected for a judge with planted errors: how often their intervals hold the true rate.

use statistics::corrected::{Accuracy, Observed, rate};

use crate::{
    chance::Chance,
    sheet::{Required, Sheet},
};

/// A judge, the labels that measured it, and what it judged.
#[derive(Debug, Clone, Copy)]
struct Planted {
    truth: f64,
    sensitivity: f64,
    specificity: f64,
    /// Of each label.
    labels: u64,
    judged: u64,
}

pub(crate) fn calibrate(sheet: &mut Sheet) {
    sheet.section("Success rates corrected for a judge with planted errors");
    for (truth, sensitivity, specificity, labels, judged) in [
        (0.9, 0.8, 0.95, 50, 400),
        (0.9, 0.95, 0.8, 50, 400),
        (0.7, 0.8, 0.9, 100, 1_000),
        (0.95, 0.7, 0.98, 30, 200),
        (0.5, 0.9, 0.9, 20, 60),
        (0.99, 0.9, 0.95, 100, 600),
    ] {
        let planted = Planted { truth, sensitivity, specificity, labels, judged };
        let of = format!(
            "true rate {truth}, sensitivity {sensitivity}, specificity {specificity}, 2 × {labels} labels, {judged} judged"
        );
        let found = sheet.share(|chance| planted.corrected_holds(chance));
        sheet.line(format!("corrected 95 % interval holds it: {of}"), Required::AtLeast(0.945), found, "");
        let found = sheet.share(|chance| planted.verdicts_hold(chance));
        sheet.line("the same for the judge's verdicts as they are", Required::Nothing, found, "not in gabfest");
    }
}

impl Planted {
    /// The share that the judge finds met.
    fn judged_met(self, chance: &mut Chance) -> u64 {
        let met = chance.passes(self.judged, self.truth);
        let wrongly = chance.passes(self.judged - met, 1.0 - self.sensitivity);
        chance.passes(met, self.specificity) + wrongly
    }

    fn corrected_holds(self, chance: &mut Chance) -> bool {
        let labels = self.labels as f64;
        let measured = |count: u64| Observed { share: count as f64 / labels, draws: labels };
        let judge = Accuracy {
            sensitivity: measured(chance.passes(self.labels, self.sensitivity)),
            specificity: measured(chance.passes(self.labels, self.specificity)),
        };
        let judged = self.judged as f64;
        let met = Observed { share: self.judged_met(chance) as f64 / judged, draws: judged };
        rate(met, judge).is_none_or(|rate| (rate.low..=rate.high).contains(&self.truth))
    }

    fn verdicts_hold(self, chance: &mut Chance) -> bool {
        let rate = statistics::interval(self.judged_met(chance), self.judged);
        (rate.low..=rate.high).contains(&self.truth)
    }
}
