#!/usr/bin/env python3
"""Recomputes the figures of report.json from the records of a run, independently, and compares them.

Usage: bench/recompute.py RUN_FOLDER…
       bench/recompute.py --falsify RUN_FOLDER…

Reads transcripts.jsonl (turns and calls) and trials.jsonl (verdicts and judgments) of each folder, and run.db: the plan,
the run's row, what each batch used, the attempts that were lost and those that were played again. Shares no code with gabfest.
Prints each figure that differs, and each key of the report that was not compared, and exits with 1; or prints how many
figures it compared and exits with 0. `UNTOLD` lists what nothing here can tell, and why.

--falsify changes each kind of figure of the report, one after the other, and fails where that is not found.
"""

import collections
import copy
import datetime
import fractions
import functools
import hashlib
import json
import math
import pathlib
import re
import sqlite3
import sys

from early import Early
import objectives

Z = 1.959963984540054  # the 97.5 % point of the normal distribution
# All input and output, then their parts.
KINDS = ["input", "output", "cached_input", "cache_write", "reasoning"]
LIMITS = ["requests", "tokens", "input_tokens", "output_tokens"]
ROLES = ["agent", "judge", "scorer", "user_sim"]
VERDICTS = ["pass", "fail", "inconclusive", "error", "skipped", "cancelled"]
QUANTILES = [("p50_ms", 0.5), ("p90_ms", 0.9), ("p95_ms", 0.95), ("p99_ms", 0.99), ("p999_ms", 0.999)]
# The most tokens a second that a histogram holds. The built-in mock can be faster.
FASTEST = 3_600_000
# The fewest samples of a percentile: with fewer, the chance that at most one lies beyond it is more than 1 %.
FLOORS = {share: next(n for n in range(2, 10_000) if share**n + n * (1 - share) * share ** (n - 1) <= 0.01)
          for _, share in QUANTILES[1:]}
# The times of a turn in the report, and the first numbers of the ranges of turns.
TIMES = ["response", "turn", "wait", "ttft", "inter_token", "per_output_token"]
RANGES = [1, 2, 3, 4, 8, 16]
# Only this many agents, scenarios, personas, tags and axis values have times of their own.
MEASURED_PARTS = 64
# Only this many models and personas of the simulated user have their own line.
NAMED_USERS = 32

# Keys that are not compared, by path, with the reason.
UNTOLD = {
    r"cases\[\d+\]\.combination": "a name that gabfest makes of the values of a case",
    r"cases\[\d+\]\.id": "a hash of the case; that trials name the same ids is compared",
    r"load\.runner(\..*)?": "what workers measured of their machines",
    r"load\.drift(\..*)?": "trends; crates/statistics/reference computes them a second time",
    r"load\.invalid": "words; that starts were on time is compared",
    r"load\.no_knee": "words; that there is no knee is compared",
    r"judges\.by_criterion\[\d+\]\.corrected\.(kappa|of_criterion|date)": "what `gabfest judge` measured; it is no part of the run",
    r"gates\[\d+\]\.reason": "words; the numbers that they begin with are compared",
}


class Folder:
    """The files of one run."""

    def __init__(self, path):
        self.path, self.known = pathlib.Path(path), {}
        self.report = json.loads((self.path / "report.json").read_text())
        self.trials = self.lines("trials.jsonl")
        self.transcripts = {line["number"]: line["turns"] for line in self.lines("transcripts.jsonl")}
        self.store = sqlite3.connect(f"file:{self.path / 'run.db'}?immutable=1", uri=True)
        self.store.row_factory = sqlite3.Row
        self.run = self.rows("select * from run where id = ?", self.report["run"]["id"])[0]
        body = self.rows("select body from plan where digest = ?", self.run["plan_digest"])[0]["body"]
        self.plan = json.loads(body)
        canonical = json.dumps(self.plan, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        self.plan_digest = hashlib.sha256(canonical.encode()).hexdigest()
        self.kept = self.rows("select number, body, replaced, replaced_failed, again from trial where run = ?", self.run["key"])
        self.bodies = {row["number"]: json.loads(row["body"]) for row in self.kept}
        # Fields without a value are not stored.
        for turn in (turn for body in self.bodies.values() for turn in body["latencies"]):
            turn.setdefault("ttft_micros", None)
            turn.setdefault("response_micros", None)
        self.lost = self.lost_attempts()
        self.slices = self.slices_of_money()
        self.batches = self.spend_of([row["spend"] for row in self.rows("select spend from segment where run = ?", self.run["key"])])
        self.preflight = self.spend_of([self.run["preflight"]] if "preflight" in self.run.keys() else [])
        self.spend = collections.defaultdict(collections.Counter)
        for key, line in [*self.batches.items(), *self.preflight.items()]:
            self.spend[key].update(line)
        # A name that the copies of a group keep.
        for place, group in enumerate(self.plan["groups"]):
            group["place"] = place
        self.groups = self.groups_by_case()
        self.whole, self.case_numbers = self.bodies, list(range(len(self.groups)))
        if self.plan.get("load"):
            self.leave_out()
        self.early = self.decided_early() if self.plan.get("decide") else None
        self.numbers = {case["id"]: index for index, case in enumerate(self.report["cases"])}

    def slices_of_money(self):
        """What each session held of the run's money, and what is left of it."""
        if not self.rows("select 1 from sqlite_schema where name = 'slice'"):
            return []
        slices = []
        for row in self.rows("select slice.*, ended_at from slice join session on session.id = slice.session where run = ?", self.run["key"]):
            slice = dict(row)
            taken = max(slice["granted_nanos"] - slice["returned_nanos"], slice["charged_nanos"], slice["settled_nanos"])
            known = max(slice["charged_nanos"], slice["settled_nanos"])
            lives = slice["ended_at"] is None
            slice["taken"], slice["reserved"] = taken, taken - known if lives else 0
            slice["unsettled"] = (slice["charged_nanos"] if lives else taken) - slice["settled_nanos"]
            slice["unsettled"] = max(slice["unsettled"], 0)
            slices.append(slice)
        return slices

    def leave_out(self):
        """Of a load, what was dropped, the warm-up, and the times of what was played again. The cases are those that remain."""
        apart = {number for number, body in self.whole.items() if self.is_dropped(body) or self.is_warm_up(body)}
        self.bodies = {number: body for number, body in self.whole.items() if number not in apart}
        self.trials = [trial for trial in self.trials if trial["number"] not in apart]
        self.transcripts = {number: turns for number, turns in self.transcripts.items() if number not in apart}
        for number, body in self.bodies.items():
            if self.is_open(number) and body["epoch"] > 1:
                self.bodies[number] = {**body, "latencies": []}
        ended = collections.Counter(trial["case_id"] for trial in self.trials)
        self.case_numbers = [case["number"] for case in self.report["cases"]]
        self.groups = [{**self.groups[case["number"]], "repeats": ended[case["id"]]} for case in self.report["cases"]]

    def decided_early(self):
        """The rounds of a run that stops when it is decided. Once it is over, its cases planned what they played."""
        outcomes, waiting = {}, {row["number"] for row in self.kept if row["again"]}
        for trial in self.trials:
            counts = counts_of([trial])
            says = counts.conclusive and not counts["doubtful"]
            if trial["number"] not in waiting:
                outcomes[trial["number"]] = counts["pass"] > 0 if says else None
        left_out = {index for index, case in enumerate(self.report["cases"]) if quarantined(self, case)}
        early = Early(self.plan, self.groups, outcomes, left_out)
        if self.run["state"] == "finished":
            ended = collections.Counter(trial["number"] % len(self.groups) for trial in self.trials)
            self.groups = [{**group, "repeats": ended[case]} for case, group in enumerate(self.groups)]
        return early

    @functools.cached_property
    def by_case(self):
        """The counts of each case, by its place in the report."""
        by_case = {index: Counts() for index in range(len(self.groups))}
        for trial in self.trials:
            by_case[self.numbers[trial["case_id"]]].add(trial)
        return by_case

    @functools.cached_property
    def total(self):
        return counts_of(self.trials)

    @functools.cached_property
    def transcribed(self):
        """Calls, tokens and money by role and model, by the transcripts."""
        transcribed = collections.defaultdict(collections.Counter)
        for number in self.transcripts:
            for call in self.calls(number):
                transcribed[call["role"], call["model"]].update(
                    calls=1, cost=call["cost"] or 0, plain_priced_calls=call.get("plain_priced", False),
                    cut_calls=call.get("finish") == "length", reported_cost=call.get("reported_cost", 0),
                    unpriced_calls=(call["cost"] is None) + call["lost_tries"], estimated_calls=call["estimated"],
                    tries=call["tries"], throttled_tries=call["throttled_tries"], wait_micros=call["wait_micros"],
                    **{kind: call["tokens"].get(kind, 0) for kind in KINDS})
        return transcribed

    def is_open(self, number):
        return "slots" not in self.plan["load"]["groups"][number >> 40]["pace"]

    def is_dropped(self, body):
        return (body.get("failure") or {}).get("kind") == "dropped"

    def due(self, body):
        """When a trial was due, or started in a slot; `None` if it did not start."""
        start = body.get("start")
        return start and start["at_micros"] - (start["late_micros"] if self.is_open(body["number"]) else 0)

    def is_warm_up(self, body):
        due = self.due(body)
        return due is not None and due < self.plan["load"].get("warm_up_micros", 0)

    def warm_up_of(self, role, key):
        """What the conversations of the warm-up used, in winning attempts."""
        if not self.plan.get("load"):
            return 0
        entries = [it for body in self.whole.values() if self.is_warm_up(body) for it in body["spend"]]
        find = lambda line: line["tokens"].get(key, line.get(key, 0))
        return sum(find(it["line"]) for it in entries if role in (None, it["role"]))

    def rows(self, query, *values):
        return self.store.execute(query, values).fetchall()

    def lines(self, name):
        with open(self.path / name) as file:
            return [json.loads(line) for line in file]

    def lost_attempts(self):
        rows = [dict(row) for row in self.rows("select * from attempt where run = ?", self.run["key"])]
        return sum(row.get("begun", 1) for row in rows)

    def spend_of(self, texts):
        """By role and model. Batches contain the usage of all attempts, including lost ones."""
        spend = collections.defaultdict(collections.Counter)
        for text in texts:
            for entry in json.loads(text):
                of, line = spend[entry["role"], entry["model"]], entry["line"]
                of.update({kind: line["tokens"].get(kind, 0) for kind in KINDS})
                of.update({key: value for key, value in line.items() if key != "tokens"})
        return spend

    def groups_by_case(self):
        """The plan numbers the cases of one group after those of the group before."""
        groups = []
        for group in self.plan["groups"]:
            values = math.prod(len(axis["values"]) for axis in group["axes"])
            cells = values * len(group["personas"]) * len(self.plan["agents"])
            groups += [group] * (cells if group["selection"] is None else len(group["selection"]))
        return groups

    def calls(self, number):
        return [call for turn in self.transcripts.get(number, []) for call in turn["calls"]]


class Difference(Exception):
    """Ends a comparison that only asks whether anything differs."""


class FirstOnly(list):
    def append(self, line):
        raise Difference(line)


class Comparison:
    """Compares leaves of the report by path, and records which ones were compared."""

    def __init__(self, report, wrong):
        self.report, self.compared, self.wrong = report, set(), wrong

    def at(self, path):
        value = self.report
        for key in path:
            value = value[key]
        return value

    def equal(self, path, recomputed, relative=1e-9, absolute=1e-9):
        reported = self.at(path)
        self.compared.update(leaves(reported, path))
        numbers = all(isinstance(it, (int, float)) and not isinstance(it, bool) for it in (reported, recomputed))
        if numbers and math.isclose(reported, recomputed, rel_tol=relative, abs_tol=absolute):
            return
        if reported != recomputed or isinstance(reported, bool) != isinstance(recomputed, bool):
            self.wrong.append(f"{name_of(path)}: the report says {reported!r}, and {recomputed!r} is right")

    def holds(self, path, whether, why):
        """Marks `path` as compared by a special rule."""
        self.compared.update(leaves(self.at(path), path))
        if not whether:
            self.wrong.append(f"{name_of(path)}: {why}")

    def finish(self):
        for path in leaves(self.report, ()):
            if path not in self.compared and not is_untold(path):
                self.wrong.append(f"{name_of(path)}: it was not compared")


def leaves(value, path):
    if isinstance(value, dict) and value:
        return [leaf for key, it in value.items() for leaf in leaves(it, (*path, key))]
    if isinstance(value, list) and value:
        return [leaf for index, it in enumerate(value) for leaf in leaves(it, (*path, index))]
    return [path]


def name_of(path):
    return "".join(f"[{it}]" if isinstance(it, int) else f".{it}" for it in path).lstrip(".")


def is_untold(path):
    return any(re.fullmatch(pattern, name_of(path)) for pattern in UNTOLD)


class Counts(collections.Counter):
    """Trials by verdict, errors of the agent, and earlier attempts."""

    def add(self, trial):
        agent_error = trial["verdict"] == "ERROR" and trial["blame"] == "agent"
        held = trial["verdict"] == "FAIL" or agent_error
        # A failure that passes in a replay is still a failure.
        replayed = trial["past_failures"] > 0 and not held
        self["fail" if replayed else trial["verdict"].lower()] += 1
        self["agent_errors"] += agent_error
        self["replayed_failures"] += replayed
        self["doubtful"] += trial["past_breaks"] > 0 and (held or replayed)

    @property
    def held(self):
        return self["fail"] + self["agent_errors"]

    @property
    def conclusive(self):
        return self["pass"] + self.held

    @property
    def judged(self):
        return self["pass"] + self["fail"]

    @property
    def ended(self):
        return sum(self[verdict] for verdict in VERDICTS)


def once(function):
    """Computes a result of a folder and some trials once. The records stay the same while the report is falsified."""

    @functools.wraps(function)
    def remembered(folder, trials, *others):
        key = (function, tuple(trial["number"] for trial in trials), *others)
        if key not in folder.known:
            folder.known[key] = function(folder, trials, *others)
        return folder.known[key]

    return remembered


def counts_of(trials):
    counts = Counts()
    for trial in trials:
        counts.add(trial)
    return counts


def compare_rate(comparison, path, passed, n):
    share, low, high = None, 0.0, 1.0
    if n:
        share, z2 = passed / n, Z * Z
        centre = (share + z2 / (2 * n)) / (1 + z2 / n)
        half = Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
        low, high = 0.0 if passed == 0 else centre - half, 1.0 if passed == n else centre + half
    for key, value in [("estimate", share), ("low", low), ("high", high), ("n", n), ("method", "wilson 95%")]:
        comparison.equal((*path, key), value)


@functools.cache
def student(degrees):
    """The 97.5 % point of Student's t: the density is integrated by Simpson's rule, and the point found by halving."""
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi)

    def above_0(t):
        steps = 4_000
        at = lambda i: (1 + (t * i / steps) ** 2 / degrees) ** (-(degrees + 1) / 2)
        inner = sum((4 if i % 2 else 2) * at(i) for i in range(1, steps))
        return scale * t / steps / 3 * (at(0) + inner + at(steps))

    low, high = 1.9, 3.0
    for _ in range(50):
        t = (low + high) / 2
        low, high = (t, high) if above_0(t) < 0.475 else (low, t)
    return low


def compare_run_rate(comparison, key, scenarios, n_of):
    """docs/statistics.md, "The interval of a run": `scenarios` has the counts of each."""
    scenarios = [(it["pass"], n_of(it)) for it in scenarios if n_of(it)]
    passed, n, k = sum(it[0] for it in scenarios), sum(it[1] for it in scenarios), len(scenarios)
    clustered, effect = k >= 6 and 0 < passed < n, None
    if clustered:
        share = passed / n
        variance = k / (k - 1) * sum((of_it - share * of) ** 2 for of_it, of in scenarios) / n**2
        effect = max(1.0, variance / (share * (1 - share) / n))
        m, z2 = n / effect, student(k - 1) ** 2
        centre = (share + z2 / (2 * m)) / (1 + z2 / m)
        half = math.sqrt(z2) * math.sqrt(share * (1 - share) / m + z2 / (4 * m * m)) / (1 + z2 / m)
        for name, value in [("estimate", share), ("low", max(0.0, centre - half)), ("high", min(1.0, centre + half)),
                            ("n", n), ("method", "clustered 95%")]:
            comparison.equal(("summary", key, name), value, absolute=1e-7)
    else:
        compare_rate(comparison, ("summary", key), passed, n)
    return {"scenarios": k, "clustered": clustered, "design_effect": effect}


def compare_rates(comparison, path, counts, planned, scenarios=None):
    if scenarios is None:
        compare_rate(comparison, (*path, "success_rate"), counts["pass"], counts.conclusive)
        compare_rate(comparison, (*path, "judged_pass_rate"), counts["pass"], counts.judged)
    else:
        scope = compare_run_rate(comparison, "success_rate", scenarios, lambda it: it.conclusive)
        compare_run_rate(comparison, "judged_pass_rate", scenarios, lambda it: it.judged)
        for key, value in scope.items():
            comparison.equal((*path, "success_rate_scope", key), value)
    missing = planned - counts.conclusive
    bounds = (*path, "success_bounds")
    comparison.equal((*bounds, "missing"), missing)
    comparison.equal((*bounds, "doubtful"), counts["doubtful"])
    comparison.equal((*bounds, "low"), counts["pass"] / planned if planned else 0.0)
    most = counts["pass"] + missing + counts["doubtful"]
    comparison.equal((*bounds, "high"), most / planned if planned else 1.0)


def compare_counts(comparison, path, counts, cancelled_with=0):
    for verdict in VERDICTS:
        # Trials that a cancelled run did not play are cancelled too.
        more = cancelled_with if verdict == "cancelled" else 0
        comparison.equal((*path, verdict), counts[verdict] + more)
    for key in ["agent_errors", "replayed_failures", "doubtful"]:
        comparison.equal((*path, key), counts[key])


def compare_quantiles(comparison, path, micros):
    """Histograms keep three digits; the count and the largest value are exact, the mean is rounded to 0.01 ms."""
    micros = sorted(micros)
    comparison.equal((*path, "count"), len(micros))
    for key, quantile in QUANTILES:
        rank = max(1, math.ceil(quantile * len(micros)))
        value = micros[rank - 1] / 1000 if micros else 0.0
        comparison.equal((*path, key), None if len(micros) < FLOORS.get(quantile, 0) else value, relative=2e-3)
    comparison.equal((*path, "max_ms"), micros[-1] / 1000 if micros else 0.0)
    mean = sum(micros) / len(micros) / 1000 if micros else 0.0
    comparison.equal((*path, "mean_ms"), mean, relative=2e-3, absolute=0.0051)


def compare_times(comparison, path, times):
    for name in TIMES:
        compare_quantiles(comparison, (*path, name), times[name])
    comparison.equal((*path, "estimated_tokens"), times["estimated"])
    speeds, of = times["speeds"], comparison.at(path).get("tokens_per_second")
    if of is None or not speeds:
        if speeds or of is not None:
            comparison.wrong.append(f"{name_of(path)}: tokens per second of {len(speeds)} trials are right")
        return
    path, values = (*path, "tokens_per_second"), sorted(speed for speed, _ in speeds)
    comparison.equal((*path, "count"), len(values))
    comparison.equal((*path, "estimated"), sum(estimated for _, estimated in speeds))
    comparison.equal((*path, "mean"), sum(values) / len(values), relative=2e-3, absolute=0.0051)
    for key, share in [("p50", 0.5), ("p10", 0.1), ("p5", 0.05), ("p1", 0.01)]:
        value = min(values[max(1, math.ceil(share * len(values))) - 1], FASTEST)
        few = key != "p50" and len(values) < FLOORS[round(1 - share, 2)]
        comparison.equal((*path, key), None if few else value, relative=2e-3, absolute=0.0011)


def compare_failures(comparison, path, trials):
    found = collections.Counter((it["failure_kind"], it["blame"]) for it in trials if it["failure_kind"])
    said = {(it["kind"], it["blame"]): it["trials"] for it in comparison.at(path)}
    comparison.holds(path, said == dict(found), f"the trials say {dict(found)}")


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
    """A verdict follows from its judgments, unless the trial broke off, must fail, or is weighed. The report does not
    have it; the figures of the report are made of it."""
    for trial in folder.trials:
        required = [it for it in trial["judgments"] if it["required"]]
        words = json.dumps(folder.groups[folder.numbers[trial["case_id"]]]["document"])
        special = any(word in words for word in ["expect_failure", "required_score", '"expect": "fail"'])
        if special or not required or trial["verdict"] in ["ERROR", "SKIPPED", "CANCELLED"]:
            continue
        if trial["failure_kind"] == "simulator_fault":
            if trial["verdict"] != "INCONCLUSIVE":
                comparison.wrong.append(f"trial {trial['number']}: {trial['verdict']}, and its user was at fault")
            continue
        expected = fold(trial["strategy"], [it["finding"] for it in required])
        if trial["verdict"] != expected:
            comparison.wrong.append(f"trial {trial['number']}: {trial['verdict']}, and its judgments say {expected}")


def contents(plan):
    """The digests of what the run was made of."""
    sha = lambda text: hashlib.sha256(text.encode()).hexdigest()
    of_json = lambda value: sha(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False))
    scenarios = {}
    for group in plan["groups"]:
        key = group["source"]["path"].rsplit("/", 1)[-1] + "/" + group["name"]
        digest = of_json(group["document"])
        digest = (sha(digest + sha(group["rows"]["text"])) if group.get("rows") else digest)[:16]
        if key in scenarios:
            scenarios[key]["digest"] = sha(scenarios[key]["digest"] + digest)[:16]
        else:
            scenarios[key] = {"digest": digest, **({"tags": group["tags"]} if group["tags"] else {})}
    personas = {name: of_json(persona)[:16] for name, persona in plan["personas"].items()}
    return {"scenarios": scenarios, "personas": personas, "endpoints": plan.get("endpoints", {})}


def compare_run(comparison, folder):
    row, of = folder.run, lambda key: ("run", key)
    moment = lambda millis: None if millis is None else datetime.datetime.fromtimestamp(
        millis / 1000, datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    for key, value in [
        ("id", row["id"]), ("name", folder.plan["name"]), ("state", row["state"]), ("exhausted", bool(row["exhausted"])),
        ("started_at", moment(row["started_at"])), ("ended_at", moment(row["ended_at"])), ("seed", folder.plan["seed"]),
        ("plan_digest", folder.plan_digest), ("gabfest_version", row["version"]),
    ]:
        comparison.equal(of(key), value)
    if "contents" in folder.report["run"]:
        comparison.equal(of("contents"), contents(folder.plan))
    if "decisions" in folder.report["run"]:
        compare_decisions(comparison, folder, moment)
    comparison.equal(("schema_version",), 3)


def stood_still_of(decisions):
    """For how long a load stood still before it was continued. A restart ends an interruption, and a resume every stop."""
    stood_still, stopped, interrupted = 0, None, None
    for of in decisions:
        before = min((at for at in (stopped, interrupted) if at is not None), default=None)
        if of["decided"] in ("paused", "stopped", "out_of_money"):
            stopped = of["after_ms"] if stopped is None else stopped
        elif of["decided"] == "interrupted":
            interrupted = of["after_ms"] if interrupted is None else interrupted
        elif of["decided"] == "resumed":
            stopped = interrupted = None
        elif of["decided"] == "restarted":
            stopped, interrupted = None if stopped is None else before, None
        if before is not None and stopped is None and interrupted is None:
            stood_still += of["after_ms"] - before
    return stood_still


def compare_wall(comparison, folder):
    row = folder.run
    if row["ended_at"] is None or comparison.report["wall"] is None:
        comparison.holds(("wall",), row["ended_at"] is None and comparison.report["wall"] is None, "the run has not ended, or has")
        return
    took = row["ended_at"] - row["started_at"]
    warm_up = (folder.plan.get("load") or {}).get("warm_up_micros", 0) // 1000
    measured = comparison.report["wall"].get("measured_ms", took)
    # A run that was stopped may have played a part of its warm-up.
    stood_still = stood_still_of(comparison.report["run"].get("decisions", [])) if folder.plan.get("load") else 0
    if stood_still or "stood_still_ms" in comparison.report["wall"]:
        comparison.holds(("wall", "stood_still_ms"), abs(comparison.report["wall"]["stood_still_ms"] - stood_still) <= 2, f"{stood_still}")
    expected = max(took - warm_up - comparison.report["wall"].get("stood_still_ms", 0), 0)
    right = measured == expected or row["state"] != "finished" and measured <= took
    comparison.holds(("wall", "measured_ms" if measured != took else "duration_ms"), right, f"{took - warm_up} was measured")
    per = lambda number, millis: round(number * millis / measured, 2) if measured else None
    sum_of = lambda key: sum(trial[key] for trial in folder.trials)
    written = sum(line["output"] for (role, _), line in folder.spend.items() if role == "agent") - folder.warm_up_of("agent", "output")
    comparison.equal(("wall", "duration_ms"), took)
    comparison.equal(("wall", "conversations_per_minute"), per(sum_of("conversations"), 60_000), absolute=0.0101)
    comparison.equal(("wall", "turns_per_second"), per(sum_of("turns"), 1_000), absolute=0.0101)
    comparison.equal(("wall", "output_tokens_per_second"), per(written, 1_000), absolute=0.0101)


def compare_decisions(comparison, folder, moment):
    """What was decided while the run played, and why gabfest itself stopped it."""
    row, right, stopped = folder.run, [], None
    for body in folder.rows("select body from decision where run = ? order by key", row["key"]):
        stored = json.loads(body["body"])
        at, load = stored.pop("at"), stored.pop("load_micros", None)
        of_load = {} if load is None else {"load_ms": load // 1000}
        right.append({"at": moment(at), "after_ms": max(at - row["started_at"], 0), **of_load, **stored})
        because = stopped or stored.get("reason")
        stopped = {"resumed": None, "stopped": because, "out_of_money": because}.get(stored["decided"], stopped)
    found = folder.report["run"]["decisions"]
    plain = lambda decision: {key: value for key, value in decision.items() if value is not None}
    comparison.holds(("run", "decisions"), [plain(it) for it in found] == right, f"{right} is right")
    if "stopped" in folder.report["run"]:
        comparison.equal(("run", "stopped"), None if row["state"] == "finished" else stopped)


def compare_cases(comparison, folder):
    cases, by_case, verdicts = folder.report["cases"], folder.by_case, Gates(folder, folder.by_case).cases
    scenarios, seen = collections.defaultdict(Counts), set()
    for index, case in enumerate(cases):
        path, counts, group = ("cases", index), by_case[index], folder.groups[index]
        planned = group["repeats"]
        cancelled_with = planned - counts.ended if folder.run["state"] == "cancelled" else 0
        compare_counts(comparison, path, counts, cancelled_with)
        compare_rates(comparison, path, counts, planned)
        for key, value in [
            ("number", folder.case_numbers[index]), ("trials", planned), ("scenario", group["name"]), ("format", group["format"]),
            ("source", group["source"]["path"]), ("weight", group["weight"]), ("verdict", verdicts[index]),
            ("flaky", counts["replayed_failures"] > 0 or (counts["pass"] > 0 and counts.held > 0)),
        ]:
            comparison.equal((*path, key), value)
        place = group["source"]["path"]
        titles = [group["name"], f"{group['name']} ({place})", f"{group['name']} ({place}:{group['source']['line']})"]
        comparison.holds((*path, "title"), case["title"] in titles, f"it is none of {titles}")
        others = [it for it in folder.plan["groups"] if it["place"] != group["place"] and it["name"] == group["name"]]
        if others:
            comparison.holds((*path, "title"), case["title"] != titles[0], "another scenario has the same name")
        comparison.holds((*path, "persona"), case["persona"] in group["personas"], f"not one of {group['personas']}")
        comparison.holds((*path, "agent"), case["agent"] in folder.plan["agents"], "the plan has no such agent")
        fits = all(case["parameters"].get(axis["parameter"]) in axis["values"] for axis in group["axes"])
        fits &= len(case["parameters"]) == len(group["axes"])
        comparison.holds((*path, "parameters"), fits, "not what the axes say")
        asked = case["parameters"].get("question") if group["format"] == "qna" else None
        comparison.equal((*path, "variant"), asked)
        cell = json.dumps([group["place"], case["persona"], case["agent"], case["parameters"]])
        comparison.holds((*path, "parameters"), cell not in seen, "another case has the same cell")
        seen.add(cell)
        chances = [math.comb(counts["pass"], k) / math.comb(counts.conclusive, k) for k in range(1, min(counts.conclusive, 10) + 1)]
        comparison.holds((*path, "pass_hat_k"), len(case["pass_hat_k"]) == len(chances), f"{chances} is right")
        for k, chance in enumerate(chances[: len(case["pass_hat_k"])]):
            comparison.equal((*path, "pass_hat_k", k), chance)
        scenarios[group["key"], place].update(counts)
    weights = {(it["key"], it["source"]["path"]): it["weight"] for it in folder.plan["groups"]}
    weights = {key: weight for key, weight in weights.items() if scenarios[key].conclusive}
    mean = None
    if sum(weights.values()) > 0:
        rates = {key: scenarios[key]["pass"] / scenarios[key].conclusive for key in weights}
        mean = sum(weights[key] * rates[key] for key in weights) / sum(weights.values())
    comparison.equal(("summary", "weighted_success_rate"), mean)
    flaky = sum(it["replayed_failures"] > 0 or (it["pass"] > 0 and it.held > 0) for it in by_case.values())
    comparison.equal(("summary", "flaky_cases"), flaky)
    usual = min(max(min((group["repeats"] for group in folder.groups), default=1), 1), 8)
    comparison.equal(("summary", "pass_k"), folder.plan.get("pass_k") or usual)


def least_of(share, trials):
    """The number of `trials` that a share requires: docs/statistics.md, "Shares are exact"."""
    share = min(max(share, 0.0), 1.0)
    text = f"{share:.15f}".rstrip("0")
    decimals = len(text.partition(".")[2])
    exact = fractions.Fraction(text if text[-1] != "." else text + "0")
    least = math.ceil(exact * trials)
    if decimals and 0 < trials <= 10 ** (decimals - 1) and least > 0:
        rounded = math.floor(fractions.Fraction(least - 1, trials) * 10**decimals + fractions.Fraction(1, 2))
        if rounded + (decimals == 15) >= exact * 10**decimals:
            return least - 1
    return least


def upper_bound(passed, n, confidence=0.95):
    """Clopper-Pearson, one-sided: the rate at which so few passes or fewer have a probability of 5 %."""
    if passed >= n:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(80):
        p = (low + high) / 2
        chance = sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(passed + 1))
        low, high = (p, high) if chance > 1 - confidence else (low, p)
    return low


def lower_bound(passed, n, confidence):
    """The mirror of the upper bound of the failures."""
    return 1.0 - upper_bound(n - passed, n, confidence)


class Gates:
    """The rule of docs/statistics.md, "Gates", written down a second time."""

    def __init__(self, folder, by_case):
        gates, self.is_search = folder.plan["gates"], bool((folder.plan.get("load") or {}).get("search"))
        self.rate, floor = gates.get("pass_rate"), gates.get("case_pass_rate")
        self.rates, self.most_flaky = gates.get("success_rates") or [], gates.get("max_flaky_cases")
        required = [it["min"] for it in self.rates] + ([] if self.rate is None else [self.rate])
        self.floor = floor if floor is not None else min(required) / 2 if required else None
        if self.is_search:
            # Its steps are judged, and it goes beyond what the agent bears.
            self.rate, self.floor, self.rates, self.most_flaky = 0.0, 0.0, [], None
        self.total = counts_of(folder.trials)
        self.planned = sum(group["repeats"] for group in folder.groups)
        self.missing = self.planned - self.total.conclusive
        self.unplayed = self.planned - self.total.ended
        of_kind = lambda kind: sum(it["failure_kind"] == kind and it["blame"] != "agent" for it in folder.trials)
        self.quota, self.judgeless = of_kind("provider_exhausted"), of_kind("judge_missing")
        allowed = gates.get("max_unjudged") or 0.0
        few = self.missing < self.planned and self.missing <= fractions.Fraction(repr(allowed)) * self.planned
        self.enough = few and self.unplayed == 0 and self.quota == 0
        self.folder, self.by_case = folder, by_case
        self.cases = [self.of_case(group, by_case[index]) for index, group in enumerate(folder.groups)]
        self.by_floor = list(self.cases)
        for rate in self.rates:
            if rate.get("per") == "case":
                order = {verdict: place for place, verdict in enumerate(["FAIL", "INCONCLUSIVE", "PASS"])}
                found = [it["verdict"] for it in self.parts_of(rate)]
                self.cases = [min(pair, key=order.get) for pair in zip(self.cases, found)]
        self.unjudged = sum(by_case[index].conclusive == 0 for index in range(len(folder.groups)))
        self.allowed_cases = gates.get("max_unjudged_cases") or 0
        self.most_faults, users = gates.get("max_simulator_faults"), [it["user"] for it in folder.trials if it.get("user")]
        load, self.load = folder.report.get("load"), {}
        if load and load["invalid"]:
            self.load["load_is_valid"] = "INCONCLUSIVE", load["invalid"]
        if load and folder.run["state"] != "finished":
            self.load["load_is_over"] = "INCONCLUSIVE", "the load is not over"
        self.early = folder.early
        if self.early:
            self.cases = self.early.verdicts()
        if self.is_search:
            self.load["search"] = gate_of_search(load["search"])
        self.load.update(objectives.gates_of(folder, counts_of, met_of, upper_bound))
        self.users, self.faulty = len(users), sum("verdict_despite_fault" in it for it in users)

    def verdict(self, holds, certain, counts, planned):
        missing = planned - counts.conclusive
        doubtful = 0 if certain else counts["doubtful"]
        if not holds(counts["pass"] + missing + doubtful, planned):
            return "FAIL"
        if counts.conclusive and holds(counts["pass"], counts.conclusive if self.enough else planned):
            return "PASS"
        return "INCONCLUSIVE"

    def of_case(self, group, counts):
        own = None if self.is_search else group.get("required_pass_rate")
        rate = own if own is not None else 1.0 if self.floor is None else None
        holds = (lambda passed, n: passed >= least_of(rate, n)) if rate is not None else (
            lambda passed, n: passed >= self.floor * n or upper_bound(passed, n) >= self.floor)
        return self.verdict(holds, rate is not None and rate >= 1.0, counts, group["repeats"])

    def parts_of(self, rate):
        """The parts that a success rate is required of, with their counts and verdicts."""
        per, parts = rate.get("per", "run"), {}
        for index, (group, case) in enumerate(zip(self.folder.groups, self.folder.report["cases"])):
            suite = re.split(r"[/\\]", group["source"]["path"])[:-1]
            names = {
                "run": [""], "case": [index], "scenario": [group["place"]], "tag": group["tags"], "agent": [case["agent"]],
                "persona": [it for it in [case["persona"]] if it is not None], "suite": ["/".join(suite).removeprefix("./") or "."],
            }[per]
            for name in names:
                part = parts.setdefault(name, {"counts": Counts(), "planned": 0})
                part["counts"].update(self.by_case[index])
                part["planned"] += group["repeats"]
        by, least = rate.get("by", "point"), rate["min"]
        for part in parts.values():
            counts, planned = part["counts"], part["planned"]
            if by == "point":
                part["verdict"] = self.verdict(lambda passed, n: passed >= least_of(least, n), least >= 1.0, counts, planned)
                continue
            confidence, missing = by["bound"], planned - counts.conclusive
            n = counts.conclusive if self.enough else planned
            if upper_bound(counts["pass"] + missing + counts["doubtful"], planned, confidence) < least:
                part["verdict"] = "FAIL"
            else:
                shown = counts.conclusive and lower_bound(counts["pass"], n, confidence) >= least
                part["verdict"] = "PASS" if shown else "INCONCLUSIVE"
        return list(parts.values())

    def of_rate(self, rate):
        parts = self.parts_of(rate)
        found = [part["verdict"] for part in parts]
        failed, undecided = found.count("FAIL"), found.count("INCONCLUSIVE")
        verdict = "FAIL" if failed else "INCONCLUSIVE" if undecided or not parts else "PASS"
        words = f"{failed} failed (" if failed else f"{undecided} undecided (" if undecided else ""
        if rate.get("per", "run") == "run":
            counts = parts[0]["counts"]
            words = f"{counts['pass']} of {counts.conclusive} passed (" if counts.conclusive else "no trial was judged"
        return verdict, words

    def of_flaky(self):
        is_flaky = lambda it: it["replayed_failures"] > 0 or (it["pass"] > 0 and it.held > 0)
        flaky = [is_flaky(self.by_case[index]) for index in range(len(self.folder.groups))]
        n, found = len(flaky), sum(flaky)
        is_open = lambda index: not flaky[index] and (
            self.by_case[index].conclusive < 2 or self.by_case[index].conclusive < self.folder.groups[index]["repeats"])
        may = found + sum(is_open(index) for index in range(n))
        most = fractions.Fraction(repr(self.most_flaky)) * n
        verdict = "INCONCLUSIVE" if n == 0 else "FAIL" if found > most else "PASS" if may <= most else "INCONCLUSIVE"
        return verdict, f"{found} of {n} case" if n else "there is no case"

    def all(self):
        """By name: the verdict, and the start or a part of the reason."""
        gates, total = {}, self.total
        if self.early:
            gates["decided_early"] = self.early.gate()
            return self.others(gates)
        tolerated = self.unjudged == 0 or (self.enough and self.unjudged <= self.allowed_cases)
        undecided = [index for index, it in enumerate(self.by_floor)
                     if it == "INCONCLUSIVE" and not (tolerated and self.by_case[index].conclusive == 0)]
        failed = self.by_floor.count("FAIL")
        if self.rate is not None:
            holds = lambda passed, n: passed >= least_of(self.rate, n)
            verdict = self.verdict(holds, self.rate >= 1.0, total, self.planned)
            words = f"{total['pass']} of {total.conclusive} passed (" if total.conclusive else "no trial was judged"
            gates["pass_rate"] = verdict, words
        verdict = "FAIL" if failed else "INCONCLUSIVE" if undecided or not self.cases else "PASS"
        words = f"{failed} failed (" if failed else f"{len(undecided)} undecided (" if undecided else ""
        gates["every_case_passes" if self.floor is None else "case_pass_rate"] = verdict, words
        said = self.missing and self.unplayed != self.planned
        words = f"{self.missing} of " if said else ""
        gates["enough_evidence"] = "PASS" if self.enough else "INCONCLUSIVE", words
        judged = 0 < len(self.cases) != self.unjudged <= self.allowed_cases
        words = f"{self.unjudged} of " if self.unjudged and len(self.cases) > 1 else ""
        gates["every_case_judged"] = "PASS" if judged else "INCONCLUSIVE", words
        return self.others(gates)

    def others(self, gates):
        if self.judgeless:
            gates["judge_available"] = "INCONCLUSIVE", f"{self.judgeless} trial"
        for rate in self.rates:
            percent = lambda share: f"{round(share * 1e9) / 1e7:g}%"
            per, by = rate.get("per", "run"), rate.get("by", "point")
            each = "" if per == "run" else f" per {per}"
            how = "by point" if by == "point" else f"by {percent(by['bound'])} bound"
            gates[f"success_rate >= {percent(rate['min'])}{each}, {how}"] = self.of_rate(rate)
        if self.most_flaky is not None:
            gates["max_flaky_cases"] = self.of_flaky()
        if self.most_faults is not None:
            few = self.faulty <= fractions.Fraction(repr(self.most_faults)) * self.users
            words = f"fault in {self.faulty} of {self.users} trial" if self.users else "no trial has a simulated user"
            gates["max_simulator_faults"] = "PASS" if few else "INCONCLUSIVE", words
        gates.update(self.load)
        if self.is_search:
            gates = {name: gate for name, gate in gates.items() if name not in ("pass_rate", "case_pass_rate")}
        return gates


def gate_of_search(search):
    first = search["steps"][0]["verdict"] if search["ended"] and search["steps"] else None
    return {"held": "PASS", "broke": "FAIL"}.get(first, "INCONCLUSIVE"), search["result"]


def quarantined(folder, case):
    """The first entry of the quarantine that means the case."""
    parts = [case.get("variant"), case["combination"], case["persona"]]
    for entry in folder.plan["gates"].get("quarantine", []):
        first, *rest = [name.strip() for name in entry["case"].split(" / ")]
        if first in (case["scenario"], case["title"]) and all(name in parts for name in rest):
            return entry
    return None


def without_quarantined(comparison, folder, gates):
    """The gates over the cases that are not in quarantine. Simulated users, skipped trials and quotas are those of the run."""
    cases = folder.report["cases"]
    entries = [quarantined(folder, case) for case in cases]
    for index, (case, entry) in enumerate(zip(cases, entries)):
        if bool(case.get("quarantine")) != bool(entry):
            comparison.wrong.append(f"cases[{index}].quarantine: {entry} is right")
        for key, value in ((entry or {}) if case.get("quarantine") else {}).items():
            comparison.equal(("cases", index, "quarantine", key), value)
    kept = [index for index, entry in enumerate(entries) if entry is None]
    if len(kept) == len(cases) or folder.early:
        return gates
    part = copy.copy(folder)
    ids = {cases[index]["id"] for index in kept}
    part.groups = [folder.groups[index] for index in kept]
    part.trials = [trial for trial in folder.trials if trial["case_id"] in ids]
    part.report = {**folder.report, "cases": [cases[index] for index in kept]}
    found = Gates(part, dict(enumerate(folder.by_case[index] for index in kept)))
    found.judgeless, found.users, found.faulty, found.load = gates.judgeless, gates.users, gates.faulty, gates.load
    return found


def compare_gates(comparison, folder):
    expected = without_quarantined(comparison, folder, Gates(folder, folder.by_case)).all()
    names = [gate["name"] for gate in comparison.report["gates"]]
    comparison.holds(("gates",), names == list(expected), f"they are {names}, and {list(expected)} is right")
    for index, gate in enumerate(comparison.report["gates"]):
        verdict, words = expected.get(gate["name"], (None, ""))
        comparison.equal(("gates", index, "verdict"), verdict)
        comparison.holds(("gates", index, "reason"), words in gate["reason"], f"{gate['reason']!r} has no {words!r}")
    found = [verdict for verdict, _ in expected.values()]
    run = next((it for it in ["FAIL", "INCONCLUSIVE"] if it in found), "PASS")
    comparison.equal(("verdict",), run)


def compare_early(comparison, folder):
    if not folder.early:
        return
    figures = folder.early.figures()
    for key, value in figures.items():
        if key in ("mean", "cases"):
            continue
        comparison.equal(("sequential", key), value)
    for key, value in figures["mean"].items():
        comparison.equal(("sequential", "mean", key), value)
    for index, case in enumerate(figures["cases"]):
        for key, value in case.items():
            comparison.equal(("sequential", "cases", index, key), value)
    row, (verdict, start) = folder.run, folder.early.gate()
    for index, decision in enumerate(folder.report["run"].get("decisions", [])):
        path = ("run", "decisions", index)
        comparison.equal((*path, "decided"), "concluded")
        comparison.holds((*path, "reason"), decision["reason"].startswith(start), f"the run is {verdict}")
        at = datetime.datetime.fromisoformat(decision["at"].replace("Z", "+00:00")).timestamp() * 1000
        comparison.holds((*path, "at"), row["started_at"] <= round(at) <= row["ended_at"], "it is not during the run")
        comparison.equal((*path, "after_ms"), round(at) - row["started_at"])


def compare_calls(comparison, folder):
    """Calls, tokens and money by role and model: all attempts from the batches, and the attempts that count from the
    transcripts. Both must agree if there was no other attempt."""
    summary, spend, transcribed = folder.report["summary"], folder.spend, folder.transcribed
    whole = len(folder.transcripts) == summary["attempts"]["total"] and has_all_calls(folder, folder.trials)
    # What a load leaves out was paid for.
    whole = whole and len(folder.bodies) == len(folder.whole)
    for key in set(folder.batches) | set(transcribed):
        for figure in set(folder.batches[key]) | set(transcribed[key]):
            batches, words = folder.batches[key][figure], transcribed[key][figure]
            if batches < words or (whole and batches != words):
                comparison.wrong.append(f"{figure} of {key}: the batches say {batches}, the transcripts {words}")
    models = summary["models"]
    named = sorted((it["role"], it["model"]) for it in models)
    comparison.holds(("summary", "models"), named == sorted(spend), f"{sorted(spend)} are called")
    times = times_of_calls(folder, folder.trials)
    for index, model in enumerate(models):
        path, line = ("summary", "models", index), spend[model["role"], model["model"]]
        for name, value in [
            (("calls",), line["calls"]), (("tokens", "input"), line["input"]), (("tokens", "output"), line["output"]),
            *[(("tokens", kind), line[kind]) for kind in KINDS[2:] if line[kind]],
            *[((name,), line[name]) for name in ["plain_priced_calls", "cut_calls"] if line[name]],
            *[(("reported_usd",), line["reported_cost"] / 1e9)] * bool(line["reported_cost"]),
            (("cost_usd",), line["cost"] / 1e9), (("unpriced_calls",), line["unpriced_calls"]),
            (("estimated_calls",), line["estimated_calls"]), (("throttling", "tries"), line["tries"]),
            (("throttling", "throttled_tries"), line["throttled_tries"]),
            (("throttling", "wait_sum_ms"), line["wait_micros"] / 1000),
        ]:
            comparison.equal((*path, *name), value)
        for name in ["wait", "service", "with_retries", "ttft", "inter_token", "per_output_token"]:
            compare_quantiles(comparison, (*path, "throttling", name), times[model["role"], model["model"]][name])
        limits = times[model["role"], model["model"]]["limits"]
        for place, of in enumerate(kind for kind in LIMITS if any(kind == it[0] for it in limits)):
            named = [(limit, trial) for kind, limit, trial in limits if kind == of]
            for name, value in [
                ("of", of), ("lowest", min(limit for limit, _ in named)), ("highest", max(limit for limit, _ in named)),
                ("first_trial", min(trial for _, trial in named)),
            ]:
                comparison.equal((*path, "throttling", "limits", place, name), value)
        kinds = {kind for kind, _, _ in limits}
        if "limits" in model["throttling"]:
            place = (*path, "throttling", "limits")
            comparison.holds(place, len(comparison.at(place)) == len(kinds), f"{limits} are named")
        elif kinds:
            comparison.wrong.append(f"{name_of((*path, 'throttling'))}: {limits} are named")
    sum_of = lambda figure, role=None: sum(line[figure] for (it, _), line in spend.items() if role in (None, it))
    for role in ROLES:
        comparison.equal(("summary", "llm_calls", role), sum_of("calls", role))
        for kind in KINDS:
            if kind in KINDS[:2] or sum_of(kind, role):
                comparison.equal(("summary", "tokens", role, kind), sum_of(kind, role))
    unsettled = folder.run["unsettled_nanos"] + sum(slice["unsettled"] for slice in folder.slices)
    guessed = lambda it: it["estimated_calls"] + it["plain_priced_calls"]
    priced = all(it["unpriced_calls"] == 0 and (guessed(it) == 0 or it["cost"] == 0) for it in spend.values())
    free = bool(spend) and all(it["unpriced_calls"] == 0 and it["cost"] == 0 for it in spend.values()) and not unsettled
    unknown = 0 if free else folder.lost
    for key, value in [
        ("total_usd", sum_of("cost") / 1e9), ("unpriced_calls", sum_of("unpriced_calls")),
        ("estimated_calls", sum_of("estimated_calls")), ("unknown_attempts", unknown),
        *[("plain_priced_calls", sum_of("plain_priced_calls"))] * bool(sum_of("plain_priced_calls")),
        ("complete", priced and unknown == 0 and unsettled == 0),
    ]:
        comparison.equal(("summary", "cost", key), value)
    comparison.equal(("summary", "unsettled_usd"), unsettled / 1e9)
    compare_budget(comparison, folder, sum_of("cost"), unsettled)
    before = lambda figure: sum(line[figure] for line in folder.preflight.values())
    if folder.preflight or "preflight" in summary:
        for name, value in [
            (("calls",), before("calls")), (("tokens", "input"), before("input")), (("tokens", "output"), before("output")),
            (("cost_usd",), before("cost") / 1e9), (("unpriced_calls",), before("unpriced_calls")),
            (("estimated_calls",), before("estimated_calls")),
        ]:
            comparison.equal(("summary", "preflight", *name), value)


def compare_budget(comparison, folder, spent, unsettled):
    """The money of a run with a budget, from the ledger of its sessions."""
    most = folder.run["max_cost_nanos"] if "max_cost_nanos" in folder.run.keys() else None
    if most is None:
        comparison.holds(("summary",), "budget" not in folder.report["summary"], "the run has no budget")
        return
    reserved = sum(slice["reserved"] for slice in folder.slices)
    decided = [json.loads(row["body"])["decided"] for row in folder.rows("select body from decision where run = ? order by key", folder.run["key"])]
    used_up = False
    for what in decided:
        used_up = {"out_of_money": True, "resumed": False}.get(what, used_up)
    broke = sum(1 for body in folder.bodies.values() if (body.get("failure") or {}).get("kind") == "budget_used_up")
    trials = folder.report["summary"]["trials"]
    for name, value in [
        ("max_cost_usd", most / 1e9), ("spent_usd", spent / 1e9), ("reserved_usd", reserved / 1e9), ("unsettled_usd", unsettled / 1e9),
        ("left_usd", (most - spent - reserved - unsettled) / 1e9), ("used_up", used_up),
        ("trials_not_played", trials["not_started"] + broke),
    ]:
        comparison.equal(("summary", "budget", name), value)
    for slice in folder.slices:
        if slice["taken"] > slice["granted_nanos"]:
            comparison.wrong.append(f"session {slice['session']} spent {slice['taken']} of {slice['granted_nanos']}")
    if spent + reserved + unsettled > most:
        comparison.wrong.append(f"the run may have cost {spent + reserved + unsettled}, and its budget is {most}")


@once
def has_all_calls(folder, trials):
    """Calls of a trial without turns are not in a transcript."""
    calls = lambda trial: collections.Counter(call["role"] for call in folder.calls(trial["number"]))
    return all(calls(it) == +collections.Counter(it["llm_calls"]) for it in trials)


@once
def times_of_calls(folder, trials):
    """Of the attempts that count. If a transcript was not kept, the store has the times."""
    times = collections.defaultdict(lambda: collections.defaultdict(list))
    transcribed = has_all_calls(folder, folder.trials)
    for trial in trials:
        if not transcribed:
            for entry in folder.bodies[trial["number"]]["pace"]:
                of, line = times[entry["role"], entry["model"]], entry["line"]
                for name, key in [("wait", "waits"), ("service", "services"), ("with_retries", "wholes"), ("ttft", "ttfts"),
                                  ("inter_token", "inter_tokens"), ("per_output_token", "per_tokens")]:
                    of[name] += line.get(key, [])
                for kind, limit in line.get("limits", {}).items():
                    of["limits"] += [(kind, limit[end], trial["number"]) for end in ["lowest", "highest"]]
            continue
        for call in folder.calls(trial["number"]):
            of = times[call["role"], call["model"]]
            of["wait"].append(call["wait_micros"])
            of["limits"] += [(kind, limit, trial["number"]) for kind, limit in call.get("limits", {}).items()]
            if call["error"] is None:
                of["service"].append(call["total_micros"])
                of["with_retries"].append(call["total_micros"] + call["retried_micros"])
                of["ttft"] += [] if call["ttft_micros"] is None else [call["ttft_micros"]]
                of["inter_token"] += [] if call["inter_token_micros"] is None else [call["inter_token_micros"]]
                of["per_output_token"] += per_token(call)
    return times


def per_token(call):
    """The mean time of each output token after the first one, in whole microseconds, if there are such tokens."""
    further = call["tokens"]["output"] - 1
    if call["ttft_micros"] is None or further < 1:
        return []
    return [(max(call["total_micros"] - call["ttft_micros"], 0) + further // 2) // further]


@once
def replies(folder, trials, lowest=1, highest=math.inf):
    """Times of answered turns with a number from `lowest` to `highest`, and the number of unanswered turns."""
    times, unanswered = collections.defaultdict(list), 0
    times["estimated"] = 0
    for trial in trials:
        took, missed = 0, 0
        body = folder.bodies[trial["number"]]
        if trial["turns"] and trial["number"] not in folder.transcripts:
            for it in body["latencies"]:
                took += it["total_micros"]
                if not lowest <= it["number"] <= highest:
                    continue
                times["turn"].append(it["total_micros"])
                times["response"].append(it["response_micros"])
                times["wait"].append(it.get("wait_micros", 0))
                times["estimated"] += it.get("estimated", False)
                for name, key in [("ttft", "ttft_micros"), ("inter_token", "inter_token_micros"), ("per_output_token", "per_token_micros")]:
                    times[name] += [] if it.get(key) is None else [it[key]]
            missed = body["unanswered"]
        for turn in folder.transcripts.get(trial["number"], []):
            # A conversation from a file made no calls.
            if turn["speaker"] == "program" or (turn["agent"] is not None and not any(it["role"] == "agent" for it in turn["calls"]) and turn["duration_micros"] == 0):
                continue
            if turn["agent"] is None:
                missed += 1
                continue
            took += turn["duration_micros"]
            if not lowest <= turn["number"] <= highest:
                continue
            calls = [it for it in turn["calls"] if it["role"] == "agent"]
            wait = sum(it["wait_micros"] for it in calls)
            times["turn"].append(turn["duration_micros"])
            times["response"].append(turn["response_micros"])
            times["wait"].append(wait)
            # The three times are measured apart; what a user waited has the other two in it.
            if turn["response_micros"] < turn["duration_micros"] + wait - 1000:
                raise SystemExit(f"trial {trial['number']}, turn {turn['number']}: a response time below its service time and wait")
            answered = [it for it in calls if it["error"] is None]
            if answered:
                last = answered[-1]
                if last["ttft_micros"] is not None:
                    times["ttft"].append(max(turn["duration_micros"] - last["total_micros"], 0) + last["ttft_micros"])
                times["inter_token"] += [] if last["inter_token_micros"] is None else [last["inter_token_micros"]]
                times["per_output_token"] += per_token(last)
                times["estimated"] += bool(per_token(last)) and last["estimated"]
        unanswered += missed
        tokens = trial["tokens"]["agent"]["output"]
        if took and tokens and not missed:
            agent = [it["line"] for it in body["spend"] if it["role"] == "agent"]
            times["speeds"].append((tokens * 1_000_000 / took, any(line["estimated_calls"] for line in agent)))
    return times, unanswered


def compare_by_turn(comparison, folder):
    rows = folder.report["by_turn"]
    found = {}
    for first, after in zip(RANGES, [*RANGES[1:], None]):
        times, _ = replies(folder, folder.trials, first, math.inf if after is None else after - 1)
        times = collections.defaultdict(list, {**times, "speeds": []})
        if times["turn"]:
            found[first] = (after and after - 1, times)
    if [row["from"] for row in rows] != list(found):
        comparison.wrong.append(f"by_turn: it has the rows {[row['from'] for row in rows]}, and {list(found)} is right")
    for index, row in enumerate(rows):
        until, times = found.get(row["from"], (None, collections.defaultdict(list)))
        comparison.equal(("by_turn", index, "from"), row["from"] if row["from"] in found else None)
        comparison.equal(("by_turn", index, "until"), until)
        compare_times(comparison, ("by_turn", index, "latency"), times)
    comparison.compared.update([("by_turn",)] if not rows else [])


def slow_in(limits, turn):
    ttft = turn["total_micros"] if turn["ttft_micros"] is None else turn["ttft_micros"]
    return {
        "response": turn["response_micros"] > limits.get("response_micros", math.inf),
        "ttft": ttft > limits.get("ttft_micros", math.inf),
        "per_output_token": turn.get("per_token_micros", 0) > limits.get("per_token_micros", math.inf),
    }


def met_of(folder, trials, bodies=None):
    """Turns and trials that met all limits of the plan, by the records of the store."""
    limits, met = folder.plan["goodput"], collections.Counter()
    for trial in trials:
        body = (bodies or folder.bodies)[trial["number"]]
        asked = len(body["latencies"]) + body["unanswered"]
        if not asked:
            continue
        good = 0
        for turn in body["latencies"]:
            slow = slow_in(limits, turn)
            met.update(slow)
            good += not any(slow.values())
        met.update(unanswered=body["unanswered"], turns=asked, turns_met=good, conversations=1, conversations_met=good == asked)
    return met


def compare_goodput(comparison, path, met):
    comparison.equal((*path, "turns"), met["turns"])
    comparison.equal((*path, "turns_met"), met["turns_met"])
    comparison.equal((*path, "turn_share"), met["turns_met"] / met["turns"] if met["turns"] else None)
    comparison.equal((*path, "conversations_met"), met["conversations_met"])
    compare_rate(comparison, (*path, "conversations"), met["conversations_met"], met["conversations"])


def compare_goodput_of_run(comparison, folder):
    if not folder.plan.get("goodput"):
        if "goodput" in folder.report:
            comparison.wrong.append("goodput: the plan has no limits for it")
        return
    met, limits = met_of(folder, folder.trials), folder.plan["goodput"]
    compare_goodput(comparison, ("goodput",), met)
    for key, name in [("response_ms", "response_micros"), ("ttft_ms", "ttft_micros"), ("per_output_token_ms", "per_token_micros")]:
        comparison.equal(("goodput", "limits", key), limits[name] / 1000 if name in limits else None)
    for key in ["unanswered", "response", "ttft", "per_output_token"]:
        comparison.equal(("goodput", "missed", key), met[key])
    took = (folder.run["ended_at"] or folder.run["started_at"]) - folder.run["started_at"]
    took = (comparison.report["wall"] or {}).get("measured_ms", took)
    comparison.equal(("goodput", "turns_met_per_second"), round(met["turns_met"] * 1000 / took, 2) if took else None, absolute=0.0101)


def compare_series(comparison, folder):
    """At most 120 slices, as narrow as a second doubled now and then can be. Times of turns are in the store only."""
    bodies = [body for body in folder.bodies.values() if body["began_at_ms"] or body.get("start")]
    series = folder.report.get("series")
    if series is None or not bodies:
        if series is not None or bodies:
            comparison.wrong.append(f"series: {len(bodies)} trials say when they were played")
        return
    start, events = folder.run["started_at"], []
    for body in bodies:
        began = body["start"]["at_micros"] // 1000 if body.get("start") else max(body["began_at_ms"] - start, 0)
        events.append((began, "start", body))
        events += [(began + turn["ended_micros"] // 1000, "turn", turn) for turn in body["latencies"]]
        events.append((began + body["duration_ms"], "end", body))
    width, last = 1000, max(at for at, _, _ in events)
    while last // width >= 120:
        width *= 2
    comparison.equal(("series", "width_ms"), width)
    if len(series["slices"]) != last // width + 1:
        comparison.wrong.append(f"series: {last // width + 1} slices are right")
    lines = {trial["number"]: trial for trial in folder.trials}
    for index in range(min(len(series["slices"]), last // width + 1)):
        path, here = ("series", "slices", index), [event for event in events if event[0] // width == index]
        ended = [lines[body["number"]] for _, what, body in here if what == "end"]
        turns, counts = [turn for _, what, turn in here if what == "turn"], counts_of(ended)
        for key, value in [
            ("from_ms", index * width), ("starts", sum(what == "start" for _, what, _ in here)), ("ends", len(ended)),
            ("pass", counts["pass"]), ("fail", counts["fail"]), ("agent_errors", counts["agent_errors"]),
            ("other_ends", len(ended) - counts["pass"] - counts.held),
            ("unanswered_turns", sum(folder.bodies[trial["number"]]["unanswered"] for trial in ended)),
            ("output_tokens", sum(trial["tokens"]["agent"]["output"] for trial in ended)),
            ("cost_usd", sum(trial["cost_usd"] for trial in ended)),
        ]:
            comparison.equal((*path, key), value)
        limits = folder.plan.get("goodput")
        if limits and turns:
            comparison.equal((*path, "turns_met"), sum(not any(slow_in(limits, turn).values()) for turn in turns))
        compare_quantiles(comparison, (*path, "turn"), [turn["total_micros"] for turn in turns])
        compare_quantiles(comparison, (*path, "response"), [turn["response_micros"] for turn in turns])
        compare_quantiles(comparison, (*path, "ttft"), [turn["ttft_micros"] for turn in turns if turn["ttft_micros"] is not None])


def compare_losses(comparison, folder):
    """The first 100 moments, from the start of the run, or of its load."""
    start = dict(folder.run).get("load_began_at") or folder.run["started_at"]
    moments = collections.Counter()
    for row in folder.rows("select * from attempt where run = ?", folder.run["key"]):
        if dict(row).get("begun", 1) and not dict(row).get("given_up", 0):
            moments[max(row["lost_at"] - start, 0)] += 1
    right = [{"after_ms": at, "conversations": lost} for at, lost in sorted(moments.items())[:100]]
    if right or "losses" in folder.report:
        comparison.holds(("losses",), folder.report.get("losses", []) == right, f"{right} is right")


def rate_of(pace, begin, end):
    """The mean rate of a pace, or its mean slots, between two times in microseconds; `None`: a trace has no rate."""
    if "trace" in pace:
        return None
    lines = (pace.get("arrivals") or pace["slots"])["rate" if "arrivals" in pace else "slots"]
    area, at = 0.0, 0
    for line in lines:
        value = lambda time: line["from"] + (line["to"] - line["from"]) * (time - at) / line["micros"]
        low, high = max(begin, at), min(end, at + line["micros"])
        area += (value(low) + value(high)) / 2 * (high - low) if low < high else 0.0
        at += line["micros"]
    if "slots" in pace:
        area += lines[-1]["to"] * max(min(end, pace["slots"].get("ends_micros") or end) - max(begin, at), 0)
    return area / (end - begin)


def compare_load(comparison, folder):
    """What became of arrivals, how late they were, and quality by step."""
    load = folder.report.get("load")
    if not load or not folder.plan.get("load"):
        comparison.holds((), bool(load) == bool(folder.plan.get("load")), "a load is missing, or too much")
        return
    paces = [group["pace"] for group in folder.plan["load"]["groups"]]
    kind = lambda body: (body.get("failure") or {}).get("kind")
    lanes = [[body for number, body in folder.whole.items() if number >> 40 == lane] for lane in range(len(paces))]
    sums = collections.Counter()
    for lane, bodies in enumerate(lanes):
        path, dropped = ("load", "groups", lane), sum(kind(body) == "dropped" for body in bodies)
        poisoned = sum(kind(body) == "poisoned" for body in bodies)
        sent = len(bodies) - dropped - poisoned
        comparison.equal((*path, "name"), folder.plan["load"]["groups"][lane]["name"])
        comparison.equal((*path, "open"), "slots" not in paces[lane])
        comparison.equal((*path, "sent"), sent)
        comparison.equal((*path, "dropped"), dropped)
        at = load["groups"][lane]
        comparison.holds((*path, "lost"), at["lost"] >= poisoned, f"at least {poisoned} are lost")
        comparison.holds((*path, "scheduled"), at["scheduled"] == sent + dropped + at["lost"], "scheduled = sent + dropped + lost")
        sums.update({key: at[key] for key in ["scheduled", "sent", "dropped", "lost"]})
    for key, value in sums.items():
        comparison.equal(("load", key), value)
    opened = [body for number, body in folder.whole.items() if folder.is_open(number)]
    again = [body for body in opened if body["epoch"] > 1 and kind(body) != "poisoned"]
    comparison.equal(("load", "rescheduled"), len(again))
    warm = sum(folder.is_warm_up(body) for body in folder.whole.values())
    dropped = sums["dropped"] if folder.plan["load"].get("warm_up_micros") else 0
    comparison.holds(("load", "warm_up"), warm <= load["warm_up"] <= warm + dropped, f"{warm} is right, and dropped ones")
    first = [body for body in opened if body.get("start") and body["epoch"] == 1]
    # Of what was leased again, the attempt that counts. What a slot starts is offered when it starts.
    started = [body for body in folder.whole.values() if body.get("start")]
    late = [body["start"]["late_micros"] for body in first if not folder.is_warm_up(body)]
    if load["late"] is None:
        comparison.holds(("load", "late"), all("slots" in pace for pace in paces), "arrivals have times")
    else:
        compare_quantiles(comparison, ("load", "late"), late)
    micros = sorted(late)
    worst = micros[max(1, math.ceil((0.99 if len(late) >= 662 else 0.5) * len(late))) - 1] if late else 0
    is_search = bool(folder.plan["load"].get("search"))
    comparison.holds(("load", "invalid"), load["invalid"] is not None or worst <= 100_000 or is_search, "starts were late")
    width = load["slice_seconds"]
    comparison.holds(("load", "slice_seconds"), width >= 1, "a slice has a duration")
    if all("slots" in pace for pace in paces):
        comparison.equal(("load", "slices"), [])
    for index, row in enumerate(load["slices"]):
        path = ("load", "slices", index)
        here = [body for body in started if body["start"]["at_micros"] // 1_000_000 // width == index]
        comparison.equal((*path, "from_seconds"), index * width)
        comparison.equal((*path, "started"), len(here))
    for key in ["offered", "dropped"]:
        total = sum(at["scheduled" if key == "offered" else key] for at in load["groups"] if at["open"])
        if key == "offered":
            total += sum(not folder.is_open(body["number"]) for body in started)
        whole = folder.run["state"] == "finished" and not sums["lost"]
        found = sum(row[key] for row in load["slices"])
        for index in range(len(load["slices"])):
            comparison.holds(("load", "slices", index, key), found == total or not whole, f"all together are {total}")
    compare_steps(comparison, folder, load.get("steps", []), paces)
    if is_search:
        compare_search(comparison, folder, load)


def compare_search(comparison, folder, load):
    """The rates that were chosen, what was found of each, and what follows from all of them."""
    search, plan = load["search"], folder.plan["load"]["search"]
    decided = folder.report["run"].get("decisions", [])
    of = lambda name: [it for it in decided if it["decided"] == name]
    chosen = [(plan["from"], folder.plan["load"].get("warm_up_micros", 0))]
    chosen += [(it["rate"], it["from_micros"]) for it in of("search_step")]
    comparison.holds(("load", "search", "steps"), len(search["steps"]) == len(chosen), f"{len(chosen)} steps were chosen")
    tried = []
    for index, ((rate, begin), step) in enumerate(zip(chosen, search["steps"])):
        path = ("load", "search", "steps", index)
        measured = begin + plan["settle_micros"]
        until = measured + max(plan["every_micros"], plan["conversations"] / rate * 1e6)
        for key, value in [("rate", rate), ("from_seconds", begin / 1e6), ("measured_from_seconds", measured / 1e6), ("until_seconds", until / 1e6)]:
            comparison.equal((*path, key), value, relative=1e-6)
        quality = next((it for it in load["steps"] if math.isclose(it["from_seconds"], measured / 1e6, abs_tol=1e-6)), None)
        if quality is None:
            comparison.holds((*path, "verdict"), step["verdict"] in (None, "undecided"), "nothing was played in it")
            comparison.holds((*path, "reason"), True, "")
            continue
        here = [body for body in folder.bodies.values() if measured <= (folder.due(body) or -1) < until]
        late = [body["start"]["late_micros"] for body in here if body.get("start") and body["epoch"] == 1]
        right = objectives.verdict_of_step(folder.plan, quality, here, late)
        comparison.holds((*path, "verdict"), step["verdict"] in (right, None), f"{right} is right")
        stored = of("search_found")
        known = stored[index] if index < len(stored) else step
        comparison.holds((*path, "reason"), step["reason"] == known["reason"], "the stored reason is right")
        if step["verdict"]:
            tried.append((rate, step["verdict"], step["reason"]))
    lowest = lambda wanted: min((it for it in tried if wanted(it[1])), default=None, key=lambda it: it[0])
    limit, broke = lowest(lambda it: it != "held"), lowest(lambda it: it == "broke")
    held = max((rate for rate, verdict, _ in tried if verdict == "held" and (limit is None or rate < limit[0])), default=None)
    comparison.equal(("load", "search", "held"), held)
    comparison.equal(("load", "search", "broke"), broke and broke[0])
    said = lambda it: f"{it[1]} at {it[0]:g}/s: {it[2]}"
    parts = [f"held at {held:g}/s"] if held is not None else []
    parts += [said(it) for it in [limit, broke if broke and limit[0] < broke[0] else None] if it]
    comparison.equal(("load", "search", "result"), ", ".join(parts) or "no step was judged")
    ends = of("search_ended")
    comparison.equal(("load", "search", "ended"), ends[-1]["reason"] if ends else None)
    comparison.equal(("load", "search", "requirements"), list(objectives.requirements(folder.plan)))


def compare_steps(comparison, folder, steps, paces):
    played = []
    for index, step in enumerate(steps):
        path = ("load", "steps", index)
        begin, end = step["from_seconds"] * 1e6, math.inf if step["until_seconds"] is None else step["until_seconds"] * 1e6
        is_search = bool(folder.plan["load"].get("search"))
        after = steps[index + 1]["from_seconds"] * 1e6 if index + 1 < len(steps) else math.inf
        comparison.holds((*path, "until_seconds"), begin < end <= after, "steps follow each other")
        comparison.holds((*path, "from_seconds"), begin >= folder.plan["load"].get("warm_up_micros", 0), "it is in the warm-up")
        for key, is_open in [("rate", True), ("slots", False)]:
            lanes = [pace for pace in paces if ("slots" not in pace) == is_open]
            means = [rate_of(pace, begin, min(end, 1e15)) for pace in lanes]
            if is_search:
                found = [it["rate"] for it in folder.report["load"]["search"]["steps"] if math.isclose(it["measured_from_seconds"] * 1e6, begin, abs_tol=1)]
                comparison.equal((*path, key), found[0] if is_open and found else None)
            elif None in means or end == math.inf:
                comparison.holds((*path, key), step[key] is not None, "a trace and slots have a load")
            else:
                comparison.equal((*path, key), sum(means) if means else None, relative=1e-6, absolute=2e-6)
        # What was played again and is no longer known to be due in time is not compared.
        last = end if is_search else after
        here = [trial for trial in folder.trials if begin <= (folder.due(folder.bodies[trial["number"]]) or 0) < last]
        bodies, counts = [folder.bodies[trial["number"]] for trial in here], counts_of(here)
        played.append((step, bodies))
        for key, value in [
            ("ends", len(here)), ("pass", counts["pass"]), ("fail", counts["fail"]), ("agent_errors", counts["agent_errors"]),
            ("other_ends", len(here) - counts.conclusive), ("turns", sum(body["turns"] for body in bodies)),
            ("unanswered_turns", sum(body["unanswered"] for body in bodies)),
            ("simulated", sum(bool(trial.get("user")) for trial in here)),
            ("simulator_faults", sum("verdict_despite_fault" in (trial.get("user") or {}) for trial in here)),
            ("cost_usd", sum(trial["cost_usd"] for trial in here)),
        ]:
            comparison.equal((*path, key), value)
        dropped = sum(step["dropped"] for step in steps)
        comparison.holds((*path, "dropped"), dropped <= folder.report["load"]["dropped"], "more than all")
        compare_rate(comparison, (*path, "success_rate"), counts["pass"], counts.conclusive)
        unpriced = sum(entry["line"].get("unpriced_calls", 0) for body in bodies for entry in body["spend"])
        cost = sum(trial["cost_usd"] for trial in here)
        comparison.equal((*path, "cost_per_pass_usd"), cost / counts["pass"] if counts["pass"] and not unpriced else None)
        turns = [turn for body in bodies for turn in body["latencies"]]
        compare_quantiles(comparison, (*path, "turn"), [turn["total_micros"] for turn in turns])
        compare_quantiles(comparison, (*path, "response"), [turn["response_micros"] for turn in turns])
        compare_quantiles(comparison, (*path, "ttft"), [turn["ttft_micros"] for turn in turns if turn["ttft_micros"] is not None])
    compare_knee(comparison, steps)
    sustained, right = folder.report["load"].get("sustained"), objectives.sustained(folder.plan, played)
    if not sustained or not right:
        if sustained or right:
            comparison.wrong.append(f"load.sustained: {right} is right")
        return
    for key, value in right.items():
        comparison.equal(("load", "sustained", key), value)


def compare_knee(comparison, steps):
    load = comparison.report["load"]
    changing = [key for key in ["rate", "slots"] if len({step[key] for step in steps}) > 1]
    knee = None
    if len(changing) == 1:
        levels = collections.defaultdict(lambda: [0, 0])
        for step in steps:
            level = levels[step[changing[0]]]
            level[0] += step["pass"]
            level[1] += step["pass"] + step["fail"] + step["agent_errors"]
        knee = knee_of(sorted((at, passed, n) for at, (passed, n) in levels.items() if n))
    if knee is None or load["knee"] is None:
        comparison.holds(("load", "knee"), knee is None and load["knee"] is None, f"{knee} is right")
        if "no_knee" in load:
            comparison.holds(("load", "no_knee"), bool(load["no_knee"]), "no reason")
        return
    comparison.equal(("load", "knee", "unit"), changing[0])
    for key in ["load", "low", "high"]:
        comparison.equal(("load", "knee", key), knee[key])
    comparison.equal(("load", "knee", "p_value"), knee["p_value"], relative=1e-6)
    for key in ["success_rate_until", "success_rate_beyond"]:
        compare_rate(comparison, ("load", "knee", key), *knee[key])


def knee_of(levels):
    """The method of docs/statistics.md, "The knee"."""
    m, total = len(levels), lambda part: (sum(passed for _, passed, _ in part), sum(n for _, _, n in part))
    if m < 3:
        return None
    log_beta = lambda a, b: math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    ways = lambda n, k: math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    p_value = 1.0
    for at in range(1, m):
        (one, n), (two, beyond) = total(levels[:at]), total(levels[at:])
        if two * n < one * beyond:
            terms = (ways(beyond, k) + ways(n, one + two - k) for k in range(max(0, one + two - n), two + 1))
            tail = sum(math.exp(term - ways(n + beyond, one + two)) for term in terms)
            p_value = min(p_value, tail * (m - 1))
    if p_value > 0.01:
        return None
    weight = {}
    for begin in reversed(range(m)):
        for end in range(begin, m):
            passed, n = total(levels[begin : end + 1])
            own = log_beta(passed + 0.5, n - passed + 0.5) - log_beta(0.5, 0.5) + (end - begin) * math.log(1 - 1 / m)
            lower = [total(levels[end + 1 : last + 1]) for last in range(end + 1, m)]
            rest = [weight[end + 1, end + 1 + i] for i, (p, k) in enumerate(lower) if p * n < passed * k]
            rest = [it for it in rest if it > -math.inf]
            high = max(rest, default=0.0)
            after = 0.0 if end == m - 1 else -math.inf
            if rest:
                after = math.log(1 / m) + high + math.log(sum(math.exp(it - high) for it in rest))
            weight[begin, end] = own + after
    first = [weight[0, end] for end in range(m - 1)]
    chances = [math.exp(it - max(first)) for it in first]
    reached = lambda share: next((at for at in range(m - 1) if sum(chances[: at + 1]) >= share * sum(chances)), m - 2)
    last = chances.index(max(chances))
    return {
        "load": levels[last][0], "low": levels[reached(0.025)][0], "high": levels[reached(0.975) + 1][0], "p_value": p_value,
        "success_rate_until": total(levels[: last + 1]), "success_rate_beyond": total(levels[last + 1 :]),
    }


def compare_totals(comparison, folder):
    total = folder.total
    of, planned = lambda *keys: ("summary", *keys), sum(group["repeats"] for group in folder.groups)
    cancelled_with = planned - total.ended if folder.run["state"] == "cancelled" else 0
    compare_counts(comparison, of("trials"), total, cancelled_with)
    comparison.equal(of("trials", "planned"), planned)
    comparison.equal(of("trials", "not_started"), planned - total.ended - cancelled_with)
    scenarios = collections.defaultdict(list)
    for trial in folder.trials:
        scenarios[folder.groups[folder.numbers[trial["case_id"]]]["place"]].append(trial)
    compare_rates(comparison, ("summary",), total, planned, [counts_of(it) for it in scenarios.values()])
    comparison.equal(of("completed_rate"), total.judged / planned if planned else 0.0)
    compare_failures(comparison, of("failures"), folder.trials)
    comparison.equal(of("turns"), sum(trial["turns"] for trial in folder.trials))
    for trial in folder.trials:
        words = folder.transcripts.get(trial["number"])
        if words is not None and len(words) != trial["turns"]:
            comparison.wrong.append(f"trial {trial['number']}: {trial['turns']} turns, its transcript has {len(words)}")
    comparison.equal(of("conversations"), sum(trial["conversations"] for trial in folder.trials))
    times, unanswered = replies(folder, folder.trials)
    compare_times(comparison, of("latency"), times)
    comparison.equal(of("latency", "unanswered_turns"), unanswered)
    replaced = sum(row["replaced"] for row in folder.kept)
    for key, value in [
        ("total", total.ended + folder.lost + replaced), ("lost", folder.lost), ("replayed", replaced),
        ("replayed_trials", sum(row["replaced"] > 0 for row in folder.kept)),
        ("replayed_failed", sum(trial["past_failures"] for trial in folder.trials)),
    ]:
        comparison.equal(of("attempts", key), value)


def model_of_user(folder, trial):
    """The model with the most calls, of several the first."""
    entries = [it for it in folder.bodies[trial["number"]]["spend"] if it["role"] == "user_sim"]
    entries.sort(key=lambda it: (-it["line"]["calls"], it["model"]))
    return entries[0]["model"] if entries else None


def compare_users(comparison, path, trials):
    """The simulated users of some trials: their lines, and the lines with each kind of fault."""
    users = [it["user"] for it in trials]
    lines = sum(it["lines"] for it in users)
    faulty = sum("verdict_despite_fault" in it for it in users)
    for key, value in [("trials", len(users)), ("faulty_trials", faulty), ("lines", lines)]:
        comparison.equal((*path, key), value)
    compare_rate(comparison, (*path, "faulty_rate"), faulty, len(users))
    unknown = sum(it["unknown"] for it in users)
    comparison.equal((*path, "unknown"), unknown)
    compare_rate(comparison, (*path, "unknown_rate"), unknown, lines)
    faults = collections.defaultdict(collections.Counter)
    for count in (count for it in users for count in it["faults"]):
        faults[count["kind"]].update(refused=count["refused"], sent=count["sent"])
    said = comparison.at((*path, "faults"))
    comparison.holds((*path, "faults"), sorted(it["kind"] for it in said) == sorted(faults), f"{sorted(faults)} occurred")
    for index, fault in enumerate(said):
        for key in ["refused", "sent"]:
            comparison.equal((*path, "faults", index, key), faults[fault["kind"]][key])
            compare_rate(comparison, (*path, "faults", index, f"{key}_rate"), faults[fault["kind"]][key], lines)


def compare_simulated_user(comparison, folder):
    """Faults of the simulated user, and their effect on the success rate."""
    total, trials = folder.total, [it for it in folder.trials if it.get("user")]
    for trial in trials:
        has_fault = trial["failure_kind"] == "simulator_fault"
        if has_fault != ("verdict_despite_fault" in trial["user"]):
            comparison.wrong.append(f"trial {trial['number']}: it has a critical fault of its user, or has not")
        turns = folder.transcripts.get(trial["number"])
        said = sum(turn["speaker"] == "simulated" for turn in turns or [])
        # The last line of a trial that broke may have no turn.
        if turns is not None and not said <= trial["user"]["lines"] <= said + 1:
            comparison.wrong.append(f"trial {trial['number']}: {trial['user']['lines']} lines of its user, its transcript has {said}")
    if not sum(it["user"]["lines"] for it in trials):
        if "simulated_user" in folder.report:
            comparison.wrong.append("simulated_user: no trial has one")
        return
    path = ("simulated_user",)
    compare_users(comparison, path, trials)
    names = {"by_model": lambda it: model_of_user(folder, it), "by_persona": lambda it: it["user"]["persona"]}
    for table, name_of_trial in names.items():
        by_name = collections.defaultdict(list)
        for trial in trials:
            by_name[name_of_trial(trial)].append(trial)
        by_name.pop(None, None)
        own = sorted(name for name in by_name if name != "other")
        for name in own[NAMED_USERS:]:
            by_name["other"] += by_name.pop(name)
        rows = comparison.at((*path, table))
        comparison.holds((*path, table), [it["name"] for it in rows] == sorted(by_name), f"they are {sorted(by_name)}")
        for index, row in enumerate(rows):
            compare_users(comparison, (*path, table, index), by_name[row["name"]])
    despite = [it["user"] for it in trials if "verdict_despite_fault" in it["user"]]
    despite = [(it["verdict_despite_fault"]["verdict"], it["verdict_despite_fault"]["blame"]) for it in despite]
    passed = sum(verdict == "PASS" for verdict, _ in despite)
    held = sum(verdict == "FAIL" or (verdict, blame) == ("ERROR", "agent") for verdict, blame in despite)
    compare_rate(comparison, (*path, "success_rate_with_faults"), total["pass"] + passed, total.conclusive + passed + held)
    compare_rate(comparison, (*path, "success_rate_without_faults"), total["pass"], total.conclusive)
    n = total.conclusive + len(despite)
    comparison.equal((*path, "low"), total["pass"] / n if n else 0.0)
    comparison.equal((*path, "high"), (total["pass"] + len(despite)) / n if n else 1.0)


def parts_of(folder, case):
    """The agent, scenario, persona, tags and axis values of a case."""
    group = folder.groups[folder.numbers[case["id"]]]
    asks = group["format"] == "qna"
    values = [(name, value) for name, value in case["parameters"].items() if not (asks and name == "question")]
    yield "by_agent", (case["agent"],)
    if group["place"] < 1000:
        yield "by_scenario", (case["title"],)
    if case["persona"] is not None:
        yield "by_persona", (case["persona"],)
    yield from (("by_tag", (tag,)) for tag in dict.fromkeys(group["tags"]))
    yield from (("by_axis", (name, json.dumps(value, sort_keys=True))) for name, value in values)


def compare_parts(comparison, folder):
    """The tables by agent, scenario, persona, tag and value, each row from its own trials."""
    trials, planned, order = collections.defaultdict(list), collections.Counter(), []
    by_case = collections.defaultdict(list)
    for trial in folder.trials:
        by_case[folder.numbers[trial["case_id"]]].append(trial)
    for index, case in enumerate(folder.report["cases"]):
        for part in parts_of(folder, case):
            if part not in order:
                order.append(part)
            trials[part] += by_case[index]
            planned[part] += folder.groups[index]["repeats"]
    keys = {"by_agent": ("agent",), "by_scenario": ("scenario",), "by_persona": ("persona",), "by_tag": ("tag",),
            "by_axis": ("parameter", "value")}
    others = []
    for table, names in keys.items():
        wanted = [part for part in order if part[0] == table]
        rows = folder.report.get(table, []) if table == "by_persona" else folder.report[table]
        if len(wanted) > MEASURED_PARTS:
            beyond = [trial for part in wanted[MEASURED_PARTS:] for trial in trials[part]]
            others.append((table.removeprefix("by_"), len(wanted) - MEASURED_PARTS, replies(folder, beyond)[0]))
        if not rows and table not in folder.report:
            assert not wanted, f"{table} is missing"
        elif not rows:
            comparison.holds((table,), not wanted, "it is empty")
        found = []
        for index, row in enumerate(rows):
            texts = [row[name] if name != "value" else json.dumps(row[name], sort_keys=True) for name in names]
            part, path = (table, tuple(texts)), (table, index)
            found.append(part)
            for name in names:
                comparison.holds((*path, name), part in wanted, "no case has it")
            of, counts = trials[part], counts_of(trials[part])
            compare_counts(comparison, path, counts)
            compare_rate(comparison, (*path, "success_rate"), counts["pass"], counts.conclusive)
            comparison.equal((*path, "trials"), planned[part])
            times, unanswered = replies(folder, of)
            if part in wanted[MEASURED_PARTS:]:
                comparison.equal((*path, "latency"), None)
            elif row["latency"] is None:
                comparison.holds((*path, "latency"), not times["turn"], "it has none")
            else:
                compare_times(comparison, (*path, "latency"), times)
            comparison.equal((*path, "unanswered_turns"), unanswered)
            if folder.plan.get("goodput"):
                compare_goodput(comparison, (*path, "goodput"), met_of(folder, of))
            comparison.equal((*path, "cost_usd"), sum(it["cost_usd"] for it in of))
            comparison.equal((*path, "unpriced_calls"), sum(it["unpriced_calls"] for it in of))
            comparison.equal((*path, "estimated_calls"), sum(it["estimated_calls"] for it in of))
            compare_failures(comparison, (*path, "failures"), of)
        if sorted(found) != sorted(wanted):
            comparison.wrong.append(f"{table}: it has the rows {found}, and {wanted} is right")
    rows = folder.report.get("other_parts", [])
    if [(row["kind"], row["parts"]) for row in rows] != [(kind, parts) for kind, parts, _ in others]:
        comparison.wrong.append(f"other_parts: {[it[:2] for it in others]} is right")
    for index, (kind, parts, times) in enumerate(others[:len(rows)]):
        comparison.equal(("other_parts", index, "kind"), kind)
        comparison.equal(("other_parts", index, "parts"), parts)
        compare_times(comparison, ("other_parts", index, "latency"), times)


def compare_checks(comparison, folder):
    found = collections.defaultdict(collections.Counter)
    for trial in folder.trials:
        for it in trial["judgments"]:
            word = it["finding"] if it["finding"] in ["pass", "fail", "not_applicable"] else "not_judged"
            found[it["check"], it["required"]][word] += 1
    rows = folder.report["by_check"]
    if sorted((row["check"], row["required"]) for row in rows) != sorted(found):
        comparison.wrong.append(f"by_check: its rows are not {sorted(found)}")
    comparison.compared.update([("by_check",)] if not rows else [])
    for index, row in enumerate(rows):
        path, counts = ("by_check", index), found.get((row["check"], row["required"]), {})
        comparison.holds((*path, "check"), counts != {}, "no trial was judged by it")
        comparison.holds((*path, "required"), counts != {}, "no trial was judged by it")
        for key in ["pass", "fail", "not_judged"]:
            comparison.equal((*path, key), counts.get(key, 0))


def compare_metrics(comparison, folder):
    """Checks with a name: at most 200 names, the first in alphabetical order; the rest are `other`."""
    found = collections.defaultdict(list)
    for trial in folder.trials:
        for it in trial["judgments"]:
            if it.get("name") is not None:
                found[it["name"]].append(it)
    # As bytes: Python sorts texts by characters, which is the same order in UTF-8.
    for name in sorted(name for name in found if name != "other")[200:]:
        found["other"].extend(found.pop(name))
    rows = folder.report.get("metrics", [])
    if [row["name"] for row in rows] != sorted(found, key=lambda name: (name == "other", name)):
        comparison.wrong.append(f"metrics: its rows are not {sorted(found)}")
    for index, row in enumerate(rows):
        path, of = ("metrics", index), found.get(row["name"], [])
        comparison.holds((*path, "name"), bool(of), "no trial was judged by it")
        words = collections.Counter(it["finding"] for it in of)
        for key in ["pass", "fail", "not_applicable"]:
            comparison.equal((*path, key), words[key])
        comparison.equal((*path, "not_judged"), words["inconclusive"] + words["error"])
        compare_rate(comparison, (*path, "rate"), words["pass"], words["pass"] + words["fail"])
        scores = [it["score"] for it in of if it["score"] is not None]
        comparison.equal((*path, "scores"), len(scores))
        mean = sum(min(max(score, 0), 1) for score in scores) / len(scores) if scores else None
        comparison.equal((*path, "mean_score"), mean, absolute=1e-6)


def compare_judges(comparison, folder):
    """Findings of judges by the length of the judged text, and findings that only inform."""
    starts = [0, 25, 50, 100, 200, 400]
    found, reasons = collections.defaultdict(list), collections.Counter()
    for trial in folder.trials:
        for it in trial["judgments"]:
            if it.get("jury") is not None:
                found[max(start for start in starts if start <= it["jury"]["words"])].append(it["finding"])
                reasons.update([it["jury"]["uncalibrated"]] if "uncalibrated" in it["jury"] else [])
    if not found:
        if "judges" in folder.report:
            comparison.wrong.append("judges: none was asked")
        return
    rows = comparison.at(("judges", "by_length"))
    comparison.holds(("judges", "by_length"), [row["from_words"] for row in rows] == sorted(found), f"they are {sorted(found)}")
    ends = dict(zip(starts, starts[1:] + [None]))
    for index, row in enumerate(rows):
        path, words = ("judges", "by_length", index), collections.Counter(found[row["from_words"]])
        comparison.equal((*path, "below_words"), ends.get(row["from_words"]))
        for key in ["pass", "fail", "not_applicable"]:
            comparison.equal((*path, key), words[key])
        comparison.equal((*path, "not_judged"), words["inconclusive"] + words["error"])
        compare_rate(comparison, (*path, "rate"), words["pass"], words["pass"] + words["fail"])
    reported = folder.report["judges"].get("uncalibrated", [])
    first = sorted(reasons)[:20]
    more = sum(findings for reason, findings in reasons.items() if reason not in first)
    expected = [(reason, reasons[reason]) for reason in first] + ([("further judges", more)] if more else [])
    if [(it["reason"], it["findings"]) for it in reported] != expected:
        comparison.wrong.append(f"judges.uncalibrated: it is not {expected}")
    comparison.compared.update([("judges", "uncalibrated", index, key) for index in range(len(reported)) for key in ["reason", "findings"]])
    compare_criteria(comparison, folder)


def compare_criteria(comparison, folder):
    """What judges answered by check and criterion, and the rates that are corrected by the measurement of the row."""
    words = {"met": True, "yes": True, "not met": False, "partly met": False, "no": False}
    found = collections.defaultdict(collections.Counter)
    for trial in folder.trials:
        for it in trial["judgments"]:
            # A judge that failed lacks votes of its last question.
            if it.get("jury") is None or it["failure"] not in (None, "undecided"):
                continue
            asked = collections.defaultdict(list)
            for ballot in it.get("ballots", []):
                if ballot.get("judge"):
                    asked[ballot["criterion"]].append(words.get(ballot["verdict"]))
            for criterion, votes in asked.items():
                for met in [True, False]:
                    if 2 * votes.count(met) > len(votes):
                        found[it.get("name") or it["check"], criterion][met] += 1
    rows = folder.report["judges"].get("by_criterion", [])
    names = [(row["check"], row.get("criterion", "")) for row in rows]
    if names != sorted(found)[:100]:
        comparison.wrong.append(f"judges.by_criterion: its rows are not {sorted(found)[:100]}")
    scope = folder.report["summary"].get("success_rate_scope") or {}
    for index, (row, name) in enumerate(zip(rows, names)):
        path, met, not_met = ("judges", "by_criterion", index), found[name][True], found[name][False]
        for key in ["check", "criterion"]:
            if key in row:
                comparison.holds((*path, key), bool(found[name]), "no judge was asked about it")
        comparison.equal((*path, "met"), met)
        comparison.equal((*path, "not_met"), not_met)
        compare_rate(comparison, (*path, "rate"), met, met + not_met)
        if "corrected" in row:
            compare_corrected(comparison, (*path, "corrected"), met, met + not_met, scope.get("design_effect") or 1.0)


def compare_corrected(comparison, path, met, answers, design_effect):
    """Rogan and Gladen's rate, with the interval of Lang and Reiczigel."""
    measured = []
    for key in ["sensitivity", "specificity"]:
        n = comparison.at((*path, key))["n"]
        agreeing = round((comparison.at((*path, key))["estimate"] or 0) * n)
        compare_rate(comparison, (*path, key), agreeing, n)
        measured.append((agreeing / n if n else 0, n))
    (found, labelled_bad), (kept, labelled_good) = measured
    if found + kept <= 1 + 1e-9 or not answers:
        comparison.equal((*path, "rate"), None)
        return
    clamp = lambda value, low=0.0, high=1.0: min(max(value, low), high)
    n = answers / max(design_effect, 1.0)
    share = met / answers
    estimate = clamp((share + found - 1) / (found + kept - 1))
    adjusted = (share * n + Z * Z / 2) / (n + Z * Z)
    more = [((agreeing * of + 1) / (of + 2), of + 2) for agreeing, of in measured]
    (se, m0), (sp, m1) = more
    low, high = 0.0, 1.0
    if se + sp > 1 + 1e-9:
        theta = clamp((adjusted + se - 1) / (se + sp - 1))
        v0, v1 = se * (1 - se) / m0, sp * (1 - sp) / m1
        shift = 2 * Z * Z * (theta * v1 - (1 - theta) * v0)
        variance = adjusted * (1 - adjusted) / (n + Z * Z) + (1 - theta) ** 2 * v0 + theta ** 2 * v1
        half = Z * math.sqrt(variance) / (se + sp - 1)
        low, high = theta + shift - half, theta + shift + half
    rate = {"estimate": estimate, "low": clamp(low, 0.0, estimate), "high": clamp(high, estimate, 1.0), "n": round(n)}
    for key, value in [*rate.items(), ("method", "lang-reiczigel 95%")]:
        comparison.equal((*path, "rate", key), value)


def compare_custom_checks(comparison, folder):
    """Checks of the user's own: what answered, and whether second answers differ."""
    found = collections.defaultdict(list)
    for trial in folder.trials:
        for it in trial["judgments"]:
            if it.get("custom") is not None:
                found[it["custom"]["check"]].append(it["custom"])
    rows = folder.report.get("custom_checks", [])
    if [row["check"] for row in rows] != sorted(found):
        comparison.wrong.append(f"custom_checks: its rows are not {sorted(found)}")
    for index, row in enumerate(rows):
        path, runs = ("custom_checks", index), found.get(row["check"], [])
        twice = [run["differs"] for run in runs if "differs" in run]
        comparison.holds((*path, "check"), bool(runs), "it never answered")
        comparison.equal((*path, "answers"), len(runs))
        comparison.equal((*path, "programs"), sorted({run["program"] for run in runs})[:8])
        comparison.equal((*path, "asked_twice"), len(twice))
        comparison.equal((*path, "differed"), sum(twice))
        compare_rate(comparison, (*path, "unstable"), sum(twice), len(twice))


def compare_trials(comparison, folder):
    """Compares the sums of trials.jsonl with the transcripts."""
    for trial in folder.trials:
        calls = folder.calls(trial["number"])
        if trial["number"] not in folder.transcripts or len(calls) != sum(trial["llm_calls"].values()):
            continue
        own = [sum(call["cost"] or 0 for call in calls) / 1e9, sum((call["cost"] is None) + call["lost_tries"] for call in calls)]
        if not math.isclose(own[0], trial["cost_usd"], abs_tol=1e-9) or own[1] != trial["unpriced_calls"]:
            comparison.wrong.append(f"trial {trial['number']}: cost or unpriced calls are not those of its calls, {own}")


def compare_number_of_cases(comparison, folder):
    if len(folder.report["cases"]) != len(folder.groups):
        comparison.wrong.append(f"cases: {len(folder.report['cases'])}, and the plan has {len(folder.groups)}")


SECTIONS = [
    compare_number_of_cases, compare_run, compare_wall, compare_totals, compare_simulated_user, compare_verdicts, compare_trials,
    compare_cases, compare_gates, compare_early, compare_calls, compare_parts, compare_by_turn, compare_series, compare_losses,
    compare_load, compare_goodput_of_run, compare_checks, compare_metrics, compare_judges, compare_custom_checks,
]


def compare(folder):
    """The comparison, and by path the section that compares it."""
    comparison, section_of = Comparison(folder.report, []), {}
    for section in SECTIONS:
        section(comparison, folder)
        section_of = {**dict.fromkeys(comparison.compared, section), **section_of}
    comparison.finish()
    return comparison, section_of


def differs(folder, first):
    """Whether a comparison finds anything. It begins with the section `first`, and ends with the first difference."""
    try:
        comparison = Comparison(folder.report, FirstOnly())
        for section in [first, *(it for it in SECTIONS if it is not first)]:
            section(comparison, folder)
        comparison.finish()
    except (Difference, AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError):
        # Some falsified reports cannot even be read.
        return True
    return False


def another(value):
    """A different value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value * 1.5 + 3
    others = {"PASS": "FAIL", "FAIL": "PASS", "INCONCLUSIVE": "PASS"}
    return others.get(value, f"{value}-falsified") if isinstance(value, str) else "falsified"


def falsify(folder, section_of):
    """Changes each leaf (of list entries with the same shape, those of the first one), and returns the changes that were not
    noticed."""
    unseen, kinds = [], {}
    for path in leaves(folder.report, ()):
        if not is_untold(path):
            kinds.setdefault(tuple("[]" if isinstance(key, int) else key for key in path), path)
    for path in kinds.values():
        *parents, key = path
        place = functools.reduce(lambda place, key: place[key], parents, folder.report)
        right = place[key]
        place[key] = another(right)
        if not differs(folder, section_of[path]):
            unseen.append(name_of(path))
        place[key] = right
    return len(kinds), unseen


def main(arguments):
    paths = [it for it in arguments if it != "--falsify"]
    if not paths:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    code = 0
    for path in paths:
        folder = Folder(path)
        comparison, section_of = compare(folder)
        for line in comparison.wrong:
            print(f"{path}: {line}")
        print(f"{path}: {len(comparison.compared)} figures compared, {len(comparison.wrong)} differ")
        code |= bool(comparison.wrong)
        if "--falsify" in arguments:
            tried, unseen = falsify(folder, section_of)
            for name in unseen:
                print(f"{path}: the change of {name} was not noticed")
            print(f"{path}: {tried} figures falsified, {len(unseen)} unseen")
            code |= bool(unseen)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
