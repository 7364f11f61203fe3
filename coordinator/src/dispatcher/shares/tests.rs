use proptest::prelude::*;

use super::*;

const NOW: Duration = Duration::ZERO;
const LIMIT: &str = "judge";

fn wants(part: u32) -> Demand {
    Demand { part, calls: 0, concurrency: 0 }
}

/// Of a limit of 20 calls at the same time.
fn calls(calls: u32) -> Demand {
    Demand { part: 0, calls, concurrency: 20 }
}

fn opened(shares: &mut Shares, session: u64, slots: u32, demand: Demand) {
    shares.opened(session, slots);
    shares.hear(session, LIMIT, demand);
}

/// What is sent, in thousandths.
fn sent(shares: &mut Shares, plays: impl Fn(u64) -> bool) -> Vec<(u64, u32)> {
    shares.balance(plays, NOW).into_iter().map(|(session, _, share)| (session, share.part / 1_000_000)).collect()
}

/// Confirms whatever is sent, until nothing is. Returns what each has, in thousandths.
fn settled(shares: &mut Shares) -> Vec<(u64, u32)> {
    let mut have: BTreeMap<u64, u32> = BTreeMap::new();
    for _ in 0..20 {
        for (session, limit, share) in shares.balance(|_| true, NOW) {
            shares.taken(session, &limit, share);
            have.insert(session, share.part / 1_000_000);
        }
    }
    assert_eq!(shares.balance(|_| true, NOW), []);
    have.into_iter().collect()
}

#[test]
fn a_single_worker_has_the_whole_at_once() {
    let mut shares = Shares::new(false);
    opened(&mut shares, 1, 32, wants(WHOLE));
    let all = Share { part: WHOLE, calls: 0 };
    assert_eq!(shares.balance(|_| true, NOW), [(1, LIMIT.to_owned(), all)]);
    assert_eq!(sent(&mut shares, |_| true), [], "said once");
    shares.taken(1, LIMIT, all);
    assert_eq!(sent(&mut shares, |_| true), []);
}

#[test]
fn one_shrinks_before_the_other_grows() {
    let mut shares = Shares::new(false);
    opened(&mut shares, 1, 10, wants(WHOLE));
    assert_eq!(settled(&mut shares), [(1, 1_000)]);
    opened(&mut shares, 2, 30, wants(WHOLE));
    assert_eq!(sent(&mut shares, |_| true), [(1, 250)]);
    assert_eq!(sent(&mut shares, |_| true), [], "not before the first has shrunk");
    shares.taken(1, LIMIT, Share { part: WHOLE / 4, calls: 0 });
    assert_eq!(sent(&mut shares, |_| true), [(2, 750)]);
    shares.taken(2, LIMIT, Share { part: WHOLE / 4 * 3, calls: 0 });

    // Its stream is closed, but it may still make calls.
    shares.closed(2);
    assert_eq!(sent(&mut shares, |_| true), []);
    shares.over(2);
    assert_eq!(sent(&mut shares, |_| true), [(1, 1_000)]);
}

#[test]
fn who_comes_back_begins_with_nothing() {
    let mut shares = Shares::new(false);
    opened(&mut shares, 1, 1, wants(WHOLE));
    settled(&mut shares);
    shares.closed(1);
    opened(&mut shares, 1, 1, wants(WHOLE));
    // The answer to a share that was sent on the stream before.
    shares.taken(1, LIMIT, Share { part: WHOLE, calls: 0 });
    assert_eq!(sent(&mut shares, |_| true), [(1, 1_000)]);
}

#[test]
fn who_has_nothing_to_play_has_no_part() {
    let mut shares = Shares::new(false);
    opened(&mut shares, 1, 1, wants(WHOLE));
    opened(&mut shares, 2, 1, wants(WHOLE));
    assert_eq!(sent(&mut shares, |session| session == 1), [(1, 1_000)]);
    shares.taken(1, LIMIT, Share { part: WHOLE, calls: 0 });
    assert_eq!(sent(&mut shares, |session| session == 2), [(1, 0)]);
    shares.taken(1, LIMIT, Share::default());
    assert_eq!(sent(&mut shares, |session| session == 2), [(2, 1_000)]);
    assert_eq!(sent(&mut shares, |_| false), [], "between runs it stays as it is");
}

#[test]
fn who_needs_little_lends_the_rest_and_gets_it_back() {
    let mut shares = Shares::new(false);
    for session in 1..=2 {
        opened(&mut shares, session, 8, wants(WHOLE));
    }
    assert_eq!(settled(&mut shares), [(1, 500), (2, 500)]);
    shares.hear(2, LIMIT, wants(WHOLE / 10));
    assert_eq!(settled(&mut shares), [(1, 900), (2, 100)]);
    shares.hear(2, LIMIT, wants(0));
    assert_eq!(settled(&mut shares), [(1, 975), (2, 25)], "enough to begin");
    shares.hear(1, LIMIT, wants(WHOLE / 10));
    assert_eq!(settled(&mut shares), [], "nobody lacks anything");
    shares.hear(2, LIMIT, wants(WHOLE / 2));
    assert_eq!(settled(&mut shares), [(1, 300), (2, 700)], "what is left over is divided too");
    shares.hear(1, LIMIT, wants(WHOLE));
    assert_eq!(settled(&mut shares), [(1, 500), (2, 500)]);
}

#[test]
fn a_fleet_keeps_a_part_for_workers_that_come() {
    let mut shares = Shares::new(true);
    opened(&mut shares, 1, 8, wants(WHOLE));
    assert_eq!(settled(&mut shares), [(1, 950)]);
    opened(&mut shares, 2, 8, wants(WHOLE));
    assert_eq!(sent(&mut shares, |_| true), [(1, 475), (2, 50)], "at once");
    shares.taken(1, LIMIT, Share { part: WHOLE / 1_000 * 475, calls: 0 });
    shares.taken(2, LIMIT, Share { part: WHOLE / 20, calls: 0 });
    assert_eq!(settled(&mut shares), [(2, 475)]);
}

#[test]
fn calls_are_whole_and_all_of_them_are_used() {
    let mut shares = Shares::new(true);
    let have = |shares: &mut Shares| {
        let mut have = BTreeMap::new();
        for _ in 0..20 {
            for (session, limit, share) in shares.balance(|_| true, NOW) {
                shares.taken(session, &limit, share);
                have.insert(session, share.calls);
            }
        }
        have.into_values().collect::<Vec<_>>()
    };
    for session in 1..=3 {
        opened(&mut shares, session, 8, calls(8));
    }
    assert_eq!(have(&mut shares), [7, 6, 6], "one is kept for workers that come");
    shares.hear(3, LIMIT, calls(2));
    assert_eq!(have(&mut shares), [9, 8, 2]);
    for session in 4..=30 {
        opened(&mut shares, session, 8, calls(8));
    }
    assert_eq!(have(&mut shares), [1; 30], "each worker may have one");
}

#[test]
fn nothing_is_given_while_workers_of_before_may_be_calling() {
    let mut shares = Shares::new(false);
    shares.keep_quiet(Duration::from_secs(3));
    opened(&mut shares, 1, 1, wants(WHOLE));
    assert_eq!(shares.balance(|_| true, Duration::from_secs(2)), []);
    assert_eq!(shares.balance(|_| true, Duration::from_secs(3)).len(), 1);

    let mut shares = Shares::new(false);
    shares.wait_for([1, 2, 3], Duration::from_secs(10));
    opened(&mut shares, 1, 1, wants(WHOLE));
    shares.over(2);
    assert_eq!(shares.balance(|_| true, Duration::from_secs(9)), [], "the third may be calling");
    opened(&mut shares, 3, 1, wants(WHOLE));
    assert_eq!(shares.balance(|_| true, Duration::from_secs(9)).len(), 2, "all are back");
}

#[derive(Debug, Clone)]
enum Step {
    Opens(u64, u32),
    Wants(u64, u32),
    Closes(u64),
    Ends(u64),
    Answers(u64),
    Plays(u64, bool),
}

fn step() -> impl Strategy<Value = Step> {
    let session = 0_u64..5;
    prop_oneof![
        1 => (session.clone(), 0_u32..40).prop_map(|(session, slots)| Step::Opens(session, slots)),
        2 => (session.clone(), 0_u32..=1_000).prop_map(|(session, part)| Step::Wants(session, part)),
        1 => session.clone().prop_map(Step::Closes),
        1 => session.clone().prop_map(Step::Ends),
        6 => session.clone().prop_map(Step::Answers),
        1 => (session, any::<bool>()).prop_map(|(session, plays)| Step::Plays(session, plays)),
    ]
}

proptest! {
    #[test]
    fn the_sum_is_never_more_than_the_whole(keeps: bool, steps in prop::collection::vec(step(), 0..120)) {
        let mut shares = Shares::new(keeps);
        // What each worker uses: the new share once it confirms, and the old one until then.
        let mut uses: BTreeMap<u64, (Share, Option<Share>)> = BTreeMap::new();
        let mut idle = [false; 5];
        let demand = |thousandths: u32| Demand { part: thousandths * 1_000_000, calls: thousandths / 50, concurrency: 20 };
        for step in steps {
            match step {
                Step::Opens(session, slots) => {
                    opened(&mut shares, session, slots, demand(1_000));
                    uses.insert(session, (Share::default(), None));
                }
                Step::Wants(session, part) => shares.hear(session, LIMIT, demand(part)),
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
                        shares.taken(session, LIMIT, share);
                    }
                }
                Step::Plays(session, plays) => idle[session as usize] = !plays,
            }
            for (session, _, share) in shares.balance(|session| !idle[session as usize], NOW) {
                uses.get_mut(&session).unwrap().1 = Some(share);
            }
            // A worker uses a larger share as soon as it receives it.
            let most = |of: fn(Share) -> u32| {
                uses.values().map(|(used, sent)| of(*used).max(sent.map_or(0, of))).map(u64::from).sum::<u64>()
            };
            prop_assert!(most(|share| share.part) <= u64::from(WHOLE));
            // With one call at least for each worker.
            prop_assert!(most(|share| share.calls) <= 20 + 4, "{:?}", uses);
        }
    }
}
