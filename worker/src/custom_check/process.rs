//! One process of a check: it greets, then answers each line with a line. Dropping this value kills the process and its
//! group.

use std::{
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agent::process_group::{Group, Leash};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, ChildStdout},
    time::timeout,
};

use super::{
    answer::{Error, MOST_BYTES, excerpt},
    digest,
};
use crate::environment::{Execution, staying};

/// The first line of a check: the version of its protocol.
const GREETING: &str = "check/1";
/// From the start to the greeting.
const START: Duration = Duration::from_secs(10);
/// The time from the end of stdout to the end of stderr.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How much of the end of stderr is kept.
const MOST_WORDS_BYTES: usize = 4 << 10;

pub(super) struct Process {
    /// Names the command and the content of its files when it was started.
    pub(super) digest: String,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    stderr: Arc<Mutex<Vec<u8>>>,
    listening: tokio::task::JoinHandle<()>,
    _group: Group,
    _leash: Option<Leash>,
    _child: Child,
}

/// Why a process can no longer be used.
pub(super) enum Broken {
    /// Another process may succeed.
    Ended(String),
    Failed(Error),
}

#[derive(Deserialize)]
struct Greeting {
    gabfest: String,
}

#[derive(Deserialize)]
struct Reply<'a> {
    id: String,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    /// The check's own code failed; the process goes on.
    error: Option<String>,
}

impl Process {
    pub(super) async fn start(execution: &Execution, folder: &Path, command: &[String]) -> Result<Self, Broken> {
        let failed = |why: String| Broken::Failed(Error::Failed(why));
        // Before the start: what is written over later does not run in this process.
        let digest = digest::of(folder, command).await;
        let mut prepared = staying(execution, folder, command)
            .await
            .map_err(|error| failed(format!("it was not started: {error}")))?;
        prepared.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        prepared.process_group(0).kill_on_drop(true);
        let mut child = prepared.spawn().map_err(|error| failed(format!("it cannot be started: {error}")))?;
        let group = Group::of(&child);
        let leash = Leash::on(&group);
        let missing = || failed("a pipe is missing".to_owned());
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let words = Arc::default();
        let listening = tokio::spawn(listen(stderr, Arc::clone(&words)));
        let stdout = BufReader::new(stdout);
        let mut process =
            Self { digest, stdin, stdout, stderr: words, listening, _group: group, _leash: leash, _child: child };
        let greeted = timeout(START, process.line()).await;
        let line = greeted
            .unwrap_or_else(|_| Err(failed(format!("it does not greet within {} s of its start", START.as_secs()))))?;
        match serde_json::from_slice::<Greeting>(&line) {
            Ok(greeting) if greeting.gabfest == GREETING => Ok(process),
            _ => Err(Broken::Failed(Error::Malformed(format!(
                "its first line is not {{\"gabfest\":\"{GREETING}\"}}: {}",
                excerpt(&line)
            )))),
        }
    }

    /// The outer error: this process can no longer be used. The inner error comes from the check's own code.
    pub(super) async fn ask(&mut self, id: &str, line: &[u8]) -> Result<Result<String, Broken>, Broken> {
        let written = async {
            self.stdin.write_all(line).await?;
            self.stdin.flush().await
        };
        if let Err(error) = written.await {
            return Err(self.ended(&format!("it does not read: {error}")).await);
        }
        let line = self.line().await?;
        let malformed = |why: String| Broken::Failed(Error::Malformed(why));
        let reply: Reply<'_> = serde_json::from_slice(&line).map_err(|error| {
            malformed(format!("its line is not {{\"id\", \"result\"}}: {error}: {}", excerpt(&line)))
        })?;
        if reply.id != id {
            return Err(malformed(format!(
                "its line answers {:?}, and it was asked {id:?}",
                record::bounds::short(&reply.id, 100)
            )));
        }
        match (reply.result, reply.error) {
            (Some(result), None) => Ok(Ok(result.get().to_owned())),
            (None, Some(error)) => {
                let message = format!("it failed: {}", excerpt(error.as_bytes()));
                Ok(Err(Broken::Failed(Error::Failed(message))))
            }
            _ => Err(malformed("its line has neither `result` nor `error`, or both".to_owned())),
        }
    }

    async fn line(&mut self) -> Result<Vec<u8>, Broken> {
        let mut line = Vec::new();
        let most = u64::try_from(MOST_BYTES + 1).unwrap_or(u64::MAX);
        let read = (&mut self.stdout).take(most).read_until(b'\n', &mut line).await;
        match read {
            Ok(0) => Err(self.ended("it ended").await),
            Ok(_) if line.len() > MOST_BYTES => {
                Err(Broken::Failed(Error::Malformed(format!("it wrote a line of more than {MOST_BYTES} bytes"))))
            }
            Ok(_) => Ok(line),
            Err(error) => Err(self.ended(&error.to_string()).await),
        }
    }

    /// Adds what the process wrote to stderr.
    async fn ended(&mut self, why: &str) -> Broken {
        // Its last output is already in the pipe. A child that left the group could hold the pipe open for longer.
        let _ = timeout(LAST_WORDS, &mut self.listening).await;
        let words = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let words = excerpt(&words);
        Broken::Ended(if words.is_empty() { why.to_owned() } else { format!("{why}; it wrote: {words}") })
    }
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process").finish_non_exhaustive()
    }
}

async fn listen(mut stderr: impl AsyncRead + Unpin, kept: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = vec![0; 4 << 10];
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&buffer[..read]);
        let over = kept.len().saturating_sub(MOST_WORDS_BYTES);
        kept.drain(..over);
    }
}
