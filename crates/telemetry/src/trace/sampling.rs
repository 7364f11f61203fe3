//! Selects which attempts without a failure are traced.

use std::num::NonZeroU32;

use governor::{
    Quota, RateLimiter,
    clock::{Clock, DefaultClock},
    middleware::NoOpMiddleware,
    state::{InMemoryState, NotKeyed},
};

use crate::otel::config::Sampler;

/// The burst of traces before [`PER_SECOND`] applies, so that a few conversations are all traced.
const AT_ONCE: NonZeroU32 = NonZeroU32::new(100).expect("it is not zero");
/// The sustained rate of traces per second. Workers with real agents rarely finish more trials.
const PER_SECOND: NonZeroU32 = NonZeroU32::new(20).expect("it is not zero");

/// Decides at the start of an attempt, so that the agent gets the decision in `traceparent`.
#[derive(Debug)]
pub(super) struct Sampling<C: Clock = DefaultClock> {
    sampler: Sampler,
    pace: RateLimiter<NotKeyed, InMemoryState, C, NoOpMiddleware<C::Instant>>,
}

impl Sampling {
    pub(super) fn new(sampler: Sampler) -> Self {
        Self::with_clock(sampler, DefaultClock::default())
    }
}

impl<C: Clock> Sampling<C> {
    fn with_clock(sampler: Sampler, clock: C) -> Self {
        let quota = Quota::per_second(PER_SECOND).allow_burst(AT_ONCE);
        Self { sampler, pace: RateLimiter::direct_with_clock(quota, clock) }
    }

    /// Selects a share like the specification's `TraceIdRatioBased`: by the last seven bytes of the id, so that every process
    /// decides the same, and a larger share includes every smaller one.
    pub(super) fn takes(&self, trace: u128) -> bool {
        const RANGE: u64 = 1 << 56;
        match self.sampler {
            Sampler::Always => true,
            Sampler::Never => false,
            Sampler::Share(share) => ((trace as u64 & (RANGE - 1)) as f64) < share * RANGE as f64,
            Sampler::Paced => self.pace.check().is_ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use governor::clock::FakeRelativeClock;

    use super::*;

    fn ids() -> impl Iterator<Item = u128> {
        (0..10_000_u128).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
    }

    fn taken(sampler: Sampler) -> Vec<u128> {
        let sampling = Sampling::new(sampler);
        ids().filter(|id| sampling.takes(*id)).collect()
    }

    #[test]
    fn every_worker_takes_the_same_share() {
        assert_eq!((taken(Sampler::Always).len(), taken(Sampler::Never).len()), (10_000, 0));
        assert_eq!((taken(Sampler::Share(1.0)).len(), taken(Sampler::Share(0.0)).len()), (10_000, 0));
        let (quarter, half) = (taken(Sampler::Share(0.25)), taken(Sampler::Share(0.5)));
        assert!((2_300..2_700).contains(&quarter.len()), "{}", quarter.len());
        assert!(quarter.iter().all(|id| half.contains(id)));
    }

    #[test]
    fn who_is_in_no_hurry_sees_everything() {
        let clock = FakeRelativeClock::default();
        let sampling = Sampling::with_clock(Sampler::Paced, clock.clone());
        let now = || ids().filter(|id| sampling.takes(*id)).count();
        assert_eq!((now(), now()), (100, 0));
        clock.advance(Duration::from_secs(1));
        assert_eq!((now(), now()), (20, 0));
        clock.advance(Duration::from_secs(60));
        assert_eq!((now(), now()), (100, 0));
    }
}
