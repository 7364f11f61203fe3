//! A running program: writes lines to it, hands its lines to the calls that wait, and ends it with its children.

use std::{
    collections::HashMap,
    io,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, Command},
    sync::{Mutex as AsyncMutex, mpsc},
    time::{Instant, timeout},
};

use crate::process_group::{Group, Leash};

/// Of one line of the program.
const MOST_BYTES: usize = 1 << 20;
/// How much of the end of stderr is kept.
const MOST_WORDS_BYTES: usize = 4 << 10;
/// Lines that may wait for one reader, each up to the limit.
const MOST_LINES: usize = 4;
/// The time from the end of its stdout to its own end.
const LAST_WORDS: Duration = Duration::from_millis(500);

type Line = (Vec<u8>, Instant);

/// The addressee of a line. The addressee reads the rest.
#[derive(serde::Deserialize)]
struct Named {
    id: Option<String>,
}

/// Dropping it ends the process.
#[derive(Debug)]
pub(super) struct Process {
    stdin: AsyncMutex<ChildStdin>,
    inside: Arc<Mutex<Inside>>,
    _leash: Option<Leash>,
    _group: Group,
}

#[derive(Debug, Default)]
struct Inside {
    waiting: HashMap<String, mpsc::Sender<Line>>,
    /// Why no more lines will come.
    over: Option<String>,
    stderr: Vec<u8>,
}

/// The lines that answer one message.
#[derive(Debug)]
pub(super) struct Answers {
    id: String,
    lines: mpsc::Receiver<Line>,
    inside: Arc<Mutex<Inside>>,
    sent: Instant,
    finished: bool,
}

impl Process {
    pub(super) fn start(mut command: Command) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
        let mut child = command.spawn()?;
        let group = Group::of(&child);
        let leash = Leash::on(&group);
        let missing = || io::Error::other("a pipe is missing");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let inside = Arc::new(Mutex::new(Inside::default()));
        let listening = tokio::spawn(listen(stderr, Arc::clone(&inside)));
        let of_reader = Arc::clone(&inside);
        tokio::spawn(async move {
            let broken = read(stdout, &of_reader).await.err();
            let ended = end(child).await;
            // Its last output is already in the pipe; a child that left the group could hold the pipe open for longer.
            let _ = timeout(LAST_WORDS, listening).await;
            let mut inside = lock(&of_reader);
            inside.over.get_or_insert(broken.unwrap_or(ended));
            inside.waiting.clear();
        });
        Ok(Self { stdin: AsyncMutex::new(stdin), inside, _leash: leash, _group: group })
    }

    pub(super) fn is_running(&self) -> bool {
        lock(&self.inside).over.is_none()
    }

    /// Writes a line. Its answers are the lines that name `id`, and lines without an id while no other call waits.
    pub(super) async fn ask(&self, id: &str, line: &[u8]) -> Result<Answers, String> {
        let (sender, lines) = mpsc::channel(MOST_LINES);
        {
            let mut inside = lock(&self.inside);
            if let Some(over) = &inside.over {
                return Err(over.clone());
            }
            inside.waiting.insert(id.to_owned(), sender);
        }
        let mut answers = Answers {
            id: id.to_owned(),
            lines,
            inside: Arc::clone(&self.inside),
            sent: Instant::now(),
            finished: false,
        };
        let mut stdin = self.stdin.lock().await;
        let written = async {
            stdin.write_all(line).await?;
            stdin.flush().await
        };
        // If the write fails, the process has most likely ended, and its exit follows in a moment.
        if let Err(error) = written.await
            && timeout(LAST_WORDS, answers.lines.recv()).await.is_err()
        {
            return Err(format!("it does not read: {error}"));
        }
        answers.sent = Instant::now();
        Ok(answers)
    }

    /// What it has written to stderr since the last call.
    pub(super) fn last_words(&self) -> Option<String> {
        let written = std::mem::take(&mut lock(&self.inside).stderr);
        (!written.trim_ascii().is_empty()).then(|| String::from_utf8_lossy(&written).into_owned())
    }
}

impl Answers {
    pub(super) fn sent(&self) -> Instant {
        self.sent
    }

    pub(super) async fn next(&mut self) -> Result<Line, String> {
        match self.lines.recv().await {
            Some(line) => Ok(line),
            None => Err(lock(&self.inside).over.clone().unwrap_or_else(|| "it has stopped writing".to_owned())),
        }
    }

    /// The reply is whole.
    pub(super) fn finish(mut self) {
        self.finished = true;
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        let mut inside = lock(&self.inside);
        inside.waiting.remove(&self.id);
        // Lines without an id would pass for the answer to the next message.
        if !self.finished && inside.waiting.is_empty() && inside.over.is_none() {
            inside.over = Some("an earlier message was given up".to_owned());
        }
    }
}

fn lock(inside: &Mutex<Inside>) -> MutexGuard<'_, Inside> {
    inside.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes each line to its addressee until the output ends.
async fn read(stdout: impl AsyncRead + Unpin, inside: &Mutex<Inside>) -> Result<(), String> {
    let mut stdout = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        let most = u64::try_from(MOST_BYTES + 1).unwrap_or(u64::MAX);
        let read = (&mut stdout).take(most).read_until(b'\n', &mut line).await;
        if read.map_err(|error| error.to_string())? == 0 {
            return Ok(());
        }
        if line.len() > MOST_BYTES {
            return Err(format!("a line of more than {MOST_BYTES} bytes"));
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let came = Instant::now();
        let id = serde_json::from_slice::<Named>(&line).ok().and_then(|line| line.id);
        let receiver = {
            let inside = lock(inside);
            match &id {
                Some(id) => inside.waiting.get(id).cloned(),
                // With several waiting readers, the line belongs to none of them.
                None if inside.waiting.len() == 1 => inside.waiting.values().next().cloned(),
                None => None,
            }
        };
        if let Some(receiver) = receiver {
            // A reader that has stopped waiting does not need the line.
            let _ = receiver.send((line, came)).await;
        }
    }
}

async fn listen(mut stderr: impl AsyncRead + Unpin, inside: Arc<Mutex<Inside>>) {
    let mut buffer = vec![0; 4 << 10];
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        let mut inside = lock(&inside);
        inside.stderr.extend_from_slice(&buffer[..read]);
        let over = inside.stderr.len().saturating_sub(MOST_WORDS_BYTES);
        inside.stderr.drain(..over);
    }
}

/// A description of how it ended. A program that closes its stdout and keeps running is killed.
async fn end(mut child: Child) -> String {
    let status = match timeout(LAST_WORDS, child.wait()).await {
        Ok(status) => status,
        Err(_) => {
            let _ = child.start_kill();
            return "it closed its stdout".to_owned();
        }
    };
    status.map_or_else(|error| error.to_string(), said)
}

fn said(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it ended with exit code {code}"),
        (None, signal) => format!("it was ended by signal {}", signal.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_program_ends_when_its_leash_is_let_go() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "sleep 98759 & cat"]);
        let mut process = Process::start(command).unwrap();
        let mut answers = process.ask("1", b"{\"id\":\"1\"}\n").await.unwrap();
        assert_eq!(answers.next().await.unwrap().0, b"{\"id\":\"1\"}\n", "it runs");
        // The system closes the pipe like this if the worker is killed.
        process._leash.iter_mut().for_each(Leash::let_go);
        assert_eq!(answers.next().await.unwrap_err(), "it was ended by signal 9");
        assert!(!process.is_running());
    }
}
