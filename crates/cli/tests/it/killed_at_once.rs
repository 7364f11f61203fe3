//! A run that is killed before it starts: `run` or `resume` works on the folder in whatever state it is left.

use std::{fs, path::PathBuf, time::Duration};

use formats::read;
use scenario::plan::{self, Choices};
use serde_json::json;

use crate::process::Place;

const SCENARIO: &str = "
name: hello
description: d
run: [{ input: hi, evaluations: [{ type: string_contains, value: hi }] }]
judgment: { strategy: all_pass }
";

/// The pause before a kill, in milliseconds: the same times in each run of the test, spread over all that a beginning takes.
fn pauses(count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |index| (index * 193 + 7) % 300)
}

/// A folder `out` of a started run: its plan beside the store, and no run in the store.
struct Begun {
    place: Place,
}

impl Begun {
    fn new() -> Self {
        let place = Place::new();
        place.write("hello.scenario.yaml", SCENARIO);
        fs::create_dir(place.path().join("out")).unwrap();
        Self { place }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.place.path().join("out").join(name)
    }

    fn runs(&self) {
        let ended = self.place.run(&["run", "hello.scenario.yaml", "--out", "out", "--quiet"]);
        assert!([0, 1].contains(&ended.code), "{}", ended.stderr);
        self.is_whole();
    }

    fn resumes(&self) {
        let ended = self.place.run(&["resume", "out"]);
        assert!([0, 1].contains(&ended.code), "{}", ended.stderr);
        assert!(ended.stderr.contains(": 0 of "), "{}", ended.stderr);
        self.is_whole();
    }

    fn is_whole(&self) {
        let report = self.place.json("out/report.json");
        assert_eq!(
            (&report["run"]["state"], &report["summary"]["trials"]["not_started"]),
            (&json!("finished"), &json!(0))
        );
        assert!(!self.file("begun.json").exists(), "the store has it now");
        let again = self.place.run(&["run", "hello.scenario.yaml", "--out", "out"]);
        assert!(again.code == 2 && again.stderr.contains("holds a run already"), "{}", again.stderr);
    }
}

#[test]
fn a_folder_in_every_state_of_a_beginning_is_run_and_resumed() {
    let begun = Begun::new();
    let reading = read::read(&[begun.place.path().join("hello.scenario.yaml")]);
    let plan = plan::build(&reading, &Choices::default()).unwrap().to_json();
    // The files beside the plan when the process is killed, in the order of their creation.
    let states: [&[&str]; 3] = [&[], &["run.db.lock"], &["run.db.lock", "run.db"]];
    for (index, state) in states.iter().enumerate() {
        for resumes in [false, true] {
            let begun = Begun::new();
            fs::write(begun.file("begun.json"), json!({ "run": "a-run", "plan": plan }).to_string()).unwrap();
            state.iter().for_each(|name| fs::write(begun.file(name), "").unwrap());
            let listed = begun.place.run(&["runs", begun.place.path().to_str().unwrap()]);
            assert!(listed.stdout.contains("out  unfinished"), "state {index}: {}{}", listed.stdout, listed.stderr);
            if resumes { begun.resumes() } else { begun.runs() }
        }
    }
    // Without a complete plan `resume` reports that there is nothing to resume, and `run` works.
    for state in [&[][..], &[".begun.json.part"], &["run.db.lock", "run.db"]] {
        let begun = Begun::new();
        state.iter().for_each(|name| fs::write(begun.file(name), "").unwrap());
        let resumed = begun.place.run(&["resume", "out"]);
        assert!(resumed.code == 2 && resumed.stderr.contains("`gabfest run … --out out`"), "{}", resumed.stderr);
        begun.runs();
    }
}

#[test]
fn a_run_killed_in_its_first_moments_can_continue() {
    let mut resumed = 0;
    for pause in pauses(16) {
        let begun = Begun::new();
        let mut run = begun.place.start(&["run", "hello.scenario.yaml", "--out", "out", "--quiet"]);
        std::thread::sleep(Duration::from_millis(pause));
        run.kill();
        let ended = begun.place.run(&["resume", "out", "--quiet"]);
        if [0, 1].contains(&ended.code) {
            resumed += 1;
            begun.is_whole();
        } else {
            assert!(
                ended.code == 2 && ended.stderr.contains("no run has begun in out"),
                "{pause} ms: {}",
                ended.stderr
            );
            begun.runs();
        }
    }
    assert!(resumed > 0, "no run was killed after its beginning: the pauses are too short for this machine");
}
