//! The faults of a world: random ones, and those of its script.

use std::time::Duration;

use scenario::RunId;

use super::world::{Checked, World};

/// How long a worker that was killed takes to come back.
const BACK: Duration = Duration::from_millis(500);
const NEVER: Duration = Duration::from_secs(1_000_000);

impl World {
    /// Faults with a fixed time. They strike even after the world is healed.
    pub(super) fn scripted_faults(&mut self) {
        while self.script.kills.first().is_some_and(|at| *at <= self.now) {
            self.script.kills.remove(0);
            let index = self.chance.below(self.workers.len() as u64) as usize;
            self.crash(index);
            self.workers[index].frozen_until = self.now + BACK;
        }
        if let Some((index, _)) = self.script.dead.take_if(|(_, at)| *at <= self.now) {
            self.workers[index].frozen_until = NEVER;
        }
        if let Some(every) = self.script.crash_loop.filter(|_| self.next_crash <= self.now) {
            self.next_crash = self.now + every;
            self.kill_coordinator(BACK);
        }
    }

    fn kill_coordinator(&mut self, down: Duration) {
        self.restart_at = Some(self.now + down);
        self.asleep_until = Duration::ZERO;
        for index in 0..self.workers.len() {
            self.workers[index].close();
            if self.script.embedded {
                self.workers[index].reset();
            }
        }
        self.closing.clear();
    }

    pub(super) fn fault(&mut self) -> Checked {
        let index = self.chance.below(self.workers.len() as u64) as usize;
        match self.chance.below(400) {
            0 | 1 => self.crash(index),
            2..=5 => self.close(index),
            6 => {
                self.workers[index].frozen_until = self.now + Duration::from_millis(self.chance.below(60_000));
            }
            7 => self.workers[index].leaving = true,
            8 => {
                let down = Duration::from_millis(self.chance.below(12_000));
                self.kill_coordinator(down);
            }
            9 => self.asleep_until = self.now + Duration::from_millis(self.chance.below(70_000)),
            10 if self.is_up() => {
                let run = self.any_run();
                self.stop(&run)?;
            }
            11..=13 if self.is_up() => {
                let run = self.any_run();
                self.pause_or_resume(&run)?;
            }
            14..=16 if self.is_up() => {
                let run = self.any_run();
                self.set_rate(&run)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn any_run(&mut self) -> RunId {
        RunId::new(format!("run-{}", self.chance.below(self.script.planned.len() as u64)))
    }

    pub(super) fn crash(&mut self, index: usize) {
        self.close(index);
        self.workers[index].reset();
        self.workers[index].frozen_until = self.now + Duration::from_millis(self.chance.below(8_000));
    }

    pub(super) fn close(&mut self, index: usize) {
        let worker = &mut self.workers[index];
        if let (true, Some(session)) = (worker.connected, worker.session) {
            self.closing.push((self.now + Duration::from_millis(self.chance.below(2_000)), session));
        }
        worker.close();
    }
}
