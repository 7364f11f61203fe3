//! What goes wrong: faults that strike within a run, and cases that are a run of their own.

use clap::ValueEnum;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Fault {
    /// kill -9 of a worker, which is started again
    KillWorker,
    /// kill -9 of the coordinator, which is started again
    KillCoordinator,
    /// kill -9 of the coordinator and a worker, or all of them, at once
    KillBoth,
    /// SIGSTOP of a worker, then SIGCONT; one in three stands still for longer than its session lives
    PauseWorker,
    /// SIGSTOP of the coordinator, then SIGCONT
    PauseCoordinator,
    /// SIGTERM of a worker, which is started again
    StopWorker,
    /// SIGTERM of the coordinator, which is started again
    StopCoordinator,
    /// Each byte between a worker and the coordinator takes longer
    Delay,
    /// A worker's connections are closed and refused for a while
    Cut,
    /// A worker's connections carry nothing any more, and nobody closes them
    HalfOpen,
    /// 8 KB/s between a worker and the coordinator
    Slow,
    /// A worker's connections are reset in the middle of what they carry
    Reset,
    /// A run in which a worker is killed every 1.5 s, 40 times: no trial may be blamed for it
    KillStorm,
    /// A run in which the coordinator is killed every 12 s, and a worker never comes back
    CrashLoop,
    /// A run in which the disk of the coordinator is full for a while
    FullDisk,
    /// A run of long replies over 8 KB/s with 200 ms delay: no session may be lost
    SlowLink,
    /// All of them
    All,
}

impl Fault {
    pub(crate) const KILLS: [Self; 3] = [Self::KillWorker, Self::KillCoordinator, Self::KillBoth];

    /// A run of its own, that is not drawn into others.
    pub(crate) const fn is_case(self) -> bool {
        matches!(self, Self::KillStorm | Self::CrashLoop | Self::FullDisk | Self::SlowLink)
    }

    pub(crate) fn is_kill(self) -> bool {
        Self::KILLS.contains(&self)
    }

    /// And not the coordinator alone.
    pub(crate) const fn strikes_worker(self) -> bool {
        !matches!(self, Self::KillCoordinator | Self::PauseCoordinator | Self::StopCoordinator)
    }

    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// What was asked for, each once. The cases that take minutes are played when they are asked for.
pub(crate) fn chosen(asked: &[Fault]) -> Vec<Fault> {
    let all = Fault::value_variants().iter().copied().filter(|fault| *fault != Fault::All);
    let takes_minutes = |fault: Fault| matches!(fault, Fault::KillStorm | Fault::CrashLoop | Fault::SlowLink);
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
            short.replace("full-disk", "kill-storm,crash-loop,full-disk,slow-link")
        );
        assert_eq!(list(&chosen(&[Fault::Cut, Fault::KillBoth, Fault::Cut])), "kill-both,cut");
    }
}
