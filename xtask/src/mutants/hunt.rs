//! Plays seeds in parts, as many at a time as there are processors, until one is violated.

use std::{
    fs::File,
    io::{Read as _, Seek as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context as _, bail};
use rustix::{
    io::Errno,
    process::{Pid, Resource, Rlimit, prlimit},
};

use crate::chaos::clock::now;

const TEST: &str = "everything_is_as_without_faults_whatever_fails";
/// Seeds that one process plays.
const PART: u64 = 10;
/// A part takes about this many seconds. A mutant may spin in a circle without letting simulated time pass.
const LONGEST: Duration = Duration::from_secs(600);
/// A process has no more memory than this. A mutant may collect messages without end.
const MOST_BYTES: u64 = 4 << 30;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// How a mutant was caught.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Caught {
    pub(super) seed: u64,
    pub(super) check: String,
}

/// The first violation among the seeds from 0, or `None`.
pub(super) fn hunt(test: &Path, seeds: u64) -> anyhow::Result<Option<Caught>> {
    let (next, first) = (AtomicU64::new(0), Mutex::new(None));
    let hunters = thread::available_parallelism().map_or(1, usize::from);
    let one = || -> anyhow::Result<()> {
        loop {
            let start = next.fetch_add(PART, Ordering::Relaxed);
            let is_needed = || lock(&first).as_ref().is_none_or(|caught: &Caught| caught.seed > start);
            if start >= seeds || !is_needed() {
                return Ok(());
            }
            if let Some(caught) = play(test, start, PART.min(seeds - start), is_needed)? {
                let mut first = lock(&first);
                if first.as_ref().is_none_or(|before| before.seed > caught.seed) {
                    *first = Some(caught);
                }
            }
        }
    };
    thread::scope(|scope| {
        let hunters: Vec<_> = (0..hunters).map(|_| scope.spawn(one)).collect();
        hunters.into_iter().try_for_each(|hunter| hunter.join().unwrap_or_else(|_| bail!("a hunter panicked")))
    })?;
    Ok(first.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Plays some seeds in a process. It is stopped when nobody needs it any more.
fn play(test: &Path, first: u64, seeds: u64, is_needed: impl Fn() -> bool) -> anyhow::Result<Option<Caught>> {
    let mut said = tempfile::tempfile()?;
    let child = Command::new(test)
        .args(["--exact", TEST])
        .env("GABFEST_SEEDS", seeds.to_string())
        .env("GABFEST_FIRST_SEED", first.to_string())
        .stdout(said.try_clone()?)
        .stderr(said.try_clone()?)
        .stdin(Stdio::null())
        .spawn()
        .with_context(|| format!("failed to start {}", test.display()))?;
    let mut child = Killed(child);
    limit_memory(&child.0)?;
    let began = now();
    let ended = loop {
        if let Some(ended) = child.0.try_wait()? {
            break ended;
        }
        if !is_needed() {
            return Ok(None);
        }
        if began.elapsed() > LONGEST {
            let check = format!("no end within {} s of real time", LONGEST.as_secs());
            return Ok(Some(Caught { seed: first, check }));
        }
        thread::sleep(BETWEEN_LOOKS);
    };
    let text = read(&mut said)?;
    if ended.success() {
        // A renamed test would pass without running.
        return if text.contains("1 passed") { Ok(None) } else { bail!("the simulation was not found:\n{text}") };
    }
    let nameless = || text.contains("memory allocation of").then(|| Caught { seed: first, check: "memory".to_owned() });
    let caught = caught(&text, first).or_else(nameless);
    caught.map(Some).with_context(|| format!("the simulation failed without naming a seed ({ended}):\n{text}"))
}

/// From outside: inside, it would need a call between fork and exec.
fn limit_memory(child: &Child) -> anyhow::Result<()> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let limit = Rlimit { current: Some(MOST_BYTES), maximum: Some(MOST_BYTES) };
    match prlimit(pid, Resource::As, limit) {
        // It has ended already.
        Ok(_) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error).context("failed to limit the memory of the simulation"),
    }
}

/// What the test says of a violation: `seed 7: name of the check: what was wrong`.
fn caught(said: &str, first: u64) -> Option<Caught> {
    let of_seed = |line: &str| {
        let (seed, violation) = line.split_once("seed ")?.1.split_once(": ")?;
        let check = violation.split_once(": ").map_or(violation, |(check, _)| check);
        Some(Caught { seed: seed.parse().ok()?, check: check.to_owned() })
    };
    // The script without faults, which is played first.
    let without = || {
        let violation = said.lines().find_map(|line| line.split_once("without faults: "))?.1;
        Some(Caught { seed: first, check: format!("without faults: {violation}") })
    };
    said.lines().find_map(of_seed).or_else(without)
}

fn read(said: &mut File) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    said.rewind()?;
    said.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A process that does not outlive its hunter.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It fails only if the process has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_names_its_seed_and_its_check() {
        let rows = [
            ("running 1 test\nseed 17: sums: [1] do not add up: 3\nseed 18: money: x", Some((17, "sums"))),
            ("panicked at main.rs:78:13:\nseed 3: it ends: after 900 s\n", Some((3, "it ends"))),
            ("without faults: it ends: never", Some((20, "without faults: it ends: never"))),
            ("a segmentation fault", None),
        ];
        for (said, expected) in rows {
            let expected = expected.map(|(seed, check): (u64, &str)| Caught { seed, check: check.to_owned() });
            assert_eq!(caught(said, 20), expected, "{said}");
        }
    }
}
