//! Read-only questions about the scheduler: connected workers, held trials, and what a run waits for.

use std::{collections::BTreeSet, time::Duration};

use scenario::RunId;

use super::{Scheduler, run::Run, session::Session};

impl Scheduler {
    #[must_use]
    pub fn knows(&self, session: u64) -> bool {
        self.sessions.contains_key(&session)
    }

    /// Sessions with an open stream.
    #[must_use]
    pub fn connected(&self) -> usize {
        self.sessions.values().filter(|session| session.is_open()).count()
    }

    /// Workers that may get trials of the run.
    #[must_use]
    pub fn players(&self, run: &RunId) -> usize {
        let Some(run) = self.runs.get(run) else { return 0 };
        self.sessions.values().filter(|session| session.takes_part() && session.can_play(run)).count()
    }

    /// Connected sessions in quarantine.
    #[must_use]
    pub fn quarantined(&self) -> usize {
        self.sessions.values().filter(|session| session.is_open() && session.conduct.is_quarantined()).count()
    }

    #[must_use]
    pub fn is_quarantined(&self, session: u64) -> bool {
        self.sessions.get(&session).is_some_and(|session| session.conduct.is_quarantined())
    }

    /// Whether it waits until it can be compared with other workers.
    pub fn is_held_back(&self, session: u64) -> bool {
        self.sessions.get(&session).is_some_and(|session| session.conduct.held_back.is_some())
    }

    /// Trials that the session holds.
    #[must_use]
    pub fn held(&self, session: u64) -> u64 {
        self.sessions.get(&session).map_or(0, Session::count)
    }

    /// The same, by run.
    #[must_use]
    pub fn held_by_run(&self, session: u64) -> Vec<(RunId, u64)> {
        self.sessions.get(&session).map(Session::by_run).unwrap_or_default()
    }

    #[must_use]
    pub fn is_connected(&self, session: u64) -> bool {
        self.sessions.get(&session).is_some_and(Session::is_open)
    }

    /// Whether the session holds trials or may get some. Every session does between runs.
    #[must_use]
    pub fn plays(&self, session: u64) -> bool {
        self.sessions.get(&session).is_some_and(|session| {
            let may_get_some = || {
                !session.conduct.is_quarantined()
                    && (self.runs.is_empty() || self.runs.values().any(|run| session.can_play(run)))
            };
            !session.is_empty() || may_get_some()
        })
    }

    /// The slots of the workers that can play the run, those included that are cut off for the moment.
    #[must_use]
    pub fn slots_for(&self, run: &RunId) -> u64 {
        let Some(run) = self.runs.get(run) else { return 0 };
        let able = self.sessions.values().filter(|session| session.can_play(run));
        able.map(|session| u64::from(session.slots)).sum()
    }

    #[must_use]
    pub fn has_run(&self, run: &RunId) -> bool {
        self.runs.contains_key(run)
    }

    /// Trials of the run that are leased.
    #[must_use]
    pub fn leased(&self, run: &RunId) -> u64 {
        self.runs.get(run).map_or(0, |run| run.leased)
    }

    /// Whether a load that the session can play has conversations that begin when slots become free.
    #[must_use]
    pub fn waits_for_slots(&self, session: u64) -> bool {
        let Some(session) = self.sessions.get(&session).filter(|session| session.takes_part()) else { return false };
        let full =
            |run: &Run| run.lanes.as_ref().is_some_and(|lanes| run.takes_more() && lanes.wait_for_slots(self.now));
        self.runs.values().any(|run| session.can_play(run) && full(run))
    }

    /// When the load of the run began, in microseconds on this scheduler's clock; `None`: it has none, or it has not begun.
    #[must_use]
    pub fn load_began(&self, run: &RunId) -> Option<i64> {
        self.runs.get(run)?.lanes.as_ref()?.began_micros()
    }

    /// How old the load of the run was at the last event; zero before it has begun.
    #[must_use]
    pub fn load_elapsed(&self, run: &RunId) -> Duration {
        self.load_elapsed_at(run, self.now)
    }

    /// How old the load of the run is; zero before it has begun.
    #[must_use]
    pub fn load_elapsed_at(&self, run: &RunId, now: Duration) -> Duration {
        let lanes = self.runs.get(run).and_then(|run| run.lanes.as_ref());
        lanes.and_then(|lanes| lanes.elapsed(now)).unwrap_or_default()
    }

    /// From when on the rates of its load may change, since the load began.
    #[must_use]
    pub fn rates_may_change_from(&self, run: &RunId, now: Duration) -> Duration {
        let lanes = self.runs.get(run).and_then(|run| run.lanes.as_ref());
        lanes.map(|lanes| lanes.may_change_from(now)).unwrap_or_default()
    }

    /// Attempts of the run that were lost so far.
    #[must_use]
    pub fn lost_attempts(&self, run: &RunId) -> u64 {
        self.runs.get(run).map_or(0, |run| run.lost_attempts)
    }

    /// Why trials of the run wait although workers are connected, as a sentence.
    #[must_use]
    pub fn waiting_for(&self, run: &RunId) -> Option<String> {
        let run = self.runs.get(run).filter(|run| run.has_work(self.now))?;
        let mut connected = self.sessions.values().filter(|session| session.is_open()).peekable();
        connected.peek()?;
        let mut strangers: BTreeSet<&str> = run.agents.iter().map(String::as_str).collect();
        for session in connected {
            if session.can_play(run) {
                return None;
            }
            strangers.retain(|agent| !session.agents.contains(*agent));
        }
        let named = |agents: Vec<&str>| match agents.as_slice() {
            [one] => format!("the agent `{one}`"),
            several => format!("the agents `{}`", several.join("`, `")),
        };
        Some(if strangers.is_empty() {
            format!("no connected worker knows all of {}", named(run.agents.iter().map(String::as_str).collect()))
        } else {
            format!("no connected worker knows {}", named(strangers.into_iter().collect()))
        })
    }
}
