//! Watches what a sandboxed program uses in total: the memory of all its processes, and the disk of its trial.
//! The system's own limits apply to one process or one file, so a program with hundreds of either could use everything.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{
    task::spawn_blocking,
    time::{Instant, sleep},
};

use super::limits::Limits;

/// The time between two measurements, unless a measurement takes longer than a tenth of it.
const PERIOD: Duration = Duration::from_millis(100);

/// The resource of which a program uses too much.
#[derive(Debug, thiserror::Error)]
pub(super) enum Excess {
    #[error("stay within {} MiB of memory, with all its processes", .0 >> 20)]
    Memory(u64),
    #[error("stay within {} MiB of disk", .0 >> 20)]
    Disk(u64),
}

/// Returns once the program exceeds a limit.
pub(super) async fn excess(leader: u32, root: &Path, limits: &Limits) -> Excess {
    let (most_memory, most_disk) = (limits.total_memory_bytes, limits.disk_bytes);
    let mut pause = PERIOD;
    loop {
        sleep(pause).await;
        let root = root.to_owned();
        let look = spawn_blocking(move || {
            let began = Instant::now();
            (resident(leader), disk(root, most_disk), began.elapsed())
        });
        let Ok((memory, disk, took)) = look.await else { continue };
        if memory > most_memory {
            return Excess::Memory(most_memory);
        }
        if disk > most_disk {
            return Excess::Disk(most_disk);
        }
        pause = PERIOD.max(took * 10);
    }
}

/// Bytes of memory of a process and all its descendants. Inside the sandbox a process cannot leave its ancestors: an orphan
/// becomes a child of the sandbox's first process.
fn resident(leader: u32) -> u64 {
    let Ok(processes) = fs::read_dir("/proc") else { return 0 };
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut bytes = BTreeMap::new();
    for process in processes.flatten() {
        let Some(id) = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(status) = fs::read_to_string(process.path().join("status")) else { continue };
        children.entry(figure(&status, "PPid:") as u32).or_default().push(id);
        bytes.insert(id, (figure(&status, "RssAnon:") + figure(&status, "RssShmem:")) << 10);
    }
    let (mut sum, mut open) = (0, vec![leader]);
    while let Some(id) = open.pop() {
        sum += bytes.remove(&id).unwrap_or(0);
        open.extend(children.remove(&id).unwrap_or_default());
    }
    sum
}

fn figure(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Bytes of disk below a directory. Stops counting above `most`.
fn disk(root: PathBuf, most: u64) -> u64 {
    let (mut sum, mut open) = (0, vec![root]);
    while let Some(directory) = open.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let Ok(about) = entry.metadata() else { continue };
            sum += about.blocks() * 512;
            if about.is_dir() {
                open.push(entry.path());
            }
            if sum > most {
                return sum;
            }
        }
    }
    sum
}
