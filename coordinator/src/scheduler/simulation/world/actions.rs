//! The actions of the scheduler, carried out against the store, the workers and the ledger.

use std::time::Duration;

use record::{FailureKind, summary::RunState};
use scenario::{Digest, RunId};
use store::{Lease, Store};

use super::{
    super::{
        super::{Action, Event, session::lease_id},
        batch::commit,
        mutation::Mutation,
        worker::Down,
    },
    Checked, World, at_once,
};

impl World {
    /// Carries out one action, as the dispatcher does.
    pub(super) fn act(&mut self, action: Action) -> Checked {
        match action {
            Action::BeginLoad { run, after } => {
                let began_at = (self.now + after).as_millis() as i64;
                at_once(self.store.set_load_began(&run, began_at))?;
            }
            Action::Grant { session, claim, mut leases, new } => {
                if self.mutation == Mutation::EpochStays {
                    leases.iter_mut().for_each(|lease| lease.epoch = 1);
                }
                if new {
                    at_once(self.store.grant(&leases, 0))?;
                    leases.iter().try_for_each(|lease| self.granted(lease))?;
                    if !leases.is_empty() {
                        self.ledger.check_company(session)?;
                    }
                } else if !leases.is_empty() {
                    self.ledger.events.insert("repeated grant");
                }
                self.send(session, Down::Grant { claim, leases });
            }
            Action::Release { session, leases, begun } => {
                self.ledger.events.insert(if begun { "given up" } else { "returned" });
                if self.mutation != Mutation::ReleaseForgotten {
                    at_once(self.store.release(session, &leases, begun, 0))?;
                    self.ledger.released(&leases, begun)?;
                }
            }
            Action::Begin { session, leases } => self.begun.entry(session).or_default().extend(leases),
            Action::EndSession { session, proof, begun, reason } => {
                if self.mutation != Mutation::EndForgotten {
                    let lost = at_once(self.store.end_session(session, reason, proof, &begun, self.at()))?;
                    if reason == "left" && lost.is_empty() {
                        self.send(session, Down::Goodbye);
                        return Ok(());
                    }
                    self.ledger.lost(session, proof, &lost, self.now)?;
                }
                self.send(session, Down::Goodbye);
            }
            Action::Poison { run, trial, epoch } => self.poison(&run, trial, epoch)?,
            Action::Finish { run, state, .. } => {
                at_once(self.store.set_state(&run, state, Some(0)))?;
                if state == RunState::Finished {
                    self.finished += 1;
                } else {
                    self.ledger.events.insert("interrupted");
                    self.resume_at.insert(run, self.now + Duration::from_millis(self.chance.below(20_000)));
                }
            }
            Action::Fence { session, trials } => self.send(session, Down::Fenced(trials)),
            Action::Renew { session } => self.send(session, Down::Renewed),
            Action::Quarantine { .. } | Action::Trust { .. } => {}
            Action::Stop { session, run, drain } => self.send(session, Down::Stop { run, drain }),
            Action::TakeBack { run, .. } => return Err(format!("{run}: its arrivals are taken back")),
        }
        Ok(())
    }

    fn granted(&mut self, lease: &Lease) -> Checked {
        let worker = self.opened_for.get(&lease.session).copied().ok_or("a session that was never opened")?;
        if !self.script.agents_of(worker).contains(lease.run.as_str()) {
            return Err(format!("{lease:?} was leased to worker {worker}, which does not know its agent"));
        }
        self.ledger.granted(lease, self.now)
    }

    fn poison(&mut self, run: &RunId, trial: u64, epoch: u32) -> Checked {
        self.ledger.poisoned(run, trial)?;
        let (session, sequence) = match self.own {
            Some((session, sequence)) => (session, sequence + 1),
            None => (at_once(self.store.open_session("coordinator", &Digest::new(""), self.at()))?, 1),
        };
        self.own = Some((session, sequence));
        let lease = Lease {
            id: lease_id(session, sequence, 0),
            run: run.clone(),
            trials: trial..trial + 1,
            epoch,
            session,
            begun: 0,
        };
        at_once(self.store.grant(&[lease], 0))?;
        let committed = at_once(
            self.store.commit(&commit(session, sequence, run, vec![(trial, epoch, Some(FailureKind::Poisoned))]), 0),
        )?;
        if committed.counted != [trial] {
            return Err(format!("the poisoned trial {trial} was not counted"));
        }
        self.ledger.poison_counted(run, trial)?;
        self.on(Event::Ended { session, run: run.clone(), trials: committed.counted })
    }
}
