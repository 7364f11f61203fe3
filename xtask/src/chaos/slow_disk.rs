//! A disk on which every fsync takes its time, under a coordinator or under PostgreSQL, while processes are killed.

use std::{
    ffi::OsString,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, ensure};

use super::{
    fault::Fault,
    fleet::{Fleet, Setup},
    place::{MIXED, Place},
    play::{self, Calm},
    result::Outcome,
    script, storm,
};

/// Of each fsync of the coordinator.
const TAKES: Duration = Duration::from_millis(500);

/// Makes the calls of a process slow that wait for a disk.
#[derive(Debug)]
pub(crate) struct SlowDisk {
    folder: tempfile::TempDir,
    takes: Duration,
}

impl SlowDisk {
    pub(crate) fn new(takes: Duration) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("gabfest-chaos-fsync-").tempdir()?;
        let slow = Self { folder, takes };
        fs::write(slow.file("fsync.c"), include_str!("slow_disk/fsync.c"))?;
        let mut compiler = Command::new("cc");
        compiler
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(slow.file("slow.so"))
            .arg(slow.file("fsync.c"))
            .arg("-ldl");
        let built = compiler.output().context("failed to start cc (apt-get install gcc)")?;
        ensure!(built.status.success(), "cc failed: {}", String::from_utf8_lossy(&built.stderr));
        fs::write(slow.log(), "")?;
        // PostgreSQL has a user of its own.
        for (path, mode) in [(slow.folder.path().to_owned(), 0o755), (slow.file("slow.so"), 0o755), (slow.log(), 0o666)]
        {
            fs::set_permissions(path, Permissions::from_mode(mode))?;
        }
        Ok(slow)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn log(&self) -> PathBuf {
        self.file("log")
    }

    /// The variables of a process, and of those that it starts.
    pub(crate) fn variables(&self) -> [(&'static str, OsString); 3] {
        [
            ("LD_PRELOAD", self.file("slow.so").into_os_string()),
            ("SLOW_FSYNC_MS", self.takes.as_millis().to_string().into()),
            ("SLOW_FSYNC_LOG", self.log().into_os_string()),
        ]
    }

    /// The calls so far.
    pub(crate) fn calls(&self) -> u64 {
        fs::metadata(self.log()).map_or(0, |log| log.len())
    }
}

pub(crate) fn play(seed: u64, place: &Place, calm: &Calm) -> anyhow::Result<Outcome> {
    let disk = SlowDisk::new(TAKES)?;
    let assigned = disk.variables().into_iter().map(|(name, value)| {
        let mut assigned = OsString::from(format!("{name}="));
        assigned.push(value);
        assigned
    });
    let before = std::iter::once("env".into()).chain(assigned).collect();
    let mut fleet = Fleet::new(place, "slow-disk", &MIXED, Setup { before, ..storm::setup(seed) })?;
    // Each batch of leases and of results waits for the disk, which is about one wait for a trial.
    let waits = TAKES * u32::try_from(calm.trials).unwrap_or(u32::MAX);
    let calm = Calm { took: calm.took + waits, ..calm.clone() };
    let script = script::one_of_each_kill(calm.took);
    let mut outcome = play::play(&mut fleet, Outcome::new("slow disk", script), &calm)?;
    outcome.struck.insert(Fault::SlowDisk, 1);
    outcome.note = format!("{} calls of fsync took {} ms each", disk.calls(), TAKES.as_millis());
    if disk.calls() == 0 {
        outcome.broken.push("the coordinator never called fsync".to_owned());
    }
    Ok(outcome)
}
