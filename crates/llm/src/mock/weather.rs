//! Faults and delays of a call, drawn from the call and the number of its try.

use std::time::Duration;

use super::{behaviour::Behaviour, chance::Key};

/// What the caller gets instead of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// No answer at all.
    Hang,
    Throttled {
        after: Duration,
    },
    /// Status 500.
    Failed,
    /// Something that is not a chat completion.
    Malformed,
}

/// When the pieces of a reply come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace<'a> {
    /// From the request to the first piece.
    pub(crate) first: Duration,
    between: &'a super::Delay,
    key: Key,
}

/// `call` is the key of the request, the same for each of its tries.
pub(crate) fn trouble(behaviour: &Behaviour, call: Key, try_number: u32) -> Option<Trouble> {
    let key = call.number(u64::from(try_number));
    let after = Duration::from_millis(behaviour.rate_limit.retry_after_ms);
    [
        ("hang", behaviour.hang_rate, Trouble::Hang),
        ("throttled", behaviour.rate_limit.rate, Trouble::Throttled { after }),
        ("failed", behaviour.error_rate, Trouble::Failed),
        ("malformed", behaviour.malformed_rate, Trouble::Malformed),
    ]
    .into_iter()
    .find(|(name, rate, _)| key.text(name).happens(*rate))
    .map(|(_, _, trouble)| trouble)
}

/// `age`: how long the mock has been there.
pub(crate) fn pace(behaviour: &Behaviour, call: Key, try_number: u32, age: impl FnOnce() -> Duration) -> Pace<'_> {
    let key = call.number(u64::from(try_number)).text("pace");
    let mut latency = behaviour.latency.draw(key.text("latency"));
    if behaviour.slow_down_per_minute > 0.0 {
        latency = latency.mul_f64(1.0 + behaviour.slow_down_per_minute * age().as_secs_f64() / 60.0);
    }
    let first = latency + behaviour.ttft.draw(key.text("ttft"));
    Pace { first, between: &behaviour.inter_token, key }
}

impl Pace<'_> {
    /// Whether all pieces arrive at once.
    pub(crate) fn is_burst(&self) -> bool {
        self.between.is_zero()
    }

    /// From the request to the piece with this number, for each number from 0.
    pub(crate) fn due(&self) -> impl Iterator<Item = Duration> + use<> {
        let Self { first, between, key } = *self;
        let between = *between;
        (0_u64..).scan(first, move |due, piece| {
            if piece > 0 && !between.is_zero() {
                *due += between.draw(key.number(piece));
            }
            Some(*due)
        })
    }

    /// From the request to the last of this many pieces.
    pub(crate) fn last(&self, pieces: usize) -> Duration {
        if self.is_burst() { self.first } else { self.due().nth(pieces.saturating_sub(1)).unwrap_or(self.first) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::Delay;

    #[test]
    fn a_retry_draws_again() {
        let behaviour = Behaviour { error_rate: 0.5, ..Behaviour::default() };
        let tries = |seed: u64| (0..20).find(|n| trouble(&behaviour, Key::new(seed), *n).is_none());
        assert!((0..200).all(|seed| tries(seed).is_some()));
        let first = (0..10_000).filter(|seed| trouble(&behaviour, Key::new(*seed), 0).is_some()).count();
        assert!((4_800..5_200).contains(&first), "{first}");
    }

    #[test]
    fn each_trouble_has_its_rate() {
        let rows = [
            (Behaviour { hang_rate: 1.0, ..Behaviour::default() }, Some(Trouble::Hang)),
            (Behaviour { malformed_rate: 1.0, ..Behaviour::default() }, Some(Trouble::Malformed)),
            (
                Behaviour {
                    rate_limit: crate::mock::RateLimit { rate: 1.0, retry_after_ms: 70 },
                    ..Behaviour::default()
                },
                Some(Trouble::Throttled { after: Duration::from_millis(70) }),
            ),
            (Behaviour::default(), None),
        ];
        for (behaviour, expected) in rows {
            assert_eq!(trouble(&behaviour, Key::new(5), 0), expected);
        }
    }

    #[test]
    fn pieces_come_one_after_the_other() {
        let behaviour = Behaviour {
            latency: Delay::constant(100.0),
            ttft: Delay::constant(20.0),
            inter_token: Delay::constant(5.0),
            ..Behaviour::default()
        };
        let pace = pace(&behaviour, Key::new(1), 0, Duration::default);
        let due: Vec<u128> = pace.due().take(3).map(|due| due.as_millis()).collect();
        assert_eq!(due, [120, 125, 130]);
        assert_eq!(pace.last(3).as_millis(), 130);
        assert_eq!(pace.last(0).as_millis(), 120);
    }

    #[test]
    fn the_latency_grows_with_the_age_of_the_mock() {
        let behaviour = Behaviour {
            latency: Delay::constant(200.0),
            ttft: Delay::constant(20.0),
            slow_down_per_minute: 0.01,
            ..Behaviour::default()
        };
        let first = |minutes| pace(&behaviour, Key::new(1), 0, || Duration::from_mins(minutes)).first.as_millis();
        assert_eq!([first(0), first(1), first(30)], [220, 222, 280]);
    }
}
