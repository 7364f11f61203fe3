//! Questions about the scheduler: who is connected, who holds what, and what a run waits for.

use std::collections::BTreeSet;

use scenario::RunId;

use super::{
    Scheduler,
    session::{Session, Stream},
};

impl Scheduler {
    #[must_use]
    pub fn knows(&self, session: u64) -> bool {
        self.sessions.contains_key(&session)
    }

    /// Sessions with an open stream.
    #[must_use]
    pub fn connected(&self) -> usize {
        self.sessions.values().filter(|session| session.stream == Stream::Open).count()
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
        self.sessions.get(&session).is_some_and(|session| session.stream == Stream::Open)
    }

    /// Whether the session holds trials or may get some. Every session does between runs.
    #[must_use]
    pub fn plays(&self, session: u64) -> bool {
        self.sessions.get(&session).is_some_and(|session| {
            !session.is_empty() || self.runs.is_empty() || self.runs.values().any(|run| session.can_play(run))
        })
    }

    /// Trials of the run that are leased.
    #[must_use]
    pub fn leased(&self, run: &RunId) -> u64 {
        self.runs.get(run).map_or(0, |run| run.leased)
    }

    /// Attempts of the run that were lost so far.
    #[must_use]
    pub fn lost_attempts(&self, run: &RunId) -> u64 {
        self.runs.get(run).map_or(0, |run| run.lost_attempts)
    }

    /// Why trials of the run wait although workers are connected, in words.
    #[must_use]
    pub fn waiting_for(&self, run: &RunId) -> Option<String> {
        let run = self.runs.get(run).filter(|run| run.has_work())?;
        let mut connected = self.sessions.values().filter(|session| session.stream == Stream::Open).peekable();
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
