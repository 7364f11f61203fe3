//! Decides which judges count: those that agree with people, according to `gabfest judge`.

use serde::{Deserialize, Serialize};

/// `gates.judges` of a plan. The findings of other judges only inform.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgeGate {
    /// The least kappa of a judge that decides.
    pub min_kappa: f64,
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
    /// The day of the measurement, as `2026-11-23`.
    pub date: String,
}

impl JudgeGate {
    /// Why the judges of these ballots do not count; `None`: they count.
    #[must_use]
    pub fn objection<'a>(&self, mut judges: impl Iterator<Item = &'a str> + Clone, ballots: u64) -> Option<String> {
        let of_these = |measured: &&MeasuredJudges| {
            measured.ballots == ballots && judges.clone().all(|judge| measured.judges.iter().any(|it| it == judge))
        };
        let Some(measured) = self.measured.iter().rev().find(of_these) else {
            let judge = judges.next().unwrap_or_default();
            return Some(format!(
                "judge {judge} with {ballots} votes is not calibrated: no `gabfest judge` measured it"
            ));
        };
        let MeasuredJudges { kappa, date, .. } = measured;
        let judge = judges.next().unwrap_or_default();
        (*kappa < self.min_kappa).then(|| {
            format!("judge {judge} is not good enough: its kappa was {kappa:.3} on {date}, required {}", self.min_kappa)
        })
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
            date: date.to_owned(),
        };
        let gate = JudgeGate {
            min_kappa: 0.6,
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
            let objection = gate.objection(judges.iter().copied(), ballots);
            match expected {
                "" => assert_eq!(objection, None, "{judges:?} {ballots}"),
                part => assert!(objection.unwrap().contains(part), "{judges:?} {ballots}"),
            }
        }
    }
}
