//! How loaded this machine is: measured from heartbeat to heartbeat, so that a load can tell whether gabfest was the bottleneck.

use std::{thread::available_parallelism, time::Duration};

use proto::v1;
use telemetry::process;
use tokio::time::Instant;

#[derive(Debug)]
pub(super) struct Machine {
    cores: u32,
    since: Instant,
    /// The CPU time of this process until then.
    used: Duration,
}

impl Machine {
    pub(super) fn new(now: Instant) -> Self {
        let cores = available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX));
        Self { cores, since: now, used: cpu_time() }
    }

    /// What was measured since the last time. `due`: when the heartbeat was to be sent.
    pub(super) fn measured(&mut self, due: Instant, now: Instant) -> v1::Runner {
        let used = cpu_time();
        let (wall, busy) = (now.saturating_duration_since(self.since), used.saturating_sub(self.used));
        (self.since, self.used) = (now, used);
        let all = wall.as_secs_f64() * f64::from(self.cores);
        let share = if all > 0.0 { busy.as_secs_f64() / all } else { 0.0 };
        let delay = now.saturating_duration_since(due).as_micros();
        v1::Runner {
            delay_micros: u64::try_from(delay).unwrap_or(u64::MAX),
            cpu_permille: (share * 1_000.0).min(1_000.0) as u32,
            memory_bytes: process::resident_bytes(),
            descriptors: process::open_descriptors(),
        }
    }
}

/// Zero where the system does not tell.
#[cfg(unix)]
fn cpu_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};

    let time = clock_gettime(ClockId::ProcessCPUTime);
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    seconds.ok().zip(nanos.ok()).map_or(Duration::ZERO, |(seconds, nanos)| Duration::new(seconds, nanos))
}

#[cfg(not(unix))]
fn cpu_time() -> Duration {
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_thread_is_one_core() {
        let mut machine = Machine::new(Instant::now());
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(50) {
            std::hint::spin_loop();
        }
        let now = Instant::now();
        let measured = machine.measured(began, now);
        assert!(measured.cpu_permille > 0 && measured.delay_micros >= 50_000, "{measured:?}");
        assert_eq!(machine.measured(now, now).delay_micros, 0);
        if cfg!(target_os = "linux") {
            assert!(measured.memory_bytes > 1 << 20, "{measured:?}");
        }
    }
}
