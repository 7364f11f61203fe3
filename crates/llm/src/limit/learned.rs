//! The limits of a minute that a provider names: what the own answers prove, and what other workers learned.

use std::{num::NonZeroU64, time::Duration};

use tokio::time::Instant;

use super::{amount::Counted, steady::Evidence};
use crate::named_limits::{Allowed, ByLimit, Windows};

/// A limit that no answer has confirmed for so long is not told to others.
const FRESH: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Learned {
    /// One for each of [`Counted::ALL`].
    evidence: [Evidence; Counted::ALL.len()],
    own: ByLimit<Proved>,
    /// The lowest that any worker has seen lately.
    fleet: Allowed,
}

/// A limit, and when an answer last confirmed it.
#[derive(Debug, Clone, Copy)]
struct Proved {
    limit: NonZeroU64,
    at: Instant,
}

impl Learned {
    /// Takes what an answer reports.
    pub(super) fn take(&mut self, reported: &Windows) {
        let at = Instant::now();
        for (counted, evidence) in Counted::ALL.into_iter().zip(&mut self.evidence) {
            // A reply without a header takes nothing back.
            let Some(window) = counted.named(reported) else { continue };
            if let Some(limit) = evidence.take(window) {
                *counted.named_mut(&mut self.own) = Some(Proved { limit, at });
            }
        }
    }

    /// Takes what the workers together have seen. Where they know a limit, an own one that no answer confirmed lately no longer
    /// counts. Where they know none, what was known stays.
    pub(super) fn adopt(&mut self, fleet: Allowed) {
        for counted in Counted::ALL {
            if let Some(limit) = counted.named(&fleet) {
                *counted.named_mut(&mut self.fleet) = Some(limit);
                let own = counted.named_mut(&mut self.own);
                *own = own.filter(Proved::is_fresh);
            }
        }
    }

    /// What holds: the lower of the own and the fleet's.
    pub(super) fn all(&self) -> Allowed {
        let mut all = self.fleet;
        for counted in Counted::ALL {
            let own = counted.named(&self.own).map(|proved| proved.limit);
            let fleet = counted.named_mut(&mut all);
            *fleet = own.into_iter().chain(*fleet).min();
        }
        all
    }

    /// What own answers have confirmed lately.
    pub(super) fn fresh(&self) -> Allowed {
        self.own.and_then(|proved| proved.is_fresh().then_some(proved.limit))
    }
}

impl Proved {
    fn is_fresh(&self) -> bool {
        self.at.elapsed() < FRESH
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::named_limits::Window;

    fn requests(limit: u64) -> Windows {
        Windows { requests: NonZeroU64::new(limit).map(Window::Minute), ..Windows::default() }
    }

    fn allowed(limit: u64) -> Allowed {
        Allowed { requests: NonZeroU64::new(limit), ..Allowed::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn the_lower_of_the_own_and_the_fleet_s_limit_holds() {
        let mut learned = Learned::default();
        learned.adopt(allowed(100));
        assert_eq!((learned.all(), learned.fresh()), (allowed(100), Allowed::default()), "others have seen it");
        learned.take(&requests(60));
        assert_eq!((learned.all(), learned.fresh()), (allowed(60), allowed(60)));
        learned.take(&requests(200));
        assert_eq!((learned.all(), learned.fresh()), (allowed(100), allowed(200)), "the others may not know yet");
        learned.adopt(allowed(200));
        assert_eq!(learned.all(), allowed(200));
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_that_no_answer_confirmed_lately_gives_way_to_the_fleet_s() {
        let mut learned = Learned::default();
        learned.take(&requests(60));
        tokio::time::advance(FRESH).await;
        assert_eq!((learned.all(), learned.fresh()), (allowed(60), Allowed::default()), "it still holds alone");
        learned.adopt(allowed(200));
        assert_eq!(learned.all(), allowed(200));
        learned.adopt(Allowed::default());
        assert_eq!(learned.all(), allowed(200), "the others have forgotten it");
    }
}
