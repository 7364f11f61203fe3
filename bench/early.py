"""The rules of a run that stops when it is decided (docs/statistics.md, "Decide early"), written down a second time.

Used by recompute.py. Shares no code with gabfest: the incomplete beta function of whole numbers is a sum of binomial chances.
"""

import math


def log_sum(terms):
    most = max(terms)
    return most + math.log(sum(math.exp(term - most) for term in terms))


def ln_against_at_least(bound, passes, failures):
    """The likelihood of all rates below the bound against that of the bound."""
    n = passes + failures + 1
    ln_choose = lambda k: math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    ln_beta = math.lgamma(passes + 1) + math.lgamma(failures + 1) - math.lgamma(n + 1)
    tail = [ln_choose(k) + k * math.log(bound) + (n - k) * math.log1p(-bound) for k in range(passes + 1, n + 1)]
    return ln_beta + log_sum(tail) - (passes + 1) * math.log(bound) - failures * math.log1p(-bound)


def judge(bad, good, false_pass, false_fail, seen):
    trials, passes, failures = seen
    if bad < good:
        ratio = lambda s, f: s * math.log(good / bad) + f * math.log((1 - good) / (1 - bad))
        for_pass, for_fail = ratio(passes, trials - passes), -ratio(trials - failures, failures)
    else:
        for_pass = ln_against_at_least(1 - bad, trials - passes, passes)
        for_fail = ln_against_at_least(good, trials - failures, failures)
    if for_fail >= -math.log(false_fail):
        return "FAIL"
    return "PASS" if for_pass >= -math.log(false_pass) else None


class Early:
    """Plays the rounds of a run again from its trials."""

    def __init__(self, plan, groups, trials, left_out=()):
        """`trials`: number -> True (passed), False (failed), None (says nothing), of all that ended. `left_out`: the places of cases
        in quarantine."""
        self.decide, self.cases, self.trials = plan["decide"], len(groups), trials
        decide = self.decide
        floors = [group.get("required_pass_rate") if group.get("required_pass_rate") is not None else decide.get("floor") for group in groups]
        self.floors = [None if case in left_out else floor or None for case, floor in enumerate(floors)]
        self.counted = [case for case in range(self.cases) if case not in left_out]
        self.share = sum(floor is not None for floor in self.floors)
        self.seen, self.found = [[0, 0, 0] for _ in groups], [None] * self.cases
        self.mean_seen, self.mean, self.rounds, self.verdict, self.failed = [0, 0, 0], None, 0, None, None
        playing = list(self.counted)
        while playing and self.verdict is None and all(self.rounds * self.cases + case in trials for case in playing):
            self.consume(playing)
            if self.mean:
                playing = [case for case in playing if self.floors[case] is not None and self.found[case] is None]

    def consume(self, playing):
        decide = self.decide
        for case in playing:
            outcome = self.trials[self.rounds * self.cases + case]
            for seen in [self.seen[case]] + ([] if self.mean else [self.mean_seen]):
                seen[0] += 1
                seen[1] += outcome is True
                seen[2] += outcome is False
            if self.floors[case] is not None and self.found[case] is None:
                floor, share = self.floors[case], 0.5 / self.share
                self.found[case] = judge(floor, floor, decide["false_pass"], decide["false_fail"] * share, self.seen[case])
        self.rounds += 1
        if not self.mean:
            share = 0.5 if self.share else 1
            self.mean = judge(decide["bad"], decide["good"], decide["false_pass"], decide["false_fail"] * share, self.mean_seen)
        self.failed = self.found.index("FAIL") if "FAIL" in self.found else None
        holds = all(floor is None or found == "PASS" for floor, found in zip(self.floors, self.found))
        if self.mean == "FAIL" or self.failed is not None:
            self.verdict = "FAIL"
        elif self.mean == "PASS" and holds:
            self.verdict = "PASS"
        elif self.rounds >= decide["most_repeats"]:
            self.verdict = "INCONCLUSIVE"

    def figures(self):
        """As `sequential` of report.json has them."""
        decide, of = self.decide, ["trials", "pass", "fail"]
        mean = {"bad": decide["bad"], "good": decide["good"], **dict(zip(of, self.mean_seen)), "verdict": self.mean}
        cases = [{"case": case, "floor": self.floors[case], **dict(zip(of, self.seen[case])), "verdict": self.found[case]}
                 for case in range(self.cases)]
        return {
            "verdict": self.verdict, "repeats": self.rounds, "most_repeats": decide["most_repeats"],
            "consumed": sum(seen[0] for seen in self.seen), "most_conversations": decide["most_repeats"] * len(self.counted),
            "false_pass": decide["false_pass"], "false_fail": decide["false_fail"], "mean": mean, "cases": cases,
        }

    def verdicts(self):
        """Of the cases."""
        of = lambda case: self.found[case] if self.floors[case] is not None else self.mean if case in self.counted else None
        return [of(case) or "INCONCLUSIVE" for case in range(self.cases)]

    def gate(self):
        """The verdict, and how the reason begins."""
        start = "not decided yet" if self.verdict is None else "not decided after" if self.verdict == "INCONCLUSIVE" else "decided after"
        return self.verdict or "INCONCLUSIVE", start
