//! Waits for the due time of an arrival: with a timerfd on Linux, since the runtime's timer ticks once a millisecond.

use tokio::time::{Instant, sleep_until};

/// Which timer a worker paces its starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Timer {
    /// tokio's, late by up to 2 ms. The only one that a paused clock moves.
    #[default]
    Runtime,
    /// A timerfd, late by about 50 µs, or else the runtime's timer.
    Precise,
}

#[derive(Debug)]
pub struct Pacer {
    precise: Option<precise::Timer>,
}

impl Pacer {
    /// Must be called within a runtime.
    #[must_use]
    pub fn new(timer: Timer) -> Self {
        let precise = match timer {
            Timer::Runtime => None,
            Timer::Precise => precise::Timer::new(),
        };
        Self { precise }
    }

    /// Which timer it has.
    #[must_use]
    pub fn timer(&self) -> Timer {
        if self.precise.is_some() { Timer::Precise } else { Timer::Runtime }
    }

    /// Waits until then; for ever without a time. May be dropped and asked again at any moment.
    pub async fn wait_until(&mut self, time: Option<Instant>) {
        match (time, &mut self.precise) {
            (None, _) => std::future::pending().await,
            (Some(time), None) => sleep_until(time).await,
            (Some(time), Some(timer)) => {
                if timer.wait_until(time).await.is_err() {
                    // The system took the descriptor away. Starts go on, less precisely.
                    self.precise = None;
                    sleep_until(time).await;
                }
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod precise {
    use std::{io, os::fd::OwnedFd};

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
    };
    use tokio::{
        io::{Interest, unix::AsyncFd},
        time::Instant,
    };

    #[derive(Debug)]
    pub(super) struct Timer {
        descriptor: AsyncFd<OwnedFd>,
        /// Set for this time and not gone off, so that a wait that is asked again costs no system call.
        set_for: Option<Instant>,
    }

    impl Timer {
        #[expect(
            deprecated,
            reason = "an OwnedFd stays the same descriptor until it is dropped; what replaces it is unsafe"
        )]
        pub(super) fn new() -> Option<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let descriptor = timerfd_create(TimerfdClockId::Monotonic, flags).ok()?;
            let descriptor = AsyncFd::with_interest(descriptor, Interest::READABLE).ok()?;
            Some(Self { descriptor, set_for: None })
        }

        pub(super) async fn wait_until(&mut self, time: Instant) -> io::Result<()> {
            let left = time.saturating_duration_since(Instant::now());
            // A time of zero would unset it.
            if left.is_zero() {
                return Ok(());
            }
            if self.set_for != Some(time) {
                let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
                let tv_sec = i64::try_from(left.as_secs()).unwrap_or(i64::MAX);
                let it_value = Timespec { tv_sec, tv_nsec: left.subsec_nanos().into() };
                let value = Itimerspec { it_interval, it_value };
                timerfd_settime(&self.descriptor, TimerfdTimerFlags::empty(), &value)?;
                self.set_for = Some(time);
            }
            loop {
                let mut ready = self.descriptor.readable().await?;
                let mut count = [0; 8];
                // It would block if it was set again after it expired.
                if let Ok(read) = ready.try_io(|timer| Ok(rustix::io::read(timer.get_ref(), &mut count)?)) {
                    self.set_for = None;
                    return read.map(|_| ());
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod precise {
    use std::io;

    use tokio::time::Instant;

    #[derive(Debug)]
    pub(super) enum Timer {}

    impl Timer {
        pub(super) fn new() -> Option<Self> {
            None
        }

        pub(super) async fn wait_until(&mut self, _: Instant) -> io::Result<()> {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt as _;

    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    #[tokio::test]
    async fn both_timers_wait_at_least_as_long_as_they_should() {
        for timer in [Timer::Runtime, Timer::Precise] {
            let mut pacer = Pacer::new(timer);
            for wait in [0, 1, 3] {
                let time = Instant::now() + wait * MILLISECOND;
                pacer.wait_until(Some(time)).await;
                assert!(Instant::now() >= time, "{timer:?}, {wait} ms");
            }
        }
    }

    #[tokio::test]
    async fn a_wait_that_was_dropped_is_asked_again_for_another_time() {
        let mut pacer = Pacer::new(Timer::Precise);
        let began = Instant::now();
        // It expires while nothing waits.
        assert_eq!(pacer.wait_until(Some(began + 50 * MILLISECOND)).now_or_never(), None);
        sleep_until(began + 60 * MILLISECOND).await;
        let later = Instant::now() + 3 * MILLISECOND;
        pacer.wait_until(Some(later)).await;
        assert!(Instant::now() >= later, "the earlier time is forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_time_it_waits_for_ever_and_a_paused_clock_moves_the_runtime_s_timer() {
        let mut pacer = Pacer::new(Timer::default());
        let hour = Duration::from_secs(3_600);
        assert!(tokio::time::timeout(hour, pacer.wait_until(None)).await.is_err());
        let time = Instant::now() + hour;
        pacer.wait_until(Some(time)).await;
        assert_eq!(Instant::now(), time);
    }
}
