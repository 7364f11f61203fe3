//! Files, programs and walls of a trial on this machine.

use std::{collections::BTreeMap, fs, time::Duration};

use evaluate::subject::{CommandError, CommandOutput};
use record::{Blame, FailureKind};
use scenario::Seeding;

use super::*;
use crate::environment::Limits;

fn local(files: &[(&str, &str)], execution: Execution) -> Local {
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    Local::new(Arc::new(scenario::Environment { files, ..scenario::Environment::default() }), execution)
}

fn limits() -> Limits {
    Limits { time: Duration::from_secs(20), ..Limits::default() }
}

fn variables() -> Vec<(String, String)> {
    vec![("GREETING".to_owned(), "hi there".to_owned())]
}

/// The sandbox, or `None` and a message if this machine cannot build one.
async fn sandboxed(limits: Limits) -> Option<Execution> {
    let execution = Execution::sandboxed(variables(), limits);
    match execution.check().await {
        Ok(()) => Some(execution),
        Err(error) => {
            eprintln!("SKIPPED: 1 sandbox test, {error}");
            None
        }
    }
}

async fn sh(local: &Local, code: &str) -> Ran {
    local.run("sh", code).await.unwrap()
}

#[tokio::test]
async fn a_trial_without_files_and_programs_touches_no_disk() {
    let mut local = local(&[], Execution::Off);
    local.set_up(&BTreeMap::new()).await.unwrap();
    assert_eq!(local.file("a.txt").await, Ok(None));
    assert_eq!(local.file("../a.txt").await, Err("the path \"../a.txt\" leaves the trial's files".to_owned()));
    assert!(matches!(local.command("true").await, Err(CommandError::NotAllowed)));
    let failure = local.run("sh", "true").await.unwrap_err();
    assert_eq!((failure.kind, failure.blame), (FailureKind::ExecutionNotAllowed, Blame::Config));
    assert_eq!(local.capture().await.unwrap(), Captured::default());
    assert!(local.root.get().is_none());
    local.teardown().await;
}

#[tokio::test]
async fn written_files_are_found_and_gone_afterwards() {
    let mut local = local(&[("config.json", "{}"), ("/data/b.txt", "b")], Execution::Off);
    local.set_up(&BTreeMap::new()).await.unwrap();
    assert_eq!(local.file("./config.json").await, Ok(Some("{}".to_owned())));
    assert_eq!(local.file("data/b.txt").await, Ok(Some("b".to_owned())));
    let files = local.capture().await.unwrap().files;
    assert_eq!(files.keys().collect::<Vec<_>>(), ["config.json", "data/b.txt"]);
    let path = local.root.get().unwrap().path().to_owned();
    assert!(path.exists());
    local.teardown().await;
    assert!(!path.exists());
}

#[tokio::test]
async fn a_failed_setup_is_not_the_agents_fault() {
    let failure = local(&[("../../x", "")], Execution::Off).set_up(&BTreeMap::new()).await.unwrap_err();
    assert_eq!((failure.kind, failure.blame), (FailureKind::EnvironmentFailed, Blame::Infra));
    assert_eq!(
        failure.message,
        "the scenario's files cannot be written: the path \"../../x\" leaves the trial's files"
    );
    let databases = vec![Seeding { connection: "main".to_owned(), files: Vec::new() }];
    let written = scenario::Environment { databases, ..scenario::Environment::default() };
    let unknown = Local::new(Arc::new(written), Execution::Off);
    let failure = unknown.set_up(&BTreeMap::new()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Misconfigured);
    assert_eq!(failure.message, "the worker's settings name no database \"main\"");
}

#[test]
fn each_language_has_its_interpreter() {
    for (language, expected) in [
        ("", ["sh", "-c", "x"]),
        ("bash", ["sh", "-c", "x"]),
        ("sh", ["sh", "-c", "x"]),
        ("node", ["node", "-e", "x"]),
        ("javascript", ["node", "-e", "x"]),
        ("python", ["python3", "-c", "x"]),
        ("python3", ["python3", "-c", "x"]),
        ("perl", ["perl", "-c", "x"]),
    ] {
        assert_eq!(interpreter(language, "x"), expected);
    }
}

/// What holds both on the host and in the sandbox.
async fn programs_run(execution: Execution) {
    let mut local = local(&[("in.txt", "42")], execution);
    local.set_up(&BTreeMap::new()).await.unwrap();
    let ran = sh(&local, "echo \"$GREETING\"; cat in.txt; echo oops >&2; echo made > out.txt; exit 3").await;
    assert_eq!((ran.exit_code, ran.stdout.as_str(), ran.stderr.as_str()), (3, "hi there\n42", "oops\n"));
    assert_eq!(local.file("out.txt").await, Ok(Some("made\n".to_owned())));
    let captured = local.capture().await.unwrap();
    assert_eq!(captured.files["out.txt"], "made\n");
    assert_eq!(captured.program.unwrap().exit_code, 3);

    let ok = CommandOutput { exit_code: 0, stdout: "made\n".to_owned(), stderr: String::new() };
    assert_eq!(local.command("cat out.txt").await.unwrap(), ok);
    assert_eq!(local.command("test -e none.txt").await.unwrap().exit_code, 1);
    assert_eq!(sh(&local, "kill -TERM $$").await.exit_code, 128 + 15);
    assert_eq!(local.run("no-such-language", "x").await.unwrap().exit_code, 127);
    assert_eq!(sh(&local, "cat").await.stdout, "", "stdin is empty");
    let printed = sh(&local, "env").await.stdout;
    let names: Vec<&str> = printed.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert!(names.iter().all(|name| ["PATH", "GREETING", "PWD", "OLDPWD", "SHLVL", "_"].contains(name)), "{names:?}");
    if sh(&local, "command -v python3").await.exit_code == 0 {
        assert_eq!(local.run("python", "print(6 * 7)").await.unwrap().stdout, "42\n");
    }
    if sh(&local, "command -v node").await.exit_code == 0 {
        assert_eq!(local.run("javascript", "console.log(6 * 7)").await.unwrap().stdout, "42\n");
    }
    local.teardown().await;
}

/// What ends programs that exceed a limit, both on the host and in the sandbox.
/// `sleeper` is a number of seconds that no other test sleeps.
async fn programs_end(sleeper: u32, execution: impl Fn(Limits) -> Execution) {
    let short = Limits { time: Duration::from_millis(1_500), ..limits() };
    let slow = local(&[], execution(short));
    slow.set_up(&BTreeMap::new()).await.unwrap();
    // Its children hold the pipes and the name of their group.
    let failure =
        slow.run("sh", &format!("(sleep {sleeper}; echo late > late.txt) & sleep {sleeper}")).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::EnvironmentFailed);
    assert_eq!(failure.message, "the program failed to end within 1500 ms");
    // What a program leaves in the background ends with it.
    let left = sh(&slow, &format!("sleep {sleeper} & echo done")).await;
    assert_eq!((left.exit_code, left.stdout.as_str()), (0, "done\n"));
    assert!(left.duration < Duration::from_millis(1_400), "{:?}", left.duration);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!is_running(&["sleep", &sleeper.to_string()]), "sleep {sleeper} outlived its program");

    let quiet = local(&[], execution(Limits { output_bytes: 10, ..limits() }));
    let ran = sh(&quiet, "printf 0123456789abc; head -c 1000000 /dev/zero >&2").await;
    assert_eq!(ran.stdout, "0123456789\n[3 more bytes]");
    assert!(ran.stderr.ends_with("\n[999990 more bytes]"), "{}", ran.stderr);
}

fn is_running(arguments: &[&str]) -> bool {
    let wanted = arguments.iter().flat_map(|argument| argument.bytes().chain([0])).collect::<Vec<u8>>();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.map(|process| fs::read(process.path().join("cmdline"))).any(|line| line.is_ok_and(|line| line == wanted))
}

#[tokio::test]
async fn programs_run_on_the_host() {
    programs_run(Execution::host(variables(), limits())).await;
}

#[tokio::test]
async fn programs_run_in_the_sandbox() {
    let Some(execution) = sandboxed(limits()).await else { return };
    programs_run(execution).await;
}

#[tokio::test]
async fn programs_end_on_the_host() {
    programs_end(98_765, |limits| Execution::host(Vec::new(), limits)).await;
}

#[tokio::test]
async fn programs_end_in_the_sandbox() {
    if sandboxed(limits()).await.is_none() {
        return;
    }
    programs_end(98_764, |limits| Execution::sandboxed(Vec::new(), limits)).await;
}

#[tokio::test]
async fn a_program_ends_when_its_call_is_dropped() {
    let local = local(&[], Execution::host(Vec::new(), limits()));
    let waited = tokio::time::timeout(Duration::from_millis(300), local.run("sh", "sleep 98763 & sleep 98763")).await;
    assert!(waited.is_err());
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!is_running(&["sleep", "98763"]));
}

#[tokio::test]
async fn the_sandbox_has_walls() {
    let Some(execution) = sandboxed(Limits { file_bytes: 1 << 20, temporary_bytes: 4 << 20, ..limits() }).await else {
        return;
    };
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "hidden").unwrap();
    let local = local(&[("in.txt", "42")], execution);
    local.set_up(&BTreeMap::new()).await.unwrap();
    let secret = outside.path().join("secret");
    for (what, code) in [
        ("read a password file", "cat /etc/shadow".to_owned()),
        ("read the host's files", format!("cat {}", secret.display())),
        ("write the host's files", format!("echo changed > {}", secret.display())),
        ("write a program", "echo x > /usr/bin/evil".to_owned()),
        ("reach the loopback", "exec 3<>/dev/tcp/127.0.0.1/1".to_owned()),
        ("see other processes", "test $(ls -d /proc/[0-9]* | wc -l) -gt 12".to_owned()),
        ("mount", "mount -t tmpfs none /mnt".to_owned()),
        ("fill the disk", "head -c 3000000 /dev/zero > big".to_owned()),
        ("fill the memory through /tmp", "head -c 9000000 /dev/zero | split -b 900000 - /tmp/x".to_owned()),
        ("fill the memory through /dev/shm", "head -c 9000000 /dev/zero | split -b 900000 - /dev/shm/x".to_owned()),
        ("fill the memory through /dev", "echo x > /dev/x".to_owned()),
        ("fill the memory through /", "echo x > /x".to_owned()),
    ] {
        let ran = sh(&local, &code).await;
        assert_ne!(ran.exit_code, 0, "could {what}: {ran:?}");
        assert!(!ran.stdout.contains("hidden"), "{ran:?}");
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "hidden");
    let interfaces = sh(&local, "cat /proc/net/dev").await.stdout;
    let interfaces: Vec<&str> =
        interfaces.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim()).collect();
    assert_eq!(interfaces, ["lo"]);
    assert_eq!(sh(&local, "id -u").await.stdout, "65534\n");

    // Nothing that reads a trial's files follows links that a program made.
    sh(&local, &format!("ln -s {} link; ln -s / top", secret.display())).await;
    assert!(local.file("link").await.unwrap_err().contains("links are not followed"));
    assert!(local.file(&format!("top{}", secret.display())).await.unwrap_err().contains("links are not followed"));
    assert!(local.capture().await.unwrap().files.values().all(|text| !text.contains("hidden")));
}

#[tokio::test]
async fn a_machine_without_a_sandbox_is_reported() {
    let broken = Execution::sandboxed(Vec::new(), Limits { memory_bytes: 1_024, ..limits() });
    let error = broken.check().await.unwrap_err();
    assert!(error.starts_with("bwrap "), "{error}");
    let local = local(&[], broken);
    let failure = local.run("sh", "true").await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::EnvironmentFailed);
    assert!(failure.message.starts_with("the sandbox cannot be built: bwrap "), "{failure:?}");
    assert!(Execution::Off.check().await.is_ok());
}

#[tokio::test]
async fn a_programs_output_is_not_mistaken_for_the_sandbox() {
    let Some(execution) = sandboxed(limits()).await else { return };
    let local = local(&[], execution);
    let ran = sh(&local, "echo 'bwrap: x' >&2; exit 1").await;
    assert_eq!((ran.exit_code, ran.stderr.as_str()), (1, "bwrap: x\n"));
    let ran = sh(&local, "exit 1").await;
    assert_eq!((ran.exit_code, ran.stderr.as_str()), (1, ""));
}

/// Also if the tests run as root, for whom the system itself limits no processes.
#[tokio::test]
async fn limits_hold_for_all_processes_together() {
    let small = Limits { processes: 12, total_memory_bytes: 64 << 20, disk_bytes: 20 << 20, ..limits() };
    let Some(execution) = sandboxed(small).await else { return };
    let local = local(&[], execution);
    let forks = "i=0; while [ $i -lt 40 ]; do sleep 30 & i=$((i+1)); done; echo all";
    let ran = sh(&local, forks).await;
    assert!(ran.exit_code != 0 && ran.stdout.is_empty(), "{ran:?}");
    // `tail` holds back its output, so only the limit can end the program.
    let eats = "(head -c 100000000 /dev/zero; sleep 60) | tail -c 100000000 > /dev/null";
    let failure = local.run("sh", eats).await.unwrap_err();
    assert_eq!(failure.message, "the program failed to stay within 64 MiB of memory, with all its processes");
    let fills = "i=0; while true; do head -c 1000000 /dev/zero > f$i; i=$((i+1)); done";
    let failure = local.run("sh", fills).await.unwrap_err();
    assert_eq!(failure.message, "the program failed to stay within 20 MiB of disk");
}

/// Simulates a worker that is killed: its pipe closes.
#[tokio::test]
async fn programs_on_the_host_end_with_the_worker() {
    use std::os::unix::process::ExitStatusExt as _;
    use tokio::io::{AsyncBufReadExt as _, BufReader};

    let mut command = sandbox::leashed(&["sh", "-c", "sleep 98762 & echo begun; sleep 98762"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).process_group(0);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("begun"));
    let leash = child.stdin.take();
    assert_eq!(child.try_wait().unwrap(), None);
    drop(leash);
    assert_eq!(child.wait().await.unwrap().signal(), Some(9));
    // The group holds the pipe until its last process has ended.
    assert_eq!(lines.next_line().await.unwrap(), None);
    assert!(!is_running(&["sleep", "98762"]));
}
