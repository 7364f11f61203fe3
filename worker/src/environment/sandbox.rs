//! Runs programs in a bubblewrap sandbox, or without one if the operator allows it.

use std::{fs, path::Path};

use tokio::process::Command;

use super::{
    execution::{Execution, Programs},
    limits::Limits,
    process::{self, Hold, Ran},
    process_directory,
    root::{Root, User},
};

/// The trial's root, as seen inside the sandbox.
const INSIDE: &str = "/trial";
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Directories of a system that are at the top, or links into `/usr`.
const SYSTEM: [&str; 6] = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("running programs is not allowed here")]
    NotAllowed,
    #[error("the sandbox cannot be built: {0}")]
    NoSandbox(String),
    #[error("the program failed to {0}")]
    Process(#[from] process::Error),
}

/// The user of programs on the host if the worker is root: no limit on processes applies to root.
const NOBODY: User = 65_534;

/// Printed by the shell in the sandbox before it becomes the program. Any earlier output is an error of bubblewrap,
/// because the program cannot print first.
const BEGUN: &str = "gabfest: the sandbox is built\n";

/// On the host: starts a process that waits for the worker to end (its stdin is the worker's pipe) and then kills the
/// group. It is not a child of the program, since a program that waits for all its children would wait for it.
const LEASHED: &str = "exec 3<&0; ( { read -r _ <&3; kill -KILL 0; } >/dev/null 2>&1 & ); exec \"$@\" 3<&- </dev/null";

impl Execution {
    /// Tries the sandbox, so that a worker can refuse to start without one. Removes the directories of killed workers.
    ///
    /// # Errors
    /// Bubblewrap is missing, this machine does not let it build a sandbox, or its limits do not hold.
    pub async fn check(&self) -> Result<(), String> {
        if let Ok(swept @ 1..) = tokio::task::spawn_blocking(process_directory::sweep).await {
            tracing::info!(swept, "removed the trials' directories of processes that were killed");
        }
        match self {
            Self::Off | Self::Host(_) => Ok(()),
            Self::Sandboxed(programs) => walls(programs).await.map(drop),
        }
    }
}

/// The user who owns a trial's directory, if not the worker's.
pub(super) fn owner(execution: &Execution) -> Option<User> {
    let sandboxed = matches!(execution, Execution::Sandboxed(_));
    (sandboxed && rustix::process::geteuid().is_root()).then_some(NOBODY)
}

/// Runs `program` (its name and arguments) in the directory `root`.
pub(super) async fn run(execution: &Execution, root: &Path, program: &[&str]) -> Result<Ran, Error> {
    match execution {
        Execution::Off => Err(Error::NotAllowed),
        Execution::Host(programs) => {
            let mut command = leashed(program);
            command.current_dir(root).env_clear();
            command.env("PATH", std::env::var_os("PATH").unwrap_or_else(|| PATH.into()));
            Ok(process::run(with_variables(command, programs), &programs.limits, Hold::Leash).await?)
        }
        Execution::Sandboxed(programs) => {
            let walls = walls(programs).await.map_err(Error::NoSandbox)?;
            let command = with_variables(inside(walls, root, &limiting(&programs.limits), program), programs);
            let hold = Hold::Watch { root, said: BEGUN.len() };
            let mut ran = process::run(command, &programs.limits, hold).await?;
            ran.stderr = begun(ran.stderr).map_err(Error::NoSandbox)?;
            Ok(ran)
        }
    }
}

/// Starts a long-lived program in `folder`, which it can read. In the sandbox it can write only to `/tmp`. The caller
/// limits its time.
pub(crate) async fn staying(execution: &Execution, folder: &Path, program: &[String]) -> Result<Command, String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match execution {
        Execution::Off => Err(Error::NotAllowed.to_string()),
        Execution::Host(programs) => {
            let Some((name, arguments)) = program.split_first() else {
                return Err("the command is empty".to_owned());
            };
            let mut command = Command::new(name);
            command.args(arguments).current_dir(folder).env_clear();
            command.env("PATH", std::env::var_os("PATH").unwrap_or_else(|| PATH.into()));
            Ok(with_variables(command, programs))
        }
        Execution::Sandboxed(programs) => {
            let walls = walls(programs).await.map_err(|why| Error::NoSandbox(why).to_string())?;
            let folder = fs::canonicalize(folder)
                .map_err(|error| format!("the folder {} cannot be opened: {error}", folder.display()))?;
            let mut command = bubblewrap(walls);
            command.arg("--ro-bind").arg(folder).args([INSIDE, "--chdir", INSIDE]);
            command.args(["--remount-ro", "/dev", "--remount-ro", "/"]);
            command.args(["--", "sh", "-c", &limiting(&programs.limits), "sh"]).args(program);
            Ok(with_variables(command, programs))
        }
    }
}

/// The shell gives a missing program its usual exit code, 127, here as in the sandbox.
pub(super) fn leashed(program: &[&str]) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", LEASHED, "sh"]).args(program);
    command
}

fn inside(walls: &[String], root: &Path, first: &str, program: &[&str]) -> Command {
    let mut command = bubblewrap(walls);
    // Everything that building the sandbox created becomes read-only.
    command.arg("--bind").arg(root).args([INSIDE, "--chdir", INSIDE, "--remount-ro", "/dev", "--remount-ro", "/"]);
    command.args(["--", "sh", "-c", first, "sh"]).args(program);
    command
}

/// The program's own stderr, or why the sandbox failed.
fn begun(stderr: String) -> Result<String, String> {
    match stderr.strip_prefix(BEGUN) {
        Some(own) => Ok(own.to_owned()),
        None => Err(format!("bwrap says: {}", stderr.trim().trim_start_matches("bwrap: "))),
    }
}

/// The arguments that build the sandbox, once it has worked.
pub(super) async fn walls(programs: &Programs) -> Result<&[String], String> {
    let tried = programs.sandbox.get_or_init(|| async {
        let walls = arguments(&programs.limits);
        let ran = try_out(&walls, &limiting(&programs.limits), &["true"], &programs.limits).await?;
        begun(ran.stderr)?;
        if ran.exit_code != 0 {
            return Err(format!("bwrap ran nothing: exit code {}", ran.exit_code));
        }
        // `timeout` needs a second process.
        let alone = limiting(&Limits { processes: 1, ..programs.limits });
        let ran = try_out(&walls, &alone, &["timeout", "5", "true"], &programs.limits).await?;
        if ran.exit_code == 0 {
            return Err("the limit on processes does not hold for the user who runs gabfest".to_owned());
        }
        Ok(walls)
    });
    tried.await.as_deref().map_err(Clone::clone)
}

/// In a directory as trials have it.
async fn try_out(walls: &[String], first: &str, program: &[&str], limits: &Limits) -> Result<Ran, String> {
    let owner = rustix::process::geteuid().is_root().then_some(NOBODY);
    let made = tokio::task::spawn_blocking(move || Root::create(owner)).await.map_err(|error| error.to_string())?;
    let root = made.map_err(|error| {
        let user =
            owner.map_or_else(String::new, |owner| format!(", which must be user {owner}'s, as gabfest is root"));
        format!("{error}{user}")
    })?;
    let limits = Limits { output_bytes: Limits::default().output_bytes, ..*limits };
    let hold = Hold::Watch { root: root.path(), said: BEGUN.len() };
    match process::run(inside(walls, root.path(), first, program), &limits, hold).await {
        Ok(ran) => Ok(ran),
        Err(process::Error::Start { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Err("bwrap is not installed (its package is called bubblewrap)".to_owned())
        }
        Err(error) => Err(format!("bwrap failed to {error}")),
    }
}

/// Unshares everything, including the network; the system's programs are readable, and nothing of the host is writable.
fn arguments(limits: &Limits) -> Vec<String> {
    let temporary = limits.temporary_bytes.to_string();
    let mut all: Vec<String> = [
        "--unshare-all",
        "--unshare-user",
        "--uid",
        "65534",
        "--gid",
        "65534",
        "--hostname",
        "trial",
        // The kernel kills it with the thread that started it: a runtime's own threads live as long as the worker.
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
        "--ro-bind",
        "/usr",
        "/usr",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--size",
        &temporary,
        "--tmpfs",
        "/dev/shm",
        "--size",
        &temporary,
        "--tmpfs",
        "/tmp",
        // `awk`, `editor` and others are links through here on Debian.
        "--ro-bind-try",
        "/etc/alternatives",
        "/etc/alternatives",
    ]
    .map(str::to_owned)
    .into();
    for name in SYSTEM {
        let path = format!("/{name}");
        match (fs::read_link(&path), fs::metadata(&path)) {
            (Ok(target), _) => all.extend(["--symlink".to_owned(), target.to_string_lossy().into_owned(), path]),
            (Err(_), Ok(_)) => all.extend(["--ro-bind".to_owned(), path.clone(), path]),
            (Err(_), Err(_)) => {}
        }
    }
    all
}

fn bubblewrap(walls: &[String]) -> Command {
    let mut command = Command::new("bwrap");
    command.args(walls).env_clear().env("PATH", PATH);
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn with_variables(mut command: Command, programs: &Programs) -> Command {
    command.envs(programs.variables.iter().map(|(name, value)| (name, value)));
    command
}

/// POSIX counts file sizes in blocks of 512 bytes and has no limit on processes, for which shells use different
/// letters.
fn limiting(limits: &Limits) -> String {
    format!(
        "ulimit -c 0 && ulimit -v {} && ulimit -d {} && ulimit -f {} && {{ ulimit -p {processes} 2>/dev/null || ulimit -u {processes}; }} && printf '{BEGUN}' >&2 && exec \"$@\"",
        limits.memory_bytes / 1024,
        limits.data_bytes / 1024,
        limits.file_bytes / 512,
        processes = limits.processes,
    )
}
