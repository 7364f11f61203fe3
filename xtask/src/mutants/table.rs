//! The faults: one or more for each guarantee of the protocol.
//!
//! Most are one line. Where two guards stand for one guarantee, each alone suffices, so the fault takes both away.

use anyhow::{Context as _, ensure};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mutant {
    pub(super) name: &'static str,
    pub(super) guarantee: &'static str,
    pub(super) edits: &'static [Edit],
}

/// `find` is in the file exactly once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) file: &'static str,
    pub(super) find: &'static str,
    pub(super) replace: &'static str,
}

impl Edit {
    pub(super) fn made_in(&self, text: &str) -> anyhow::Result<String> {
        let Self { file, find, replace } = self;
        let (before, after) = text.split_once(find).with_context(|| format!("{file} does not have {find:?}"))?;
        ensure!(!after.contains(find), "{file} has {find:?} more than once");
        Ok(format!("{before}{replace}{after}"))
    }
}

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "a lost attempt keeps its epoch",
        guarantee: "fencing: each attempt has an epoch of its own",
        edits: &[Edit {
            file: "coordinator/src/scheduler/run.rs",
            find: "self.lost_attempts += u64::from(begun);\n            *self.attempts.entry(trial).or_default() += 1;",
            replace: "self.lost_attempts += u64::from(begun);",
        }],
    },
    Mutant {
        name: "epochs begin again after a restart",
        guarantee: "fencing: each attempt has an epoch of its own",
        edits: &[Edit {
            file: "coordinator/src/scheduler/run.rs",
            find: "attempts: recovered.attempts.iter().copied().collect(),",
            replace: "attempts: recovered.attempts.iter().map(|(trial, _)| (*trial, 0)).collect(),",
        }],
    },
    Mutant {
        name: "a session that is over comes back",
        guarantee: "fencing: a dead session changes nothing",
        edits: &[
            Edit {
                file: "crates/store/src/memory/state.rs",
                find: "self.sessions.get(index(session)?).filter(|session| !session.over)",
                replace: "self.sessions.get(index(session)?)",
            },
            Edit { file: "worker/src/session/orders.rs", find: "self.executor.fence(&fenced.trials);\n", replace: "" },
        ],
    },
    Mutant {
        name: "live leases are forgotten by a restart",
        guarantee: "leases: one session at a time holds a trial",
        edits: &[Edit {
            file: "coordinator/src/scheduler/run.rs",
            find: "attempts.get(trial).copied().unwrap_or(0) + 1 == lease.epoch;",
            replace: "attempts.get(trial).copied().unwrap_or(0) + 2 == lease.epoch;",
        }],
    },
    Mutant {
        name: "a grant is sent before it is stored",
        guarantee: "leases: one session at a time holds a trial",
        edits: &[
            Edit {
                file: "coordinator/src/dispatcher/act.rs",
                find: "if new && !leases.is_empty() {",
                replace: "self.send_grant(session, claim, leases.clone());\n                if new && !leases.is_empty() {",
            },
            Edit {
                file: "coordinator/src/dispatcher/act.rs",
                find: "                }\n                self.send_grant(session, claim, leases);\n            }",
                replace: "                }\n            }",
            },
        ],
    },
    Mutant {
        name: "a session is over before its worker stops",
        guarantee: "leases: one session at a time holds a trial",
        edits: &[Edit {
            file: "coordinator/src/scheduler/session.rs",
            find: "_ if self.deadline <= now =>",
            replace: "_ if self.deadline <= now + Duration::from_secs(15) =>",
        }],
    },
    Mutant {
        name: "a closed stream ends its session at once",
        guarantee: "leases: one session at a time holds a trial",
        edits: &[Edit {
            file: "coordinator/src/scheduler/session.rs",
            find: "Stream::Closed { at } if at + closed_stream <= now =>",
            replace: "Stream::Closed { at } if at.min(at + closed_stream) <= now =>",
        }],
    },
    Mutant {
        name: "no self-fence",
        guarantee: "self-fencing: a silent coordinator stops the worker",
        edits: &[
            Edit {
                file: "worker/src/session/heartbeat.rs",
                find: "self.renewed + self.self_fence",
                replace: "self.renewed + self.self_fence * 100",
            },
            // The pings of HTTP/2 find a silent coordinator too.
            Edit {
                file: "crates/cli/tests/simulation/network.rs",
                find: "keep_alive_timeout(Duration::from_secs(patience))",
                replace: "keep_alive_timeout(Duration::from_secs(patience * 100))",
            },
        ],
    },
    Mutant {
        name: "calls go on without a stream",
        guarantee: "self-fencing: a silent coordinator stops the worker",
        edits: &[Edit {
            file: "worker/src/session/live.rs",
            find: "self.apart? + self.config.timing.away;",
            replace: "self.apart? + self.config.timing.away * 100;",
        }],
    },
    Mutant {
        name: "no reconcile",
        guarantee: "reconcile: a lost grant is found",
        edits: &[
            Edit {
                file: "coordinator/src/scheduler.rs",
                find: "session.take_unlisted(number, now);",
                replace: "session.take_unlisted(number, Duration::ZERO);",
            },
            Edit {
                file: "coordinator/src/scheduler/new_lease.rs",
                find: "let leases = session.send_again(number, list_by);",
                replace: "session.send_again(number, list_by);\n            let leases = Vec::new();",
            },
        ],
    },
    Mutant {
        name: "acknowledged before it is stored",
        guarantee: "acknowledgement: what is acknowledged is stored",
        edits: &[Edit {
            file: "coordinator/src/dispatcher/commit.rs",
            find: "let committed = self.store.commit(commit, self.clock.now()).await?;",
            replace: "self.links.send(session, Order::Acknowledged { sequence: commit.sequence });\n        \
                      let committed = self.store.commit(commit, self.clock.now()).await?;",
        }],
    },
    Mutant {
        name: "a new stream sends nothing again",
        guarantee: "acknowledgement: what is not acknowledged is sent again",
        edits: &[Edit { file: "worker/src/session/live.rs", find: "self.outbox.rewind();\n", replace: "" }],
    },
    Mutant {
        name: "a worker leaves before all is acknowledged",
        guarantee: "drain: a worker leaves when all is delivered",
        edits: &[Edit {
            file: "worker/src/session/live.rs",
            find: "let done = self.executor.is_idle() && self.outbox.is_empty();",
            replace: "let done = self.executor.is_idle();",
        }],
    },
    Mutant {
        name: "no dedupe",
        guarantee: "dedupe: a batch that comes twice counts once",
        edits: &[
            Edit {
                file: "coordinator/src/dispatcher.rs",
                find: "Order::Welcome { acknowledged, heard: self.now() }",
                replace: "Order::Welcome { acknowledged: 0, heard: self.now() }",
            },
            Edit {
                file: "crates/store/src/memory.rs",
                find: "if commit.sequence <= watermark {",
                replace: "if commit.sequence == 0 {",
            },
            Edit {
                file: "crates/store/src/memory.rs",
                find: "if commit.sequence != watermark + 1 {",
                replace: "if commit.sequence > watermark + 1 {",
            },
        ],
    },
    Mutant {
        name: "a run ends while trials are out",
        guarantee: "exactly once: a run ends when every trial is done",
        edits: &[Edit {
            file: "coordinator/src/scheduler/run.rs",
            find: "if self.leased + waiting == 0 && self.no_more_fresh(now)",
            replace: "if waiting == 0 && self.no_more_fresh(now)",
        }],
    },
    Mutant {
        name: "a resume that fails half way is forgotten",
        guarantee: "resume: a run that is running is played",
        edits: &[Edit {
            file: "coordinator/src/dispatcher.rs",
            find: "self.start_the_unstarted().await;\n",
            replace: "",
        }],
    },
    Mutant {
        name: "a hold is taken before it is over",
        guarantee: "duty: one coordinator is in charge",
        edits: &[Edit {
            file: "crates/store/src/memory/duty.rs",
            find: "Some(until) if until < now =>",
            replace: "Some(until) if until < now + TTL =>",
        }],
    },
    Mutant {
        name: "two coordinators are in charge",
        guarantee: "duty: one coordinator is in charge",
        edits: &[Edit {
            file: "crates/store/src/memory/duty.rs",
            find: "Some(duty) => (duty.epoch + 1, duty.address.clone()),",
            replace: "Some(duty) => (duty.epoch, duty.address.clone()),",
        }],
    },
    Mutant {
        name: "a coordinator that was replaced writes on",
        guarantee: "duty: one coordinator is in charge",
        edits: &[Edit {
            file: "crates/store/src/memory.rs",
            find: "state.duty.as_ref().is_some_and(|duty| !duty.is_of(self.epoch));",
            replace: "state.duty.as_ref().is_some_and(|duty| !duty.is_of(self.epoch)) && self.epoch.is_none();",
        }],
    },
    Mutant {
        name: "a killed worker poisons its trials",
        guarantee: "poison: killed workers poison no innocents",
        edits: &[Edit {
            file: "coordinator/src/scheduler/poison.rs",
            find: "losses.proof += u32::from(proof);",
            replace: "losses.proof += u32::from(begun || proof);",
        }],
    },
    Mutant {
        name: "a call is made before its money is reserved",
        guarantee: "money: never above the budget",
        edits: &[Edit {
            file: "crates/llm/src/money/purse.rs",
            find: "if is_enough {\n            self.reserved += nanos;",
            replace: "if is_enough {\n            self.reserved += 0;",
        }],
    },
    Mutant {
        name: "what workers hold does not count as spent",
        guarantee: "money: never above the budget",
        edits: &[Edit {
            file: "crates/store/src/money.rs",
            find: "Usd((self.granted.0.saturating_sub(self.returned.0)).max(self.settled.0).max(self.charged.0))",
            replace: "Usd(self.settled.0.max(self.charged.0))",
        }],
    },
    Mutant {
        name: "each worker uses the whole limit",
        guarantee: "limits: the fleet keeps to one limit",
        edits: &[Edit {
            file: "crates/llm/src/limit/limiter.rs",
            find: "for (_, bucket) in self.buckets() {\n            bucket.set_share(share);",
            replace: "for (_, bucket) in self.buckets().take(0) {\n            bucket.set_share(share);",
        }],
    },
    Mutant {
        name: "a limit saves up what is unused",
        guarantee: "limits: the fleet keeps to one limit",
        edits: &[Edit {
            file: "crates/llm/src/limit/bucket.rs",
            find: "let later = state.earned_at.max(now) + time;",
            replace: "let later = state.earned_at + time;",
        }],
    },
    Mutant {
        name: "a share does not lapse",
        guarantee: "limits: a share is a lease",
        edits: &[Edit {
            file: "worker/src/session/limits.rs",
            find: "then(|| renewed + SLICE)",
            replace: "then(|| renewed + SLICE * 100)",
        }],
    },
    Mutant {
        name: "a coordinator that starts gives shares at once",
        guarantee: "limits: a share is a lease",
        edits: &[Edit {
            file: "coordinator/src/dispatcher/shares.rs",
            find: "if now < self.quiet_until {",
            replace: "if now < self.quiet_until.min(Duration::ZERO) {",
        }],
    },
    Mutant {
        name: "a 429 pauses nothing",
        guarantee: "errors: one 429 pauses all calls",
        edits: &[Edit {
            file: "crates/llm/src/limit/health.rs",
            find: "let (now, pause) = (Instant::now(), pause.unwrap_or_default());\n        self.pause(pause);",
            replace: "let (now, pause) = (Instant::now(), pause.unwrap_or_default());",
        }],
    },
    Mutant {
        name: "the seed depends on the attempt",
        guarantee: "seeds: another attempt plays the same trial",
        edits: &[Edit {
            file: "worker/src/trial/stage.rs",
            find: "context, seed: ticket.trial.seed, head",
            replace: "context, seed: ticket.trial.seed ^ u64::from(ticket.attempt.epoch - 1), head",
        }],
    },
];

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use super::*;

    #[test]
    fn every_fault_is_in_the_code_that_stands() {
        let names: BTreeSet<&str> = MUTANTS.iter().map(|mutant| mutant.name).collect();
        assert_eq!(names.len(), MUTANTS.len(), "a name is there twice");
        for Edit { file, find, replace } in MUTANTS.iter().flat_map(|mutant| mutant.edits) {
            let text = fs::read_to_string(crate::mutants::top().join(file)).expect(file);
            assert_eq!(text.matches(find).count(), 1, "{file}: {find}");
            assert_ne!(find, replace, "{file}");
        }
    }

    #[test]
    fn a_fault_is_made_in_one_place() {
        let edit = Edit { file: "a.rs", find: "two", replace: "2" };
        assert_eq!(edit.made_in("one two three").expect("one place"), "one 2 three");
        assert!(edit.made_in("one").is_err() && edit.made_in("two two").is_err());
    }
}
