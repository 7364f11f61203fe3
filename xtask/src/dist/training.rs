//! Plays what the counts are taken from: the scenarios of this repository, and scripted turns against the program's own mock model
//! behind a socket. Replies come whole, as streams, and as streams with pauses. A fleet plays some of them.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

const SCENARIO: &str = "\
name: Late order
description: A customer asks about an order, in scripted turns.
run:
  - input: Hello, my order 1234 has not come yet.
    evaluations: [{ type: string_contains, value: order }]
  - input: I ordered two weeks ago. Where is the order now?
    evaluations: [{ type: string_contains, value: order }]
  - input: Can you send the order again?
    evaluations: [{ type: string_contains, value: order }]
  - input: Thank you. Please close the order.
    evaluations: [{ type: string_contains, value: order }]
judgment: { strategy: all_pass }
";

/// The mock's answers come at once.
const AT_ONCE: &str = "tokens: { min: 16, max: 32 }";
/// The mock's answers come in pieces with pauses.
const PACED: &str =
    "tokens: { min: 16, max: 32 }, ttft: { kind: constant, ms: 20 }, inter_token: { kind: constant, ms: 2 }";

/// Plays everything. Each process writes its counts when it ends, to the folder that the program was built with.
pub(super) fn play(program: &Path) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let training = Training { program, folder: place.path() };
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("scenarios").canonicalize()?;
    training.run(&["run", path(&scenarios)?, "--repeats", "20"])?;

    training.write("late-order.scenario.yaml", SCENARIO)?;
    for (mock, is_streamed, conversations, slots) in
        [(AT_ONCE, false, "2000", "50"), (AT_ONCE, true, "2000", "50"), (PACED, true, "500", "32")]
    {
        let mock = training.mock(mock, is_streamed)?;
        training.run(&["run", "late-order.scenario.yaml", "--repeats", conversations, "--slots", slots])?;
        mock.end()?;
    }

    let mock = training.mock(AT_ONCE, true)?;
    let mut coordinator = training.start(&["coordinator", "--listen", "127.0.0.1:0"])?;
    let address = ["--coordinator", &coordinator.url()?];
    let worker = training.start(&[&["worker", "--slots", "50"], &address[..]].concat())?;
    training.run(&[&["submit", "late-order.scenario.yaml", "--repeats", "1000", "--watch"], &address[..]].concat())?;
    for process in [worker, coordinator, mock] {
        process.end()?;
    }
    Ok(())
}

struct Training<'a> {
    program: &'a Path,
    folder: &'a Path,
}

impl Training<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        // Settings of this machine could send runs elsewhere, and counts too.
        let ours = |name: &str| name.starts_with("GABFEST_") || name == "LLVM_PROFILE_FILE";
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(ours)) {
            command.env_remove(name);
        }
        command
            .args(arguments)
            .current_dir(self.folder)
            .env("GABFEST_HISTORY", self.folder.join("history.db"))
            .env("OTEL_SDK_DISABLED", "true")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let output = self.command(arguments).output().with_context(|| self.not_started())?;
        ensure!(
            output.status.success(),
            "`gabfest {}` ended with {}:\n{}{}",
            arguments.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    }

    fn start(&self, arguments: &[&str]) -> anyhow::Result<Process> {
        let child = self.command(arguments).stdout(Stdio::piped()).spawn().with_context(|| self.not_started())?;
        Ok(Process { name: arguments.join(" "), child })
    }

    fn not_started(&self) -> String {
        format!("failed to start {}", self.program.display())
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.folder.join(name);
        fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))
    }

    /// Starts a mock model, and writes settings that name it as the agent.
    fn mock(&self, behaviour: &str, is_streamed: bool) -> anyhow::Result<Process> {
        self.write("mock.yaml", &format!("endpoints: {{ mock: {{ kind: mock, mock: {{ {behaviour} }} }} }}\n"))?;
        let mut mock = self.start(&["mock", "--listen", "127.0.0.1:0", "--config", "mock.yaml"])?;
        let settings = format!(
            "endpoints: {{ shop: {{ url: '{}', model: shop, stream: {is_streamed} }} }}\n\
             agents: {{ shop: {{ endpoint: shop }} }}\nroles: {{ agent: shop }}\n",
            mock.url()?
        );
        self.write("gabfest.yaml", &settings)?;
        Ok(mock)
    }
}

/// A process that runs until it is stopped.
struct Process {
    name: String,
    child: Child,
}

impl Process {
    /// The address in its first line.
    fn url(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        // The pipe stays open.
        BufReader::new(self.child.stdout.as_mut().context("a process without output")?).read_line(&mut line)?;
        match line.split([' ', ',', '\n']).find(|word| word.starts_with("http://")) {
            Some(url) => Ok(url.to_owned()),
            None => bail!("`gabfest {}` prints no address, but {line:?}", self.name),
        }
    }

    /// Asks it to stop, and waits until it has written its counts.
    fn end(mut self) -> anyhow::Result<()> {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        let status = self.child.wait()?;
        ensure!(status.success(), "`gabfest {}` ended with {status}", self.name);
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended already, or something else failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn path(path: &Path) -> anyhow::Result<&str> {
    path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::PermissionsExt as _, path::PathBuf};

    use super::*;

    /// A program that notes what it is called with and when it is stopped in `calls`, and the settings of its runs in `settings`. It
    /// serves until it is stopped where gabfest does.
    fn program(folder: &Path, run: &str) -> PathBuf {
        let program = folder.join("program");
        let folder = folder.display();
        let text = format!(
            "#!/bin/sh
            trap 'echo \"ended $1\" >>{folder}/calls; exit 0' TERM
            echo \"$*\" >>{folder}/calls
            case $1 in
              run) cat gabfest.yaml mock.yaml >>{folder}/settings 2>&1; {run} ;;
              submit) until grep -q ^worker {folder}/calls; do sleep 0.01; done ;;
              *) echo \"$1 at http://127.0.0.1:9/v1, and more\"; while :; do sleep 0.01; done ;;
            esac"
        );
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        program
    }

    #[test]
    fn conversations_are_played_alone_and_in_a_fleet_and_every_server_is_stopped() {
        let place = tempfile::tempdir().unwrap();
        play(&program(place.path(), "exit 0")).unwrap();
        let calls = fs::read_to_string(place.path().join("calls")).unwrap();
        let (ended, begun): (Vec<&str>, Vec<&str>) = calls.lines().partition(|call| call.starts_with("ended "));
        let mut commands: Vec<&str> = begun.iter().filter_map(|call| call.split(' ').next()).collect();
        // The last two start at the same time.
        commands[9..].sort_unstable();
        assert_eq!(commands[..7], ["run", "mock", "run", "mock", "run", "mock", "run"]);
        assert_eq!(commands[7..], ["mock", "coordinator", "submit", "worker"]);
        assert!(begun.contains(&"worker --slots 50 --coordinator http://127.0.0.1:9/v1"), "{calls}");
        assert_eq!(ended[..4], ["ended mock", "ended mock", "ended mock", "ended worker"]);
        assert_eq!(ended[4..], ["ended coordinator", "ended mock"]);
    }

    #[test]
    fn replies_come_whole_as_streams_and_with_pauses() {
        let place = tempfile::tempdir().unwrap();
        play(&program(place.path(), "exit 0")).unwrap();
        let settings = fs::read_to_string(place.path().join("settings")).unwrap();
        let of_runs: Vec<(bool, bool)> = settings
            .split("endpoints: { shop: ")
            .skip(1)
            .map(|run| (run.contains("stream: true"), run.contains("inter_token")))
            .collect();
        assert_eq!(of_runs, [(false, false), (true, false), (true, true)]);
    }

    #[test]
    fn a_run_that_fails_is_named_with_what_it_printed() {
        let place = tempfile::tempdir().unwrap();
        let error = play(&program(place.path(), "echo not enough; exit 3")).unwrap_err().to_string();
        assert!(error.contains("--repeats 20` ended with exit status: 3:\nnot enough\n"), "{error}");
    }
}
