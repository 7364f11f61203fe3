//! The suites with their scenarios. Their number is bounded: new ones replace those that have not been played for the
//! longest time.
//!
//! A coordinator runs for months, and scenarios are renamed. A forgotten scenario loses its series.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use record::Verdict;

use super::{
    figures::{Cases, Ended},
    fleet::Queue,
};
use crate::metrics::{
    catalogue::{MOST_SERIES, SCENARIO, SUITE},
    labels::{MOST_VALUES, OTHER, clean},
};

/// The limit over all suites. The remaining series are for the suites themselves, and for `other` in each.
const MOST_SCENARIOS: usize = MOST_SERIES - 2 * (MOST_VALUES + 1);

/// The suites that a coordinator plays or has played.
#[derive(Debug, Default)]
pub(super) struct Suites {
    known: BTreeMap<Arc<str>, Suite>,
    /// Goes up with every run.
    runs: u64,
    warned: AtomicBool,
}

#[derive(Debug, Default)]
pub(super) struct Suite {
    pub(super) queue: Option<Queue>,
    pub(super) ended: Option<Ended>,
    /// In the order of `now::BLAMES`.
    pub(super) errors: [u64; 6],
    /// In the order of `now::STATUSES`.
    pub(super) ends: [u64; 3],
    pub(super) scenarios: BTreeMap<Arc<str>, Scenario>,
    /// Its latest run.
    run: u64,
}

#[derive(Debug, Default)]
pub(super) struct Scenario {
    /// In the order of [`Verdict::ALL`].
    pub(super) verdicts: [u64; Verdict::ALL.len()],
    /// Of the latest run that ended.
    pub(super) cases: Option<Cases>,
    /// The latest run that includes it.
    run: u64,
}

impl Suites {
    /// A run of the suite is known.
    pub(super) fn run<'a>(&mut self, suite: &str, scenarios: impl IntoIterator<Item = &'a str>) {
        self.runs += 1;
        let run = self.runs;
        let name = self.suite_name(suite);
        let here = self.known.entry(Arc::clone(&name)).or_default();
        here.run = run;
        // Known scenarios first: a new one could evict a later one.
        let mut new = Vec::new();
        for scenario in scenarios {
            match here.scenarios.get_mut(&*clean(scenario)) {
                Some(known) => known.run = run,
                None => new.push(scenario),
            }
        }
        for scenario in new {
            self.scenario_of(&name, scenario);
        }
    }

    pub(super) fn suite(&mut self, suite: &str) -> &mut Suite {
        let name = self.suite_name(suite);
        let run = self.runs;
        self.known.entry(name).or_insert_with(|| Suite { run, ..Suite::default() })
    }

    pub(super) fn scenario(&mut self, suite: &str, scenario: &str) -> Option<&mut Scenario> {
        let name = self.suite_name(suite);
        self.scenario_of(&name, scenario)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Suite)> {
        self.known.iter()
    }

    /// The name in its series. A new suite may evict the one that has not been played for the longest time.
    fn suite_name(&mut self, suite: &str) -> Arc<str> {
        let suite = clean(suite);
        if let Some((known, _)) = self.known.get_key_value(&*suite) {
            return Arc::clone(known);
        }
        if self.known.len() - usize::from(self.known.contains_key(OTHER)) >= MOST_VALUES {
            let idle = self.known.iter().filter(|(name, suite)| ***name != *OTHER && !suite.is_running());
            let Some(oldest) = idle.min_by_key(|(_, suite)| suite.run).map(|(name, _)| Arc::clone(name)) else {
                return self.other(SUITE);
            };
            self.known.remove(&oldest);
        }
        suite.as_ref().into()
    }

    /// A scenario of the suite with this name. A new one may evict one that the latest run of its suite does not play,
    /// or one of a suite that is not played.
    fn scenario_of(&mut self, suite: &Arc<str>, scenario: &str) -> Option<&mut Scenario> {
        let run = self.runs;
        let scenario = clean(scenario);
        let here = self.known.entry(Arc::clone(suite)).or_insert_with(|| Suite { run, ..Suite::default() });
        let mut name: Arc<str> = scenario.as_ref().into();
        if !here.scenarios.contains_key(&name) && !self.make_room(suite) {
            name = self.other(SCENARIO);
        }
        let here = self.known.get_mut(suite)?;
        let run = here.run;
        Some(here.scenarios.entry(name).or_insert_with(|| Scenario { run, ..Scenario::default() }))
    }

    /// Makes room for another scenario of the suite. Returns whether there is room.
    fn make_room(&mut self, suite: &Arc<str>) -> bool {
        let own = self.known.get(suite).map_or(0, Suite::named);
        let all: usize = self.known.values().map(Suite::named).sum();
        let full = own >= MOST_VALUES;
        if !full && all < MOST_SCENARIOS {
            return true;
        }
        let candidates = self.known.iter().filter(|(name, _)| !full || *name == suite);
        let unplayed = candidates.flat_map(|(name, owner)| {
            let needed = if owner.is_running() || name == suite { owner.run } else { u64::MAX };
            let old = move |scenario: &Scenario| scenario.run < needed;
            let scenarios = owner.scenarios.iter().filter(move |(name, one)| ***name != *OTHER && old(one));
            scenarios.map(move |(scenario, at)| (at.run, name, scenario))
        });
        let Some((_, owner, oldest)) = unplayed.min() else { return false };
        let (owner, oldest) = (Arc::clone(owner), Arc::clone(oldest));
        self.known.get_mut(&owner).and_then(|owner| owner.scenarios.remove(&oldest)).is_some()
    }

    fn other(&self, label: &'static str) -> Arc<str> {
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                label,
                suites = MOST_VALUES,
                scenarios = MOST_VALUES,
                all_scenarios = MOST_SCENARIOS,
                "metrics have too many suites or scenarios; the rest are counted as `{OTHER}`"
            );
        }
        OTHER.into()
    }
}

impl Suite {
    /// Scenarios with their own name.
    fn named(&self) -> usize {
        self.scenarios.len() - usize::from(self.scenarios.contains_key(OTHER))
    }

    fn is_running(&self) -> bool {
        self.queue.is_some_and(|queue| queue.running)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOING: Queue =
        Queue { started_at: 0, running: true, paused: false, planned: 1, leased: 0, done: 0, load: None, money: None };
    const OVER: Queue = Queue { running: false, ..GOING };

    fn names(suites: &Suites, suite: &str) -> Vec<String> {
        suites.known.get(suite).map_or_else(Vec::new, |suite| suite.scenarios.keys().map(ToString::to_string).collect())
    }

    fn run(suites: &mut Suites, suite: &str, scenarios: &[String]) {
        suites.run(suite, scenarios.iter().map(String::as_str));
    }

    fn numbered(prefix: &str, count: usize) -> Vec<String> {
        (0..count).map(|number| format!("{prefix}{number:03}")).collect()
    }

    #[test]
    fn a_scenario_that_is_not_played_any_more_makes_room_for_a_new_one() {
        let mut suites = Suites::default();
        // A night with fifty new scenarios, and fifty older ones that are no longer played.
        let nights = [numbered("old", 50), numbered("kept", 150), numbered("new", 50)];
        run(&mut suites, "nightly", &[&nights[0][..], &nights[1][..]].concat());
        suites.scenario("nightly", "kept007").unwrap().verdicts[0] = 3;
        run(&mut suites, "nightly", &[&nights[2][..], &nights[1][..]].concat());
        assert_eq!(names(&suites, "nightly"), [&nights[1][..], &nights[2][..]].concat());
        assert_eq!(suites.scenario("nightly", "kept007").unwrap().verdicts[0], 3);
        assert!(!suites.warned.load(Ordering::Relaxed));
    }

    #[test]
    fn more_scenarios_than_a_suite_may_have_are_one() {
        let mut suites = Suites::default();
        run(&mut suites, "nightly", &numbered("s", MOST_VALUES + 20));
        let shown = names(&suites, "nightly");
        assert_eq!(shown.len(), MOST_VALUES + 1);
        assert!(shown.contains(&OTHER.to_owned()) && !shown.contains(&format!("s{MOST_VALUES}")));
        assert!(suites.warned.load(Ordering::Relaxed));
        // `other` is not a scenario that grows old.
        run(&mut suites, "nightly", &numbered("s", MOST_VALUES + 20));
        assert_eq!(names(&suites, "nightly"), shown);
    }

    #[test]
    fn suites_that_are_over_make_room_and_those_that_are_played_stay() {
        let mut suites = Suites::default();
        for number in 0..3 * MOST_VALUES {
            let suite = format!("suite {number}");
            run(&mut suites, &suite, &numbered("s", 10));
            suites.suite(&suite).queue = Some(if number == 1 { GOING } else { OVER });
        }
        assert_eq!(names(&suites, "suite 1"), numbered("s", 10), "it is played");
        assert_eq!(names(&suites, "suite 0"), Vec::<String>::new(), "it is the oldest");
        assert_eq!(names(&suites, &format!("suite {}", 3 * MOST_VALUES - 1)), numbered("s", 10), "it is the newest");
        assert_eq!(suites.known.len(), MOST_VALUES);
        assert!(!suites.warned.load(Ordering::Relaxed));
        let all = || suites.known.values().map(|suite| suite.scenarios.len()).sum::<usize>();
        assert!((MOST_SCENARIOS - 10..=MOST_SCENARIOS).contains(&all()), "{}", all());
    }

    #[test]
    fn when_all_are_played_the_new_ones_are_other_and_the_bound_holds() {
        let mut suites = Suites::default();
        for number in 0..2 * MOST_VALUES {
            let suite = format!("suite {number}");
            run(&mut suites, &suite, &numbered("s", 10));
            suites.suite(&suite).queue = Some(GOING);
        }
        assert_eq!(suites.known.len(), MOST_VALUES + 1);
        let last = format!("suite {}", MOST_VALUES - 1);
        assert_eq!(names(&suites, &last), [OTHER], "no room for its scenarios");
        assert_eq!(names(&suites, OTHER), [OTHER]);
        let series = suites.known.len() + suites.known.values().map(|suite| suite.scenarios.len()).sum::<usize>();
        assert!(series <= MOST_SERIES, "{series}");
        assert!(suites.warned.load(Ordering::Relaxed));
    }
}
