//! What workers say of the endpoints behind their limits: episodes of throttling, which pause all workers, open circuit
//! breakers, which runs wait for, and the limits that the provider names, which all workers keep to.

use std::{collections::BTreeMap, time::Duration};

use record::named_limits::{LimitOf, NamedLimits};

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
    /// By session: the provider's limits that it has seen lately.
    named: BTreeMap<u64, NamedLimits>,
    /// The lowest of them, and what was seen before where nobody has seen any lately.
    learned: NamedLimits,
    /// By session: what its stream was told of that.
    told: BTreeMap<u64, NamedLimits>,
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
            endpoint.named.remove(&session);
            endpoint.told.remove(&session);
        }
    }

    /// What an earlier stream was told may not have arrived.
    pub(super) fn opened(&mut self, session: u64) {
        for endpoint in self.0.values_mut() {
            endpoint.told.remove(&session);
        }
    }

    /// What the workers have learned together.
    pub(super) fn learned(&self, limit: &str) -> NamedLimits {
        self.0.get(limit).map(|endpoint| endpoint.learned.clone()).unwrap_or_default()
    }

    /// The sessions with this limit that do not know yet what was learned. From now on they do.
    pub(super) fn untold(&mut self, limit: &str) -> Vec<u64> {
        let Some(endpoint) = self.0.get_mut(limit).filter(|endpoint| !endpoint.learned.is_empty()) else {
            return Vec::new();
        };
        let Endpoint { named, learned, told, .. } = endpoint;
        let mut is_untold = |session: &u64| told.insert(*session, learned.clone()).as_ref() != Some(learned);
        named.keys().copied().filter(|session| is_untold(session)).collect()
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
        endpoint.named.insert(session, health.named.clone());
        for of in [LimitOf::Requests, LimitOf::Tokens, LimitOf::InputTokens, LimitOf::OutputTokens] {
            if let Some(lowest) = endpoint.named.values().filter_map(|named| named.get(&of)).min() {
                endpoint.learned.insert(of, *lowest);
            }
        }
        News { pauses, closes: was_open && !endpoint.closed.is_empty() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throttled(episodes: u64, seconds: u64) -> Health {
        Health { episodes, pause: Duration::from_secs(seconds), ..Health::default() }
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

    #[test]
    fn all_workers_hear_the_lowest_limit_that_one_has_seen_lately() {
        let mut endpoints = Endpoints::default();
        let mut heard = |session, requests: Option<u64>| {
            let named: NamedLimits = requests.into_iter().map(|limit| (LimitOf::Requests, limit)).collect();
            endpoints.hear(session, "judge", &Health { named, ..Health::default() }, Duration::ZERO);
            let untold = endpoints.untold("judge");
            (untold, endpoints.learned("judge").get(&LimitOf::Requests).copied())
        };
        assert_eq!(heard(1, None), (vec![], None));
        assert_eq!(heard(3, None), (vec![], None));
        assert_eq!(heard(1, Some(100)), (vec![1, 3], Some(100)));
        assert_eq!(heard(2, Some(100)), (vec![2], Some(100)), "the others know it");
        assert_eq!(heard(2, Some(100)), (vec![], Some(100)), "no news");
        assert_eq!(heard(2, Some(60)), (vec![1, 2, 3], Some(60)));
        assert_eq!(heard(2, Some(200)), (vec![1, 2, 3], Some(100)), "the first has seen 100 lately");
        assert_eq!(heard(1, None), (vec![1, 2, 3], Some(200)), "no longer");
        assert_eq!(heard(2, None), (vec![], Some(200)), "nobody has seen another one since");
        endpoints.opened(2);
        assert_eq!(endpoints.untold("judge"), [2], "the new stream");
    }
}
