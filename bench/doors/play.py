#!/usr/bin/env python3
"""Plays each agent of docs/agents.md that bench/doors has a server for, and compares the transcripts with the server's replies."""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CALL = ("find_order", {"id": 7}, "shipped")
# By the agent's name in docs/agents.md: the user's message, and the expected text and tool calls.
TALKS = {
    "orders": [
        ("I want to return something.", "Which order?", []),
        ("Where is order 7?", "Order 7 is shipped.", [CALL]),
    ],
    "assistant": [
        ("Hello!", "You wrote 1 messages.", []),
        ("Where is order 7?", "Order 7 is shipped.", [CALL]),
        ("Thank you.", "You wrote 3 messages.", []),
    ],
    "graph": [
        ("Hello!", "You wrote 1 messages.", []),
        ("Where is order 7?", "Order 7 is shipped.", [CALL]),
        ("Thank you.", "You wrote 3 messages.", []),
    ],
    "sdk": [
        ("Hello!", "I know 1 items.", []),
        ("Where is order 7?", "Order 7 is shipped.", [CALL]),
        ("Thank you.", "I know 7 items.", []),
    ],
}
MOCKS = """\
setup:
  mocks: [{ service: shop, method: find_order, response: { status: shipped } }]
"""


def block(name):
    """The settings of the documentation that define an agent."""
    page = (ROOT / "docs/agents.md").read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    return next(text for text in blocks if re.search(rf"^  {name}:", text, re.MULTILINE))


def scenario(name, talk, mocks):
    steps = ""
    for said, text, calls in talk:
        checks = [{"type": "string_contains", "value": text}]
        if calls:
            checks.append({"type": "tool_calls", "order": "exact", "calls": [{"name": call[0]} for call in calls]})
        steps += f"  - input: {json.dumps(said)}\n    evaluations: {json.dumps(checks)}\n"
    head = f"name: {name}\ndescription: {name}\nenvironment: {{ type: local }}\n"
    return head + (MOCKS if mocks else "") + f"run:\n{steps}judgment: {{ strategy: all_pass }}\n"


def play(options, title, name, settings, talk, mocks):
    folder = options.folder / "runs" / title
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "gabfest.yaml").write_text(settings)
    (folder / "talk.scenario.yaml").write_text(scenario(name, talk, mocks))
    command = [options.gabfest, "run", "talk.scenario.yaml", "--agent", name, "--repeats", "3", "--out", "out"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    (folder / "terminal.txt").write_text(done.stdout + done.stderr)
    file = folder / "out" / "transcripts.jsonl"
    trials = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return done, trials


def calls_of(turn):
    def result(text):
        try:
            value = json.loads(text)
        except (TypeError, ValueError):
            return text
        return value.get("status", value) if isinstance(value, dict) else value

    return [(call["name"], json.loads(call["arguments"]), result(call["result"])) for call in turn["tool_calls"]]


def compare(trial, talk):
    """The differences from the server's replies."""
    wrong = []
    if trial["verdict"] != "PASS":
        wrong.append(f"verdict {trial['verdict']}")
    if len(trial["turns"]) != len(talk):
        wrong.append(f"{len(trial['turns'])} turns")
    for turn, (_, text, calls) in zip(trial["turns"], talk):
        call = [call for call in turn["calls"] if call["role"] == "agent"][-1]
        if turn["agent"] != text:
            wrong.append(f"turn {turn['number']}: {turn['agent']!r}")
        if calls_of(turn) != calls:
            wrong.append(f"turn {turn['number']}: calls {calls_of(turn)}")
        ttft = call["ttft_micros"]
        if not ttft or ttft > call["total_micros"]:
            wrong.append(f"turn {turn['number']}: time to first token {ttft} of {call['total_micros']}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gabfest", default="target/debug/gabfest")
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    options = parser.parse_args()
    rows, failed = [], False
    old = block("orders").replace(":9101", ":9103")
    cases = [("a2a-1.0", "orders", block("orders")), ("a2a-0.3", "orders", old)]
    cases += [(title, name, block(name)) for title, name in [("pydantic-ai", "assistant"), ("langgraph", "graph"), ("openai-agents", "sdk")]]
    for title, name, settings in cases:
        done, trials = play(options, title, name, settings, TALKS[name], mocks=name == "orders")
        wrong = [one for trial in trials for one in compare(trial, TALKS[name])]
        if len(trials) != 3 or done.returncode != 0:
            wrong.append(f"{len(trials)} trials, exit code {done.returncode}")
        # A failure of the agent is an error with the agent's own message.
        _, broken = play(options, f"{title}-fails", name, settings, [("Please explode.", "shipped", [])], mocks=False)
        for trial in broken:
            if trial["verdict"] != "ERROR" or "on fire" not in json.dumps(trial):
                wrong.append(f"the failing turn is {trial['verdict']}")
        if not broken:
            wrong.append("the failing talk left no trial")
        rows.append((title, sum(len(trial["turns"]) for trial in trials), "; ".join(sorted(set(wrong))) or "as expected"))
        failed = failed or bool(wrong)
    for title, turns, outcome in rows:
        print(f"| {title} | {turns} | {outcome} |")
    sys.exit(failed)


if __name__ == "__main__":
    main()
