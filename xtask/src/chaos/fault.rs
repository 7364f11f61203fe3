//! The faults: those that occur within a run, and cases that need a separate run.

use clap::ValueEnum;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Fault {
    /// kill -9 of a worker, which restarts
    KillWorker,
    /// kill -9 of the coordinator, which restarts
    KillCoordinator,
    /// kill -9 of the coordinator and a worker, or all of them, at once
    KillBoth,
    /// SIGSTOP of a worker, then SIGCONT; one in three pauses for longer than the session timeout
    PauseWorker,
    /// SIGSTOP of the coordinator, then SIGCONT
    PauseCoordinator,
    /// SIGTERM of a worker, which restarts
    StopWorker,
    /// SIGTERM of the coordinator, which restarts
    StopCoordinator,
    /// Delay on the link between a worker and the coordinator
    Delay,
    /// Closed and refused connections of a worker for a while
    Cut,
    /// Half-open connections of a worker, which carry nothing and are not closed
    HalfOpen,
    /// A link of 8 KB/s between a worker and the coordinator
    Slow,
    /// Resets of a worker's connections in the middle of a message
    Reset,
    /// A run with a worker killed every 1.5 s, 24 times: no trial may be poisoned
    KillStorm,
    /// A run with the coordinator killed every 12 s, and a worker that never returns
    CrashLoop,
    /// A run with a full disk of the coordinator for a while
    FullDisk,
    /// A run with a coordinator whose every fsync takes 500 ms, while it and workers are killed
    SlowDisk,
    /// A run with long replies over 8 KB/s with 200 ms delay: no session may be lost
    SlowLink,
    /// All of them
    All,
}

impl Fault {
    pub(crate) const KILLS: [Self; 3] = [Self::KillWorker, Self::KillCoordinator, Self::KillBoth];

    /// Whether it needs a separate run.
    pub(crate) const fn is_case(self) -> bool {
        matches!(self, Self::KillStorm | Self::CrashLoop | Self::FullDisk | Self::SlowDisk | Self::SlowLink)
    }

    pub(crate) fn is_kill(self) -> bool {
        Self::KILLS.contains(&self)
    }

    /// Whether it strikes more than the coordinator.
    pub(crate) const fn strikes_worker(self) -> bool {
        !matches!(self, Self::KillCoordinator | Self::PauseCoordinator | Self::StopCoordinator)
    }

    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// The selected faults, without duplicates. Cases that take minutes must be selected explicitly.
pub(crate) fn chosen(asked: &[Fault]) -> Vec<Fault> {
    let all = Fault::value_variants().iter().copied().filter(|fault| *fault != Fault::All);
    let takes_minutes =
        |fault: Fault| matches!(fault, Fault::KillStorm | Fault::CrashLoop | Fault::SlowDisk | Fault::SlowLink);
    if asked.contains(&Fault::All) {
        all.collect()
    } else if asked.is_empty() {
        all.filter(|fault| !takes_minutes(*fault)).collect()
    } else {
        all.filter(|fault| asked.contains(fault)).collect()
    }
}

pub(crate) fn list(faults: &[Fault]) -> String {
    faults.iter().map(|fault| fault.name()).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_that_take_minutes_are_asked_for() {
        let short = list(&chosen(&[]));
        assert_eq!(
            short,
            "kill-worker,kill-coordinator,kill-both,pause-worker,pause-coordinator,stop-worker,stop-coordinator,\
             delay,cut,half-open,slow,reset,full-disk"
        );
        assert_eq!(
            list(&chosen(&[Fault::All])),
            short.replace("full-disk", "kill-storm,crash-loop,full-disk,slow-disk,slow-link")
        );
        assert_eq!(list(&chosen(&[Fault::Cut, Fault::KillBoth, Fault::Cut])), "kill-both,cut");
    }
}
