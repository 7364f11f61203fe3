//! A check that is a program: a few processes of it stay and answer one transcript after the other.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use serde_json::value::RawValue;
use tokio::{sync::Semaphore, time::timeout};

use super::{
    answer::{Answered, Error},
    process::{Broken, Process},
};
use crate::environment::Execution;

/// How often a process that ended is started again for one transcript.
const RESTARTS: u32 = 3;

#[derive(Debug)]
pub(super) struct Program {
    command: Vec<String>,
    folder: PathBuf,
    execution: Execution,
    timeout: Duration,
    /// Started, and without a question.
    idle: Mutex<Vec<Process>>,
    places: Semaphore,
}

impl Program {
    pub(super) fn new(
        command: Vec<String>,
        folder: PathBuf,
        execution: Execution,
        processes: u32,
        timeout: Duration,
    ) -> Self {
        let places = Semaphore::new(usize::try_from(processes).unwrap_or(1));
        Self { command, folder, execution, timeout, idle: Mutex::default(), places }
    }

    pub(super) fn is_allowed(&self) -> bool {
        !matches!(self.execution, Execution::Off)
    }

    /// The wait for a free process does not count towards the check's timeout. A process that fails in any way is
    /// killed with its group. Only a process that ended by itself is replaced, because one that hangs would hang again.
    pub(super) async fn ask(&self, id: &str, transcript: &str) -> Result<Answered, Error> {
        let failed = |why: String| Error::Failed(why);
        let _place = self.places.acquire().await.map_err(|error| failed(error.to_string()))?;
        let transcript: &RawValue = serde_json::from_str(transcript).map_err(|error| failed(error.to_string()))?;
        let line = serde_json::to_string(&serde_json::json!({ "id": id }));
        let line = line.map_err(|error| failed(error.to_string()))?;
        // Appends the transcript unparsed: it can have 4 MiB.
        let line = format!("{},\"transcript\":{}}}\n", line.trim_end_matches('}'), transcript.get());
        let mut restarts = 0;
        loop {
            let why = match self.ask_once(id, line.as_bytes()).await {
                Ok(answer) => return Ok(answer),
                Err(Broken::Ended(why)) => why,
                Err(Broken::Failed(error)) => return Err(error),
            };
            if restarts == RESTARTS {
                return Err(Error::Failed(format!("{why}, and so did {RESTARTS} more processes of this program")));
            }
            restarts += 1;
        }
    }

    async fn ask_once(&self, id: &str, line: &[u8]) -> Result<Answered, Broken> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut process = match idle {
            Some(process) => process,
            None => Process::start(&self.execution, &self.folder, &self.command).await?,
        };
        let answer = timeout(self.timeout, process.ask(id, line)).await;
        let answer = answer.unwrap_or(Err(Broken::Failed(Error::TimedOut(self.timeout))))?;
        let program = process.digest.clone();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(process);
        answer.map(|text| Answered { text, program })
    }
}
