//! The plans that leases name, with their compiled scenarios and the schedules of their loads.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use proto::v1;
use scenario::{
    Digest, Plan,
    load::{Lane, RateChange, Schedule},
};

use crate::compiled::CompiledScenarios;

/// Plans without a held trial are dropped beyond this many.
pub(super) const KEPT_PLANS: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Plans(BTreeMap<Digest, KnownPlan>);

#[derive(Debug)]
pub(super) struct KnownPlan {
    pub(super) scripts: Arc<CompiledScenarios>,
    /// Of a plan with a load.
    pub(super) schedule: Option<Schedule>,
    /// The lane of the last lease whose rate was changed, by its number and with the changes.
    pub(super) changed: Option<(usize, Lane)>,
}

impl Plans {
    pub(super) fn knows(&self, digest: &Digest) -> bool {
        self.0.contains_key(digest)
    }

    pub(super) fn get_mut(&mut self, digest: &Digest) -> Option<&mut KnownPlan> {
        self.0.get_mut(digest)
    }

    pub(super) fn keep(&mut self, digest: Digest, plan: Plan) {
        if self.0.len() >= KEPT_PLANS {
            // Each held trial has a handle to its plan's scripts.
            self.0.retain(|_, known| Arc::strong_count(&known.scripts) > 1);
        }
        let schedule = plan.schedule();
        let scripts = Arc::new(CompiledScenarios::new(Arc::new(plan)));
        self.0.insert(digest, KnownPlan { scripts, schedule, changed: None });
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// A lane of a load with the changes of its rate.
pub(super) fn changed_lane<'a>(
    schedule: &'a Schedule,
    known: &'a mut Option<(usize, Lane)>,
    index: usize,
    rates: &[v1::RateChange],
) -> Option<&'a Lane> {
    let lane = schedule.lanes().get(index)?;
    if rates.is_empty() {
        return Some(lane);
    }
    let change = |wire: &v1::RateChange| RateChange { from: Duration::from_micros(wire.from_micros), rate: wire.rate };
    let rates: Vec<RateChange> = rates.iter().map(change).collect();
    if known.as_ref().is_none_or(|(known, lane)| *known != index || lane.rates() != rates) {
        // Gaps are drawn for the new rate: not for each lease.
        *known = Some((index, lane.with_rates(&rates)));
    }
    known.as_ref().map(|(_, lane)| lane)
}
