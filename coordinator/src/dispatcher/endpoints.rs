//! What workers say of the endpoints behind their limits: episodes of throttling, which pause all workers, open circuit
//! breakers, which runs wait for, and the limits that the provider names, which all workers keep to.

use std::{collections::BTreeMap, time::Duration};

use record::named_limits::{LimitOf, NamedLimits};

use super::limit_words::Health;

/// The least time between two episodes of one limit: what workers say meanwhile says nothing new.
const EPISODE: Duration = Duration::from_secs(15);
/// A pause that is longer by less is the same.
const SLACK: Duration = Duration::from_secs(1);

/// A limit that no worker has seen for so long is forgotten: the provider may have another one now.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);

const LIMITS: [LimitOf; 4] = [LimitOf::Requests, LimitOf::Tokens, LimitOf::InputTokens, LimitOf::OutputTokens];

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
    /// The lowest of them, or of those that were seen last, and when somebody had seen it lately.
    learned: BTreeMap<LimitOf, (u64, Duration)>,
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
    pub(super) fn over(&mut self, session: u64, now: Duration) {
        for endpoint in self.0.values_mut() {
            endpoint.episodes.remove(&session);
            endpoint.closed.remove(&session);
            endpoint.named.remove(&session);
            endpoint.told.remove(&session);
            endpoint.learn(now);
        }
    }

    /// What an earlier stream was told may not have arrived.
    pub(super) fn opened(&mut self, session: u64) {
        for endpoint in self.0.values_mut() {
            endpoint.told.remove(&session);
        }
    }

    /// What the sessions with this limit have to hear of what was learned. From now on they know it.
    pub(super) fn untold(&mut self, limit: &str) -> Vec<(u64, NamedLimits)> {
        let Some(endpoint) = self.0.get_mut(limit) else { return Vec::new() };
        let learned: NamedLimits = endpoint.learned.iter().map(|(of, (limit, _))| (*of, *limit)).collect();
        let mut untold = Vec::new();
        for session in endpoint.named.keys() {
            let told = endpoint.told.insert(*session, learned.clone()).unwrap_or_default();
            if told != learned {
                untold.push((*session, learned.clone()));
            }
        }
        untold
    }

    /// The limits that workers have named.
    pub(super) fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
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
        endpoint.learn(now);
        News { pauses, closes: was_open && !endpoint.closed.is_empty() }
    }
}

impl Endpoint {
    fn learn(&mut self, now: Duration) {
        for of in LIMITS {
            if let Some(lowest) = self.named.values().filter_map(|named| named.get(&of)).min() {
                self.learned.insert(of, (*lowest, now));
            }
        }
        self.learned.retain(|_, (_, seen)| *seen + FORGOTTEN_AFTER > now);
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
        endpoints.over(2, Duration::ZERO);
        assert_eq!(endpoints.closed(), None);
    }

    #[test]
    fn all_workers_hear_the_lowest_limit_that_one_has_seen_lately() {
        let mut endpoints = Endpoints::default();
        let says = |endpoints: &mut Endpoints, session, requests: Option<u64>, at| {
            let named = requests.into_iter().map(|limit| (LimitOf::Requests, limit)).collect();
            endpoints.hear(session, "judge", &Health { named, ..Health::default() }, Duration::from_secs(at));
        };
        let untold = |endpoints: &mut Endpoints| -> Vec<(u64, Option<u64>)> {
            let untold = endpoints.untold("judge").into_iter();
            untold.map(|(session, named)| (session, named.get(&LimitOf::Requests).copied())).collect()
        };
        for session in [1, 3] {
            says(&mut endpoints, session, None, 0);
        }
        assert_eq!(untold(&mut endpoints), []);
        says(&mut endpoints, 1, Some(100), 1);
        assert_eq!(untold(&mut endpoints), [(1, Some(100)), (3, Some(100))]);
        says(&mut endpoints, 2, Some(100), 2);
        assert_eq!(untold(&mut endpoints), [(2, Some(100))], "the others know it");
        says(&mut endpoints, 2, Some(60), 3);
        assert_eq!(untold(&mut endpoints), [(1, Some(60)), (2, Some(60)), (3, Some(60))]);
        says(&mut endpoints, 2, Some(200), 4);
        assert_eq!(untold(&mut endpoints).len(), 3, "the first one has seen 100 lately");
        endpoints.over(1, Duration::from_secs(5));
        assert_eq!(untold(&mut endpoints), [(2, Some(200)), (3, Some(200))], "it is gone");
        says(&mut endpoints, 2, None, 6);
        assert_eq!(untold(&mut endpoints), [], "nobody has seen another one since");
        endpoints.opened(2);
        assert_eq!(untold(&mut endpoints), [(2, Some(200))], "the new stream");
        says(&mut endpoints, 2, None, 5 + FORGOTTEN_AFTER.as_secs());
        assert_eq!(untold(&mut endpoints), [(2, None), (3, None)], "it is forgotten");
        endpoints.opened(3);
        assert_eq!(untold(&mut endpoints), []);
    }
}
