#!/usr/bin/env python3
"""Plays a million trials with a hundred workers and one coordinator on this machine, and prints the pace, the memory of every kind of process, and the
bytes of a turn on the wire and at rest.

    bench/million.py --binary target/release/gabfest [--store postgres] [--trials N] [--workers N] [--turns N]

The agent is the mock in each worker, so no turn waits for a socket. `--store postgres` starts a PostgreSQL of its own (Debian: postgresql). Needs
python3 and ss (Debian: iproute2). Bytes on the wire are those of TCP between workers and coordinator, without the heads of packets."""
import argparse, os, pathlib, re, subprocess, sys, tempfile, time

from fleet import Fleet, memory_mib

ROOT = pathlib.Path(__file__).resolve().parent.parent
POSTGRES = ROOT / "crates/store/tests/postgres.sh"
RUN = "million"


def scenario(turns):
    return "name: a million trials\ndescription: a scripted conversation\nrun:\n" + "".join(
        f"  - input: Please say hello to me, this is message {turn} about order 1234.\n"
        "    evaluations: [{ type: length, min: 1 }]\n"
        for turn in range(1, turns + 1)
    ) + "judgment: { strategy: all_pass }\n"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "target/release/gabfest")
    parser.add_argument("--store", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=100)
    parser.add_argument("--slots", type=int, default=8, help="of each worker")
    parser.add_argument("--turns", type=int, default=3, help="of each trial")
    parser.add_argument("--place", type=pathlib.Path, help="the folder of the stores, which grow to gigabytes [default: a temporary one]")
    return parser.parse_args()


class Scale(Fleet):
    def __init__(self, place, binary, store):
        super().__init__(place, binary)
        self.store, self.database, self.most = store, place / "postgres", {}
        self.database_url = None

    def coordinator(self):
        if self.store == "sqlite":
            return super().coordinator()
        self.database_url = subprocess.run([POSTGRES, "start", self.database], check=True, capture_output=True, text=True).stdout.strip()
        self.start("coordinator", "coordinator", "--listen", self.address, "--store", self.database_url)
        self.wait_for(self.address)

    def end(self):
        super().end()
        if self.database_url:
            subprocess.run([POSTGRES, "stop", self.database], check=True)

    def look(self):
        """The most memory of a process of each kind so far, in MiB."""
        self.check()
        for name, process in self.processes.items():
            kind = re.sub(r"-\d+$", "", name)
            self.most[kind] = max(self.most.get(kind, 0), memory_mib(process) or 0)

    def state(self):
        shown = subprocess.run([self.binary, "runs", "--coordinator", self.url, "--history", "none"], capture_output=True, text=True)
        return next((line for line in shown.stdout.splitlines() if line.startswith(RUN)), shown.stdout + shown.stderr)

    def wire(self):
        """Bytes that the coordinator received from its workers and sent to them."""
        port = self.address.split(":")[1]
        shown = subprocess.run(["ss", "-tinH", "state", "established", f"( sport = :{port} )"], check=True, capture_output=True, text=True).stdout
        return [sum(map(int, re.findall(rf"\b{field}:(\d+)", shown))) for field in ("bytes_received", "bytes_acked")]

    def rest(self):
        """Bytes of the store."""
        if not self.database_url:
            return sum(file.stat().st_size for file in (self.place / "data").iterdir() if file.is_file())
        size = ["psql", self.database_url, "-Atc", "select pg_database_size(current_database())"]
        return int(subprocess.run(size, check=True, capture_output=True, text=True).stdout)


def main():
    asked = arguments()
    if not asked.binary.exists():
        sys.exit(f"{asked.binary} is missing: cargo build --release")
    with tempfile.TemporaryDirectory(dir=asked.place) as folder:
        place = pathlib.Path(folder)
        # PostgreSQL has a user of its own.
        place.chmod(0o755)
        (place / "trial.scenario.yaml").write_text(scenario(asked.turns))
        fleet = Scale(place, asked.binary.resolve(), asked.store)
        try:
            play(fleet, asked)
        finally:
            fleet.end()


def play(fleet, asked):
    fleet.coordinator()
    for number in range(asked.workers):
        fleet.worker(f"worker-{number}", asked.slots)
    fleet.wait_for_workers(asked.workers)
    before, began = fleet.rest(), time.monotonic()
    submitted = [fleet.binary, "submit", "trial.scenario.yaml", "--run", RUN, "--repeats", str(asked.trials), "--coordinator", fleet.url]
    subprocess.run(submitted, cwd=fleet.place, check=True, stdout=subprocess.DEVNULL)
    said = began
    while True:
        fleet.look()
        state = fleet.state()
        if "running" not in state:
            break
        if time.monotonic() > said + 60:
            said = time.monotonic()
            print(f"{said - began:.0f} s: {state}; {', '.join(f'{kind} {mib:.0f} MiB' for kind, mib in fleet.most.items())}", file=sys.stderr)
        time.sleep(1)
    took, turns = time.monotonic() - began, asked.trials * asked.turns
    received, sent = fleet.wire()
    print(f"{state}\n")
    print("| what | figure |\n|---|---|")
    for what, figure in {
        "store": asked.store,
        "trials, turns": f"{asked.trials:,}, {turns:,}",
        "workers": f"{asked.workers} with {asked.slots} slots",
        "time": f"{took:,.1f} s",
        "turns a second": f"{turns / took:,.0f}",
        "trials a second": f"{asked.trials / took:,.0f}",
        "peak memory of the coordinator": f"{fleet.most['coordinator']:,.0f} MiB",
        "peak memory of the largest worker": f"{fleet.most['worker']:,.0f} MiB",
        "to the coordinator, bytes a turn": f"{received / turns:,.0f}",
        "to the workers, bytes a turn": f"{sent / turns:,.1f}",
        "at rest, bytes a turn": f"{(fleet.rest() - before) / turns:,.0f}",
    }.items():
        print(f"| {what} | {figure} |")


if __name__ == "__main__":
    main()
