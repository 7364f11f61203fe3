//! Names and texts that control a terminal: nothing that gabfest prints, and no line of JSON, contains them unescaped.

use crate::{address_keys::agent, process::Place};

/// Clears the screen, renames the window, sets colours with C1 codes, and reverses the reading direction.
const NAME: &str = "x\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}\u{2066}y";

fn steering(text: &str) -> Vec<char> {
    text.chars().filter(|&found| record::visible::steers(found) && found != '\n').collect()
}

#[test]
fn no_name_and_no_reply_steers_a_terminal() {
    let (address, _) = agent(|_| NAME.to_owned());
    let place = Place::new();
    let name = serde_json::Value::from(NAME).to_string();
    let name = record::visible::json(&name);
    place.write(
        "ask.scenario.yaml",
        &format!("name: {name}\ndescription: d\nrun:\n  - name: {name}\n    input: hello\n    evaluations:\n      - {{ type: string_contains, value: nothing }}\njudgment: {{ strategy: all_pass }}\n"),
    );
    let agent = format!("{address}/v1");
    let run = ["run", "ask.scenario.yaml", "--name", NAME, "--agent", &agent, "--out", "runs/one", "--log", "skunit"];
    let lost = ["worker", "--name", NAME, "--coordinator", "http://127.0.0.1:1", "--patience", "1"];
    for (args, code) in [
        (&run[..], 1),
        (&["runs", "runs"], 0),
        (&["report", "runs/one", "--format", "text"], 0),
        (&["run", "ask.scenario.yaml", "--dry-run", "--name", NAME], 0),
        (&["-vvv", "run", "ask.scenario.yaml", "--agent", &agent, "--out", "runs/two", "--log-json"], 1),
        (&["run", "ask.scenario.yaml", "--agent", NAME], 2),
        (&lost, 3),
    ] {
        let ended = place.run(args);
        assert_eq!(ended.code, code, "{args:?}: {}{}", ended.stdout, ended.stderr);
        assert!(steering(&ended.stdout).is_empty(), "{args:?}: {}", ended.stdout);
        assert!(steering(&ended.stderr).is_empty(), "{args:?}: {}", ended.stderr);
        if args == lost {
            assert!(ended.stderr.contains("worker x\\u{1b}[2J\\u{1b}]0;owned\\u{7}"), "{}", ended.stderr);
        }
    }
    for file in ["report.json", "trials.jsonl", "transcripts.jsonl"] {
        let text = std::fs::read_to_string(place.path().join("runs/one").join(file)).unwrap();
        assert!(steering(&text).is_empty(), "{file}");
        // A message of a check quotes what it found, and quotes are escaped differently.
        assert!(file == "trials.jsonl" || text.contains("\\u009b31m\\u202e\\u2066y"), "{file}: {text}");
        let first = text.lines().next().filter(|_| file != "report.json").unwrap_or(&text);
        serde_json::from_str::<serde_json::Value>(first).unwrap();
    }
}
