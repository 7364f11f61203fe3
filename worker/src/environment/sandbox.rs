//! Walls round programs: what may run, where, and with what, in bubblewrap or, on the operator's word, without it.

use std::{fs, path::Path};

use tokio::process::Command;

use super::{
    Limits, Ran,
    execution::{Execution, Programs},
    process,
};

/// Where the trial's root stands inside the sandbox.
const INSIDE: &str = "/trial";
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Parts of a system that stand at the top, or are links into `/usr`, as the system has it.
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

/// Runs `program` (its name and arguments) in the directory `root`.
pub(super) async fn run(execution: &Execution, root: &Path, program: &[&str]) -> Result<Ran, Error> {
    match execution {
        Execution::Off => Err(Error::NotAllowed),
        Execution::Host(programs) => {
            // The shell gives a missing program its usual exit code, 127, here as in the sandbox.
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "exec \"$@\"", "sh"]).args(program).current_dir(root).env_clear();
            command.env("PATH", std::env::var_os("PATH").unwrap_or_else(|| PATH.into()));
            Ok(process::run(with_variables(command, programs), &programs.limits).await?)
        }
        Execution::Sandboxed(programs) => {
            let walls = walls(programs).await.map_err(Error::NoSandbox)?;
            let mut command = bubblewrap(walls);
            command.arg("--bind").arg(root).args([INSIDE, "--chdir", INSIDE]);
            command.args(["--", "sh", "-c", &limiting(&programs.limits), "sh"]).args(program);
            let ran = process::run(with_variables(command, programs), &programs.limits).await?;
            // Its own troubles and those of the program have one exit code; only its own begin so.
            match ran.stderr.strip_prefix("bwrap: ") {
                Some(message) if ran.exit_code == 1 => Err(Error::NoSandbox(message.trim().to_owned())),
                _ => Ok(ran),
            }
        }
    }
}

/// The arguments that build the sandbox, after it was seen to work once.
pub(super) async fn walls(programs: &Programs) -> Result<&[String], String> {
    let tried = programs.sandbox.get_or_init(|| async {
        let walls = arguments();
        let mut command = bubblewrap(&walls);
        command.args(["--", "sh", "-c", &limiting(&programs.limits), "sh", "true"]);
        match process::run(command, &programs.limits).await {
            Ok(ran) if ran.exit_code == 0 => Ok(walls),
            Ok(ran) => Err(format!("bwrap says: {}", ran.stderr.trim())),
            Err(process::Error::Start { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                Err("bwrap is not installed (its package is called bubblewrap)".to_owned())
            }
            Err(error) => Err(format!("bwrap failed to {error}")),
        }
    });
    tried.await.as_deref().map_err(Clone::clone)
}

/// Everything unshared, network included; the system's programs to read, nothing of the host's to write.
fn arguments() -> Vec<String> {
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
    command
}

fn with_variables(mut command: Command, programs: &Programs) -> Command {
    command.envs(programs.variables.iter().map(|(name, value)| (name, value)));
    command
}

/// POSIX counts files in half kilobytes and leaves out processes, for which shells have different letters.
fn limiting(limits: &Limits) -> String {
    format!(
        "ulimit -c 0 && ulimit -v {} && ulimit -f {} && {{ ulimit -p {processes} 2>/dev/null || ulimit -u {processes}; }} && exec \"$@\"",
        limits.memory_bytes / 1024,
        limits.file_bytes / 512,
        processes = limits.processes,
    )
}
