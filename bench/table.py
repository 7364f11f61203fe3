"""The table of bench/run.py: what each figure must be, what it was, and whether that holds."""
import statistics

# What a figure must be, by case and figure: a ratio to the loop over reqwest, points above the loop over hyper, or a bound.
MUST = {
    ("JSON, 50 at once", "µs of CPU a turn"): ("ratio", 3.0),
    ("JSON, 200 at once", "µs of CPU a turn"): ("ratio", 3.0),
    ("stream of 16 pieces, 50 at once", "µs of CPU a turn"): ("ratio", 2.5),
    ("paced stream, 32 at once", "µs of CPU a turn"): ("at most", 300),
    ("paced stream, 32 at once", "TTFT error, p50, ms"): ("at most", 0.5),
    ("paced stream, 32 at once", "TTFT error, p99, ms"): ("at most", 1.5),
    ("10,000 at once, 2 s server", "KiB a conversation"): ("at most", 40),
    ("10,000 at once, 2 s server", "error of p50, %"): ("above hyper by", 2),
    ("10,000 at once, 2 s server", "error of p99, %"): ("above hyper by", 2),
    ("30,000 over three workers", "not completed"): ("at most", 0),
    ("30,000 over three workers", "lost attempts"): ("at most", 0),
    ("500 starts/s", "late, p99, µs"): ("at most", 300),
    ("2,000 starts/s", "late, p99, µs"): ("at most", 300),
    ("2 s stall, 200 starts/s", "response p99 less 1.90 s, %"): ("within", 3),
    ("2 s stall, 200 starts/s", "scheduled and not sent"): ("at most", 0),
    ("plan of 10,000", "ms to the first request"): ("at most", 300),
    ("telemetry", "on, % more CPU"): ("at most", 10),
    ("intake, memory", "turns a second of CPU"): ("at least", 100_000),
    ("intake, sqlite", "turns a second of CPU"): ("at least", 20_000),
    ("10,000,000 encoded turns", "coordinator, B a turn"): ("at most", 1),
    ("played turns of the mock", "worker, B a turn"): ("at most", 1),
    ("played turns of the mock", "coordinator, B a turn"): ("at most", 1),
}


def lines(programs, binaries, cells):
    """`cells`: (case, figure) -> program -> the values of the rounds."""
    yield f"| case | figure | must | {' | '.join(programs)} | {' | '.join(f'{name} holds' for name in binaries)} |"
    yield "|" + "---|" * (3 + len(programs) + len(binaries))
    for (case, figure), values in cells.items():
        kind, bound = MUST.get((case, figure), ("", None))
        must = f"{kind} {bound:,}" if kind else ""
        shown = [around(values[name]) if name in values else "" for name in programs]
        held = [held_by(kind, bound, values, name) if kind else "" for name in binaries]
        yield f"| {case} | {figure} | {must} | {' | '.join(shown + held)} |"


def around(values):
    digits = 0 if min(values) >= 1_000 else 1
    middle, least, most = (f"{value:,.{digits}f}" for value in (statistics.median(values), min(values), max(values)))
    return f"{middle} ({least} to {most})" if len(values) > 1 else middle


def held_by(kind, bound, values, name):
    """Whether the median of the rounds is what it must be."""
    if name not in values:
        return ""
    ours, shown = values[name], ""
    if kind == "ratio":
        found = statistics.median(one / other for one, other in zip(ours, values["reqwest"]))
        shown = f"**{found:.2f}**, "
    elif kind == "above hyper by":
        found = statistics.median(one - other for one, other in zip(ours, values["hyper"]))
        shown = f"**{found:+.1f}**, "
    else:
        found = statistics.median(ours)
    holds = found >= bound if kind == "at least" else abs(found) <= bound if kind == "within" else found <= bound
    return shown + ("yes" if holds else "**no**")
