#!/usr/bin/env python3
"""Counts the instructions of a turn with callgrind, and compares them with bench/instructions.json.

Usage: bench/instructions.py [--binary FILE] [--rounds N] [--set]

A turn is one of four scripted turns with a check each, 50 conversations at a time, without telemetry and from the request
to the report. Runs of 250 and of 750 conversations are compared, so that start and end do not count. The figure is the
median of the rounds. It does not depend on how fast or how busy the machine is, but on the compiler, and a little on how
results are cut into batches.

The program is built with its feature `callgrind`: without it, rustix calls the kernel's vDSO, which valgrind hides.
Exits with 1 if the figure differs from the committed one by more than 3 %; --set writes it instead. Without --binary, the
release build of this folder is made and counted.

Needs valgrind, python3, taskset and two cores."""
import argparse, json, os, pathlib, re, statistics, subprocess, sys, tempfile

from run import ROOT, Server, scenario, stop

COMMITTED = ROOT / "bench" / "instructions.json"
TOLERANCE = 0.03
FEW, MANY = 250, 750
TURNS = 4


def instructions(binary, folder, conversations):
    """Of one whole run."""
    command = ["taskset", "-c", "1", "valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind.out", binary]
    command += ["run", folder / "turns.scenario.yaml", "--config", folder / "gabfest.yaml", "--no-preflight", "--quiet"]
    command += ["--repeats", conversations, "--slots", 50, "--out", tempfile.mkdtemp(dir=folder)]
    ended = subprocess.run([str(part) for part in command], capture_output=True, text=True, env={**os.environ, "OTEL_SDK_DISABLED": "true"})
    counted = re.search(r"Collected : (\d+)", ended.stderr)
    if ended.returncode or not counted:
        stop(f"valgrind exited with {ended.returncode}:\n{ended.stderr[-3000:]}")
    return int(counted[1])


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--binary")
    arguments.add_argument("--rounds", type=int, default=1)
    arguments.add_argument("--set", action="store_true")
    given = arguments.parse_args()
    if not given.binary:
        subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "gabfest", "--features", "callgrind"], cwd=ROOT, check=True)
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "gabfest-bench"], cwd=ROOT, check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
    binary = pathlib.Path(given.binary or target / "gabfest").resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder, server = pathlib.Path(folder), Server(target / "bench-server", [])
        try:
            (folder / "turns.scenario.yaml").write_text(scenario("turns", TURNS))
            (folder / "gabfest.yaml").write_text(
                f"endpoints: {{ bench: {{ url: '{server.url('zero')}', model: bench }} }}\n"
                "agents: { bench: { endpoint: bench } }\nroles: { agent: bench }\n"
            )
            found = []
            for _ in range(given.rounds):
                few, many = (instructions(binary, folder, conversations) for conversations in (FEW, MANY))
                found.append((many - few) / (MANY - FEW) / TURNS)
        finally:
            server.close()
    figure = round(statistics.median(found))
    print(f"{figure:,} instructions a turn; rounds: {', '.join(f'{one:,.0f}' for one in found)}")
    if given.set:
        COMMITTED.write_text(json.dumps({"instructions_a_turn": figure}) + "\n")
        return
    committed = json.loads(COMMITTED.read_text())["instructions_a_turn"]
    change = figure / committed - 1
    print(f"{change:+.1%} against the committed {committed:,}")
    if abs(change) > TOLERANCE:
        stop(f"more than {TOLERANCE:.0%}: find out why; if it is meant, write the new figure with --set")


if __name__ == "__main__":
    main()
