//! The types of the TypeScript helper, by the real compiler: they take a transcript that gabfest sends and every answer that the
//! helper takes, and refuse what it refuses.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::process::Place;

/// The compiler, from the npm registry.
const COMPILER: &str = "typescript@5.9.3";

/// The check writes what it is asked to a file.
const KEEPS: &str = r#"
import { writeFileSync } from "node:fs";
import { check } from "./gabfest-check.js";

await check((transcript, config) => {
  writeFileSync(config.file, JSON.stringify(transcript));
  return true;
}).run();
"#;

const SCENARIO: &str = "
name: Refund
description: a customer calls
gabfest: {tags: [shop]}
run:
  - input: Hello?
    evaluations: [{type: custom, check: keeps, sees: [times], config: {file: turn.json}}]
  - conversation:
      max_turns: 2
      user_simulator: {persona: a customer, objective: a refund, gabfest: {goal: [{id: money, text: gets the money}]}}
      termination_conditions: []
    evaluations: [{type: custom, check: keeps, config: {file: conversation.json}}]
judgment: {strategy: all_pass}
";

/// Answers that the helper takes, and below each `@ts-expect-error` one that it refuses.
const CHECKS: &str = r#"
import { check, complete, type Answer, type Check, type Transcript } from "./gabfest-check.js";

const longest = (transcript: Transcript): number =>
  Math.max(...transcript.turns.map((turn) => (turn.agent ?? "").length));
const checks: Check[] = [
  check((transcript, config) => longest(transcript) <= config.max),
  check(() => null),
  check(async () => 0.5),
  check((transcript) => [longest(transcript) < 9, "short"]),
  check(() => [null, "no reply"]),
  check(() => ({ score: 1, reason: "r", evidence: "e", findings: [{ id: "a", pass: true }] })),
  check((transcript) => ({ not_applicable: transcript.turns[0]?.times === undefined })),
];
const answer: Answer = complete([0.25, "a quarter"]);
const asked: Promise<Answer>[] = checks.map((one) => one.answer(sent[0]!));
export const all: unknown = [answer, asked];

// @ts-expect-error
check(() => "yes");
// @ts-expect-error
check(() => [true, 5]);
// @ts-expect-error
check(() => ({ pass: "yes" }));
// @ts-expect-error
check((transcript) => transcript.turns.every((turn) => turn.agent.length > 3));
// @ts-expect-error
check((transcript) => transcript.turn > 3);
// @ts-expect-error
check((transcript) => transcript.answers.length > 3);
"#;

fn helper(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../helpers/typescript").join(name)
}

/// Installs the compiler, if this machine has npm and reaches the registry; a CI machine must.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn compiler(folder: &Path) -> Option<PathBuf> {
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--prefix"]);
    let installed = npm.arg(folder).arg(COMPILER).stdin(Stdio::null()).output();
    let problem = match installed {
        Ok(ended) if ended.status.success() => return Some(folder.join("node_modules/typescript/lib/tsc.js")),
        Ok(ended) => String::from_utf8_lossy(&ended.stderr).into_owned(),
        Err(error) => format!("npm does not start: {error}"),
    };
    assert!(std::env::var_os("CI").is_none(), "{COMPILER} is missing on a CI machine: {problem}");
    println!("SKIPPED: the types of the TypeScript helper: {COMPILER} cannot be installed: {problem}");
    None
}

#[test]
fn the_types_of_the_helper_are_those_of_gabfest() {
    let tools = tempfile::tempdir().unwrap();
    let Some(compiler) = compiler(tools.path()) else { return };
    let place = Place::new();
    for name in ["gabfest-check.js", "gabfest-check.d.ts", "package.json"] {
        std::fs::copy(helper(name), place.path().join(name)).unwrap();
    }
    place.write("keeps.js", KEEPS);
    place.write("gabfest.yaml", "checks: { keeps: { command: [node, keeps.js] } }\n");
    place.write("refund.scenario.yaml", SCENARIO);
    let ended = place.run(&["run", "refund.scenario.yaml", "--allow-exec=host", "--quiet"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);

    // A literal with a key that its type does not have is an error, so the types are complete for these.
    let sent = ["turn.json", "conversation.json"].map(|name| std::fs::read_to_string(place.path().join(name)).unwrap());
    assert!(sent[0].contains("\"times\"") && sent[1].contains("\"believed_done\""), "{sent:?}");
    let text = format!("{CHECKS}\nconst sent: Transcript[] = [{}];\n", sent.join(", "));
    place.write("all.ts", &text);
    let mut node = Command::new("node");
    node.arg(compiler).args(["--noEmit", "--strict", "--noUncheckedIndexedAccess", "--target", "es2022"]);
    node.args(["--module", "nodenext", "all.ts"]).current_dir(place.path());
    let compiled = node.output().unwrap();
    assert!(compiled.status.success(), "{}\n{text}", String::from_utf8_lossy(&compiled.stdout));
}
