//! How loaded the machines of workers were while they played a load: whether gabfest itself was the bottleneck.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::memory_over_time::MemoryOverTime;

/// An event loop that is later than this moves every time that it measures.
const SLOW_MICROS: u64 = 50_000;
/// With more of its cores busy, a worker does things when it can and not when they are due.
const BUSY_PERMILLE: u32 = 900;
/// Fewer measurements decide nothing.
const LEAST: u64 = 5;
/// The share of measurements that may be bad, and one in any case: a machine has its moments, and the first measurement is
/// of a start.
const BAD_SHARE: f64 = 0.1;

/// What a worker measured between two heartbeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample {
    /// How late its event loop was.
    pub delay_micros: u64,
    /// The CPU time of its process, in thousandths of all cores.
    pub cpu_permille: u32,
    /// The resident memory of its process; 0: unknown.
    pub memory_bytes: u64,
    /// How many files and connections its process has open; 0: unknown.
    pub descriptors: u32,
}

/// The measurements of all workers of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Runner {
    /// One for each heartbeat of each worker.
    pub samples: u64,
    /// Those with an event loop that was late by more than 50 ms.
    pub slow: u64,
    /// Those with more than 90 % of the cores busy.
    pub busy: u64,
    pub max_delay_micros: u64,
    pub max_cpu_permille: u32,
    /// The most files and connections that a worker had open; 0: unknown.
    #[serde(default)]
    pub max_descriptors: u32,
    /// Of the coordinator and of its largest worker.
    #[serde(default)]
    pub memory: MemoryOverTime,
    /// Whether workers had the slots that closed paces ask for.
    #[serde(default)]
    pub slots: SlotsHad,
}

/// How many conversations at once closed paces asked for, and how many the slots of all workers allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SlotsHad {
    /// One when the load began, and one for each heartbeat of each worker.
    pub samples: u64,
    /// Those with fewer slots than were asked for.
    pub short: u64,
    /// Of the sample that lacked the most.
    pub asked: u64,
    pub had: u64,
}

impl SlotsHad {
    pub fn add(&mut self, asked: u64, had: u64) {
        self.samples += 1;
        if had < asked {
            self.short += 1;
            if asked - had > self.asked - self.had {
                (self.asked, self.had) = (asked, had);
            }
        }
    }

    /// Why the agent did not get the load of closed paces; `None` if it did.
    #[must_use]
    pub fn invalid(&self) -> Option<String> {
        let allowed = (BAD_SHARE * self.samples as f64).max(1.0);
        let Self { samples, short, asked, had } = self;
        (*short as f64 > allowed).then(|| {
            format!(
                "the pace asked for {asked} conversations at once, and the workers had {had} slots, in {short} of {samples} measurements; \
                 use more workers or a larger --slots"
            )
        })
    }
}

impl Runner {
    /// `after_ms`: since the load began. `coordinator_bytes`: the coordinator's own memory at that time.
    pub fn add(&mut self, sample: Sample, after_ms: u64, coordinator_bytes: u64) {
        self.samples += 1;
        self.slow += u64::from(sample.delay_micros > SLOW_MICROS);
        self.busy += u64::from(sample.cpu_permille > BUSY_PERMILLE);
        self.max_delay_micros = self.max_delay_micros.max(sample.delay_micros);
        self.max_cpu_permille = self.max_cpu_permille.max(sample.cpu_permille);
        self.max_descriptors = self.max_descriptors.max(sample.descriptors);
        self.memory.add(after_ms, sample.memory_bytes, coordinator_bytes);
    }

    /// Why figures of latency show the machine of a worker and not the agent; `None` if they show the agent.
    #[must_use]
    pub fn invalid(&self) -> Option<String> {
        let allowed = (BAD_SHARE * self.samples as f64).max(1.0);
        let bad = |count: u64| self.samples >= LEAST && count as f64 > allowed;
        let (of, percent) = (self.samples, self.max_cpu_permille / 10);
        if bad(self.busy) {
            Some(format!(
                "workers used more than 90 % of their cores in {} of {of} measurements, {percent} % at most",
                self.busy
            ))
        } else if bad(self.slow) {
            let most = self.max_delay_micros / 1_000;
            Some(format!(
                "event loops of workers were late by more than 50 ms in {} of {of} measurements, {most} ms at most",
                self.slow
            ))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(delay_micros: u64, cpu_permille: u32) -> Sample {
        Sample { delay_micros, cpu_permille, ..Sample::default() }
    }

    #[test]
    fn one_bad_moment_is_forgiven_and_a_busy_machine_is_not() {
        let mut runner = Runner::default();
        (0..3).for_each(|_| runner.add(sample(0, 1_000), 0, 0));
        assert_eq!(runner.invalid(), None, "too few");
        (0..27).for_each(|_| runner.add(sample(400, 500), 0, 0));
        assert_eq!(runner.invalid(), None, "a tenth");
        runner.add(sample(0, 950), 0, 0);
        let expected = "workers used more than 90 % of their cores in 4 of 31 measurements, 100 % at most";
        assert_eq!(runner.invalid().as_deref(), Some(expected));
        let mut runner = Runner::default();
        (0..5).for_each(|_| runner.add(sample(0, 100), 0, 0));
        runner.add(sample(0, 950), 0, 0);
        assert_eq!(runner.invalid(), None, "one of six");
        runner.add(sample(0, 950), 0, 0);
        assert!(runner.invalid().is_some(), "two of seven");
        let mut runner = Runner::default();
        (0..5).for_each(|_| runner.add(sample(70_000, 10), 0, 0));
        let expected = "event loops of workers were late by more than 50 ms in 5 of 5 measurements, 70 ms at most";
        assert_eq!(runner.invalid().as_deref(), Some(expected));
    }

    #[test]
    fn workers_without_the_slots_of_a_pace_make_a_load_invalid() {
        let mut slots = SlotsHad::default();
        slots.add(40, 0);
        (0..9).for_each(|_| slots.add(40, 40));
        assert_eq!((slots.short, slots.invalid()), (1, None), "the load began before all workers were there");
        let mut slots = SlotsHad::default();
        slots.add(40, 30);
        slots.add(40, 20);
        slots.add(0, 20);
        let expected = "the pace asked for 40 conversations at once, and the workers had 20 slots, in 2 of 3 measurements; \
                        use more workers or a larger --slots";
        assert_eq!(slots.invalid().as_deref(), Some(expected));
    }

    #[test]
    fn what_an_earlier_version_stored_is_read() {
        let stored = r#"{"samples":9,"slow":1,"busy":2,"max_delay_micros":3,"max_cpu_permille":4}"#;
        let runner: Runner = serde_json::from_str(stored).unwrap();
        assert_eq!((runner.samples, runner.memory.slices.len(), runner.max_descriptors), (9, 0, 0));
    }
}
