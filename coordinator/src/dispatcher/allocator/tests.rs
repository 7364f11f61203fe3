use super::*;

/// A call costs at most this much.
const DEAREST: i64 = 40;

/// A sequence of numbers that a seed fixes.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }

    fn nanos(&mut self, most: i64) -> i64 {
        i64::try_from(self.below(u64::try_from(most).unwrap() + 1)).unwrap()
    }

    fn is_one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// A worker as the protocol wants it: it never spends what it has not got.
#[derive(Debug, Default)]
struct Worker {
    funds: Option<Funds>,
    granted: i64,
    returned: i64,
    charged: i64,
    /// What calls in flight reserved.
    calls: Vec<i64>,
    /// What the next call needs.
    waits: Option<i64>,
    dearest: i64,
}

impl Worker {
    fn free(&self) -> i64 {
        self.granted - self.returned - self.charged - self.calls.iter().sum::<i64>()
    }

    fn is(&self, what: fn(&Funds) -> bool) -> bool {
        self.funds.as_ref().is_some_and(what)
    }

    fn hears(&mut self, funds: Funds) {
        self.granted = self.granted.max(funds.granted);
        self.funds = Some(funds);
    }

    fn calls(&mut self, chance: &mut Chance) {
        let nanos = *self.waits.get_or_insert_with(|| 1 + chance.nanos(DEAREST - 1));
        self.dearest = self.dearest.max(nanos);
        if self.is(|funds| funds.used_up) {
            self.waits = None;
        } else if self.free() >= nanos {
            self.calls.push(nanos);
            self.waits = None;
        }
    }

    /// A call ends. Returns its true cost: what is unknown counts in full.
    fn settles(&mut self, chance: &mut Chance) -> i64 {
        if self.calls.is_empty() {
            return 0;
        }
        let nanos = self.calls.remove(usize::try_from(chance.below(self.calls.len() as u64)).unwrap());
        let cost = chance.nanos(nanos);
        self.charged += if chance.is_one_in(5) { nanos } else { cost };
        cost
    }

    fn says(&mut self) -> Word {
        let short = self.is(|funds| funds.short || funds.used_up);
        if short {
            self.returned += self.free();
        }
        let need = self.waits.map_or(0, |nanos| (nanos - self.free()).max(0));
        let more = if short { need } else { need.max(8 * self.dearest - self.free()) };
        Word {
            account: Account { returned: Usd(self.returned), charged: Usd(self.charged) },
            reserved: self.calls.iter().sum(),
            wanted: self.granted + more,
            need,
            dearest: self.dearest,
            running: u64::from(!self.calls.is_empty() || self.waits.is_some()),
        }
    }
}

/// A store, an allocator and workers, with messages between them that come late or twice or never.
struct World {
    chance: Chance,
    ledger: Ledger,
    allocator: Allocator,
    workers: BTreeMap<u64, Worker>,
    sessions: u64,
    to_workers: Vec<(u64, Funds)>,
    to_allocator: Vec<(u64, Word)>,
    /// What all calls did cost, those that ended with their workers in full.
    spent: i64,
    used_up: bool,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut chance = Chance(seed);
        let max_cost = Usd(1 + chance.nanos(20_000));
        let besides = Usd(chance.nanos(30).min(max_cost.0));
        let ledger = Ledger { max_cost: Some(max_cost), besides, slices: Vec::new() };
        let allocator = Allocator::new(&ledger).expect("a budget");
        let (workers, spent) = (BTreeMap::new(), besides.0);
        let (to_workers, to_allocator) = (Vec::new(), Vec::new());
        let mut world =
            Self { chance, ledger, allocator, workers, sessions: 0, to_workers, to_allocator, spent, used_up: false };
        for _ in 0..=world.chance.below(4) {
            world.joins();
        }
        world
    }

    fn joins(&mut self) {
        self.sessions += 1;
        self.workers.insert(self.sessions, Worker::default());
        self.allocator.joins(self.sessions);
    }

    fn fund(&mut self, session: u64, granted: i64) {
        let slice = self.ledger.raised(session, self.allocator.account(session), Usd(granted));
        match self.ledger.slices.iter_mut().find(|known| known.session == session) {
            Some(known) if !known.open => return,
            Some(known) => *known = slice,
            None => self.ledger.slices.push(slice),
        }
        self.allocator.stored(slice);
    }

    fn shares(&mut self) {
        for Grant { session, granted } in self.allocator.grants() {
            self.fund(session, granted);
        }
        self.used_up |= self.allocator.judge();
        self.to_workers.extend(self.allocator.news());
    }

    fn hears(&mut self, session: u64, word: Word) {
        if self.workers.contains_key(&session) {
            if self.allocator.hear(session, word) {
                self.fund(session, 0);
            }
            self.shares();
        }
    }

    /// The worker is killed: its calls in flight are charged, and nobody says so.
    fn kills(&mut self, session: u64) {
        if let Some(worker) = self.workers.remove(&session) {
            self.spent += worker.calls.iter().sum::<i64>();
            self.ledger.slices.iter_mut().filter(|slice| slice.session == session).for_each(|slice| slice.open = false);
            self.allocator.over(session);
        }
    }

    /// The coordinator is killed: only the store is left, and workers open new streams.
    fn restarts(&mut self) {
        self.allocator = Allocator::new(&self.ledger).expect("a budget");
        self.to_workers.clear();
        self.to_allocator.clear();
        for session in self.workers.keys().copied().collect::<Vec<_>>() {
            self.allocator.joins(session);
            self.allocator.returns(session);
        }
    }

    fn pick(&mut self) -> Option<u64> {
        let place = self.chance.below(self.workers.len() as u64);
        self.workers.keys().nth(usize::try_from(place).unwrap()).copied()
    }

    fn step(&mut self) {
        let Some(session) = self.pick() else { return self.joins() };
        match self.chance.below(100) {
            0..25 => self.workers.get_mut(&session).unwrap().calls(&mut self.chance),
            25..50 => {
                let (before, worker) = (self.spent, self.workers.get_mut(&session).unwrap());
                self.spent += worker.settles(&mut self.chance);
                let cost = self.spent - before;
                let charged = worker.charged;
                // Some calls come with a batch at once, others later or never.
                if self.chance.is_one_in(2)
                    && let Some(slice) = self.ledger.slices.iter_mut().find(|slice| slice.session == session)
                {
                    slice.settled += Usd(cost);
                    let account = Account { returned: Usd(0), charged: Usd(charged) };
                    slice.hear(account);
                    self.allocator.settled(session, Usd(cost), Some(account));
                }
            }
            50..65 => {
                let word = self.workers.get_mut(&session).unwrap().says();
                self.to_allocator.push((session, word));
            }
            65..78 if !self.to_allocator.is_empty() => {
                let place = usize::try_from(self.chance.below(self.to_allocator.len() as u64)).unwrap();
                // Streams keep the order; a second copy comes late.
                let place = if self.chance.is_one_in(4) { place } else { 0 };
                let (session, word) = self.to_allocator[place];
                if place == 0 {
                    self.to_allocator.remove(0);
                }
                self.hears(session, word);
            }
            78..90 if !self.to_workers.is_empty() => {
                let (session, funds) = self.to_workers.remove(0);
                if self.chance.is_one_in(8) {
                    self.to_workers.push((session, funds));
                }
                if let Some(worker) = self.workers.get_mut(&session) {
                    worker.hears(funds);
                }
            }
            90..94 => self.kills(session),
            94..97 => self.joins(),
            97..99 => self.restarts(),
            _ => self.shares(),
        }
    }

    /// Every worker makes a call and ends one, and every message arrives.
    fn round(&mut self) {
        if self.workers.is_empty() {
            self.joins();
        }
        for session in self.workers.keys().copied().collect::<Vec<_>>() {
            let worker = self.workers.get_mut(&session).unwrap();
            worker.calls(&mut self.chance);
            self.spent += worker.settles(&mut self.chance);
            let word = worker.says();
            self.hears(session, word);
            for (session, funds) in std::mem::take(&mut self.to_workers) {
                if let Some(worker) = self.workers.get_mut(&session) {
                    worker.hears(funds);
                }
            }
        }
    }

    fn check(&self, seed: u64, step: u32) {
        let max_cost = self.ledger.max_cost.unwrap().0;
        let in_flight: i64 = self.workers.values().flat_map(|worker| &worker.calls).sum();
        assert!(self.spent + in_flight <= max_cost, "seed {seed}, step {step}: {} + {in_flight}", self.spent);
        assert!(self.ledger.taken().0 <= max_cost, "seed {seed}, step {step}: {:?}", self.ledger);
    }
}

#[test]
fn a_thousand_random_budgets_are_never_exceeded() {
    for seed in 0..1_000 {
        let mut world = World::new(seed);
        for step in 0..600 {
            world.step();
            world.check(seed, step);
        }
        // Without further faults the run ends, and leaves little.
        world.restarts();
        world.to_workers.clear();
        for round in 0..5_000 {
            if world.used_up {
                break;
            }
            world.round();
            world.check(seed, round);
        }
        let workers = i64::try_from(world.workers.len()).unwrap().max(1);
        let (left, most) = (world.ledger.left().0, CALLS_KEPT * DEAREST * workers);
        assert!(world.used_up && left <= most, "seed {seed}: {left} left, {:?}", world.allocator);
    }
}

fn word(wanted: i64, need: i64) -> Word {
    Word { wanted, need, dearest: need.max(10), running: 1, ..Word::default() }
}

fn allocator(max_cost: i64) -> Allocator {
    Allocator::new(&Ledger { max_cost: Some(Usd(max_cost)), ..Ledger::default() }).expect("a budget")
}

/// Hears a worker, and grants as a store would.
fn granted(allocator: &mut Allocator, session: u64, word: Word) -> i64 {
    allocator.hear(session, word);
    for Grant { session, granted } in allocator.grants() {
        let slice = allocator.held[&session].slice;
        allocator.stored(Slice { session, granted: Usd(granted), open: true, ..slice });
    }
    allocator.held[&session].slice.granted.0
}

#[test]
fn a_run_without_a_budget_has_no_allocator() {
    assert!(Allocator::new(&Ledger::default()).is_none());
}

#[test]
fn a_worker_gets_a_small_part_or_what_one_call_needs() {
    let mut plenty = allocator(16_000);
    assert_eq!(granted(&mut plenty, 1, word(9_000, 10)), 1_000);
    assert_eq!(granted(&mut plenty, 2, word(9_000, 10)), 15_000 / 32, "two share");
    assert_eq!(granted(&mut plenty, 4, word(20, 0)), 20, "no more than it wants");
    assert!(!plenty.judge());
    let news = plenty.news();
    assert!(news.len() == 3 && news.iter().all(|(_, funds)| !funds.short), "{news:?}");
    assert_eq!(plenty.news(), [], "said once");
    assert_eq!(granted(&mut plenty, 3, word(9_000, 5_000)), 5_000, "one call needs it");
}

#[test]
fn a_worker_holds_a_small_part_and_gets_more_when_half_of_it_is_used() {
    let mut plenty = allocator(16_000);
    assert_eq!(granted(&mut plenty, 1, word(9_000, 0)), 1_000);
    let reserved = |reserved, need| Word { reserved, ..word(9_000, need) };
    assert_eq!(granted(&mut plenty, 1, reserved(0, 0)), 1_000, "it has used nothing");
    assert_eq!(granted(&mut plenty, 1, reserved(400, 0)), 1_000, "less than half");
    assert_eq!(granted(&mut plenty, 1, reserved(600, 0)), 1_000 + 15_000 / 16 - 400, "a sixteenth of what is left");
    assert_eq!(granted(&mut plenty, 1, reserved(600, 2_000)), 1_537 + 2_000, "one call needs it");
    // Batches say what calls cost before the worker says that they reserve nothing any more.
    let account = Account { returned: Usd(0), charged: Usd(500) };
    plenty.settled(1, Usd(500), Some(account));
    let held = &plenty.held[&1];
    assert_eq!((held.word.reserved, held.unused()), (100, 3_537 - 500 - 100));
}

#[test]
fn short_money_comes_back_and_goes_to_whoever_needs_it() {
    let mut money = allocator(100);
    assert_eq!(granted(&mut money, 1, word(90, 90)), 90);
    assert_eq!(granted(&mut money, 2, word(30, 30)), 0);
    assert!(!money.judge());
    let short = |granted| Funds { granted, short: true, used_up: false };
    assert_eq!(money.news(), [(1, short(90)), (2, short(0))]);
    // The first one used 20 and gives back 70.
    let account = Account { returned: Usd(70), charged: Usd(20) };
    assert!(money.hear(1, Word { account, wanted: 90, dearest: 90, ..Word::default() }));
    assert_eq!(granted(&mut money, 2, word(30, 30)), 30);
    assert!(!money.judge());
    assert_eq!(money.news(), [(2, short(30))]);
}

#[test]
fn money_is_used_up_once_nothing_comes_back() {
    let mut money = allocator(100);
    granted(&mut money, 1, word(60, 60));
    granted(&mut money, 2, word(50, 50));
    assert!(!money.judge() && !money.judge(), "a call in flight may leave some");
    let account = Account { returned: Usd(0), charged: Usd(60) };
    money.hear(1, Word { account, wanted: 60, dearest: 60, ..Word::default() });
    assert!(money.judge());
    assert!(!money.judge(), "said once");
    let used_up = |granted| Funds { granted, short: true, used_up: true };
    assert_eq!(money.news(), [(1, used_up(60)), (2, used_up(0))]);
    assert_eq!(money.grants(), []);
    // Somebody raises the budget.
    money.raise(1_000);
    money.resume();
    assert_eq!(granted(&mut money, 2, word(50, 50)), 50);
    assert_eq!(money.news().len(), 2);
}

#[test]
fn a_lost_worker_keeps_what_it_held() {
    let mut money = allocator(100);
    granted(&mut money, 1, word(60, 60));
    money.over(1);
    assert_eq!((money.taken(), money.reserved()), (Usd(60), Usd(0)));
    assert_eq!(granted(&mut money, 2, word(50, 50)), 0);
    assert_eq!(granted(&mut money, 2, word(40, 40)), 40);
}

#[test]
fn a_conversation_between_its_calls_keeps_the_run_going() {
    let mut money = allocator(100);
    granted(&mut money, 1, word(90, 90));
    assert!(!money.judge());
    // Its agent, which costs nothing, thinks.
    let account = Account { returned: Usd(0), charged: Usd(90) };
    money.hear(1, Word { account, wanted: 90, dearest: 90, running: 1, ..Word::default() });
    assert!(!money.judge());
    money.hear(1, Word { account, wanted: 90, dearest: 90, running: 0, ..Word::default() });
    assert!(money.judge(), "nothing runs, and nothing that is left pays for a call");
}
