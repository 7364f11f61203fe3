//! Requests a day: hears what workers used and need, and draws more from the store for them.
//!
//! The store counts what was drawn and not given back, over all runs. A worker gets a small part of what is left, so little is
//! lost with it. What the store has given is remembered here for each session; after a restart, workers say it.

use std::{collections::BTreeMap, time::Duration};

use store::Store;

use super::{
    Dispatcher,
    command::Order,
    limit_words::{DayGrant, DayWord},
};

const DAY_MILLIS: i64 = 86_400_000;
/// A worker gets at most this part of what is left, divided by the workers.
const PART: u64 = 4;

/// By limit.
#[derive(Debug, Default)]
pub(super) struct Days(BTreeMap<String, Today>);

#[derive(Debug)]
struct Today {
    day: i64,
    /// What the store had left at the last draw.
    left: u64,
    sessions: BTreeMap<u64, Held>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Held {
    got: u64,
    returned: u64,
}

/// What to draw from the store for a session; negative amounts go back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Draw {
    back: u64,
    more: u64,
}

impl Days {
    /// The session is over: what it holds counts as used.
    pub(super) fn over(&mut self, session: u64) {
        for today in self.0.values_mut() {
            today.sessions.remove(&session);
        }
    }

    fn today(&mut self, limit: &str, day: i64, most: u64) -> &mut Today {
        let today = self.0.entry(limit.to_owned()).or_insert_with(|| Today::new(day, most));
        if today.day != day {
            *today = Today::new(day, most);
        }
        today
    }
}

impl Today {
    fn new(day: i64, most: u64) -> Self {
        Self { day, left: most, sessions: BTreeMap::new() }
    }

    /// Takes a word. What it says of another day is over.
    fn hear(&mut self, session: u64, word: DayWord) -> Draw {
        let is_of_today = word.day == self.day;
        let said = if is_of_today { Held { got: word.got, returned: word.returned } } else { Held::default() };
        // Of a session from before a restart, only the worker knows.
        let held = self.sessions.entry(session).or_insert(said);
        let back = said.returned.min(held.got).saturating_sub(held.returned);
        held.returned += back;
        let wanted = if is_of_today { word.wanted } else { word.wanted.saturating_sub(word.got) };
        let short = wanted.saturating_sub(held.got);
        let workers = self.sessions.len() as u64;
        Draw { back, more: short.min((self.left.saturating_add(back) / (PART * workers)).max(1)) }
    }

    fn drawn(&mut self, session: u64, granted: u64, left: u64) -> u64 {
        self.left = left;
        let held = self.sessions.entry(session).or_default();
        held.got += granted;
        held.got
    }
}

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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(day: i64, got: u64, returned: u64, wanted: u64) -> DayWord {
        DayWord { most: 1_000, day, got, returned, wanted }
    }

    #[test]
    fn a_worker_gets_a_small_part_of_what_is_left() {
        let mut days = Days::default();
        let today = days.today("judge", 5, 1_000);
        assert_eq!(today.hear(1, word(0, 0, 0, 4)), Draw { back: 0, more: 4 });
        assert_eq!(today.drawn(1, 4, 996), 4);
        assert_eq!(today.hear(1, word(5, 4, 0, 900)), Draw { back: 0, more: 249 });
        assert_eq!(today.drawn(1, 249, 747), 253);
        assert_eq!(today.hear(2, word(0, 0, 0, 900)), Draw { back: 0, more: 93 }, "two workers");
        assert_eq!(today.drawn(2, 93, 2), 93);
        assert_eq!(today.hear(2, word(5, 93, 0, 900)), Draw { back: 0, more: 1 }, "never nothing");
        assert_eq!(today.hear(1, word(5, 253, 200, 253)), Draw { back: 200, more: 0 });
        assert_eq!(today.hear(1, word(5, 253, 200, 253)), Draw::default(), "it went back once");
    }

    #[test]
    fn a_restart_and_another_day_forget_what_was_given() {
        let mut days = Days::default();
        let today = days.today("judge", 5, 1_000);
        assert_eq!(today.hear(1, word(5, 40, 10, 45)), Draw { back: 0, more: 5 }, "the worker says what it got");
        let today = days.today("judge", 6, 1_000);
        assert_eq!(today.hear(1, word(5, 45, 10, 49)), Draw { back: 0, more: 4 }, "what it has is of yesterday");
        assert_eq!(today.drawn(1, 4, 996), 4);
        days.over(1);
        assert!(days.0["judge"].sessions.is_empty());
    }
}
