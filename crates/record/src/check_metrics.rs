//! The findings of checks with a name: a metric for each name, up to a limit.

use std::collections::BTreeMap;

use crate::{Finding, Judgment};

/// How many names have their own metric. The rest, the last in alphabetical order, count as [`OTHER`], so the order in
/// which trials are added and merged does not matter.
pub const MOST_NAMES: usize = 200;
/// The metric of all names beyond the limit.
pub const OTHER: &str = "other";

/// By name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckMetrics {
    named: BTreeMap<String, CheckMetric>,
    other: CheckMetric,
}

/// The findings of one name's checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CheckMetric {
    pub pass: u64,
    pub fail: u64,
    /// Inconclusive, or an error of the evaluator.
    pub not_judged: u64,
    pub not_applicable: u64,
    /// Findings with a score.
    pub scores: u64,
    /// Their sum, in millionths: whole numbers add up the same in any order.
    pub score_micros: u64,
}

impl CheckMetrics {
    pub fn add(&mut self, judgment: &Judgment) {
        if let Some(name) = &judgment.name {
            self.add_metric(name, &CheckMetric::of(judgment));
        }
    }

    pub fn merge(&mut self, other: &Self) {
        for (name, metric) in &other.named {
            self.add_metric(name, metric);
        }
        self.other.merge(&other.other);
    }

    /// In alphabetical order; [`OTHER`] last, if there is one.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &CheckMetric)> {
        let other = (self.other != CheckMetric::default()).then_some((OTHER, &self.other));
        self.named.iter().map(|(name, metric)| (name.as_str(), metric)).chain(other)
    }

    fn add_metric(&mut self, name: &str, metric: &CheckMetric) {
        if name == OTHER {
            self.other.merge(metric);
            return;
        }
        match self.named.get_mut(name) {
            Some(known) => known.merge(metric),
            None => _ = self.named.insert(name.to_owned(), *metric),
        }
        if self.named.len() > MOST_NAMES
            && let Some((_, last)) = self.named.pop_last()
        {
            self.other.merge(&last);
        }
    }
}

impl CheckMetric {
    fn of(judgment: &Judgment) -> Self {
        let mut metric = Self::default();
        match judgment.finding {
            Finding::Pass => metric.pass = 1,
            Finding::Fail => metric.fail = 1,
            Finding::Inconclusive | Finding::Error => metric.not_judged = 1,
            Finding::NotApplicable => metric.not_applicable = 1,
        }
        if let Some(score) = judgment.score {
            metric.scores = 1;
            metric.score_micros = (score.clamp(0.0, 1.0) * 1e6).round() as u64;
        }
        metric
    }

    /// The mean of the scores, 0 to 1.
    #[must_use]
    pub fn mean_score(&self) -> Option<f64> {
        (self.scores > 0).then(|| self.score_micros as f64 / 1e6 / self.scores as f64)
    }

    fn merge(&mut self, other: &Self) {
        let Self { pass, fail, not_judged, not_applicable, scores, score_micros } = other;
        self.pass += pass;
        self.fail += fail;
        self.not_judged += not_judged;
        self.not_applicable += not_applicable;
        self.scores += scores;
        self.score_micros += score_micros;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scope;

    fn judgment(name: &str, finding: Finding, score: Option<f64>) -> Judgment {
        Judgment {
            check: "custom".to_owned(),
            name: Some(name.to_owned()),
            description: None,
            scope: Scope::Step { step: 1 },
            finding,
            score,
            reason: String::new(),
            evidence: None,
            failure: None,
            line: 1,
            required: true,
            weight: 1.0,
            ballots: Vec::new(),
            jury: None,
            custom: None,
        }
    }

    #[test]
    fn findings_and_scores_count_under_their_name() {
        let mut metrics = CheckMetrics::default();
        metrics.add(&judgment("tone", Finding::Pass, Some(0.9)));
        metrics.add(&judgment("tone", Finding::Fail, Some(0.2)));
        metrics.add(&judgment("tone", Finding::Error, None));
        metrics.add(&judgment("tone", Finding::NotApplicable, None));
        metrics.add(&judgment("length", Finding::Pass, None));
        metrics.add(&Judgment { name: None, ..judgment("", Finding::Pass, None) });
        let names: Vec<&str> = metrics.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["length", "tone"]);
        let tone = metrics.iter().find(|(name, _)| *name == "tone").unwrap().1;
        assert_eq!((tone.pass, tone.fail, tone.not_judged, tone.not_applicable), (1, 1, 1, 1));
        assert_eq!(tone.mean_score(), Some(0.55));
    }

    #[test]
    fn the_number_of_names_is_limited_in_any_order() {
        let names: Vec<String> = (0..MOST_NAMES + 50).map(|number| format!("n{number:03}")).collect();
        let add = |metrics: &mut CheckMetrics, name: &String| metrics.add(&judgment(name, Finding::Pass, Some(0.5)));
        let (mut forward, mut backward, mut halves) = <(CheckMetrics, CheckMetrics, [CheckMetrics; 2])>::default();
        for _ in 0..2 {
            names.iter().for_each(|name| add(&mut forward, name));
            names.iter().rev().for_each(|name| add(&mut backward, name));
            names.iter().enumerate().for_each(|(index, name)| add(&mut halves[index % 2], name));
        }
        let [mut merged, odd] = halves;
        merged.merge(&odd);
        assert_eq!(forward, backward);
        assert_eq!(forward, merged);
        assert_eq!(forward.iter().count(), MOST_NAMES + 1);
        let other = forward.iter().last().unwrap();
        assert_eq!((other.0, other.1.pass), (OTHER, 100));
    }
}
