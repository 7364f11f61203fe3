#!/usr/bin/env python3
"""Recomputes the figures of report.json from what a run wrote down, by a second path, and compares.

Usage: bench/recompute.py RUN_FOLDER…

Reads transcripts.jsonl (turns and calls) and trials.jsonl (verdicts and judgments) of each folder, and the plan in run.db
for what was planned. Shares no code with gabfest. Prints each figure that differs and exits with 1, or prints how many
figures it compared and exits with 0.

Only the coordinator knows what lost attempts used. Where attempts were lost or played again, totals over all attempts must
be at least those of the attempts that count; where none was, they must be equal.
"""

import collections
import json
import math
import pathlib
import sqlite3
import sys

Z = 1.959963984540054  # the 97.5 % point of the normal distribution
ROLES = ["agent", "judge", "scorer", "user_sim"]
VERDICTS = ["pass", "fail", "inconclusive", "error", "skipped", "cancelled"]


class Folder:
    """What one run left behind."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.report = json.loads((self.path / "report.json").read_text())
        self.trials = self.lines("trials.jsonl")
        self.transcripts = {line["number"]: line["turns"] for line in self.lines("transcripts.jsonl")}
        self.cases = {case["id"]: case for case in self.report["cases"]}
        self.plan = self.read_plan()
        self.groups = self.groups_by_case()

    def read_plan(self):
        store = sqlite3.connect(f"file:{self.path / 'run.db'}?immutable=1", uri=True)
        query = "select body from plan join run on plan.digest = run.plan_digest where run.id = ?"
        return json.loads(store.execute(query, [self.report["run"]["id"]]).fetchone()[0])

    def lines(self, name):
        with open(self.path / name) as file:
            return [json.loads(line) for line in file]

    def groups_by_case(self):
        """The plan numbers the cases of one group after those of the group before."""
        groups = []
        for group in self.plan["groups"]:
            values = math.prod(len(axis["values"]) for axis in group["axes"])
            cells = values * len(group["personas"]) * len(self.plan["agents"])
            groups += [group] * (cells if group["selection"] is None else len(group["selection"]))
        return groups

    def group_of(self, case):
        return self.groups[case["number"]]


class Comparison:
    def __init__(self):
        self.compared, self.wrong = 0, []

    def equal(self, name, reported, recomputed, tolerance=1e-9):
        self.compared += 1
        numbers = all(isinstance(it, (int, float)) for it in (reported, recomputed))
        if numbers and math.isclose(reported, recomputed, rel_tol=tolerance, abs_tol=1e-9):
            return
        if reported != recomputed:
            self.wrong.append(f"{name}: the report says {reported}, the transcripts say {recomputed}")

    def at_least(self, name, reported, recomputed):
        self.compared += 1
        if reported < recomputed - 1e-9:
            self.wrong.append(f"{name}: the report says {reported}, less than the {recomputed} of the transcripts")


class Counts(collections.Counter):
    """Trials by verdict, and those ERRORs that are the agent's."""

    def add(self, trial):
        self[trial["verdict"].lower()] += 1
        self["agent_errors"] += trial["verdict"] == "ERROR" and trial["blame"] == "agent"

    @property
    def conclusive(self):
        return self["pass"] + self["fail"] + self["agent_errors"]

    @property
    def judged(self):
        return self["pass"] + self["fail"]


def wilson(passed, n):
    if n == 0:
        return None, 0.0, 1.0
    share, z2 = passed / n, Z * Z
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return share, 0.0 if passed == 0 else centre - half, 1.0 if passed == n else centre + half


def compare_rate(comparison, name, reported, passed, n):
    share, low, high = wilson(passed, n)
    for key, value in [("estimate", share), ("low", low), ("high", high), ("n", n)]:
        comparison.equal(f"{name}.{key}", reported[key], value)


def compare_counts(comparison, name, reported, counts, planned):
    for verdict in VERDICTS:
        # What a cancelled run did not play is cancelled with it.
        if verdict != "cancelled":
            comparison.equal(f"{name}.{verdict}", reported[verdict], counts[verdict])
    comparison.equal(f"{name}.agent_errors", reported["agent_errors"], counts["agent_errors"])


def compare_rates(comparison, name, reported, counts, planned):
    compare_rate(comparison, f"{name}.success_rate", reported["success_rate"], counts["pass"], counts.conclusive)
    compare_rate(comparison, f"{name}.judged_pass_rate", reported["judged_pass_rate"], counts["pass"], counts.judged)
    missing = planned - counts.conclusive
    bounds = reported["success_bounds"]
    comparison.equal(f"{name}.success_bounds.missing", bounds["missing"], missing)
    if planned:
        comparison.equal(f"{name}.success_bounds.low", bounds["low"], counts["pass"] / planned)
        comparison.equal(f"{name}.success_bounds.high", bounds["high"], (counts["pass"] + missing) / planned)


def compare_quantiles(comparison, name, reported, micros):
    """Histograms keep three digits; the count and the largest value are exact."""
    micros = sorted(micros)
    comparison.equal(f"{name}.count", reported["count"], len(micros))
    if not micros:
        return
    for key, quantile in [("p50_ms", 0.5), ("p90_ms", 0.9), ("p95_ms", 0.95), ("p99_ms", 0.99), ("p999_ms", 0.999)]:
        rank = max(1, math.ceil(quantile * len(micros)))
        comparison.equal(f"{name}.{key}", reported[key], micros[rank - 1] / 1000, tolerance=2e-3)
    comparison.equal(f"{name}.max_ms", reported["max_ms"], micros[-1] / 1000)
    comparison.equal(f"{name}.mean_ms", reported["mean_ms"], sum(micros) / len(micros) / 1000, tolerance=1e-2)


def fold(strategy, findings):
    """The verdict of a trial that was played to its end, by the findings of its required checks."""
    decisive, otherwise = ("fail", "pass") if strategy == "all_pass" else ("pass", "fail")
    if not findings:
        return "INCONCLUSIVE"
    for finding in [decisive, "error", "inconclusive"]:
        if finding in findings:
            return finding.upper()
    return otherwise.upper()


def compare_verdicts(comparison, folder):
    """A verdict follows from its judgments, unless the trial broke off, must fail, or is weighed."""
    for trial in folder.trials:
        required = [it for it in trial["judgments"] if it["required"]]
        document = folder.group_of(folder.cases[trial["case_id"]])["document"]
        words = json.dumps(document)
        special = any(word in words for word in ["expect_failure", "required_score", '"expect": "fail"'])
        if special or not required or trial["verdict"] in ["ERROR", "SKIPPED", "CANCELLED"]:
            continue
        expected = fold(trial["strategy"], [it["finding"] for it in required])
        comparison.equal(f"trial {trial['number']}: verdict", trial["verdict"], expected)


def compare_cases(comparison, folder, by_case):
    k = folder.report["summary"].get("pass_k")
    scenarios = collections.defaultdict(Counts)
    for case in folder.report["cases"]:
        name, counts = f"case {case['number']}", by_case[case["id"]]
        compare_counts(comparison, name, case, counts, case["trials"])
        compare_rates(comparison, name, case, counts, case["trials"])
        flaky = counts["pass"] > 0 and counts["fail"] + counts["agent_errors"] > 0
        comparison.equal(f"{name}.flaky", case["flaky"], flaky)
        for index, value in enumerate(case["pass_hat_k"], start=1):
            chance = math.comb(counts["pass"], index) / math.comb(counts.conclusive, index)
            comparison.equal(f"{name}.pass_hat_k[{index}]", value, chance)
        if k and "pass_k" in case and case["pass_k"] is not None:
            chance = math.comb(counts["pass"], k) / math.comb(counts.conclusive, k)
            comparison.equal(f"{name}.pass_k", case["pass_k"], chance)
        scenarios[folder.group_of(case)["key"]].update(counts)
    weights = {group["key"]: group["weight"] for group in folder.plan["groups"] if scenarios[group["key"]].conclusive}
    reported = folder.report["summary"]["weighted_success_rate"]
    mean = None
    if sum(weights.values()) > 0:
        rates = {key: scenarios[key]["pass"] / scenarios[key].conclusive for key in weights}
        mean = sum(weights[key] * rates[key] for key in weights) / sum(weights.values())
    comparison.equal("summary.weighted_success_rate", reported, mean)
    flaky = sum(it["flaky"] for it in folder.report["cases"])
    comparison.equal("summary.flaky_cases", folder.report["summary"]["flaky_cases"], flaky)


def compare_calls(comparison, folder):
    """Calls, tokens and money by role and model, from the calls of each turn."""
    summary = folder.report["summary"]
    calls, tokens, cost = collections.Counter(), collections.Counter(), collections.Counter()
    for turns in folder.transcripts.values():
        for turn in turns:
            for call in turn["calls"]:
                key = call["role"], call["model"]
                calls[key] += 1
                tokens[(*key, "input")] += call["tokens"]["input"]
                tokens[(*key, "output")] += call["tokens"]["output"]
                cost[key] += call["cost"] or 0
    kept = len(folder.transcripts) == summary["attempts"]["total"] and summary["unsettled_usd"] == 0
    compare = comparison.equal if kept else comparison.at_least
    for model in summary["models"]:
        key = model["role"], model["model"]
        name = "models[{}, {}]".format(*key)
        compare(f"{name}.calls", model["calls"], calls[key])
        compare(f"{name}.tokens.input", model["tokens"]["input"], tokens[(*key, "input")])
        compare(f"{name}.tokens.output", model["tokens"]["output"], tokens[(*key, "output")])
        compare(f"{name}.cost_usd", model["cost_usd"], cost[key] / 1e9)
    for role in ROLES:
        compare(f"llm_calls.{role}", summary["llm_calls"][role], sum(n for (it, _), n in calls.items() if it == role))
        for direction in ["input", "output"]:
            sum_of = sum(n for (it, _, way), n in tokens.items() if (it, way) == (role, direction))
            compare(f"tokens.{role}.{direction}", summary["tokens"][role][direction], sum_of)
    compare("cost.total_usd", summary["cost"]["total_usd"], sum(cost.values()) / 1e9)


def compare_turns(comparison, folder):
    """Latency of answered turns. Needs every transcript; passing ones may be left out by settings."""
    summary = folder.report["summary"]
    played = [trial for trial in folder.trials if trial["turns"]]
    comparison.equal("turns", summary["turns"], sum(trial["turns"] for trial in folder.trials))
    comparison.equal("conversations", summary["conversations"], sum(trial["conversations"] for trial in folder.trials))
    if any(trial["number"] not in folder.transcripts for trial in played):
        return
    turns = [turn for turns in folder.transcripts.values() for turn in turns if turn["speaker"] != "program"]
    answered = [turn for turn in turns if turn["agent"] is not None]
    compare_quantiles(comparison, "latency.turn", summary["latency"]["turn"], [it["duration_micros"] for it in answered])
    comparison.equal("latency.unanswered_turns", summary["latency"]["unanswered_turns"], len(turns) - len(answered))


def compare(folder):
    comparison, report = Comparison(), folder.report
    total, by_case = Counts(), collections.defaultdict(Counts)
    failures = collections.Counter()
    for trial in folder.trials:
        total.add(trial)
        by_case[trial["case_id"]].add(trial)
        if trial["failure_kind"]:
            failures[trial["failure_kind"], trial["blame"]] += 1
    summary, planned = report["summary"], report["summary"]["trials"]["planned"]
    comparison.equal("trials.planned", planned, sum(case["trials"] for case in report["cases"]))
    compare_counts(comparison, "trials", summary["trials"], total, planned)
    compare_rates(comparison, "summary", summary, total, planned)
    comparison.equal("completed_rate", summary["completed_rate"], total.judged / planned if planned else 0.0)
    comparison.equal("failures", {(it["kind"], it["blame"]): it["trials"] for it in summary["failures"]}, dict(failures))
    compare_verdicts(comparison, folder)
    compare_cases(comparison, folder, by_case)
    compare_calls(comparison, folder)
    compare_turns(comparison, folder)
    return comparison


def main(paths):
    if not paths:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    code = 0
    for path in paths:
        comparison = compare(Folder(path))
        for line in comparison.wrong:
            print(f"{path}: {line}")
        print(f"{path}: {comparison.compared} figures compared, {len(comparison.wrong)} differ")
        code |= bool(comparison.wrong)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
