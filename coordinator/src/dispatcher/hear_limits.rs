//! Hears what workers say of limits: requests of a day, episodes of throttling, open circuit breakers, and limits that the
//! provider names.

use std::time::Duration;

use record::decision::Decided;
use scenario::RunId;
use store::{Moved, Store};

use super::{
    Dispatcher,
    active::Active,
    command::Order,
    days::DAY_MILLIS,
    limit_words::{DayGrant, DayWord, Health},
};

/// So many waits of a run are kept.
const MOST_WAITS: usize = 20;

impl<S: Store> Dispatcher<S> {
    /// A worker says what it needs of a day's requests. What it gets is stored before it is sent.
    pub(super) async fn hear_day(&mut self, session: u64, limit: &str, word: DayWord) -> Result<(), store::Error> {
        let now = self.clock.now();
        let day = now.div_euclid(DAY_MILLIS);
        let draw = self.days.today(limit, day, word.most).hear(session, word);
        if draw.back > 0 {
            let back = i64::try_from(draw.back).unwrap_or(i64::MAX);
            let drawn = self.store.draw(limit, day, word.most, -back).await?;
            self.days.today(limit, day, word.most).left = drawn.left;
        }
        let is_new = word.day != day && word.wanted > word.got;
        if draw.more == 0 && !is_new {
            return Ok(());
        }
        let more = i64::try_from(draw.more).unwrap_or(i64::MAX);
        let drawn = self.store.draw(limit, day, word.most, more).await?;
        let got = self.days.today(limit, day, word.most).drawn(session, drawn.granted, drawn.left);
        let used_up = drawn.granted == 0 && draw.more > 0;
        if used_up {
            tracing::warn!(limit, requests_per_day = word.most, "the requests of the day are used up");
        }
        let left = Duration::from_millis(u64::try_from(DAY_MILLIS - now.rem_euclid(DAY_MILLIS)).unwrap_or(0));
        self.links.send(session, Order::Day { limit: limit.to_owned(), grant: DayGrant { day, got, left, used_up } });
        Ok(())
    }

    /// A worker says how an endpoint is. A 429 pauses all workers once for each episode.
    pub(super) async fn hear_health(&mut self, session: u64, limit: &str, health: Health) -> Result<(), store::Error> {
        let before = self.endpoints.closed();
        let news = self.endpoints.hear(session, limit, &health, self.now());
        if news.pauses {
            let pause_ms = u64::try_from(health.pause.as_millis()).unwrap_or(u64::MAX);
            tracing::info!(limit, pause_ms, "an endpoint throttles: all workers pause");
            for other in self.links.sessions().into_iter().filter(|other| *other != session) {
                self.links.send(other, Order::Pause { limit: limit.to_owned(), pause: health.pause });
            }
        }
        self.tell_learned(limit);
        let running: Vec<RunId> =
            self.runs.iter().filter(|(_, run)| run.is_running()).map(|(id, _)| id.clone()).collect();
        if let Some(reason) = health.closed.filter(|_| news.closes) {
            let kept: Vec<&RunId> =
                running.iter().filter(|run| self.runs.get(*run).is_some_and(Active::may_keep_a_wait)).collect();
            for run in kept {
                let what = Decided::Waits { endpoint: limit.to_owned(), reason: reason.clone() };
                self.decide(run, None, what, Moved::default()).await?;
            }
        }
        if self.endpoints.closed() != before {
            running.iter().for_each(|run| self.publish(run));
        }
        Ok(())
    }
}

impl<S: Store> Dispatcher<S> {
    pub(super) fn tell_learned(&mut self, limit: &str) {
        for (session, named) in self.endpoints.untold(limit) {
            self.links.send(session, Order::Learned { limit: limit.to_owned(), named });
        }
    }
}

impl Active {
    fn may_keep_a_wait(&self) -> bool {
        let is_wait = |decision: &&record::decision::Decision| matches!(decision.what, Decided::Waits { .. });
        self.decisions.iter().filter(is_wait).count() < MOST_WAITS
    }
}
