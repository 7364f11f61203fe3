#!/usr/bin/env python3
"""Counts the instructions of a turn with callgrind, and compares them with bench/instructions.json.

Usage: bench/instructions.py [--debug] [--binary FILE] [--rounds N] [--set]

A turn is one of four scripted turns with a check each, 50 conversations at a time, without telemetry and from the request
to the report. Runs of few and of many conversations are compared, so that start and end do not count. The figure is the
median of the rounds: one, or three if the first is too far from the committed figure. It hardly depends on how fast or how
busy the machine is (results are committed every 800 ms, which moves it a little), but on the compiler.

It counts the release build of this folder, or with --debug the debug build, which ./test.sh has at hand. The two have
figures of their own. --binary names a build that exists already.

Exits with 1 if the figure differs from the committed one by more than 3 %; --set writes it instead.

Needs valgrind, python3, taskset and two cores."""
import argparse, concurrent.futures, json, os, pathlib, re, statistics, subprocess, sys, tempfile

from run import ROOT, Server, scenario, stop

COMMITTED = ROOT / "bench" / "instructions.json"
TOLERANCE = 0.03
# A debug build takes six times as many.
FEW_AND_MANY = {"release": (250, 750), "debug": (10, 110)}
TURNS = 4


def instructions(binary, folder, conversations, core):
    """Of one whole run."""
    place = tempfile.mkdtemp(dir=folder)
    command = ["taskset", "-c", str(core), "valgrind", "--tool=callgrind", f"--callgrind-out-file={place}/callgrind.out", binary]
    command += ["run", folder / "turns.scenario.yaml", "--config", folder / "gabfest.yaml", "--no-preflight", "--quiet"]
    command += ["--repeats", conversations, "--slots", 50, "--out", f"{place}/run"]
    ended = subprocess.run([str(part) for part in command], capture_output=True, text=True, env={**os.environ, "OTEL_SDK_DISABLED": "true"})
    counted = re.search(r"Collected : (\d+)", ended.stderr)
    if ended.returncode or not counted:
        stop(f"valgrind exited with {ended.returncode}:\n{ended.stderr[-3000:]}")
    return int(counted[1])


def is_near(found, committed):
    return abs(statistics.median(found) / committed - 1) <= TOLERANCE


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--debug", action="store_true")
    arguments.add_argument("--binary")
    arguments.add_argument("--rounds", type=int, default=1)
    arguments.add_argument("--set", action="store_true")
    given = arguments.parse_args()
    build = "debug" if given.debug else "release"
    flags = [] if given.debug else ["--release"]
    if not given.binary:
        subprocess.run(["cargo", "build", "--quiet", "-p", "gabfest", *flags], cwd=ROOT, check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / build
    binary, server_program = pathlib.Path(given.binary or target / "gabfest").resolve(), target / "bench-server"
    if not (given.binary and server_program.exists()):
        subprocess.run(["cargo", "build", "--quiet", "-p", "gabfest-bench", *flags], cwd=ROOT, check=True)
    few, many = FEW_AND_MANY[build]
    with tempfile.TemporaryDirectory() as folder:
        folder, server = pathlib.Path(folder), Server(server_program, [])
        try:
            (folder / "turns.scenario.yaml").write_text(scenario("turns", TURNS))
            (folder / "gabfest.yaml").write_text(
                f"endpoints: {{ bench: {{ url: '{server.url('zero')}', model: bench }} }}\n"
                "agents: { bench: { endpoint: bench } }\nroles: { agent: bench }\n"
            )
            found, committed = [], json.loads(COMMITTED.read_text())[build]
            while len(found) < given.rounds or (not given.set and len(found) < 3 and not is_near(found, committed)):
                with concurrent.futures.ThreadPoolExecutor() as both:
                    runs = [both.submit(instructions, binary, folder, *run) for run in ((few, 0), (many, 1))]
                    of_few, of_many = (run.result() for run in runs)
                found.append((of_many - of_few) / (many - few) / TURNS)
        finally:
            server.close()
    figure = round(statistics.median(found))
    change = figure / committed - 1
    print(f"{build}: {figure:,} instructions a turn; rounds: {', '.join(f'{one:,.0f}' for one in found)}")
    print(f"{build}: {change:+.1%} against the committed {committed:,}")
    if given.set:
        COMMITTED.write_text(json.dumps({**json.loads(COMMITTED.read_text()), build: figure}) + "\n")
        return 0
    if is_near(found, committed):
        return 0
    print(f"that is more than {TOLERANCE:.0%}: find the reason, or write the new figure with --set", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
