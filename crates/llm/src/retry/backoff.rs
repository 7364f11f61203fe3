//! The pause before the next try: what a 429 asked for, plus exponential backoff with full jitter.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

use crate::call::Request;

use super::policy::Policy;

/// The pauses of one call. Most calls never pause, so the backoff is built on first use.
#[derive(Debug, Default)]
pub(super) struct Backoff(Option<ExponentialBackoff>);

impl Backoff {
    /// The pause after try number `tries`, which is never shorter than the server's `Retry-After`.
    pub(super) fn pause(
        &mut self,
        policy: &Policy,
        request: &impl Request,
        tries: u32,
        retry_after: Duration,
    ) -> Duration {
        let backoff = self.0.get_or_insert_with(|| {
            ExponentialBuilder::default()
                .with_min_delay(policy.shortest_pause)
                .with_max_delay(policy.longest_pause)
                .without_max_times()
                .build()
        });
        // Full jitter (Brooker, AWS, 2015) spreads the calls that failed together.
        let spread = backoff.next().unwrap_or(policy.longest_pause).mul_f64(jitter(request, tries));
        retry_after.saturating_add(spread)
    }
}

/// In 0..1, from the call's own identity: two runs of one plan pause equally, and two calls do not.
fn jitter(request: &impl Request, tries: u32) -> f64 {
    let mut hasher = DefaultHasher::new();
    (request.seed(), &request.context().idempotency_key, tries).hash(&mut hasher);
    // The upper 53 bits are what a double holds exactly.
    (hasher.finish() >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::jitter;
    use crate::{Context, chat::Request};

    fn request(key: &str) -> Request {
        Request { context: Context { idempotency_key: key.into(), ..Context::default() }, ..Request::default() }
    }

    #[test]
    fn jitter_is_the_calls_own() {
        assert_eq!(jitter(&request("a"), 1), jitter(&request("a"), 1));
        let draws: Vec<f64> = (0..1_000).map(|n| jitter(&request(&n.to_string()), 1)).collect();
        let mean = draws.iter().sum::<f64>() / 1_000.0;
        assert!((0.45..0.55).contains(&mean), "{mean}");
        assert!(draws.iter().all(|draw| (0.0..1.0).contains(draw)));
    }
}
