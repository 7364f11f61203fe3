//! The coordinator's disk is full for a while: the run stops with this reason and continues when there is space again.

use std::{
    ffi::OsString,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, ensure};

use super::{
    clock::{self, TICK, now},
    fault::Fault,
    fleet::{Fleet, RUN},
    place::{MIXED, Place},
    play::{self, Calm},
    process::{Role, tail},
    result::Outcome,
    storm::setup,
};

const SIZE: &str = "64m";
/// The time from a full disk to the watcher's message.
const SAID_WITHIN: Duration = Duration::from_secs(60);
const REASONS: [&str; 3] = ["full", "no space", "disk"];

/// A small file system that only the coordinator sees: a mount namespace needs no root rights if users may create them.
#[derive(Debug)]
struct Disk {
    holder: Child,
    mount: PathBuf,
}

impl Disk {
    /// `None`: this machine does not allow it.
    fn new(mount: &Path) -> anyhow::Result<Option<Self>> {
        std::fs::create_dir_all(mount)?;
        let script = format!("mount -t tmpfs -o size={SIZE} tmpfs \"$1\" && touch \"$1/there\" && exec sleep 3600");
        let holder = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"])
            .arg(mount)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(holder) = holder else { return Ok(None) };
        let mut disk = Self { holder, mount: mount.to_owned() };
        let there = disk.seen_outside("there");
        let made = clock::until(Duration::from_secs(20), || {
            Ok(if disk.holder.try_wait()?.is_some() { Some(false) } else { there.exists().then_some(true) })
        })?;
        Ok((made == Some(true)).then_some(disk))
    }

    /// The path of one of its files for processes outside.
    fn seen_outside(&self, name: &str) -> PathBuf {
        let mount = self.mount.strip_prefix("/").unwrap_or(&self.mount);
        PathBuf::from(format!("/proc/{}/root", self.holder.id())).join(mount).join(name)
    }

    /// The prefix of a command that runs inside.
    fn inside(&self) -> Vec<OsString> {
        let holder = self.holder.id().to_string();
        ["nsenter", "--preserve-credentials", "--user", "--mount", "--target", &holder, "--"]
            .into_iter()
            .map(OsString::from)
            .collect()
    }

    /// Fills it completely.
    fn fill(&self) -> anyhow::Result<()> {
        let mut filler = std::fs::File::create(self.seen_outside("filler")).context("failed to fill the disk")?;
        for size in [1 << 20, 1 << 10, 1] {
            while filler.write_all(&vec![0; size]).is_ok() {}
        }
        Ok(())
    }

    fn free(&self) -> anyhow::Result<()> {
        std::fs::remove_file(self.seen_outside("filler")).context("failed to free the disk")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

pub(crate) fn full(place: &Place, calm: &Calm) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::new("full disk", Vec::new());
    outcome.limit = calm.limit();
    let mount = tempfile::Builder::new().prefix("gabfest-chaos-disk-").tempdir()?;
    let Some(disk) = Disk::new(mount.path())? else {
        outcome.skipped("this machine lets nobody mount a small file system (unshare --user --mount)");
        return Ok(outcome);
    };
    let data = Some(mount.path().join("data"));
    let setup = super::fleet::Setup { before: disk.inside(), data, ..setup(0) };
    let mut fleet = Fleet::new(place, "full-disk", &MIXED, setup)?;
    fleet.start_workers()?;
    let mut watcher = play::submit(&mut fleet)?;
    std::thread::sleep(calm.took / 3);
    disk.fill()?;
    outcome.struck.insert(Fault::FullDisk, 1);
    let ended = says_why(&mut watcher, &mut outcome)?;
    disk.free()?;
    let began = now();
    let code = go_on(&mut fleet, watcher, ended, &mut outcome)?;
    outcome.took = code.map(|_| began.elapsed());
    match code {
        Some(code) if code != calm.code => {
            outcome.broken.push(format!("the resumed run ended with {code} instead of {}", calm.code));
        }
        None => outcome.broken.push(format!("the run did not end {:?} after there was space again", outcome.limit)),
        Some(_) => {}
    }
    play::finish(&mut fleet, &mut outcome, code.is_some(), calm)?;
    Ok(outcome)
}

/// Waits until the watcher ends with a message about the reason. Returns its exit code.
fn says_why(watcher: &mut Role, outcome: &mut Outcome) -> anyhow::Result<Option<i32>> {
    let began = now();
    let ended = clock::until(SAID_WITHIN, || watcher.ended())?;
    let said = watcher.logged();
    let reason = said.lines().rev().find(|line| REASONS.iter().any(|word| line.to_lowercase().contains(word)));
    match (ended, reason) {
        (Some(code), Some(reason)) => {
            let seconds = began.elapsed().as_secs_f64();
            outcome.note = format!("stopped with {code} after {seconds:.1} s: \"{}\"", reason.trim());
        }
        (Some(code), None) => {
            outcome.broken.push(format!(
                "the watcher ended with {code} and does not say that the disk is full: {}",
                tail(&said, 3)
            ));
        }
        (None, reason) => {
            let reason =
                reason.map_or_else(|| "and says nothing of it".to_owned(), |reason| format!("and says \"{reason}\""));
            outcome.broken.push(format!("the run goes on {SAID_WITHIN:?} after the disk is full, {reason}"));
        }
    }
    Ok(ended)
}

/// Resumes a stopped run and follows it to its end. Returns the watcher's exit code.
fn go_on(
    fleet: &mut Fleet<'_>,
    mut watcher: Role,
    ended: Option<i32>,
    outcome: &mut Outcome,
) -> anyhow::Result<Option<i32>> {
    if let Some(code) = fleet.coordinator.ended()? {
        outcome.broken.push(format!("the coordinator ended with {code}: {}", tail(&fleet.coordinator.logged(), 2)));
    }
    fleet.heal()?;
    if ended.is_some() {
        let resumed = fleet.ask(&["resume", RUN])?;
        let said = String::from_utf8_lossy(&resumed.stderr);
        if !resumed.status.success() {
            outcome.broken.push(format!("resume ended with {:?}: {}", resumed.status.code(), tail(&said, 3)));
        }
        watcher = fleet.watch()?;
    }
    let began = now();
    loop {
        if let Some(code) = watcher.ended()? {
            return Ok(Some(code));
        }
        for worker in &mut fleet.workers {
            if let Some(code) = worker.role.ended()? {
                let said = tail(&worker.role.logged(), 2);
                outcome.broken.push(format!("{} ended by itself with {code}: {said}", worker.role.name));
                worker.role.start()?;
            }
        }
        if began.elapsed() > outcome.limit {
            ensure!(fleet.coordinator.is_there(), "the coordinator is gone");
            return Ok(None);
        }
        std::thread::sleep(TICK);
    }
}
