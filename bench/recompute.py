#!/usr/bin/env python3
"""Recomputes the figures of report.json from the records of a run, independently, and compares them.

Usage: bench/recompute.py RUN_FOLDER…
       bench/recompute.py --falsify RUN_FOLDER…

Reads transcripts.jsonl (turns and calls) and trials.jsonl (verdicts and judgments) of each folder, and run.db: the plan,
the run's row, what each batch used, the attempts that were lost and those that were played again. Shares no code with gabfest.
Prints each figure that differs, and each key of the report that nobody compared, and exits with 1; or prints how many
figures it compared and exits with 0. `UNTOLD` lists what nothing here can tell, and why.

--falsify changes each kind of figure of the report, one after the other, and fails where that is not found.
"""

import collections
import copy
import datetime
import fractions
import hashlib
import json
import math
import pathlib
import re
import sqlite3
import sys

Z = 1.959963984540054  # the 97.5 % point of the normal distribution
# All input and output, then their parts.
KINDS = ["input", "output", "cached_input", "cache_write", "reasoning"]
ROLES = ["agent", "judge", "scorer", "user_sim"]
VERDICTS = ["pass", "fail", "inconclusive", "error", "skipped", "cancelled"]
QUANTILES = [("p50_ms", 0.5), ("p90_ms", 0.9), ("p95_ms", 0.95), ("p99_ms", 0.99), ("p999_ms", 0.999)]
# Only this many agents, tags and axis values have latencies.
MEASURED_PARTS = 64
# Only this many models and personas of the simulated user have a line of their own.
NAMED_USERS = 32

# Keys that are not compared, by path, with the reason.
UNTOLD = {
    r"cases\[\d+\]\.combination": "a name that gabfest makes of the values of a case",
    r"cases\[\d+\]\.id": "a hash of the case; that trials name the same ids is compared",
    r"gates\[\d+\]\.reason": "words; the numbers that they begin with are compared",
}


class Folder:
    """The files of one run."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
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
        self.kept = self.rows("select number, body, replaced, replaced_failed from trial where run = ?", self.run["key"])
        self.bodies = {row["number"]: json.loads(row["body"]) for row in self.kept}
        self.lost = self.lost_attempts()
        self.batches = self.spend_of([row["spend"] for row in self.rows("select spend from segment where run = ?", self.run["key"])])
        self.preflight = self.spend_of([self.run["preflight"]] if "preflight" in self.run.keys() else [])
        self.spend = collections.defaultdict(collections.Counter)
        for key, line in [*self.batches.items(), *self.preflight.items()]:
            self.spend[key].update(line)
        self.groups = self.groups_by_case()
        self.numbers = {case["id"]: index for index, case in enumerate(self.report["cases"])}

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


class Comparison:
    """Compares leaves of the report by path, and records which ones were compared."""

    def __init__(self, report):
        self.report, self.compared, self.wrong = report, set(), []

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
                self.wrong.append(f"{name_of(path)}: nobody compared it")


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


def compare_rates(comparison, path, counts, planned):
    compare_rate(comparison, (*path, "success_rate"), counts["pass"], counts.conclusive)
    compare_rate(comparison, (*path, "judged_pass_rate"), counts["pass"], counts.judged)
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
        comparison.equal((*path, key), value, relative=2e-3)
    comparison.equal((*path, "max_ms"), micros[-1] / 1000 if micros else 0.0)
    mean = sum(micros) / len(micros) / 1000 if micros else 0.0
    comparison.equal((*path, "mean_ms"), mean, relative=2e-3, absolute=0.0051)


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


def compare_run(comparison, folder, totals):
    row, of = folder.run, lambda key: ("run", key)
    moment = lambda millis: None if millis is None else datetime.datetime.fromtimestamp(
        millis / 1000, datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    for key, value in [
        ("id", row["id"]), ("name", folder.plan["name"]), ("state", row["state"]), ("exhausted", bool(row["exhausted"])),
        ("started_at", moment(row["started_at"])), ("ended_at", moment(row["ended_at"])), ("seed", folder.plan["seed"]),
        ("plan_digest", folder.plan_digest), ("gabfest_version", row["version"]),
    ]:
        comparison.equal(of(key), value)
    comparison.equal(("schema_version",), 2)
    if row["ended_at"] is None or comparison.report["wall"] is None:
        comparison.holds(("wall",), row["ended_at"] is None and comparison.report["wall"] is None, "the run has not ended, or has")
        return
    took = row["ended_at"] - row["started_at"]
    per = lambda number, millis: round(number * millis / took, 2) if took else None
    comparison.equal(("wall", "duration_ms"), took)
    comparison.equal(("wall", "conversations_per_minute"), per(totals["conversations"], 60_000), absolute=0.0101)
    comparison.equal(("wall", "turns_per_second"), per(totals["turns"], 1_000), absolute=0.0101)


def compare_cases(comparison, folder, by_case, verdicts):
    cases = folder.report["cases"]
    scenarios, seen = collections.defaultdict(Counts), set()
    for index, case in enumerate(cases):
        path, counts, group = ("cases", index), by_case[index], folder.groups[index]
        planned = group["repeats"]
        cancelled_with = planned - counts.ended if folder.run["state"] == "cancelled" else 0
        compare_counts(comparison, path, counts, cancelled_with)
        compare_rates(comparison, path, counts, planned)
        for key, value in [
            ("number", index), ("trials", planned), ("scenario", group["name"]), ("format", group["format"]),
            ("source", group["source"]["path"]), ("weight", group["weight"]), ("verdict", verdicts[index]),
            ("flaky", counts["replayed_failures"] > 0 or (counts["pass"] > 0 and counts.held > 0)),
        ]:
            comparison.equal((*path, key), value)
        place = group["source"]["path"]
        titles = [group["name"], f"{group['name']} ({place})", f"{group['name']} ({place}:{group['source']['line']})"]
        comparison.holds((*path, "title"), case["title"] in titles, f"it is none of {titles}")
        others = [it for it in folder.plan["groups"] if it is not group and it["name"] == group["name"]]
        if others:
            comparison.holds((*path, "title"), case["title"] != titles[0], "another scenario has the same name")
        comparison.holds((*path, "persona"), case["persona"] in group["personas"], f"not one of {group['personas']}")
        comparison.holds((*path, "agent"), case["agent"] in folder.plan["agents"], "the plan has no such agent")
        fits = all(case["parameters"].get(axis["parameter"]) in axis["values"] for axis in group["axes"])
        fits &= len(case["parameters"]) == len(group["axes"])
        comparison.holds((*path, "parameters"), fits, "not what the axes say")
        asked = case["parameters"].get("question") if group["format"] == "qna" else None
        comparison.equal((*path, "variant"), asked)
        cell = json.dumps([folder.plan["groups"].index(group), case["persona"], case["agent"], case["parameters"]])
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


def upper_bound(passed, n):
    """Clopper-Pearson, one-sided 95 %: the rate at which so few passes or fewer have a probability of 5 %."""
    if passed >= n:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(80):
        p = (low + high) / 2
        chance = sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(passed + 1))
        low, high = (p, high) if chance > 0.05 else (low, p)
    return low


class Gates:
    """The rule of docs/statistics.md, "Gates", written down a second time."""

    def __init__(self, folder, by_case):
        gates = folder.plan["gates"]
        self.rate, floor = gates.get("pass_rate"), gates.get("case_pass_rate")
        self.floor = None if self.rate is None else self.rate / 2 if floor is None else floor
        self.total = counts_of(folder.trials)
        self.planned = sum(group["repeats"] for group in folder.groups)
        self.missing = self.planned - self.total.conclusive
        self.unplayed = self.planned - self.total.ended
        of_kind = lambda kind: sum(it["failure_kind"] == kind and it["blame"] != "agent" for it in folder.trials)
        self.quota, self.judgeless = of_kind("provider_exhausted"), of_kind("judge_missing")
        allowed = gates.get("max_unjudged") or 0.0
        few = self.missing < self.planned and self.missing <= fractions.Fraction(repr(allowed)) * self.planned
        self.enough = few and self.unplayed == 0 and self.quota == 0
        self.cases = [self.of_case(group, by_case[index]) for index, group in enumerate(folder.groups)]
        self.unjudged = sum(by_case[index].conclusive == 0 for index in range(len(folder.groups)))
        self.allowed_cases = gates.get("max_unjudged_cases") or 0
        self.by_case = by_case
        self.most_faults, users = gates.get("max_simulator_faults"), [it["user"] for it in folder.trials if it.get("user")]
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
        own = group.get("required_pass_rate")
        rate = own if own is not None else 1.0 if self.rate is None else None
        holds = (lambda passed, n: passed >= least_of(rate, n)) if rate is not None else (
            lambda passed, n: passed >= self.floor * n or upper_bound(passed, n) >= self.floor)
        return self.verdict(holds, rate is not None and rate >= 1.0, counts, group["repeats"])

    def all(self):
        """By name: the verdict, and words that the reason begins with or has in it."""
        gates, total = {}, self.total
        tolerated = self.unjudged == 0 or (self.enough and self.unjudged <= self.allowed_cases)
        undecided = [index for index, it in enumerate(self.cases)
                     if it == "INCONCLUSIVE" and not (tolerated and self.by_case[index].conclusive == 0)]
        failed = self.cases.count("FAIL")
        if self.rate is not None:
            holds = lambda passed, n: passed >= least_of(self.rate, n)
            verdict = self.verdict(holds, self.rate >= 1.0, total, self.planned)
            words = f"{total['pass']} of {total.conclusive} passed (" if total.conclusive else "no trial was judged"
            gates["pass_rate"] = verdict, words
        verdict = "FAIL" if failed else "INCONCLUSIVE" if undecided or not self.cases else "PASS"
        words = f"{failed} failed (" if failed else f"{len(undecided)} undecided (" if undecided else ""
        gates["every_case_passes" if self.rate is None else "case_pass_rate"] = verdict, words
        said = self.missing and self.unplayed != self.planned
        words = f"{self.missing} of " if said else ""
        gates["enough_evidence"] = "PASS" if self.enough else "INCONCLUSIVE", words
        judged = 0 < len(self.cases) != self.unjudged <= self.allowed_cases
        words = f"{self.unjudged} of " if self.unjudged and len(self.cases) > 1 else ""
        gates["every_case_judged"] = "PASS" if judged else "INCONCLUSIVE", words
        if self.judgeless:
            gates["judge_available"] = "INCONCLUSIVE", f"{self.judgeless} trial"
        if self.most_faults is not None:
            few = self.faulty <= fractions.Fraction(repr(self.most_faults)) * self.users
            words = f"fault in {self.faulty} of {self.users} trial" if self.users else "no trial has a simulated user"
            gates["max_simulator_faults"] = "PASS" if few else "INCONCLUSIVE", words
        return gates


def compare_gates(comparison, gates):
    expected = gates.all()
    names = [gate["name"] for gate in comparison.report["gates"]]
    comparison.holds(("gates",), names == list(expected), f"they are {names}, and {list(expected)} is right")
    for index, gate in enumerate(comparison.report["gates"]):
        verdict, words = expected.get(gate["name"], (None, ""))
        comparison.equal(("gates", index, "verdict"), verdict)
        comparison.holds(("gates", index, "reason"), words in gate["reason"], f"{gate['reason']!r} has no {words!r}")
    found = [verdict for verdict, _ in expected.values()]
    run = next((it for it in ["FAIL", "INCONCLUSIVE"] if it in found), "PASS")
    comparison.equal(("verdict",), run)


def compare_calls(comparison, folder):
    """Calls, tokens and money by role and model: of all attempts what the batches say, and of the attempts that count what
    the transcripts say, which must be the same where no other attempt was made."""
    summary, spend = folder.report["summary"], folder.spend
    transcribed = collections.defaultdict(collections.Counter)
    for number in folder.transcripts:
        for call in folder.calls(number):
            transcribed[call["role"], call["model"]].update(
                calls=1, cost=call["cost"] or 0, plain_priced_calls=call.get("plain_priced", False),
                cut_calls=call.get("finish") == "length", reported_cost=call.get("reported_cost", 0),
                unpriced_calls=(call["cost"] is None) + call["lost_tries"], estimated_calls=call["estimated"],
                tries=call["tries"], throttled_tries=call["throttled_tries"], wait_micros=call["wait_micros"],
                **{kind: call["tokens"].get(kind, 0) for kind in KINDS})
    whole = len(folder.transcripts) == summary["attempts"]["total"] and has_all_calls(folder)
    for key in set(folder.batches) | set(transcribed):
        for figure in set(folder.batches[key]) | set(transcribed[key]):
            batches, words = folder.batches[key][figure], transcribed[key][figure]
            if batches < words or (whole and batches != words):
                comparison.wrong.append(f"{figure} of {key}: the batches say {batches}, the transcripts {words}")
    models = summary["models"]
    named = sorted((it["role"], it["model"]) for it in models)
    comparison.holds(("summary", "models"), named == sorted(spend), f"{sorted(spend)} are called")
    times = times_of_calls(folder)
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
        for name in ["wait", "service", "with_retries"]:
            compare_quantiles(comparison, (*path, "throttling", name), times[model["role"], model["model"]][name])
    sum_of = lambda figure, role=None: sum(line[figure] for (it, _), line in spend.items() if role in (None, it))
    for role in ROLES:
        comparison.equal(("summary", "llm_calls", role), sum_of("calls", role))
        for kind in KINDS:
            if kind in KINDS[:2] or sum_of(kind, role):
                comparison.equal(("summary", "tokens", role, kind), sum_of(kind, role))
    unsettled = folder.run["unsettled_nanos"]
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
    before = lambda figure: sum(line[figure] for line in folder.preflight.values())
    if folder.preflight or "preflight" in summary:
        for name, value in [
            (("calls",), before("calls")), (("tokens", "input"), before("input")), (("tokens", "output"), before("output")),
            (("cost_usd",), before("cost") / 1e9), (("unpriced_calls",), before("unpriced_calls")),
            (("estimated_calls",), before("estimated_calls")),
        ]:
            comparison.equal(("summary", "preflight", *name), value)


def has_all_calls(folder):
    """Calls of a trial that never had a turn are in no transcript."""
    calls = lambda trial: collections.Counter(call["role"] for call in folder.calls(trial["number"]))
    return all(calls(it) == +collections.Counter(it["llm_calls"]) for it in folder.trials)


def times_of_calls(folder):
    """Of the attempts that count. A transcript that was not kept is no reason to know less: the store has the times."""
    times = collections.defaultdict(lambda: collections.defaultdict(list))
    transcribed = has_all_calls(folder)
    for trial in folder.trials:
        if not transcribed:
            for entry in folder.bodies[trial["number"]]["pace"]:
                of, line = times[entry["role"], entry["model"]], entry["line"]
                for name, key in [("wait", "waits"), ("service", "services"), ("with_retries", "wholes")]:
                    of[name] += line[key]
            continue
        for call in folder.calls(trial["number"]):
            of = times[call["role"], call["model"]]
            of["wait"].append(call["wait_micros"])
            if call["error"] is None:
                of["service"].append(call["total_micros"])
                of["with_retries"].append(call["total_micros"] + call["retried_micros"])
    return times


def replies(folder, trials):
    """Times of answered turns to the last and first byte, and the number of unanswered turns."""
    whole, first, unanswered = [], [], 0
    for trial in trials:
        if trial["turns"] and trial["number"] not in folder.transcripts:
            body = folder.bodies[trial["number"]]
            whole += [it["total_micros"] for it in body["latencies"]]
            first += [it["ttft_micros"] for it in body["latencies"] if it["ttft_micros"] is not None]
            unanswered += body["unanswered"]
            continue
        for turn in folder.transcripts.get(trial["number"], []):
            # A conversation from a file made no calls.
            if turn["speaker"] == "program" or (turn["agent"] is not None and not any(it["role"] == "agent" for it in turn["calls"]) and turn["duration_micros"] == 0):
                continue
            if turn["agent"] is None:
                unanswered += 1
                continue
            whole.append(turn["duration_micros"])
            answered = [it for it in turn["calls"] if it["role"] == "agent" and it["error"] is None]
            if answered and answered[-1]["ttft_micros"] is not None:
                first.append(max(turn["duration_micros"] - answered[-1]["total_micros"], 0) + answered[-1]["ttft_micros"])
    return whole, first, unanswered


def compare_totals(comparison, folder, total):
    of, planned = lambda *keys: ("summary", *keys), sum(group["repeats"] for group in folder.groups)
    cancelled_with = planned - total.ended if folder.run["state"] == "cancelled" else 0
    compare_counts(comparison, of("trials"), total, cancelled_with)
    comparison.equal(of("trials", "planned"), planned)
    comparison.equal(of("trials", "not_started"), planned - total.ended - cancelled_with)
    compare_rates(comparison, ("summary",), total, planned)
    comparison.equal(of("completed_rate"), total.judged / planned if planned else 0.0)
    compare_failures(comparison, of("failures"), folder.trials)
    comparison.equal(of("turns"), sum(trial["turns"] for trial in folder.trials))
    for trial in folder.trials:
        words = folder.transcripts.get(trial["number"])
        if words is not None and len(words) != trial["turns"]:
            comparison.wrong.append(f"trial {trial['number']}: {trial['turns']} turns, its transcript has {len(words)}")
    comparison.equal(of("conversations"), sum(trial["conversations"] for trial in folder.trials))
    whole, first, unanswered = replies(folder, folder.trials)
    compare_quantiles(comparison, of("latency", "turn"), whole)
    compare_quantiles(comparison, of("latency", "ttft"), first)
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


def compare_simulated_user(comparison, folder, total):
    """Faults of the simulated user, and what they do to the success rate."""
    trials = [it for it in folder.trials if it.get("user")]
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
    """The agent, tags and axis values of a case."""
    group = folder.groups[case["number"]]
    asks = group["format"] == "qna"
    values = [(name, value) for name, value in case["parameters"].items() if not (asks and name == "question")]
    yield "by_agent", (case["agent"],)
    yield from (("by_tag", (tag,)) for tag in dict.fromkeys(group["tags"]))
    yield from (("by_axis", (name, json.dumps(value, sort_keys=True))) for name, value in values)


def compare_parts(comparison, folder):
    """The tables by agent, tag and value, each row from its own trials."""
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
    keys = {"by_agent": ("agent",), "by_tag": ("tag",), "by_axis": ("parameter", "value")}
    for table, names in keys.items():
        rows, wanted = folder.report[table], [part for part in order if part[0] == table]
        if not rows:
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
            whole, _, unanswered = replies(folder, of)
            if part in order and order.index(part) >= MEASURED_PARTS:
                comparison.equal((*path, "latency"), None)
            elif row["latency"] is None:
                comparison.holds((*path, "latency"), not whole, "it has none")
            else:
                compare_quantiles(comparison, (*path, "latency"), whole)
            comparison.equal((*path, "unanswered_turns"), unanswered)
            comparison.equal((*path, "cost_usd"), sum(it["cost_usd"] for it in of))
            comparison.equal((*path, "unpriced_calls"), sum(it["unpriced_calls"] for it in of))
            comparison.equal((*path, "estimated_calls"), sum(it["estimated_calls"] for it in of))
            compare_failures(comparison, (*path, "failures"), of)
        if sorted(found) != sorted(wanted):
            comparison.wrong.append(f"{table}: it has the rows {found}, and {wanted} is right")


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
    """What judges found, by the words of the agent in what was judged, and the findings that only inform."""
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
    told = folder.report["judges"].get("uncalibrated", [])
    first = sorted(reasons)[:20]
    more = sum(findings for reason, findings in reasons.items() if reason not in first)
    expected = [(reason, reasons[reason]) for reason in first] + ([("further judges", more)] if more else [])
    if [(it["reason"], it["findings"]) for it in told] != expected:
        comparison.wrong.append(f"judges.uncalibrated: it is not {expected}")
    comparison.compared.update([("judges", "uncalibrated", index, key) for index in range(len(told)) for key in ["reason", "findings"]])


def compare_trials(comparison, folder):
    """Compares the sums of trials.jsonl with the transcripts."""
    for trial in folder.trials:
        calls = folder.calls(trial["number"])
        if trial["number"] not in folder.transcripts or len(calls) != sum(trial["llm_calls"].values()):
            continue
        own = [sum(call["cost"] or 0 for call in calls) / 1e9, sum((call["cost"] is None) + call["lost_tries"] for call in calls)]
        if not math.isclose(own[0], trial["cost_usd"], abs_tol=1e-9) or own[1] != trial["unpriced_calls"]:
            comparison.wrong.append(f"trial {trial['number']}: cost or unpriced calls are not those of its calls, {own}")


def compare(folder):
    comparison = Comparison(folder.report)
    by_case = collections.defaultdict(Counts)
    for trial in folder.trials:
        by_case[folder.numbers[trial["case_id"]]].add(trial)
    for index in range(len(folder.groups)):
        by_case[index] += Counts()
        by_case[index] = Counts(by_case[index])
    if len(folder.report["cases"]) != len(folder.groups):
        comparison.wrong.append(f"cases: {len(folder.report['cases'])}, and the plan has {len(folder.groups)}")
    total = counts_of(folder.trials)
    gates = Gates(folder, by_case)
    compare_run(comparison, folder, {"turns": sum(it["turns"] for it in folder.trials), "conversations": sum(it["conversations"] for it in folder.trials)})
    compare_totals(comparison, folder, total)
    compare_simulated_user(comparison, folder, total)
    compare_verdicts(comparison, folder)
    compare_trials(comparison, folder)
    compare_cases(comparison, folder, by_case, gates.cases)
    compare_gates(comparison, gates)
    compare_calls(comparison, folder)
    compare_parts(comparison, folder)
    compare_checks(comparison, folder)
    compare_metrics(comparison, folder)
    compare_judges(comparison, folder)
    comparison.finish()
    return comparison


def another(value):
    """A different value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value * 1.5 + 3
    others = {"PASS": "FAIL", "FAIL": "PASS", "INCONCLUSIVE": "PASS"}
    return others.get(value, f"{value}-falsified") if isinstance(value, str) else "falsified"


def falsify(folder):
    """Changes each leaf that can be told, of list entries that are alike those of the first, and returns those where nobody
    saw it."""
    right, unseen, tried = folder.report, [], 0
    kinds = {}
    for path in leaves(right, ()):
        if not is_untold(path):
            kinds.setdefault(tuple("[]" if isinstance(key, int) else key for key in path), path)
    for path in kinds.values():
        tried += 1
        folder.report = copy.deepcopy(right)
        place = folder.report
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = another(place[path[-1]])
        try:
            if not compare(folder).wrong:
                unseen.append(name_of(path))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            pass  # So wrong that it could not even be read.
    folder.report = right
    return tried, unseen


def main(arguments):
    paths = [it for it in arguments if it != "--falsify"]
    if not paths:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    code = 0
    for path in paths:
        folder = Folder(path)
        comparison = compare(folder)
        for line in comparison.wrong:
            print(f"{path}: {line}")
        print(f"{path}: {len(comparison.compared)} figures compared, {len(comparison.wrong)} differ")
        code |= bool(comparison.wrong)
        if "--falsify" in arguments:
            tried, unseen = falsify(folder)
            for name in unseen:
                print(f"{path}: nobody saw that {name} was changed")
            print(f"{path}: {tried} figures falsified, {len(unseen)} unseen")
            code |= bool(unseen)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
