//! Decides which judges count: those that agree with people, according to `gabfest judge`, on all labels and on those of the
//! criterion.

use serde::{Deserialize, Serialize};

/// `gates.judges` of a plan, and what is known of judges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgeGate {
    /// The least kappa of a judge that decides; the findings of other judges only inform. `None`: every judge decides.
    pub min_kappa: Option<f64>,
    /// One for each judge or panel that was measured.
    pub measured: Vec<MeasuredJudges>,
}

/// The result of `gabfest judge` for a judge or a panel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredJudges {
    /// As ballots name judges, ascending.
    pub judges: Vec<String>,
    /// The number of ballots for each question.
    pub ballots: u64,
    pub kappa: f64,
    /// Of the items labelled not met. Plans of earlier versions have none.
    #[serde(default)]
    pub sensitivity: Agreeing,
    /// Of the items labelled met.
    #[serde(default)]
    pub specificity: Agreeing,
    /// The day of the measurement, as `2026-11-23`.
    pub date: String,
    /// Criteria with labels enough of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<MeasuredCriterion>,
}

/// The same for the labels of one criterion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredCriterion {
    /// As the labels and ballots have it.
    pub criterion: String,
    pub kappa: f64,
    pub sensitivity: Agreeing,
    pub specificity: Agreeing,
}

/// Of so many items with a label, so many got the same verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Agreeing {
    pub verdicts: u64,
    pub of: u64,
}

impl JudgeGate {
    /// Why the judges of these ballots do not count; `None`: they count. `criteria`: what the ballots are about.
    #[must_use]
    pub fn objection<'a>(
        &self,
        mut judges: impl Iterator<Item = &'a str> + Clone,
        criteria: impl Iterator<Item = &'a str>,
        ballots: u64,
    ) -> Option<String> {
        let least = self.min_kappa?;
        let Some(measured) = self.measurement(judges.clone(), ballots) else {
            let judge = judges.next().unwrap_or_default();
            return Some(format!(
                "judge {judge} with {ballots} votes is not calibrated: no `gabfest judge` measured it"
            ));
        };
        let MeasuredJudges { kappa, date, .. } = measured;
        let judge = judges.next().unwrap_or_default();
        // All labels decide about a criterion without enough labels of its own.
        let mut by_all = false;
        for criterion in criteria {
            match measured.criterion(criterion) {
                Some(MeasuredCriterion { criterion, kappa, .. }) if *kappa < least => {
                    return Some(format!(
                        "judge {judge} is not good enough at {criterion:?}: its kappa was {kappa:.3} on {date}, required {least}"
                    ));
                }
                Some(_) => {}
                None => by_all = true,
            }
        }
        (by_all && *kappa < least)
            .then(|| format!("judge {judge} is not good enough: its kappa was {kappa:.3} on {date}, required {least}"))
    }

    /// The latest measurement of these judges.
    pub fn measurement<'a>(
        &self,
        judges: impl Iterator<Item = &'a str> + Clone,
        ballots: u64,
    ) -> Option<&MeasuredJudges> {
        let of_these = |measured: &&MeasuredJudges| {
            measured.ballots == ballots && judges.clone().all(|judge| measured.judges.iter().any(|it| it == judge))
        };
        self.measured.iter().rev().find(of_these)
    }
}

impl MeasuredJudges {
    /// The measurement of one criterion. Labels may have its meaning behind its name: `tone: the agent stays polite`.
    #[must_use]
    pub fn criterion(&self, criterion: &str) -> Option<&MeasuredCriterion> {
        let named = |found: &&MeasuredCriterion| {
            found.criterion.strip_prefix(criterion).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        };
        self.criteria.iter().find(named).filter(|_| !criterion.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judges_decide_if_their_latest_measurement_reaches_the_kappa() {
        let measured = |judges: &[&str], ballots, kappa, date: &str| MeasuredJudges {
            judges: judges.iter().map(|judge| (*judge).to_owned()).collect(),
            ballots,
            kappa,
            sensitivity: Agreeing::default(),
            specificity: Agreeing::default(),
            date: date.to_owned(),
            criteria: Vec::new(),
        };
        let gate = JudgeGate {
            min_kappa: Some(0.6),
            measured: vec![
                measured(&["a"], 1, 0.9, "2026-11-01"),
                measured(&["a"], 1, 0.4, "2026-11-02"),
                measured(&["b"], 1, 0.6, "2026-11-03"),
                measured(&["a", "b", "c"], 3, 0.7, "2026-11-04"),
            ],
        };
        let rows: [(&[&str], u64, &str); 8] = [
            (&["b"], 1, ""),
            (&["a"], 1, "its kappa was 0.400 on 2026-11-02, required 0.6"),
            (&["b"], 3, ""),
            (&["a", "b", "c"], 3, ""),
            // One vote of the panel was lost.
            (&["a", "c"], 3, ""),
            (&["a", "b"], 2, "judge a with 2 votes is not calibrated"),
            (&["b"], 5, "judge b with 5 votes is not calibrated"),
            (&["d"], 1, "judge d with 1 votes is not calibrated"),
        ];
        for (judges, ballots, expected) in rows {
            let objection = gate.objection(judges.iter().copied(), [""].into_iter(), ballots);
            match expected {
                "" => assert_eq!(objection, None, "{judges:?} {ballots}"),
                part => assert!(objection.unwrap().contains(part), "{judges:?} {ballots}"),
            }
        }
    }

    #[test]
    fn a_criterion_with_labels_of_its_own_counts_by_itself() {
        let criterion = |criterion: &str, kappa| MeasuredCriterion {
            criterion: criterion.to_owned(),
            kappa,
            sensitivity: Agreeing::default(),
            specificity: Agreeing::default(),
        };
        let measured = MeasuredJudges {
            judges: vec!["a".to_owned()],
            ballots: 1,
            kappa: 0.7,
            sensitivity: Agreeing { verdicts: 9, of: 10 },
            specificity: Agreeing { verdicts: 10, of: 10 },
            date: "2026-11-23".to_owned(),
            criteria: vec![criterion("tone: it stays polite", 0.3), criterion("facts", 0.9)],
        };
        let gate = |min_kappa| JudgeGate { min_kappa, measured: vec![measured.clone()] };
        let objection = |min_kappa, criteria: &[&'static str]| {
            gate(min_kappa).objection(["a"].into_iter(), criteria.iter().copied(), 1)
        };
        assert_eq!(objection(Some(0.6), &["facts", "speed", "ton", ""]), None);
        let said = objection(Some(0.6), &["facts", "tone"]).unwrap();
        assert!(said.contains("at \"tone: it stays polite\": its kappa was 0.300 on 2026-11-23"), "{said}");
        assert_eq!(objection(Some(0.8), &["facts"]), None, "its own labels decide, not all");
        assert_eq!(objection(None, &["tone"]), None, "without a floor every judge decides");
        // The overall kappa decides about criteria without labels of their own.
        assert!(objection(Some(0.8), &["speed"]).unwrap().contains("its kappa was 0.700"));
        let earlier = r#"{"min_kappa":0.6,"measured":[{"judges":["a"],"ballots":1,"kappa":0.7,"date":"2026-11-23"}]}"#;
        let read: JudgeGate = serde_json::from_str(earlier).unwrap();
        assert_eq!((read.min_kappa, read.measured[0].sensitivity.of), (Some(0.6), 0));
    }
}
