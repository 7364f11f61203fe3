//! A worker that follows the protocol, with the faults of its script.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use scenario::RunId;
use store::Lease;

use super::{super::Held, chance::Chance};

const SELF_FENCE: Duration = Duration::from_secs(20);
const HEARTBEAT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub(super) enum Up {
    Heartbeat(Vec<Held>),
    Claim { number: u64, want: u32, idle: u32, ahead: u32 },
    Begun(Vec<Held>),
    Batch(Batch),
    Release { trials: Vec<Held>, begun: bool },
    Leave,
}

#[derive(Debug, Clone)]
pub(super) struct Batch {
    pub(super) sequence: u64,
    pub(super) run: RunId,
    pub(super) ended: Vec<(u64, u32)>,
}

#[derive(Debug, Clone)]
pub(super) enum Down {
    Welcome { acknowledged: u64 },
    Grant { claim: u64, leases: Vec<Lease> },
    Acknowledged { sequence: u64 },
    Fenced(Vec<Held>),
    Renewed,
    Stop { run: RunId, drain: bool },
    Goodbye,
}

type Attempt = (RunId, u64, u32);

#[derive(Debug, Default)]
pub(super) struct Worker {
    slots: usize,
    /// Forgets an unanswered claim when its stream closes, and so never learns what it was granted.
    forgetful: bool,
    pub(super) session: Option<u64>,
    pub(super) connected: bool,
    /// Sends nothing until it knows what was acknowledged: a batch before the older ones would be a gap.
    welcomed: bool,
    /// Does nothing until then.
    pub(super) frozen_until: Duration,
    pub(super) up: VecDeque<(Duration, Up)>,
    pub(super) down: VecDeque<(Duration, Down)>,
    /// The trials in progress, and when each ends.
    playing: BTreeMap<Attempt, Duration>,
    waiting: VecDeque<Attempt>,
    unacknowledged: VecDeque<Batch>,
    last_sequence: u64,
    last_claim: u64,
    claim_open: bool,
    next_claim: Duration,
    next_heartbeat: Duration,
    renewed: Duration,
    pub(super) leaving: bool,
}

impl Worker {
    pub(super) fn new(slots: usize, forgetful: bool) -> Self {
        Self { slots, forgetful, ..Self::default() }
    }

    /// The process or the session is gone, with all of its state.
    pub(super) fn reset(&mut self) {
        let Self { slots, forgetful, frozen_until, .. } = *self;
        *self = Self { slots, forgetful, frozen_until, ..Self::default() };
    }

    pub(super) fn joined(&mut self, session: u64, now: Duration) {
        self.session = Some(session);
        self.renewed = now;
    }

    pub(super) fn close(&mut self) {
        self.connected = false;
        self.welcomed = false;
        self.up.clear();
        self.down.clear();
        if self.forgetful {
            self.claim_open = false;
        }
    }

    pub(super) fn plays(&self, run: &RunId, trial: u64) -> bool {
        self.playing.keys().any(|(of, number, _)| of == run && *number == trial)
    }

    pub(super) fn hear(&mut self, message: Down, now: Duration, chance: &mut Chance) {
        match message {
            Down::Welcome { acknowledged } => {
                self.welcomed = true;
                self.acknowledged(acknowledged);
                for batch in self.unacknowledged.clone() {
                    self.say(Up::Batch(batch), now, chance);
                }
                if self.claim_open {
                    self.say_claim(self.slots as u32, now, chance);
                }
                let begun: Vec<Attempt> = self.playing.keys().cloned().chain(self.unacknowledged()).collect();
                self.say_begun(begun, now, chance);
                self.next_heartbeat = now;
            }
            Down::Grant { claim, leases } if claim == self.last_claim && self.claim_open => {
                self.claim_open = false;
                self.next_claim = now + Duration::from_millis(if leases.is_empty() { 500 } else { 0 });
                for lease in leases {
                    self.waiting.extend(lease.trials.map(|trial| (lease.run.clone(), trial, lease.epoch)));
                }
            }
            Down::Grant { .. } => {}
            Down::Acknowledged { sequence } => self.acknowledged(sequence),
            Down::Fenced(trials) => {
                let hit = |(run, trial, epoch): &Attempt| {
                    trials.iter().any(|held| held.run == *run && held.epoch == *epoch && held.trials.contains(trial))
                };
                self.playing.retain(|attempt, _| !hit(attempt));
                self.waiting.retain(|attempt| !hit(attempt));
            }
            Down::Renewed => self.renewed = now,
            Down::Stop { run, drain } => {
                let stopped: Vec<Attempt> = self.waiting.iter().filter(|(of, ..)| *of == run).cloned().collect();
                self.waiting.retain(|(of, ..)| *of != run);
                if drain {
                    self.release(stopped, false, now, chance);
                } else {
                    self.playing.retain(|(of, ..), _| *of != run);
                }
            }
            Down::Goodbye => self.reset(),
        }
    }

    /// One step of its life with an open stream or without one.
    pub(super) fn live(&mut self, now: Duration, chance: &mut Chance) {
        if self.session.is_some() && self.renewed + SELF_FENCE <= now {
            self.reset();
            return;
        }
        let ready: Vec<Attempt> =
            self.playing.iter().filter(|(_, end)| **end <= now).map(|(attempt, _)| attempt.clone()).collect();
        let mut batches: BTreeMap<RunId, Vec<(u64, u32)>> = BTreeMap::new();
        for attempt in ready {
            self.playing.remove(&attempt);
            batches.entry(attempt.0).or_default().push((attempt.1, attempt.2));
        }
        for (run, mut ended) in batches {
            // A worker that repeats itself must not be counted twice.
            if chance.one_in(40) {
                ended.extend(ended.first().copied());
            }
            self.last_sequence += 1;
            let batch = Batch { sequence: self.last_sequence, run, ended };
            self.unacknowledged.push_back(batch.clone());
            self.say(Up::Batch(batch), now, chance);
        }
        let mut begun = Vec::new();
        while self.welcomed
            && self.playing.len() < self.slots
            && let Some(attempt) = self.waiting.pop_front()
        {
            begun.push(attempt.clone());
            self.playing.insert(attempt, now + Duration::from_millis(500 + chance.below(8_000)));
        }
        if !self.welcomed {
            return;
        }
        self.say_begun(begun, now, chance);
        if self.leaving {
            let unplayed = self.waiting.drain(..).collect();
            self.release(unplayed, false, now, chance);
            // Now and then its time is up before the last trial is.
            if !self.playing.is_empty() && chance.one_in(20) {
                let given_up = std::mem::take(&mut self.playing).into_keys().collect();
                self.release(given_up, true, now, chance);
            }
            if self.playing.is_empty() && self.unacknowledged.is_empty() {
                self.say(Up::Leave, now, chance);
            }
        } else if !self.claim_open && self.waiting.is_empty() && self.next_claim <= now {
            self.last_claim += 1;
            self.claim_open = true;
            self.say_claim(self.slots as u32 * 2, now, chance);
        }
        if self.next_heartbeat <= now {
            self.next_heartbeat = now + HEARTBEAT;
            self.say(Up::Heartbeat(self.held()), now, chance);
        }
    }

    fn unacknowledged(&self) -> impl Iterator<Item = Attempt> {
        self.unacknowledged
            .iter()
            .flat_map(|batch| batch.ended.iter().map(|(trial, epoch)| (batch.run.clone(), *trial, *epoch)))
    }

    fn held(&self) -> Vec<Held> {
        listed(self.playing.keys().chain(&self.waiting).cloned().chain(self.unacknowledged()))
    }

    /// This many trials begin as soon as they are granted.
    fn say_claim(&mut self, want: u32, now: Duration, chance: &mut Chance) {
        let idle = (self.slots - self.playing.len()) as u32;
        self.say(Up::Claim { number: self.last_claim, want, idle, ahead: want }, now, chance);
    }

    fn say_begun(&mut self, begun: Vec<Attempt>, now: Duration, chance: &mut Chance) {
        if !begun.is_empty() {
            self.say(Up::Begun(listed(begun)), now, chance);
        }
    }

    fn release(&mut self, attempts: Vec<Attempt>, begun: bool, now: Duration, chance: &mut Chance) {
        if !attempts.is_empty() {
            self.say(Up::Release { trials: listed(attempts), begun }, now, chance);
        }
    }

    fn acknowledged(&mut self, sequence: u64) {
        while self.unacknowledged.front().is_some_and(|batch| batch.sequence <= sequence) {
            self.unacknowledged.pop_front();
        }
    }

    /// Sends late, in order, sometimes twice; the message is lost if there is no stream.
    fn say(&mut self, message: Up, now: Duration, chance: &mut Chance) {
        if !self.welcomed {
            return;
        }
        let earliest = self.up.back().map_or(now, |(at, _)| *at).max(now);
        let at = if chance.one_in(20) { earliest + Duration::from_millis(chance.below(3_000)) } else { earliest };
        if chance.one_in(25) {
            self.up.push_back((at, message.clone()));
        }
        self.up.push_back((at, message));
    }
}

fn listed(attempts: impl IntoIterator<Item = Attempt>) -> Vec<Held> {
    attempts.into_iter().map(|(run, trial, epoch)| Held { run, trials: trial..trial + 1, epoch }).collect()
}
