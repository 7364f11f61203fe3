//! What workers send as a fuzzer makes it: arbitrary bytes on the wire, with correct messages between them.
//!
//! Whatever two workers send, the coordinator goes on, no run is interrupted unless its budget is spent, no trial is leased twice at once or counted
//! twice, no more money is given out than there is, and an honest worker can finish the run afterwards.

mod peer;
mod plan;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use record::{Usd, call::Spend, summary::RunState};
use scenario::{Plan, RunId};
use store::{Memory, RunRow, Store as _};
use tokio_util::sync::CancellationToken;

use self::peer::Peer;
use crate::{Clock, Config, Coordinator, Handle, Observers};

const MOST_STEPS: usize = 48;
/// Longer than a session without a stream lives.
const UNTIL_SESSIONS_END: Duration = Duration::from_secs(5);
/// Claims of an honest worker until everything must be done.
const MOST_CLAIMS: u32 = 400;
/// Of the second run.
const BUDGET: Usd = Usd(1_000_000);

struct World {
    store: Arc<Memory>,
    handle: Handle<Memory>,
    plan: Plan,
    runs: [RunId; 2],
}

/// Plays an input: each step is a byte, of which the highest bit says which worker it is about, and its arguments.
///
/// The runtime must be of one thread and on simulated time.
///
/// # Panics
/// One of the promises of this module is broken.
pub async fn session(input: &[u8]) {
    let wall = AtomicI64::new(1_795_230_000_000);
    let clock = Clock::new(move || wall.fetch_add(1, Ordering::Relaxed));
    let store = Arc::new(Memory::new());
    let opened = Coordinator::open(Arc::clone(&store), Config::default(), clock, Observers::default()).await;
    let (coordinator, handle) = opened.expect("an empty store");
    let drain = CancellationToken::new();
    let running = tokio::spawn(coordinator.run(drain.clone()));
    let world = World { store, handle, plan: plan::plan(), runs: ["r1", "r2"].map(RunId::new) };
    for (run, max_cost) in world.runs.iter().zip([None, Some(BUDGET)]) {
        world.submit(run, max_cost).await;
    }

    let mut bytes = Bytes { rest: input };
    let mut peers = [Peer::join(&world.handle).await, Peer::join(&world.handle).await];
    for _ in 0..MOST_STEPS {
        let Some(step) = bytes.one() else { break };
        let peer = &mut peers[usize::from(step >> 7)];
        world.step(step & 0x7f, peer, &mut bytes).await;
        for peer in &mut peers {
            peer.listen(&world.plan, &world.runs);
        }
        world.check(&peers).await;
    }
    for peer in peers {
        peer.close();
    }
    tokio::time::sleep(UNTIL_SESSIONS_END).await;
    world.finish().await;

    drain.cancel();
    running.await.expect("the coordinator does not panic");
}

impl World {
    async fn submit(&self, run: &RunId, max_cost: Option<Usd>) {
        let plan = &self.plan;
        let row = RunRow {
            id: run.clone(),
            name: plan.name.clone(),
            plan_digest: plan.digest(),
            seed: plan.seed,
            planned: self.planned(),
            state: RunState::Running,
            started_at: 1_795_230_000_000,
            ended_at: None,
            version: "0.1.0".to_owned(),
            exhausted: false,
            max_cost,
            preflight: Spend::default(),
        };
        self.handle.submit(row, plan.clone(), plan.to_json().into_bytes().into()).await.expect("a plan");
    }

    fn planned(&self) -> u64 {
        self.plan.planned().expect("a small plan")
    }

    async fn step(&self, step: u8, peer: &mut Peer, bytes: &mut Bytes<'_>) {
        match step % 12 {
            0 => peer.message(bytes.some()).await,
            1 => peer.wire(bytes.some().to_vec()).await,
            2 => peer.claim(bytes.number(), bytes.number(), bytes.number()).await,
            3 => peer.play(&self.plan, bytes.number(), bytes.number(), None).await,
            4 => tokio::time::sleep(Duration::from_millis(100) * u32::from(bytes.number())).await,
            5 => peer.open(&self.handle).await,
            6 => *peer = Peer::join(&self.handle).await,
            7 => {
                let run = &self.runs[usize::from(bytes.number() % 2)];
                if self.handle.pause(run.clone(), None).await.is_err() {
                    drop(self.handle.resume(run.clone(), None, false, None).await);
                }
            }
            8 => peer.beat().await,
            9 => peer.release(bytes.number()).await,
            10 => {
                let damage = (usize::from(bytes.number()), bytes.number());
                peer.play(&self.plan, bytes.number(), bytes.number(), Some(damage)).await;
            }
            _ => peer.parts(&self.plan, bytes.number()).await,
        }
        // Everything that is due happens before time goes on.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    async fn check(&self, peers: &[Peer]) {
        for run in &self.runs {
            let progress = self.handle.watch(run).await.expect("the coordinator runs").borrow().clone();
            // A worker may say that its calls cost all there is: then the run is out of money.
            let is_spent = progress.out_of_money && progress.state == RunState::Interrupted;
            let goes_on = matches!(progress.state, RunState::Running | RunState::Finished);
            assert!(goes_on || is_spent, "{run}: {:?}", progress.state);
            assert_eq!(progress.trouble, None, "{run}");
            assert!(progress.counts.ended() <= self.planned(), "{run}: {:?}", progress.counts);
            let recovered = self.store.recover(run).await.expect("it is there");
            let done = |number: u64| recovered.done.iter().any(|range| range.contains(&number));
            let mut holders = BTreeMap::new();
            for lease in &recovered.leases {
                assert!(lease.trials.start < lease.trials.end && lease.trials.end <= self.planned(), "{lease:?}");
                for number in lease.trials.clone().filter(|number| !done(*number)) {
                    let before = holders.insert(number, lease.session);
                    assert_eq!(before, None, "trial {number} of {run} is leased twice, also by {}", lease.session);
                }
            }
            let given: i64 = recovered.ledger.slices.iter().map(|slice| slice.granted.0 - slice.returned.0).sum();
            assert!(given <= BUDGET.0, "{given} of {} are given out", BUDGET.0);
        }
        for peer in peers {
            let stored = self.store.watermark(peer.session).await.expect("the store answers");
            assert!(stored.is_none_or(|stored| peer.acknowledged <= stored), "{} is not stored", peer.acknowledged);
        }
    }

    /// An honest worker finishes the run that has no budget, and its report can be made.
    async fn finish(&self) {
        for run in &self.runs {
            if self.handle.watch(run).await.expect("the coordinator runs").borrow().paused {
                self.handle.resume(run.clone(), None, false, None).await.expect("it is paused");
            }
        }
        let mut honest = Peer::join(&self.handle).await;
        let run = &self.runs[0];
        for _ in 0..MOST_CLAIMS {
            if self.state(run).await == RunState::Finished {
                break;
            }
            honest.claim(0, 4, 4).await;
            tokio::time::sleep(Duration::from_millis(250)).await;
            honest.listen(&self.plan, &self.runs);
            while honest.holds() {
                honest.play(&self.plan, 0, 0, None).await;
            }
            honest.beat().await;
            tokio::time::sleep(Duration::from_millis(1)).await;
            honest.listen(&self.plan, &self.runs);
        }
        assert_eq!(self.state(run).await, RunState::Finished, "an honest worker finishes it");
        let trials = self.store.trials(run, 0, 1_000).await.expect("the store answers");
        let numbers: Vec<u64> = trials.iter().map(|stored| stored.trial.number).collect();
        assert_eq!(numbers, (0..self.planned()).collect::<Vec<_>>(), "each trial once");
        let summary = self.handle.summary(run).await.expect("a finished run has a summary");
        assert_eq!(summary.summary.trials.counts().ended(), self.planned());
        self.check(&[honest]).await;
    }

    async fn state(&self, run: &RunId) -> RunState {
        self.handle.watch(run).await.expect("the coordinator runs").borrow().state
    }
}

/// The rest of an input.
struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    fn one(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn number(&mut self) -> u8 {
        self.one().unwrap_or_default()
    }

    /// As many as the next byte says.
    fn some(&mut self) -> &'a [u8] {
        let most = usize::from(self.number()).min(self.rest.len());
        let (some, rest) = self.rest.split_at(most);
        self.rest = rest;
        some
    }
}

#[cfg(test)]
mod tests {
    /// The inputs from which the fuzzer starts.
    #[tokio::test(start_paused = true)]
    async fn seeds_are_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/session");
        let mut read = 0;
        for seed in std::fs::read_dir(folder).unwrap() {
            super::session(&std::fs::read(seed.unwrap().path()).unwrap()).await;
            read += 1;
        }
        assert_eq!(read, 5);
    }
}
