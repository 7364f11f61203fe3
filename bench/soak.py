#!/usr/bin/env python3
"""A soak: two workers, a coordinator that is killed half way, and a mock agent that slows down by 1 % a minute.

Usage: bench/soak.py [--minutes 30] [--rate 5] [--binary target/release/gabfest] [--out FILE]

Samples the resident memory of all processes, prints the result as Markdown, and fails unless every start is accounted
for, the slow-down is found with its slope, and no process of gabfest grows. Needs Linux, and nothing but Python.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from fleet import Fleet, free_port, memory_mib

SCENARIO = """
name: order
description: a customer asks for an order in four turns
run:
  - {input: "Hello, my order W-4711 has not arrived yet.", evaluations: [{type: regex_match, pattern: "[a-z]"}]}
  - {input: "It was sent on Monday.", evaluations: [{type: regex_match, pattern: "[a-z]"}]}
  - {input: "Can you look where W-4711 is?", evaluations: [{type: string_contains, value: W-4711}]}
  - {input: "Thank you!", evaluations: [{type: regex_match, pattern: "[a-z]"}]}
judgment: {strategy: all_pass}
"""
LATENCY_MS = 200
SLOW_DOWN = 0.01
EVERY_S = 5
# The allocator's own noise: two processes that do nothing more grow by as much.
MOST_GROWTH_MIB = 4.0


def play(fleet, minutes, rate):
    """Plays the soak. Returns samples of memory by process as (seconds, MiB), and the report."""
    place, agent = fleet.place, f"127.0.0.1:{free_port()}"
    (place / "plan").mkdir()
    (place / "plan" / "order.scenario.yaml").write_text(SCENARIO)
    (place / "gabfest.yaml").write_text(
        f'endpoints: {{shop: {{url: "http://{agent}/v1", model: shop}}}}\n'
        "agents: {shop: {endpoint: shop}}\nroles: {agent: shop}\n"
    )
    behaviour = {"latency": {"kind": "lognormal", "ms": LATENCY_MS, "sigma": 0.3}, "slow_down_per_minute": SLOW_DOWN}
    mock = {"endpoints": {"mock": {"kind": "mock", "mock": behaviour}}}
    (place / "mock.yaml").write_text(json.dumps(mock))
    fleet.start("mock", "mock", "--listen", agent, "--config", "mock.yaml")
    fleet.coordinator()
    fleet.wait_for(agent)
    for name in ("worker-1", "worker-2"):
        fleet.worker(name, 50)
    watcher = fleet.submit(
        "plan", "--run", "soak", "--rate", f"{rate}/s", "--duration", f"{minutes * 60:.0f}s", "--arrivals", "poisson", "--seed", 7
    )
    began, samples, restarted = time.monotonic(), {}, False
    while watcher.poll() is None:
        time.sleep(EVERY_S)
        after = time.monotonic() - began
        for name, process in fleet.processes.items():
            mib = memory_mib(process) if process.poll() is None else None
            if mib and name != "watcher":
                samples.setdefault(name, []).append((after, mib))
        (place / "samples.json").write_text(json.dumps(samples))
        if not restarted and after > minutes * 30:
            fleet.processes["coordinator"].kill()
            fleet.processes["coordinator"].wait()
            time.sleep(2)
            fleet.coordinator("coordinator, restarted")
            restarted = True
        if after > minutes * 60 + 600:
            sys.exit(f"the run does not end; logs are in {place}")
    report = place / "out" / "report.json"
    if not report.exists():
        sys.exit(f"no report: {(place / 'watcher.log').read_text()}; logs are in {place}")
    return samples, json.loads(report.read_text())


def growth(samples):
    """The median of the last fifth, less that of the fifth after the first quarter: caches fill at the beginning."""
    quarter, fifth = len(samples) // 4, max(len(samples) // 5, 1)
    sizes = [mib for _, mib in samples]
    return statistics.median(sizes[-fifth:]) - statistics.median(sizes[quarter : quarter + fifth])


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--minutes", type=float, default=30)
    arguments.add_argument("--rate", type=float, default=5)
    arguments.add_argument("--binary", default="target/release/gabfest")
    arguments.add_argument("--out", help="write the result to this file too")
    asked = arguments.parse_args()
    place = pathlib.Path(tempfile.mkdtemp(prefix="gabfest-soak-"))
    fleet = Fleet(place, str(pathlib.Path(asked.binary).resolve()))
    try:
        samples, report = play(fleet, asked.minutes, asked.rate)
    finally:
        fleet.end()
    load, lines, broken = report["load"], [], []
    turns, stored = report["summary"]["turns"], sum(file.stat().st_size for file in (place / "data").iterdir())
    lines += [
        f"# A soak of {asked.minutes:g} minutes at {asked.rate:g} starts a second, {time.strftime('%Y-%m-%d')}",
        "",
        f"`bench/soak.py --minutes {asked.minutes:g} --rate {asked.rate:g}` on {os.cpu_count()} cores: two workers, the coordinator "
        f"killed and started again half way, and a mock agent ({LATENCY_MS} ms, lognormal) that slows down by {SLOW_DOWN:.0%} a minute.",
        "",
        f"scheduled {load['scheduled']:,}, sent {load['sent']:,}, dropped {load['dropped']:,}, lost {load['lost']:,}, "
        f"rescheduled {load['rescheduled']:,}; {turns:,} turns; the store has {stored / 2**20:.1f} MiB, "
        f"{stored / max(load['sent'], 1) / 1024:.2f} KiB a conversation",
        "",
        "| process | samples | at first | at last | largest | growth after the first quarter |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, of in samples.items():
        sizes, grown = [mib for _, mib in of], growth(of)
        lines.append(
            f"| {name} | {len(of)} | {sizes[0]:.1f} MiB | {sizes[-1]:.1f} MiB | {max(sizes):.1f} MiB | {grown:+.2f} MiB |"
        )
        # Caches fill in the first minutes, and the process that is killed has only a part of the time.
        if asked.minutes >= 10 and name not in ("mock", "coordinator") and grown > MOST_GROWTH_MIB:
            broken.append(f"{name} grew by {grown:.1f} MiB")
    if load["scheduled"] != load["sent"] + load["dropped"] + load["lost"] or load["lost"]:
        broken.append("starts are lost")
    lines += ["", "| drift | slices | median | an hour | 99 % interval | drifts |", "|---|---:|---:|---:|---:|---|"]
    figures = {figure["name"]: figure for figure in load["drift"]["figures"]}
    for name, of in figures.items():
        scale = 2**20 if name.endswith("bytes") else 1
        median, slope, low, high = (
            of[key] / scale for key in ("median", "slope_per_hour", "low_per_hour", "high_per_hour")
        )
        unit = f"{name.removesuffix('_bytes')} (MiB)" if scale > 1 else name
        lines.append(
            f"| {unit} | {of['slices']} | {median:.4g} | {slope:+.4g} | {low:+.4g} to {high:+.4g} | {'yes' if of['drifts'] else 'no'} |"
        )
    if load["drift"]["undecided"]:
        lines += ["", f"undecided: {load['drift']['undecided']}"]
    planted = LATENCY_MS * SLOW_DOWN * 60
    response = figures.get("response_p50_ms")
    if response is None:
        broken.append("too short: the response time has too few slices")
    else:
        lines += ["", f"planted: {planted:+.0f} ms an hour on the median of {LATENCY_MS} ms; found {response['slope_per_hour']:+.0f} ms"]
        if asked.minutes >= 10 and not (response["drifts"] and response["low_per_hour"] <= planted <= response["high_per_hour"]):
            broken.append("the slow-down was not found with its slope")
    for name in ("pass_rate", "error_rate", "worker_memory_bytes", "coordinator_memory_bytes"):
        if figures.get(name, {}).get("drifts"):
            broken.append(f"{name} drifts, and nothing of that was planted")
    lines += ["", "held: all" if not broken else "BROKEN: " + "; ".join(broken), ""]
    print("\n".join(lines))
    if asked.out:
        pathlib.Path(asked.out).write_text("\n".join(lines))
    if broken:
        sys.exit(f"logs, store and report are kept in {place}")
    subprocess.run(["rm", "-r", str(place)], check=True)


if __name__ == "__main__":
    main()
