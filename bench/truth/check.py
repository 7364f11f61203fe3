#!/usr/bin/env python3
"""Plays a run against bench/truth/agent.py and compares gabfest's results with the agent's log.

The agent is wrong, slow, throttled and down by known shares. Each statement of report.json, report.md, junit.xml and the
terminal that the log can know is printed with its truth. Ends with 1 if one is false. Standard library only.

  check.py [--gabfest target/debug/gabfest] [--repeats 60] [--slots 24] [--keep FOLDER] [--markdown FILE]
"""

import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).resolve().parent
SCENARIOS = {
    "multiply": ["What is six times seven?", "And the answer to everything?"],
    "hotel": ["Which room is mine?", "Which floor is it on?", "And which bus goes there?"],
    "single": ["How many are there?"],
}
# Histograms keep three significant digits.
PRECISION = 0.001
# Difference between the agent's and gabfest's clock: threads waiting for a core, and the loopback.
SLACK_MS = 25.0
SLACK_SHARE = 0.05
# The last hundredth is of few calls, which one stall of the machine moves.
TAIL_SLACK_MS = 250.0
PRICE_IN, PRICE_OUT = 1.0, 2.0


class Statements:
    def __init__(self):
        self.all = []

    def say(self, where, what, said, truth, holds=None):
        self.all.append((where, what, said, truth, said == truth if holds is None else bool(holds)))

    def wrong(self):
        return [one for one in self.all if not one[4]]


def play(options, place):
    for name, questions in SCENARIOS.items():
        steps = "".join(
            f'  - input: "{question}"\n    evaluations: [{{ type: string_contains, value: "is 42" }}]\n' for question in questions
        )
        (place / f"{name}.scenario.yaml").write_text(
            f"name: {name}\ndescription: exact answers\nenvironment: {{ type: local }}\nrun:\n{steps}judgment: {{ strategy: all_pass }}\n"
        )
    log = place / "agent.jsonl"
    command = [sys.executable, str(HERE / "agent.py"), str(log), "--seed", options.seed]
    command += [] if options.usage else ["--no-usage"]
    agent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        port = agent.stdout.readline().strip()
        (place / "gabfest.yaml").write_text(
            f"endpoints:\n  shop:\n    url: http://127.0.0.1:{port}/v1\n    model: truth-1\n"
            f"    limits: {{ concurrency: {options.concurrency} }}\n"
            f"    price: {{ input_per_million: {PRICE_IN}, output_per_million: {PRICE_OUT} }}\n"
            "agents:\n  shop: { endpoint: shop }\nroles: { agent: shop }\ngates: { pass_rate: 0.95 }\n"
        )
        run = [os.path.abspath(options.gabfest), "run", *([] if options.preflight else ["--no-preflight"]), "."]
        run += ["--repeats", str(options.repeats), "--slots", str(options.slots), "--seed", "7", "--out", "out"]
        done = subprocess.run(run, cwd=place, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200"})
    finally:
        agent.terminate()
        agent.wait()
    (place / "terminal.txt").write_text(done.stdout)
    (place / "stderr.txt").write_text(done.stderr)
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    if not options.usage:
        # Only the agent knows what it did not report.
        for entry in entries:
            entry.pop("prompt_tokens", None)
            entry.pop("completion_tokens", None)
    return done, entries


class Log:
    """The figures from the agent's log."""

    def __init__(self, entries):
        self.entries = sorted(entries, key=lambda entry: entry["at"])
        self.turns, self.pings = {}, {}
        for entry in self.entries:
            # The preflight counts in calls, tokens and cost, and in nothing else.
            turns = self.pings if entry["conversation"].startswith("ping-") else self.turns
            turns.setdefault((entry["conversation"], entry["turn"]), []).append(entry)
        self.calls = len(self.turns) + len(self.pings)
        self.last = {key: tries[-1] for key, tries in self.turns.items()}
        # A request over a kept connection that the server closes is sent again at once, as HTTP clients do. It is the
        # same try.
        both = [*self.turns.values(), *self.pings.values()]
        self.resent = sum(one["status"] == 0 for tries in both for one in tries[:-1])
        self.broken = sum(tries[-1]["status"] != 200 for tries in both)
        self.tries = len(self.entries) - self.resent
        self.conversations = {}
        for (conversation, turn), last in sorted(self.last.items()):
            self.conversations.setdefault(conversation, []).append(last)
        self.answered = [last for last in self.last.values() if last["status"] == 200]
        self.service = sorted(last["took_ms"] for last in self.answered)
        # From the first request for a turn to the end of the last one, including pauses.
        whole = [
            (tries[-1]["at"] - tries[0]["at"]) * 1e3 + tries[-1]["took_ms"]
            for tries in self.turns.values()
            if tries[-1]["status"] == 200
        ]
        self.whole = sorted(whole)

    def verdict(self, turns):
        # A wrong answer is decisive.
        if any(turn.get("wrong") for turn in turns):
            return "FAIL"
        return "ERROR" if any(turn["status"] != 200 for turn in turns) else "PASS"

    def count(self, status):
        return sum(entry["status"] == status for entry in self.entries)

    def tokens(self, kind, of=None):
        return sum(entry.get(kind, 0) for entry in (self.entries if of is None else sum(of.values(), [])))


def quantile(values, share):
    return values[max(0, math.ceil(share * len(values)) - 1)] if values else 0.0


def wilson(passed, n, z=1.959963984540054):
    middle = (passed + z * z / 2) / (n + z * z)
    half = z * math.sqrt(passed * (n - passed) / n + z * z / 4) / (n + z * z)
    return middle - half, middle + half


# The fewest samples of each percentile.
FLOORS = {"p90_ms": 64, "p95_ms": 130, "p99_ms": 662}


def near(said, truth, share=SLACK_SHARE, slack=SLACK_MS):
    """Our clock runs a little longer than the agent's, never shorter."""
    return truth * (1 - share) - 1.0 <= said <= truth * (1 + share) + slack


def close(said, truth, tolerance=1e-9):
    return said is not None and abs(said - truth) <= tolerance


def of_report(says, report, log, options):
    summary, trials = report["summary"], report["summary"]["trials"]
    planned = len(SCENARIOS) * options.repeats
    verdicts = [log.verdict(turns) for turns in log.conversations.values()]
    passed, failed, errors = (verdicts.count(one) for one in ("PASS", "FAIL", "ERROR"))
    say = lambda what, said, truth, holds=None: says.say("report.json", what, said, truth, holds)
    say("schema_version", report["schema_version"], 3)
    say("planned trials", trials["planned"], planned)
    say("conversations begun = planned trials", planned, len(log.conversations))
    say("passed", trials["pass"], passed)
    say("failed: a wrong answer", trials["fail"], failed)
    say("errors: a 500 or a closed connection", trials["error"], errors)
    say("agent_errors", trials.get("agent_errors", trials["error"]), errors)
    say("nothing else happened", trials["inconclusive"] + trials["skipped"] + trials["cancelled"] + trials["not_started"], 0)
    judged = passed + failed + errors
    rate, own = summary["success_rate"], passed / judged
    say("success_rate", rate["estimate"], own, close(rate["estimate"], own))
    say("success_rate n", rate["n"], judged)
    low, high = wilson(passed, judged)
    say("wilson interval", [round(rate["low"], 6), round(rate["high"], 6)], [round(low, 6), round(high, 6)])
    say("judged_pass_rate", summary["judged_pass_rate"]["estimate"], passed / (passed + failed), close(summary["judged_pass_rate"]["estimate"], passed / (passed + failed)))
    say("completed_rate", summary["completed_rate"], (passed + failed) / planned, close(summary["completed_rate"], (passed + failed) / planned))
    say("turns", summary["turns"], len(log.turns))
    unanswered = len(log.last) - len(log.answered)
    say("turns without an answer", summary["latency"]["unanswered_turns"], unanswered)
    say("calls to the agent", summary["llm_calls"]["agent"], log.calls)
    before = summary.get("preflight")
    say("calls of the preflight", before and before["calls"], len(log.pings) or None)
    if before and options.usage:
        own = [log.tokens("prompt_tokens", log.pings), log.tokens("completion_tokens", log.pings)]
        say("tokens of the preflight", [before["tokens"]["input"], before["tokens"]["output"]], own)
    say("calls to others", sum(calls for role, calls in summary["llm_calls"].items() if role != "agent"), 0)
    cost = summary["cost"]
    lines = [line for line in summary["models"] if line["role"] == "agent"]
    throttling = lambda key: sum(line["throttling"][key] for line in lines)
    say(f"tries = requests in the log, less {log.resent} sent anew over a closed connection", throttling("tries"), log.tries)
    say("429s", throttling("throttled_tries"), log.count(429))
    if options.usage:
        tokens = [log.tokens("prompt_tokens"), log.tokens("completion_tokens")]
        say("tokens in", summary["tokens"]["agent"]["input"], tokens[0])
        say("tokens out", summary["tokens"]["agent"]["output"], tokens[1])
        own = (tokens[0] * PRICE_IN + tokens[1] * PRICE_OUT) / 1e6
        say("cost of reported usage, USD", round(cost["total_usd"], 9), round(own, 9))
        say("calls with estimated tokens", cost["estimated_calls"], 0)
        say("calls without a known cost = calls that broke", cost["unpriced_calls"], log.broken)
        say("cost.complete", cost["complete"], log.broken == 0)
    else:
        say("calls with estimated tokens", cost["estimated_calls"], log.calls - log.broken)
        say("cost.complete, usage is not reported", cost["complete"], False)
    say("attempts lost", summary["attempts"]["lost"], 0)
    say("nothing unsettled", [summary["unsettled_usd"], cost["unknown_attempts"]], [0.0, 0])
    turn = summary["latency"]["turn"]
    say("replies in the percentiles", turn["count"], len(log.service))
    for name, share in (("p50_ms", 0.5), ("p90_ms", 0.9), ("p95_ms", 0.95), ("p99_ms", 0.99), ("max_ms", 1.0)):
        own = quantile(log.service, share)
        slack = TAIL_SLACK_MS if share > 0.95 else SLACK_MS
        if len(log.service) < FLOORS.get(name, 0):
            say(f"latency {name} of too few replies", turn[name], None)
            continue
        say(f"latency {name}, to {slack:.0f} ms and 5 %", turn[name], round(own, 3), near(turn[name], own, slack=slack))
    own = sum(log.service) / len(log.service)
    say("latency mean_ms", turn["mean_ms"], round(own, 2), near(turn["mean_ms"], own))
    line = max(lines, key=lambda line: line["calls"])
    service, retried = line["throttling"]["service"], line["throttling"]["with_retries"]
    say("service times are of replies that came", service["count"], sum(1 for last in log.answered))
    # The log has the pauses and the rate-limit waits between tries in one sum; the report has them apart.
    waits = line["throttling"]["wait_sum_ms"]
    log_sum, own_sum = sum(log.whole), retried["mean_ms"] * retried["count"]
    slack = SLACK_MS * len(log.entries)
    say("time with retries, and rate-limit waits, cover the log's", [round(own_sum), round(waits)], round(log_sum),
        own_sum * (1 - SLACK_SHARE) - slack <= log_sum <= (own_sum + waits) * (1 + SLACK_SHARE) + slack)
    for name, share in (("p50_ms", 0.5), ("p95_ms", 0.95), ("max_ms", 1.0)):
        own = quantile(log.whole, share)
        if retried["count"] < FLOORS.get(name, 0):
            say(f"with retries {name} of too few calls", retried[name], None)
            continue
        say(f"with retries {name} is at most the log's, and no less than the service time's", retried[name], round(own, 1),
            retried[name] <= own * (1 + SLACK_SHARE) + TAIL_SLACK_MS and retried[name] >= service[name] * (1 - PRECISION))
    wait = line["throttling"]["wait"]
    say("wait_sum_ms is the mean wait of all calls", round(waits), round(wait["mean_ms"] * wait["count"]),
        abs(waits - wait["mean_ms"] * wait["count"]) <= 0.01 * waits + wait["count"] * 0.01 + 1)
    say("the run's verdict", report["verdict"], "FAIL")
    failures = {(one["kind"], one["blame"]): one["trials"] for one in summary["failures"]}
    say("failures: check_failed", failures.get(("check_failed", "agent"), 0), failed)
    down = sum(failures.get((kind, "agent"), 0) for kind in ("agent_failed", "agent_unreachable"))
    say("failures: agent_failed and agent_unreachable", down, errors)
    say("failures: nobody else is blamed", sum(n for (_, blame), n in failures.items() if blame != "agent"), 0)
    # By the number of its questions, a conversation belongs to a scenario, unless it broke off.
    first = {questions[0]: name for name, questions in SCENARIOS.items()}
    by_scenario = {name: {"PASS": 0, "FAIL": 0, "ERROR": 0} for name in SCENARIOS}
    for turns in log.conversations.values():
        by_scenario[first[turns[0]["said"]]][log.verdict(turns)] += 1
    for case in report["cases"]:
        own = by_scenario[case["scenario"].split(" (")[0]]
        said = [case["pass"], case["fail"], case["error"]]
        say(f"case {case['scenario']}: pass, fail, error", said, [own["PASS"], own["FAIL"], own["ERROR"]])
        flaky = own["PASS"] > 0 and own["FAIL"] + own["ERROR"] > 0
        say(f"case {case['scenario']}: flaky", case["flaky"], flaky)
        all_of = sum(own.values())
        say(f"case {case['scenario']}: success_rate", case["success_rate"]["estimate"], own["PASS"] / all_of, close(case["success_rate"]["estimate"], own["PASS"] / all_of))


def of_trials(says, place, log):
    """Each trial by the id of its conversation, if the transcript has it."""
    lines = [json.loads(line) for line in (place / "out" / "trials.jsonl").read_text().splitlines()]
    says.say("trials.jsonl", "lines", len(lines), len(log.conversations))
    says.say("trials.jsonl", "turns", sum(line["turns"] for line in lines), len(log.turns))
    said = sorted(line["verdict"] for line in lines)
    says.say("trials.jsonl", "verdicts", f"{len(said)} sorted", f"{len(said)} sorted", said == sorted(log.verdict(turns) for turns in log.conversations.values()))
    by_id = {}
    for conversation, turns in log.conversations.items():
        by_id[conversation] = (log.verdict(turns), len(turns))
    matched = wrong = 0
    for line in lines:
        own = [found for name, found in by_id.items() if line["trial_id"] in name]
        if len(own) == 1:
            matched += 1
            wrong += own[0] != (line["verdict"], line["turns"])
    if matched:
        says.say("trials.jsonl", f"verdict and turns of each of the {matched} trials whose id is in the log", wrong, 0)
    tokens = sum(line["tokens"]["agent"]["input"] for line in lines)
    if any("prompt_tokens" in entry for entry in log.entries):
        says.say("trials.jsonl", "tokens in", tokens, log.tokens("prompt_tokens", log.turns))


def plain(number):
    return f"{number:,}"


def percent(share):
    tenths = round(share * 1000) / 10
    return f"{tenths:.0f}%" if tenths == int(tenths) else f"{tenths:.1f}%"


def of_page(says, name, text, report, log):
    flat = re.sub(r"[*`]", "", " ".join(text.split()))
    passed = sum(log.verdict(turns) == "PASS" for turns in log.conversations.values())
    errors = sum(log.verdict(turns) == "ERROR" for turns in log.conversations.values())
    n = len(log.conversations)
    has = lambda what, words: says.say(name, what, "there" if words in flat else "not there", "there" if words in flat else words, words in flat)
    has("passed of trials", f"{plain(passed)} of {plain(n)} trials")
    has("success rate", f"success rate {percent(passed / n)}")
    has("judged pass rate", f"judged pass rate {percent(passed / (n - errors))} ({plain(passed)} of {plain(n - errors)})")
    unanswered = len(log.last) - len(log.answered)
    if unanswered:
        has("turns without an answer", f"{plain(unanswered)} turn{'s' if unanswered > 1 else ''} without an answer")
    says.say(name, "names the preflight", "the preflight, before the first trial" in flat, len(log.pings) > 0)
    has("429s", f"{plain(log.count(429))} of {plain(log.tries)} tries met a 429")
    says.say(name, "throttling is a heading", "Throttling and waits" in flat, log.count(429) > 0)
    found = re.search(r"agent\s*\|?\s*truth-1\s*\|?\s*([\d,]+)\s*\|?\s*(~?[\d,]+)\s*\|?\s*(~?[\d,]+)", flat)
    says.say(name, "calls of the agent", found and found[1], plain(log.calls))
    if any("prompt_tokens" in entry for entry in log.entries):
        tokens = [plain(log.tokens("prompt_tokens")), plain(log.tokens("completion_tokens"))]
        says.say(name, "tokens of the agent", found and [found[2], found[3]], tokens)
        says.say(name, "no figure is marked as estimated", "~" in flat, False, "~ is estimated" not in flat)
    else:
        says.say(name, "tokens are marked as estimated", found and [found[2][0], found[3][0]], ["~", "~"])
        has("what the mark means", f"for {plain(log.calls - log.broken)} of {plain(log.calls)} calls the endpoint did not report")
    complete = report["summary"]["cost"]["complete"]
    says.say(name, "says that the cost is incomplete", "incomplete" in flat, not complete)
    p50 = re.search(r"whole reply[ |]*([\d,]+)[ |]*([\d.]+ m?s)", flat)
    says.say(name, "replies in the latency table", p50 and p50[1], plain(len(log.service)))
    if p50:
        value = float(p50[2].split()[0]) * (1 if p50[2].endswith("ms") else 1000)
        says.say(name, "p50 of the latency table", p50[2], f"{quantile(log.service, 0.5):.1f} ms", near(value, quantile(log.service, 0.5)))


def of_junit(says, place, report, code):
    root = xml.parse(place / "out" / "junit.xml").getroot()
    suites = root.findall("testsuite")
    cases = root.findall(".//testcase")
    gates = {gate["name"]: gate["verdict"] for gate in report["gates"]}
    says.say("junit.xml", "test cases = cases and gates", len(cases), len(report["cases"]) + len(gates))
    says.say("junit.xml", "tests", int(root.get("tests")), len(cases))
    says.say("junit.xml", "failures of all suites", int(root.get("failures")), sum(int(suite.get("failures")) for suite in suites))
    bad = sum(case.find("failure") is not None or case.find("error") is not None for case in cases)
    says.say("junit.xml", "failed test cases, as the exit code decides", bad > 0, code == 1)
    by_name = {case["scenario"].split(" (")[0]: case for case in report["cases"]}
    for case in cases:
        if case.get("classname") == "gabfest":
            passed = case.find("failure") is None and case.find("error") is None
            says.say("junit.xml", f"gate {case.get('name')} holds", passed, gates.get(case.get("name")) == "PASS")
            continue
        properties = {one.get("name"): one.get("value") for one in case.iter("property")}
        own = next((of for name, of in by_name.items() if case.get("name").startswith(name)), None)
        says.say("junit.xml", f"{case.get('name')}: trials and passes", [properties.get("trials"), properties.get("pass")], own and [str(own["trials"]), str(own["pass"])])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gabfest", default=str(HERE.parent.parent / "target/debug/gabfest"))
    parser.add_argument("--repeats", type=int, default=60)
    parser.add_argument("--slots", type=int, default=24)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--usage", action=argparse.BooleanOptionalAction, default=True, help="whether the agent reports its usage")
    parser.add_argument("--preflight", action=argparse.BooleanOptionalAction, default=True, help="whether gabfest asks the agent before the run")
    parser.add_argument("--keep", help="keep the run in this folder")
    parser.add_argument("--markdown", help="write the statements as a table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(options.keep or folder)
        place.mkdir(parents=True, exist_ok=True)
        done, entries = play(options, place)
        says, log = Statements(), Log(entries)
        says.say("exit code", "a gate failed", done.returncode, 1)
        report = json.loads((place / "out" / "report.json").read_text())
        of_report(says, report, log, options)
        of_trials(says, place, log)
        of_page(says, "report.md", (place / "out" / "report.md").read_text(), report, log)
        of_page(says, "terminal", done.stdout, report, log)
        of_junit(says, place, report, done.returncode)
    rows = ["| where | statement | said | truth | |", "|---|---|---|---|---|"]
    for where, what, said, truth, holds in says.all:
        print(f"{'true ' if holds else 'FALSE'}  {where}: {what}: said {said}, truth {truth}")
        rows.append(f"| {where} | {what} | {said} | {truth} | {'true' if holds else '**false**'} |")
    print(f"{len(says.all)} statements, {len(says.wrong())} false; the log has {len(entries)} requests, {log.count(429)} with 429")
    if options.markdown:
        pathlib.Path(options.markdown).write_text("\n".join(rows) + "\n")
    return 1 if says.wrong() else 0


if __name__ == "__main__":
    sys.exit(main())
