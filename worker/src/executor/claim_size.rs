//! How many trials a worker claims at once: more of short ones, fewer of long ones.

use std::time::Duration;

use tokio::time::Instant;

/// A claim that is due this soon after the last grant was too small. Each claim costs the coordinator a disk write.
pub(super) const SOON: Duration = Duration::from_secs(1);
/// A claim that is due only this long after the last grant was too large.
pub(super) const LATE: Duration = Duration::from_secs(2);
/// The most trials that wait here, so that no other worker waits for them.
const MOST_AT_HAND_PER_SLOT: u32 = 8;

#[derive(Debug)]
pub(super) struct ClaimSize {
    slots: u32,
    /// How many trials should wait here in addition to the running ones.
    at_hand: u32,
    granted_at: Option<Instant>,
    /// How many the last claim asked for.
    asked: u32,
    /// It brought as many.
    was_full: bool,
}

impl ClaimSize {
    pub(super) fn new(slots: u32) -> Self {
        Self { slots, at_hand: fewest_at_hand(slots), granted_at: None, asked: 0, was_full: false }
    }

    /// How many trials to claim now, with `held` already here.
    pub(super) fn wanted(&self, held: u32) -> u32 {
        // A claim for one trial costs as much as a claim for many.
        let wanted = (self.slots + self.at_hand).saturating_sub(held);
        if wanted * 2 >= self.at_hand { wanted } else { 0 }
    }

    /// A claim brought this many trials.
    pub(super) fn granted(&mut self, trials: u64, now: Instant) {
        (self.granted_at, self.was_full) = (Some(now), trials >= u64::from(self.asked));
    }

    /// Sets the size of a claim that is made now, with `held` already here. Doubles it within [`SOON`] of the last grant, keeps it until
    /// [`LATE`], and halves it after that. Also halves it if the last claim brought less than it asked for: few are left, and other
    /// workers want them too.
    pub(super) fn pace(&mut self, held: u32, now: Instant) {
        let least = fewest_at_hand(self.slots);
        self.at_hand = match self.granted_at {
            None => self.at_hand,
            Some(granted_at) if self.was_full && now - granted_at < SOON => {
                (self.at_hand * 2).min(least.max(self.slots * MOST_AT_HAND_PER_SLOT))
            }
            Some(granted_at) if self.was_full && now - granted_at < LATE => self.at_hand,
            Some(_) => (self.at_hand / 2).max(least),
        };
        self.asked = self.wanted(held);
    }
}

fn fewest_at_hand(slots: u32) -> u32 {
    (slots / 2).max(1)
}
