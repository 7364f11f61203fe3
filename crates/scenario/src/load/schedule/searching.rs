//! The schedule of a search: its steps are added while the run plays.

use std::time::Duration;

use super::{
    super::search::{Search, SearchStep, StepVerdict, Tried},
    RateChange, Schedule,
};

impl Schedule {
    /// How its rates are searched for; `None`: they are planned.
    #[must_use]
    pub fn search(&self) -> Option<&Search> {
        self.search.as_ref().map(|searching| &searching.search)
    }

    /// The steps of the search so far, in order.
    #[must_use]
    pub fn search_steps(&self) -> &[SearchStep] {
        self.search.as_ref().map_or(&[], |searching| &searching.steps)
    }

    /// A further step of the search, whose rate is played from a time on. After it comes the first rate again. Changes nothing
    /// where [`Schedule::refuses_search_step`] says why.
    pub fn add_search_step(&mut self, rate: f64, from: Duration) {
        if self.refuses_search_step(rate, from).is_some() {
            return;
        }
        let (Some(searching), Some(lane)) = (&mut self.search, self.lanes.first_mut()) else { return };
        let step = searching.search.step(rate, from);
        *lane = lane.with_rates(&changes(&searching.search, &step));
        searching.steps.push(step);
    }

    /// Why a further step of the search is not possible; `None`: it is.
    #[must_use]
    pub fn refuses_search_step(&self, rate: f64, from: Duration) -> Option<String> {
        let (Some(searching), Some(lane)) = (&self.search, self.lanes.first()) else {
            return Some("it searches for no rate".to_owned());
        };
        let step = searching.search.step(rate, from);
        let refused = |change: RateChange| lane.refuses_rate(change);
        if lane.ends().is_some_and(|ends| step.until >= ends) {
            return Some("the duration of the pace leaves no time for another step".to_owned());
        }
        changes(&searching.search, &step).into_iter().find_map(refused)
    }

    /// The search is over: nothing starts from a time on.
    pub fn end_search(&mut self, from: Duration) {
        let (Some(searching), Some(lane)) = (&mut self.search, self.lanes.first_mut()) else { return };
        searching.over = true;
        lane.end_at(from);
    }

    /// Whether its search is not over.
    #[must_use]
    pub fn is_searching(&self) -> bool {
        self.search.as_ref().is_some_and(|searching| !searching.over)
    }

    /// The same load if every step of its search held, with so much time between steps.
    #[must_use]
    pub fn if_all_steps_hold(&self, between: Duration) -> Self {
        let mut all = self.clone();
        let Some(search) = all.search().copied() else { return all };
        let mut tried = Vec::new();
        while let Some(last) = all.search_steps().last().copied() {
            tried.push(Tried { rate: last.rate, verdict: StepVerdict::Held });
            let from = last.until + between;
            match search.next(&tried) {
                Ok(rate) if all.refuses_search_step(rate, from).is_none() => all.add_search_step(rate, from),
                _ => {
                    all.end_search(last.until);
                    break;
                }
            }
        }
        all
    }
}

/// The rate of a step, and the first rate after it.
fn changes(search: &Search, step: &SearchStep) -> [RateChange; 2] {
    [RateChange { from: step.from, rate: step.rate }, RateChange { from: step.until, rate: search.from }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Lane, Load, LoadGroup, Pace, Profile, Share, Spacing, Step};

    const SECOND: u64 = 1_000_000;

    /// From 5/s; steps of 10 s, each after 2 s.
    fn searched(spacing: Spacing) -> Schedule {
        let search = Search {
            from: 5.0,
            to: 40.0,
            factor: 2.0,
            precision: 0.1,
            max_steps: 9,
            every_micros: 10 * SECOND,
            conversations: 1,
            settle_micros: 2 * SECOND,
        };
        let mix = vec![Share { group: 0, weight: 1, cases: None }];
        let pace = Pace::Arrivals { spacing, rate: Profile::constant(5.0, 300 * SECOND) };
        let groups = vec![LoadGroup { name: "all".to_owned(), pace, mix }];
        Schedule::of(&Load { groups, warm_up_micros: 3 * SECOND, drop_after_micros: 1, search: Some(search) }, 7)
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn due_in(lane: &Lane, from: u64, until: u64) -> u64 {
        lane.due_before(seconds(until)) - lane.due_before(seconds(from))
    }

    #[test]
    fn a_step_has_its_rate_and_the_first_rate_comes_after_it() {
        let mut load = searched(Spacing::Even);
        assert_eq!(load.count(), None, "nobody knows how many it plays");
        load.add_search_step(20.0, seconds(30));
        let lane = &load.lanes()[0];
        let starts = [(0, 30), (30, 32), (32, 42), (42, 52)].map(|(from, until)| due_in(lane, from, until));
        assert_eq!(starts, [150, 40, 200, 50]);
        let step = |from, until, rate| Step {
            from: seconds(from),
            until: Some(seconds(until)),
            rate: Some(rate),
            slots: None,
        };
        assert_eq!(load.steps(), [step(5, 15, 5.0), step(32, 42, 20.0)], "what is measured, without the warm-up");
        assert!(load.refuses_search_step(10.0, seconds(288)).is_some_and(|why| why.contains("no time")));
        load.add_search_step(10.0, seconds(288));
        assert_eq!(load.search_steps().len(), 2);
    }

    #[test]
    fn an_end_leaves_out_what_comes_later_and_moves_nothing() {
        for spacing in [Spacing::Even, Spacing::Poisson] {
            let mut load = searched(spacing);
            load.add_search_step(20.0, seconds(30));
            let before = load.clone();
            load.end_search(seconds(50));
            let (lane, long) = (&load.lanes()[0], &before.lanes()[0]);
            let count = lane.count().expect("it is open");
            assert_eq!((load.count(), load.is_searching(), lane.ends()), (Some(count), false, Some(seconds(50))));
            assert_eq!(count, long.due_before(seconds(50)), "{spacing:?}");
            assert!(lane.dues(0).eq(long.dues(0).take(count as usize)));
        }
    }

    #[test]
    fn a_drawing_shows_it_if_every_step_holds() {
        let all = searched(Spacing::Even).if_all_steps_hold(seconds(5));
        let steps: Vec<(u64, f64)> = all.search_steps().iter().map(|step| (step.from.as_secs(), step.rate)).collect();
        assert_eq!(steps, [(3, 5.0), (20, 10.0), (37, 20.0), (54, 40.0)]);
        assert_eq!(all.lanes()[0].ends(), Some(seconds(66)));
    }
}
