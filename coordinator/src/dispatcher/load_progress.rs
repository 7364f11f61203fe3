//! How far a load is: what was offered, dropped and completed, and what runs.

use std::time::Duration;

use record::tally::LoadTally;
use telemetry::metrics::Load;

/// `leased`: trials that workers hold. Arrivals are leased ahead of their time, so only those that are due run.
pub(super) fn of(tally: &LoadTally, elapsed: Duration, leased: u64) -> Load {
    let lanes = tally.schedule().lanes();
    let (mut due, mut ended, mut of_slots, mut dropped, mut slots) = (0, 0, 0, 0, 0);
    for (index, lane) in lanes.iter().enumerate() {
        let counts = tally.lanes.get(&index).copied().unwrap_or_default();
        dropped += counts.dropped;
        if lane.is_open() {
            due += lane.due_before(elapsed).max(counts.ended());
            ended += counts.ended();
        } else {
            of_slots += counts.ended();
            slots += u64::from(lane.slots_at(elapsed).unwrap_or(0));
        }
    }
    let is_open = lanes.iter().any(scenario::load::Lane::is_open);
    let waiting = due - ended;
    let running = if is_open { leased.min(waiting + slots) } else { leased };
    Load {
        offered: due + of_slots + running.saturating_sub(waiting),
        completed: ended + of_slots - dropped,
        dropped,
        running,
    }
}

#[cfg(test)]
mod tests {
    use record::tally::LaneCounts;

    use super::*;
    use crate::scheduler::fixture::{even, schedule, slots};

    fn tally(paces: Vec<scenario::load::Pace>, sent: u64, dropped: u64) -> LoadTally {
        let mut tally = LoadTally::of(schedule(paces));
        tally.lanes.insert(0, LaneCounts { sent, dropped, ..LaneCounts::default() });
        tally
    }

    #[test]
    fn of_the_leased_arrivals_only_those_that_are_due_run() {
        let arrivals = tally(vec![even(10.0, 60)], 25, 3);
        let load = of(&arrivals, Duration::from_secs(3), 42);
        assert_eq!(load, Load { offered: 30, completed: 25, dropped: 3, running: 2 });
        assert_eq!(of(&arrivals, Duration::ZERO, 40).running, 0, "none is due");
        let over = of(&tally(vec![even(10.0, 60)], 597, 3), Duration::MAX, 0);
        assert_eq!(over, Load { offered: 600, completed: 597, dropped: 3, running: 0 });
    }

    #[test]
    fn in_slots_what_is_leased_runs() {
        let load = of(&tally(vec![slots(4.0, None, Some(60))], 11, 0), Duration::from_secs(3), 4);
        assert_eq!(load, Load { offered: 15, completed: 11, dropped: 0, running: 4 });
    }
}
