//! The environment of this machine. A trial without files and programs never touches the disk.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use evaluate::subject::{CommandError, CommandOutput};
use record::{Failure, FailureKind};
use tokio::{sync::OnceCell, task::spawn_blocking};

#[cfg(feature = "databases")]
use super::database::seed;
use super::{
    Captured, Environment, Execution, Ran,
    root::{self, Root},
    sandbox,
};

pub struct Local {
    written: Arc<scenario::Environment>,
    execution: Execution,
    /// Made when the first file or program needs it.
    root: OnceCell<Arc<Root>>,
    last: Mutex<Option<Box<Ran>>>,
}

impl Local {
    #[must_use]
    pub fn new(written: Arc<scenario::Environment>, execution: Execution) -> Self {
        Self { written, execution, root: OnceCell::new(), last: Mutex::default() }
    }

    async fn root(&self) -> Result<&Arc<Root>, root::Error> {
        let owner = sandbox::owner(&self.execution);
        self.root.get_or_try_init(|| async { blocking(move || Root::create(owner)).await.map(Arc::new) }).await
    }

    async fn write_files(&self) -> Result<(), root::Error> {
        if self.written.files.is_empty() {
            return Ok(());
        }
        let root = Arc::clone(self.root().await?);
        let files = self.written.files.clone();
        blocking(move || files.iter().try_for_each(|(path, text)| root.write(path, text))).await
    }

    async fn execute(&self, program: &[&str]) -> Result<Ran, sandbox::Error> {
        if matches!(self.execution, Execution::Off) {
            return Err(sandbox::Error::NotAllowed);
        }
        let root = self.root().await.map_err(|error| sandbox::Error::NoSandbox(error.to_string()))?;
        sandbox::run(&self.execution, root.path(), program).await
    }
}

#[async_trait]
impl Environment for Local {
    async fn set_up(&self, databases: &BTreeMap<String, String>) -> Result<(), Failure> {
        self.write_files().await.map_err(|error| broken(format!("the scenario's files cannot be written: {error}")))?;
        for seeding in &self.written.databases {
            let Some(address) = databases.get(&seeding.connection) else {
                let message = format!("the worker's settings name no database {:?}", seeding.connection);
                return Err(Failure::new(FailureKind::Misconfigured, message));
            };
            // An operator who lets scenarios run programs as the worker's user has nothing left to protect from their
            // SQL.
            let trusted = matches!(self.execution, Execution::Host(_));
            seed(address, seeding, trusted).await.map_err(|error| {
                broken(format!("database {:?} cannot be seeded, failed to {error}", seeding.connection))
            })?;
        }
        Ok(())
    }

    async fn run(&self, language: &str, code: &str) -> Result<Ran, Failure> {
        let ran = self.execute(&interpreter(language, code)).await.map_err(|error| {
            let kind = match error {
                sandbox::Error::NotAllowed => FailureKind::ExecutionNotAllowed,
                sandbox::Error::NoSandbox(_) | sandbox::Error::Process(_) => FailureKind::EnvironmentFailed,
            };
            Failure::new(kind, error.to_string())
        })?;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(ran.clone()));
        Ok(ran)
    }

    async fn capture(&self) -> Result<Captured, Failure> {
        let files = match self.root.get().cloned() {
            Some(root) => blocking(move || root.files())
                .await
                .map_err(|error| broken(format!("the trial's files cannot be read: {error}")))?,
            None => BTreeMap::new(),
        };
        let program = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Captured { program: program.map(|ran| *ran), files })
    }

    async fn file(&self, path: &str) -> Result<Option<String>, String> {
        match self.root.get().cloned() {
            Some(root) => {
                let path = path.to_owned();
                blocking(move || root.read(&path)).await.map_err(|error| error.to_string())
            }
            None => root::check(path).map(|()| None).map_err(|error| error.to_string()),
        }
    }

    async fn command(&self, command: &str) -> Result<CommandOutput, CommandError> {
        match self.execute(&["sh", "-c", command]).await {
            Ok(Ran { exit_code, stdout, stderr, .. }) => Ok(CommandOutput { exit_code, stdout, stderr }),
            Err(sandbox::Error::NotAllowed) => Err(CommandError::NotAllowed),
            Err(error) => Err(CommandError::Failed(error.to_string())),
        }
    }

    async fn teardown(&mut self) {
        let Some(root) = self.root.take() else { return };
        let path = root.path().to_owned();
        // Dropping the last handle removes the directory.
        drop(spawn_blocking(move || drop(root)).await);
        if path.exists() {
            tracing::warn!(path = %path.display(), "a trial's directory could not be removed");
        }
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("execution", &self.execution).field("root", &self.root).finish_non_exhaustive()
    }
}

/// The command that runs a text in each language.
fn interpreter<'a>(language: &'a str, code: &'a str) -> [&'a str; 3] {
    match language {
        "" | "bash" | "sh" => ["sh", "-c", code],
        "node" | "javascript" => ["node", "-e", code],
        "python" | "python3" => ["python3", "-c", code],
        other => [other, "-c", code],
    }
}

#[cfg(not(feature = "databases"))]
async fn seed(_: &str, _: &scenario::Seeding, _: bool) -> Result<(), &'static str> {
    Err("fill it: this gabfest was built without databases")
}

fn broken(message: String) -> Failure {
    Failure::new(FailureKind::EnvironmentFailed, message)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, root::Error> + Send + 'static,
) -> Result<T, root::Error> {
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(stopped) => Err(root::Error::Directory(std::io::Error::other(stopped))),
    }
}

#[cfg(test)]
mod tests;
