//! Episodes of throttling: the first 429 after a calm pauses the endpoint on all workers, and what follows says nothing new.

use std::time::Duration;

use tokio::time::Instant;

use super::adaptive::COOLDOWN;

/// What this process saw of 429s.
#[derive(Debug, Default)]
pub(super) struct Episodes {
    /// How many it saw first.
    count: u64,
    until: Option<Instant>,
    /// When the pause of the last one ends.
    pause_until: Option<Instant>,
}

/// The last episode that this process saw first, for the coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Episode {
    /// How many there were.
    pub count: u64,
    /// The rest of the pause that the endpoint asked for.
    pub pause: Duration,
}

impl Episodes {
    /// The endpoint asked for a pause. Whether that begins an episode, or makes its pause longer.
    pub(super) fn begins(&mut self, pause: Duration, now: Instant) -> bool {
        let is_longer = !pause.is_zero() && self.pause_until.is_none_or(|until| now + pause > until + COOLDOWN / 15);
        if self.until.is_some_and(|until| now < until) && !is_longer {
            return false;
        }
        self.follows(pause, now);
        self.count += 1;
        true
    }

    /// Another worker saw it first.
    pub(super) fn follows(&mut self, pause: Duration, now: Instant) {
        // An instant cannot hold every time that a server writes.
        let after = |time: Duration| now.checked_add(time).unwrap_or(now + Duration::from_secs(86_400));
        self.until = Some(after(pause.max(COOLDOWN))).max(self.until);
        self.pause_until = Some(after(pause)).max(self.pause_until);
    }

    pub(super) fn last(&self, now: Instant) -> Episode {
        let pause = self.pause_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        Episode { count: self.count, pause }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_episode_is_seen_once() {
        let (mut episodes, now) = (Episodes::default(), Instant::now());
        let seconds = Duration::from_secs;
        assert!(episodes.begins(seconds(5), now));
        assert!(!episodes.begins(seconds(5), now), "calls in flight say the same");
        assert!(!episodes.begins(Duration::ZERO, now + seconds(14)));
        assert!(episodes.begins(seconds(20), now + seconds(1)), "a longer pause is news");
        assert!(!episodes.begins(seconds(1), now + seconds(20)));
        assert_eq!(episodes.last(now + seconds(11)), Episode { count: 2, pause: seconds(10) });
        assert!(episodes.begins(seconds(1), now + seconds(21)));
        episodes.follows(seconds(60), now + seconds(40));
        assert!(!episodes.begins(seconds(10), now + seconds(41)), "another worker saw it first");
    }
}
