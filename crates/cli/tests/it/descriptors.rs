//! Few descriptors: a run that does not fit is refused before the start, a listener idles, and the report is written.

use std::{
    fs::{self, File},
    io::{ErrorKind, Read as _},
    net::TcpStream,
    process::Command,
    time::Duration,
};

use tokio::time::Instant;

use crate::process::{Ended, Place, Process};

const TALK: &str = "
name: talk
description: d
run:
  - input: Hello
    conversation:
      max_turns: 3
      user_simulator: { persona: a customer, objective: get a refund }
      final_evaluations: [{ type: llm_judge, prompt: Was the agent of help?, expected: 'yes' }]
judgment: { strategy: all_pass }
";

/// gabfest with so many descriptors, and no way to have more.
fn limited(place: &Place, descriptors: u32, args: &[&str]) -> Command {
    let gabfest = place.gabfest(args);
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -n {descriptors}; exec \"$0\" \"$@\"")).arg(gabfest.get_program());
    command.args(gabfest.get_args()).current_dir(place.path()).stdin(std::process::Stdio::null());
    command.env_remove("GABFEST_COORDINATOR");
    command
}

#[test]
fn more_slots_than_connections_are_refused_before_anything_is_played() {
    let place = Place::new();
    place.write("talk.scenario.yaml", TALK);
    let agent = ["run", "talk.scenario.yaml", "--agent", "http://127.0.0.1:9/v1", "--out", "out"];
    let refused = Ended::from(limited(&place, 1_024, &[&agent[..], &["--slots", "1500"]].concat()).output().unwrap());
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    let says = "1,500 slots need 1,564 open files and connections at once, and this process may have 1,024";
    assert!(refused.stderr.contains(says), "{}", refused.stderr);
    assert!(refused.stderr.contains("\nhint: --slots 960 fits; for more, raise the limit"), "{}", refused.stderr);
    assert!(!place.path().join("out").exists());
    // The mock model is no connection.
    let mock = ["run", "talk.scenario.yaml", "--slots", "1500", "--out", "out", "--quiet"];
    let played = Ended::from(limited(&place, 1_024, &mock).output().unwrap());
    assert!([0, 1].contains(&played.code), "{}", played.stderr);
}

#[test]
fn a_soft_limit_is_raised() {
    let place = Place::new();
    place.write("talk.scenario.yaml", TALK);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -Sn 64; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_gabfest")]).current_dir(place.path());
    let args = ["run", "talk.scenario.yaml", "--agent", "http://127.0.0.1:9/v1", "--slots", "100", "--out", "out"];
    let ended = Ended::from(command.args(args).args(["--quiet", "--no-preflight"]).output().unwrap());
    assert_ne!(ended.code, 2, "the hard limit is higher: {}", ended.stderr);
    assert!(place.path().join("out/report.json").exists());
}

/// Three endpoints keep a connection each for every conversation, which uses all descriptors.
#[test]
fn the_report_is_written_even_if_connections_take_all_descriptors() {
    let place = Place::new();
    place.write("talk.scenario.yaml", TALK);
    let (_mock, address) = place.serve(&["mock", "--listen", "127.0.0.1:0"]);
    let endpoint = format!("{{ url: '{}', model: MODEL }}", address);
    let endpoints = ["agent", "user", "judge"]
        .map(|role| format!("  {role}: {}", endpoint.replace("MODEL", &format!("mock-{role}"))));
    let settings = format!(
        "endpoints:\n{}\nagents: {{ shop: {{ endpoint: agent }} }}\nroles: {{ user_sim: user, judge: judge }}\n",
        endpoints.join("\n")
    );
    place.write("gabfest.yaml", &settings);
    let args = ["run", "talk.scenario.yaml", "--agent", "shop", "--repeats", "72", "--slots", "36", "--out", "out"];
    let ended = Ended::from(limited(&place, 100, &[&args[..], &["--no-preflight"]].concat()).output().unwrap());
    assert!(ended.stderr.contains("warning: 36 slots may need 172 open files and connections"), "{}", ended.stderr);
    let report = place.json("out/report.json");
    assert_eq!(report["summary"]["trials"]["planned"], 72, "{}", ended.stderr);
    assert!(place.path().join("out/report.html").exists());
}

/// The CPU time of the process, in ticks of a hundredth of a second.
fn ticks(process: &Process) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.0.id())).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn silent_connections_use_no_cpu_and_block_no_client() {
    let place = Place::new();
    let log = place.path().join("coordinator.log");
    let mut command = limited(&place, 200, &["coordinator", "--listen", "127.0.0.1:0"]);
    let (coordinator, address) = Process::serve_logging(&mut command, File::create(&log).unwrap().into());
    let at = address.trim_start_matches("http://");
    let mut silent: Vec<TcpStream> = (0..160).map(|_| TcpStream::connect(at).unwrap()).collect();
    let (began, before) = (Instant::now(), ticks(&coordinator));
    // It waits for a place, and is answered when the others are shown out.
    let listed = place.run(&["runs", "--coordinator", &address]);
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    let used = ticks(&coordinator) - before;
    let most = began.elapsed().as_millis() as u64 / 10 / 2;
    assert!(used < most.max(50), "{used} hundredths of a second of {most} that are half a core");
    for stream in &mut silent {
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let closed = stream.read(&mut [0]);
        assert!(!matches!(&closed, Err(error) if error.kind() == ErrorKind::WouldBlock), "one stays open");
    }
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("136 connections are open, and others wait"), "{log}");
}
