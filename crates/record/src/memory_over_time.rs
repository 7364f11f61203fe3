//! The memory of gabfest's own processes over time: a bounded number of slices, so that it does not grow itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The store keeps all of them with every few heartbeats.
const MOST: usize = 60;
/// A heartbeat.
const FIRST_WIDTH_MS: u64 = 2_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryOverTime {
    /// The width of every slice: 2 s, doubled until at most 60 slices cover the load.
    pub width_ms: u64,
    pub slices: Vec<MemorySlice>,
}

/// The most that was measured in a slice; 0: nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct MemorySlice {
    /// The resident memory of the largest worker.
    pub worker_bytes: u64,
    /// The resident memory of the coordinator. It begins anew when the coordinator restarts.
    pub coordinator_bytes: u64,
}

impl Default for MemoryOverTime {
    fn default() -> Self {
        Self { width_ms: FIRST_WIDTH_MS, slices: Vec::new() }
    }
}

impl MemoryOverTime {
    /// `after_ms`: since the load began.
    pub fn add(&mut self, after_ms: u64, worker_bytes: u64, coordinator_bytes: u64) {
        let mut place = self.place(after_ms);
        while place >= MOST {
            self.double();
            place = self.place(after_ms);
        }
        if place >= self.slices.len() {
            self.slices.resize(place + 1, MemorySlice::default());
        }
        self.slices[place].include(MemorySlice { worker_bytes, coordinator_bytes });
    }

    /// The coordinator is another process from now on: what the last one used is no part of its growth.
    pub fn coordinator_restarted(&mut self) {
        self.slices.iter_mut().for_each(|slice| slice.coordinator_bytes = 0);
    }

    fn place(&self, after_ms: u64) -> usize {
        usize::try_from(after_ms / self.width_ms).unwrap_or(usize::MAX)
    }

    fn double(&mut self) {
        self.width_ms = self.width_ms.saturating_mul(2);
        let mut wider: Vec<MemorySlice> = Vec::with_capacity(self.slices.len().div_ceil(2));
        for pair in self.slices.chunks(2) {
            let mut both = MemorySlice::default();
            pair.iter().for_each(|slice| both.include(*slice));
            wider.push(both);
        }
        self.slices = wider;
    }
}

impl MemorySlice {
    fn include(&mut self, other: Self) {
        self.worker_bytes = self.worker_bytes.max(other.worker_bytes);
        self.coordinator_bytes = self.coordinator_bytes.max(other.coordinator_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_take_as_many_slices_as_minutes() {
        let mut memory = MemoryOverTime::default();
        for beat in 0..10_800_u64 {
            memory.add(beat * 2_000, 1_000 + beat, 7);
        }
        assert_eq!((memory.width_ms, memory.slices.len()), (512_000, 43));
        // 256 heartbeats each.
        assert_eq!(memory.slices[1], MemorySlice { worker_bytes: 1_511, coordinator_bytes: 7 });
        assert_eq!(memory.slices[42].worker_bytes, 11_799);
        memory.coordinator_restarted();
        assert!(memory.slices.iter().all(|slice| slice.coordinator_bytes == 0 && slice.worker_bytes > 0));
        let read: MemoryOverTime = serde_json::from_str(&serde_json::to_string(&memory).unwrap()).unwrap();
        assert_eq!(read, memory);
    }

    #[test]
    fn a_clock_that_jumps_costs_slices_and_no_memory() {
        let mut memory = MemoryOverTime::default();
        memory.add(0, 5, 0);
        memory.add(u64::MAX / 2, 9, 0);
        assert!(memory.slices.len() <= MOST, "{}", memory.slices.len());
        assert_eq!(memory.slices[0].worker_bytes, 5);
    }
}
