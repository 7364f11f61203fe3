//! Objectives that one step of a load can meet or break by itself.

use super::{Comparison, Figure, Objective, Share, Statistic, Time};
use crate::plan::{Gates, RatePer};

impl Objective {
    /// The share of conversations or turns of a step that must be good: those that passed, those that no error of the agent
    /// ended, or the turns within a time, since `p95(ttft) < 2s` says that 95 % of turns are within 2 s. `None`: the objective
    /// says nothing about a step.
    #[must_use]
    pub fn share_of_step(&self) -> Option<f64> {
        if !self.filters.is_empty() {
            return None;
        }
        let is_lower = matches!(self.comparison, Comparison::AtLeast | Comparison::More);
        match self.figure {
            Figure::Share(Share::Pass) if is_lower => Some(self.bound),
            Figure::Share(Share::Error) if self.comparison.is_upper() => Some(1.0 - self.bound),
            Figure::Time {
                of: Time::Response | Time::Service | Time::Ttft,
                statistic: Statistic::Percentile(thousandths),
            } if self.comparison.is_upper() => Some(f64::from(thousandths) / 100_000.0),
            _ => None,
        }
    }
}

impl Gates {
    /// What each step of a load can meet or break: the least success rate, and objectives without filter. Windows, delays and
    /// `abort` are of runs and not of steps, and are left out.
    pub fn of_steps(&self) -> impl Iterator<Item = Objective> {
        let plain = |figure, comparison, bound| Objective {
            figure,
            filters: Vec::new(),
            comparison,
            bound,
            window_micros: None,
            delay_micros: 0,
            abort: false,
        };
        let of_run = self.success_rates.iter().filter(|gate| gate.per == RatePer::Run).map(|gate| gate.min);
        let rates = self
            .pass_rate
            .into_iter()
            .chain(of_run)
            .map(move |bound| plain(Figure::Share(Share::Pass), Comparison::AtLeast, bound));
        let of_steps = self.objectives.iter().filter(|objective| objective.share_of_step().is_some());
        let all = rates.chain(of_steps.map(move |of| plain(of.figure, of.comparison, of.bound)));
        let mut found: Vec<Objective> = Vec::new();
        for objective in all {
            if !found.contains(&objective) {
                found.push(objective);
            }
        }
        found.into_iter()
    }
}
