//! What workers say of the endpoints behind their limits: episodes of throttling, which pause all workers, and open circuit
//! breakers, which runs wait for.

use std::{collections::BTreeMap, time::Duration};

use super::limit_words::Health;

/// The least time between two episodes of one limit: what workers say meanwhile says nothing new.
const EPISODE: Duration = Duration::from_secs(15);
/// A pause that is longer by less is the same.
const SLACK: Duration = Duration::from_secs(1);

/// By limit.
#[derive(Debug, Default)]
pub(super) struct Endpoints(BTreeMap<String, Endpoint>);

#[derive(Debug, Default)]
struct Endpoint {
    /// By session: the episodes that it saw first.
    episodes: BTreeMap<u64, u64>,
    /// The fleet's last episode: when it ends, and when its pause does.
    episode_until: Duration,
    pause_until: Duration,
    /// By session: why it does not call.
    closed: BTreeMap<u64, String>,
}

/// What follows from a worker's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct News {
    /// All other workers pause.
    pub(super) pauses: bool,
    /// The first worker waits for the endpoint.
    pub(super) closes: bool,
}

impl Endpoints {
    pub(super) fn over(&mut self, session: u64) {
        for endpoint in self.0.values_mut() {
            endpoint.episodes.remove(&session);
            endpoint.closed.remove(&session);
        }
    }

    /// The endpoints that workers wait for, each with a reason.
    pub(super) fn closed(&self) -> Option<String> {
        let one =
            |(name, endpoint): (&String, &Endpoint)| Some(format!("{name}: {}", endpoint.closed.values().next()?));
        let all: Vec<String> = self.0.iter().filter_map(one).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    pub(super) fn hear(&mut self, session: u64, limit: &str, health: &Health, now: Duration) -> News {
        let endpoint = self.0.entry(limit.to_owned()).or_default();
        // The first word of a session comes before its calls: what it counts is of an earlier session.
        let seen = endpoint.episodes.insert(session, health.episodes).unwrap_or(health.episodes);
        let pause_until = now + health.pause;
        let is_longer = !health.pause.is_zero() && pause_until > endpoint.pause_until + SLACK;
        let pauses = health.episodes > seen && (now >= endpoint.episode_until || is_longer);
        if pauses {
            endpoint.episode_until = endpoint.episode_until.max(now + health.pause.max(EPISODE));
            endpoint.pause_until = endpoint.pause_until.max(pause_until);
        }
        let was_open = endpoint.closed.is_empty();
        match &health.closed {
            Some(reason) => drop(endpoint.closed.insert(session, reason.clone())),
            None => drop(endpoint.closed.remove(&session)),
        }
        News { pauses, closes: was_open && !endpoint.closed.is_empty() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throttled(episodes: u64, seconds: u64) -> Health {
        Health { episodes, pause: Duration::from_secs(seconds), closed: None }
    }

    #[test]
    fn one_episode_pauses_the_fleet_once() {
        let mut endpoints = Endpoints::default();
        let mut pauses =
            |session, health: Health, at| endpoints.hear(session, "judge", &health, Duration::from_secs(at)).pauses;
        assert!(!pauses(1, throttled(0, 0), 0) && !pauses(2, throttled(0, 0), 0));
        assert!(!pauses(3, throttled(7, 0), 0), "of an earlier session");
        assert!(pauses(1, throttled(1, 5), 0));
        assert!(!pauses(1, throttled(1, 5), 1), "said again");
        assert!(!pauses(2, throttled(1, 4), 1), "it saw the same one");
        assert!(pauses(3, throttled(8, 30), 2), "a longer pause");
        assert!(!pauses(2, throttled(2, 5), 20));
        assert!(pauses(2, throttled(3, 5), 33), "the next episode");
    }

    #[test]
    fn an_endpoint_is_waited_for_as_long_as_a_worker_waits() {
        let mut endpoints = Endpoints::default();
        let closed = |why: &str| Health { closed: Some(why.to_owned()), ..Health::default() };
        assert!(endpoints.hear(1, "judge", &closed("a"), Duration::ZERO).closes);
        assert!(!endpoints.hear(2, "judge", &closed("b"), Duration::ZERO).closes);
        assert_eq!(endpoints.closed().as_deref(), Some("judge: a"));
        endpoints.hear(1, "judge", &Health::default(), Duration::ZERO);
        assert_eq!(endpoints.closed().as_deref(), Some("judge: b"));
        endpoints.over(2);
        assert_eq!(endpoints.closed(), None);
    }
}
