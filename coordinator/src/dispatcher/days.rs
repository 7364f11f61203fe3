//! Requests a day: hears what workers used and need, and draws more from the store for them.
//!
//! The store counts what was drawn and not given back, over all runs. A worker gets a small part of what is left, so little is
//! lost with it. What the store has given is remembered here for each session; after a restart, workers say it.

use std::collections::BTreeMap;

use super::limit_words::DayWord;

pub(super) const DAY_MILLIS: i64 = 86_400_000;
/// A worker gets at most this part of what is left, divided by the workers.
const PART: u64 = 4;

/// By limit.
#[derive(Debug, Default)]
pub(super) struct Days(BTreeMap<String, Today>);

#[derive(Debug)]
pub(super) struct Today {
    day: i64,
    /// What the store had left at the last draw.
    pub(super) left: u64,
    sessions: BTreeMap<u64, Held>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Held {
    got: u64,
    returned: u64,
}

/// What to draw from the store for a session; negative amounts go back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Draw {
    pub(super) back: u64,
    pub(super) more: u64,
}

impl Days {
    /// The session is over: what it holds counts as used.
    pub(super) fn over(&mut self, session: u64) {
        for today in self.0.values_mut() {
            today.sessions.remove(&session);
        }
    }

    pub(super) fn today(&mut self, limit: &str, day: i64, most: u64) -> &mut Today {
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
    pub(super) fn hear(&mut self, session: u64, word: DayWord) -> Draw {
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

    pub(super) fn drawn(&mut self, session: u64, granted: u64, left: u64) -> u64 {
        self.left = left;
        let held = self.sessions.entry(session).or_default();
        held.got += granted;
        held.got
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
