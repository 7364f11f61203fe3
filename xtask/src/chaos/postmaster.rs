//! A PostgreSQL server of its own, whose postmaster can be killed.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::{clock, slow_disk::SlowDisk};

/// The processes of a killed postmaster end a moment later; until then another one refuses to start.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Postmaster {
    folder: tempfile::TempDir,
    disk: Option<SlowDisk>,
    pub(crate) address: String,
}

impl Postmaster {
    pub(crate) fn start(disk: Option<SlowDisk>) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("gabfest-chaos-pg-").tempdir()?;
        // The server refuses to run as root, so another user needs to reach its folder.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        let place = folder.path().join("server");
        let printed = script("start", &place, disk.as_ref())?;
        let address = printed.context("PostgreSQL does not start (apt-get install postgresql)")?;
        Ok(Self { folder, disk, address })
    }

    pub(crate) fn place(&self) -> PathBuf {
        self.folder.path().join("server")
    }

    /// `kill -9`. Returns whether there was a process to kill.
    pub(crate) fn kill(&self) -> bool {
        let text = fs::read_to_string(self.place().join("data/postmaster.pid")).unwrap_or_default();
        let pid = text.lines().next().and_then(|line| line.trim().parse().ok()).and_then(Pid::from_raw);
        pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
    }

    /// How often it called fsync, if that is slow.
    pub(crate) fn slow_calls(&self) -> Option<u64> {
        self.disk.as_ref().map(SlowDisk::calls)
    }

    /// Starts it again after a kill, at the same address.
    pub(crate) fn again(&self) -> anyhow::Result<()> {
        let began = clock::until(STARTS_WITHIN, || script("again", &self.place(), self.disk.as_ref()))?;
        began.map(drop).context("PostgreSQL does not start again")
    }
}

impl Drop for Postmaster {
    fn drop(&mut self) {
        let _ = script("stop", &self.place(), None);
    }
}

/// What it prints; `None`: it failed.
fn script(what: &str, place: &Path, disk: Option<&SlowDisk>) -> anyhow::Result<Option<String>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/store/tests/postgres.sh");
    ensure!(script.exists(), "{} is missing", script.display());
    // Its server outlives it, and must not hold on to our output.
    let mut command = Command::new(script);
    command.arg(what).arg(place).stdin(Stdio::null()).stderr(Stdio::null());
    if let Some(disk) = disk {
        command.envs(disk.variables()).env("GABFEST_FSYNC", "on");
    }
    let output = command.output()?;
    let printed = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok(output.status.success().then_some(printed))
}
