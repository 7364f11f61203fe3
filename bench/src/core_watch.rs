//! Whether a core keeps its speed: each millisecond, a loop times the same arithmetic. Run it with real-time priority, so
//! that no other process of the core makes it slow.

use std::{hint::black_box, thread::sleep, time::Duration};

use tokio::time::Instant;

use crate::wall_clock::unix_micros;

/// About 10 µs.
const STEPS: u64 = 12_000;

/// When the arithmetic began, in unix microseconds, and how long it took.
pub(crate) fn watch(seconds: u32) -> Vec<(u64, Duration)> {
    let begin = Instant::now();
    let mut times = Vec::with_capacity(seconds as usize * 1_000);
    for number in 1..=seconds * 1_000 {
        let due = begin + Duration::from_millis(u64::from(number));
        sleep(due.saturating_duration_since(Instant::now()));
        let (at, began) = (unix_micros(), Instant::now());
        black_box((0..STEPS).fold(1_u64, |sum, step| black_box(sum.wrapping_mul(3).wrapping_add(step))));
        times.push((at, began.elapsed()));
    }
    times
}
