//! docs/tutorial.md, docs/load.md, docs/compare.md, docs/history.md, docs/plan.md, docs/replay.md, docs/may-we-ship.md and a
//! section of docs/operations.md are correct: their files are written, their commands run, and the output is compared.
//!
//! A block whose info string names a file (` ```yaml gabfest.yaml `) is that file. In a `console` block, lines after `$
//! ` are commands and the lines below each are its output; a line `…` matches any number of lines. Times and the names
//! of runs are masked, and so are all numbers of a block below the comment `numbers vary`.

use std::{net::TcpListener, process::Command};

use crate::process::{Ended, Place};

const TUTORIAL: &str = include_str!("../../../../docs/tutorial.md");
const LOADS: &str = include_str!("../../../../docs/load.md");
const COMPARE: &str = include_str!("../../../../docs/compare.md");
const HISTORY: &str = include_str!("../../../../docs/history.md");
const REPLAY: &str = include_str!("../../../../docs/replay.md");
const OPERATIONS: &str = include_str!("../../../../docs/operations.md");
const MAY_WE_SHIP: &str = include_str!("../../../../docs/may-we-ship.md");
const PLAN: &str = include_str!("../../../../docs/plan.md");
/// The port of the tutorial's agent, and of the coordinator. The test takes a free one, because tests run side by side.
const PORT: &str = "8090";
const COORDINATOR_PORT: &str = "7400";
/// Begins the line that the script prints before each command.
const MARK: &str = "@@ command ";

#[test]
fn every_command_of_the_tutorial_prints_what_the_page_says() {
    assert!(play(TUTORIAL) > 10);
}

#[test]
fn every_command_of_the_page_on_loads_prints_what_the_page_says() {
    assert!(play(LOADS) >= 4);
}

#[test]
fn every_command_of_the_page_on_comparisons_prints_what_the_page_says() {
    assert!(play(COMPARE) >= 4);
}

#[test]
fn every_command_of_the_page_on_the_history_prints_what_the_page_says() {
    assert!(play(HISTORY) >= 4);
}

#[test]
fn every_command_of_the_page_on_plans_prints_what_the_page_says() {
    assert!(play(PLAN) >= 4);
}

#[test]
fn every_command_of_may_we_ship_prints_what_the_page_says() {
    assert!(play(MAY_WE_SHIP) >= 10);
}

#[test]
fn every_command_of_the_page_on_replays_prints_what_the_page_says() {
    assert!(play(REPLAY) >= 4);
}

#[test]
fn every_command_that_encrypts_a_fleet_prints_what_the_page_says() {
    let (_, section) = OPERATIONS.split_once("\n## Encrypt and authenticate a fleet\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    assert!(play(&section.replace(COORDINATOR_PORT, PORT)) >= 10);
}

/// Plays a page. Returns how many commands it has.
fn play(page: &str) -> usize {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let steps = steps(&page.replace(PORT, &port));
    let commands: Vec<&Step> = steps.iter().filter(|step| matches!(step, Step::Run { .. })).collect();

    let place = Place::new();
    place.write("tutorial.bash", &script(&steps, &port));
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_gabfest")).parent().unwrap().display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let bash = Command::new("bash").arg("tutorial.bash").current_dir(place.path()).env("PATH", path).output().unwrap();
    let printed = Ended::from(bash).stdout;

    let outputs: Vec<&str> = printed.split(MARK).skip(1).collect();
    assert_eq!(outputs.len(), commands.len(), "{printed}");
    for (step, output) in commands.iter().zip(outputs) {
        let Step::Run { command, expected, numbers_vary } = step else { unreachable!("only commands were kept") };
        let actual: Vec<String> = output.lines().skip(1).map(|line| masked(line, *numbers_vary)).collect();
        let expected: Vec<String> = expected.iter().map(|line| masked(line, *numbers_vary)).collect();
        assert!(matches(&expected, &actual), "`{command}` should print\n{expected:#?}\nand printed\n{output}");
    }
    commands.len()
}

enum Step {
    Write { file: String, text: String },
    Run { command: String, expected: Vec<String>, numbers_vary: bool },
}

/// The page's files and commands, in order.
fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = page.lines();
    let mut before = "";
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            before = line;
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match info.split_once(' ') {
            Some((_, file)) => steps.push(Step::Write { file: file.to_owned(), text: block.join("\n") }),
            None if info == "console" => {
                for line in block {
                    if let Some(command) = line.strip_prefix("$ ") {
                        let numbers_vary = before.contains("numbers vary");
                        steps.push(Step::Run { command: command.to_owned(), expected: Vec::new(), numbers_vary });
                    } else if let Some(Step::Run { expected, .. }) = steps.last_mut() {
                        expected.push(line.to_owned());
                    }
                }
            }
            None => {}
        }
        before = "";
    }
    steps
}

/// One shell runs all steps, so that `cd`, `$!` and `$?` work as they do for a reader.
fn script(steps: &[Step], port: &str) -> String {
    let mut script = String::from("exec 2>&1\ntrap 'kill $(jobs -p) 2>/dev/null' EXIT\nstatus=0\n");
    for step in steps {
        match step {
            Step::Write { file, text } => script += &format!("cat > {file} <<'END OF FILE'\n{text}\nEND OF FILE\n"),
            Step::Run { command, .. } => {
                script += &format!("echo '{MARK}'\n(exit $status)\n{command}\nstatus=$?\n");
                // A reader's typing takes time, in which the agent starts or stops before the next command.
                if command.ends_with('&') {
                    script += &format!(
                        "for i in $(seq 200); do (: < /dev/tcp/127.0.0.1/{port}) 2>/dev/null && break; sleep 0.05; done\n"
                    );
                } else if command.starts_with("kill ") {
                    script += "wait 2>/dev/null\n";
                }
            }
        }
    }
    script
}

/// Whether the lines match in order; `…` skips any number of them.
fn matches(expected: &[String], actual: &[String]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((first, rest)) if first == "…" => (0..=actual.len()).any(|from| matches(rest, &actual[from..])),
        Some((first, rest)) => actual.first() == Some(first) && matches(rest, &actual[1..]),
    }
}

/// The line without parts that differ between runs, and with single spaces, because columns are as wide as their
/// figures.
fn masked(line: &str, numbers_vary: bool) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut masked = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let is_time = matches!(words.get(index + 1), Some(&("ms" | "s" | "min")));
        let is_unit = index > 0 && matches!(*word, "ms" | "s" | "min") && words[index - 1].ends_with(digit);
        masked.push(match () {
            () if is_run(word) => "RUN".to_owned(),
            () if word.starts_with("gabfest-runs/") => "gabfest-runs/…".to_owned(),
            () if is_unit => "ms".to_owned(),
            () if (is_time || numbers_vary) && word.contains(digit) => word.replace(digit, "").replace(['.', ','], ""),
            () => (*word).to_owned(),
        });
    }
    masked.join(" ")
}

/// The id of a run, such as `20261124-011123-cc5e`, perhaps with punctuation behind it.
fn is_run(word: &str) -> bool {
    let parts: Vec<&str> = word.trim_start_matches('(').split('-').collect();
    let is_number = |part: &str, digits: usize| part.len() == digits && part.chars().all(digit);
    matches!(parts[..], [day, time, _] if is_number(day, 8) && is_number(time, 6))
}

fn digit(letter: char) -> bool {
    letter.is_ascii_digit()
}
