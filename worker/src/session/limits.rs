//! What the worker says of its limits, and what it hears of them.

use std::{collections::BTreeMap, num::NonZeroU64, sync::Arc, time::Duration};

use llm::{
    Allowed,
    limit::{DayGrant, DayWord, Demand, Share},
};
use proto::v1::{self, worker_message::Body as Word};
use tokio::{sync::Notify, time::Instant};

use super::live::Session;

/// Without an answered heartbeat for so long, nothing limited starts. A coordinator that was started again waits for so long
/// until it gives away what a worker may have had.
const SLICE: Duration = Duration::from_secs(10);

/// What was said last of each limit on a stream.
#[derive(Debug, Default)]
pub(super) struct Said(BTreeMap<String, v1::Limit>);

/// Why it is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Occasion {
    beat: bool,
    leaves: bool,
}

/// The shares of limits on a stream.
#[derive(Debug, Default)]
pub(super) struct Shares {
    /// By limit, as they were sent.
    sent: BTreeMap<String, v1::Share>,
    /// Not confirmed yet: more calls are in flight than they allow.
    unsettled: BTreeMap<String, v1::Share>,
    /// The coordinator was silent for too long.
    lapsed: bool,
}

impl Shares {
    pub(super) fn are_unsettled(&self) -> bool {
        !self.unsettled.is_empty()
    }

    /// When they lapse. `renewed`: when the last answered heartbeat was sent.
    pub(super) fn lapse_at(&self, renewed: Instant) -> Option<Instant> {
        (!self.lapsed && !self.sent.is_empty()).then(|| renewed + SLICE)
    }
}

impl Said {
    pub(super) const NEWS: Occasion = Occasion { beat: false, leaves: false };
    pub(super) const HEARTBEAT: Occasion = Occasion { beat: true, leaves: false };
    /// The worker leaves: it needs nothing more.
    pub(super) const FAREWELL: Occasion = Occasion { beat: false, leaves: true };
}

impl Session<'_> {
    /// Lets the limits wake the session when the coordinator should hear something before the next heartbeat.
    pub(super) fn report_limits(&self) -> Arc<Notify> {
        let news = self.executor.news_of_limits();
        self.executor.limits().iter().for_each(|limit| limit.report_to(&news));
        news
    }

    /// Says what has changed of the limits.
    pub(super) fn say_limits(&mut self, Occasion { beat, leaves }: Occasion) {
        let mut changed = Vec::new();
        for limit in self.executor.limits() {
            let day = limit.day_word(beat, leaves).map(day_to_wire);
            let Demand { part, calls, concurrency } = limit.demand(beat);
            let name = limit.name();
            self.executor.show_limit(limit);
            let episode = limit.episode();
            let said = self.limits.0.get(name).filter(|said| said.episodes == episode.count);
            // The rest of a pause that was said is no news.
            let pause_millis = said.map_or_else(|| millis(episode.pause), |said| said.pause_millis);
            let closed = limit.closed_to_new().unwrap_or_default();
            let (name, episodes) = (name.to_owned(), episode.count);
            let named = Some(limit.named_lately()).filter(|named| *named != Allowed::default()).map(named_to_wire);
            let now = v1::Limit { name, day, part, calls, concurrency, episodes, pause_millis, closed, named };
            if self.limits.0.get(limit.name()) != Some(&now) {
                self.limits.0.insert(limit.name().to_owned(), now.clone());
                changed.push(now);
            }
        }
        if !changed.is_empty() {
            self.outgoing.say(Word::Limits(v1::Limits { limits: changed }));
        }
    }

    /// Something has changed that the coordinator should hear, and that may let trials start.
    pub(super) fn limits_changed(&mut self) {
        self.say_limits(Said::NEWS);
        self.executor.start_ready();
    }

    /// Another worker saw that an endpoint throttles.
    pub(super) fn pause(&self, v1::Pause { limit, millis }: &v1::Pause) {
        self.executor.limits_named(limit).for_each(|limit| limit.throttled_elsewhere(Duration::from_millis(*millis)));
    }

    /// The workers have learned limits of the provider.
    pub(super) fn adopt(&self, v1::Learned { limit, named }: &v1::Learned) {
        let named = named_from_wire(named.unwrap_or_default());
        self.executor.limits_named(limit).for_each(|limit| limit.adopt(named));
    }

    /// A new share holds at once. Other workers get what this one no longer uses once it is confirmed.
    pub(super) fn take_share(&mut self, share: v1::Share) {
        if !self.shares.lapsed {
            self.apply(&share);
        }
        self.shares.sent.insert(share.limit.clone(), share.clone());
        self.shares.unsettled.insert(share.limit.clone(), share);
        self.answer_shares();
    }

    fn apply(&self, share: &v1::Share) {
        let v1::Share { parts, of, limit, calls } = share;
        for meant in self.executor.limits_named(limit) {
            let share = Share::new(*parts, *of);
            let by_number = meant.demand(false).concurrency > 0;
            meant.set_share(if by_number { share.with_calls(*calls) } else { share });
        }
    }

    /// Confirms shares. Calls in flight beyond a share have to end first.
    pub(super) fn answer_shares(&mut self) {
        let executor = &self.executor;
        let settled = self.shares.unsettled.extract_if(.., |limit, _| executor.keeps_to_share(limit));
        for (_, share) in settled {
            self.outgoing.say(Word::ShareTaken(share));
        }
    }

    pub(super) fn let_shares_lapse(&mut self) {
        tracing::warn!("the coordinator is silent: calls with limits wait for it");
        self.shares.lapsed = true;
        self.executor.set_no_share();
    }

    /// The coordinator has answered, so it still counts the shares as ours.
    pub(super) fn restore_shares(&mut self) {
        if std::mem::take(&mut self.shares.lapsed) {
            self.shares.sent.values().for_each(|share| self.apply(share));
        }
    }

    pub(super) fn grant_day(&self, grant: &v1::DayGrant) {
        let v1::DayGrant { limit, day, got, left_millis, used_up } = grant;
        let left = Duration::from_millis(*left_millis);
        for meant in self.executor.limits().iter().filter(|known| known.name() == limit) {
            meant.grant_day(DayGrant { day: *day, got: *got, left, used_up: *used_up });
        }
    }
}

fn day_to_wire(word: DayWord) -> v1::Day {
    let DayWord { most, day, got, returned, wanted } = word;
    v1::Day { most, day, got, returned, wanted }
}

fn named_to_wire(named: Allowed) -> v1::NamedLimits {
    let number = |limit: Option<NonZeroU64>| limit.map_or(0, NonZeroU64::get);
    let Allowed { requests, tokens, input_tokens, output_tokens } = named;
    v1::NamedLimits {
        requests: number(requests),
        tokens: number(tokens),
        input_tokens: number(input_tokens),
        output_tokens: number(output_tokens),
    }
}

fn named_from_wire(named: v1::NamedLimits) -> Allowed {
    let v1::NamedLimits { requests, tokens, input_tokens, output_tokens } = named;
    let [requests, tokens, input_tokens, output_tokens] =
        [requests, tokens, input_tokens, output_tokens].map(NonZeroU64::new);
    Allowed { requests, tokens, input_tokens, output_tokens }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
