//! A process group that ends when this value is dropped, and when this process ends in any way.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, ChildStdin, Command};

/// A process group. It is killed when this value is dropped.
#[derive(Debug)]
pub struct Group(Option<Pid>);

/// A process in the group that ends the group when this process ends in any way: its stdin is a pipe of ours, which the
/// system closes.
#[derive(Debug)]
pub struct Leash {
    _process: Child,
    _stdin: Option<ChildStdin>,
}

impl Group {
    /// The group of a child that was started with `process_group(0)`.
    #[must_use]
    pub fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }
}

impl Leash {
    /// `None` if the group has ended already.
    #[must_use]
    pub fn on(group: &Group) -> Option<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "read -r _; kill -KILL 0"]).env_clear().process_group(group.0?.as_raw_nonzero().get());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let mut process = command.spawn().ok()?;
        let stdin = process.stdin.take();
        Some(Self { _process: process, _stdin: stdin })
    }
}

#[cfg(test)]
impl Leash {
    /// Does what the system does when this process is killed.
    pub(crate) fn let_go(&mut self) {
        drop(self._stdin.take());
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            let _ended_by_itself = kill_process_group(leader, Signal::KILL);
        }
    }
}
