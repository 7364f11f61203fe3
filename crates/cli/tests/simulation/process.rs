//! A process on a machine of the simulated network. It has a runtime of its own, which goes on step by step with the network, or
//! is paused: then nothing of it runs, and afterwards all of its timers are overdue at once. Its machine goes on meanwhile.

use std::{cell::Cell, time::Duration};

use tokio::{
    runtime::{Builder, Runtime},
    task::{JoinHandle, yield_now},
    time::{Instant, advance, sleep},
};

/// Rounds of tasks at the end of a step: what its last timers woke is done before the messages of the next step arrive, as it
/// would be without steps.
const SETTLES: u32 = 16;

thread_local! {
    /// When the present step began, and by the clock of the process that runs.
    static STEP: Cell<(Duration, Option<Instant>)> = const { Cell::new((Duration::ZERO, None)) };
}

/// How long there has been a world.
pub(crate) fn now() -> Duration {
    let (at, began) = STEP.get();
    at + began.map_or(Duration::ZERO, |began| began.elapsed())
}

/// A step of the world begins, outside of processes.
pub(crate) fn begin_step(at: Duration) {
    STEP.set((at, None));
}

#[derive(Debug)]
pub(crate) struct Process {
    runtime: Runtime,
    main: JoinHandle<anyhow::Result<()>>,
    paused_until: Duration,
    /// What its clock is behind.
    missed: Duration,
}

impl Process {
    pub(crate) fn start(main: impl Future<Output = anyhow::Result<()>> + Send + 'static) -> Self {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        // Timers fire at whole milliseconds.
        runtime.block_on(async { sleep(Duration::from_millis(1)).await });
        let main = runtime.spawn(main);
        Self { runtime, main, paused_until: Duration::ZERO, missed: Duration::ZERO }
    }

    pub(crate) fn pause_until(&mut self, end: Duration) {
        self.paused_until = self.paused_until.max(end);
    }

    /// Lives through the present step. Returns how it ended, if it has.
    pub(crate) fn live(&mut self, step: Duration) -> Option<anyhow::Result<()>> {
        let at = now();
        if at < self.paused_until {
            self.missed += step;
            return None;
        }
        let missed = std::mem::take(&mut self.missed);
        self.runtime.block_on(async {
            STEP.set((at, Some(Instant::now() + missed)));
            if missed > Duration::ZERO {
                advance(missed).await;
            }
            sleep(step).await;
            for _ in 0..SETTLES {
                yield_now().await;
            }
        });
        STEP.set((at, None));
        self.main.is_finished().then(|| self.runtime.block_on(&mut self.main).unwrap())
    }
}
