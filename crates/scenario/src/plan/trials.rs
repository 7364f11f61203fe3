//! The trials of a plan by their numbers, for programs that ask for many of them.

use std::sync::{Arc, OnceLock};

use super::{Plan, Trial, number::CaseIds};

/// Cases beyond this number get no place: their ids are made for each trial.
const MOST_CASES: u64 = 10_000;

/// The same as [`Plan::trial`], in three digests instead of five for every trial but the first of its case.
#[derive(Debug)]
pub struct Trials {
    plan: Arc<Plan>,
    /// By the number of the case.
    ids: Box<[OnceLock<CaseIds>]>,
}

impl Trials {
    #[must_use]
    pub fn of(plan: Arc<Plan>) -> Self {
        let cases = plan.case_count().min(MOST_CASES);
        Self { ids: (0..cases).map(|_| OnceLock::new()).collect(), plan }
    }

    #[must_use]
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The trial with this number, as [`Plan::trial`] has it.
    #[must_use]
    pub fn get(&self, number: u64) -> Option<Trial> {
        let place = self.plan.place_of(number)?;
        let known = usize::try_from(place.0).ok().and_then(|case| self.ids.get(case));
        let Some(known) = known else { return self.plan.trial(number) };
        let ids = match known.get() {
            Some(ids) => ids,
            None => {
                let ids = self.plan.case_ids(place.0)?;
                known.get_or_init(|| ids)
            }
        };
        Some(self.plan.named(number, place, ids))
    }
}
