//! A coordinator that goes away while a run is watched or its report is downloaded, and one whose disk is full.

use std::{fs, path::Path, process::Command, time::Duration};

use crate::process::{Ended, Place, Process};

/// The user's message, long enough that the download of a report takes a moment.
fn scenario() -> String {
    let input = "word ".repeat(20_000);
    format!(
        "name: long\ndescription: d\nrun: [{{ input: \"{input}\", evaluations: [{{ type: string_contains, value: hi }}] }}]\njudgment: {{ strategy: all_pass }}\n"
    )
}

/// A finished run of 200 trials with 20 MB of transcripts, on a coordinator.
fn ended_run(place: &Place) -> (Process, String) {
    place.write("long.scenario.yaml", &scenario());
    let (coordinator, address) = place.serve(&["coordinator", "--listen", "127.0.0.1:0", "--data", "data"]);
    let mut worker = place.start(&["worker", "--coordinator", &address]);
    let submit = ["submit", "long.scenario.yaml", "--repeats", "200", "--run", "long", "--coordinator", &address];
    let watched = place.run(&[&submit[..], &["--watch", "--quiet", "--out", "whole"]].concat());
    assert!([0, 1].contains(&watched.code), "{}", watched.stderr);
    worker.signal("TERM");
    worker.wait(Duration::from_secs(20));
    (coordinator, address)
}

/// Starts to download the report and kills the coordinator as soon as some of it has come.
fn killed_in_between(place: &Place, coordinator: &mut Process, address: &str, patience: &str) -> std::process::Child {
    let watch = ["watch", "long", "--coordinator", address, "--quiet", "--out", "out", "--patience", patience];
    let mut command = place.gabfest(&watch);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    let watch = command.spawn().unwrap();
    let part = place.path().join("out/.transcripts.jsonl.part");
    while fs::metadata(&part).map_or(0, |part| part.len()) == 0 {
        assert!(!place.path().join("out/report.json").exists(), "it was downloaded too fast for this test");
        std::thread::sleep(Duration::from_millis(1));
    }
    coordinator.kill();
    watch
}

#[test]
fn a_download_continues_when_its_coordinator_comes_back() {
    let place = Place::new();
    let (mut coordinator, address) = ended_run(&place);
    let watch = killed_in_between(&place, &mut coordinator, &address, "60");
    assert!(!place.path().join("out/report.json").exists(), "it was downloaded too fast for this test");
    let listen = address.trim_start_matches("http://");
    let (_coordinator, _) = place.serve(&["coordinator", "--listen", listen, "--data", "data"]);
    let watched = Ended::from(watch.wait_with_output().unwrap());
    assert!([0, 1].contains(&watched.code), "{}", watched.stderr);
    for name in ["transcripts.jsonl", "trials.jsonl", "report.json"] {
        let read = |folder: &str| fs::read(place.path().join(folder).join(name)).unwrap();
        assert!(read("out") == read("whole"), "{name} is not the same");
    }
}

#[test]
fn a_download_without_its_coordinator_fails_and_leaves_no_folder() {
    let place = Place::new();
    let (mut coordinator, address) = ended_run(&place);
    let watch = killed_in_between(&place, &mut coordinator, &address, "1");
    let watched = Ended::from(watch.wait_with_output().unwrap());
    assert_eq!(watched.code, 3, "{}", watched.stderr);
    let hint =
        format!("hint: the coordinator keeps the run; `gabfest watch long --coordinator {address}` writes the report");
    for part in [
        "the run has ended, and its report is not written",
        "the coordinator went away and was not back within 1 second",
        &hint,
    ] {
        assert!(watched.stderr.contains(part), "{part}: {}", watched.stderr);
    }
    assert!(!place.path().join("out").exists());
}

/// Slow enough that the coordinator is killed several times before the run ends.
const SLOW: &str = "endpoints: { mock: { kind: mock, mock: { latency: { ms: 150 } } } }\n";

#[test]
fn a_watch_survives_a_killed_or_restarted_coordinator() {
    let place = Place::new();
    place.write("gabfest.yaml", SLOW);
    place.write("s.scenario.yaml", &scenario().replace(&"word ".repeat(20_000), "hello"));
    let (mut coordinator, address) = place.serve(&["coordinator", "--listen", "127.0.0.1:0", "--data", "data"]);
    let log = fs::File::create(place.path().join("worker.log")).unwrap();
    let mut worker = place.gabfest(&["worker", "--coordinator", &address, "--slots", "2", "-v"]);
    let mut worker = Process(worker.stdout(std::process::Stdio::null()).stderr(log).spawn().unwrap());
    let submit = ["submit", "s.scenario.yaml", "--repeats", "100", "--run", "slow", "--coordinator", &address];
    let mut command = place.gabfest(&[&submit[..], &["--watch", "--out", "out"]].concat());
    let mut watch = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    for signal in ["KILL", "TERM", "KILL"] {
        std::thread::sleep(Duration::from_millis(1_200));
        assert!(watch.try_wait().unwrap().is_none(), "the watch ended before {signal}");
        coordinator.signal(signal);
        coordinator.wait(Duration::from_secs(20));
        // Away for long enough that somebody notices.
        std::thread::sleep(Duration::from_millis(500));
        let listen = address.trim_start_matches("http://");
        coordinator = place.serve(&["coordinator", "--listen", listen, "--data", "data"]).0;
    }
    let watched = Ended::from(watch.wait_with_output().unwrap());
    assert!([0, 1].contains(&watched.code), "{}: {}", watched.code, watched.stderr);
    let away = watched.stderr.matches("the coordinator went away").count();
    assert_eq!(away, 3, "{}", watched.stderr);
    let report = place.json("out/report.json");
    assert_eq!((&report["run"]["state"], &report["summary"]["trials"]["not_started"]), (&"finished".into(), &0.into()));
    worker.signal("TERM");
    worker.wait(Duration::from_secs(20));
    let log = fs::read_to_string(place.path().join("worker.log")).unwrap();
    assert_eq!(log.matches("joined the coordinator").count(), 1, "{log}");
    assert_eq!(log.matches("the coordinator went away").count(), 3, "{log}");
    assert_eq!(log.matches("the coordinator is back").count(), 3, "{log}");
}

/// A small disk for the coordinator's data, if one can be mounted.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(path: &'a Path) -> Option<Self> {
        fs::create_dir(path).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(path).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self(path))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn the_watcher_reports_a_full_disk_of_the_coordinator() {
    let place = Place::new();
    let path = place.path().join("disk");
    let Some(_disk) = SmallDisk::mount(&path) else {
        println!("SKIPPED: a small disk cannot be mounted here");
        return;
    };
    place.write("long.scenario.yaml", &scenario());
    let (_coordinator, address) = place.serve(&["coordinator", "--listen", "127.0.0.1:0", "--data", "disk"]);
    let mut worker = place.start(&["worker", "--coordinator", &address]);
    let submit = ["submit", "long.scenario.yaml", "--repeats", "200", "--run", "long", "--coordinator", &address];
    let watched = place.run(&[&submit[..], &["--watch", "--quiet", "--out", "out"]].concat());
    assert_eq!(watched.code, 3, "{}", watched.stderr);
    assert!(watched.stderr.contains("the run stopped: the store cannot be written: "), "{}", watched.stderr);
    assert!(watched.stderr.contains("disk is full"), "{}", watched.stderr);
    // A later caller gets the same answer.
    let later = place.run(&["watch", "long", "--coordinator", &address, "--quiet", "--out", "later"]);
    assert_eq!(later.code, 3, "{}", later.stderr);
    assert!(later.stderr.contains("disk is full"), "{}", later.stderr);
    worker.kill();
}
