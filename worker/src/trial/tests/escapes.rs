//! Commands that an operator allowed and that try to get out of the sandbox, each in a whole trial.
//!
//! A contained command ends like any other: its check passes, or the trial is an error of our side. None is a failure of the
//! agent, and none leaves a process behind.

use std::{fs, io::Read as _, net::TcpListener, path::Path, process::Stdio, time::Duration};

use super::*;
use crate::environment::{Execution, Limits};

/// Seconds that no other test sleeps, to find what is left by its command line.
const SLEEPERS: [u32; 4] = [97_531, 97_532, 97_533, 97_534];

fn limits() -> Limits {
    Limits { time: Duration::from_secs(20), ..Limits::default() }
}

/// The sandbox, or `None` and a message if this machine cannot build one or has no perl.
async fn sandboxed(limits: Limits) -> Option<Execution> {
    let execution = Execution::sandboxed(Vec::new(), limits);
    let perl = Path::new("/usr/bin/perl").exists().then_some(()).ok_or_else(|| "perl is missing".to_owned());
    match execution.check().await.and(perl) {
        Ok(()) => Some(execution),
        Err(error) => {
            eprintln!("SKIPPED: 1 escape test, {error}");
            None
        }
    }
}

/// Plays a trial whose check is this command, which must end with 0.
async fn tries(execution: &Execution, command: &str) -> Played {
    let check = json!({ "type": "command_exit_code_is", "command": command, "expected_code": 0 });
    let mut cast = Cast::plain();
    cast.execution = execution.clone();
    let steps = json!([{ "name": "say", "input": "hi", "evaluations": [check] }]);
    first(&scenario(steps, json!({})), &cast).await
}

fn is_running(seconds: u32) -> bool {
    let wanted = format!("sleep\0{seconds}\0");
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .map(|process| fs::read(process.path().join("cmdline")))
        .any(|line| line.is_ok_and(|line| line == wanted.as_bytes()))
}

#[track_caller]
fn assert_nothing_is_left(seconds: u32) {
    // The kernel ends the processes of a sandbox right after its first one.
    let gone = (0..50).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        !is_running(seconds)
    });
    assert!(gone, "sleep {seconds} outlived its trial");
}

#[tokio::test]
async fn a_command_reads_no_file_of_the_host() {
    let Some(execution) = sandboxed(limits()).await else { return };
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    fs::write(&secret, "canary-of-the-host").unwrap();
    // Process 1 is the sandbox's own, and knows nothing of the worker's environment.
    let played = tries(&execution, "! grep -aq CARGO /proc/1/environ").await;
    assert_eq!(played.end(), (Verdict::Pass, None), "{played:?}");
    let paths = [secret.to_str().unwrap(), "/etc/shadow", "/root/.ssh/id_rsa", "/proc/1/root/etc/shadow"];
    for path in paths {
        let played = tries(&execution, &format!("! cat {path} | grep .")).await;
        assert_eq!(played.end(), (Verdict::Pass, None), "{path}: {played:?}");
        let played = tries(&execution, &format!("! sh -c 'echo changed >> {path}'")).await;
        assert_eq!(played.end(), (Verdict::Pass, None), "{path}: {played:?}");
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "canary-of-the-host");
}

#[tokio::test]
async fn a_command_reaches_no_listener_of_the_host() {
    let Some(execution) = sandboxed(limits()).await else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!(
        "perl -MSocket -e 'socket(my $s, PF_INET, SOCK_STREAM, 0) or exit 0; \
         exit(connect($s, sockaddr_in({port}, inet_aton(\"127.0.0.1\"))) ? 1 : 0)'"
    );
    // On the host it works.
    assert_eq!(std::process::Command::new("sh").args(["-c", &connect]).status().unwrap().code(), Some(1));
    let (mut caller, _) = listener.accept().unwrap();
    assert_eq!(caller.read(&mut [0]).unwrap_or(0), 0);
    let played = tries(&execution, &connect).await;
    assert_eq!(played.end(), (Verdict::Pass, None), "{played:?}");
    assert!(listener.accept().is_err(), "the sandbox reached the host");
}

#[tokio::test]
async fn a_fork_bomb_is_an_error_of_our_side_and_ends() {
    let [sleeper, ..] = SLEEPERS;
    let Some(execution) = sandboxed(Limits { time: Duration::from_secs(3), processes: 64, ..limits() }).await else {
        return;
    };
    let bomb = format!("sleep {sleeper} & perl -e 'while (1) {{ fork; }}'");
    let began = Instant::now();
    let played = tries(&execution, &bomb).await;
    assert_eq!(
        played.end(),
        (Verdict::Error, Some((FailureKind::EnvironmentFailed, Blame::Infra, Some(1)))),
        "{played:?}"
    );
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert_nothing_is_left(sleeper);
    // The worker goes on.
    assert_eq!(tries(&execution, "true").await.end(), (Verdict::Pass, None));
}

#[tokio::test]
async fn a_command_traces_no_process_of_the_host() {
    let call = match std::env::consts::ARCH {
        "x86_64" => 101,
        "aarch64" => 117,
        other => return eprintln!("SKIPPED: 1 escape test, the number of ptrace on {other} is unknown"),
    };
    let Some(execution) = sandboxed(limits()).await else { return };
    let [_, sleeper, ..] = SLEEPERS;
    let mut victim =
        std::process::Command::new("sleep").arg(sleeper.to_string()).stdout(Stdio::null()).spawn().unwrap();
    // The worker is the parent of the sandbox: its number is not known inside.
    for process in [std::process::id(), victim.id()] {
        let attach = format!("perl -e 'exit(syscall({call}, 16, {process}, 0, 0) == 0 ? 1 : 0)'");
        let played = tries(&execution, &attach).await;
        assert_eq!(played.end(), (Verdict::Pass, None), "{played:?}");
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        assert!(status.lines().any(|line| line == "TracerPid:\t0"), "{status}");
    }
    // Whatever it does to its parent, which is in the sandbox: the trial ends, and nothing is left.
    let parent =
        format!("sleep {} & perl -e 'syscall({call}, 16, getppid(), 0, 0); kill 9, getppid(); exit 0'", SLEEPERS[3]);
    let played = tries(&execution, &parent).await;
    assert_ne!(played.trial.verdict, Verdict::Pass, "its shell was killed: {played:?}");
    assert_nothing_is_left(SLEEPERS[3]);
    victim.kill().unwrap();
    victim.wait().unwrap();
}

#[tokio::test]
async fn a_command_gets_no_gigabyte() {
    let Some(execution) = sandboxed(limits()).await else { return };
    // One process is refused the memory at once: perl reports it and ends.
    let played = tries(&execution, "! perl -e 'my $all = \"x\" x (1 << 30); exit 0'").await;
    assert_eq!(played.end(), (Verdict::Pass, None), "{played:?}");
    // Several together are ended.
    let many = "for one in 1 2 3 4; do perl -e 'my $all = \"x\" x (500 << 20); sleep 60' & done; wait";
    let played = tries(&execution, many).await;
    let failure = played.trial.failure.clone().unwrap();
    assert_eq!((failure.kind, failure.blame), (FailureKind::EnvironmentFailed, Blame::Infra), "{failure:?}");
    assert!(failure.message.contains("1024 MiB of memory"), "{failure:?}");
    // What interpreters need is there.
    if Path::new("/usr/bin/node").exists() {
        let played = tries(&execution, "node -e 'console.log(6 * 7)'").await;
        assert_eq!(played.end(), (Verdict::Pass, None), "{played:?}");
    }
}

#[tokio::test]
async fn a_command_does_not_outlive_its_call() {
    let Some(execution) = sandboxed(limits()).await else { return };
    let [_, _, sleeper, _] = SLEEPERS;
    // A double fork in a session of its own, which ignores signals.
    let leaves = format!(
        "perl -MPOSIX -e 'if (fork) {{ exit 0 }} POSIX::setsid(); $SIG{{$_}} = \"IGNORE\" for qw(HUP TERM INT); \
         if (fork) {{ exit 0 }} exec \"sleep\", {sleeper}' & sleep 0.3; exit 0"
    );
    let began = Instant::now();
    let played = tries(&execution, &leaves).await;
    assert_eq!(played.end(), (Verdict::Pass, None), "{played:?}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_nothing_is_left(sleeper);
}
