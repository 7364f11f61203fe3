//! The series of places that trials have had, by the names in their plans: labels are made and looked up once for each.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use opentelemetry::KeyValue;

use super::{
    places::Places,
    series::{Instruments, Series},
};
use crate::metrics::catalogue::{MOST_SERIES, PERSONA, SCENARIO, SUITE};

/// The limit of the names of a kept place together: plans choose their length.
const LONGEST_KEPT: usize = 1_024;

pub(super) struct Kept {
    places: Places,
    known: RwLock<Known>,
}

/// By suite, scenario and persona.
#[derive(Default)]
struct Known {
    series: HashMap<String, HashMap<String, HashMap<String, Arc<Series>>>>,
    count: usize,
}

impl Kept {
    pub(super) fn new() -> Self {
        Self { places: Places::new(), known: RwLock::default() }
    }

    /// The series of a place; a missing persona is empty. Beyond a limit, places share labels and are looked up each time.
    pub(super) fn get(&self, of: &Instruments, suite: &str, scenario: &str, persona: &str) -> Arc<Series> {
        {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            let personas = known.series.get(suite).and_then(|scenarios| scenarios.get(scenario));
            if let Some(series) = personas.and_then(|personas| personas.get(persona)) {
                return Arc::clone(series);
            }
        }
        let [of_suite, of_scenario, of_persona] = self.places.get(suite, scenario, persona);
        let place =
            [KeyValue::new(SUITE, of_suite), KeyValue::new(SCENARIO, of_scenario), KeyValue::new(PERSONA, of_persona)];
        let series = Arc::new(Series::new(of, place));
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.count < MOST_SERIES && suite.len() + scenario.len() + persona.len() <= LONGEST_KEPT {
            let scenarios = known.series.entry(suite.to_owned()).or_default();
            let personas = scenarios.entry(scenario.to_owned()).or_default();
            let before = personas.insert(persona.to_owned(), Arc::clone(&series));
            known.count += usize::from(before.is_none());
        }
        series
    }
}
