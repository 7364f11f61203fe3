//! How many trials a worker claims at once: more of short ones, fewer of long ones.

use std::time::Duration;

use tokio::time::Instant;

/// A claim that is due this soon after the last grant was too small. Each claim costs the coordinator a disk write.
pub(super) const SOON: Duration = Duration::from_millis(500);
/// The most trials that wait here, so that they last for about [`SOON`] and no other worker waits for them.
const MOST_AT_HAND_PER_SLOT: u32 = 32;

#[derive(Debug)]
pub(super) struct ClaimSize {
    slots: u32,
    /// How many trials should wait here in addition to the running ones.
    at_hand: u32,
    granted_at: Option<Instant>,
}

impl ClaimSize {
    pub(super) fn new(slots: u32) -> Self {
        Self { slots, at_hand: fewest_at_hand(slots), granted_at: None }
    }

    /// How many trials to claim now, with `held` already here.
    pub(super) fn wanted(&self, held: u32) -> u32 {
        // A claim for one trial costs as much as a claim for many.
        let wanted = (self.slots + self.at_hand).saturating_sub(held);
        if wanted * 2 >= self.at_hand { wanted } else { 0 }
    }

    /// A claim brought trials.
    pub(super) fn granted(&mut self, now: Instant) {
        self.granted_at = Some(now);
    }

    /// Doubles the next claim if the last one was used up soon, otherwise halves it.
    pub(super) fn pace(&mut self, now: Instant) {
        let Some(granted_at) = self.granted_at else { return };
        let least = fewest_at_hand(self.slots);
        self.at_hand = if now - granted_at < SOON {
            (self.at_hand * 2).min(least.max(self.slots * MOST_AT_HAND_PER_SLOT))
        } else {
            (self.at_hand / 2).max(least)
        };
    }
}

fn fewest_at_hand(slots: u32) -> u32 {
    (slots / 2).max(1)
}
