//! The share of the limits that each worker may use: by slots, and never more than the whole in sum.
//!
//! A worker has no share when its stream begins. A share shrinks first; what it frees goes to others once the worker has
//! confirmed its smaller share, or once its session is over.

use std::{collections::BTreeMap, time::Duration};

/// This many slots of all slots of the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) slots: u32,
    pub(crate) of: u32,
}

impl Share {
    const NONE: Self = Self { slots: 0, of: 1 };

    /// In billionths, rounded down so that parts of one whole never sum to more.
    fn size(self) -> u64 {
        u64::from(self.slots) * 1_000_000_000 / u64::from(self.of.max(1))
    }
}

#[derive(Debug, Default)]
pub(crate) struct Shares {
    holders: BTreeMap<u64, Holder>,
    /// Until then, workers that have not reconnected may still use their old shares.
    quiet_until: Duration,
}

#[derive(Debug)]
struct Holder {
    slots: u32,
    /// It has an open stream.
    connected: bool,
    /// The share that it last confirmed.
    taken: Share,
    /// The share that it was sent and has not confirmed.
    sent: Option<Share>,
}

impl Holder {
    /// The most that it may be using now.
    fn used(&self) -> u64 {
        self.taken.size().max(self.sent.map_or(0, Share::size))
    }
}

impl Shares {
    /// Hands out no share before `until`.
    pub(crate) fn keep_quiet(&mut self, until: Duration) {
        self.quiet_until = self.quiet_until.max(until);
    }

    pub(crate) fn opened(&mut self, session: u64, slots: u32) {
        let holder = Holder { slots: slots.max(1), connected: true, taken: Share::NONE, sent: None };
        self.holders.insert(session, holder);
    }

    /// The worker may still make calls for a moment: its share stays taken until the session ends or comes back.
    pub(crate) fn closed(&mut self, session: u64) {
        if let Some(holder) = self.holders.get_mut(&session) {
            holder.connected = false;
        }
    }

    pub(crate) fn over(&mut self, session: u64) {
        self.holders.remove(&session);
    }

    /// The worker keeps to this part.
    pub(crate) fn taken(&mut self, session: u64, share: Share) {
        if let Some(holder) = self.holders.get_mut(&session)
            && holder.sent == Some(share)
        {
            holder.taken = share;
            holder.sent = None;
        }
    }

    /// The shares to send now, so that workers that play share the whole limit by their slots.
    pub(crate) fn balance(&mut self, plays: impl Fn(u64) -> bool, now: Duration) -> Vec<(u64, Share)> {
        let playing = |(session, holder): &(&u64, &Holder)| holder.connected && plays(**session);
        let of: u64 = self.holders.iter().filter(playing).map(|(_, holder)| u64::from(holder.slots)).sum();
        let of = u32::try_from(of).unwrap_or(u32::MAX);
        if of == 0 || now < self.quiet_until {
            return Vec::new();
        }
        let mut sent = Vec::new();
        let mut used: u64 = self.holders.values().map(Holder::used).sum();
        let mut wanted: Vec<(u64, Share)> = self
            .holders
            .iter()
            .filter(|(_, holder)| holder.connected && holder.sent.is_none())
            .map(|(session, holder)| {
                let share = if plays(*session) { Share { slots: holder.slots, of } } else { Share::NONE };
                (*session, share)
            })
            .collect();
        // Shrinking shares first. They free nothing yet.
        wanted.sort_by_key(|(_, share)| share.size());
        for (session, share) in wanted {
            let Some(holder) = self.holders.get_mut(&session) else { continue };
            let (before, after) = (holder.taken.size(), share.size());
            if holder.taken == share || (before < after && used - before + after > 1_000_000_000) {
                continue;
            }
            used = used - before + before.max(after);
            holder.sent = Some(share);
            sent.push((session, share));
        }
        sent
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn share(slots: u32, of: u32) -> Share {
        Share { slots, of }
    }

    #[test]
    fn a_single_worker_has_the_whole_at_once() {
        let mut shares = Shares::default();
        shares.opened(1, 32);
        assert_eq!(shares.balance(|_| true, NOW), [(1, share(32, 32))]);
        assert_eq!(shares.balance(|_| true, NOW), [], "said once");
        shares.taken(1, share(32, 32));
        assert_eq!(shares.balance(|_| true, NOW), []);
    }

    #[test]
    fn one_shrinks_before_the_other_grows() {
        let mut shares = Shares::default();
        shares.opened(1, 10);
        shares.balance(|_| true, NOW);
        shares.taken(1, share(10, 10));
        shares.opened(2, 30);
        assert_eq!(shares.balance(|_| true, NOW), [(1, share(10, 40))]);
        assert_eq!(shares.balance(|_| true, NOW), [], "not before the first has shrunk");
        shares.taken(1, share(10, 40));
        assert_eq!(shares.balance(|_| true, NOW), [(2, share(30, 40))]);
        shares.taken(2, share(30, 40));

        // Its stream is closed, but it may still make calls.
        shares.closed(2);
        assert_eq!(shares.balance(|_| true, NOW), []);
        shares.over(2);
        assert_eq!(shares.balance(|_| true, NOW), [(1, share(10, 10))]);
    }

    #[test]
    fn who_comes_back_begins_with_nothing() {
        let mut shares = Shares::default();
        shares.opened(1, 1);
        shares.balance(|_| true, NOW);
        shares.taken(1, share(1, 1));
        shares.closed(1);
        shares.opened(1, 1);
        // The answer to a share that was sent on the stream before.
        shares.taken(1, share(1, 1));
        assert_eq!(shares.balance(|_| true, NOW), [(1, share(1, 1))]);
    }

    #[test]
    fn who_has_nothing_to_play_has_no_part() {
        let mut shares = Shares::default();
        shares.opened(1, 1);
        shares.opened(2, 1);
        assert_eq!(shares.balance(|session| session == 1, NOW), [(1, share(1, 1))]);
        shares.taken(1, share(1, 1));
        assert_eq!(shares.balance(|session| session == 2, NOW), [(1, Share::NONE)]);
        shares.taken(1, Share::NONE);
        assert_eq!(shares.balance(|session| session == 2, NOW), [(2, share(1, 1))]);
        assert_eq!(shares.balance(|_| false, NOW), [], "between runs it stays as it is");
    }

    #[test]
    fn nothing_is_given_while_workers_of_before_may_be_calling() {
        let mut shares = Shares::default();
        shares.keep_quiet(Duration::from_secs(3));
        shares.opened(1, 1);
        assert_eq!(shares.balance(|_| true, Duration::from_secs(2)), []);
        assert_eq!(shares.balance(|_| true, Duration::from_secs(3)), [(1, share(1, 1))]);
    }

    #[derive(Debug, Clone)]
    enum Step {
        Opens(u64, u32),
        Closes(u64),
        Ends(u64),
        Answers(u64),
        Plays(u64, bool),
    }

    fn step() -> impl Strategy<Value = Step> {
        let session = 0_u64..5;
        prop_oneof![
            1 => (session.clone(), 0_u32..40).prop_map(|(session, slots)| Step::Opens(session, slots)),
            1 => session.clone().prop_map(Step::Closes),
            1 => session.clone().prop_map(Step::Ends),
            6 => session.clone().prop_map(Step::Answers),
            1 => (session, any::<bool>()).prop_map(|(session, plays)| Step::Plays(session, plays)),
        ]
    }

    proptest! {
        #[test]
        fn the_sum_is_never_more_than_the_whole(steps in prop::collection::vec(step(), 0..80)) {
            let mut shares = Shares::default();
            // What each worker uses: the new share once it confirms, and the old one until then.
            let mut uses: BTreeMap<u64, (Share, Option<Share>)> = BTreeMap::new();
            let mut idle = [false; 5];
            for step in steps {
                match step {
                    Step::Opens(session, slots) => {
                        shares.opened(session, slots);
                        uses.insert(session, (Share::NONE, None));
                    }
                    Step::Closes(session) => shares.closed(session),
                    Step::Ends(session) => {
                        shares.over(session);
                        uses.remove(&session);
                    }
                    Step::Answers(session) => {
                        if let Some((used, sent)) = uses.get_mut(&session)
                            && let Some(share) = sent.take()
                        {
                            *used = share;
                            shares.taken(session, share);
                        }
                    }
                    Step::Plays(session, plays) => idle[session as usize] = !plays,
                }
                for (session, share) in shares.balance(|session| !idle[session as usize], NOW) {
                    uses.get_mut(&session).unwrap().1 = Some(share);
                }
                // A worker uses a larger share as soon as it receives it.
                let most = |(used, sent): &(Share, Option<Share>)| {
                    let part = |share: Share| f64::from(share.slots) / f64::from(share.of);
                    part(*used).max(sent.map_or(0.0, part))
                };
                let sum: f64 = uses.values().map(most).sum();
                prop_assert!(sum <= 1.0 + 1e-6, "{}", sum);
            }
        }
    }
}
