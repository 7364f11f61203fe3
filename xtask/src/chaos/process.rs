//! A gabfest process that can be started, killed and restarted. Its output is appended to a file.

use std::{
    ffi::OsString,
    fs::File,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process};

use super::{
    clock,
    place::{KEY, KEY_NAME},
};

/// A debug build on a busy machine takes so long until it listens to signals.
const YOUNG: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct Role {
    pub(crate) name: String,
    command: Vec<OsString>,
    folder: PathBuf,
    child: Option<Child>,
    /// Since when it was asked to stop.
    pub(crate) stopping: Option<Instant>,
    /// Whether it was signalled before it can have installed its handlers.
    pub(crate) was_young: bool,
    started: Option<Instant>,
    /// `NAME:N`: it crashes at a point of its code, once.
    crash: Option<String>,
    /// Of all its processes so far, in bytes.
    most_resident: u64,
}

impl Role {
    /// Its log is `NAME.log` in `folder`.
    pub(crate) fn new(name: &str, folder: &Path, command: Vec<OsString>) -> Self {
        Self {
            name: name.to_owned(),
            command,
            folder: folder.to_owned(),
            child: None,
            stopping: None,
            was_young: false,
            started: None,
            crash: None,
            most_resident: 0,
        }
    }

    /// Lets it crash when it comes to a point of its code for the Nth time: `NAME:N`. After that it starts without.
    pub(crate) fn crash_at(&mut self, point: &str) {
        self.crash = Some(point.to_owned());
    }

    /// Whether it has just crashed as planned, which is found once.
    pub(crate) fn has_crashed(&mut self) -> anyhow::Result<bool> {
        let Some(child) = self.child.as_mut().filter(|_| self.crash.is_some()) else { return Ok(false) };
        let crashed = child.try_wait()?.is_some_and(|status| status.code().is_none());
        if crashed {
            self.child = None;
            self.crash = None;
        }
        Ok(crashed)
    }

    pub(crate) fn start(&mut self) -> anyhow::Result<()> {
        let (program, arguments) = self.command.split_first().context("a role without a program")?;
        let log = File::options().create(true).append(true).open(self.log())?;
        let child = Command::new(program)
            .args(arguments)
            .current_dir(&self.folder)
            .env_remove("GABFEST_COORDINATOR")
            .env(KEY_NAME, KEY)
            .envs(self.crash.iter().map(|point| ("GABFEST_CRASH_AT", point)))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("failed to start {}", self.name))?;
        self.child = Some(child);
        self.stopping = None;
        self.started = Some(clock::now());
        Ok(())
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.name))
    }

    pub(crate) fn logged(&self) -> String {
        std::fs::read(self.log()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// The most memory that any of its processes had when somebody looked whether it has ended, in bytes.
    pub(crate) const fn most_resident(&self) -> u64 {
        self.most_resident
    }

    pub(crate) const fn is_there(&self) -> bool {
        self.child.is_some()
    }

    /// Does nothing if it is not running or just ended.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(child) = &self.child {
            let _ = kill_process(Pid::from_child(child), signal);
        }
    }

    /// Returns whether there was a process to kill.
    pub(crate) fn kill(&mut self) -> bool {
        let Some(mut child) = self.child.take() else { return false };
        self.stopping = None;
        let killed = child.kill().is_ok();
        let _ = child.wait();
        killed
    }

    /// Asks it to stop. A stopped process (SIGSTOP) would not react.
    pub(crate) fn stop(&mut self) {
        self.was_young = self.started.is_some_and(|started| started.elapsed() < YOUNG);
        self.signal(Signal::CONT);
        self.signal(Signal::TERM);
        self.stopping = Some(clock::now());
    }

    /// The exit code, once, when it has ended; -1 for a signal.
    pub(crate) fn ended(&mut self) -> anyhow::Result<Option<i32>> {
        let Some(child) = &mut self.child else { return Ok(None) };
        self.most_resident = self.most_resident.max(peak_bytes(child.id()));
        let status = child.try_wait()?;
        if self.crash.is_some() && status.is_some_and(|status| status.code().is_none()) {
            // `has_crashed` finds it.
            return Ok(None);
        }
        let ended = status.map(|status| status.code().unwrap_or(-1));
        if ended.is_some() {
            self.child = None;
        }
        Ok(ended)
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The most memory that a process had so far; 0 if there is none any more.
fn peak_bytes(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let kilobytes =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
    kilobytes.unwrap_or(0_u64) * 1_024
}

/// The last lines of a log, in one.
pub(crate) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    all[all.len().saturating_sub(lines)..].join(" / ")
}
