//! Runs one program: keeps the start of its output, and ends it together with its whole process group.

use std::{path::Path, process::Stdio, time::Duration};

use agent::process_group::Group;
use futures_util::future::join;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::Command,
    time::{self, Instant},
};

use super::{
    limits::Limits,
    watch::{self, Excess},
};

/// How long to read after a program ended. Its output is in the pipes by then; only a process that left the group could
/// hold them open longer.
const LAST_WORDS: Duration = Duration::from_millis(500);

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("start {program}: {source}")]
    Start { program: String, source: std::io::Error },
    #[error("wait for its end: {0}")]
    Wait(std::io::Error),
    #[error("end within {} ms", .0.as_millis())]
    TimedOut(Duration),
    #[error(transparent)]
    Excess(#[from] Excess),
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ran {
    /// 128 plus the signal's number if a signal ended it, as in shells.
    pub exit_code: i32,
    pub stdout: String,
    pub stderr: String,
    pub duration: Duration,
}

/// How a program is tied to the worker.
#[derive(Debug, Clone, Copy)]
pub(super) enum Hold<'a> {
    /// Its stdin is a pipe that closes with the worker. Nothing is written to it.
    Leash,
    /// Its memory and the disk below `root` are measured. The first `said` bytes of stderr are not its own.
    Watch { root: &'a Path, said: usize },
}

/// Runs a command until it ends or reaches its time limit. Nothing in its process group outlives the call, even if the
/// future is dropped.
pub(super) async fn run(mut command: Command, limits: &Limits, hold: Hold<'_>) -> Result<Ran, Error> {
    command.stdin(if matches!(hold, Hold::Leash) { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
    let began = Instant::now();
    let mut child = command.spawn().map_err(|source| {
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        Error::Start { program, source }
    })?;
    // Waiting would close it.
    let _leash = child.stdin.take();
    let leader = child.id();
    let group = Group::of(&child);
    let said = if let Hold::Watch { said, .. } = hold { said } else { 0 };
    let (mut stdout, mut stderr) = (Output::new(limits.output_bytes), Output::new(limits.output_bytes + said));
    let status = {
        let reading = join(stdout.read(child.stdout.take()), stderr.read(child.stderr.take()));
        tokio::pin!(reading);
        let mut read = false;
        let excess = async {
            match (hold, leader) {
                (Hold::Watch { root, .. }, Some(leader)) => watch::excess(leader, root, limits).await,
                _ => std::future::pending().await,
            }
        };
        tokio::pin!(excess);
        let ended = time::timeout(limits.time, async {
            loop {
                tokio::select! {
                    status = child.wait() => break status.map_err(Error::Wait),
                    excess = &mut excess => break Err(excess.into()),
                    _ = &mut reading, if !read => read = true,
                }
            }
        })
        .await;
        drop(group);
        if !read {
            // A process that left the group with the pipe open may not delay the result.
            drop(time::timeout(LAST_WORDS, &mut reading).await);
        }
        ended
    };
    let status = status.map_err(|_| Error::TimedOut(limits.time))??;
    Ok(Ran { exit_code: exit_code(status), stdout: stdout.text(), stderr: stderr.text(), duration: began.elapsed() })
}

/// The start of a program's output.
struct Output {
    kept: Vec<u8>,
    limit: usize,
    dropped: usize,
}

impl Output {
    fn new(limit: usize) -> Self {
        Self { kept: Vec::new(), limit, dropped: 0 }
    }

    /// Reads to the end and keeps what fits, so that a program that prints too much does not block.
    async fn read(&mut self, pipe: Option<impl AsyncRead + Unpin>) {
        let Some(mut pipe) = pipe else { return };
        let mut buffer = vec![0; 8 << 10];
        while let Ok(read @ 1..) = pipe.read(&mut buffer).await {
            let kept = read.min(self.limit - self.kept.len());
            self.kept.extend_from_slice(&buffer[..kept]);
            self.dropped += read - kept;
        }
    }

    fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.kept).into_owned();
        if self.dropped > 0 {
            text.push_str(&format!("\n[{} more bytes]", self.dropped));
        }
        text
    }
}

fn exit_code(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}
