"""The objectives of a run and the search for the highest load, judged a second time from its records: for recompute.py.

The rules are those of docs/load.md, "Set objectives" and "Search for the highest load".
"""

import collections
import math
import re

Z = 1.959963984540054  # the 97.5 % point of the normal distribution
UNITS = {"d": 86_400e6, "h": 3_600e6, "m": 60e6, "s": 1e6, "ms": 1e3, "us": 1.0}
# How many cells a stretch has: stretches slide by one.
CELLS = 6
TIMES = {
    "response": lambda turn: turn["response_micros"],
    "service": lambda turn: turn["total_micros"],
    "wait": lambda turn: None if turn["response_micros"] is None else turn.get("wait_micros", 0),
    "ttft": lambda turn: turn["ttft_micros"],
    "response_ttft": lambda turn: None if None in (turn["response_micros"], turn["ttft_micros"]) else (
        turn["ttft_micros"] + max(turn["response_micros"] - turn["total_micros"], 0)),
    "inter_token": lambda turn: turn.get("inter_token_micros"),
    "per_output_token": lambda turn: turn.get("per_token_micros"),
}
# A turn without an answer is slower than any of these.
ENDLESS = ["response", "service", "ttft", "response_ttft"]
HOLDS = {
    "<": lambda value, bound: value < bound, "<=": lambda value, bound: value <= bound,
    ">": lambda value, bound: value > bound, ">=": lambda value, bound: value >= bound,
    "==": lambda value, bound: value == bound, "!=": lambda value, bound: value != bound,
}
WRITTEN = re.compile(
    r"(?:(?P<statistic>p[\d.]+|mean|avg|med|max)\((?P<time>\w+)\)|(?P<number>\w+))(?:\{(?P<filters>.*)\})?"
    r" (?P<sign><=|>=|==|!=|<|>) (?P<bound>[^ ,]+)(?: for (?P<window>[^ ,]+))?(?:, delay (?P<delay>[^ ,]+))?(?P<abort>, abort)?")


def micros(text):
    return round(sum(float(number) * UNITS[unit] for number, unit in re.findall(r"([\d.]+)([a-z]+)", text)))


def floor_of(share):
    """The fewest samples of a percentile: with fewer, the chance that at most one lies beyond it is more than 1 %."""
    if share <= 0.5:
        return 1
    return next(n for n in range(1, 10_000_000) if share**n + n * (1 - share) * share ** (n - 1) <= 0.01)


class Objective:
    def __init__(self, text):
        found = WRITTEN.fullmatch(text)
        self.name, self.sign, self.time = text, found["sign"], found["time"]
        self.number, self.statistic = found["number"], {"med": "p50", "avg": "mean"}.get(found["statistic"], found["statistic"])
        bound = found["bound"]
        self.bound = micros(bound) if self.time else float(bound[:-1]) / 100 if bound.endswith("%") else float(bound)
        self.window = micros(found["window"]) if found["window"] else None
        self.delay = micros(found["delay"]) if found["delay"] else 0
        pairs = re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|[^,]+)(?:, )?', found["filters"] or "")
        self.filters = [(part, re.sub(r"\\(.)", r"\1", value[1:-1]) if value[0] == '"' else value) for part, value in pairs]

    def holds(self, value):
        return HOLDS[self.sign](value, self.bound)

    @property
    def is_upper(self):
        return self.sign in ("<", "<=")

    @property
    def percentile(self):
        return float(self.statistic[1:]) / 100 if self.statistic and self.statistic[0] == "p" else None

    def share_of_step(self):
        """Of what a step must have so much; `None`: it says nothing about a step."""
        if self.filters:
            return None
        if self.number == "pass_rate" and self.sign in (">", ">="):
            return self.bound
        if self.number == "error_rate" and self.is_upper:
            return 1 - self.bound
        return self.percentile if self.time in ("response", "service", "ttft") and self.is_upper else None


class Cell(collections.Counter):
    """Samples, those that count or miss the bound, and a sum; the highest is apart."""

    highest = 0

    def put(self, other):
        self.update(other)
        self.highest = max(self.highest, other.get("highest", 0))


def began(folder, body):
    return body["start"]["at_micros"] // 1000 if body.get("start") else max(body["began_at_ms"] - folder.run["started_at"], 0)


def is_chosen(folder, objective, body):
    cases = {case["number"]: case for case in folder.report["cases"]}
    case = cases.get(body["case"])
    for part, value in objective.filters:
        if part == "group":
            names = [group["name"] for group in folder.plan["load"]["groups"]]
            fits = names[body["number"] >> 40] == value
        elif case is None:
            return False
        elif part == "tag":
            fits = value in folder.groups[folder.case_numbers.index(body["case"])]["tags"]
        elif part == "scenario":
            fits = value in (case["scenario"], case.get("title"))
        else:
            fits = case.get(part) == value
        if not fits:
            return False
    return True


def samples(folder, objective, counts_of, met_of):
    """(When, in microseconds after the start; what it adds) of each trial and turn."""
    trials = {trial["number"]: trial for trial in folder.trials}
    for number, body in folder.whole.items():
        dropped = folder.is_dropped(body)
        if (number not in trials and not dropped) or not is_chosen(folder, objective, body):
            continue
        body = folder.bodies.get(number, body)
        start = began(folder, body) * 1000
        end, of = start + body["duration_ms"] * 1000, objective.number
        if of in ("drop_rate", "dropped"):
            yield end, {"samples": 1, "marked": int(dropped), "sum": int(dropped)}
        if dropped or of in ("drop_rate", "dropped"):
            continue
        counts = counts_of([trials[number]])
        if objective.time:
            for turn in body["latencies"]:
                value = TIMES[objective.time](turn)
                if value is not None:
                    missed = int(not objective.holds(value))
                    yield start + turn["ended_micros"], {"samples": 1, "marked": missed, "sum": value, "highest": value}
            lost = body["unanswered"] if objective.time in ENDLESS else 0
            if lost:
                yield end, {"samples": lost, "marked": 0 if objective.holds(math.inf) else lost, "lost": lost}
        elif of == "goodput" and folder.plan.get("goodput"):
            for turn in body["latencies"]:
                one = {**body, "latencies": [turn], "unanswered": 0}
                good = met_of(folder, [trials[number]], {number: one})["turns_met"]
                yield start + turn["ended_micros"], {"samples": 1, "marked": good}
            if body["unanswered"]:
                yield end, {"samples": body["unanswered"]}
        elif of == "conversation_goodput" and folder.plan.get("goodput"):
            met = met_of(folder, [trials[number]], {number: body})
            yield end, {"samples": met["conversations"], "marked": met["conversations_met"]}
        elif of in ("pass_rate", "error_rate"):
            said = int(counts.conclusive > 0)
            yield end, {"samples": said, "marked": said and counts["pass" if of == "pass_rate" else "agent_errors"]}
        elif of == "errors":
            yield end, {"samples": 1, "sum": counts["agent_errors"]}
        elif of == "unanswered":
            yield end, {"samples": 1, "sum": body["unanswered"]}
        elif of in ("cost", "cost_per_conversation", "cost_per_pass"):
            trial, per_pass = trials[number], of == "cost_per_pass"
            yield end, {"samples": counts["pass"] if per_pass else 1, "sum": round(trial["cost_usd"] * 1e9),
                        "marked": trial["unpriced_calls"], "lost": counts.held if per_pass else 0}
        elif of in ("tokens", "tokens_per_conversation"):
            used = trials[number]["tokens"].get("agent", {})
            yield end, {"samples": 1, "sum": used.get("input", 0) + used.get("output", 0)}


def meets(share, cell):
    return cell["samples"] - cell["marked"] >= max(1, math.ceil(round(cell["samples"] * share, 9)))


def priced(objective, unpriced, verdict):
    """With calls without a price a cost is a lower bound, so only what is spent already is sure."""
    sure = (objective.is_upper and verdict == "FAIL") or (objective.sign in (">", ">=") and verdict == "PASS")
    return verdict if sure or not unpriced else "INCONCLUSIVE"


def judged(objective, cell, is_part, upper_bound):
    """The verdict on a cell, and a part of the words about it. `is_part`: it is one stretch of several."""
    n, marked = cell["samples"], cell["marked"]
    decided = lambda holds: "PASS" if holds else "FAIL"
    turns = f"{n:,} turn"
    if objective.time:
        if n == 0:
            return "INCONCLUSIVE", "no turn has this time"
        if objective.statistic == "max" and cell["lost"]:
            return "INCONCLUSIVE" if is_part and not objective.is_upper else decided(not objective.is_upper), turns
        if objective.statistic == "max":
            holds = objective.holds(cell.highest)
            return "INCONCLUSIVE" if is_part and not objective.is_upper and not holds else decided(holds), turns
        if objective.statistic == "mean":
            answered = n - cell["lost"]
            if answered == 0 or (is_part and answered < 64):
                return "INCONCLUSIVE", "answered turn"
            return decided(objective.holds(cell["sum"] / answered)), turns
        share, enough = objective.percentile, lambda of: n >= floor_of(of)
        if objective.is_upper and not enough(share):
            # A percentile below it is known, and no higher one is less.
            lower = next((of for of in [0.999, 0.99, 0.95, 0.9, 0.5] if of < share and enough(of)), None)
            return ("FAIL" if lower and not meets(lower, cell) else "INCONCLUSIVE"), turns
        if not enough(share):
            return "INCONCLUSIVE", turns
        if objective.is_upper:
            return decided(meets(share, cell)), turns
        return decided(marked < max(1, math.ceil(round(n * share, 9)))), turns
    if objective.number in ("cost_per_conversation", "cost_per_pass", "tokens_per_conversation"):
        if n == 0 and cell["lost"]:
            return "INCONCLUSIVE" if is_part else decided(objective.holds(math.inf)), f"none of {cell['lost']:,} conversation"
        if n == 0 or (is_part and n < 64):
            return "INCONCLUSIVE", "conversation"
        value = cell["sum"] / n / (1e9 if objective.number.startswith("cost") else 1)
        return priced(objective, marked, decided(objective.holds(value))), f" of {n:,} "
    if objective.number in ("dropped", "errors", "unanswered", "tokens"):
        return ("INCONCLUSIVE" if n == 0 else decided(objective.holds(cell["sum"]))), f"{cell['sum']:,} "
    if objective.number == "cost":
        dollars = cell["sum"] / 1e9
        verdict = "INCONCLUSIVE" if n == 0 else decided(objective.holds(dollars))
        return priced(objective, marked, verdict), f"{dollars:.4f} US dollars"
    if n == 0:
        return "INCONCLUSIVE", "there are no "
    holds = objective.holds(marked / n)
    if is_part and not holds:
        proved = {
            ">=": lambda: not objective.holds(upper_bound(marked, n)), ">": lambda: not objective.holds(upper_bound(marked, n)),
            "<=": lambda: not objective.holds(1 - upper_bound(n - marked, n)),
            "<": lambda: not objective.holds(1 - upper_bound(n - marked, n)),
        }.get(objective.sign, lambda: objective.bound in (0, 1))
        if not proved():
            return "INCONCLUSIVE", "too few: "
    return decided(holds), f"{marked:,} of {n:,} "


def in_stretches(objective, cells, end, upper_bound):
    step = -(-objective.window // CELLS)
    starts = sorted({start for place in cells for start in range(max(place - CELLS + 1, 0), place + 1)})
    complete = [at for at in starts if (at + CELLS) * step <= end and at * step >= objective.delay]
    if not complete and starts and end < objective.window and objective.delay == 0:
        complete = [0]
    verdicts = []
    for start in complete:
        cell = Cell()
        for place in range(start, start + CELLS):
            if place in cells:
                cell.put({**cells[place], "highest": cells[place].highest})
        verdicts.append(judged(objective, cell, True, upper_bound)[0])
    decided = len(verdicts) - verdicts.count("INCONCLUSIVE")
    if not decided:
        return "INCONCLUSIVE", "stretch"
    broken = verdicts.count("FAIL")
    return ("FAIL", f"it broke in {broken:,} of {decided:,} stretch") if broken else ("PASS", f"it held in {decided:,} stretch")


def gates_of(folder, counts_of, met_of, upper_bound):
    """By name: the verdict, and a part of the reason."""
    search, gates = folder.plan.get("load", {}).get("search"), {}
    stopped = {it["objective"] for it in folder.report["run"].get("decisions", []) if it["decided"] == "stopped" and it.get("objective")}
    end = max((began(folder, body) + body["duration_ms"] for body in folder.whole.values()
               if (body["began_at_ms"] or body.get("start")) and not folder.is_warm_up(body)), default=0) * 1000
    for text in folder.plan["gates"].get("objectives", []):
        objective = Objective(text)
        # A search judges its steps by it.
        if search and objective.share_of_step() is not None:
            continue
        step = -(-objective.window // CELLS) if objective.window else math.inf
        cells = collections.defaultdict(Cell)
        for at, adds in samples(folder, objective, counts_of, met_of):
            cells[int(at // step)].put(adds)
        if objective.window:
            verdict, words = in_stretches(objective, cells, end, upper_bound)
        else:
            cell = cells[0]
            if not objective.filters and (objective.number or "").split("_")[0] in ("cost", "tokens"):
                # Money and tokens count in all attempts and in the preflight.
                sums = {key: sum(line[key] for line in folder.spend.values()) for key in ["cost", "unpriced_calls", "calls"]}
                agent = sum(line["input"] + line["output"] for (role, _), line in folder.spend.items() if role == "agent")
                if "_per_" in objective.number:
                    # The conversations of a warm-up are not counted either.
                    sums.update({key: sums[key] - folder.warm_up_of(None, key) for key in ["cost", "unpriced_calls"]})
                    agent -= folder.warm_up_of("agent", "input") + folder.warm_up_of("agent", "output")
                all_of = {"sum": sums["cost"], "marked": sums["unpriced_calls"]} if objective.number.startswith("cost") else {"sum": agent}
                if objective.number in ("cost", "tokens"):
                    all_of["samples"] = sums["calls"]
                cell = Cell({**cell, **all_of})
            verdict, words = judged(objective, cell, False, upper_bound)
        gates[text] = ("FAIL", "it stopped the run: ") if text in stopped else (verdict, words)
    return gates


def requirements(plan):
    """What each step of a load must meet, as objectives without windows, delays and aborts."""
    gates, found = plan["gates"], []
    rates = [gates.get("pass_rate"), *(it["min"] for it in gates.get("success_rates") or [] if it.get("per", "run") == "run")]
    for text in plan["gates"].get("objectives", []):
        objective = Objective(text)
        if objective.share_of_step() is not None:
            found.append(objective)
    of_rates = []
    for rate in rates:
        if rate is not None:
            percent = round(rate * 1e9) / 1e7
            of_rates.append(Objective(f"pass_rate >= {percent:g}%" if percent / 100 == rate else f"pass_rate >= {rate}"))
    plain = {}
    for objective in of_rates + found:
        plain.setdefault(re.split(r" for |, ", objective.name)[0], objective)
    return plain


def interval(good, n):
    share, z2 = good / n, Z * Z
    centre, below = (share + z2 / (2 * n)) / (1 + z2 / n), 1 + z2 / n
    half = Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / below
    return (0.0 if good == 0 else centre - half, 1.0 if good == n else centre + half)


def verdict_of_level(plan, ends, bodies):
    """What was played at one load, with its ends by kind: whether the requirements hold there."""
    verdicts, turns = [], [turn for body in bodies for turn in body["latencies"]]
    unanswered = sum(body["unanswered"] for body in bodies)
    judged_ends = ends["pass"] + ends["fail"] + ends["agent_errors"]
    for objective in requirements(plan).values():
        if objective.time:
            times = [it for it in map(TIMES[objective.time], turns) if it is not None]
            good, n = sum(it <= objective.bound for it in times), len(times) + unanswered
        elif objective.number == "error_rate":
            good, n = judged_ends - ends["agent_errors"], judged_ends
        else:
            good, n = ends["pass"], judged_ends
        low, high = interval(good, n) if n else (0.0, 1.0)
        share = objective.share_of_step()
        verdicts.append("held" if n and low >= share else "broke" if n and high < share else "undecided")
    return next((it for it in ["broke", "undecided"] if it in verdicts), "held")


def verdict_of_step(plan, step, bodies, late):
    """Of a step of a search that has ended. `late`: of its starts, in microseconds."""
    verdict, late = verdict_of_level(plan, step, bodies), sorted(late)
    worst = late[max(1, math.ceil((0.99 if len(late) >= 662 else 0.5) * len(late))) - 1] if late else 0
    has_load = step["dropped"] <= 0.01 * (step["ends"] + step["dropped"]) and worst <= 100_000
    return verdict if has_load or verdict == "broke" else "undecided"


def sustained(plan, played):
    """Up to which load the requirements hold. `played`: steps with their bodies."""
    steps = [step for step, _ in played]
    changing = [key for key in ["rate", "slots"] if len({step[key] for step in steps}) > 1]
    there = [key for key in ["rate", "slots"] if steps and steps[0][key] is not None]
    axis = changing if changing else there
    texts = list(requirements(plan))
    if len(axis) != 1 or not texts:
        return None
    levels = collections.defaultdict(lambda: (collections.Counter(), []))
    for step, bodies in played:
        ends, all_bodies = levels[step[axis[0]]]
        ends.update({key: step[key] for key in ["pass", "fail", "agent_errors"]})
        all_bodies.extend(bodies)
    verdicts = {load: verdict_of_level(plan, *level) for load, level in sorted(levels.items())}
    of = lambda wanted: [load for load, verdict in verdicts.items() if verdict == wanted]
    broken = min(of("broke"), default=None)
    held = [load for load in of("held") if broken is None or load < broken]
    return {"unit": axis[0], "requirements": texts, "load": max(held, default=None), "broken_at": broken, "undecided": of("undecided")}
