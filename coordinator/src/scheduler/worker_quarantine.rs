//! Workers in quarantine: much more of what they play breaks than at other workers, so the fault is theirs.
//!
//! A worker without a route to a model's provider breaks conversations in milliseconds, and so takes most of the trials. It
//! is compared, in each run, with the other workers that know the same agents: what breaks everywhere is no worker's fault. If
//! all of its last trials of a run broke, it gets nothing until the others can be compared with, or one trial after a pause. A
//! lost worker is never quarantined for that: somebody may have killed it.
//!
//! A quarantined worker gives back the trials that wait, ends those that it plays, and gets nothing new. After a pause it
//! gets one trial. If that breaks too, the next pause begins.

use std::time::Duration;

use scenario::RunId;

use super::{
    Action, Scheduler,
    conduct::{Allowance, Conduct, FEW, Quarantine},
    session::{Session, Stream},
};

/// Fewer broken trials of a hundred are no reason.
const LEAST_OF_100: u64 = 20;
/// So many times the rate of the others is too much.
const TIMES: u64 = 5;
const PAUSE: Duration = Duration::from_secs(300);

impl Scheduler {
    /// The store has these trials of the session. `broken`: which of them were broken, and possibly by the worker.
    pub(super) fn played(&mut self, number: u64, run: &RunId, broken: &[bool], now: Duration) {
        // They may have ended the run, and then nobody is judged by it.
        let goes_on = self.runs.contains_key(run);
        let Some(session) = self.sessions.get_mut(&number) else { return };
        match &mut session.conduct.quarantine {
            None if goes_on => broken.iter().for_each(|broken| session.conduct.add(run, *broken)),
            Some(quarantine) if quarantine.on_probation && broken.contains(&true) => {
                *quarantine = Quarantine { until: now + PAUSE, on_probation: false };
                return;
            }
            Some(quarantine) if quarantine.on_probation && !broken.is_empty() => return self.trust(number),
            // They had begun before the quarantine, or ended the run.
            _ => return,
        }
        if self.is_worse_than_others(number, run) {
            self.quarantine(number, run, now);
        }
    }

    /// What the session may get now.
    pub(super) fn allowance(&mut self, number: u64, now: Duration) -> Allowance {
        let Some(session) = self.sessions.get(&number) else { return Allowance::Nothing };
        let Some(Quarantine { until, .. }) = session.conduct.quarantine else {
            return self.allowance_before(number, now);
        };
        if self.others_like(number).next().is_none() {
            // Nobody else plays what it can play.
            self.trust(number);
            return Allowance::Everything;
        }
        if until <= now && session.is_empty() { Allowance::One } else { Allowance::Nothing }
    }

    /// Of a session that is not in quarantine.
    fn allowance_before(&mut self, number: u64, now: Duration) -> Allowance {
        let runs = self.sessions.get(&number).map(|session| session.conduct.breaks_all_of()).unwrap_or_default();
        if let Some(run) = runs.iter().find(|run| self.is_worse_than_others(number, run)) {
            self.quarantine(number, run, now);
            return Allowance::Nothing;
        }
        let cannot_compare = |run: &RunId| {
            let mut others = self.others_like(number).map(|session| session.conduct.rate(run, FEW)).peekable();
            others.peek().is_some() && others.all(|rate| rate.is_none())
        };
        let waits = runs.iter().any(cannot_compare);
        let Some(session) = self.sessions.get_mut(&number) else { return Allowance::Nothing };
        if !waits {
            session.conduct.held_back = None;
            return Allowance::Everything;
        }
        let since = *session.conduct.held_back.get_or_insert(now);
        if now.saturating_sub(since) < PAUSE || !session.is_empty() {
            return Allowance::Nothing;
        }
        session.conduct.held_back = Some(now);
        Allowance::One
    }

    /// Whether a session in quarantine got the trial that decides.
    pub(super) fn on_probation(&mut self, number: u64, got: bool) {
        let session = self.sessions.get_mut(&number);
        if let Some(quarantine) = session.and_then(|session| session.conduct.quarantine.as_mut()) {
            quarantine.on_probation = got;
        }
    }

    /// No worker is judged by its trials of this run any more.
    pub(super) fn stop_comparing(&mut self, run: &RunId) {
        self.sessions.values_mut().for_each(|session| session.conduct.forget(run));
    }

    fn is_worse_than_others(&self, number: u64, run: &RunId) -> bool {
        let Some(session) = self.sessions.get(&number) else { return false };
        let enough = session.conduct.enough(run);
        let Some(rate) = session.conduct.rate(run, enough).filter(|rate| *rate > LEAST_OF_100) else { return false };
        let others = self.others_like(number).filter_map(|other| other.conduct.rate(run, enough));
        let mut others: Vec<u64> = others.collect();
        others.sort_unstable();
        // Of an even number the higher: in doubt it is not the worker.
        others.get(others.len() / 2).is_some_and(|median| rate > median * TIMES)
    }

    /// The other workers that play the same and are not in quarantine. One without a stream may be back in a moment.
    fn others_like(&self, number: u64) -> impl Iterator<Item = &Session> {
        let agents = self.sessions.get(&number).map(|session| &session.agents);
        let others = self.sessions.iter().filter(move |(other, _)| **other != number);
        others.map(|(_, session)| session).filter(move |session| {
            session.stream != Stream::Awaited && !session.conduct.is_quarantined() && Some(&session.agents) == agents
        })
    }

    fn quarantine(&mut self, number: u64, run: &RunId, now: Duration) {
        let Some(session) = self.sessions.get_mut(&number) else { return };
        let (broken, of) = session.conduct.counts(run);
        session.conduct.quarantine = Some(Quarantine { until: now + PAUSE, on_probation: false });
        self.actions.push(Action::Quarantine { session: number, broken, of });
        for (run, _) in session.by_run() {
            self.actions.push(Action::Stop { session: number, run, drain: true });
        }
        self.forget(number);
    }

    fn trust(&mut self, number: u64) {
        if let Some(session) = self.sessions.get_mut(&number) {
            session.conduct = Conduct::default();
            self.actions.push(Action::Trust { session: number });
        }
    }
}
