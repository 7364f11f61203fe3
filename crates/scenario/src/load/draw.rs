//! Which case and which repeat the trials of a load are.
//!
//! In each block of a lane every scenario is played exactly as often as its weight, in an order of its own. A scenario deals its
//! cases in rounds, each in an order of its own, so no case is played a second time before all were played once.

use super::{Load, LoadGroup, Share, lane_and_local, shuffle::shuffled};
use crate::{Plan, draws::key};

impl Share {
    /// The number of its cases, of a scenario with so many.
    fn len(&self, cases: u64) -> u64 {
        self.cases.as_ref().map_or(cases, |list| list.len() as u64)
    }

    fn has(&self, case: u64) -> bool {
        self.cases.as_ref().is_none_or(|list| list.binary_search(&case).is_ok())
    }
}

impl Load {
    /// The number of the case in the plan, and the repeat. Repeats of a case are dense: lanes that share a case take turns.
    pub(crate) fn case_and_repeat(&self, plan: &Plan, number: u64) -> Option<(u64, u32)> {
        let (lane, local) = lane_and_local(number);
        let group = self.groups.get(lane)?;
        let (share, drawn) = group.share(plan.seed, lane, local)?;
        let cases = share.len(plan.cases_of(plan.groups.get(share.group)?));
        let (round, place) = (drawn.checked_div(cases)?, drawn.checked_rem(cases)?);
        let place = shuffled(key(&[plan.seed, lane as u64, 1 + share.group as u64, round]), cases, place);
        let case = match &share.cases {
            Some(list) => *list.get(usize::try_from(place).ok()?)?,
            None => place,
        };
        let (mut before, mut all) = (0, 0);
        for (other, group) in self.groups.iter().enumerate() {
            if group.mix.iter().any(|other| other.group == share.group && other.has(case)) {
                before += u64::from(other < lane);
                all += 1;
            }
        }
        let first = plan.groups.iter().take(share.group).map(|group| plan.cases_of(group)).sum::<u64>();
        Some((first + case, u32::try_from(round * all + before).ok()?))
    }
}

impl LoadGroup {
    /// The scenario of a local number, and how many conversations of the lane played it before.
    fn share(&self, seed: u64, lane: usize, local: u64) -> Option<(&Share, u64)> {
        let length = self.block();
        let (block, place) = (local.checked_div(length)?, local.checked_rem(length)?);
        let mut place = shuffled(key(&[seed, lane as u64, 0, block]), length, place);
        for share in &self.mix {
            let weight = u64::from(share.weight);
            if place < weight {
                return Some((share, block * weight + place));
            }
            place -= weight;
        }
        None
    }
}
