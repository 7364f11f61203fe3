//! The labels under which trials count: a limited number of combinations of suite, scenario and persona, and `other`.

use std::{
    collections::HashSet,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::metrics::{
    catalogue::{MOST_SERIES, PERSONA, SCENARIO, SUITE},
    labels::{MOST_VALUES, OTHER, Values},
};

/// Series that name the scenario; the rest is for suites whose scenarios are merged, and for `other`.
const MOST_BY_SCENARIO: usize = MOST_SERIES - (MOST_VALUES + 1);
/// Series that name the persona; the rest is for scenarios whose personas are merged.
const MOST_EXACT: usize = MOST_SERIES / 2;

/// The values of suite, scenario and persona.
pub(super) type Labels = [Arc<str>; 3];

/// Every metric of a place has the same labels, so that one can be divided by the other.
#[derive(Debug)]
pub(super) struct Places {
    suites: Values,
    scenarios: Values,
    personas: Values,
    other: Arc<str>,
    seen: RwLock<HashSet<Labels>>,
    warned: AtomicBool,
}

impl Places {
    pub(super) fn new() -> Self {
        Self {
            suites: Values::new(SUITE),
            scenarios: Values::new(SCENARIO),
            personas: Values::new(PERSONA),
            other: OTHER.into(),
            seen: RwLock::default(),
            warned: AtomicBool::new(false),
        }
    }

    /// The labels of a trial; a missing persona is empty. When there are too many combinations, the persona becomes
    /// `other`, and then the scenario too.
    pub(super) fn get(&self, suite: &str, scenario: &str, persona: &str) -> Labels {
        let suite = self.suites.get(suite);
        let exact = [suite, self.scenarios.get(scenario), self.personas.get(persona)];
        let [suite, scenario, persona] = exact.clone();
        // A missing persona stays missing.
        let coarse = if persona.is_empty() { persona } else { self.other() };
        let rungs = [exact, [suite.clone(), scenario, coarse], [suite, self.other(), self.other()]];
        let (mut rung, mut known) = find(&self.seen.read().unwrap_or_else(PoisonError::into_inner), &rungs);
        if !known {
            let mut seen = self.seen.write().unwrap_or_else(PoisonError::into_inner);
            (rung, known) = find(&seen, &rungs);
            if !known {
                seen.insert(rungs[rung].clone());
            }
        }
        let [exact, ..] = &rungs;
        if rungs[rung] != *exact && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                most = MOST_SERIES,
                "metrics have too many combinations of suite, scenario and persona; the rest are counted with \
                 `{OTHER}` as persona, and then as scenario too"
            );
        }
        rungs.into_iter().nth(rung).expect("a rung is one of the three")
    }

    fn other(&self) -> Arc<str> {
        Arc::clone(&self.other)
    }
}

/// The first rung that exists or for which there is room, and whether it exists. Decisions are final: a rung without
/// room gets none later.
fn find(seen: &HashSet<Labels>, rungs: &[Labels; 3]) -> (usize, bool) {
    for (rung, most) in [MOST_EXACT, MOST_BY_SCENARIO, usize::MAX].into_iter().enumerate() {
        if seen.contains(&rungs[rung]) {
            return (rung, true);
        }
        if seen.len() < most {
            return (rung, false);
        }
    }
    unreachable!("the last rung always has room")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown([suite, scenario, persona]: &Labels) -> String {
        format!("{suite}/{scenario}/{persona}")
    }

    #[test]
    fn personas_become_other_first_and_scenarios_then() {
        let places = Places::new();
        for number in 0..MOST_EXACT {
            let (scenario, persona) = (format!("s{}", number % 150), format!("p{}", number / 150));
            let labels = places.get("nightly", &scenario, &persona);
            assert_eq!(shown(&labels), format!("nightly/{scenario}/{persona}"));
        }
        assert!(!places.warned.load(Ordering::Relaxed));
        for (suite, scenario, persona, expected) in [
            ("nightly", "s7", "one more", "nightly/s7/other"),
            ("nightly", "s7", "and one more", "nightly/s7/other"),
            ("nightly", "s7", "", "nightly/s7/"),
            ("nightly", "s7", "p3", "nightly/s7/p3"),
            ("hourly", "s7", "p3", "hourly/s7/other"),
        ] {
            assert_eq!(shown(&places.get(suite, scenario, persona)), expected);
            assert!(places.warned.load(Ordering::Relaxed));
        }
        for number in 0..40 {
            for scenario in 0..150 {
                places.get(&format!("suite {number}"), &format!("s{scenario}"), "p1");
            }
        }
        assert_eq!(shown(&places.get("suite 39", "s1", "p1")), "suite 39/other/other");
        assert_eq!(shown(&places.get("suite 39", "s1", "")), "suite 39/other/other");
        assert_eq!(shown(&places.get("nightly", "s7", "p3")), "nightly/s7/p3");
    }

    #[test]
    fn there_are_never_more_than_the_most() {
        let places = Places::new();
        for suite in 0..MOST_VALUES + 50 {
            for scenario in 0..5 {
                for persona in ["a", "b", ""] {
                    places.get(&format!("suite {suite}"), &format!("s{scenario}"), persona);
                }
            }
        }
        let seen = places.seen.read().unwrap().len();
        assert!((MOST_BY_SCENARIO..=MOST_SERIES).contains(&seen), "{seen}");
    }
}
