//! Recent losses of workers: a loss among others is no evidence against the trials of that worker.

use std::{collections::VecDeque, time::Duration};

/// Workers that are lost within this time may have been lost for the same reason.
const CALM: Duration = Duration::from_secs(10);
/// How many losses are remembered.
const MOST: usize = 256;

/// Which loss of a worker, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loss(u64);

#[derive(Debug)]
pub(super) struct Unrest {
    /// Losses before this are unknown.
    began: Duration,
    lost: VecDeque<(Duration, Loss)>,
    count: u64,
}

impl Unrest {
    pub(super) fn since(now: Duration) -> Self {
        Self { began: now, lost: VecDeque::new(), count: 0 }
    }

    /// The coordinator slept: losses before now are unknown.
    pub(super) fn overslept(&mut self, now: Duration) {
        self.began = now;
    }

    pub(super) fn add(&mut self, now: Duration) -> Loss {
        self.count += 1;
        let loss = Loss(self.count);
        self.lost.push_back((now, loss));
        if self.lost.len() > MOST {
            self.lost.pop_front();
        }
        loss
    }

    /// Whether no worker was lost for [`CALM`].
    pub(super) fn is_calm(&self, now: Duration) -> bool {
        self.is_calm_but_for(now, &[])
    }

    /// Whether no other workers were lost from [`CALM`] before `since` on.
    pub(super) fn is_calm_but_for(&self, since: Duration, known: &[Loss]) -> bool {
        self.began + CALM <= since && self.only(since, known)
    }

    /// The same for known losses: other workers may have been lost before the coordinator started.
    pub(super) fn only(&self, since: Duration, known: &[Loss]) -> bool {
        self.lost.iter().filter(|(at, _)| *at + CALM > since).all(|(_, loss)| known.contains(loss))
    }
}
